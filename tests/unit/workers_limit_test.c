// SPDX-License-Identifier: BSD-2-Clause
/* The most that a configuration's services add to a packet, by mode and families. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "conf/conf.h"
#include "weir/workers/limit.h"

static uint32_t overhead_of(const char *services)
{
	static const char head[] =
		"node: {name: n, interfaces: [lo]}\n"
		"pools:\n"
		"  - {name: four, check: {type: none}, backends: [{name: a, address: 10.0.0.1}]}\n"
		"  - {name: six, check: {type: none}, backends: [{name: a, address: "
		"\"fd00::1\"}]}\n"
		"  - {name: both, check: {type: none}, backends: [{name: a, address: 10.0.0.2},\n"
		"     {name: b, address: \"fd00::2\"}]}\n"
		"services:\n";
	struct err_list errors = {0};
	struct conf *conf;
	char text[2048];
	uint32_t ret;

	snprintf(text, sizeof(text), "%s%s", head, services);
	if (conf_parse(text, strlen(text), &conf, &errors))
		fail_msg("%s", errors.errors[0].text);
	ret = limit_overhead(conf);
	conf_free(conf);
	return ret;
}

#define SERVICE(name, vip, pool, mode)                                                 \
	"  - {name: " name ", vips: [\"" vip "\"], listen: [tcp/80], pool: " pool ", " \
	"forward: " mode "}\n"

static void test_overhead(void **state)
{
	static const struct {
		const char *services;
		uint32_t overhead;
	} rows[] = {
		{SERVICE("s", "192.0.2.1", "four", "ipip"), 20},
		{SERVICE("s", "192.0.2.1", "six", "ipip"), 40},
		{SERVICE("s", "2001:db8::1", "four", "ipip"), 20},
		{SERVICE("s", "2001:db8::1", "both", "ipip"), 40},
		{SERVICE("s", "192.0.2.1", "four", "gue"), 28},
		{SERVICE("s", "192.0.2.1", "four", "l2dsr"), 0},
		{SERVICE("s", "2001:db8::1", "six", "geneve"), 40 + 8 + 16 + 16},
		/* The most of all counts, wherever it stands. */
		{SERVICE("s", "192.0.2.1", "six", "gue") SERVICE("t", "192.0.2.2", "four", "l2dsr"),
		 48},
		{SERVICE("s", "192.0.2.1", "four", "l2dsr")
			 SERVICE("t", "192.0.2.2", "four", "gre"),
		 24},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(overhead_of(rows[i].services), rows[i].overhead);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_overhead)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
