/* SPDX-License-Identifier: BSD-2-Clause */
/* Agents' answers, honest ones and others: what is believed, and the reasons for what is not. */
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

#include "weir/draining/answer.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { VIPS_MAX = 4096 };

static struct prefix vips[VIPS_MAX];

/* Ours, divided by blanks, sorted. */
static size_t parse(const char *list)
{
	char copy[256], *rest = copy, *text;
	size_t count = 0;

	snprintf(copy, sizeof(copy), "%s", list);
	while ((text = strsep(&rest, " ")))
		assert_int_equal(prefix_parse(text, &vips[count++]), 0);
	answer_sort(vips, count);
	return count;
}

#define ANSWER(list)      "{\"error\":\"\",\"at_least\":false,\"netns\":[],\"vips\":[" list "]}"
#define VIP(text, number) "{\"vip\":\"" text "\",\"established\":" number "}"

static void test_what_is_counted(void **state)
{
	static const struct {
		const char *ours, *answer;
		uint64_t sum;
	} cases[] = {
		{"192.0.2.1", ANSWER(VIP("192.0.2.1", "0")), 0},
		{"192.0.2.1", ANSWER(VIP("192.0.2.1", "12") "," VIP("192.0.2.2", "5")), 12},
		{"192.0.2.2 2001:db8::1 192.0.2.1",
		 ANSWER(VIP("2001:db8::1", "4") "," VIP("192.0.2.1", "2") "," VIP("192.0.2.2",
										  "1")),
		 7},
		/* The agent's prefix holds more than ours. */
		{"192.0.2.1", ANSWER(VIP("192.0.2.0/24", "3")), 3},
		{"192.0.2.1 192.0.2.2", ANSWER(VIP("192.0.2.0/24", "3")), 3},
		{"192.0.2.0/25", ANSWER(VIP("192.0.2.0/24", "3")), 3},
		{"192.0.2.0/24 198.51.100.1",
		 ANSWER(VIP("192.0.2.0/24", "3") "," VIP("198.51.100.1", "1")), 4},
		{"2001:db8::/64", ANSWER(VIP("2001:db8::/64", "9")), 9},
		/* The least that there is is enough not to have ended. */
		{"192.0.2.1",
		 "{\"error\":\"\",\"at_least\":true,\"vips\":[" VIP("192.0.2.1", "1") "]}", 1},
		/* What is not known is not looked at. */
		{"192.0.2.1",
		 "{\"error\":\"\",\"at_least\":false,\"more\":{},\"vips\":[{\"vip\":"
		 "\"192.0.2.1\",\"established\":2,\"udp\":[]}]}",
		 2},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		size_t count = parse(cases[i].ours);
		uint64_t sum = UINT64_MAX;
		struct err err = {.text = ""};

		if (answer_read(cases[i].answer, strlen(cases[i].answer), vips, count, &sum, &err))
			fail_msg("%zu: %s", i, err.text);
		assert_int_equal(sum, cases[i].sum);
	}
}

static void test_what_is_not_believed(void **state)
{
	static const struct {
		const char *ours, *answer, *why;
	} cases[] = {
		{"192.0.2.1", "", "not as agents answer"},
		{"192.0.2.1", "<html>", "not as agents answer"},
		{"192.0.2.1", "[]", "not as agents answer"},
		{"192.0.2.1", "{}", "not as agents answer"},
		{"192.0.2.1", "null", "not as agents answer"},
		{"192.0.2.1", "{\"error\":\"\",\"at_least\":false}", "not as agents answer"},
		{"192.0.2.1", "{\"error\":\"\",\"at_least\":0,\"vips\":[]}",
		 "not as agents answer"},
		{"192.0.2.1", ANSWER("7"), "not as agents answer"},
		{"192.0.2.1", ANSWER(VIP("192.0.2.1", "1.5")), "not as agents answer"},
		{"192.0.2.1", ANSWER(VIP("192.0.2.1", "\"0\"")), "not as agents answer"},
		{"192.0.2.1", ANSWER(VIP("nowhere", "0")), "not as agents answer"},
		{"192.0.2.1", ANSWER(VIP("192.0.2.1", "0")) "{", "not as agents answer"},
		{"192.0.2.1", ANSWER(VIP("192.0.2.1", "-1")),
		 "tells of -1 connections, which cannot be"},
		{"192.0.2.1", ANSWER(VIP("192.0.2.1", "100000001")), "which cannot be"},
		{"192.0.2.1", ANSWER(VIP("192.0.2.1", "9223372036854775807")), "which cannot be"},
		{"192.0.2.1", ANSWER(VIP("192.0.2.1", "99999999999999999999")),
		 "not as agents answer"},
		{"192.0.2.1", ANSWER(VIP("192.0.2.9", "0")), "does not have VIP 192.0.2.1"},
		{"192.0.2.1 2001:db8::1", ANSWER(VIP("192.0.2.1", "0")),
		 "does not have VIP 2001:db8::1"},
		/* A part of a prefix says nothing of the rest. */
		{"192.0.2.0/24", ANSWER(VIP("192.0.2.7", "0")), "does not have VIP 192.0.2.0/24"},
		{"192.0.2.0/24", ANSWER(VIP("192.0.2.0/25", "0")),
		 "does not have VIP 192.0.2.0/24"},
		{"192.0.2.1",
		 "{\"error\":\"Operation not permitted\",\"at_least\":false,\"vips\":[]}",
		 "it cannot count: Operation not permitted"},
		/* Its words are for a terminal. */
		{"192.0.2.1", "{\"error\":\"\\u001b[2Jno\",\"at_least\":false,\"vips\":[]}",
		 "it cannot count: ?[2Jno"},
		/* The least that there is may be more. */
		{"192.0.2.1",
		 "{\"error\":\"\",\"at_least\":true,\"vips\":[" VIP("192.0.2.1", "0") "]}",
		 "did not look at all sockets"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		size_t count = parse(cases[i].ours);
		uint64_t sum = 77;
		struct err err = {.text = ""};

		if (answer_read(cases[i].answer, strlen(cases[i].answer), vips, count, &sum,
				&err) != -EINVAL)
			fail_msg("%zu is believed: %llu", i, (unsigned long long)sum);
		if (!strstr(err.text, cases[i].why))
			fail_msg("%zu: %s", i, err.text);
		assert_int_equal(sum, 77);
	}
}

/* Its own words are cut, and zeros and depth are no way out. */
static void test_hostile_text(void **state)
{
	char *text = malloc(ANSWER_MAX + 2);
	static const char zero[] = "{\"error\":\"\",\"at_least\":false,\"vips\":[]}\0{";
	uint64_t sum;
	struct err err;
	size_t count = parse("192.0.2.1"), used;

	(void)state;
	assert_non_null(text);
	used = (size_t)sprintf(text, "{\"at_least\":false,\"vips\":[],\"error\":\"");
	memset(text + used, 'e', 4000);
	strcpy(text + used + 4000, "\"}");
	assert_int_equal(answer_read(text, strlen(text), vips, count, &sum, &err), -EINVAL);
	assert_true(strlen(err.text) < 120);
	memset(text, '[', ANSWER_MAX);
	assert_int_equal(answer_read(text, ANSWER_MAX, vips, count, &sum, &err), -EINVAL);
	assert_int_equal(answer_read(text, ANSWER_MAX + 1, vips, count, &sum, &err), -EINVAL);
	assert_non_null(strstr(err.text, "too long"));
	assert_int_equal(answer_read(zero, sizeof(zero) - 1, vips, count, &sum, &err), -EINVAL);
	free(text);
}

/* All VIPs that there may be, by an agent that has all of them. */
static void test_the_most(void **state)
{
	char *text = malloc(ANSWER_MAX);
	size_t used = (size_t)sprintf(text, "{\"error\":\"\",\"at_least\":false,\"vips\":[");
	uint64_t sum;
	struct err err;

	(void)state;
	for (unsigned i = 0; i < VIPS_MAX; i++) {
		char vip[ADDR_TEXT_MAX];

		snprintf(vip, sizeof(vip), "2001:db8:1111:2222:3333:4444:5555:%x", 0x1000 + i);
		assert_int_equal(prefix_parse(vip, &vips[VIPS_MAX - 1 - i]), 0);
		used += (size_t)sprintf(text + used, "%s{\"vip\":\"%s\",\"established\":%u}",
					i ? "," : "", vip, 524288 + i % 2);
	}
	used += (size_t)sprintf(text + used, "]}");
	assert_true(used < ANSWER_MAX);
	answer_sort(vips, VIPS_MAX);
	assert_int_equal(answer_read(text, used, vips, VIPS_MAX, &sum, &err), 0);
	assert_int_equal(sum, 524288ULL * VIPS_MAX + VIPS_MAX / 2);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_counted),
		cmocka_unit_test(test_what_is_not_believed),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_the_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
