/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets change entries while they are read here. That is no harm: an entry is believed as packets
 * believe it, by two equal reads of its pin; one that is being written belongs to a flow that
 * begins, or that was silent for the idle time (pool/transition.c says why these do not count).
 */
#include "weir/balancer/survey.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "flow/flow.h"
#include "weir/balancer/state.h"

enum {
	PIECE_BUCKETS = 2048,  /* under a millisecond, also where nothing is in a cache */
	PIECE_SLOTS = 1 << 17, /* of pools that are told */
	PAUSE_MS = 5,          /* after a piece */
	REST_MS = 2000,        /* after a walk, while there is something to look for */
};

int survey_init(struct survey *survey, const struct dp_tables *tables)
{
	*survey = (struct survey){
		.tables = tables,
		.elsewhere = calloc(ABI_SLOTS / 64, sizeof(*survey->elsewhere)),
		.counting = calloc(ABI_BACKENDS, sizeof(*survey->counting)),
		.flows = calloc(ABI_BACKENDS, sizeof(*survey->flows)),
	};
	return survey->elsewhere && survey->counting && survey->flows ? 0 : -ENOMEM;
}

void survey_fini(struct survey *survey)
{
	free(survey->elsewhere);
	free(survey->counting);
	free(survey->flows);
}

static void begin(struct survey *survey)
{
	survey->next = 0;
	memset(survey->elsewhere, 0, ABI_SLOTS / 8);
	memset(survey->counting, 0, ABI_BACKENDS * sizeof(*survey->counting));
}

static void look(struct survey *survey, const struct abi_flow *entry, uint32_t tick)
{
	uint64_t pin = __atomic_load_n(&entry->pin, __ATOMIC_ACQUIRE);
	uint64_t key = __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE), word;
	uint32_t backend = flow_pin_backend(pin), slot;
	const struct abi_backend *record;

	if (!pin || pin == FLOW_BUSY || __atomic_load_n(&entry->pin, __ATOMIC_RELAXED) != pin)
		return;
	if (flow_pin_state(pin) >= FLOW_FRAGMENT || backend >= ABI_BACKENDS ||
	    !flow_pin_live(survey->tables->node, pin, tick))
		return;
	record = &survey->tables->backends[backend];
	if (!record->identity || record->generation != flow_pin_generation(pin))
		return;
	survey->counting[backend]++;
	slot = (uint32_t)(pin >> FLOW_SLOT_SHIFT) << FLOW_KEY_SLOT_BITS |
	       ((uint32_t)key & FLOW_KEY_SLOT_MASK);
	if (slot >= ABI_SLOTS)
		return;
	word = __atomic_load_n(&survey->tables->slots[slot], __ATOMIC_RELAXED);
	if (word & ABI_SLOT_TRANSITION && abi_slot_current(word) != backend)
		survey->elsewhere[slot / 64] |= 1ULL << slot % 64;
}

/* Looks at so many buckets more. Returns whether all have been looked at. */
static bool walk(struct survey *survey, uint32_t buckets, uint64_t now_ms)
{
	uint32_t left = survey->tables->flow_buckets - survey->next;
	uint32_t tick = (uint32_t)(now_ms * TIME_MILLI_NS >> ABI_TICK_SHIFT);
	uint32_t *last = survey->flows;

	if (buckets > left)
		buckets = left;
	for (uint32_t i = 0; i < buckets; i++) {
		const struct abi_bucket *bucket = &survey->tables->flows[survey->next++];

		for (uint32_t f = 0; f < ABI_BUCKET_FLOWS; f++)
			look(survey, &bucket->flows[f], tick);
	}
	if (buckets < left)
		return false;
	survey->flows = survey->counting;
	survey->counting = last;
	return true;
}

/* The hash spreads entries evenly over the buckets. */
uint64_t survey_estimate(const struct dp_tables *tables, uint32_t buckets, uint64_t now_ms)
{
	uint32_t step = (tables->flow_buckets + buckets - 1) / buckets;
	uint32_t tick = (uint32_t)(now_ms * TIME_MILLI_NS >> ABI_TICK_SHIFT);
	uint64_t used = 0, seen = 0;

	for (uint64_t at = 0; at < tables->flow_buckets; at += step, seen++) {
		const struct abi_bucket *bucket = &tables->flows[at];

		for (uint32_t f = 0; f < ABI_BUCKET_FLOWS; f++) {
			uint64_t pin = __atomic_load_n(&bucket->flows[f].pin, __ATOMIC_RELAXED);

			used += pin && pin != FLOW_BUSY && flow_pin_live(tables->node, pin, tick);
		}
	}
	return seen ? used * tables->flow_buckets / seen : 0;
}

/* `slot` of all slots together. */
static bool is_elsewhere(const struct survey *survey, uint32_t slot)
{
	return survey->elsewhere[slot / 64] >> slot % 64 & 1;
}

/* --- the balancer's surveys --- */

/*
 * A walk under way goes on, or a node whose file changes often would never come to the end of one.
 * Who was told to begin with it and has been built anew since is left out; telling the others a
 * second time does no harm.
 */
void survey_take_over(struct balancer *balancer)
{
	balancer->survey = balancer->from->survey;
	balancer->from->survey = (struct survey){0};
	balancer->survey.pool = 0;
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		struct balanced_pool *pool = &balancer->pools[i];

		pool->surveyed = pool->stays && pool->from->surveyed;
	}
}

/* Somebody who watches it drain wants to know how many flows are left. */
static bool drains(const struct balancer *balancer, size_t at, uint64_t now_ms)
{
	const struct balanced_pool *pool = &balancer->pools[at];

	for (size_t i = 0; i < pool_member_count(pool->pool); i++) {
		if (pool_member_admin(pool->pool, i) == POOL_DRAIN &&
		    !pool_member_is_cut(pool->pool, i, now_ms) &&
		    (pool_moving_slots(pool->pool) || balancer_flows(balancer, at, i)))
			return true;
	}
	return false;
}

static bool is_wanted(const struct balancer *balancer, uint64_t now_ms)
{
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		if (pool_wants_survey(balancer->pools[i].pool, now_ms) ||
		    drains(balancer, i, now_ms))
			return true;
	}
	return false;
}

struct pinned {
	const struct survey *survey;
	uint32_t first_slot;
	bool follows;
};

static bool is_pinned(const void *arg, uint32_t slot)
{
	const struct pinned *pinned = arg;

	return pinned->follows && is_elsewhere(pinned->survey, pinned->first_slot + slot);
}

static void tell_pool(struct balancer *balancer, struct balanced_pool *pool, uint64_t now_ms)
{
	/* Where each flow is looked up anyway no entry needs its slot to be in transition; and with
	 * lookup: dual entries say nothing of their slot (conf/verify: all such pools are so). */
	struct pinned pinned = {&balancer->survey, pool->first_slot, pool->follows};

	if (balancer->survey.stage == SURVEY_BEGINS) {
		pool->surveyed = pool_wants_survey(pool->pool, now_ms);
		if (pool->surveyed)
			pool_begin_survey(pool->pool, now_ms);
	} else if (pool->surveyed) {
		pool_end_survey(pool->pool, is_pinned, &pinned, balanced_slots(balancer, pool));
	}
}

/* Some of the pools. Returns whether all have been told. */
static bool tell_pools(struct balancer *balancer, uint64_t now_ms)
{
	size_t *next = &balancer->survey.pool;

	for (uint32_t slots = 0; *next < balancer->conf->pool_count && slots < PIECE_SLOTS;) {
		struct balanced_pool *pool = &balancer->pools[(*next)++];

		tell_pool(balancer, pool, now_ms);
		slots += pool_table_size(pool->pool);
	}
	return *next == balancer->conf->pool_count;
}

uint64_t balancer_survey(struct balancer *balancer, uint64_t now_ms)
{
	struct survey *survey = &balancer->survey;
	bool done = true;

	switch (survey->stage) {
	case SURVEY_RESTS:
		if (!is_wanted(balancer, now_ms))
			return UINT64_MAX;
		balancer_look_who_relies(balancer, now_ms);
		begin(survey);
		break;
	case SURVEY_WALKS:
		done = walk(survey, PIECE_BUCKETS, now_ms);
		if (done)
			balancer_look_who_relies(balancer, now_ms);
		break;
	case SURVEY_BEGINS:
	case SURVEY_ENDS: done = tell_pools(balancer, now_ms); break;
	}
	if (!done)
		return PAUSE_MS;
	survey->pool = 0;
	if (survey->stage != SURVEY_ENDS) {
		survey->stage++;
		return PAUSE_MS;
	}
	survey->stage = SURVEY_RESTS;
	return is_wanted(balancer, now_ms) ? REST_MS : UINT64_MAX;
}

uint32_t balancer_flows(const struct balancer *balancer, size_t pool, size_t member)
{
	return balancer->survey.flows[balancer->pools[pool].records[member]];
}
