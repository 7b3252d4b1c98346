/* SPDX-License-Identifier: BSD-2-Clause */
/* pool/pool.h: states to flags by a table, and slot words under random events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dp/abi.h"
#include "hash/maglev.h"
#include "pool/pool.h"

enum { MEMBERS = 8, SIZE = 251, KEEP_MS = 60000, IDLE_MS = 900000, DATAGRAM_MS = 30000 };
enum {
	KEEP = ABI_BACKEND_KEEP,
	WELL = ABI_BACKEND_HEALTHY,
	FULL = ABI_BACKEND_UP | KEEP | WELL,
};

static uint64_t draw(void)
{
	static uint64_t state = 3;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state ^ state >> 29) * 0xff51afd7ed558ccdULL;
}

/* Members m0, m1, ... with records 100, 101, ...; the last has weight 0. */
static struct pool *make_of(uint32_t tokens, uint32_t size, enum pool_health health,
			    uint64_t keep_ms)
{
	static const char *const names[MEMBERS] = {"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"};
	struct pool_member_spec members[MEMBERS];
	struct pool_spec spec = {
		.name = "web",
		.seed = 7,
		.tokens = tokens,
		.table_size = size,
		.on_down_keep_ms = keep_ms,
		.idle_ms = IDLE_MS,
		.datagram_ms = DATAGRAM_MS,
		.members = members,
		.member_count = MEMBERS,
	};
	struct pool *pool;

	for (uint32_t i = 0; i < MEMBERS; i++)
		members[i] = (struct pool_member_spec){
			.name = names[i],
			.identity = 1000 + i,
			.weight = i < MEMBERS - 1 ? 10 : 0,
			.index = 100 + i,
			.health = health,
		};
	assert_int_equal(pool_new(&spec, &pool), 0);
	return pool;
}

static struct pool *make(enum pool_health health, uint64_t keep_ms)
{
	return make_of(0, SIZE, health, keep_ms);
}

static void test_flags_by_state(void **state)
{
	/* Healthy until 1000, then `health`; asked just after, at the end of the time, later. */
	static const struct {
		enum pool_admin admin;
		enum pool_health health;
		uint64_t keep_ms;
		bool usable;
		uint32_t at_1000, before_end, at_end;
	} rows[] = {
		{POOL_ACTIVE, POOL_HEALTHY, KEEP_MS, true, FULL, FULL, FULL},
		{POOL_ACTIVE, POOL_UNKNOWN, KEEP_MS, false, KEEP, KEEP, KEEP},
		{POOL_ACTIVE, POOL_UNHEALTHY, KEEP_MS, false, KEEP, KEEP, 0},
		{POOL_ACTIVE, POOL_UNHEALTHY, 0, false, 0, 0, 0},
		{POOL_DRAIN, POOL_HEALTHY, KEEP_MS, false, KEEP | WELL, KEEP | WELL, KEEP | WELL},
		{POOL_DRAIN, POOL_UNKNOWN, KEEP_MS, false, KEEP, KEEP, KEEP},
		{POOL_DRAIN, POOL_UNHEALTHY, KEEP_MS, false, KEEP, KEEP, 0},
		{POOL_DRAIN, POOL_UNHEALTHY, 0, false, 0, 0, 0},
		{POOL_MAINT, POOL_HEALTHY, KEEP_MS, false, WELL, WELL, WELL},
		{POOL_MAINT, POOL_UNKNOWN, KEEP_MS, false, 0, 0, 0},
		{POOL_MAINT, POOL_UNHEALTHY, KEEP_MS, false, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pool *pool = make(POOL_HEALTHY, rows[i].keep_ms);
		bool expires = rows[i].before_end != rows[i].at_end;

		pool_set_admin(pool, 2, rows[i].admin, 1000);
		pool_set_health(pool, 2, rows[i].health, 1000);
		assert_int_equal(pool_member_admin(pool, 2), rows[i].admin);
		assert_int_equal(pool_member_health(pool, 2), rows[i].health);
		assert_int_equal(pool_member_usable(pool, 2), rows[i].usable);
		assert_int_equal(pool_member_flags(pool, 2, 1000), rows[i].at_1000);
		assert_int_equal(pool_member_flags(pool, 2, 1000 + KEEP_MS - 1),
				 rows[i].before_end);
		assert_int_equal(pool_member_flags(pool, 2, 1000 + KEEP_MS), rows[i].at_end);
		assert_int_equal(pool_next_deadline_ms(pool, 1000),
				 expires ? 1000 + KEEP_MS : UINT64_MAX);
		assert_int_equal(pool_next_deadline_ms(pool, 1000 + KEEP_MS), UINT64_MAX);
		assert_int_equal(pool_member_flags(pool, 3, 1000), FULL);
		pool_free(pool);
	}
}

static void test_keep_runs_from_the_failure(void **state)
{
	struct pool *pool = make(POOL_HEALTHY, KEEP_MS);

	(void)state;
	pool_set_health(pool, 0, POOL_UNHEALTHY, 1000);
	pool_set_health(pool, 1, POOL_UNHEALTHY, 2000);
	pool_set_health(pool, 0, POOL_UNHEALTHY, 5000); /* told again: no new failure */
	assert_int_equal(pool_next_deadline_ms(pool, 5000), 1000 + KEEP_MS);
	assert_int_equal(pool_next_deadline_ms(pool, 1000 + KEEP_MS), 2000 + KEEP_MS);
	pool_set_health(pool, 0, POOL_HEALTHY, 6000);
	assert_int_equal(pool_next_deadline_ms(pool, 6000), 2000 + KEEP_MS);
	pool_set_health(pool, 0, POOL_UNHEALTHY, 7000);
	assert_int_equal(pool_member_flags(pool, 0, 7000 + KEEP_MS - 1), KEEP);
	assert_int_equal(pool_member_flags(pool, 0, 7000 + KEEP_MS), 0);
	/* Maintenance cuts at once, and ends the waiting for the time. */
	pool_set_admin(pool, 1, POOL_MAINT, 1000);
	assert_int_equal(pool_next_deadline_ms(pool, 7000), 7000 + KEEP_MS);
	pool_free(pool);

	pool = make(POOL_HEALTHY, UINT64_MAX); /* a time that never ends */
	pool_set_health(pool, 0, POOL_UNHEALTHY, 1000);
	assert_int_equal(pool_member_flags(pool, 0, UINT64_MAX - 1), KEEP);
	pool_free(pool);
}

static void test_beginnings(void **state)
{
	uint64_t slots[SIZE] = {0};
	struct pool *pool = make(POOL_UNKNOWN, KEEP_MS);

	(void)state;
	assert_string_equal(pool_name(pool), "web");
	assert_int_equal(pool_table_size(pool), SIZE);
	assert_int_equal(pool_member_count(pool), MEMBERS);
	assert_string_equal(pool_member_name(pool, 7), "m7");
	/* Before the first writing nobody serves; nor after it, while nobody is known well. */
	assert_int_equal(pool_slot_owner(pool, 0), HASH_NOBODY);
	assert_int_not_equal(pool_slot_base(pool, 0), HASH_NOBODY);
	pool_write_slots(pool, slots, 1000);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		assert_int_equal(abi_slot_current(slots[slot]), 0);
		assert_int_equal(abi_slot_other(slots[slot]), 100 + pool_slot_base(pool, slot));
	}
	assert_int_equal(pool_slot_owner(pool, SIZE), HASH_NOBODY);
	assert_int_equal(pool_slot_base(pool, SIZE), HASH_NOBODY);
	pool_free(pool);

	/* Unhealthy to begin with: it has no flows to keep. */
	pool = make(POOL_UNHEALTHY, KEEP_MS);
	assert_int_equal(pool_member_flags(pool, 0, 0), 0);
	assert_int_equal(pool_next_deadline_ms(pool, 0), UINT64_MAX);
	pool_free(pool);
}

static void assert_words(const struct pool *pool, const uint64_t *slots)
{
	uint32_t counts[MEMBERS] = {0};

	for (uint32_t slot = 0; slot < SIZE; slot++) {
		uint32_t owner = pool_slot_owner(pool, slot), base = pool_slot_base(pool, slot);
		uint32_t other = abi_slot_other(slots[slot]);

		if (owner != HASH_NOBODY) {
			assert_true(pool_member_usable(pool, owner));
			counts[owner]++;
		}
		if (pool_member_usable(pool, base))
			assert_int_equal(owner, base);
		else
			assert_int_equal(other, 100 + base);
		assert_int_equal(abi_slot_current(slots[slot]),
				 owner == HASH_NOBODY ? 0 : 100 + owner);
		assert_int_not_equal(other, abi_slot_current(slots[slot]));
	}
	for (size_t i = 0; i < MEMBERS; i++)
		assert_int_equal(pool_member_slots(pool, i), counts[i]);
	assert_int_equal(counts[MEMBERS - 1], 0);
}

static uint32_t count_differences(const uint64_t *a, const uint64_t *b)
{
	uint32_t different = 0;

	for (uint32_t slot = 0; slot < SIZE; slot++)
		different += a[slot] != b[slot];
	return different;
}

/* What does not depend on what was before: current and other. */
static void forget_before(uint64_t *slots, uint32_t size)
{
	for (uint32_t slot = 0; slot < size; slot++)
		slots[slot] =
			abi_slot(abi_slot_current(slots[slot]), 0, abi_slot_other(slots[slot]));
}

/* Random events; both ways of writing agree with a pool that was built in that state. */
static void test_words_under_events(void **state)
{
	uint64_t whole[SIZE] = {0}, changed[SIZE] = {0}, fresh[SIZE], before[SIZE], now[SIZE];
	struct pool *pool = make(POOL_HEALTHY, KEEP_MS), *other;
	uint32_t stored;

	(void)state;
	assert_int_equal(pool_update_slots(pool, changed, 1000), SIZE);
	assert_int_equal(pool_write_slots(pool, whole, 1000), SIZE);
	for (int event = 0; event < 400; event++) {
		for (uint64_t n = draw() % 3 + 1; n > 0; n--) {
			size_t member = draw() % MEMBERS;

			if (draw() % 3 == 0)
				pool_set_admin(pool, member, draw() % 3, 1000);
			else
				pool_set_health(pool, member, draw() % 3, event);
		}
		memcpy(before, changed, sizeof(before));
		stored = pool_update_slots(pool, changed, 1000);
		/* A slot may be told of twice: who went and came back has it looked at. */
		assert_in_range(stored, count_differences(before, changed), 2 * SIZE);
		assert_int_equal(pool_update_slots(pool, changed, 1000), 0);
		assert_int_equal(pool_write_slots(pool, whole, 1000),
				 count_differences(before, changed));
		assert_memory_equal(whole, changed, sizeof(whole));
		assert_words(pool, whole);
		if (event % 10)
			continue;
		other = make(POOL_UNKNOWN, KEEP_MS);
		memset(fresh, 0xff, sizeof(fresh));
		for (size_t i = 0; i < MEMBERS; i++) {
			pool_set_health(other, i, pool_member_health(pool, i), 0);
			pool_set_admin(other, i, pool_member_admin(pool, i), 1000);
		}
		pool_write_slots(other, fresh, 1000);
		memcpy(now, whole, sizeof(now));
		forget_before(now, SIZE);
		forget_before(fresh, SIZE);
		assert_memory_equal(now, fresh, sizeof(now));
		pool_free(other);
	}
	pool_free(pool);
}

/* Words that somebody spoiled are put right; the good ones are not stored again. */
static void test_writes_only_what_differs(void **state)
{
	uint64_t slots[SIZE] = {0};
	struct pool *pool = make(POOL_HEALTHY, KEEP_MS);

	(void)state;
	pool_write_slots(pool, slots, 1000);
	assert_int_equal(pool_write_slots(pool, slots, 1000), 0);
	slots[3] = 0;
	slots[250] = UINT64_MAX;
	assert_int_equal(pool_write_slots(pool, slots, 1000), 2);
	assert_words(pool, slots);
	pool_free(pool);
}

/* A ring of any size keeps what the Maglev table does: others' slots stay, history is nothing. */
static void test_ring(void **state)
{
	enum { RING_SIZE = 1000 };
	uint64_t slots[RING_SIZE], whole[RING_SIZE], fresh[RING_SIZE] = {0};
	struct pool *pool = make_of(150, RING_SIZE, POOL_HEALTHY, KEEP_MS), *other;
	uint32_t failed = 0;

	(void)state;
	pool_write_slots(pool, slots, 1000);
	memcpy(whole, slots, sizeof(whole));
	pool_set_health(pool, 5, POOL_UNHEALTHY, 1000);
	pool_set_admin(pool, 3, POOL_DRAIN, 1000);
	pool_update_slots(pool, slots, 1000);
	for (uint32_t slot = 0; slot < RING_SIZE; slot++) {
		uint32_t was = abi_slot_current(whole[slot]), is = abi_slot_current(slots[slot]);

		assert_true(was != 107 && is != 105 && is != 103 && is != 107);
		if (was != 105 && was != 103)
			assert_int_equal(is, was);
		else
			assert_int_equal(abi_slot_other(slots[slot]), was);
		failed += is != was;
	}
	assert_in_range(failed, RING_SIZE / 5, RING_SIZE / 2);

	other = make_of(150, RING_SIZE, POOL_UNKNOWN, KEEP_MS);
	for (size_t m = 0; m < MEMBERS; m++)
		pool_set_health(other, m, m == 5 ? POOL_UNHEALTHY : POOL_HEALTHY, 1000);
	pool_set_admin(other, 3, POOL_DRAIN, 1000);
	pool_write_slots(other, fresh, 1000);
	forget_before(slots, RING_SIZE);
	assert_memory_equal(slots, fresh, sizeof(slots));
	pool_free(other);

	pool_set_admin(pool, 3, POOL_ACTIVE, 1000);
	pool_set_health(pool, 5, POOL_HEALTHY, 2000);
	pool_update_slots(pool, slots, 1000);
	forget_before(slots, RING_SIZE);
	pool_write_slots(pool, slots, 1000);
	forget_before(slots, RING_SIZE);
	assert_memory_equal(slots, whole, sizeof(slots));
	pool_free(pool);
}

static void set_up_at(struct pool *pool, uint64_t *slots, size_t member, uint64_t now_ms)
{
	pool_set_health(pool, member, POOL_HEALTHY, now_ms);
	pool_update_slots(pool, slots, now_ms);
}

/*
 * Members that come to be known one after the other: who stands in for one has none of the flows
 * that other nodes gave to it. They are its own, and go to it before it is known, too.
 */
static void test_members_one_by_one(void **state)
{
	enum { LATE = MEMBERS - 2 };
	struct pool *pool = make(POOL_UNKNOWN, KEEP_MS);
	uint64_t slots[SIZE] = {0};

	(void)state;
	pool_write_slots(pool, slots, 1000);
	for (size_t m = 0; m < LATE; m++)
		set_up_at(pool, slots, m, 2000 + 500 * m);
	for (uint32_t slot = 0; slot < SIZE; slot++)
		assert_int_equal(abi_slot_previous(slots[slot]),
				 pool_slot_base(pool, slot) == LATE ? 100 + LATE : 0);
	/* New flows began at those who stood in, and have entries from the change on. */
	assert_in_range(pool_moving_slots(pool), SIZE / 2, SIZE);
	/* It is no first time when one is back, however soon after the start. */
	pool_set_health(pool, 0, POOL_UNHEALTHY, 6000);
	pool_update_slots(pool, slots, 6000);
	set_up_at(pool, slots, 0, 6500);
	set_up_at(pool, slots, LATE, 20000);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		uint32_t base = pool_slot_base(pool, slot);
		uint32_t previous = abi_slot_previous(slots[slot]);

		assert_int_equal(previous, base == 0 || base == LATE ? 100 + base : 0);
	}
	pool_free(pool);
}

static void test_refusals(void **state)
{
	struct pool_member_spec members[2] = {
		{.name = "a", .identity = 1, .weight = 1, .index = 1, .health = POOL_HEALTHY},
		{.name = "b", .identity = 2, .weight = 1, .index = 2, .health = POOL_HEALTHY},
	};
	struct pool_spec spec = {
		.name = "web", .table_size = 250, .members = members, .member_count = 2};
	struct pool *pool = NULL;
	uint64_t slots[SIZE] = {0};

	(void)state;
	assert_int_equal(pool_new(&spec, &pool), -EINVAL);
	spec.table_size = 7; /* a prime, but none that is allowed */
	assert_int_equal(pool_new(&spec, &pool), -EINVAL);
	spec.table_size = SIZE;
	members[1].index = 0;
	assert_int_equal(pool_new(&spec, &pool), -EINVAL);
	members[1].index = ABI_INDEX_MASK + 1;
	assert_int_equal(pool_new(&spec, &pool), -EINVAL);
	members[1].index = 2;
	members[1].identity = 1;
	assert_int_equal(pool_new(&spec, &pool), -EINVAL);
	assert_null(pool);
	spec.member_count = 0;
	assert_int_equal(pool_new(&spec, &pool), 0);
	assert_int_equal(pool_write_slots(pool, slots, 1000), 0);
	assert_int_equal(pool_next_deadline_ms(pool, 0), UINT64_MAX);
	pool_free(pool);
	pool_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags_by_state),
		cmocka_unit_test(test_keep_runs_from_the_failure),
		cmocka_unit_test(test_beginnings),
		cmocka_unit_test(test_words_under_events),
		cmocka_unit_test(test_writes_only_what_differs),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_members_one_by_one),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
