/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an agent, or whoever is at its port, answers about connections. What is believed is a sum of
 * numbers that can be; what is not has a reason that fits, and changes nothing.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/draining/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "answer: %s\n", what);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const texts[] = {"192.0.2.1", "198.51.100.0/24", "2001:db8::1"};
	struct prefix vips[3];
	uint64_t sum = UINT64_MAX;
	struct err err = {.text = ""};
	/* Its memory ends where it ends. */
	char *body = malloc(size ? size : 1);
	int error;

	for (size_t i = 0; i < 3; i++)
		must(prefix_parse(texts[i], &vips[i]) == 0, "a VIP");
	answer_sort(vips, 3);
	memcpy(body, data, size);
	error = answer_read(body, size, vips, 3, &sum, &err);
	if (error)
		must(sum == UINT64_MAX && *err.text, "a refusal without a reason");
	else /* A number takes some bytes. */
		must(sum <= size * 100000000ULL, "more than was said");
	free(body);
	return 0;
}
