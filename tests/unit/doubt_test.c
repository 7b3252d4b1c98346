/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots in doubt (ABI_SLOT_DOUBT), as pool/pool.h writes them: which, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "dp/abi.h"
#include "pool/pool.h"

enum { MEMBERS = 5, SIZE = 251, IDLE_MS = 300000, DOUBT_MS = 5000, ODD = 1 };
enum { STARTING_MS = POOL_STARTING_MS };

static struct pool *pool;
static uint64_t slots[SIZE];

/* In place of the pool that there is. All are healthy. */
static void make(uint64_t doubt_ms)
{
	static const char *const names[MEMBERS] = {"m0", "m1", "m2", "m3", "m4"};
	struct pool_member_spec members[MEMBERS];
	struct pool_spec spec = {
		.name = "web",
		.seed = 7,
		.table_size = SIZE,
		.on_down_keep_ms = 1000,
		.idle_ms = IDLE_MS,
		.datagram_ms = IDLE_MS,
		.doubt_ms = doubt_ms,
		.members = members,
		.member_count = MEMBERS,
	};

	pool_free(pool);
	for (uint32_t i = 0; i < MEMBERS; i++)
		members[i] = (struct pool_member_spec){
			.name = names[i],
			.identity = 1000 + i,
			.weight = 10,
			.index = 100 + i,
			.health = POOL_HEALTHY,
		};
	assert_int_equal(pool_new(&spec, &pool), 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(slots, 0, sizeof(slots));
	make(DOUBT_MS);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	pool_free(pool);
	pool = NULL;
	return 0;
}

static void turn(enum pool_health health, uint64_t now_ms)
{
	pool_set_health(pool, ODD, health, now_ms);
	pool_update_slots(pool, slots, now_ms);
}

static void adopt(uint64_t doubt_ms, enum pool_health health, uint64_t now_ms)
{
	make(doubt_ms);
	assert_int_equal(pool_adopt_slots(pool, slots, 0, now_ms), 0);
	pool_set_health(pool, ODD, health, now_ms);
	pool_write_slots(pool, slots, now_ms);
}

static uint32_t count_doubts(void)
{
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < SIZE; slot++)
		count += (slots[slot] & ABI_SLOT_DOUBT) != 0;
	return count;
}

/* Another node may know more of all slots: for an idle time, beyond what a start takes. */
static void test_start(void **state)
{
	const uint64_t end_ms = 2000 + STARTING_MS + DOUBT_MS;

	(void)state;
	pool_write_slots(pool, slots, 2000);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(slots[slot] & (ABI_SLOT_DOUBT | ABI_SLOT_TRANSITION),
				 ABI_SLOT_DOUBT);
	assert_int_equal(pool_next_deadline_ms(pool, 2000), end_ms);
	turn(POOL_UNHEALTHY, end_ms - 1);
	assert_int_equal(count_doubts(), SIZE);
	turn(POOL_HEALTHY, end_ms);
	assert_int_equal(count_doubts(), 0);
}

/* Another daemon goes on with it from its start; one without second chances does not. */
static void test_adopted(void **state)
{
	(void)state;
	pool_write_slots(pool, slots, 2000);
	adopt(DOUBT_MS, POOL_HEALTHY, 9000);
	assert_int_equal(count_doubts(), SIZE);
	pool_update_slots(pool, slots, 9000 + DOUBT_MS - 1);
	assert_int_equal(count_doubts(), SIZE);
	assert_int_equal(pool_update_slots(pool, slots, 9000 + DOUBT_MS), SIZE);
	assert_int_equal(count_doubts(), 0);
	assert_int_equal(pool_update_slots(pool, slots, 9001 + DOUBT_MS), 0);
	slots[3] |= ABI_SLOT_DOUBT;
	adopt(0, POOL_HEALTHY, 20000);
	assert_int_equal(count_doubts(), 0);
}

static void assert_doubts_of_odd(void)
{
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal((slots[slot] & ABI_SLOT_DOUBT) != 0,
				 pool_slot_base(pool, slot) == ODD);
}

/* Those that another serves in their owner's place, and no others, also after a restart. */
static void test_in_place(void **state)
{
	(void)state;
	pool_write_slots(pool, slots, 2000);
	pool_update_slots(pool, slots, 2000 + STARTING_MS + DOUBT_MS);
	turn(POOL_UNHEALTHY, 20000);
	assert_doubts_of_odd();
	adopt(DOUBT_MS, POOL_UNHEALTHY, 21000);
	assert_doubts_of_odd();
	turn(POOL_HEALTHY, 22000);
	assert_int_equal(count_doubts(), 0);
}

static bool nowhere(const void *arg, uint32_t slot)
{
	(void)arg;
	(void)slot;
	return false;
}

/*
 * Who stands in while a fresh table comes to know its members is nobody's previous, and may have
 * got flows all the same: the slot stays in doubt for an idle time after it.
 */
static void test_stand_ins(void **state)
{
	const uint64_t back_ms = 2000 + STARTING_MS - 1;

	(void)state;
	pool_set_health(pool, ODD, POOL_UNHEALTHY, 2000);
	pool_write_slots(pool, slots, 2000);
	turn(POOL_HEALTHY, back_ms);
	assert_true(pool_moving_slots(pool) > 0);
	pool_begin_survey(pool, back_ms + 1);
	pool_end_survey(pool, nowhere, NULL, slots);
	assert_int_equal(pool_moving_slots(pool), 0);
	pool_update_slots(pool, slots, back_ms + DOUBT_MS - 1);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(abi_slot_previous(slots[slot]), 0);
	assert_int_equal(count_doubts(), SIZE);
}

/* A restart during the start knows as little: it takes its rule over, and its end. */
static void test_stand_ins_adopted(void **state)
{
	const uint64_t until_ms = 2000 + STARTING_MS;

	(void)state;
	for (uint64_t back_ms = until_ms - 1; back_ms <= until_ms; back_ms++) {
		memset(slots, 0, sizeof(slots));
		make(DOUBT_MS);
		pool_set_health(pool, ODD, POOL_UNHEALTHY, 2000);
		pool_write_slots(pool, slots, 2000);
		make(DOUBT_MS);
		assert_int_equal(pool_adopt_slots(pool, slots, until_ms, 3000), 0);
		pool_set_health(pool, ODD, POOL_UNKNOWN, 3000);
		pool_write_slots(pool, slots, 3000);
		assert_int_equal(pool_moving_slots(pool), 0);
		turn(POOL_HEALTHY, back_ms);
		assert_true(pool_moving_slots(pool) > 0);
		for (uint32_t slot = 0; slot < SIZE; slot++)
			assert_int_equal(abi_slot_previous(slots[slot]) != 0,
					 back_ms == until_ms && pool_slot_base(pool, slot) == ODD);
		pool_update_slots(pool, slots, until_ms + DOUBT_MS - 1);
		assert_int_equal(count_doubts(), SIZE);
		pool_update_slots(pool, slots, until_ms + DOUBT_MS);
		assert_int_equal(count_doubts(), 0);
	}
}

/* Who is added amid a start takes its slots over from who is known to have them. */
static void test_added_amid_a_start(void **state)
{
	uint32_t moved = 0;

	(void)state;
	make(0);
	pool_set_admin(pool, ODD, POOL_MAINT, 2000);
	pool_write_slots(pool, slots, 2000);
	/* As if it were no member yet. */
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		if (abi_slot_other(slots[slot]) == 100 + ODD)
			slots[slot] &= ~abi_slot(0, 0, ABI_INDEX_MASK);
	}
	make(0);
	assert_int_equal(pool_adopt_slots(pool, slots, 2000 + STARTING_MS, 3000), 0);
	pool_write_slots(pool, slots, 3000);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		bool moves = abi_slot_current(slots[slot]) == 100 + ODD;

		assert_int_equal(abi_slot_previous(slots[slot]) != 0, moves);
		moved += moves;
	}
	assert_true(moved > 0);
}

/*
 * A backend drained and serves again. After the idle time nothing comes from who served meanwhile
 * but other nodes' flows; and when the slot goes on to a third, its present owner is who is left.
 */
static void test_weakens(void **state)
{
	const uint64_t settled_ms = 2000 + STARTING_MS + DOUBT_MS, back_ms = settled_ms + 1000;
	const uint64_t weak_ms = back_ms + IDLE_MS;
	uint32_t moved = 0;

	(void)state;
	pool_write_slots(pool, slots, 2000);
	pool_update_slots(pool, slots, settled_ms);
	turn(POOL_UNHEALTHY, settled_ms);
	pool_begin_survey(pool, settled_ms + IDLE_MS);
	pool_end_survey(pool, nowhere, NULL, slots);
	assert_int_equal(pool_moving_slots(pool), 0);
	assert_doubts_of_odd();
	turn(POOL_HEALTHY, back_ms + IDLE_MS);
	pool_update_slots(pool, slots, weak_ms + IDLE_MS - 1);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_false(slots[slot] & ABI_SLOT_ASK);
	assert_true(pool_moving_slots(pool) > 0);
	pool_update_slots(pool, slots, weak_ms + IDLE_MS);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal((slots[slot] & ABI_SLOT_ASK) != 0,
				 abi_slot_current(slots[slot]) == 100 + ODD);
	/* Another restart does not make it stronger. */
	adopt(DOUBT_MS, POOL_HEALTHY, weak_ms + IDLE_MS);
	pool_set_admin(pool, ODD, POOL_DRAIN, weak_ms + IDLE_MS);
	pool_update_slots(pool, slots, weak_ms + IDLE_MS);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		if (pool_slot_base(pool, slot) != ODD)
			continue;
		assert_int_equal(abi_slot_previous(slots[slot]), 100 + ODD);
		assert_false(slots[slot] & ABI_SLOT_ASK);
		moved++;
	}
	assert_true(moved > 0);
}

/* Who had a slot is remembered beyond the end of its transition, and in the end no more. */
static void test_remembers(void **state)
{
	const uint64_t settled_ms = 2000 + STARTING_MS + DOUBT_MS;
	const uint64_t end_ms = settled_ms + 4 * (uint64_t)IDLE_MS;

	(void)state;
	make(DOUBT_MS);
	pool_set_health(pool, ODD, POOL_UNHEALTHY, 2000);
	pool_write_slots(pool, slots, 2000);
	pool_update_slots(pool, slots, 2000 + STARTING_MS);
	pool_update_slots(pool, slots, settled_ms);
	turn(POOL_HEALTHY, settled_ms);
	pool_begin_survey(pool, settled_ms + IDLE_MS);
	pool_end_survey(pool, nowhere, NULL, slots);
	assert_int_equal(pool_moving_slots(pool), 0);
	for (int restarts = 0; restarts < 2; restarts++) {
		for (uint32_t slot = 0; slot < SIZE; slot++) {
			bool moved = pool_slot_base(pool, slot) == ODD;

			assert_int_equal(abi_slot_previous(slots[slot]) != 0, moved);
			assert_int_equal((slots[slot] & ABI_SLOT_DOUBT) != 0, moved);
			assert_false(slots[slot] & (ABI_SLOT_TRANSITION | ABI_SLOT_ASK));
		}
		adopt(DOUBT_MS, POOL_HEALTHY, settled_ms);
	}
	assert_int_equal(pool_next_deadline_ms(pool, settled_ms), end_ms);
	pool_update_slots(pool, slots, end_ms - 1);
	assert_true(count_doubts() > 0);
	pool_update_slots(pool, slots, end_ms);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_false(slots[slot] & ABI_SLOT_DOUBT || abi_slot_previous(slots[slot]));
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_start),     TEST(test_adopted),           TEST(test_in_place),
		TEST(test_stand_ins), TEST(test_stand_ins_adopted), TEST(test_added_amid_a_start),
		TEST(test_weakens),   TEST(test_remembers),
	};
#undef TEST

	return cmocka_run_group_tests_name("doubt", tests, NULL, NULL);
}
