/* SPDX-License-Identifier: BSD-2-Clause */
/* Overrides: as a set, as text, and in their file, whole, damaged and out of reach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weir/operate/store.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define ONE           "{\"pool\": \"web\", \"backend\": \"b1\""
#define SET(text)     "{\"version\": 1, \"overrides\": [" text "]}"

static char directory[] = "/tmp/weir-overrides-XXXXXX";
static char path[STORE_PATH_MAX], aside[STORE_PATH_MAX + 8], fresh[STORE_PATH_MAX + 8];

static int open_world(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/weir/lb.overrides.json", directory);
	snprintf(aside, sizeof(aside), "%s.damaged", path);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	return 0;
}

/* What is left in there is a fault: the directories would not go. */
static int close_world(void **state)
{
	char inner[sizeof(directory) + 8];

	(void)state;
	snprintf(inner, sizeof(inner), "%s/weir", directory);
	return rmdir(inner) || rmdir(directory);
}

static void put_file(const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static bool is_there(const char *name)
{
	struct stat there;

	return lstat(name, &there) == 0;
}

static struct override *add(struct overrides *overrides, const char *pool, const char *backend)
{
	struct override *added = overrides_add(overrides, pool, backend);

	assert_non_null(added);
	return added;
}

static void fill(struct overrides *overrides)
{
	struct override *drained = add(overrides, "web", "b2");
	struct override *light, *both;

	drained->has_state = true;
	drained->state = POOL_DRAIN;
	drained->state_since_ms = drained->drain_since_ms = 1764486000000;
	light = add(overrides, "web", "b10");
	light->has_percent = true;
	light->percent_since_ms = 1764486000001;
	both = add(overrides, "dns", "b2");
	both->has_state = both->has_percent = true;
	both->state = POOL_MAINT;
	both->state_since_ms = 1;
	both->percent = 99;
	both->percent_since_ms = UINT64_MAX / 4;
	add(overrides, "dns", "file-drain")->drain_since_ms = 7;
}

static void assert_same(const struct overrides *left, const struct overrides *right)
{
	assert_int_equal(left->count, right->count);
	for (size_t i = 0; i < left->count; i++) {
		const struct override *a = &left->list[i], *b = &right->list[i];

		assert_string_equal(a->pool, b->pool);
		assert_string_equal(a->backend, b->backend);
		assert_int_equal(a->has_state, b->has_state);
		assert_int_equal(a->state, b->state);
		assert_int_equal(a->state_since_ms, b->state_since_ms);
		assert_int_equal(a->has_percent, b->has_percent);
		assert_int_equal(a->percent, b->percent);
		assert_int_equal(a->percent_since_ms, b->percent_since_ms);
		assert_int_equal(a->drain_since_ms, b->drain_since_ms);
	}
}

static void test_set(void **state)
{
	char name[CONF_NAME_MAX + 2], backend[16];
	struct overrides overrides = {0};

	(void)state;
	assert_null(overrides_find(&overrides, "web", "b1"));
	for (unsigned i = 0; i < 100; i++) {
		snprintf(backend, sizeof(backend), "b%u", i * 37 % 100);
		add(&overrides, i % 2 ? "web" : "dns", backend)->drain_since_ms = i + 1;
	}
	assert_int_equal(overrides.count, 100);
	for (unsigned i = 0; i < 100; i++) {
		const char *pool = i % 2 ? "web" : "dns";

		snprintf(backend, sizeof(backend), "b%u", i * 37 % 100);
		assert_int_equal(overrides_find(&overrides, pool, backend)->drain_since_ms, i + 1);
		assert_null(overrides_find(&overrides, i % 2 ? "dns" : "web", backend));
		assert_ptr_equal(add(&overrides, pool, backend),
				 overrides_find(&overrides, pool, backend));
	}
	overrides_remove(&overrides, overrides_find(&overrides, "dns", "b0"));
	assert_int_equal(overrides.count, 99);
	assert_null(overrides_find(&overrides, "dns", "b0"));
	assert_non_null(overrides_find(&overrides, "web", "b37"));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_null(overrides_add(&overrides, name, "b1"));
	assert_null(overrides_add(&overrides, "web", name));
	overrides_fini(&overrides);
}

static void test_round_trip(void **state)
{
	struct overrides overrides = {0}, read = {0};
	struct stat made;
	struct err err;

	(void)state;
	assert_int_equal(store_load(path, &read, &err), 0);
	assert_int_equal(read.count, 0);
	assert_int_equal(store_save(path, &overrides, &err), 0);
	assert_false(is_there(path));
	fill(&overrides);
	assert_int_equal(store_save(path, &overrides, &err), 0);
	assert_int_equal(stat(path, &made), 0);
	assert_int_equal(made.st_mode & 07777, 0600);
	assert_false(is_there(fresh));
	assert_int_equal(store_load(path, &read, &err), 0);
	assert_same(&overrides, &read);
	overrides_fini(&read);
	/* The next replaces it, whatever a death in between left there; none at all is no file. */
	assert_int_equal(rename(path, fresh), 0);
	overrides_remove(&overrides, overrides_find(&overrides, "web", "b2"));
	assert_int_equal(store_save(path, &overrides, &err), 0);
	assert_false(is_there(fresh));
	assert_int_equal(store_load(path, &read, &err), 0);
	assert_same(&overrides, &read);
	overrides_fini(&read);
	overrides_fini(&overrides);
	assert_int_equal(store_save(path, &overrides, &err), 0);
	assert_false(is_there(path));
}

/* Nothing of a text that is not as we write it is taken. */
static void test_damaged(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{}",
		"{\"version\": 1}",
		"{\"version\": 2, \"overrides\": []}",
		"{\"version\": 1, \"overrides\": {}}",
		"{\"version\": 1, \"overrides\": [], \"more\": 1}",
		"{\"version\": 1, \"version\": 1, \"overrides\": []}",
		SET("1"),
		SET("{}"),
		SET("{\"pool\": \"web\"}"),
		SET("{\"pool\": \"\", \"backend\": \"b1\"}"),
		SET(ONE ", \"state\": \"drain\"}"),
		SET(ONE ", \"state_since_ms\": 1}"),
		SET(ONE ", \"state\": \"drained\", \"state_since_ms\": 1}"),
		SET(ONE ", \"state\": 1, \"state_since_ms\": 1}"),
		SET(ONE ", \"state\": \"drain\", \"state_since_ms\": -1}"),
		SET(ONE ", \"state\": \"drain\", \"state_since_ms\": 1.5}"),
		SET(ONE ", \"percent\": 10}"),
		SET(ONE ", \"percent\": 100, \"percent_since_ms\": 1}"),
		SET(ONE ", \"percent\": -1, \"percent_since_ms\": 1}"),
		SET(ONE ", \"percent\": 266, \"percent_since_ms\": 1}"),
		SET(ONE ", \"percent_since_ms\": 1}"),
		SET(ONE ", \"drain_since_ms\": -5}"),
		SET(ONE ", \"weight\": 5}"),
		SET(ONE ", \"drain_since_ms\": 5}, " ONE ", \"drain_since_ms\": 5}"),
		SET("{\"pool\": \"web\", \"backend\": "
		    "\"b123456789b123456789b123456789b123456789b123456789b123456789b123\"}"),
	};
	struct overrides read = {0};
	struct err err;

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		put_file(texts[i]);
		if (store_load(path, &read, &err) != -EINVAL)
			fail_msg("taken: %s", texts[i]);
		assert_non_null(strstr(err.text, "lb.overrides.json is damaged: "));
		assert_int_equal(read.count, 0);
		assert_null(read.list);
	}
	put_file(SET(ONE ", \"drain_since_ms\": 5}"));
	assert_int_equal(store_load(path, &read, &err), 0);
	assert_int_equal(read.count, 1);
	overrides_fini(&read);
	assert_int_equal(store_set_aside(path), 0);
	assert_false(is_there(path));
	assert_int_equal(unlink(aside), 0);
}

/* Every shorter text of a right one is wrong. */
static void test_cut(void **state)
{
	struct overrides overrides = {0}, read = {0};
	struct err err;
	json_t *json;
	char *text;

	(void)state;
	fill(&overrides);
	json = overrides_to_json(&overrides);
	text = json_dumps(json, JSON_INDENT(1));
	json_decref(json);
	assert_non_null(text);
	for (size_t length = 0; length < strlen(text); length++)
		assert_int_equal(overrides_parse(text, length, &read, &err), -EINVAL);
	assert_int_equal(overrides_parse(text, strlen(text), &read, &err), 0);
	assert_same(&overrides, &read);
	overrides_fini(&read);
	overrides_fini(&overrides);
	free(text);
}

static void test_out_of_reach(void **state)
{
	struct overrides overrides = {0};
	struct err err;

	(void)state;
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(store_load(path, &overrides, &err), -EINVAL);
	assert_int_equal(store_set_aside(path), 0);
	assert_int_equal(rmdir(aside), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(store_load(path, &overrides, &err), -ELOOP);
	assert_non_null(strstr(err.text, "it is no regular file"));
	assert_int_equal(store_set_aside(path), 0);
	assert_int_equal(unlink(aside), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(store_load(path, &overrides, &err), -EINVAL);
	assert_int_equal(unlink(path), 0);
	/* What cannot be written leaves what is there. */
	fill(&overrides);
	assert_int_equal(store_save(path, &overrides, &err), 0);
	assert_int_equal(mkdir(fresh, 0700), 0);
	overrides_remove(&overrides, &overrides.list[0]);
	assert_int_equal(store_save(path, &overrides, &err), -EEXIST);
	assert_non_null(strstr(err.text, fresh));
	assert_int_equal(rmdir(fresh), 0);
	overrides_fini(&overrides);
	assert_int_equal(store_load(path, &overrides, &err), 0);
	assert_int_equal(overrides.count, 4);
	/* A link in the place of what is written is neither followed nor in the way. */
	assert_int_equal(symlink("/dev/full", fresh), 0);
	assert_int_equal(store_save(path, &overrides, &err), 0);
	assert_false(is_there(fresh));
	overrides_fini(&overrides);
	assert_int_equal(store_save(path, &overrides, &err), 0);
}

/* --- other names --- */

#define MEMBERS(group) \
	"{name: b1, address: 10.0." group ".1}, {name: b2, address: 10.0." group ".2}"
#define POOLS(one, two, three)                                                                  \
	"node: {name: n, interfaces: [eth0]}\npools:\n"                                         \
	"- {name: " one ", check: {port: 80}, backends: [" MEMBERS(                             \
		"1") "]}\n"                                                                     \
		     "- {name: " two ", check: {port: 80}, backends: [" MEMBERS(                \
			     "2") "]}\n"                                                        \
				  "- {name: " three ", check: {port: 80}, backends: [" MEMBERS( \
					  "3") "]}\nservices: []\n"

static struct conf *parse(const char *text)
{
	struct err_list errors = {0};
	struct conf *conf;

	if (conf_parse(text, strlen(text), &conf, &errors))
		fail_msg("line %d: %s", errors.errors[0].line, errors.errors[0].text);
	return conf;
}

/* Pools swap names: what was set goes with the backend. What is no pool's stays as it is. */
static void test_follows(void **state)
{
	struct conf *before = parse(POOLS("a", "b", "c")), *now = parse(POOLS("b", "d", "a"));
	struct overrides set = {0}, followed = {0};
	struct lineage lineage;
	struct override *one;

	(void)state;
	one = add(&set, "a", "b1");
	one->has_percent = true;
	one->percent = 11;
	one = add(&set, "b", "b1");
	one->has_percent = true;
	one->percent = 22;
	one = add(&set, "c", "b2");
	one->has_state = true;
	one->state = POOL_MAINT;
	add(&set, "x", "b1")->drain_since_ms = 5;
	assert_int_equal(lineage_of_conf(before, now, &lineage), 0);
	assert_int_equal(overrides_follow(&set, &lineage, now, &followed), 0);
	assert_int_equal(followed.count, 4);
	assert_int_equal(overrides_find(&followed, "b", "b1")->percent, 11);
	assert_int_equal(overrides_find(&followed, "d", "b1")->percent, 22);
	assert_int_equal(overrides_find(&followed, "a", "b2")->state, POOL_MAINT);
	assert_int_equal(overrides_find(&followed, "x", "b1")->drain_since_ms, 5);
	overrides_fini(&set);
	overrides_fini(&followed);
	lineage_fini(&lineage);
	conf_free(before);
	conf_free(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),          cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_damaged),      cmocka_unit_test(test_cut),
		cmocka_unit_test(test_out_of_reach), cmocka_unit_test(test_follows),
	};

	return cmocka_run_group_tests_name("overrides", tests, open_world, close_world);
}
