/* SPDX-License-Identifier: BSD-2-Clause */
/* What differs between two configurations, and whether nodes share what they must. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/diff.h"

static char seen[4096];

static struct conf *parse(const char *text)
{
	struct err_list errors = {0};
	struct conf *ret;

	if (conf_parse(text, strlen(text), &ret, &errors))
		fail_msg("line %d: %s", errors.errors[0].line, errors.errors[0].text);
	return ret;
}

static void note(void *arg, const struct conf_change *change)
{
	size_t used = strlen(seen);

	(void)arg;
	snprintf(seen + used, sizeof(seen) - used, "%s|%s|%s\n", change->path,
		 change->before ? change->before : "-", change->after ? change->after : "-");
}

static void expect(const char *before, const char *after, const char *wanted)
{
	struct conf *one = parse(before), *two = parse(after);

	seen[0] = '\0';
	conf_diff(one, two, note, NULL);
	assert_string_equal(seen, wanted);
	conf_free(one);
	conf_free(two);
}

#define FILE_OF(node, check, backends, service)                                        \
	"node: {name: n, interfaces: [eth0]" node "}\n"                                \
	"pools: [{name: web, check: {port: 80" check "}, backends: [" backends "]}]\n" \
	"services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web" service "}]\n"
#define B1    "{name: b1, address: 10.0.0.1}"
#define B2    "{name: b2, address: \"2001:db8::2\"}"
#define PLAIN FILE_OF("", "", B1 ", " B2, "")

static void test_values(void **state)
{
	(void)state;
	expect(PLAIN, PLAIN, "");
	expect(PLAIN, "# a word\n" PLAIN, "");
	expect(PLAIN, FILE_OF("", "", B2 ", " B1, ""), "");
	expect(PLAIN, FILE_OF(", path_mtu: 1400", "", B1 ", " B2, ""), "node.path_mtu|0|1400\n");
	expect(PLAIN, FILE_OF("", ", rise: 7", B1 ", " B2, ""), "pools[web].check.rise|2|7\n");
	expect(PLAIN, FILE_OF("", "", B1, ""), "pools[web].backends[b2]||-\n");
	expect(FILE_OF("", "", B1, ""), PLAIN, "pools[web].backends[b2]|-|\n");
	expect(PLAIN, FILE_OF("", "", B1 ", " B2, ", deny: [10.0.0.0/8]"),
	       "services[shop].deny|[]|[\"10.0.0.0/8\"]\n");
	expect(PLAIN, FILE_OF("", "", B1 ", " B2, ", policy: source-prefix"),
	       "services[shop].policy|5-tuple|source-prefix\n"
	       "services[shop].source_prefix4|-|24\n"
	       "services[shop].source_prefix6|-|56\n");
}

static void test_checks(void **state)
{
	struct conf *one = parse(PLAIN), *two = parse(FILE_OF("", ", fall: 9", B1, ""));

	(void)state;
	assert_true(conf_check_same(&one->pools[0], &one->pools[0]));
	assert_false(conf_check_same(&one->pools[0], &two->pools[0]));
	conf_free(one);
	conf_free(two);
}

static bool shares(const char *before, const char *after)
{
	struct conf *one = parse(before), *two = parse(after);
	char *first = conf_format_shared(one), *second = conf_format_shared(two);
	bool same = strcmp(first, second) == 0;

	free(first);
	free(second);
	conf_free(one);
	conf_free(two);
	return same;
}

static void test_shared(void **state)
{
	(void)state;
	assert_true(shares(PLAIN, FILE_OF(", path_mtu: 1400", "", B1 ", " B2, "")));
	assert_false(shares(PLAIN, FILE_OF("", ", rise: 7", B1 ", " B2, "")));
	assert_false(shares(PLAIN, "seed: another\n" PLAIN));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_checks),
		cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
