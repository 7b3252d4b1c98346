/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool that begins from nothing and is told that its table was another one a moment ago: its last
 * member was added. Who had that one's slots before is named in their words, to be asked, for as
 * long as there is room for him.
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

enum { MEMBERS = 5, ADDED = MEMBERS - 1, SIZE = 251, FIRST = 100, IDLE_MS = 30000, SEED = 7 };

static struct maglev_member members[MEMBERS];
static uint64_t slots[SIZE], late_slots[SIZE];
static uint32_t had[SIZE]; /* who had the slot by the table before */

/* Whose members have had no check yet, but the first `known`, who are well. */
static struct pool *make(size_t count, size_t known)
{
	struct pool_member_spec specs[MEMBERS];
	struct pool_spec spec = {
		.name = "web",
		.seed = SEED,
		.table_size = SIZE,
		.on_down_keep_ms = 60000,
		.idle_ms = IDLE_MS,
		.datagram_ms = IDLE_MS,
		.doubt_ms = IDLE_MS,
		.members = specs,
		.member_count = count,
	};
	struct pool *pool;

	for (uint32_t i = 0; i < count; i++) {
		members[i] = (struct maglev_member){1000 + i, 10};
		specs[i] = (struct pool_member_spec){
			.name = "m",
			.identity = members[i].identity,
			.weight = members[i].weight,
			.index = FIRST + i,
			.health = i < known ? POOL_HEALTHY : POOL_UNKNOWN,
		};
	}
	assert_int_equal(pool_new(&spec, &pool), 0);
	return pool;
}

/* Words are written while nobody is known; then all but the added one are. */
static struct pool *begin(uint64_t *words)
{
	static const size_t now[MEMBERS] = {0, 1, 2, 3, 4};
	struct pool *pool = make(ADDED, ADDED);
	struct pool_before before = {
		.seed = SEED,
		.table_size = SIZE,
		.members = members,
		.now = now,
		.member_count = ADDED,
	};

	for (uint32_t slot = 0; slot < SIZE; slot++)
		had[slot] = pool_slot_base(pool, slot);
	pool_free(pool);
	pool = make(MEMBERS, 0);
	memset(words, 0, SIZE * sizeof(*words));
	assert_int_equal(pool_begin_after(pool, &before, 1000), 0);
	pool_write_slots(pool, words, 1000);
	for (size_t i = 0; i < ADDED; i++)
		pool_set_health(pool, i, POOL_HEALTHY, 1100);
	pool_update_slots(pool, words, 1100);
	return pool;
}

/* In how many of the added one's slots who had them is to be asked. */
static unsigned int count_told(const struct pool *pool)
{
	unsigned int told = 0;

	for (uint32_t slot = 0; slot < SIZE; slot++) {
		if (pool_slot_base(pool, slot) != ADDED || !(slots[slot] & ABI_SLOT_ASK))
			continue;
		assert_int_equal(abi_slot_previous(slots[slot]), FIRST + had[slot]);
		told++;
	}
	return told;
}

static void set_health(struct pool *pool, enum pool_health health, uint64_t now_ms)
{
	pool_set_health(pool, ADDED, health, now_ms);
	pool_update_slots(pool, slots, now_ms);
}

/* It may have failed for the node's own reasons, and nobody is told a second time. */
static void test_first_check_fails(void **state)
{
	struct pool *pool = begin(slots), *late;
	unsigned int all = count_told(pool);

	(void)state;
	assert_true(all > SIZE / MEMBERS / 2);
	set_health(pool, POOL_UNHEALTHY, 1200);
	assert_int_equal(count_told(pool), all);
	set_health(pool, POOL_UNHEALTHY, 2200);
	assert_int_equal(count_told(pool), all);
	set_health(pool, POOL_HEALTHY, 3200);
	assert_int_equal(count_told(pool), all);

	/* So words are those of one whose first check took its time, and succeeded. */
	late = begin(late_slots);
	pool_set_health(late, ADDED, POOL_HEALTHY, 3200);
	pool_update_slots(late, late_slots, 3200);
	assert_memory_equal(slots, late_slots, sizeof(slots));
	pool_free(late);
	pool_free(pool);
}

/* One that was well has flows of its own. */
static void test_fails_later(void **state)
{
	struct pool *pool = begin(slots);

	(void)state;
	set_health(pool, POOL_HEALTHY, 1200);
	assert_true(count_told(pool) > 0);
	set_health(pool, POOL_UNHEALTHY, 2200);
	assert_int_equal(count_told(pool), 0);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		if (pool_slot_base(pool, slot) == ADDED)
			assert_int_equal(abi_slot_previous(slots[slot]), FIRST + ADDED);
	}
	pool_free(pool);
}

/* And so may one that drains, or that was given a part of its slots, whatever its checks say. */
static void test_is_put_aside(void **state)
{
	struct pool *pool = begin(slots);

	(void)state;
	pool_set_admin(pool, ADDED, POOL_DRAIN, 1200);
	set_health(pool, POOL_UNHEALTHY, 1200);
	assert_int_equal(count_told(pool), 0);
	pool_free(pool);

	pool = begin(slots);
	pool_set_share(pool, ADDED, 50, 1200);
	set_health(pool, POOL_HEALTHY, 1200);
	assert_int_equal(count_told(pool), 0);
	pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_check_fails),
		cmocka_unit_test(test_fails_later),
		cmocka_unit_test(test_is_put_aside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
