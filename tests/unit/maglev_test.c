/* SPDX-License-Identifier: BSD-2-Clause */
/* hash/maglev.h against a slow twin, the published examples and kept tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/twin/slots.h"
#include "hash/maglev.h"

enum { MEMBERS_MAX = 1000 };

static uint32_t table[MAGLEV_SIZE_MAX], other_table[MAGLEV_SIZE_MAX];
static struct maglev_member members[MEMBERS_MAX], shuffled[MEMBERS_MAX];
static uint32_t counts[MEMBERS_MAX];

/* A random number of the test's own, the same in each run. */
static uint64_t draw(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state ^ state >> 29) * 0xff51afd7ed558ccdULL;
}

static void set_members(size_t count, const uint32_t *weights, size_t weight_count)
{
	for (size_t i = 0; i < count; i++)
		members[i] = (struct maglev_member){draw(), weights[i % weight_count]};
}

static void count_slots(const uint32_t *slots, uint32_t size, size_t count)
{
	memset(counts, 0, sizeof(counts));
	for (uint32_t slot = 0; slot < size; slot++) {
		assert_true(slots[slot] < count);
		counts[slots[slot]]++;
	}
}

static void twin_build(size_t count, uint64_t seed, uint32_t size, uint32_t *slots)
{
	static struct twin_member twins[MEMBERS_MAX];

	for (size_t i = 0; i < count; i++)
		twins[i] = (struct twin_member){members[i].identity, members[i].weight, 100};
	twin_base(twins, count, seed, size, slots);
}

static const uint32_t equal[] = {100}, mixed[] = {1, 10, 3, 7, 0, 100}, skewed[] = {1000, 100},
		      one_heavy[] = {1000000, 1, 1, 1, 1, 1, 1, 1, 1, 1}, huge[] = {UINT32_MAX, 1};

static void test_equals_the_twin(void **state)
{
	static const struct {
		size_t count;
		uint32_t size;
		const uint32_t *weights;
		size_t weight_count;
	} cases[] = {
		{1, 2, equal, 1},       {2, 3, equal, 1},       {3, 7, equal, 1},
		{10, 7, equal, 1},      {5, 61, mixed, 6},      {5, 67, mixed, 6},
		{7, 251, mixed, 6},     {300, 251, equal, 1},   {1000, 251, mixed, 6},
		{2, 509, one_heavy, 2}, {9, 1021, skewed, 2},   {10, 2039, one_heavy, 10},
		{20, 2039, huge, 2},    {30, 4093, mixed, 6},   {64, 8191, mixed, 6},
		{100, 16381, mixed, 6}, {12, 32749, skewed, 2}, {7, 65521, mixed, 6},
		{20, 65537, equal, 1},  {40, 65537, mixed, 6},  {11, 131071, equal, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t size = cases[i].size;
		uint64_t seed = draw();

		set_members(cases[i].count, cases[i].weights, cases[i].weight_count);
		assert_int_equal(maglev_build(members, cases[i].count, seed, size, table), 0);
		twin_build(cases[i].count, seed, size, other_table);
		assert_memory_equal(table, other_table, size * sizeof(*table));
	}
}

static void test_published_walk(void **state)
{
	static const uint32_t expected[] = {3, 0, 4, 1, 5, 2, 6};
	uint32_t at = 3;

	(void)state;
	for (size_t i = 0; i < 7; i++, at = maglev_walk_next(at, 4, 7))
		assert_int_equal(at, expected[i]);
	assert_int_equal(at, 3);
}

static void test_published_weights(void **state)
{
	static const uint32_t weights[] = {4, 2, 3, 1};
	static const double percents[] = {40, 20, 30, 10};

	(void)state;
	set_members(4, weights, 4);
	assert_int_equal(maglev_build(members, 4, 1, 1021, table), 0);
	count_slots(table, 1021, 4);
	for (size_t i = 0; i < 4; i++)
		assert_float_equal(100.0 * counts[i] / 1021, percents[i], 0.1);
}

/* Every list visits every slot once, and offset and skip keep their ranges. */
static void test_every_list_is_a_permutation(void **state)
{
	(void)state;
	for (const uint32_t *size = maglev_sizes(); *size; size++) {
		for (int i = 0; i < 8; i++) {
			struct maglev_walk walk = maglev_walk(draw(), draw(), *size);
			uint32_t at = walk.offset;

			assert_in_range(walk.skip, 1, *size - 1);
			assert_in_range(walk.offset, 0, *size - 1);
			memset(table, 0, *size * sizeof(*table));
			for (uint32_t n = 0; n < *size; n++) {
				assert_int_equal(table[at]++, 0);
				at = maglev_walk_next(at, walk.skip, *size);
			}
		}
	}
}

/* In small tables skips repeat, so both ends of their range must turn up. */
static void test_skip_covers_its_range(void **state)
{
	bool first = false, last = false;

	(void)state;
	for (uint64_t identity = 0; identity < 20000; identity++) {
		uint32_t skip = maglev_walk(identity, 0, 251).skip;

		assert_in_range(skip, 1, 250);
		first |= skip == 1;
		last |= skip == 250;
		assert_int_equal(maglev_walk(identity, 0, 2).skip, 1);
	}
	assert_true(first && last);
}

static void assert_shares_within_a_slot(size_t count, uint32_t size)
{
	uint64_t total = 0;

	count_slots(table, size, count);
	for (size_t i = 0; i < count; i++)
		total += members[i].weight;
	for (size_t i = 0; i < count; i++) {
		double exact = (double)size * members[i].weight / (double)total;

		assert_true(counts[i] > exact - 1 && counts[i] < exact + 1);
		if (members[i].weight == 0)
			assert_int_equal(counts[i], 0);
	}
}

/* Case 33: small weights count as large ones do, and each has its share. */
static void test_case_33_shares_are_within_a_slot(void **state)
{
	static const uint32_t tenfold[] = {1, 10}, thousand[] = {100, 1000};
	static const uint32_t nine[] = {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 100};
	static const struct {
		const uint32_t *weights;
		size_t weight_count, count;
	} cases[] = {
		{equal, 1, 1},  {equal, 1, 100},  {tenfold, 2, 2}, {thousand, 2, 2},
		{nine, 10, 10}, {mixed, 6, 100},  {mixed, 6, 650}, {one_heavy, 10, 30},
		{huge, 2, 20},  {skewed, 2, 160},
	};

	(void)state;
	for (const uint32_t *size = maglev_sizes(); *size; size++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			set_members(cases[i].count, cases[i].weights, cases[i].weight_count);
			assert_int_equal(
				maglev_build(members, cases[i].count, draw(), *size, table), 0);
			assert_shares_within_a_slot(cases[i].count, *size);
		}
		/* Nine of 1000 beside one of 100, the last built that way: nobody starves. */
		set_members(10, nine, 10);
		assert_int_equal(maglev_build(members, 10, draw(), *size, table), 0);
		count_slots(table, *size, 10);
		assert_in_range(counts[9], *size * 100 / 9100, *size * 100 / 9100 + 1);
	}
}

/* Case 33: 1:10 and 100:1000 are the same table, not only the same shares. */
static void test_case_33_weights_are_relative(void **state)
{
	static const uint32_t tenfold[] = {1, 10};

	(void)state;
	set_members(8, tenfold, 2);
	assert_int_equal(maglev_build(members, 8, 3, 2039, table), 0);
	for (size_t i = 0; i < 8; i++)
		members[i].weight *= 100;
	assert_int_equal(maglev_build(members, 8, 3, 2039, other_table), 0);
	assert_memory_equal(table, other_table, 2039 * sizeof(*table));
}

static void test_order_does_not_matter(void **state)
{
	size_t place[60];

	(void)state;
	set_members(60, mixed, 6);
	assert_int_equal(maglev_build(members, 60, 9, 4093, table), 0);
	for (size_t i = 0; i < 60; i++)
		place[i] = i;
	for (int times = 0; times < 10; times++) {
		for (size_t i = 59; i > 0; i--) {
			size_t j = draw() % (i + 1), kept = place[i];

			place[i] = place[j];
			place[j] = kept;
		}
		for (size_t i = 0; i < 60; i++)
			shuffled[i] = members[place[i]];
		assert_int_equal(maglev_build(shuffled, 60, 9, 4093, other_table), 0);
		for (uint32_t slot = 0; slot < 4093; slot++)
			assert_int_equal(place[other_table[slot]], table[slot]);
	}
}

static void test_one_and_none(void **state)
{
	(void)state;
	members[0] = (struct maglev_member){7, 0};
	members[1] = (struct maglev_member){8, 5};
	members[2] = (struct maglev_member){9, 0};
	assert_int_equal(maglev_build(members, 3, 0, 251, table), 0);
	for (uint32_t slot = 0; slot < 251; slot++)
		assert_int_equal(table[slot], 1);
	members[1].weight = 0;
	for (size_t count = 0; count <= 3; count += 3) {
		memset(table, 0, sizeof(table));
		assert_int_equal(maglev_build(members, count, 0, 251, table), 0);
		for (uint32_t slot = 0; slot < 251; slot++)
			assert_int_equal(table[slot], HASH_NOBODY);
	}
}

static void test_refusals(void **state)
{
	static const uint32_t sizes[] = {0, 1, 4, 250, 1023, 65536, 131073, 262147, UINT32_MAX};

	(void)state;
	set_members(3, equal, 1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(maglev_build(members, 3, 0, sizes[i], table), -EINVAL);
		assert_false(maglev_size_allowed(sizes[i]));
	}
	members[2].identity = members[0].identity;
	assert_int_equal(maglev_build(members, 3, 0, 251, table), -EINVAL);
}

static void test_sizes(void **state)
{
	static const uint32_t allowed[] = {251,   509,   1021,  2039,  4093,  8191,
					   16381, 32749, 65521, 65537, 131071};
	static const struct {
		size_t members;
		uint32_t size;
	} automatic[] = {{0, 2039},    {1, 2039},    {20, 2039},    {21, 16381},    {160, 16381},
			 {161, 65537}, {650, 65537}, {651, 131071}, {16000, 131071}};

	(void)state;
	for (size_t i = 0; i < 11; i++) {
		assert_int_equal(maglev_sizes()[i], allowed[i]);
		assert_true(maglev_size_allowed(allowed[i]));
	}
	assert_int_equal(maglev_sizes()[11], 0);
	assert_false(maglev_size_allowed(7));
	for (size_t i = 0; i < sizeof(automatic) / sizeof(automatic[0]); i++)
		assert_int_equal(maglev_size_auto(automatic[i].members), automatic[i].size);
}

/* What plain Maglev moves beside the removed one's slots: the reason for the overlay. */
static void test_removal_is_measured(void **state)
{
	static const uint32_t sizes[] = {251, 16381, 65537};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		uint32_t size = sizes[i], moved = 0;

		for (uint64_t seed = 0; seed < 10; seed++) {
			set_members(100, equal, 1);
			assert_int_equal(maglev_build(members, 100, seed, size, table), 0);
			assert_int_equal(maglev_build(members, 99, seed, size, other_table), 0);
			for (uint32_t slot = 0; slot < size; slot++)
				moved += table[slot] != 99 && table[slot] != other_table[slot];
		}
		print_message("one of 100 removed, %u slots: %.2f %% of the others' moved\n", size,
			      10.0 * moved / size);
		assert_in_range(moved, 1, 10 * size / 20);
	}
}

/* A table that changes between versions or machines would cut flows when nodes differ. */
static void test_kept_tables(void **state)
{
	static const uint32_t weights[] = {4, 2, 3, 1};
	static const uint32_t begin[] = {2, 0, 2, 0, 0, 1, 1, 2, 2, 0, 0, 0,
					 0, 3, 0, 0, 2, 1, 3, 0, 0, 2, 0, 3};
	uint64_t digest = 0;

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		members[i] = (struct maglev_member){0x0123456789abcdefULL * (i + 1), weights[i]};
	assert_int_equal(maglev_build(members, 4, 0x5eed, 251, table), 0);
	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		assert_int_equal(table[i], begin[i]);
	assert_int_equal(maglev_build(members, 4, 0x5eed, 65537, table), 0);
	for (uint32_t slot = 0; slot < 65537; slot++)
		digest = digest * 1000003 + table[slot];
	assert_int_equal(digest, 0x38dee905681f6ad1ULL);
	assert_int_equal(maglev_walk(1, 2, 65537).offset, 42061);
	assert_int_equal(maglev_walk(1, 2, 65537).skip, 24352);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equals_the_twin),
		cmocka_unit_test(test_published_walk),
		cmocka_unit_test(test_published_weights),
		cmocka_unit_test(test_every_list_is_a_permutation),
		cmocka_unit_test(test_skip_covers_its_range),
		cmocka_unit_test(test_case_33_shares_are_within_a_slot),
		cmocka_unit_test(test_case_33_weights_are_relative),
		cmocka_unit_test(test_order_does_not_matter),
		cmocka_unit_test(test_one_and_none),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_removal_is_measured),
		cmocka_unit_test(test_kept_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
