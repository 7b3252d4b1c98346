/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of slots, built and brought up to date: counted here, timed by failures.c, where each is
 * compared with the plain loop.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench/native/native.h"
#include "bench/setting.h"
#include "hash/maglev.h"
#include "hash/overlay.h"
#include "pool/pool.h"

enum { SIZE = 16381, MEMBERS = 100, SEED = 7 };

struct build {
	struct maglev_member members[MEMBERS];
	uint32_t base[SIZE];
	uint64_t slots[SIZE];
	struct pool *pool;
	uint64_t now_ms;
};

static void *prepare(const struct native_row *row)
{
	struct build *build = calloc(1, sizeof(*build));
	struct pool_member_spec members[MEMBERS];
	struct pool_spec spec = {
		.name = "bench",
		.seed = SEED,
		.table_size = SIZE,
		.idle_ms = 1,
		.datagram_ms = 1,
		.members = members,
		.member_count = MEMBERS,
	};
	int error;

	if (!build)
		bench_die(row->name, ENOMEM);
	for (uint32_t m = 0; m < MEMBERS; m++) {
		build->members[m] = (struct maglev_member){(m + 1) * 0x9e3779b97f4a7c15ULL, 100};
		members[m] = (struct pool_member_spec){
			.name = "b",
			.identity = build->members[m].identity,
			.weight = 100,
			.index = m + 1,
			.health = POOL_HEALTHY,
		};
	}
	error = pool_new(&spec, &build->pool);
	if (!error)
		error = maglev_build(build->members, MEMBERS, SEED, SIZE, build->base);
	if (error)
		bench_die(row->name, error);
	pool_write_slots(build->pool, build->slots, build->now_ms);
	return build;
}

static void run_base(void *data, uint32_t count)
{
	struct build *build = data;

	for (uint32_t i = 0; i < count; i++) {
		if (maglev_build(build->members, MEMBERS, SEED, SIZE, build->base))
			bench_die("a table", ENOMEM);
	}
}

static void run_overlay(void *data, uint32_t count)
{
	struct build *build = data;
	struct overlay *overlay;

	for (uint32_t i = 0; i < count; i++) {
		if (overlay_new(build->base, SIZE, MEMBERS, &overlay))
			bench_die("an overlay", ENOMEM);
		overlay_free(overlay);
	}
}

static void run_write(void *data, uint32_t count)
{
	struct build *build = data;

	for (uint32_t i = 0; i < count; i++)
		pool_write_slots(build->pool, build->slots, build->now_ms);
}

/* One of the members fails and returns; the first times are those of a pool that knows no more. */
static void run_failure(void *data, uint32_t count)
{
	struct build *build = data;

	for (uint32_t i = 0; i < count; i++) {
		enum pool_health health = i & 1 ? POOL_HEALTHY : POOL_UNHEALTHY;

		build->now_ms += 1000;
		pool_set_health(build->pool, 3, health, build->now_ms);
		pool_update_slots(build->pool, build->slots, build->now_ms);
	}
}

#define ROW(row_name, function, times)                                                 \
	{                                                                              \
		.name = row_name, .prepare = prepare, .run = function, .count = times, \
		.when = NATIVE_COUNTED                                                 \
	}

const struct native_row build_rows[] = {
	ROW("maglev table, 100 backends", run_base, 2),
	ROW("overlay of a table, 100 backends", run_overlay, 2),
	ROW("slots of a pool, written anew", run_write, 2),
	ROW("slots of a pool, one of 100 fails or returns", run_failure, 4),
	{0},
};
