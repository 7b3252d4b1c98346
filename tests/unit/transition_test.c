/* SPDX-License-Identifier: BSD-2-Clause */
/* pool/transition.h by way of pool/pool.h: what words say of changes, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "dp/abi.h"
#include "hash/maglev.h"
#include "pool/pool.h"

enum { MEMBERS = 5, SIZE = 251, IDLE_MS = 300000, DATAGRAM_MS = 30000 };
enum { FIRST = 100 }; /* the members' records */

static struct pool *pool;
static uint64_t slots[SIZE];

static uint64_t draw(void)
{
	static uint64_t state = 11;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state ^ state >> 29) * 0xff51afd7ed558ccdULL;
}

/* `count` members, all healthy; the last of five stand by, if `backups`. */
static struct pool *make(size_t count, uint64_t doubt_ms)
{
	static const char *const names[MEMBERS] = {"m0", "m1", "m2", "m3", "m4"};
	struct pool_member_spec members[MEMBERS];
	struct pool_spec spec = {
		.name = "web",
		.seed = 7,
		.table_size = SIZE,
		.on_down_keep_ms = 1000,
		.drain_limit_ms = 60000,
		.idle_ms = IDLE_MS,
		.datagram_ms = DATAGRAM_MS,
		.doubt_ms = doubt_ms,
		.members = members,
		.member_count = count,
	};
	struct pool *made;

	for (uint32_t i = 0; i < count; i++)
		members[i] = (struct pool_member_spec){
			.name = names[i],
			.identity = 1000 + i,
			.weight = 10,
			.index = FIRST + i,
			.health = POOL_HEALTHY,
		};
	assert_int_equal(pool_new(&spec, &made), 0);
	return made;
}

static int set_up(void **state)
{
	(void)state;
	memset(slots, 0, sizeof(slots));
	pool = make(MEMBERS, 0);
	pool_write_slots(pool, slots, 1000);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	pool_free(pool);
	return 0;
}

static bool moves(uint32_t slot)
{
	return (slots[slot] & ABI_SLOT_TRANSITION) != 0;
}

static bool is_late(uint32_t slot)
{
	return (slots[slot] & ABI_SLOT_LATE) != 0;
}

static uint32_t count_moving(void)
{
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < SIZE; slot++)
		count += moves(slot);
	assert_int_equal(pool_moving_slots(pool), count);
	return count;
}

static void down(size_t member, uint64_t now_ms)
{
	pool_set_health(pool, member, POOL_UNHEALTHY, now_ms);
	pool_update_slots(pool, slots, now_ms);
}

static void up(size_t member, uint64_t now_ms)
{
	pool_set_health(pool, member, POOL_HEALTHY, now_ms);
	pool_update_slots(pool, slots, now_ms);
}

/* The slots that a test says an entry pins elsewhere. */
static bool pinned[SIZE];

static bool is_pinned(const void *arg, uint32_t slot)
{
	assert_ptr_equal(arg, pinned);
	return pinned[slot];
}

static void survey(uint64_t now_ms)
{
	assert_true(pool_wants_survey(pool, now_ms));
	pool_begin_survey(pool, now_ms);
	pool_end_survey(pool, is_pinned, pinned, slots);
}

static void test_a_start_is_none(void **state)
{
	(void)state;
	assert_int_equal(count_moving(), 0);
	assert_int_equal(pool_next_deadline_ms(pool, 1000), UINT64_MAX);
	assert_false(pool_wants_survey(pool, 1000 + IDLE_MS));
	/* Nobody, and then somebody: there are no flows from before. */
	pool_free(pool);
	pool = make(MEMBERS, 0);
	for (size_t m = 0; m < MEMBERS; m++)
		pool_set_health(pool, m, POOL_UNKNOWN, 0);
	pool_write_slots(pool, slots, 0);
	for (size_t m = 0; m < MEMBERS; m++)
		pool_set_health(pool, m, POOL_HEALTHY, 10);
	pool_update_slots(pool, slots, 50);
	assert_int_equal(count_moving(), 0);
}

static void test_one_change(void **state)
{
	uint64_t before[SIZE];

	(void)state;
	memcpy(before, slots, sizeof(before));
	down(2, 2000);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		bool was = abi_slot_current(before[slot]) == FIRST + 2;

		assert_int_equal(moves(slot), was);
		assert_int_equal(abi_slot_previous(slots[slot]), was ? FIRST + 2 : 0);
		assert_false(is_late(slot));
	}
	assert_in_range(count_moving(), SIZE / MEMBERS - 1, SIZE / MEMBERS + 1);
	/* The end of on_down_keep comes first, then the datagrams' time, then the idle time. */
	assert_int_equal(pool_next_deadline_ms(pool, 3000), 2000 + DATAGRAM_MS);
	pool_update_slots(pool, slots, 2000 + DATAGRAM_MS - 1);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_false(is_late(slot));
	assert_in_range(pool_update_slots(pool, slots, 2000 + DATAGRAM_MS), 1, SIZE / 4);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(is_late(slot), moves(slot));
	assert_int_equal(pool_next_deadline_ms(pool, 2000 + DATAGRAM_MS), 2000 + IDLE_MS);
	assert_false(pool_wants_survey(pool, 2000 + IDLE_MS - 1));
	survey(2000 + IDLE_MS);
	assert_int_equal(count_moving(), 0);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(abi_slot_previous(slots[slot]), 0);
	assert_int_equal(pool_next_deadline_ms(pool, 2000 + IDLE_MS), UINT64_MAX);
}

static void test_the_oldest_stays_previous(void **state)
{
	uint64_t before[SIZE];

	(void)state;
	memcpy(before, slots, sizeof(before));
	down(2, 2000);
	down(3, 2000 + DATAGRAM_MS);
	up(2, 2000 + DATAGRAM_MS + 1);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		uint32_t was = abi_slot_current(before[slot]);

		/* What 2 has again was on the way to 3 at times: still 2 is the oldest. */
		if (was == FIRST + 2) {
			assert_int_equal(abi_slot_current(slots[slot]), was);
			assert_int_equal(abi_slot_previous(slots[slot]), was);
			assert_true(is_late(slot));
		} else if (was == FIRST + 3) {
			assert_int_equal(abi_slot_previous(slots[slot]), was);
			assert_false(is_late(slot));
		} else {
			assert_false(moves(slot));
		}
	}
	/* Each by its own time. */
	survey(2000 + IDLE_MS);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(moves(slot), abi_slot_current(before[slot]) == FIRST + 3);
	assert_int_equal(pool_next_deadline_ms(pool, 2000 + IDLE_MS), 2000 + DATAGRAM_MS + IDLE_MS);
	survey(2000 + DATAGRAM_MS + IDLE_MS);
	assert_int_equal(count_moving(), 0);
}

static void test_pins_hold_slots(void **state)
{
	uint32_t held = 0;

	(void)state;
	down(1, 2000);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		pinned[slot] = moves(slot) && slot % 2;
		held += pinned[slot];
	}
	survey(2000 + IDLE_MS);
	assert_int_equal(count_moving(), held);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(moves(slot), pinned[slot]);
	/* It is asked for again, but no deadline names the time: that is the survey's affair. */
	assert_true(pool_wants_survey(pool, 2000 + IDLE_MS));
	assert_int_equal(pool_next_deadline_ms(pool, 2000 + IDLE_MS), UINT64_MAX);
	memset(pinned, 0, sizeof(pinned));
	survey(2001 + IDLE_MS);
	assert_int_equal(count_moving(), 0);
	assert_false(pool_wants_survey(pool, UINT64_MAX));
}

/* What changes while a survey is under way is not what it looked at. */
static void test_change_amid_a_survey(void **state)
{
	uint64_t then = 2000 + IDLE_MS;
	uint32_t first, second;

	(void)state;
	down(1, 2000);
	first = count_moving();
	pool_begin_survey(pool, then - 1); /* too early for any to be ripe */
	pool_end_survey(pool, is_pinned, pinned, slots);
	assert_int_equal(count_moving(), first);
	pool_begin_survey(pool, then);
	up(1, then + 1);
	down(2, then + 1);
	second = count_moving();
	pool_end_survey(pool, is_pinned, pinned, slots);
	assert_int_equal(count_moving(), second);
	survey(then + 2); /* those of 1 are ripe for long */
	assert_in_range(count_moving(), 1, second - first + 1);
	assert_true(pool_next_deadline_ms(pool, then + 2 + DATAGRAM_MS) == then + 1 + IDLE_MS);
}

/* Maintenance gives flows up: nothing is waited for but entries that name others. */
static void test_cut(void **state)
{
	uint32_t count;

	(void)state;
	down(1, 2000);
	pool_set_admin(pool, 1, POOL_MAINT, 3000);
	pool_update_slots(pool, slots, 3000);
	count = count_moving();
	assert_in_range(count, 1, SIZE / 4);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(abi_slot_previous(slots[slot]), 0);
	pool_set_admin(pool, 3, POOL_MAINT, 4000);
	pool_update_slots(pool, slots, 4000);
	assert_true(count_moving() > count);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(abi_slot_previous(slots[slot]), 0);
	survey(4000);
	assert_int_equal(count_moving(), 0);
}

static void test_drain_limit(void **state)
{
	uint32_t count;

	(void)state;
	pool_set_admin(pool, 1, POOL_DRAIN, 2000);
	pool_update_slots(pool, slots, 2000);
	count = count_moving();
	assert_true(count > 0);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(abi_slot_previous(slots[slot]), moves(slot) ? FIRST + 1 : 0);
	pool_update_slots(pool, slots, 2000 + 59999);
	assert_false(pool_wants_survey(pool, 2000 + 59999));
	assert_int_equal(pool_next_deadline_ms(pool, 2000 + 59999), 2000 + 60000);
	pool_update_slots(pool, slots, 2000 + 60000);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(abi_slot_previous(slots[slot]), 0);
	survey(2000 + 60000);
	assert_int_equal(count_moving(), 0);
}

/* Gone and back before slots were written: flows that began meanwhile are elsewhere. */
static void test_gone_and_back(void **state)
{
	(void)state;
	pool_set_health(pool, 4, POOL_UNHEALTHY, 2000);
	assert_false(pool_member_returned(pool, 4));
	pool_set_health(pool, 4, POOL_HEALTHY, 2010);
	assert_true(pool_member_returned(pool, 4));
	assert_false(pool_member_returned(pool, 3));
	pool_update_slots(pool, slots, 2050);
	assert_false(pool_member_returned(pool, 4));
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		assert_int_equal(moves(slot), abi_slot_current(slots[slot]) == FIRST + 4);
		assert_int_equal(abi_slot_previous(slots[slot]), 0);
	}
	/* It has flows from before of its own, which count once it goes. */
	down(4, 3000);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(abi_slot_previous(slots[slot]), moves(slot) ? FIRST + 4 : 0);
	assert_false(pool_wants_survey(pool, 3000 + IDLE_MS - 1) &&
		     (pool_begin_survey(pool, 3000 + IDLE_MS - 1),
		      pool_end_survey(pool, is_pinned, pinned, slots)) > 0);
	survey(3000 + IDLE_MS);
	assert_int_equal(count_moving(), 0);
}

/* Nobody at all, then one comes up that is not a slot's base owner ... */
static void test_from_nobody(void **state)
{
	(void)state;
	for (size_t m = 0; m < MEMBERS; m++)
		pool_set_health(pool, m, POOL_UNHEALTHY, 2000);
	pool_update_slots(pool, slots, 2000);
	assert_int_equal(count_moving(), SIZE);
	survey(2000 + IDLE_MS);
	assert_int_equal(count_moving(), 0);
	up(0, 3000 + IDLE_MS);
	assert_int_equal(count_moving(), 0);
	for (size_t m = 1; m < MEMBERS; m++)
		pool_set_health(pool, m, POOL_HEALTHY, 4000 + IDLE_MS);
	pool_update_slots(pool, slots, 4000 + IDLE_MS);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(abi_slot_previous(slots[slot]),
				 abi_slot_current(slots[slot]) == FIRST ? 0 : FIRST);
}

/* Another daemon, with one member less. */
static void test_adoption(void **state)
{
	uint64_t before[SIZE];
	uint32_t removed = FIRST + 4;

	(void)state;
	down(1, 2000);
	pool_update_slots(pool, slots, 2000 + DATAGRAM_MS);
	down(4, 3000 + DATAGRAM_MS);
	memcpy(before, slots, sizeof(before));
	pool_free(pool);
	pool = make(4, 0);
	pool_set_health(pool, 1, POOL_UNHEALTHY, 0);
	assert_int_equal(pool_adopt_slots(pool, slots, 0, 500000), 0);
	pool_write_slots(pool, slots, 500000);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		uint32_t was = abi_slot_current(before[slot]);
		uint32_t previous = abi_slot_previous(before[slot]);
		bool moved = abi_slot_current(slots[slot]) != was;

		assert_int_equal(moves(slot), moved || (before[slot] & ABI_SLOT_TRANSITION) != 0);
		if (previous == FIRST + 1)
			assert_int_equal(abi_slot_previous(slots[slot]), previous);
		else if (previous == removed)
			assert_int_equal(abi_slot_previous(slots[slot]), moved ? was : 0);
		else
			assert_int_equal(abi_slot_previous(slots[slot]), moved ? was : 0);
		if (previous == FIRST + 1)
			assert_true(is_late(slot));
	}
	for (size_t m = 0; m < 4; m++) {
		uint32_t count = 0;

		for (uint32_t slot = 0; slot < SIZE; slot++)
			count += pool_slot_owner(pool, slot) == m;
		assert_int_equal(pool_member_slots(pool, m), count);
	}
	survey(500000 + IDLE_MS);
	assert_int_equal(count_moving(), 0);
}

/* Words of members that are all gone, and a pool that nobody serves. */
static void test_adoption_of_strangers(void **state)
{
	(void)state;
	down(1, 2000);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		slots[slot] = abi_slot(7, 8, 9) | (slots[slot] & ABI_SLOT_TRANSITION);
	pool_free(pool);
	pool = make(2, 0);
	assert_int_equal(pool_adopt_slots(pool, slots, 0, 500000), 0);
	pool_write_slots(pool, slots, 500000);
	assert_int_equal(count_moving(), SIZE);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(abi_slot_previous(slots[slot]), 0);
	survey(500000);
	assert_int_equal(count_moving(), 0);
}

static void test_hold(void **state)
{
	(void)state;
	pool_free(pool);
	pool = make(MEMBERS, 0);
	pool_hold_slots(pool, 2000);
	pool_write_slots(pool, slots, 2000);
	assert_int_equal(count_moving(), SIZE);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(abi_slot_previous(slots[slot]), 0);
	assert_int_equal(pool_next_deadline_ms(pool, 2000), 2000 + DATAGRAM_MS);
	pool_update_slots(pool, slots, 2000 + DATAGRAM_MS);
	assert_false(pool_wants_survey(pool, 2000 + IDLE_MS - 1));
	survey(2000 + IDLE_MS);
	assert_int_equal(count_moving(), 0);
}

/* --- a slow twin of one slot --- */

struct twin {
	uint32_t current, previous;
	bool moving, late, changed;
	uint64_t since_ms;
};

static void twin_change(struct twin *twin, uint32_t owner, bool is_cut, uint64_t now_ms)
{
	uint32_t from = is_cut ? 0 : twin->current;

	if (owner == twin->current)
		return;
	if (twin->current == 0) {
		twin->current = owner;
		return;
	}
	if (!twin->moving || (twin->previous == 0 && from)) {
		twin->moving = true;
		twin->late = false;
		twin->previous = from;
		twin->since_ms = now_ms;
	}
	twin->changed = true;
	twin->current = owner;
}

static void twin_survey(struct twin *twin, uint64_t from_ms, bool is_held)
{
	uint64_t ripe = twin->since_ms + (twin->previous ? IDLE_MS : 0);

	if (twin->moving && !twin->changed && ripe <= from_ms && !is_held)
		*twin = (struct twin){.current = twin->current};
}

static void test_twin(void **state)
{
	struct twin twins[SIZE] = {0};
	bool cut[MEMBERS] = {false};
	uint64_t now = 1000, from = 0;

	(void)state;
	for (uint32_t slot = 0; slot < SIZE; slot++)
		twins[slot].current = abi_slot_current(slots[slot]);
	for (int event = 0; event < 3000; event++) {
		size_t member = draw() % MEMBERS;
		uint64_t what = draw() % 8;

		now += draw() % 4 ? draw() % 2000 : draw() % IDLE_MS;
		if (what < 2)
			pool_set_health(pool, member, POOL_UNHEALTHY, now);
		else if (what < 5)
			pool_set_health(pool, member, POOL_HEALTHY, now);
		else if (what == 5)
			pool_set_admin(pool, member, POOL_MAINT, now);
		else
			pool_set_admin(pool, member, POOL_ACTIVE, now);
		pool_update_slots(pool, slots, now);
		for (size_t m = 0; m < MEMBERS; m++) {
			bool is_cut = pool_member_admin(pool, m) == POOL_MAINT;

			for (uint32_t slot = 0; is_cut && !cut[m] && slot < SIZE; slot++) {
				if (twins[slot].previous == FIRST + m)
					twins[slot].previous = 0;
			}
			cut[m] = is_cut;
		}
		for (uint32_t slot = 0; slot < SIZE; slot++) {
			struct twin *twin = &twins[slot];
			uint32_t owner = abi_slot_current(slots[slot]);

			twin_change(twin, owner, twin->current && cut[twin->current - FIRST], now);
			twin->late |= twin->moving && twin->since_ms + DATAGRAM_MS <= now;
		}
		if (event % 5 == 4) {
			for (uint32_t slot = 0; slot < SIZE; slot++)
				pinned[slot] = draw() % 8 == 0;
			pool_end_survey(pool, is_pinned, pinned, slots);
			for (uint32_t slot = 0; slot < SIZE; slot++)
				twin_survey(&twins[slot], from, pinned[slot]);
		}
		if (event % 5 == 1 + (event / 5) % 3) {
			from = now;
			pool_begin_survey(pool, now);
			for (uint32_t slot = 0; slot < SIZE; slot++)
				twins[slot].changed = false;
		}
		for (uint32_t slot = 0; slot < SIZE; slot++) {
			struct twin *twin = &twins[slot];

			assert_int_equal(moves(slot), twin->moving);
			assert_int_equal(is_late(slot), twin->late);
			assert_int_equal(abi_slot_previous(slots[slot]), twin->previous);
		}
		count_moving();
	}
	memset(pinned, 0, sizeof(pinned));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_start_is_none),
		TEST(test_one_change),
		TEST(test_the_oldest_stays_previous),
		TEST(test_pins_hold_slots),
		TEST(test_change_amid_a_survey),
		TEST(test_cut),
		TEST(test_drain_limit),
		TEST(test_gone_and_back),
		TEST(test_from_nobody),
		TEST(test_adoption),
		TEST(test_adoption_of_strangers),
		TEST(test_hold),
		TEST(test_twin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
