/* SPDX-License-Identifier: BSD-2-Clause */
/* weir/node/tiers.h: whom a balancer believes, after each of several configurations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "engine/native.h"
#include "weir/tables/tiers.h"

static struct native *native;

static size_t count_believed(void)
{
	struct dp_tables *tables = native_tables(native);
	struct dp_held *held;
	size_t count;

	assert_int_equal(
		dp_tables_hold(tables, ABI_LIST_BALANCERS, ABI_LIST_BALANCERS, &held, &count), 0);
	free(held);
	return count;
}

static bool is_believed(const char *text)
{
	struct dp_tables *tables = native_tables(native);
	struct abi_prefix wanted;
	struct prefix prefix;
	struct dp_held *held;
	bool found = false;
	size_t count;

	assert_int_equal(prefix_parse(text, &prefix), 0);
	wanted = dp_prefix(ABI_LIST_BALANCERS, &prefix);
	assert_int_equal(
		dp_tables_hold(tables, ABI_LIST_BALANCERS, ABI_LIST_BALANCERS, &held, &count), 0);
	for (size_t i = 0; i < count; i++)
		found = found || memcmp(&held[i].prefix, &wanted, sizeof(wanted)) == 0;
	free(held);
	return found;
}

static void write_list(const char *const *texts, size_t count)
{
	struct prefix list[4];
	struct tiers tiers;
	struct conf_node node = {.decap = count > 0, .balancers = list, .balancer_count = count};
	struct err err;

	for (size_t i = 0; i < count; i++)
		assert_int_equal(prefix_parse(texts[i], &list[i]), 0);
	assert_int_equal(tiers_add(&tiers, &node, native_tables(native), &err), 0);
	tiers_drop(&tiers);
	tiers_fini(&tiers);
	assert_int_equal(count_believed(), count);
	for (size_t i = 0; i < count; i++)
		assert_true(is_believed(texts[i]));
}

static void test_lists_follow_each_other(void **state)
{
	static const char *const first[] = {"100.64.1.0/24", "2001:db8:f::/64", "192.0.2.11"};
	static const char *const second[] = {"100.64.1.0/25", "2001:db8:f::/64"};

	(void)state;
	assert_int_equal(count_believed(), 0);
	write_list(first, 3);
	write_list(first, 3);
	write_list(second, 2);
	assert_false(is_believed("100.64.1.0/24"));
	write_list(NULL, 0);
}

/* The prefixes of VIPs and of access lists are another's. */
static void test_other_lists_stay(void **state)
{
	static const char *const texts[] = {"0.0.0.0/0", "::/0"};
	struct dp_tables *tables = native_tables(native);
	uint32_t lists[] = {ABI_LIST_VIPS, ABI_LIST_ACCESS, ABI_LIST_ACCESS + 1};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct prefix prefix;
		struct abi_prefix key;

		assert_int_equal(prefix_parse("198.51.100.0/24", &prefix), 0);
		key = dp_prefix(lists[i], &prefix);
		assert_int_equal(tables->set_prefix(tables->prefixes, &key, 7), 0);
	}
	write_list(texts, 2);
	write_list(NULL, 0);
	for (size_t i = 0; i < 3; i++) {
		struct dp_held *held;
		size_t count;

		assert_int_equal(dp_tables_hold(tables, lists[i], lists[i], &held, &count), 0);
		assert_int_equal(count, 1);
		assert_int_equal(held[0].value, 7);
		free(held);
	}
}

static int set_up(void **state)
{
	(void)state;
	return native_new(ABI_FLOWS_MIN, &native);
}

static int tear_down(void **state)
{
	(void)state;
	native_free(native);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists_follow_each_other),
		cmocka_unit_test(test_other_lists_stay),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
