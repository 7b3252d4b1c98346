/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a file: it is refused with at least one error that has a place, or it yields a
 * configuration whose normal form parses again and is its own normal form.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "conf: %s\n", what);
	abort();
}

static void check_errors(const struct err_list *errors)
{
	must(errors->count > 0, "refused without an error");
	for (size_t i = 0; i < errors->count; i++) {
		const struct err *err = &errors->errors[i];

		must(err->line > 0 && err->column > 0, "an error without a place");
		must(i == 0 || errors->errors[i - 1].line <= err->line, "not sorted");
		for (const char *at = err->text; *at; at++)
			must(*at >= ' ' && *at < 0x7f, "an error that is not plain text");
	}
}

static void fuzz_conf(const char *text, size_t length)
{
	struct err_list errors = {0};
	struct conf *conf, *again;
	char *first, *second;

	if (conf_parse(text, length, &conf, &errors)) {
		check_errors(&errors);
		err_list_fini(&errors);
		return;
	}
	must(errors.count == 0, "right, but with errors");
	conf_warnings(conf, &errors);
	conf_notes(conf, &errors);
	err_list_fini(&errors);
	first = conf_format(conf);
	must(conf_parse(first, strlen(first), &again, &errors) == 0, "its own form is refused");
	second = conf_format(again);
	must(strcmp(first, second) == 0, "the form of its form is another");
	free(first);
	free(second);
	conf_free(conf);
	conf_free(again);
}

static void fuzz_agent(const char *text, size_t length)
{
	struct err_list errors = {0};
	struct conf_agent *agent, *again;
	char *first, *second;

	if (conf_agent_parse(text, length, &agent, &errors)) {
		check_errors(&errors);
		err_list_fini(&errors);
		return;
	}
	first = conf_agent_format(agent);
	must(conf_agent_parse(first, strlen(first), &again, &errors) == 0,
	     "its own form is refused");
	second = conf_agent_format(again);
	must(strcmp(first, second) == 0, "the form of its form is another");
	free(first);
	free(second);
	conf_agent_free(agent);
	conf_agent_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	conf_is_agent((const char *)data, size);
	fuzz_conf((const char *)data, size);
	fuzz_agent((const char *)data, size);
	return 0;
}
