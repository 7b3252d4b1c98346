/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a pool knows of the time before it: from the words of an earlier daemon all that they say;
 * from the pool whose place it takes in this one more than that, for words say nothing of since
 * when; and where there is neither, from what the configuration was until a moment ago.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dp/abi.h"
#include "hash/overlay.h"
#include "hash/ring.h"
#include "pool/state.h"

/* --- an earlier daemon's words --- */

/* The member by its record, NOBODY if there is none: a table for free(), or NULL. */
static uint16_t *members_by_record(const struct pool *pool)
{
	uint16_t *members = malloc((ABI_INDEX_MASK + 1) * sizeof(*members));

	if (!members)
		return NULL;
	memset(members, 0xff, (ABI_INDEX_MASK + 1) * sizeof(*members));
	for (size_t i = 0; i < pool->members.count; i++)
		members[pool->members.items[i].index] = (uint16_t)i;
	return members;
}

static void adopt_slot(struct pool *pool, uint32_t slot, uint64_t word, const uint16_t *members,
		       uint64_t now_ms)
{
	uint32_t place = pool_place(pool, slot);
	uint16_t base = pool_base(pool, place);
	uint32_t current = abi_slot_current(word);
	uint16_t owner = members[current];
	bool remembers = !(word & ABI_SLOT_TRANSITION) && abi_slot_previous(word);

	if (members[abi_slot_previous(word)] == NOBODY)
		word &= ~abi_slot(0, ABI_INDEX_MASK, 0);
	transition_adopt(&pool->transitions, place, word, now_ms);
	if (owner == NOBODY || base == NOBODY) {
		/* Who had it is gone, or nobody will have it. */
		if (current)
			transition_begin(&pool->transitions, place, owner == NOBODY ? 0 : current,
					 now_ms);
		return;
	}
	pool->owners[place] = owner;
	pool_standing(pool, owner)->slots++;
	pool->doubt |= word & ABI_SLOT_DOUBT && owner == base && !remembers;
}

/* Who served or was named beside who stood in for him was a member; whoever else is new takes slots
 * over as ever, also amid a start. */
static void find_seen(struct pool *pool, const uint64_t *slots, const uint16_t *members)
{
	memset(pool->seen, true, pool->members.count);
	for (uint32_t slot = 0; slot < pool->size; slot++) {
		uint16_t other = members[abi_slot_other(slots[slot])];

		if (other != NOBODY)
			pool->seen[other] = false;
	}
	for (uint32_t slot = 0; slot < pool->size; slot++) {
		uint16_t owner = members[abi_slot_current(slots[slot])];

		if (owner != NOBODY)
			pool->seen[owner] = true;
	}
}

int pool_adopt_slots(struct pool *pool, const uint64_t *slots, uint64_t starting_until_ms,
		     uint64_t now_ms)
{
	uint16_t *members = members_by_record(pool);

	if (!members)
		return -ENOMEM;
	assert(!pool->begun);
	find_seen(pool, slots, members);
	for (uint32_t slot = 0; slot < pool->size; slot++)
		adopt_slot(pool, slot, slots[slot], members, now_ms);
	free(members);
	pool->begun = pool->adopted = true;
	pool->starting_until_ms = starting_until_ms;
	pool->doubt |= now_ms < starting_until_ms;
	pool->doubt &= pool->doubt_ms > 0;
	pool->doubt_until_ms =
		(now_ms < starting_until_ms ? starting_until_ms : now_ms) + pool->doubt_ms;
	return 0;
}

/* --- an earlier configuration's pool --- */

static void inherit_members(struct pool *pool, const struct pool *from, const uint16_t *members,
			    uint64_t now_ms)
{
	/* Nobody has stood in for one that is new: flows of its slots are their owners'. */
	for (size_t i = 0; i < pool->members.count; i++)
		pool->seen[i] = true;
	for (size_t i = 0; i < from->members.count; i++) {
		uint16_t member = members[from->members.items[i].index];

		if (member == NOBODY)
			continue;
		members_inherit(&pool->members, member, &from->members.items[i]);
		pool->cut[member] = from->cut[i];
		pool->seen[member] = from->seen[i];
	}
	members_update(&pool->members, now_ms);
}

static uint16_t heir_of(const struct pool *from, uint16_t member, const uint16_t *members)
{
	return member == NOBODY ? NOBODY : members[from->members.items[member].index];
}

/*
 * Amid a start the pool's words do not say whose flows come from other nodes: those of the owner by
 * the table before, who is to be named beside the one by this table.
 */
static void tell_base(struct pool *pool, uint32_t place, uint16_t base, uint64_t now_ms)
{
	const struct transition *known = &pool->transitions.slots[place];

	if (base != NOBODY && base != pool_base(pool, place) && (!known->previous || known->weak))
		transition_tell(&pool->transitions, place, pool->members.items[base].index, now_ms);
}

static void inherit_slot(struct pool *pool, uint32_t slot, const struct pool *from,
			 const uint16_t *members, uint64_t now_ms)
{
	uint32_t place = pool_place(pool, slot), before = pool_place(from, slot);
	const struct transition *transition = &from->transitions.slots[before];
	uint16_t was = from->owners[before], owner = heir_of(from, was, members);

	transition_inherit(&pool->transitions, place, transition,
			   members[transition->previous] != NOBODY);
	if (pool->doubt_ms && now_ms < from->starting_until_ms)
		tell_base(pool, place, heir_of(from, pool_base(from, before), members), now_ms);
	if (owner == NOBODY || pool_base(pool, place) == NOBODY) {
		if (was != NOBODY)
			transition_begin(&pool->transitions, place,
					 owner == NOBODY ? 0 : pool->members.items[owner].index,
					 now_ms);
		return;
	}
	pool->owners[place] = owner;
	pool_standing(pool, owner)->slots++;
}

int pool_inherit(struct pool *pool, const struct pool *from, bool same_table, uint64_t now_ms)
{
	uint16_t *members = members_by_record(pool);

	if (!members)
		return -ENOMEM;
	assert(!pool->begun);
	inherit_members(pool, from, members, now_ms);
	pool->starting_until_ms = from->starting_until_ms;
	if (same_table && from->begun) {
		assert(pool->size == from->size && pool->seed == from->seed);
		for (uint32_t slot = 0; slot < pool->size; slot++)
			inherit_slot(pool, slot, from, members, now_ms);
		transitions_inherit(&pool->transitions, &from->transitions);
		pool->begun = pool->inherited = true;
		pool->adopted = from->adopted;
		pool->doubt = from->doubt && pool->doubt_ms;
		pool->doubt_until_ms = from->doubt_until_ms;
	}
	free(members);
	return 0;
}

/* --- another base table --- */

static void note_owner(void *arg, uint32_t slot, uint32_t owner, uint32_t other)
{
	uint32_t *owners = arg;

	(void)other;
	owners[slot] = owner;
}

/* Who served each slot, into `ret`; `base` is room. Who is gone by now drained before, if it went
 * in order: others served in its place. */
static int find_owners(const struct pool_before *before, const uint8_t *shares, uint32_t *base,
		       uint32_t *ret)
{
	struct overlay *overlay;
	struct ring *ring;
	int error;

	if (before->tokens) {
		error = ring_new(before->members, before->member_count, before->seed,
				 before->tokens, before->table_size, &ring);
		if (error)
			return error;
		ring_apply(ring, NULL, shares, note_owner, ret);
		ring_free(ring);
		return 0;
	}
	error = maglev_build(before->members, before->member_count, before->seed,
			     before->table_size, base);
	if (!error)
		error = overlay_new(base, before->table_size, before->member_count, &overlay);
	if (error)
		return error;
	overlay_apply(overlay, NULL, shares, note_owner, ret);
	overlay_free(overlay);
	return 0;
}

static void begin_from(struct pool *pool, const struct pool_before *before, const uint32_t *owners,
		       uint64_t now_ms)
{
	for (uint32_t slot = 0; slot < pool->size; slot++) {
		size_t owner = owners[slot] == HASH_NOBODY ? SIZE_MAX : before->now[owners[slot]];
		uint32_t place = pool_place(pool, slot);

		if (owner < pool->members.count && owner != pool_base(pool, place))
			transition_tell(&pool->transitions, place, pool->members.items[owner].index,
					now_ms);
	}
}

int pool_begin_after(struct pool *pool, const struct pool_before *before, uint64_t now_ms)
{
	uint32_t *owners;
	uint8_t *shares;
	int error = -ENOMEM;

	assert(!pool->begun);
	if (before->seed != pool->seed || before->table_size != pool->size)
		return -EINVAL;
	if (!pool->doubt_ms)
		return 0;
	owners = calloc(2 * (size_t)pool->size, sizeof(*owners));
	shares = calloc(before->member_count + 1, sizeof(*shares));
	if (owners && shares) {
		for (uint32_t slot = 0; slot < pool->size; slot++)
			owners[slot] = HASH_NOBODY;
		for (size_t i = 0; i < before->member_count; i++)
			shares[i] = before->now[i] < pool->members.count ? 100 : 0;
		error = find_owners(before, shares, owners + pool->size, owners);
	}
	if (!error)
		begin_from(pool, before, owners, now_ms);
	free(owners);
	free(shares);
	return error;
}
