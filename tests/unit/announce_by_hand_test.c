/* SPDX-License-Identifier: BSD-2-Clause */
/* The set of what was withdrawn by hand, and its file's text, right and damaged. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/announce/by_hand.h"

static struct prefix prefix_of(const char *text)
{
	struct prefix prefix;

	assert_int_equal(prefix_parse(text, &prefix), 0);
	return prefix;
}

static void test_set(void **state)
{
	static const char *const texts[] = {"192.0.2.9", "192.0.2.0/24", "2001:db8::/64",
					    "192.0.2.0", "10.0.0.1"};
	struct by_hand set = {0};
	struct prefix prefix;

	(void)state;
	assert_true(by_hand_is_empty(&set));
	for (uint64_t i = 0; i < 5; i++) {
		prefix = prefix_of(texts[i]);
		assert_null(by_hand_find(&set, &prefix));
		assert_int_equal(by_hand_add(&set, &prefix, i + 1), 0);
		assert_int_equal(by_hand_add(&set, &prefix, 99), 0);
	}
	assert_int_equal(set.count, 5);
	for (uint64_t i = 0; i < 5; i++) {
		prefix = prefix_of(texts[i]);
		assert_int_equal(by_hand_find(&set, &prefix)->since_ms, i + 1);
		assert_true(by_hand_remove(&set, &prefix));
		assert_false(by_hand_remove(&set, &prefix));
		assert_null(by_hand_find(&set, &prefix));
	}
	assert_true(by_hand_is_empty(&set));
	set.drain_since_ms = 1;
	assert_false(by_hand_is_empty(&set));
	by_hand_fini(&set);
}

static void test_text(void **state)
{
	struct by_hand set = {.all_since_ms = 7, .drain_since_ms = 8}, again = {0};
	struct prefix one = prefix_of("192.0.2.9"), two = prefix_of("2001:db8::/64");
	json_t *json;
	struct err err;
	char *text;

	(void)state;
	by_hand_add(&set, &two, 1700000000001);
	by_hand_add(&set, &one, 1700000000000);
	json = by_hand_to_json(&set);
	text = json_dumps(json, 0);
	assert_int_equal(by_hand_parse(text, strlen(text), &again, &err), 0);
	assert_int_equal(again.all_since_ms, 7);
	assert_int_equal(again.drain_since_ms, 8);
	assert_int_equal(again.count, 2);
	assert_int_equal(by_hand_find(&again, &one)->since_ms, 1700000000000);
	assert_int_equal(by_hand_find(&again, &two)->since_ms, 1700000000001);
	by_hand_fini(&again);
	/* Half of it is none of it. */
	for (size_t length = 0; length < strlen(text); length++) {
		assert_int_equal(by_hand_parse(text, length, &again, &err), -EINVAL);
		assert_true(by_hand_is_empty(&again));
	}
	free(text);
	json_decref(json);
	by_hand_fini(&set);
}

static void test_damaged(void **state)
{
	static const char *const texts[] = {
		"{\"version\": 1, \"overrides\": []}",
		"{\"version\": 2, \"withdrawals\": []}",
		"{\"version\": 1, \"withdrawals\": {}}",
		"{\"version\": 1, \"withdrawals\": [1]}",
		"{\"version\": 1, \"withdrawals\": [{\"withdrawn\": \"all\"}]}",
		"{\"version\": 1, \"withdrawals\": [{\"withdrawn\": \"all\", \"since_ms\": 0}]}",
		"{\"version\": 1, \"withdrawals\": [{\"withdrawn\": \"x\", \"since_ms\": 1}]}",
		"{\"version\": 1, \"withdrawals\": [{\"withdrawn\": \"all\", \"since_ms\": 1, "
		"\"y\": "
		"1}]}",
		"{\"version\": 1, \"withdrawals\": [{\"withdrawn\": \"192.0.2.1/24\", "
		"\"since_ms\": "
		"1}]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct by_hand set = {0};
		struct err err;

		assert_int_equal(by_hand_parse(texts[i], strlen(texts[i]), &set, &err), -EINVAL);
		assert_true(by_hand_is_empty(&set));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
