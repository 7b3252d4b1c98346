/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Headers from any client of the admin port, as far as we parse them ourselves: the first byte says
 * which. Each ends where its memory ends. A host that is taken for this machine has nothing in it
 * that could name another.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "admin/http_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "http: %s\n", what);
	abort();
}

static void check_host(const char *text)
{
	if (!http_host_is_local(text))
		return;
	must(strspn(text, "0123456789abcdefABCDEF.:[]hlostHLOST") == strlen(text),
	     "a strange letter in a host");
	must(strncasecmp(text, "localhost", 9) == 0 || strncmp(text, "127.", 4) == 0 ||
		     *text == '[',
	     "another host");
}

static void check_number(const char *text)
{
	uint64_t number, back;
	char again[24];

	if (http_number_parse(text, UINT64_MAX, &number))
		return;
	snprintf(again, sizeof(again), "%llu", (unsigned long long)number);
	must(http_number_parse(again, number, &back) == 0 && back == number, "another number");
	must(number == 0 || http_number_parse(text, number - 1, &back) < 0, "above its limit");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size < 1)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] % 4) {
	case 0: check_host(text); break;
	case 1: http_accept_openmetrics(text); break;
	case 2: http_tag_matches(text, "\"a\""); break;
	default: check_number(text);
	}
	free(text);
	return 0;
}
