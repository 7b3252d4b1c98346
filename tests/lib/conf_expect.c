/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/conf_expect.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void show(const char *text, const struct err_list *errors)
{
	fprintf(stderr, "%s\n", text);
	for (size_t i = 0; i < errors->count; i++)
		fprintf(stderr, "  %d:%d: %s\n", errors->errors[i].line, errors->errors[i].column,
			errors->errors[i].text);
}

struct conf *conf_expect_right(const char *text)
{
	struct err_list errors = {0};
	struct conf *conf = NULL;

	if (conf_parse(text, strlen(text), &conf, &errors)) {
		show(text, &errors);
		fail();
	}
	assert_int_equal(errors.count, 0);
	return conf;
}

struct conf_agent *conf_expect_agent_right(const char *text)
{
	struct err_list errors = {0};
	struct conf_agent *agent = NULL;

	if (conf_agent_parse(text, strlen(text), &agent, &errors)) {
		show(text, &errors);
		fail();
	}
	assert_int_equal(errors.count, 0);
	return agent;
}

void conf_expect_wrongs(const char *text, const struct err_list *errors, const struct wrong *wrongs,
			size_t most)
{
	size_t count = 0;

	while (count < most && wrongs[count].line)
		count++;
	for (size_t i = 0; i < count && i < errors->count; i++) {
		const struct err *err = &errors->errors[i];

		if (err->line == wrongs[i].line && err->column == wrongs[i].column &&
		    strstr(err->text, wrongs[i].part))
			continue;
		show(text, errors);
		fail_msg("expected %d:%d: %s", wrongs[i].line, wrongs[i].column, wrongs[i].part);
	}
	if (errors->count != count) {
		show(text, errors);
		fail_msg("%zu errors, expected %zu", errors->count, count);
	}
}

void conf_expect_refused(const struct wrong_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct err_list errors = {0};
		struct conf *conf = NULL;

		assert_int_equal(conf_parse(cases[i].text, strlen(cases[i].text), &conf, &errors),
				 -EINVAL);
		assert_null(conf);
		conf_expect_wrongs(cases[i].text, &errors, cases[i].wrongs,
				   LENGTH(cases[i].wrongs));
		err_list_fini(&errors);
	}
}

void conf_expect_agents_refused(const struct wrong_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct err_list errors = {0};
		struct conf_agent *agent = NULL;

		assert_int_equal(
			conf_agent_parse(cases[i].text, strlen(cases[i].text), &agent, &errors),
			-EINVAL);
		assert_null(agent);
		conf_expect_wrongs(cases[i].text, &errors, cases[i].wrongs,
				   LENGTH(cases[i].wrongs));
		err_list_fini(&errors);
	}
}
