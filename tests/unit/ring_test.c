// SPDX-License-Identifier: BSD-2-Clause
/* hash/ring.h against a slow twin that keeps no order and walks no array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "hash/ring.h"

enum { MEMBERS_MAX = 200, SIZE = 509, BIG = 65537, SEED = 77 };

static struct maglev_member members[MEMBERS_MAX];
static uint32_t owners[RING_SIZE_MAX], others[RING_SIZE_MAX], calls[RING_SIZE_MAX];
static uint8_t all[MEMBERS_MAX], some[MEMBERS_MAX], before[MEMBERS_MAX]; /* shares */

/* A random number of the test's own, the same in each run. */
static uint64_t draw(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state ^ state >> 29) * 0xff51afd7ed558ccdULL;
}

static uint8_t draw_share(bool part)
{
	if (draw() >> 40 & 1)
		return 0;
	return part ? (uint8_t)(1 + draw() % 100) : 100;
}

static void set_members(size_t count, const uint32_t *weights, size_t weight_count)
{
	for (size_t i = 0; i < count; i++) {
		members[i] = (struct maglev_member){draw(), weights[i % weight_count]};
		all[i] = 100;
	}
}

static void take(void *arg, uint32_t slot, uint32_t owner, uint32_t other)
{
	(void)arg;
	owners[slot] = owner;
	others[slot] = other;
	calls[slot]++;
}

static struct ring *make(size_t count, uint32_t tokens, uint32_t size)
{
	struct ring *ring;

	assert_int_equal(ring_new(members, count, SEED, tokens, size, &ring), 0);
	return ring;
}

static void apply(struct ring *ring, const uint8_t *was, const uint8_t *share)
{
	memset(calls, 0, sizeof(calls));
	ring_apply(ring, was, share, take, NULL);
}

/* --- the twin: the nearest token by distance, of members that are allowed --- */

static uint64_t hash(uint64_t a, uint64_t b, uint64_t seed)
{
	uint64_t key[2] = {a, b};

	return XXH64(key, sizeof(key), seed);
}

static uint32_t nearest(const struct ring *ring, size_t count, uint32_t slot, uint32_t size,
			const uint8_t *share, uint32_t not )
{
	uint64_t from = hash(slot, size, ~(uint64_t)SEED), least = UINT64_MAX;
	uint32_t found = HASH_NOBODY;

	for (uint32_t m = 0; m < count; m++) {
		double has = (double)ring_tokens(ring, m) * share[m] / 100;

		if (has <= 0 || m == not )
			continue;
		/* Its first tokens, rounded, and one at least. */
		for (uint32_t t = 0; t < 1 || t < (uint32_t)(has + 0.5); t++) {
			uint64_t distance = hash(members[m].identity, t, SEED) - from;

			if (distance < least) {
				least = distance;
				found = m;
			}
		}
	}
	return found;
}

static void compare(struct ring *ring, size_t count, uint32_t size, const uint8_t *share)
{
	for (uint32_t slot = 0; slot < size; slot++) {
		uint32_t base = nearest(ring, count, slot, size, all, HASH_NOBODY);
		uint32_t owner = nearest(ring, count, slot, size, share, HASH_NOBODY);

		assert_int_equal(ring_base(ring, slot), base);
		assert_int_equal(owners[slot], owner);
		assert_int_equal(others[slot],
				 owner == base ? nearest(ring, count, slot, size, share, base)
					       : base);
	}
}

static void test_equals_the_twin(void **state)
{
	static const uint32_t weights[] = {100, 300, 200, 0, 100};

	(void)state;
	for (size_t count = 1; count <= 13; count += 3) {
		struct ring *ring;

		set_members(count, weights, 5);
		ring = make(count, 20, SIZE);
		apply(ring, NULL, all);
		compare(ring, count, SIZE, all);
		for (int i = 0; i < 6; i++) {
			for (size_t m = 0; m < count; m++)
				some[m] = draw_share(i % 2);
			apply(ring, NULL, some);
			compare(ring, count, SIZE, some);
		}
		ring_free(ring);
	}
}

/* What is told of a change alone, after the state before, is the whole state. */
static void test_changes_are_told(void **state)
{
	static const uint32_t even[] = {1};
	struct ring *ring;

	(void)state;
	set_members(40, even, 1);
	ring = make(40, 50, SIZE);
	memcpy(before, all, sizeof(before));
	apply(ring, NULL, all);
	for (int i = 0; i < 50; i++) {
		size_t told = 0;

		memcpy(some, before, sizeof(some));
		some[draw() % 40] = draw_share(i % 2);
		apply(ring, before, some);
		for (uint32_t slot = 0; slot < SIZE; slot++) {
			assert_true(calls[slot] <= 1);
			told += calls[slot];
		}
		assert_true(told < SIZE);
		compare(ring, 40, SIZE, some);
		memcpy(before, some, sizeof(before));
	}
	ring_free(ring);
}

/* Taken out of the list or down: the same owners, and only its own slots move. */
static void test_removal_moves_its_own(void **state)
{
	static const uint32_t weights[] = {2, 1, 3};
	static uint32_t whole[BIG];
	struct ring *ring;

	(void)state;
	set_members(60, weights, 3);
	ring = make(60, RING_TOKENS_DEFAULT, BIG);
	apply(ring, NULL, all);
	memcpy(whole, owners, sizeof(whole));
	memcpy(some, all, sizeof(some));
	some[59] = 0;
	apply(ring, NULL, some);
	ring_free(ring);
	for (uint32_t slot = 0; slot < BIG; slot++)
		assert_true(whole[slot] == 59 ? owners[slot] != 59 : owners[slot] == whole[slot]);

	/* Coming back is the same read backwards, and so is being added. */
	ring = make(59, RING_TOKENS_DEFAULT, BIG);
	for (uint32_t slot = 0; slot < BIG; slot++)
		assert_int_equal(ring_base(ring, slot), owners[slot]);
	ring_free(ring);
}

/* Half the share is half the weight: the same owners, and only its own slots move. */
static void test_share_is_weight(void **state)
{
	static const uint32_t weights[] = {2, 6, 4};
	static uint32_t whole[BIG];
	struct ring *ring;

	(void)state;
	set_members(3, weights, 3);
	ring = make(3, 2 * RING_TOKENS_DEFAULT, BIG); /* by 2, their common factor */
	apply(ring, NULL, all);
	memcpy(whole, owners, sizeof(whole));
	memcpy(some, all, sizeof(some));
	some[0] = 50;
	apply(ring, all, some);
	for (uint32_t slot = 0; slot < BIG; slot++)
		assert_true(owners[slot] == whole[slot] || whole[slot] == 0);
	assert_int_equal(ring_tokens(ring, 0), 300);
	ring_free(ring);

	members[0].weight = 1;
	ring = make(3, RING_TOKENS_DEFAULT, BIG);
	assert_int_equal(ring_tokens(ring, 0), 150);
	for (uint32_t slot = 0; slot < BIG; slot++)
		assert_int_equal(ring_base(ring, slot), owners[slot]);
	ring_free(ring);
}

static void test_order_means_nothing(void **state)
{
	static const uint32_t weights[] = {5, 10};
	static uint64_t first[SIZE];
	struct ring *ring;

	(void)state;
	set_members(30, weights, 2);
	ring = make(30, 40, SIZE);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		first[slot] = members[ring_base(ring, slot)].identity;
	ring_free(ring);
	for (size_t i = 29; i > 0; i--) {
		size_t other = draw() % (i + 1);
		struct maglev_member kept = members[i];

		members[i] = members[other];
		members[other] = kept;
	}
	ring = make(30, 40, SIZE);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(members[ring_base(ring, slot)].identity, first[slot]);
	ring_free(ring);
}

/* Within 4 / sqrt(tokens) of the ideal share, and a bit for the slots' own unevenness. */
static void assert_shares(size_t count, uint32_t tokens)
{
	struct ring *ring = make(count, tokens, BIG);
	uint64_t total = 0, sum = 0;
	double worst = 0, error;

	for (size_t m = 0; m < count; m++)
		total += members[m].weight;
	for (size_t m = 0; m < count; m++) {
		double ideal = (double)BIG * members[m].weight / (double)total;
		double limit_squared = 16.0 / ring_tokens(ring, m) + 16 / ideal;
		uint32_t slots = 0;

		for (uint32_t slot = 0; slot < BIG; slot++)
			slots += ring_base(ring, slot) == m;
		error = slots / ideal - 1;
		assert_true(error * error <= limit_squared);
		if (error > worst || -error > worst)
			worst = error > 0 ? error : -error;
		sum += slots;
	}
	assert_int_equal(sum, BIG);
	print_message("# %zu members, %u tokens a unit: shares within %.1f %%\n", count, tokens,
		      100 * worst);
	ring_free(ring);
}

static void test_shares(void **state)
{
	static const uint32_t even[] = {100}, skewed[] = {100, 1000, 300};

	(void)state;
	set_members(10, even, 1);
	assert_shares(10, RING_TOKENS_DEFAULT);
	set_members(100, even, 1);
	assert_shares(100, RING_TOKENS_DEFAULT);
	set_members(30, skewed, 3);
	assert_shares(30, RING_TOKENS_DEFAULT);
	/* Above the bound of all tokens together each has its part of it. */
	set_members(200, skewed, 3);
	assert_shares(200, 1000);
}

static void test_tokens(void **state)
{
	static const uint32_t weights[] = {100, 300, 0}, steep[] = {1, 1000000};
	struct ring *ring;

	(void)state;
	set_members(3, weights, 3);
	ring = make(3, 150, SIZE);
	assert_int_equal(ring_tokens(ring, 0), 150);
	assert_int_equal(ring_tokens(ring, 1), 450);
	assert_int_equal(ring_tokens(ring, 2), 0);
	ring_free(ring);
	set_members(2, steep, 2);
	ring = make(2, 150, SIZE);
	assert_int_equal(ring_tokens(ring, 0), 1);
	assert_in_range(ring_tokens(ring, 1), RING_TOKENS_MAX - 1, RING_TOKENS_MAX);
	ring_free(ring);
}

static void assert_nobody(struct ring *ring, const uint8_t *share)
{
	apply(ring, NULL, share);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(owners[slot], HASH_NOBODY);
}

static void test_nobody_and_refusals(void **state)
{
	static const uint32_t none[] = {0}, even[] = {1};
	struct ring *ring;

	(void)state;
	set_members(4, none, 1);
	ring = make(4, 10, SIZE);
	assert_nobody(ring, all);
	ring_free(ring);
	ring = make(0, 10, SIZE);
	assert_nobody(ring, all);
	ring_free(ring);
	set_members(4, even, 1);
	ring = make(4, 10, SIZE);
	memset(some, 0, sizeof(some));
	assert_nobody(ring, some);
	assert_int_equal(others[0], ring_base(ring, 0));
	ring_free(ring);

	assert_int_equal(ring_new(members, 4, SEED, 10, 0, &ring), -EINVAL);
	assert_int_equal(ring_new(members, 4, SEED, 0, SIZE, &ring), -EINVAL);
	assert_int_equal(ring_new(members, 4, SEED, 10, RING_SIZE_MAX + 1, &ring), -EINVAL);
	members[3].identity = members[0].identity;
	assert_int_equal(ring_new(members, 4, SEED, 10, SIZE, &ring), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equals_the_twin),
		cmocka_unit_test(test_changes_are_told),
		cmocka_unit_test(test_removal_moves_its_own),
		cmocka_unit_test(test_share_is_weight),
		cmocka_unit_test(test_order_means_nothing),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_nobody_and_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
