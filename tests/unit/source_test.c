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
	expect(NODE "source: {file: \"/\\xe9\\n\"}\n", SERVICES, 2, false, "cannot open /???: ");
	expect(NODE "source: {}\nbad: 1\n", SERVICES, 3, false, "unknown key");
}

/* --- marks at the end --- */

static const char marked_node[] = NODE "# more\nsource: {file: services.yaml}\n...\n";
static const char marked_services[] = SERVICES "...\n";

static struct conf *load_both(void)
{
	struct err_list errors = {0};
	struct conf *conf;

	write_file("node.yaml", marked_node);
	write_file("services.yaml", marked_services);
	assert_int_equal(conf_load(in_dir("node.yaml"), &conf, &errors), 0);
	assert_int_equal(conf_check_marks(conf, conf, &errors), 0);
	return conf;
}

/* As a daemon that runs `running` would; where the first mistake is. */
static struct err_list refused(const struct conf *running)
{
	struct err_list errors = {0};
	struct conf *conf;

	if (conf_load(in_dir("node.yaml"), &conf, &errors) == 0) {
		assert_int_not_equal(conf_check_marks(running, conf, &errors), 0);
		conf_free(conf);
	}
	assert_true(errors.count > 0);
	return errors;
}

/* Either file, cut off at any place, is refused where that file was marked. */
static void test_cut(void **state)
{
	struct conf *running = load_both();
	const char *const names[] = {"node.yaml", "services.yaml"};
	const char *const texts[] = {marked_node, marked_services};

	(void)state;
	for (size_t file = 0; file < 2; file++) {
		for (size_t length = 0; length < strlen(texts[file]); length++) {
			char part[sizeof(marked_services) + sizeof(marked_node)];
			struct err_list errors;

			snprintf(part, sizeof(part), "%.*s", (int)length, texts[file]);
			write_file(names[file], part);
			errors = refused(running);
			err_list_fini(&errors);
		}
		write_file(names[file], texts[file]);
	}
	conf_free(running);
}

/* Where it is said to be, and what is no mark. */
static void test_marks(void **state)
{
	struct conf *running = load_both(), *other;
	struct err_list errors;

	(void)state;
	write_file("services.yaml", SERVICES);
	errors = refused(running);
	assert_string_equal(errors.errors[0].file, in_dir("services.yaml"));
	assert_int_equal(errors.errors[0].line, 3);
	err_list_fini(&errors);
	write_file("services.yaml", SERVICES "... # more\n");
	errors = refused(running);
	err_list_fini(&errors);
	write_file("services.yaml", marked_services);
	write_file("node.yaml", NODE "source: {file: services.yaml}\n# ...\n");
	errors = refused(running);
	assert_null(errors.errors[0].file);
	assert_int_equal(errors.errors[0].line, 3);
	err_list_fini(&errors);
	/* Another second file is none that was marked; and who had no mark asks for none. */
	write_file("node.yaml", NODE SERVICES "...\n");
	assert_int_equal(conf_load(in_dir("node.yaml"), &other, &errors), 0);
	assert_int_equal(conf_check_marks(running, other, &errors), 0);
	conf_free(running);
	write_file("node.yaml", NODE SERVICES);
	assert_int_equal(conf_load(in_dir("node.yaml"), &running, &errors), 0);
	assert_int_equal(conf_check_marks(running, other, &errors), 0);
	conf_free(other);
	assert_int_equal(conf_load(in_dir("node.yaml"), &other, &errors), 0);
	assert_int_equal(conf_check_marks(running, other, &errors), 0);
	conf_free(other);
	conf_free(running);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_mistakes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_marks, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
