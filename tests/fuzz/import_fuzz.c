/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as keepalived.conf and as the output of ipvsadm -Sn, the latter behind a first byte
 * that is even: refused with a place, or a services file comes of it, of which every error is about
 * values that the bytes gave.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "import: %s\n", what);
	abort();
}

/* An included file is the first one again, so that it goes round. */
struct again {
	const char *text;
	size_t length;
};

static int include(void *context, const char *directory, const char *pattern,
		   int (*take)(void *taker, const char *file, const char *text, size_t length),
		   void *taker)
{
	const struct again *again = context;

	(void)directory;
	return take(taker, *pattern ? pattern : "again", again->text, again->length);
}

/* Such as these a file may ask for: more of something than a node has. */
static bool is_excused(const char *text)
{
	return strstr(text, "at most") || strstr(text, "is there already") ||
	       strstr(text, "overlap") || strstr(text, "would meet") ||
	       strstr(text, "would both") || strstr(text, "no usable") || strstr(text, "in line");
}

static void check_text(const char *text)
{
	struct err_list errors = {0};
	struct conf *conf;

	for (const char *at = text; *at; at++)
		must((*at >= ' ' && *at < 0x7f) || *at == '\n', "a file that is not plain text");
	if (conf_parse(text, strlen(text), &conf, &errors) == 0)
		conf_free(conf);
	for (size_t i = 0; i < errors.count; i++) {
		if (!is_excused(errors.errors[i].text))
			fprintf(stderr, "%s%d: %s\n", text, errors.errors[i].line,
				errors.errors[i].text);
		must(is_excused(errors.errors[i].text), "a file that is not right");
	}
	err_list_fini(&errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	const struct again again = {text, size ? size - 1 : 0};
	const struct import_files files = {.context = (void *)&again, .include = include};
	struct err err = {0};
	struct import *import;
	char *made;
	int error;

	if (size == 0)
		return 0;
	import = import_new("fuzz");
	if (*data % 2)
		error = import_keepalived(import, text, size - 1, "fuzz", &files, &err);
	else
		error = import_ipvs(import, text, size - 1, "fuzz", &err);
	must(!error || err.line > 0 || error == -12, "refused without a place");
	if (!error) {
		import_settle(import);
		made = import_write(import, NULL);
		must(made != NULL, "no file");
		check_text(made);
		free(made);
	}
	import_free(import);
	return 0;
}
