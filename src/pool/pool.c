/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool turns what is known of its members (pool/member.c) into slot words.
 *
 * Events only change these states; the table follows when somebody asks for the words, so any
 * number of events cost one update. An update visits only the slots that it may move.
 */
#include "pool/pool.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "dp/abi.h"
#include "hash/maglev.h"
#include "hash/overlay.h"
#include "hash/ring.h"
#include "pool/state.h"
#include "pool/words.h"

static struct member *member_of(const struct pool *pool, size_t member)
{
	assert(member < pool->members.count);
	return &pool->members.items[member];
}

static bool spec_is_valid(const struct pool_spec *spec)
{
	if (spec->tokens ? !spec->table_size || spec->table_size > RING_SIZE_MAX
			 : !maglev_size_allowed(spec->table_size))
		return false;
	if (spec->member_count >= NOBODY)
		return false;
	for (size_t i = 0; i < spec->member_count; i++) {
		if (spec->members[i].index == 0 || spec->members[i].index > ABI_INDEX_MASK)
			return false;
	}
	return true;
}

static struct pool *pool_alloc(const struct pool_spec *spec)
{
	struct arena *arena = arena_new();
	struct pool *pool = arena_alloc(arena, sizeof(*pool));

	pool->arena = arena;
	pool->name = arena_strdup(arena, spec->name);
	pool->size = spec->table_size;
	pool->owners = arena_array(arena, pool->size, sizeof(*pool->owners));
	for (uint32_t place = 0; place < pool->size; place++)
		pool->owners[place] = NOBODY;
	transitions_init(&pool->transitions, arena, pool->size);
	pool->transitions.idle_ms = spec->idle_ms;
	pool->transitions.datagram_ms = spec->datagram_ms;
	pool->transitions.weakens = spec->doubt_ms > 0;
	pool->doubt_ms = spec->doubt_ms;
	pool->seed = spec->seed;
	pool->cut = arena_array(arena, spec->member_count, sizeof(bool));
	pool->seen = arena_array(arena, spec->member_count, sizeof(bool));
	pool->was = arena_array(arena, spec->member_count, sizeof(uint8_t));
	pool->now = arena_array(arena, spec->member_count, sizeof(uint8_t));
	pool->members.items = arena_array(arena, spec->member_count, sizeof(struct member));
	members_init(&pool->members, spec);
	pool->standing = arena_array(arena, spec->member_count + 1, sizeof(*pool->standing));
	pool->standing[0] = (struct standing){.gives = true, .takes = true};
	for (size_t i = 0; i < spec->member_count; i++)
		pool->standing[i + 1].record = spec->members[i].index;
	for (size_t i = 0; i < spec->member_count; i++)
		pool->members.items[i].name = arena_strdup(arena, spec->members[i].name);
	return pool;
}

static int build_maglev(struct pool *pool, const struct maglev_member *members,
			const struct pool_spec *spec)
{
	uint32_t *base = malloc(pool->size * sizeof(*base));
	int error = base ? maglev_build(members, spec->member_count, spec->seed, pool->size, base)
			 : -ENOMEM;

	if (!error)
		error = overlay_new(base, pool->size, pool->members.count, &pool->overlay);
	free(base);
	return error;
}

static int build_base(struct pool *pool, const struct pool_spec *spec)
{
	struct maglev_member *members =
		arena_array(pool->arena, spec->member_count, sizeof(*members));

	for (size_t i = 0; i < spec->member_count; i++) {
		members[i].identity = spec->members[i].identity;
		members[i].weight = spec->members[i].weight;
	}
	if (!spec->tokens)
		return build_maglev(pool, members, spec);
	return ring_new(members, spec->member_count, spec->seed, spec->tokens, pool->size,
			&pool->ring);
}

int pool_new(const struct pool_spec *spec, struct pool **ret)
{
	struct pool *pool;
	int error;

	if (!spec_is_valid(spec))
		return -EINVAL;
	pool = pool_alloc(spec);
	error = build_base(pool, spec);
	if (error)
		pool_free(pool);
	else
		*ret = pool;
	return error;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	overlay_free(pool->overlay);
	ring_free(pool->ring);
	arena_free(pool->arena);
}

const char *pool_name(const struct pool *pool)
{
	return pool->name;
}

uint32_t pool_table_size(const struct pool *pool)
{
	return pool->size;
}

size_t pool_member_count(const struct pool *pool)
{
	return pool->members.count;
}

const char *pool_member_name(const struct pool *pool, size_t member)
{
	return member_of(pool, member)->name;
}

void pool_set_index(struct pool *pool, size_t member, uint32_t index)
{
	assert(index && index <= ABI_INDEX_MASK);
	member_of(pool, member)->index = index;
	pool->standing[member + 1].record = index;
}

enum pool_health pool_member_health(const struct pool *pool, size_t member)
{
	return member_of(pool, member)->health;
}

enum pool_admin pool_member_admin(const struct pool *pool, size_t member)
{
	return member_of(pool, member)->admin;
}

uint32_t pool_member_slots(const struct pool *pool, size_t member)
{
	assert(member < pool->members.count);
	return pool->standing[member + 1].slots;
}

unsigned pool_member_share(const struct pool *pool, size_t member)
{
	return member_of(pool, member)->share;
}

bool pool_member_usable(const struct pool *pool, size_t member)
{
	return member_of(pool, member)->share > 0;
}

void pool_set_health(struct pool *pool, size_t member, enum pool_health health, uint64_t now_ms)
{
	assert(member < pool->members.count);
	members_set_health(&pool->members, member, health, now_ms);
}

void pool_set_admin(struct pool *pool, size_t member, enum pool_admin admin, uint64_t now_ms)
{
	assert(member < pool->members.count);
	members_set_admin(&pool->members, member, admin, now_ms);
}

void pool_set_share(struct pool *pool, size_t member, unsigned percent, uint64_t now_ms)
{
	assert(member < pool->members.count);
	members_set_share(&pool->members, member, percent, now_ms);
}

void pool_advance(struct pool *pool, uint64_t now_ms)
{
	members_update(&pool->members, now_ms);
}

uint32_t pool_member_flags(const struct pool *pool, size_t member, uint64_t now_ms)
{
	assert(member < pool->members.count);
	return members_flags(&pool->members, member, now_ms);
}

bool pool_member_is_cut(const struct pool *pool, size_t member, uint64_t now_ms)
{
	assert(member < pool->members.count);
	return members_is_cut(&pool->members, member, now_ms);
}

uint64_t pool_next_deadline_ms(const struct pool *pool, uint64_t now_ms)
{
	uint64_t next = members_next_deadline_ms(&pool->members, now_ms);
	uint64_t slots = transitions_deadline_ms(&pool->transitions, now_ms);

	if (slots < next)
		next = slots;
	if (pool->doubt && pool->doubt_until_ms < next)
		next = pool->doubt_until_ms;
	return next;
}

bool pool_member_returned(const struct pool *pool, size_t member)
{
	const struct member *it = member_of(pool, member);

	return it->lowered && it->share > 0;
}

void pool_member_was_down(struct pool *pool, size_t member)
{
	member_of(pool, member)->lowered = true;
}

/* --- the words' state --- */

/*
 * Flows of a member that is gone for good are not waited for. A member that serves again has
 * flows to come, and entries from before that count no more (its record's generation).
 */
static void forget_cut(struct writing *writing)
{
	struct pool *pool = writing->pool;

	for (size_t i = 0; i < pool->members.count; i++) {
		bool is_cut = members_is_cut(&pool->members, i, writing->now_ms);

		if (is_cut && !pool->cut[i] && pool->transitions.count > 0)
			transitions_forget(&pool->transitions, pool->members.items[i].index,
					   words_store_told, writing);
		pool->cut[i] = is_cut;
	}
}

/* Has it not all of its slots, and may flows of its own come? One that this node has never known to
 * be well has shown no sign of that: a first check that fails says no more than none. */
static bool has_parted(const struct pool *pool, size_t member)
{
	const struct member *it = &pool->members.items[member];

	if (it->share == MEMBER_WHOLE || members_is_awaited(&pool->members, member))
		return false;
	return it->health != POOL_UNHEALTHY || pool->seen[member] ||
	       !members_is_called(&pool->members, member);
}

/*
 * A table of before says whose flows may come beside those of the slot's owner by the present one.
 * Where that one has not all of its slots, because it drains, fails, or has a part of its weight,
 * its own flows and those of others in its place are as many owners as a packet can name. Whom the
 * table of before named is not told again: so a first check that fails, which on a node that has
 * just come up it may do for the node's own reasons, forgets nobody.
 */
static void drop_weak(struct writing *writing)
{
	struct pool *pool = writing->pool;
	struct transitions *all = &pool->transitions;

	for (uint32_t at = 0; (at = transitions_next(all, at)) < pool->size; at++) {
		uint16_t base = pool_base(pool, at);

		if (base != NOBODY && has_parted(pool, base) && transition_drop_weak(all, at))
			words_store(writing, at);
	}
}

/* May flows of the slot have begun on another than its owner, between two settlings? Where nobody
 * serves, on its base owner. */
static bool is_elsewhere(const struct pool *pool, uint32_t place)
{
	uint16_t owner = pool->owners[place], base;

	if (owner != NOBODY)
		return pool_member_returned(pool, owner);
	base = pool_base(pool, place);
	return base != NOBODY && pool->members.items[base].lowered;
}

/*
 * Members that went and came back between two settlings, or came and went where nobody serves:
 * flows that began meanwhile went to the other owners of their slots, and have entries that must be
 * looked at.
 */
static void look_at_returned(struct writing *writing)
{
	struct pool *pool = writing->pool;
	bool any = false, nobody = pool->begun && pool->owners[0] == NOBODY;

	for (size_t i = 0; i < pool->members.count; i++)
		any |= pool_member_returned(pool, i) || (nobody && pool->members.items[i].lowered);
	for (uint32_t place = 0; any && place < pool->size; place++) {
		if (!is_elsewhere(pool, place))
			continue;
		transition_begin(&pool->transitions, place, 0, writing->now_ms);
		words_store(writing, place);
	}
	for (size_t i = 0; i < pool->members.count; i++)
		pool->members.items[i].lowered = false;
}

static void begin(struct writing *writing)
{
	struct pool *pool = writing->pool;

	pool->starting_until_ms = writing->now_ms + POOL_STARTING_MS;
	/* Whoever stood in till then has no transition to speak for its flows. */
	pool->doubt_until_ms = pool->starting_until_ms + pool->doubt_ms;
	pool->doubt = pool->doubt_ms > 0;
}

static void pass_doubt(struct writing *writing)
{
	struct pool *pool = writing->pool;

	if (pool->doubt && writing->now_ms >= pool->doubt_until_ms) {
		pool->doubt = false;
		for (uint32_t place = 0; place < pool->size; place++)
			words_store(writing, place);
	}
}

/* Before there are shares to compare, anybody may give and take. */
static void stand(struct pool *pool)
{
	for (size_t i = 0; i < pool->members.count; i++) {
		struct standing *it = &pool->standing[i + 1];
		uint8_t now = pool->members.items[i].share;

		pool->now[i] = now;
		it->flows = pool->cut[i] ? 0 : it->record;
		it->gives = !pool->settled || now < pool->was[i];
		it->takes = !pool->settled || now > pool->was[i];
	}
}

/* May slots of a member that is new wait for it? */
static bool may_hold(const struct pool *pool)
{
	bool any = false;

	for (size_t i = 0; i < pool->members.count; i++)
		any |= members_is_awaited(&pool->members, i);
	return any && (pool->adopted || pool->inherited);
}

static void settle(struct writing *writing)
{
	struct pool *pool = writing->pool;
	/* A slot that is held may be let go by what changes no other. */
	const uint8_t *was = pool->settled && !pool->held ? pool->was : NULL;

	pool->held = 0;
	members_update(&pool->members, writing->now_ms);
	if (!pool->begun)
		begin(writing);
	writing->starts = writing->now_ms < pool->starting_until_ms;
	forget_cut(writing);
	if (pool->doubt && pool->transitions.count > 0)
		drop_weak(writing);
	stand(pool);
	writing->plain = !writing->starts && !may_hold(pool);
	if (pool->ring)
		ring_apply(pool->ring, was, pool->now, words_serve_one, writing);
	else
		overlay_change(pool->overlay, was, pool->now, words_serve, writing);
	memcpy(pool->was, pool->now, pool->members.count);
	for (size_t i = 0; i < pool->members.count; i++)
		pool->seen[i] |= pool->now[i] > 0;
	pool->settled = true;
	look_at_returned(writing);
	pool->begun = true;
	transitions_pass_time(&pool->transitions, writing->now_ms, words_store_told, writing);
	pass_doubt(writing);
}

/* Will each slot that somebody can have be told of, and once? Else words are stored at the end. */
static bool begins_afresh(struct pool *pool, uint64_t now_ms)
{
	members_update(&pool->members, now_ms);
	for (size_t i = 0; i < pool->members.count; i++) {
		if (pool->members.items[i].lowered)
			return false;
	}
	return !pool->begun && !pool->transitions.count;
}

uint32_t pool_write_slots(struct pool *pool, uint64_t *slots, uint64_t now_ms)
{
	bool afresh = begins_afresh(pool, now_ms);
	struct writing writing = {
		.pool = pool,
		.slots = afresh ? slots : NULL,
		.now_ms = now_ms,
	};

	settle(&writing);
	writing.slots = slots;
	if (afresh)
		words_store_nobodys(&writing);
	else if (slots)
		words_store_all(&writing);
	return writing.stored;
}

uint32_t pool_update_slots(struct pool *pool, uint64_t *slots, uint64_t now_ms)
{
	struct writing writing = {.pool = pool, .slots = slots, .now_ms = now_ms};

	settle(&writing);
	return writing.stored;
}

void pool_hold_slots(struct pool *pool, uint64_t now_ms)
{
	pool->begun = true;
	transitions_hold(&pool->transitions, now_ms);
}

void pool_wait_longer(struct pool *pool, uint64_t now_ms)
{
	transitions_wait(&pool->transitions, now_ms);
}

/* --- surveys --- */

bool pool_wants_survey(const struct pool *pool, uint64_t now_ms)
{
	return transitions_are_ripe(&pool->transitions, now_ms);
}

void pool_begin_survey(struct pool *pool, uint64_t now_ms)
{
	transitions_begin_survey(&pool->transitions, now_ms);
}

/* Who asks, asks by slot. */
struct asked {
	const struct pool *pool;
	pool_pinned *pinned;
	const void *arg;
};

static bool is_pinned(const void *arg, uint32_t place)
{
	const struct asked *asked = arg;

	return asked->pinned(asked->arg, pool_slot(asked->pool, place));
}

uint32_t pool_end_survey(struct pool *pool, pool_pinned *pinned, const void *arg, uint64_t *slots)
{
	struct writing writing = {.pool = pool, .slots = slots};
	struct asked asked = {pool, pinned, arg};

	transitions_end_survey(&pool->transitions, is_pinned, &asked, words_store_told, &writing);
	return writing.stored;
}
