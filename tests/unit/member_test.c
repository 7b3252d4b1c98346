/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool's members over time (pool/member.c), through pool/pool.h: shares, flags and deadlines by
 * the case, and random histories against a model that looks at each member's whole past.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../lib/twin/slots.h"
#include "dp/abi.h"
#include "pool/pool.h"

enum { MEMBERS = 9, SIZE = 509, SEED = 7 };
enum { KEEP_MS = 6000, SLOW_MS = 9000, DRAIN_MS = 20000 };
enum { UP = ABI_BACKEND_UP, KEEP = ABI_BACKEND_KEEP, HEALTHY = ABI_BACKEND_HEALTHY };

static uint64_t draw(void)
{
	static uint64_t state = 3;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state ^ state >> 29) * 0xff51afd7ed558ccdULL;
}

/* Members 0 to count - 1, the last `backups` of them backups; all healthy. */
static struct pool *make(size_t count, size_t backups, uint64_t slow_ms)
{
	static const char *const names[MEMBERS] = {"m0", "m1", "m2", "m3", "m4",
						   "m5", "m6", "m7", "m8"};
	struct pool_member_spec members[MEMBERS] = {0};
	struct pool_spec spec = {
		.name = "web",
		.seed = SEED,
		.table_size = SIZE,
		.on_down_keep_ms = KEEP_MS,
		.backup_below = 1,
		.slow_start_ms = slow_ms,
		.drain_limit_ms = DRAIN_MS,
		.members = members,
		.member_count = count,
	};
	struct pool *pool;

	for (uint32_t i = 0; i < count; i++) {
		members[i].name = names[i];
		members[i].identity = 1000 + i;
		members[i].weight = 10;
		members[i].index = 100 + i;
		members[i].health = POOL_HEALTHY;
		members[i].backup = i >= count - backups;
	}
	assert_int_equal(pool_new(&spec, &pool), 0);
	return pool;
}

static uint32_t count_served(struct pool *pool, size_t member, uint64_t now_ms)
{
	uint64_t slots[SIZE] = {0};

	pool_write_slots(pool, slots, now_ms);
	return pool_member_slots(pool, member);
}

static void assert_share(struct pool *pool, size_t member, uint64_t now_ms, unsigned share)
{
	pool_advance(pool, now_ms);
	assert_int_equal(pool_member_share(pool, member), share);
	assert_int_equal(pool_member_usable(pool, member), share > 0);
	assert_int_equal(!!(pool_member_flags(pool, member, now_ms) & UP), share > 0);
}

/* From 10 % at once to all after slow_start, each step at its deadline and not before. */
static void assert_ramp(struct pool *pool, size_t member, uint64_t from_ms, unsigned percent)
{
	uint64_t now = from_ms;

	for (unsigned step = 1; step <= 10; step++) {
		uint64_t next = from_ms + step * (SLOW_MS / 9);

		assert_share(pool, member, now, percent * step / 10);
		if (step < 10) {
			assert_share(pool, member, next - 1, percent * step / 10);
			assert_int_equal(pool_next_deadline_ms(pool, now), next);
		}
		now = next;
	}
	assert_int_equal(pool_next_deadline_ms(pool, now), UINT64_MAX);
}

static void test_a_return_is_slow(void **state)
{
	struct pool *pool = make(4, 0, SLOW_MS);

	(void)state;
	assert_share(pool, 1, 500, 100); /* up at the start: at once */
	pool_set_health(pool, 1, POOL_UNHEALTHY, 1000);
	assert_share(pool, 1, 1000, 0);
	pool_set_health(pool, 1, POOL_HEALTHY, 2000);
	assert_ramp(pool, 1, 2000, 100);

	/* Failing in between, it begins again. */
	pool_set_health(pool, 1, POOL_UNHEALTHY, 20000);
	pool_set_health(pool, 1, POOL_HEALTHY, 20001);
	assert_share(pool, 1, 24001, 50);
	pool_set_health(pool, 1, POOL_UNHEALTHY, 24001);
	pool_set_health(pool, 1, POOL_HEALTHY, 24002);
	assert_ramp(pool, 1, 24002, 100);
	pool_free(pool);
}

static void test_ready_again_is_slow(void **state)
{
	struct pool *pool = make(4, 0, SLOW_MS);

	(void)state;
	pool_set_admin(pool, 1, POOL_DRAIN, 1000);
	pool_set_admin(pool, 1, POOL_ACTIVE, 2000);
	assert_ramp(pool, 1, 2000, 100);
	pool_set_admin(pool, 1, POOL_MAINT, 20000);
	pool_set_health(pool, 1, POOL_UNKNOWN, 20000);
	pool_set_admin(pool, 1, POOL_ACTIVE, 21000); /* not known to be well yet */
	assert_share(pool, 1, 25000, 0);
	pool_set_health(pool, 1, POOL_HEALTHY, 26000);
	assert_ramp(pool, 1, 26000, 100);

	/* The operator's share is a factor, at any time, and alone it does not ramp. */
	pool_set_share(pool, 1, 0, 40000);
	assert_share(pool, 1, 40000, 0);
	pool_set_share(pool, 1, 50, 40001);
	assert_share(pool, 1, 40001, 50);
	pool_set_admin(pool, 1, POOL_DRAIN, 41000);
	pool_set_admin(pool, 1, POOL_ACTIVE, 42000);
	assert_ramp(pool, 1, 42000, 50);
	pool_set_admin(pool, 1, POOL_DRAIN, 60000);
	pool_set_admin(pool, 1, POOL_ACTIVE, 61000);
	pool_set_share(pool, 1, 1, 61000);
	assert_share(pool, 1, 61000, 1); /* a tenth of it is something all the same */
	pool_free(pool);
}

/* Who becomes known for the first time was never away; a pool without slow_start has no ramps. */
static void test_what_is_not_slow(void **state)
{
	struct pool *pool = make(4, 0, SLOW_MS);

	(void)state;
	for (size_t i = 0; i < 4; i++)
		pool_set_health(pool, i, POOL_UNKNOWN, 100);
	assert_share(pool, 2, 100, 0);
	pool_set_health(pool, 2, POOL_HEALTHY, 200);
	assert_share(pool, 2, 200, 100);
	pool_set_health(pool, 3, POOL_UNHEALTHY, 200);
	pool_set_health(pool, 3, POOL_HEALTHY, 300);
	assert_share(pool, 3, 300, 10);
	pool_free(pool);

	pool = make(4, 0, 0);
	pool_set_health(pool, 2, POOL_UNHEALTHY, 200);
	pool_set_health(pool, 2, POOL_HEALTHY, 300);
	assert_share(pool, 2, 300, 100);
	assert_int_equal(pool_next_deadline_ms(pool, 300), UINT64_MAX);
	pool_free(pool);
}

static void test_drain_limit(void **state)
{
	struct pool *pool = make(4, 0, 0);

	(void)state;
	pool_set_admin(pool, 1, POOL_DRAIN, 1000);
	pool_set_admin(pool, 1, POOL_DRAIN, 5000); /* told again */
	assert_int_equal(pool_member_flags(pool, 1, 1000), KEEP | HEALTHY);
	assert_int_equal(pool_next_deadline_ms(pool, 1000), 1000 + DRAIN_MS);
	assert_false(pool_member_is_cut(pool, 1, 1000 + DRAIN_MS - 1));
	assert_int_equal(pool_member_flags(pool, 1, 1000 + DRAIN_MS - 1), KEEP | HEALTHY);
	assert_true(pool_member_is_cut(pool, 1, 1000 + DRAIN_MS));
	assert_int_equal(pool_member_flags(pool, 1, 1000 + DRAIN_MS), HEALTHY);
	assert_int_equal(pool_next_deadline_ms(pool, 1000 + DRAIN_MS), UINT64_MAX);
	pool_set_admin(pool, 1, POOL_ACTIVE, 30000);
	assert_int_equal(pool_member_flags(pool, 1, 30000), UP | KEEP | HEALTHY);
	assert_false(pool_member_is_cut(pool, 1, 90000));

	/* It drains anew, and fails while it does: the earlier end holds. */
	pool_set_admin(pool, 1, POOL_DRAIN, 100000);
	pool_set_health(pool, 1, POOL_UNHEALTHY, 101000);
	assert_int_equal(pool_next_deadline_ms(pool, 101000), 101000 + KEEP_MS);
	assert_int_equal(pool_member_flags(pool, 1, 101000 + KEEP_MS - 1), KEEP);
	assert_int_equal(pool_member_flags(pool, 1, 101000 + KEEP_MS), 0);
	assert_int_equal(pool_next_deadline_ms(pool, 101000 + KEEP_MS), 100000 + DRAIN_MS);
	pool_free(pool);
}

/* Draining by the file, it does so from when it is first known what time it is. */
static void test_drain_from_the_start(void **state)
{
	struct pool_member_spec member = {
		.name = "m",
		.identity = 1,
		.weight = 1,
		.index = 1,
		.admin = POOL_DRAIN,
		.health = POOL_HEALTHY,
	};
	struct pool_spec spec = {
		.name = "web",
		.table_size = SIZE,
		.drain_limit_ms = DRAIN_MS,
		.slow_start_ms = SLOW_MS,
		.members = &member,
		.member_count = 1,
	};
	struct pool *pool;

	(void)state;
	assert_int_equal(pool_new(&spec, &pool), 0);
	assert_false(pool_member_is_cut(pool, 0, 1000000));
	assert_int_equal(count_served(pool, 0, 1000000), 0);
	assert_false(pool_member_is_cut(pool, 0, 1000000 + DRAIN_MS - 1));
	assert_true(pool_member_is_cut(pool, 0, 1000000 + DRAIN_MS));
	pool_set_admin(pool, 0, POOL_ACTIVE, 2000000);
	assert_share(pool, 0, 2000000, 10);
	pool_free(pool);

	spec.drain_limit_ms = 0; /* none */
	assert_int_equal(pool_new(&spec, &pool), 0);
	pool_advance(pool, 1000);
	assert_int_equal(pool_next_deadline_ms(pool, 1000), UINT64_MAX);
	assert_false(pool_member_is_cut(pool, 0, UINT64_MAX - 1));
	pool_free(pool);
}

static void test_backups(void **state)
{
	struct pool *pool = make(4, 2, SLOW_MS);

	(void)state;
	assert_share(pool, 2, 0, 0);
	assert_int_equal(pool_member_flags(pool, 2, 0), KEEP | HEALTHY);
	assert_int_equal(count_served(pool, 0, 0) + count_served(pool, 1, 0), SIZE);
	pool_set_health(pool, 0, POOL_UNHEALTHY, 1000);
	assert_share(pool, 2, 1000, 0); /* one other is enough */
	pool_set_admin(pool, 1, POOL_DRAIN, 2000);
	assert_share(pool, 2, 2000, 100);
	assert_share(pool, 3, 2000, 100);
	assert_int_equal(count_served(pool, 2, 2000) + count_served(pool, 3, 2000), SIZE);

	/* They go on till another one has come back whole. */
	pool_set_health(pool, 0, POOL_HEALTHY, 3000);
	assert_share(pool, 2, 3000 + SLOW_MS - 1, 100);
	assert_in_range(count_served(pool, 0, 3000), 1, SIZE / 10);
	assert_share(pool, 2, 3000 + SLOW_MS, 0);
	assert_int_equal(count_served(pool, 0, 3000 + SLOW_MS), SIZE);

	/* A weight of nothing is nobody who serves. */
	pool_set_share(pool, 0, 0, 20000);
	assert_share(pool, 3, 20000, 100);
	assert_int_equal(count_served(pool, 0, 20000), 0);
	pool_set_share(pool, 0, 1, 20001);
	assert_share(pool, 3, 20001, 0);
	assert_int_equal(count_served(pool, 0, 20001), SIZE);

	/* A backup has a state of its own as anybody. */
	pool_set_health(pool, 3, POOL_UNHEALTHY, 30000);
	pool_set_health(pool, 0, POOL_UNHEALTHY, 30000);
	assert_share(pool, 2, 30000, 100);
	assert_share(pool, 3, 30000, 0);
	pool_set_share(pool, 2, 40, 30000);
	assert_share(pool, 2, 30000, 40);
	assert_int_equal(count_served(pool, 2, 30000), SIZE);
	pool_free(pool);
}

/* --- random histories against a model --- */

struct past {
	uint64_t at_ms;
	enum { HEALTH, ADMIN, SHARE } what;
	unsigned value;
};

enum { PAST_MAX = 400 };

static struct past pasts[MEMBERS][PAST_MAX];
static size_t past_count[MEMBERS];

struct model {
	enum pool_admin admin;
	enum pool_health health;
	unsigned percent;
	bool away; /* at some time since it last served */
	uint64_t failed_ms, drained_ms, back_ms;
	bool slow; /* back_ms counts */
};

/* A member's state by reading its past from the beginning. */
static struct model recall(size_t member, uint64_t now_ms)
{
	struct model is = {POOL_ACTIVE, POOL_HEALTHY, 100, false, 0, 0, 0, false};

	for (size_t i = 0; i < past_count[member]; i++) {
		const struct past *past = &pasts[member][i];

		assert_true(past->at_ms <= now_ms);
		if (past->what == SHARE) {
			is.percent = past->value;
		} else if (past->what == HEALTH) {
			if (past->value == POOL_UNHEALTHY && is.health != POOL_UNHEALTHY)
				is.failed_ms = past->at_ms;
			is.health = past->value;
		} else {
			if (past->value == POOL_DRAIN && is.admin != POOL_DRAIN)
				is.drained_ms = past->at_ms;
			is.admin = past->value;
		}
		is.away |= is.admin != POOL_ACTIVE || is.health == POOL_UNHEALTHY;
		if (is.away && is.admin == POOL_ACTIVE && is.health == POOL_HEALTHY) {
			is.away = false;
			is.slow = true;
			is.back_ms = past->at_ms;
		}
	}
	return is;
}

static unsigned model_ramp(const struct model *is, uint64_t now_ms)
{
	uint64_t steps = (now_ms - is->back_ms) * 9 / SLOW_MS;

	return !is->slow || steps >= 9 ? 100 : (unsigned)(steps + 1) * 10;
}

static unsigned model_share(const struct model *is, uint64_t now_ms)
{
	double share = is->percent * model_ramp(is, now_ms) / 100.0;

	if (is->admin != POOL_ACTIVE || is->health != POOL_HEALTHY || share == 0)
		return 0;
	return share < 1 ? 1 : (unsigned)(share + 0.5);
}

static uint32_t model_flags(const struct model *is, unsigned share, uint64_t now_ms)
{
	uint32_t flags = share ? UP : 0;
	bool keep = is->admin != POOL_MAINT;

	if (is->health == POOL_HEALTHY)
		flags |= HEALTHY;
	if (is->health == POOL_UNHEALTHY && now_ms - is->failed_ms >= KEEP_MS)
		keep = false;
	if (is->admin == POOL_DRAIN && now_ms - is->drained_ms >= DRAIN_MS)
		keep = false;
	return keep ? flags | KEEP : flags;
}

enum { BACKUPS = 2 };

/* What all members should be, in `twins` their shares. */
static void model_all(struct twin_member *twins, uint32_t *flags, uint64_t now_ms)
{
	struct model is[MEMBERS];
	size_t others = 0;

	for (size_t i = 0; i < MEMBERS; i++) {
		is[i] = recall(i, now_ms);
		others += i < MEMBERS - BACKUPS && model_share(&is[i], now_ms) > 0 &&
			  model_ramp(&is[i], now_ms) == 100;
	}
	for (size_t i = 0; i < MEMBERS; i++) {
		bool waits = i >= MEMBERS - BACKUPS && others >= 1;

		twins[i].identity = 1000 + i;
		twins[i].weight = 10;
		twins[i].share = waits ? 0 : (uint8_t)model_share(&is[i], now_ms);
		flags[i] = model_flags(&is[i], twins[i].share, now_ms);
	}
}

static void happen(struct pool *pool, uint64_t now_ms)
{
	size_t member = draw() % MEMBERS;
	struct past past = {now_ms, draw() % 5 < 3 ? HEALTH : draw() % 2 ? ADMIN : SHARE, 0};

	if (draw() % 3 == 0)
		member = draw() % 2; /* some have much of a past */
	if (past_count[member] == PAST_MAX)
		return;
	if (past.what == SHARE) {
		past.value = draw() % 3 ? (unsigned)(draw() % 101) : draw() % 2 ? 100 : 0;
		pool_set_share(pool, member, past.value, now_ms);
	} else if (past.what == ADMIN) {
		past.value = draw() % 2 ? POOL_ACTIVE : draw() % 3;
		pool_set_admin(pool, member, past.value, now_ms);
	} else {
		past.value = draw() % 10 == 0 ? POOL_UNKNOWN : 1 + draw() % 2;
		pool_set_health(pool, member, past.value, now_ms);
	}
	pasts[member][past_count[member]++] = past;
}

/* A slot moves for one reason alone: who had it has less, or who gets it has more. */
static void assert_no_collateral(const uint32_t *before, const uint8_t *had, const uint32_t *owners,
				 const struct twin_member *has)
{
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		uint32_t from = before[slot], to = owners[slot];

		if (from == to)
			continue;
		assert_true((from != TWIN_NOBODY && has[from].share < had[from]) ||
			    (to != TWIN_NOBODY && has[to].share > had[to]));
	}
}

static void assert_as_modelled(struct pool *pool, uint64_t *slots, uint64_t now_ms)
{
	static uint32_t base[SIZE], owners[SIZE], others[SIZE], before[SIZE];
	static uint8_t had[MEMBERS];
	struct twin_member twins[MEMBERS];
	uint32_t flags[MEMBERS];

	model_all(twins, flags, now_ms);
	twin_base(twins, MEMBERS, SEED, SIZE, base);
	twin_serve(twins, base, SIZE, owners, others);
	pool_advance(pool, now_ms);
	for (size_t i = 0; i < MEMBERS; i++) {
		assert_int_equal(pool_member_share(pool, i), twins[i].share);
		assert_int_equal(pool_member_flags(pool, i, now_ms), flags[i]);
	}
	pool_update_slots(pool, slots, now_ms);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		assert_int_equal(pool_slot_base(pool, slot), base[slot]);
		assert_int_equal(pool_slot_owner(pool, slot), owners[slot]);
		assert_int_equal(abi_slot_current(slots[slot]),
				 owners[slot] == TWIN_NOBODY ? 0 : 100 + owners[slot]);
		assert_int_equal(abi_slot_other(slots[slot]),
				 others[slot] == TWIN_NOBODY ? 0 : 100 + others[slot]);
	}
	if (now_ms > 0)
		assert_no_collateral(before, had, owners, twins);
	memcpy(before, owners, sizeof(before));
	for (size_t i = 0; i < MEMBERS; i++)
		had[i] = twins[i].share;
}

/* Between two times when something is due nothing changes by itself. */
static void assert_still(uint64_t from_ms, uint64_t to_ms)
{
	struct twin_member before[MEMBERS], after[MEMBERS];
	uint32_t flags_before[MEMBERS], flags_after[MEMBERS];

	model_all(before, flags_before, from_ms);
	model_all(after, flags_after, to_ms);
	for (size_t i = 0; i < MEMBERS; i++)
		assert_int_equal(before[i].share, after[i].share);
	assert_memory_equal(flags_before, flags_after, sizeof(flags_before));
}

/* Health, drain, maintenance, weights, slow start, backups, limits, in any order, and time; what
 * changes by time alone is announced. A second node that only sees the end has the same table. */
static void test_random_histories(void **state)
{
	uint64_t now = 0;

	(void)state;
	for (int history = 0; history < 6; history++) {
		struct pool *pool = make(MEMBERS, BACKUPS, SLOW_MS);
		uint64_t slots[SIZE] = {0};

		memset(past_count, 0, sizeof(past_count));
		now = 0;
		assert_as_modelled(pool, slots, now);
		for (int event = 0; event < 250; event++) {
			uint64_t last = now, deadline;

			now += 1 + draw() % (draw() % 4 ? 700 : 9000);
			while ((deadline = pool_next_deadline_ms(pool, last)) <= now) {
				assert_true(deadline > last);
				assert_still(last, deadline - 1);
				assert_as_modelled(pool, slots, deadline);
				last = deadline;
			}
			assert_still(last, now);
			for (uint64_t n = draw() % 3; n > 0; n--)
				happen(pool, now);
			assert_as_modelled(pool, slots, now);
		}
		pool_free(pool);
	}
}

static void put(struct pool *pool, size_t member, unsigned percent)
{
	if (percent == 0 && draw() % 2)
		pool_set_admin(pool, member, POOL_DRAIN, 0);
	else
		pool_set_share(pool, member, percent, 0);
}

/* Two nodes that come to the same state by other ways and with other lists have the same table. */
static void test_two_nodes_agree(void **state)
{
	static uint32_t owners[SIZE];

	(void)state;
	for (int times = 0; times < 40; times++) {
		struct pool *one = make(7, 0, 0), *two = make(7, 0, 0);
		unsigned wanted[7];

		for (size_t i = 0; i < 7; i++)
			wanted[i] = draw() % 3 ? (unsigned)(draw() % 11) * 10 : 0;
		for (size_t n = 0; n < 30; n++) {
			put(two, draw() % 7, draw() % 101);
			if (n % 5 == 0)
				count_served(two, 0, 0);
		}
		for (size_t i = 0; i < 7; i++) {
			put(one, i, wanted[i]);
			pool_set_admin(two, 6 - i, POOL_ACTIVE, 0);
			put(two, 6 - i, wanted[6 - i]);
		}
		count_served(one, 0, 0);
		count_served(two, 0, 0);
		for (uint32_t slot = 0; slot < SIZE; slot++) {
			owners[slot] = pool_slot_owner(one, slot);
			assert_int_equal(pool_slot_owner(two, slot), owners[slot]);
		}
		pool_free(one);
		pool_free(two);
	}
}

/* Weight 0 leaves none to a member while others serve, and nothing at all when nobody does. */
static void test_case_10_weight_0_has_no_slot(void **state)
{
	struct pool *pool = make(3, 0, 0);

	(void)state;
	assert_in_range(count_served(pool, 1, 0), SIZE / 3, SIZE / 3 + 1);
	pool_set_share(pool, 1, 0, 1000);
	assert_int_equal(count_served(pool, 1, 1000), 0);
	assert_int_equal(count_served(pool, 0, 1000) + count_served(pool, 2, 1000), SIZE);
	assert_int_equal(pool_member_flags(pool, 1, 1000), KEEP | HEALTHY);
	pool_set_share(pool, 0, 0, 1000);
	assert_int_equal(count_served(pool, 2, 1000), SIZE);
	pool_set_share(pool, 2, 0, 1000);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(count_served(pool, i, 1000), 0);
		assert_int_equal(pool_member_flags(pool, i, 1000), KEEP | HEALTHY);
	}
	pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_return_is_slow),
		cmocka_unit_test(test_ready_again_is_slow),
		cmocka_unit_test(test_what_is_not_slow),
		cmocka_unit_test(test_drain_limit),
		cmocka_unit_test(test_drain_from_the_start),
		cmocka_unit_test(test_backups),
		cmocka_unit_test(test_random_histories),
		cmocka_unit_test(test_two_nodes_agree),
		cmocka_unit_test(test_case_10_weight_0_has_no_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
