/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool that gets a member whose first check has no result yet: its slots stay where they are, in
 * place of going to a third for seconds, and whatever happens meanwhile is forgotten with the
 * result: then each slot is whose it is in a pool that has known all from the beginning.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "dp/abi.h"
#include "hash/maglev.h"
#include "pool/pool.h"

enum { OLD = 6, MEMBERS = 7, ADDED = 6, SIZE = 509, FIRST = 100 };

static uint32_t tokens; /* 0: Maglev */
static uint64_t slots[SIZE], before[SIZE];

static uint64_t draw(void)
{
	static uint64_t state = 5;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state ^ state >> 29) * 0xff51afd7ed558ccdULL;
}

static struct pool *make(size_t count, enum pool_health of_added)
{
	struct pool_member_spec members[MEMBERS];
	struct pool_spec spec = {
		.name = "web",
		.seed = 7,
		.tokens = tokens,
		.table_size = SIZE,
		.idle_ms = 300000,
		.datagram_ms = 30000,
		.members = members,
		.member_count = count,
	};
	struct pool *made;

	for (uint32_t i = 0; i < count; i++)
		members[i] = (struct pool_member_spec){
			.name = "m",
			.identity = 1000 + i,
			.weight = 10,
			.index = FIRST + i,
			.health = i == ADDED ? of_added : POOL_HEALTHY,
		};
	assert_int_equal(pool_new(&spec, &made), 0);
	return made;
}

/* A table of the old members, and a pool with one more that has taken it over. */
static struct pool *add(size_t down)
{
	struct pool *pool = make(OLD, POOL_HEALTHY);

	memset(slots, 0, sizeof(slots));
	if (down < OLD)
		pool_set_health(pool, down, POOL_UNHEALTHY, 500);
	pool_write_slots(pool, slots, 1000);
	pool_free(pool);
	memcpy(before, slots, sizeof(slots));
	pool = make(MEMBERS, POOL_UNKNOWN);
	if (down < OLD)
		pool_set_health(pool, down, POOL_UNHEALTHY, 1500);
	assert_int_equal(pool_adopt_slots(pool, slots, 0, 2000), 0);
	return pool;
}

/* As in a pool without a history. */
static void expect_as_fresh(const struct pool *pool)
{
	struct pool *fresh = make(MEMBERS, pool_member_health(pool, ADDED));
	uint64_t words[SIZE] = {0};

	for (size_t m = 0; m < MEMBERS; m++) {
		pool_set_health(fresh, m, pool_member_health(pool, m), 0);
		pool_set_admin(fresh, m, pool_member_admin(pool, m), 0);
		if (pool_member_usable(pool, m))
			pool_set_share(fresh, m, pool_member_share(pool, m), 0);
	}
	pool_write_slots(fresh, words, 0);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		assert_int_equal(abi_slot_current(slots[slot]), abi_slot_current(words[slot]));
		assert_int_equal(abi_slot_other(slots[slot]), abi_slot_other(words[slot]));
	}
	pool_free(fresh);
}

static bool is_added(const struct pool *pool, uint32_t slot)
{
	return pool_slot_base(pool, slot) == ADDED;
}

static void test_stays_until_the_result(void **state)
{
	struct pool *pool = add(OLD);
	uint32_t count = 0;

	(void)state;
	pool_write_slots(pool, slots, 2000);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		uint32_t current = abi_slot_current(slots[slot]);

		if (!is_added(pool, slot))
			continue;
		count++;
		assert_int_equal(current, abi_slot_current(before[slot]));
		assert_false(slots[slot] & ABI_SLOT_TRANSITION);
		assert_int_equal(abi_slot_other(slots[slot]), FIRST + ADDED);
	}
	assert_true(count > SIZE / MEMBERS / 2);
	pool_set_health(pool, ADDED, POOL_HEALTHY, 3000);
	pool_update_slots(pool, slots, 3000);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		if (!is_added(pool, slot))
			continue;
		assert_int_equal(abi_slot_current(slots[slot]), FIRST + ADDED);
		assert_int_equal(abi_slot_previous(slots[slot]), abi_slot_current(before[slot]));
	}
	expect_as_fresh(pool);
	pool_free(pool);
}

/* The first result is that it does not answer, or the operator gives it a part: no slot waits. */
static void test_other_results(void **state)
{
	struct pool *pool = add(OLD);

	(void)state;
	pool_write_slots(pool, slots, 2000);
	pool_set_health(pool, ADDED, POOL_UNHEALTHY, 3000);
	pool_update_slots(pool, slots, 3000);
	expect_as_fresh(pool);
	pool_free(pool);

	pool = add(OLD);
	pool_set_share(pool, ADDED, 30, 2000);
	pool_write_slots(pool, slots, 2000);
	pool_set_health(pool, ADDED, POOL_HEALTHY, 3000);
	pool_update_slots(pool, slots, 3000);
	expect_as_fresh(pool);
	pool_free(pool);

	/* Taken out before it was in. */
	pool = add(OLD);
	pool_write_slots(pool, slots, 2000);
	pool_set_admin(pool, ADDED, POOL_DRAIN, 2500);
	pool_update_slots(pool, slots, 2500);
	expect_as_fresh(pool);
	pool_free(pool);

	/* Nobody was there. */
	pool = make(MEMBERS, POOL_UNKNOWN);
	memset(slots, 0, sizeof(slots));
	pool_write_slots(pool, slots, 2000);
	expect_as_fresh(pool);
	pool_free(pool);
}

/* Whoever had the slot fails: the overlay's owner takes it. */
static void test_owner_goes(void **state)
{
	struct pool *pool = add(OLD);
	uint64_t held[SIZE];

	(void)state;
	pool_write_slots(pool, slots, 2000);
	memcpy(held, slots, sizeof(held));
	pool_set_health(pool, 2, POOL_UNHEALTHY, 2500);
	pool_update_slots(pool, slots, 2500);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		bool gone = abi_slot_current(held[slot]) == FIRST + 2;

		if (!is_added(pool, slot))
			continue;
		if (!gone)
			assert_int_equal(abi_slot_current(slots[slot]),
					 abi_slot_current(held[slot]));
		else
			assert_int_equal(abi_slot_previous(slots[slot]), FIRST + 2);
	}
	pool_set_health(pool, 2, POOL_HEALTHY, 2600);
	pool_update_slots(pool, slots, 2600);
	pool_set_health(pool, ADDED, POOL_HEALTHY, 2700);
	pool_update_slots(pool, slots, 2700);
	expect_as_fresh(pool);
	pool_free(pool);
}

static void test_random(void **state)
{
	(void)state;
	for (int round = 0; round < 300; round++) {
		struct pool *pool = add(draw() % (OLD + 2));
		uint64_t now = 2000;

		pool_write_slots(pool, slots, now);
		for (uint64_t event = draw() % 12; event > 0; event--) {
			uint64_t member = draw() % OLD, was[SIZE];

			now += 10;
			memcpy(was, slots, sizeof(was));
			pool_set_health(pool, member, draw() % 2 ? POOL_HEALTHY : POOL_UNHEALTHY,
					now);
			pool_set_admin(pool, member, draw() % 4 ? POOL_ACTIVE : POOL_MAINT, now);
			pool_update_slots(pool, slots, now);
			for (uint32_t slot = 0; slot < SIZE; slot++) {
				uint32_t owner = abi_slot_current(was[slot]);

				if (is_added(pool, slot) && owner &&
				    pool_member_usable(pool, owner - FIRST))
					assert_int_equal(abi_slot_current(slots[slot]), owner);
			}
		}
		pool_set_health(pool, ADDED, draw() % 2 ? POOL_HEALTHY : POOL_UNHEALTHY, now + 5);
		pool_update_slots(pool, slots, now + 5);
		expect_as_fresh(pool);
		pool_free(pool);
	}
}

static int set_ring(void **state)
{
	(void)state;
	tokens = 20;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stays_until_the_result),
		cmocka_unit_test(test_other_results),
		cmocka_unit_test(test_owner_goes),
		cmocka_unit_test(test_random),
	};
	int maglev = cmocka_run_group_tests_name("Maglev", tests, NULL, NULL);

	return cmocka_run_group_tests_name("ring", tests, set_ring, NULL) + maglev;
}
