/* SPDX-License-Identifier: BSD-2-Clause */
/* Longest-prefix match in plain memory, against a list that is searched from end to end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/frame/frame.h"
#include "engine/prefixes.h"

enum { TABLE_BITS = 32, TWINS = 400 };

/* The slow twin. */
static struct twin {
	struct abi_prefix prefix;
	uint32_t value; /* 0: unused */
} twins[TWINS];

static struct prefixes *prefixes;

static int set_up(void **state)
{
	(void)state;
	memset(twins, 0, sizeof(twins));
	return prefixes_new(&prefixes);
}

static int tear_down(void **state)
{
	(void)state;
	prefixes_free(prefixes);
	return 0;
}

static bool has_bit(const struct pkt_addr *addr, uint32_t bit)
{
	return addr->bytes[bit / 8] >> (7 - bit % 8) & 1;
}

static bool covers(const struct abi_prefix *prefix, uint32_t table, const struct pkt_addr *addr)
{
	if (prefix->table != table)
		return false;
	for (uint32_t bit = 0; bit < prefix->length - TABLE_BITS; bit++) {
		if (has_bit(&prefix->addr, bit) != has_bit(addr, bit))
			return false;
	}
	return true;
}

static bool is_same(const struct abi_prefix *one, const struct abi_prefix *two)
{
	return one->length == two->length && covers(one, two->table, &two->addr);
}

static void twin_set(const struct abi_prefix *prefix, uint32_t value)
{
	struct twin *place = NULL;

	for (size_t i = 0; i < TWINS; i++) {
		if (twins[i].value && is_same(&twins[i].prefix, prefix)) {
			twins[i].value = value;
			return;
		}
		if (!twins[i].value && !place)
			place = &twins[i];
	}
	if (value) {
		assert_non_null(place);
		*place = (struct twin){*prefix, value};
	}
}

static uint32_t twin_find(uint32_t table, const struct pkt_addr *addr)
{
	uint32_t longest = 0, value = 0;

	for (size_t i = 0; i < TWINS; i++) {
		if (twins[i].value && twins[i].prefix.length >= longest &&
		    covers(&twins[i].prefix, table, addr)) {
			longest = twins[i].prefix.length;
			value = twins[i].value;
		}
	}
	return value;
}

/* Few bits that differ, so that prefixes are in each other: at both ends and in the middle. */
static struct pkt_addr random_addr(void)
{
	struct pkt_addr addr = {.bytes = {0x20}};
	uint64_t random = frame_random();

	addr.bytes[1] = random & 3;
	addr.bytes[8] = random >> 2 & 0x81;
	addr.bytes[15] = random >> 16 & 3;
	return addr;
}

static struct abi_prefix random_prefix(void)
{
	static const uint32_t bits[] = {0, 1, 7, 8, 15, 16, 64, 65, 72, 96, 127, 128};

	return (struct abi_prefix){
		.length = TABLE_BITS + bits[frame_random() % (sizeof(bits) / sizeof(bits[0]))],
		.table = 6 + frame_random() % 3,
		.addr = random_addr(),
	};
}

static void test_against_a_twin(void **state)
{
	enum { ROUNDS = 20000 };

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct abi_prefix prefix = random_prefix();
		uint32_t value = frame_random() % 3 ? 1 + frame_random() % 1000 : 0;
		struct pkt_addr addr = random_addr();
		uint32_t table = 5 + frame_random() % 5;

		assert_int_equal(prefixes_set(prefixes, &prefix, value), 0);
		twin_set(&prefix, value);
		if (prefixes_find(prefixes, table, &addr) != twin_find(table, &addr))
			fail_msg("round %d: %u, expected %u", i,
				 prefixes_find(prefixes, table, &addr), twin_find(table, &addr));
	}
}

/* Each once, sorted, without the bits past its length; and those of some tables alone. */
static void test_list(void **state)
{
	struct dp_held *held;
	size_t count, there = 0;

	(void)state;
	assert_int_equal(prefixes_list(prefixes, 0, UINT32_MAX, &held, &count), 0);
	assert_null(held);
	assert_int_equal(count, 0);
	for (int i = 0; i < 200; i++) {
		struct abi_prefix prefix = random_prefix();

		assert_int_equal(prefixes_set(prefixes, &prefix, 1 + (uint32_t)i), 0);
		twin_set(&prefix, 1 + (uint32_t)i);
	}
	for (size_t i = 0; i < TWINS; i++)
		there += twins[i].value != 0;
	assert_int_equal(prefixes_list(prefixes, 0, UINT32_MAX, &held, &count), 0);
	assert_int_equal(count, there);
	for (size_t i = 0; i < count; i++) {
		const struct abi_prefix *prefix = &held[i].prefix;

		for (uint32_t bit = prefix->length - TABLE_BITS; bit < 128; bit++)
			assert_false(has_bit(&prefix->addr, bit));
		assert_true(i == 0 || dp_held_compare(&held[i - 1], &held[i]) < 0);
		assert_int_equal(prefixes_value(prefixes, prefix), held[i].value);
		twin_set(prefix, 0);
	}
	for (size_t i = 0; i < TWINS; i++)
		assert_int_equal(twins[i].value, 0);
	there = 0;
	for (uint32_t table = 0; table < 10; table++) {
		struct dp_held *some;
		size_t some_count;

		assert_int_equal(prefixes_list(prefixes, table, table, &some, &some_count), 0);
		for (size_t i = 0; i < some_count; i++)
			assert_memory_equal(&some[i], &held[there + i], sizeof(*some));
		there += some_count;
		free(some);
	}
	assert_int_equal(there, count);
	/* And all of them go. */
	for (size_t i = 0; i < count; i++)
		assert_int_equal(prefixes_set(prefixes, &held[i].prefix, 0), 0);
	free(held);
	assert_int_equal(prefixes_list(prefixes, 0, UINT32_MAX, &held, &count), 0);
	assert_int_equal(count, 0);
}

static void test_refusals(void **state)
{
	struct abi_prefix prefix = {.length = TABLE_BITS - 1, .table = 4};

	(void)state;
	assert_int_equal(prefixes_set(prefixes, &prefix, 1), -EINVAL);
	prefix.length = TABLE_BITS + 129;
	assert_int_equal(prefixes_set(prefixes, &prefix, 1), -EINVAL);
	prefix.length = TABLE_BITS + 128;
	assert_int_equal(prefixes_set(prefixes, &prefix, 0), 0);
	for (uint32_t i = 0; i < ABI_PREFIXES; i++) {
		frame_put(prefix.addr.bytes, 4, i);
		assert_int_equal(prefixes_set(prefixes, &prefix, 1), 0);
	}
	frame_put(prefix.addr.bytes, 4, ABI_PREFIXES);
	assert_int_equal(prefixes_set(prefixes, &prefix, 1), -ENOSPC);
	/* One that is there may change, and makes room when it goes. */
	frame_put(prefix.addr.bytes, 4, 7);
	assert_int_equal(prefixes_set(prefixes, &prefix, 2), 0);
	assert_int_equal(prefixes_find(prefixes, 4, &prefix.addr), 2);
	assert_int_equal(prefixes_set(prefixes, &prefix, 0), 0);
	assert_int_equal(prefixes_find(prefixes, 4, &prefix.addr), 0);
	assert_int_equal(prefixes_set(prefixes, &prefix, 3), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_against_a_twin),
		TEST(test_list),
		TEST(test_refusals),
	};

	return cmocka_run_group_tests_name("prefixes", tests, NULL, NULL);
}
