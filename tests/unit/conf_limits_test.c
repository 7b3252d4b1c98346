/* SPDX-License-Identifier: BSD-2-Clause */
/* How much a configuration may hold, what is too much, and files that are none. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/conf.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define NODE    "node: {interfaces: [eth0]}\n"
#define POOL    "pools: [{name: web, backends: [{name: b1, address: 10.0.1.1}]}]\n"
#define SERVICE "services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web}]\n"

static struct conf *accepted(const char *text)
{
	struct err_list errors = {0};
	struct conf *conf = NULL;

	if (conf_parse(text, strlen(text), &conf, &errors))
		fail_msg("%d:%d: %s", errors.errors[0].line, errors.errors[0].column,
			 errors.errors[0].text);
	return conf;
}

/* A file of `backends` backends, and `services` services of `vips` VIPs and `listens` ports. */
static char *large(size_t backends, size_t services, size_t vips, size_t listens)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs(NODE "pools:\n- name: web\n  backends:\n", out);
	for (size_t i = 0; i < backends; i++)
		fprintf(out, "  - {name: b%zu, address: 10.1.%zu.%zu}\n", i, i / 250, i % 250 + 1);
	fputs("services:\n", out);
	for (size_t i = 0; i < services; i++) {
		fprintf(out, "- {name: s%zu, pool: web, vips: [", i);
		for (size_t j = 0; j < vips; j++)
			fprintf(out, "10.%zu.%zu.%zu,", 2 + i % 200, (i / 200 + j) / 250,
				j % 250 + 1);
		fputs("], listen: [", out);
		for (size_t j = 0; j < listens; j++)
			fprintf(out, "tcp/%zu,", 80 + i / 200 + j);
		fputs("]}\n", out);
	}
	fclose(out);
	return text;
}

static void assert_refused(char *text, int line, const char *part)
{
	struct err_list errors = {0};
	struct conf *conf = NULL;

	assert_int_equal(conf_parse(text, strlen(text), &conf, &errors), -EINVAL);
	if (line) /* 0: any */
		assert_int_equal(errors.errors[0].line, line);
	if (!strstr(errors.errors[0].text, part))
		fail_msg("%s, expected %s", errors.errors[0].text, part);
	err_list_fini(&errors);
	free(text);
}

static void test_limits(void **state)
{
	static const uint32_t sizes[][2] = {{1, 2039},    {20, 2039},   {21, 16381},
					    {160, 16381}, {161, 65537}, {651, 131071}};
	char *text = large(CONF_BACKENDS_MAX, 200, 20, CONF_VIP_LISTENS_MAX);
	struct conf *conf = accepted(text);

	(void)state;
	assert_int_equal(conf->pools[0].backend_count, CONF_BACKENDS_MAX);
	conf_free(conf);
	free(text);
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		text = large(sizes[i][0], 1, 1, 1);
		conf = accepted(text);
		assert_int_equal(conf->pools[0].table_size, sizes[i][1]);
		conf_free(conf);
		free(text);
	}
	assert_refused(large(CONF_BACKENDS_MAX + 1, 1, 1, 1), 5, "has 16384 elements");
	assert_refused(large(1, CONF_SERVICES_MAX + 1, 1, 1), 7, "has 4096 elements");
	assert_refused(large(1, 1, CONF_VIPS_MAX + 1, 1), 7, "has 4097 elements");
	assert_refused(large(1, 1, 1, CONF_VIP_LISTENS_MAX + 1), 7, "has 15 elements");
	assert_refused(large(1, 200, 21, 1), 0, "there are more than 4096 VIPs");
	assert_refused(large(1, 200, 300, 14), 24, "pairs of VIP and listen");
}

static void test_listens_of_a_vip(void **state)
{
	char *text = strdup(NODE POOL
			    "services:\n"
			    "- {name: a, vips: [192.0.2.1], pool: web, listen: [tcp/1, tcp/2,"
			    " tcp/3, tcp/4, tcp/5, tcp/6, tcp/7, tcp/8]}\n"
			    "- {name: b, vips: [192.0.2.2, 192.0.2.1], pool: web, listen: ["
			    "udp/1, udp/2, udp/3, udp/4, udp/5, udp/6, udp/7]}\n");

	(void)state;
	assert_refused(text, 5, "VIP 192.0.2.1 has more than 14 listens");
}

/* Prefixes have a limit of their own, in all services together. */
static void test_ranges(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fputs(NODE POOL "services:\n- {name: a, pool: web, listen: [tcp/80], vips: [", out);
	for (int i = 0; i < CONF_VIP_RANGES_MAX; i++)
		fprintf(out, "11.%d.%d.0/24,", i / 256, i % 256);
	fputs("]}\n", out);
	fflush(out);
	conf_free(accepted(text));
	fputs("- {name: b, pool: web, listen: [tcp/80], vips: [12.0.0.0/8, 11.0.0.0/16]}\n", out);
	fclose(out);
	assert_refused(text, 0, "there are more than 1024 VIPs that are prefixes");
}

static void test_access_lists(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fputs(NODE POOL "services:\n- {name: a, pool: web, listen: [tcp/80], vips: [192.0.2.1],\n"
			"   deny: [",
	      out);
	for (int i = 0; i < CONF_ACCESS_MAX; i++)
		fprintf(out, "11.%d.%d.%d,", i >> 16, i >> 8 & 255, i & 255);
	fputs("]}\n", out);
	fflush(out);
	conf_free(accepted(text));
	fputs("- {name: b, pool: web, listen: [tcp/81], vips: [192.0.2.1], allow: [11.0.0.1]}\n",
	      out);
	fclose(out);
	assert_refused(text, 6, "allow and deny have 120001 prefixes, expected 120000 at most");
}

/* Services of two large pools that change ports, on a thousand VIPs. `step` from the listens of
 * one VIP to those of the next. */
static char *port_changes(int step)
{
	enum { BACKENDS = 8000, PAIRS = 1000 };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs(NODE "pools:\n", out);
	for (int pool = 0; pool < 2; pool++) {
		fprintf(out, "- {name: p%d, check: {type: none}, backends: [", pool);
		for (int i = 0; i < BACKENDS; i++)
			fprintf(out, "{name: b%d, address: 10.1.%d.%d, port: %d},", i, i / 250,
				i % 250 + 1, 8443 + pool);
		fputs("]}\n", out);
	}
	fputs("services:\n", out);
	for (int i = 0; i < 2 * PAIRS; i++)
		fprintf(out,
			"- {name: s%d, vips: [192.0.%d.%d], listen: [tcp/%d], pool: p%d, forward: "
			"geneve}\n",
			i, i / 500, i % 500 / 2 + 1, 443 + i % 2 + i / 2 * step, i % 2);
	fclose(out);
	return text;
}

/* The same two pools and listens are compared once; there is an end to what is compared. */
static void test_many_ports(void **state)
{
	char *text = port_changes(0);

	(void)state;
	conf_free(accepted(text));
	free(text);
	assert_refused(port_changes(2), 1, "too many backends of services that share VIPs");
}

static void test_sums_of_pools(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fputs(NODE "pools:\n", out);
	for (int i = 0; i < 17; i++)
		fprintf(out,
			"- {name: p%d, table_size: 131071, backends: [{name: b, address: "
			"10.0.0.1}]}\n",
			i);
	fclose(out);
	assert_refused(text, 19, "slots, expected 2097152 at most");
	text = strdup(NODE "pools: [{name: p, table_size: 251, backends: [" /* 252 of them */);
	for (int i = 0; i < 252; i++) {
		text = realloc(text, strlen(text) + 60);
		sprintf(text + strlen(text), "{name: b%d, address: 10.0.0.%d}%s", i, i + 1,
			i < 251 ? "," : "]}]\n");
	}
	assert_refused(text, 2, "table_size 251 is too small for 252 backends");
}

/* Aliases that unfold to far more than the file holds, and a long list of nothing. */
static void test_bombs(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fputs(NODE "pools:\n- &p\n  name: p\n  backends: &b\n", out);
	for (int i = 0; i < 2000; i++)
		fputs("  - {name: b, address: 10.0.0.1}\n", out);
	for (int i = 0; i < 2000; i++)
		fputs("- *p\n", out);
	fclose(out);
	assert_refused(text, 0, "aliases unfold to more than");
	out = open_memstream(&text, &size);
	for (int i = 0; i < CONF_FILE_MAX / 2; i++)
		fputs("- ", out);
	fclose(out);
	assert_refused(text, 1, "nested too deep");
	out = open_memstream(&text, &size);
	fputc('[', out);
	for (int i = 0; i < CONF_FILE_MAX / 2 - 8; i++)
		fputs("a,", out);
	fclose(out);
	assert_refused(text, 1, "too many values");
	out = open_memstream(&text, &size);
	for (int i = 0; i < 200; i++)
		fprintf(out, "- &a%d x\n", i);
	fclose(out);
	assert_refused(text, 129, "too many anchors");
}

/* Aliases of nothing, anchors that come twice, and values that hold themselves. */
static void test_anchors(void **state)
{
	static const struct {
		const char *text, *part;
		int line;
	} rows[] = {
		{NODE "pools: *p\n", "found undefined alias", 2},
		{NODE "pools: &p []\nservices: &p []\n", "found duplicate anchor", 3},
		{"node: &n {interfaces: *n}\n" POOL SERVICE,
		 "interfaces is a mapping, expected a list", 1},
		{NODE "pools: &p\n- *p\n" SERVICE, "an element of pools is a list", 2},
		{"&all\n" NODE "pools: *all\n" SERVICE, "pools is a mapping, expected a list", 1},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		assert_refused(strdup(rows[i].text), rows[i].line, rows[i].part);
}

/* --- files --- */

static void assert_unreadable(const char *path, int code, const char *part)
{
	struct err_list errors = {0};
	struct conf *conf = NULL;

	assert_int_equal(conf_load(path, &conf, &errors), code);
	assert_int_equal(errors.count, 1);
	assert_int_equal(errors.errors[0].line, 0);
	assert_non_null(strstr(errors.errors[0].text, part));
	err_list_fini(&errors);
}

static void test_files(void **state)
{
	char directory[] = "/tmp/weir-conf-test-XXXXXX", path[64];
	struct err_list errors = {0};
	struct conf *conf = NULL;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/file", directory);
	assert_unreadable(path, -ENOENT, "No such file");
	assert_unreadable(directory, -EISDIR, "is a directory, expected a file");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_unreadable(path, -EINVAL, "is not a regular file");
	unlink(path);
	file = fopen(path, "w");
	fputs(NODE POOL SERVICE, file);
	fclose(file);
	assert_int_equal(conf_load(path, &conf, &errors), 0);
	assert_string_equal(conf->node.interfaces[0], "eth0");
	conf_free(conf);
	assert_int_equal(truncate(path, CONF_FILE_MAX + 1), 0);
	assert_unreadable(path, -EFBIG, "is too large");
	unlink(path);
	rmdir(directory);
}

/* In a child, which may enter a namespace of its own. */
static void test_default_name(void **state)
{
	char name[CONF_NAME_MAX + 1];
	int status;
	pid_t child;

	(void)state;
	if (geteuid() != 0)
		skip();
	child = fork();
	if (child == 0) {
		struct stat own;
		char suffix[40];

		if (unshare(CLONE_NEWNET) != 0 || stat("/proc/self/ns/net", &own) != 0)
			_exit(2);
		conf_default_name(name);
		snprintf(suffix, sizeof(suffix), "-netns-%llu", (unsigned long long)own.st_ino);
		_exit(strstr(name, suffix) && strlen(name) <= CONF_NAME_MAX ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),     cmocka_unit_test(test_listens_of_a_vip),
		cmocka_unit_test(test_ranges),     cmocka_unit_test(test_access_lists),
		cmocka_unit_test(test_many_ports), cmocka_unit_test(test_sums_of_pools),
		cmocka_unit_test(test_bombs),      cmocka_unit_test(test_anchors),
		cmocka_unit_test(test_files),      cmocka_unit_test(test_default_name),
	};

	return cmocka_run_group_tests_name("conf limits", tests, NULL, NULL);
}
