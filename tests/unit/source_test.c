/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that has its pools and services in a second one: where that is, what may be in it, and
 * which file a mistake is in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"

static char dir[64];

static const char *in_dir(const char *name)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s/%s", dir, name);
	return text;
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(in_dir(name), "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/weir-source-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(in_dir("node.yaml"));
	unlink(in_dir("services.yaml"));
	return rmdir(dir);
}

#define NODE "node: {name: n, interfaces: [eth0]}\n"
#define SERVICES                                                                              \
	"seed: fleet\n"                                                                       \
	"pools: [{name: web, check: {port: 80}, backends: [{name: b, address: 10.0.0.1}]}]\n" \
	"services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web}]\n"

static void test_taken(void **state)
{
	struct err_list errors = {0};
	struct conf *conf, *whole;
	char *one, *two;

	(void)state;
	write_file("node.yaml", NODE "source: {file: services.yaml}\n");
	write_file("services.yaml", SERVICES);
	assert_int_equal(conf_load(in_dir("node.yaml"), &conf, &errors), 0);
	assert_string_equal(conf->source_file, in_dir("services.yaml"));
	assert_int_equal(conf_parse(NODE SERVICES, strlen(NODE SERVICES), &whole, &errors), 0);
	one = conf_format(conf);
	two = conf_format(whole);
	assert_string_equal(one, two);
	free(one);
	free(two);
	conf_free(conf);
	conf_free(whole);
}

/* The first error, and whether it is in the second file. */
static void expect(const char *node, const char *services, int line, bool in_second,
		   const char *words)
{
	struct err_list errors = {0};
	struct conf *conf;

	write_file("node.yaml", node);
	write_file("services.yaml", services);
	assert_int_not_equal(conf_load(in_dir("node.yaml"), &conf, &errors), 0);
	assert_true(errors.count > 0);
	assert_int_equal(errors.errors[0].line, line);
	assert_true((errors.errors[0].file != NULL) == in_second);
	if (in_second)
		assert_string_equal(errors.errors[0].file, in_dir("services.yaml"));
	if (!strstr(errors.errors[0].text, words))
		fail_msg("%s", errors.errors[0].text);
	err_list_fini(&errors);
}

static void test_mistakes(void **state)
{
	static const char node[] = NODE "source: {file: services.yaml}\n";

	(void)state;
	expect(node, SERVICES "node: {}\n", 4, true, "not for all nodes");
	expect(node, "services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: no}]\n", 1,
	       true, "is not in this file");
	expect(node, "pools: [\n", 2, true, "expected valid YAML");
	expect(node, "pools: []", 1, true, "cut off");
	expect(node, "[]\n", 1, true, "not a mapping");
	expect(node,
	       "services: [{name: a, vips: [192.0.2.1], listen: [tcp/80], pool: web}]\n"
	       "pools: [{name: web, bad: 1, check: {port: 80}, backends: [{name: b, address: "
	       "10.0.0.1}]}]\n",
	       2, true, "unknown key");
	expect(NODE "source: {file: services.yaml}\nseed: x\n", SERVICES, 1, true, "given twice");
	expect(NODE "source: {file: none.yaml}\n", SERVICES, 2, false, "cannot open");
	expect(NODE "source: {}\nbad: 1\n", SERVICES, 3, false, "unknown key");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_mistakes, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
