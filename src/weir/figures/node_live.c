/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /api/v1 for who looks on: what is asked for every second or two and must cost the loop little,
 * whatever the configuration's size. Counters without words around them, from which the client
 * makes rates; whose slots are whose, as a picture of a bounded size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/explain/texts.h"
#include "weir/figures/node.h"
#include "weir/node/reload.h"
#include "weir/show.h"

enum { CELLS_MAX = 1024 };

static json_int_t generation(const struct app *app)
{
	return (json_int_t)reload_facts(app).generation;
}

/* --- counters of services --- */

static json_t *counts_of(const struct app *app, const char *q, const struct abi_count *counts)
{
	json_t *at = q ? json_array() : json_null(), *packets = json_array(), *bytes = json_array();

	for (size_t i = 0; i < app->conf->service_count; i++) {
		const struct abi_count *count;

		if (q && !node_service_matches(app, i, q))
			continue;
		count = &counts[balancer_service_record(app->balancer, i)];
		if (q)
			json_array_append_new(at, json_integer((json_int_t)i));
		json_array_append_new(packets, json_integer((json_int_t)count->packets));
		json_array_append_new(bytes, json_integer((json_int_t)count->bytes));
	}
	return json_pack("{s:I, s:I, s:o, s:o, s:o}", "generation", generation(app), "total",
			 (json_int_t)json_array_size(packets), "at", at, "packets", packets,
			 "bytes", bytes);
}

static void answer_counts(void *arg, struct http_exchange *exchange)
{
	const struct app *app = arg;
	const char *q = http_query(exchange, "q");
	struct abi_count *counts = calloc(ABI_SERVICES, sizeof(*counts));
	json_t *answer = NULL;

	if (counts && !dp_service_counts(app->dp, counts, ABI_SERVICES))
		answer = counts_of(app, q && *q ? q : NULL, counts);
	free(counts);
	exporter_reply_json(exchange, 200, answer);
}

/* --- whose slots are whose --- */

/* A pool on view: its tables' words, and which member each backend's record is, plus one. */
struct view {
	const struct pool *pool;
	const uint64_t *words;
	uint16_t *members;
};

static bool view_open(const struct app *app, size_t at, struct view *view)
{
	view->pool = balancer_pool(app->balancer, at);
	view->words = dp_tables(app->dp)->slots + balancer_first_slot(app->balancer, at);
	view->members = calloc(ABI_BACKENDS, sizeof(*view->members));
	for (size_t m = 0; view->members && m < pool_member_count(view->pool); m++)
		view->members[balancer_backend_record(app->balancer, at, m)] = (uint16_t)(m + 1);
	return view->members;
}

static uint32_t owner_of(const struct view *view, uint32_t slot)
{
	return pool_slot_owner(view->pool, slot);
}

/* Whoever had the slot before, while packets are still told of him. */
static uint32_t previous_of(const struct view *view, uint32_t slot)
{
	uint64_t word = __atomic_load_n(&view->words[slot], __ATOMIC_RELAXED);
	uint32_t record = abi_slot_previous(word);

	if (!record || record >= ABI_BACKENDS || !view->members[record])
		return HASH_NOBODY;
	return view->members[record] - 1U;
}

/* Who had it before the last change that is known of: its base owner, where another stands in. */
static uint32_t before_of(const struct view *view, uint32_t slot)
{
	uint32_t previous = previous_of(view, slot);

	return previous != HASH_NOBODY ? previous : pool_slot_base(view->pool, slot);
}

/* Slots lie at random, so that any part of them is a fair sample. */
static json_t *list_cells(const struct view *view,
			  uint32_t (*who)(const struct view *view, uint32_t slot))
{
	uint32_t size = pool_table_size(view->pool), cells = size < CELLS_MAX ? size : CELLS_MAX;
	json_t *list = json_array();

	for (uint32_t i = 0; i < cells; i++) {
		uint32_t member = who(view, (uint32_t)((uint64_t)i * size / cells));

		json_array_append_new(
			list, json_integer(member == HASH_NOBODY ? -1 : (json_int_t)member));
	}
	return list;
}

static void put_members(json_t *answer, const struct pool *pool)
{
	json_t *names = json_array(), *slots = json_array();

	for (size_t i = 0; i < pool_member_count(pool); i++) {
		json_array_append_new(names, json_string(pool_member_name(pool, i)));
		json_array_append_new(slots, json_integer(pool_member_slots(pool, i)));
	}
	json_object_set_new(answer, "members", names);
	json_object_set_new(answer, "slots", slots);
}

struct sums {
	uint64_t digest; /* of all owners, for who asks whether anything has changed (FNV-1a) */
	uint32_t stand_ins, changed;
};

static struct sums look_through(const struct view *view)
{
	struct sums sums = {.digest = 14695981039346656037ULL};

	for (uint32_t slot = 0; slot < pool_table_size(view->pool); slot++) {
		uint32_t owner = owner_of(view, slot);

		sums.digest = (sums.digest ^ owner) * 1099511628211ULL;
		sums.stand_ins += owner != pool_slot_base(view->pool, slot);
		sums.changed += owner != before_of(view, slot);
	}
	return sums;
}

static json_t *report_slots(const struct app *app, const struct view *view, const char *have)
{
	const struct pool *pool = view->pool;
	struct sums sums = look_through(view);
	char version[48];
	json_t *answer;

	snprintf(version, sizeof(version), "%lld.%016llx", generation(app),
		 (unsigned long long)sums.digest);
	answer = json_pack("{s:s, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "pool", pool_name(pool),
			   "generation", generation(app), "version", version, "table_size",
			   (json_int_t)pool_table_size(pool), "in_transition",
			   (json_int_t)pool_moving_slots(pool), "stand_ins",
			   (json_int_t)sums.stand_ins, "changed", (json_int_t)sums.changed, "moved",
			   (json_int_t)pool_moves(pool).slots, "collateral",
			   (json_int_t)pool_moves(pool).collateral);
	if (!have || strcmp(have, version) != 0) {
		put_members(answer, pool);
		json_object_set_new(answer, "owner", list_cells(view, owner_of));
		json_object_set_new(answer, "before", list_cells(view, before_of));
	}
	return answer;
}

static void answer_slots(void *arg, struct http_exchange *exchange)
{
	const struct app *app = arg;
	struct view view;
	size_t at, first;
	json_t *answer = NULL;

	if (!node_find_pool(app, http_rest(exchange), &at, &first)) {
		node_refuse(exchange, 404, "there is no such pool");
		return;
	}
	if (view_open(app, at, &view))
		answer = report_slots(app, &view, http_query(exchange, "have"));
	free(view.members);
	exporter_reply_json(exchange, 200, answer);
}

/* --- what verdicts mean, which only another program changes --- */

static void answer_verdicts(void *arg, struct http_exchange *exchange)
{
	json_t *list = json_array();

	(void)arg;
	for (uint32_t i = 0; i < VERDICT_COUNT; i++)
		json_array_append_new(list, explain_json(i));
	exporter_reply_json(exchange, 200, json_pack("{s:o}", "verdicts", list));
}

const struct http_route node_live_routes[NODE_LIVE_ROUTES] = {
	{.path = "/api/v1/counts", .handler = answer_counts},
	{.path = "/api/v1/slots/", .prefix = true, .handler = answer_slots},
	{.path = "/api/v1/verdicts", .handler = answer_verdicts},
};
