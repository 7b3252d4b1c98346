/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of 65537 slots. Pools of a set have one seed, the fleet's, and share the members that the
 * event is about; all others are their own, so no two tables are alike. Together they have more
 * slots than a node's tables hold, so they stand in memory of their own, and none is in a cache
 * when its turn comes. Each round begins with slots that are settled.
 */
#include "bench/failures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report.h"
#include "bench/timing.h"
#include "hash/maglev.h"
#include "hash/overlay.h"
#include "pool/pool.h"

enum { SIZE = 65537, MEMBERS_MAX = 100, IDLE_MS = 3600 * 1000, DATAGRAM_MS = 30 * 1000 };

static const uint64_t seed = 0x57656972;
static uint32_t sink[SIZE];

struct table {
	struct pool *pool;
	uint64_t *slots;
	uint32_t *moving; /* the slots whose words a failure changes */
	size_t moving_count;
};

struct set {
	size_t tables, members, shared;
	struct table *all;
	uint64_t now_ms;
};

static void fail(void)
{
	fprintf(stderr, "control_bench: out of memory\n");
	exit(1);
}

/* --- the plain loop --- */

static uint64_t identity_of(const struct set *set, size_t table, size_t member)
{
	size_t own = member < set->shared ? 0 : (table + 1) << 16;

	return (own + member + 1) * 0x9e3779b97f4a7c15ULL;
}

/* Turns in order, each to the first free place of its list: without weights. */
static void fill_plainly(const struct maglev_walk *walks, int32_t count, int32_t *slots)
{
	int32_t next[MEMBERS_MAX], filled = 0;

	memset(slots, 0xff, SIZE * sizeof(*slots));
	for (int32_t i = 0; i < count; i++)
		next[i] = (int32_t)walks[i].offset;
	for (;;) {
		for (int32_t i = 0; i < count; i++) {
			int32_t c = next[i], skip = (int32_t)walks[i].skip;

			while (slots[c] >= 0) {
				c += skip;
				if (c >= SIZE)
					c -= SIZE;
			}
			slots[c] = i;
			next[i] = c;
			if (++filled == SIZE)
				return;
		}
	}
}

/* The tables of a set anew, over those of their members that do not fail. */
static void build_plainly(const struct set *set, size_t failing)
{
	struct maglev_walk walks[MEMBERS_MAX];

	for (size_t t = 0; t < set->tables; t++) {
		int32_t count = 0;

		for (size_t m = failing; m < set->members; m++)
			walks[count++] = maglev_walk(identity_of(set, t, m), seed, SIZE);
		fill_plainly(walks, count, (int32_t *)sink);
	}
}

/* --- base tables --- */

static void run_builds(void)
{
	static uint32_t base[SIZE];
	const struct set set = {.tables = 1, .members = MEMBERS_MAX};
	struct maglev_member members[MEMBERS_MAX];

	for (size_t m = 0; m < MEMBERS_MAX; m++)
		members[m] = (struct maglev_member){identity_of(&set, 0, m), 100};
	for (unsigned round = 0; round < TIMING_ROUNDS; round++) {
		uint64_t since_ns = timing_spent_ns();
		struct overlay *overlay;

		build_plainly(&set, 0);
		timing_note("table of 100 backends: plain loop", since_ns);
		since_ns = timing_spent_ns();
		if (maglev_build(members, MEMBERS_MAX, seed, SIZE, base))
			fail();
		timing_note("table of 100 backends: Weir's", since_ns);
		since_ns = timing_spent_ns();
		if (overlay_new(base, SIZE, MEMBERS_MAX, &overlay))
			fail();
		timing_note("table of 100 backends: its overlay beside", since_ns);
		overlay_free(overlay);
	}
	report_compare("table of 100 backends: Weir's", "table of 100 backends: plain loop");
	report_at_most("table of 100 backends: Weir's", 1 / 1.5);
}

/* --- events --- */

static struct table make_table(const struct set *set, size_t at)
{
	struct pool_member_spec members[MEMBERS_MAX];
	struct pool_spec spec = {
		.name = "bench",
		.seed = seed,
		.table_size = SIZE,
		.idle_ms = IDLE_MS,
		.datagram_ms = DATAGRAM_MS,
		.members = members,
		.member_count = set->members,
	};
	struct table table = {.slots = calloc(SIZE, sizeof(uint64_t))};

	for (size_t m = 0; m < set->members; m++)
		members[m] = (struct pool_member_spec){
			.name = "b",
			.identity = identity_of(set, at, m),
			.weight = 100,
			.index = (uint32_t)(m < set->shared ? m : at * set->members + m) + 1,
			.health = POOL_HEALTHY,
		};
	if (!table.slots || pool_new(&spec, &table.pool))
		fail();
	pool_write_slots(table.pool, table.slots, set->now_ms);
	return table;
}

static struct set make_set(size_t tables, size_t members, size_t shared)
{
	struct set set = {tables, members, shared, calloc(tables, sizeof(*set.all)), 1000};

	if (!set.all)
		fail();
	for (size_t t = 0; t < tables; t++)
		set.all[t] = make_table(&set, t);
	return set;
}

static void free_set(struct set *set)
{
	for (size_t t = 0; t < set->tables; t++) {
		pool_free(set->all[t].pool);
		free(set->all[t].slots);
		free(set->all[t].moving);
	}
	free(set->all);
}

static void update_all(struct set *set, uint64_t later_ms, const char *row)
{
	uint64_t since_ns = timing_spent_ns();

	set->now_ms += later_ms;
	for (size_t t = 0; t < set->tables; t++)
		pool_update_slots(set->all[t].pool, set->all[t].slots, set->now_ms);
	if (row)
		timing_note(row, since_ns);
}

/* What becomes of the shared members; `percent` of their slots. */
struct event {
	enum pool_health health;
	enum pool_admin admin;
	unsigned percent;
};

static void change_all(struct set *set, struct event event, const char *row)
{
	uint64_t since_ns = timing_spent_ns();

	set->now_ms += 1000;
	for (size_t t = 0; t < set->tables; t++) {
		struct pool *pool = set->all[t].pool;

		for (size_t m = 0; m < set->shared; m++) {
			pool_set_health(pool, m, event.health, set->now_ms);
			pool_set_admin(pool, m, event.admin, set->now_ms);
			pool_set_share(pool, m, event.percent, set->now_ms);
		}
		pool_update_slots(pool, set->all[t].slots, set->now_ms);
	}
	if (row)
		timing_note(row, since_ns);
}

static bool pinned_nowhere(const void *arg, uint32_t slot)
{
	(void)arg;
	(void)slot;
	return false;
}

/* Transitions come to their end. */
static void settle_all(struct set *set, const char *row)
{
	uint64_t since_ns;

	update_all(set, DATAGRAM_MS, NULL);
	set->now_ms += IDLE_MS;
	since_ns = timing_spent_ns();
	for (size_t t = 0; t < set->tables; t++) {
		struct pool *pool = set->all[t].pool;

		pool_begin_survey(pool, set->now_ms);
		pool_end_survey(pool, pinned_nowhere, NULL, set->all[t].slots);
	}
	if (row)
		timing_note(row, since_ns);
}

/* --- what memory asks --- */

static void find_moving(struct set *set)
{
	static uint64_t before[SIZE];

	for (size_t t = 0; t < set->tables; t++) {
		struct table *table = &set->all[t];
		size_t count = 0;

		memcpy(before, table->slots, sizeof(before));
		for (size_t m = 0; m < set->shared; m++)
			pool_set_health(table->pool, m, POOL_UNHEALTHY, set->now_ms);
		pool_update_slots(table->pool, table->slots, set->now_ms);
		for (uint32_t slot = 0; slot < SIZE; slot++) {
			if (table->slots[slot] != before[slot])
				sink[count++] = slot;
		}
		table->moving = malloc(count * sizeof(*sink));
		table->moving_count = count;
		if (!table->moving)
			fail();
		memcpy(table->moving, sink, count * sizeof(*sink));
	}
}

/* Reads the words of a failure and stores them again, and no more. */
static void store_alone(const struct set *set, const char *row)
{
	uint64_t since_ns = timing_spent_ns();

	for (size_t t = 0; t < set->tables; t++) {
		const struct table *table = &set->all[t];

		for (size_t i = 0; i < table->moving_count; i++) {
			uint64_t *slot = &table->slots[table->moving[i]];

			__atomic_store_n(slot, *slot, __ATOMIC_RELAXED);
		}
	}
	if (row)
		timing_note(row, since_ns);
}

enum { PLAIN, WORDS, FAILS, LATE, SETTLES, RETURNS, DRAINS, STEP, EVENTS };

static void run_round(struct set *set, const char *const names[EVENTS])
{
	const struct event well = {POOL_HEALTHY, POOL_ACTIVE, 100};
	const struct event failed = {POOL_UNHEALTHY, POOL_ACTIVE, 100};
	const struct event drains = {POOL_HEALTHY, POOL_DRAIN, 100};
	const struct event half = {POOL_HEALTHY, POOL_ACTIVE, 50};
	const struct event more = {POOL_HEALTHY, POOL_ACTIVE, 60};

	change_all(set, failed, names[FAILS]);
	update_all(set, DATAGRAM_MS, names[LATE]);
	settle_all(set, names[SETTLES]);
	change_all(set, well, names[RETURNS]);
	settle_all(set, NULL);
	change_all(set, drains, names[DRAINS]);
	settle_all(set, NULL);
	change_all(set, half, NULL);
	settle_all(set, NULL);
	change_all(set, more, names[STEP]);
	settle_all(set, NULL);
	change_all(set, well, NULL);
	settle_all(set, NULL);
}

/* Names are of the rows by event, of which that of the plain loop is the base of the others. */
static void run_events(struct set set, const char *const names[EVENTS])
{
	static const char *const none[EVENTS];

	find_moving(&set);
	run_round(&set, none); /* pages that nobody has touched */
	for (unsigned round = 0; round < TIMING_ROUNDS; round++) {
		uint64_t since_ns = timing_spent_ns();

		build_plainly(&set, set.shared);
		timing_note(names[PLAIN], since_ns);
		store_alone(&set, names[WORDS]);
		run_round(&set, names);
	}
	for (size_t i = PLAIN + 1; i < EVENTS; i++) {
		if (names[i])
			report_compare(names[i], names[PLAIN]);
	}
	free_set(&set);
}

void failures_run(void)
{
	static const char *const one[EVENTS] = {
		[PLAIN] = "table of 99 of 100 backends: plain loop",
		[FAILS] = "one of 100 backends fails",
	};
	static const char *const shared[EVENTS] = {
		[PLAIN] = "200 pools, 19 of 20 backends: plain loop",
		[WORDS] = "200 pools: the words alone that a failure changes",
		[FAILS] = "200 pools: one that all share fails",
		[LATE] = "200 pools: its datagrams' time passes",
		[SETTLES] = "200 pools: its slots settle",
		[RETURNS] = "200 pools: it returns",
		[DRAINS] = "200 pools: it drains",
		[STEP] = "200 pools: a step of its slow start",
	};
	static const char *const many[EVENTS] = {
		[PLAIN] = "50 pools, 15 of 35 backends: plain loop",
		[WORDS] = "50 pools: the words alone that 20 change",
		[FAILS] = "50 pools: 20 that all share fail at once",
		[RETURNS] = "50 pools: they return",
	};

	run_builds();
	run_events(make_set(1, MEMBERS_MAX, 1), one);
	run_events(make_set(200, 20, 1), shared);
	run_events(make_set(50, 35, 20), many);
	report_at_most(one[FAILS], 1 / 20.0);
	report_at_most(shared[FAILS], 12 / 216.0);
	report_limit(many[FAILS], 40);
}
