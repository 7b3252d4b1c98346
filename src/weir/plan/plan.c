/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/plan/plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "hash/maglev.h"
#include "hash/overlay.h"

enum { SEED = 1, SLOT_BYTES = 8, ALL = 100 };

/* What a table is made of, and what it becomes when one of them fails. */
struct table {
	uint32_t *base, *now;
};

static int build(size_t backends, uint32_t size, uint32_t *slots)
{
	struct maglev_member *members = calloc(backends, sizeof(*members));
	int error;

	if (!members)
		return -ENOMEM;
	for (size_t i = 0; i < backends; i++)
		members[i] = (struct maglev_member){.identity = 1 + i, .weight = 1};
	error = maglev_build(members, backends, SEED, size, slots);
	free(members);
	return error;
}

static void take_answer(void *arg, uint32_t slot, uint32_t owner, uint32_t other)
{
	uint32_t *now = arg;

	(void)other;
	now[slot] = owner;
}

/* The first of them is down. */
static int fail_one(const struct table *table, uint32_t size, size_t backends)
{
	uint8_t *share = malloc(backends);
	struct overlay *overlay;
	int error = share ? overlay_new(table->base, size, backends, &overlay) : -ENOMEM;

	if (!error) {
		memset(share, ALL, backends);
		share[0] = 0;
		overlay_apply(overlay, NULL, share, take_answer, table->now);
		overlay_free(overlay);
	}
	free(share);
	return error;
}

/* How far the worst is from an even share, in percent of that. */
static int find_error(const uint32_t *slots, uint32_t size, size_t backends, size_t down,
		      double *ret)
{
	uint32_t *counts = calloc(backends, sizeof(*counts));
	double ideal = (double)size / (double)(backends - down), worst = 0;

	if (!counts)
		return -ENOMEM;
	for (uint32_t i = 0; i < size; i++)
		counts[slots[i]] += slots[i] < backends;
	for (size_t i = down; i < backends; i++)
		worst = fmax(worst, fabs(counts[i] - ideal) / ideal * 100);
	free(counts);
	*ret = worst;
	return 0;
}

static double moved(const uint32_t *was, const uint32_t *now, uint32_t size, bool other)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < size; i++)
		count += was[i] != now[i] && (!other || was[i] != 0);
	return 100.0 * count / size;
}

static int make_tables(const struct plan_asked *asked, struct plan *ret, struct table *table)
{
	size_t backends = asked->backends;
	uint32_t size = ret->table_size;
	int error = build(backends, size, table->base);

	if (!error)
		error = find_error(table->base, size, backends, 0, &ret->share_error);
	if (!error && backends > 1) {
		error = fail_one(table, size, backends);
		ret->moved_failed = moved(table->base, table->now, size, false);
		ret->moved_other = moved(table->base, table->now, size, true);
	}
	if (!error && backends > 1)
		error = find_error(table->now, size, backends, 1, &ret->share_error_failed);
	/* The same size: a step in size moves nearly all, and is the operator's choice. */
	if (!error && backends < size)
		error = build(backends + 1, size, table->now);
	if (!error)
		ret->moved_added = moved(table->base, table->now, size, false);
	return error;
}

/* Half full at most, a power of two. */
static uint64_t entries_for(uint64_t flows)
{
	uint64_t entries = CONF_FLOWS_MIN;

	while (entries < 2 * flows && entries < CONF_FLOWS_MAX)
		entries *= 2;
	return entries;
}

static void count_cores(const struct plan_asked *asked, struct plan *ret)
{
	ret->mpps = asked->rate_bps / 8 / (asked->frame + PLAN_WIRE_BYTES) / 1e6;
	ret->core_mpps = 1000 / asked->ns;
	ret->cores_exact = ret->mpps / ret->core_mpps;
	ret->cores_bare = (uint32_t)fmax(1, round(ret->cores_exact));
	ret->cores = (uint32_t)fmax(1, ceil(ret->cores_exact * 100 / PLAN_BUSY_PERCENT));
	ret->nodes = (ret->cores + asked->cores_a_node - 1) / asked->cores_a_node;
}

int plan_make(const struct plan_asked *asked, struct plan *ret)
{
	struct table table;
	int error;

	*ret = (struct plan){.table_size = maglev_size_auto(asked->backends)};
	if (asked->backends == 0 || asked->backends > ret->table_size)
		return -EINVAL;
	count_cores(asked, ret);
	ret->table_bytes = (uint64_t)asked->services * ret->table_size * SLOT_BYTES;
	ret->flow_entries = entries_for(asked->flows);
	ret->flow_entries_moving = entries_for(asked->flows / asked->backends);
	table.base = calloc(ret->table_size, sizeof(*table.base));
	table.now = calloc(ret->table_size, sizeof(*table.now));
	error = table.base && table.now ? make_tables(asked, ret, &table) : -ENOMEM;
	free(table.base);
	free(table.now);
	return error;
}
