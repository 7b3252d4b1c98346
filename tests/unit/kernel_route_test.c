/* SPDX-License-Identifier: BSD-2-Clause */
/* Routes for others to take up, in a network namespace of its own. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/kernel_route.h"

enum { TABLE = 1000, MANY_TABLE = 1001, MANY = 1500 };

static struct prefix prefix_of(const char *text)
{
	struct prefix prefix;

	assert_int_equal(prefix_parse(text, &prefix), 0);
	return prefix;
}

static char seen[512];

static void note(void *arg, const struct prefix *prefix)
{
	char text[ADDR_TEXT_MAX];

	(void)arg;
	strcat(seen, prefix_format(prefix, text));
	strcat(seen, " ");
}

static void expect(uint32_t table, const char *want)
{
	struct err err;

	seen[0] = '\0';
	assert_int_equal(kernel_route_list(table, note, NULL, &err), 0);
	assert_string_equal(seen, want);
}

static void add(uint32_t table, const char *text)
{
	struct prefix prefix = prefix_of(text);
	struct err err;

	assert_int_equal(kernel_route_add(table, &prefix, &err), 0);
}

static void drop(uint32_t table, const char *text)
{
	struct prefix prefix = prefix_of(text);
	struct err err;

	assert_int_equal(kernel_route_remove(table, &prefix, &err), 0);
}

static void test_tables(void **state)
{
	static const uint32_t tables[] = {254, 100, TABLE, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		expect(tables[i], "");
		drop(tables[i], "192.0.2.1");
		add(tables[i], "192.0.2.1");
		add(tables[i], "192.0.2.1");
		add(tables[i], "198.51.100.0/24");
		add(tables[i], "2001:db8::1");
		add(tables[i], "2001:db8::1");
		add(tables[i], "2001:db8:1::/64");
		expect(tables[i], "192.0.2.1/32 198.51.100.0/24 2001:db8::1/128 2001:db8:1::/64 ");
		drop(tables[i], "198.51.100.0/24");
		drop(tables[i], "198.51.100.0/24");
		drop(tables[i], "2001:db8::1");
		expect(tables[i], "192.0.2.1/32 2001:db8:1::/64 ");
	}
}

static void drop_seen(void *arg, const struct prefix *prefix)
{
	size_t *count = arg;
	struct err err;

	assert_int_equal(kernel_route_remove(MANY_TABLE, prefix, &err), 0);
	++*count;
}

/* More than the kernel lists in one go, each removed as it is told: none is passed over. */
static void test_many_that_go(void **state)
{
	struct err err;
	size_t count = 0;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		char text[ADDR_TEXT_MAX];

		snprintf(text, sizeof(text), i & 1 ? "2001:db8:%x::1" : "2001:db9:%x::1", i >> 1);
		add(MANY_TABLE, text);
	}
	assert_int_equal(kernel_route_list(MANY_TABLE, drop_seen, &count, &err), 0);
	assert_int_equal(count, MANY);
	expect(MANY_TABLE, "");
}

/* What another has stays another's. */
static void test_strangers(void **state)
{
	struct prefix prefix4 = prefix_of("203.0.113.1"), prefix6 = prefix_of("2001:db8:f::1");
	struct err err;

	(void)state;
	assert_int_equal(system("ip route add blackhole 203.0.113.1 proto static table 100 && "
				"ip -6 route add blackhole 2001:db8:f::1 proto static table 100"),
			 0);
	assert_int_equal(kernel_route_add(100, &prefix4, &err), -EEXIST);
	assert_non_null(strstr(err.text, "203.0.113.1/32 in table 100"));
	assert_int_equal(kernel_route_add(100, &prefix6, &err), -EEXIST);
	drop(100, "203.0.113.1");
	drop(100, "2001:db8:f::1");
	assert_int_equal(system("ip route show table 100 | grep -q 'blackhole 203.0.113.1' && "
				"ip -6 route show table 100 | grep -q 'blackhole 2001:db8:f::1'"),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_many_that_go),
		cmocka_unit_test(test_strangers),
	};

	if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0 || system("ip link set lo up") != 0) {
		puts("skip: needs root and a network namespace");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
