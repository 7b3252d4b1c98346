/* SPDX-License-Identifier: BSD-2-Clause */
#include "pool/words.h"

#include "dp/abi.h"

static uint32_t index_of(const struct pool *pool, uint16_t member)
{
	return pool->records[(uint16_t)(member + 1)];
}

/*
 * Who stands in for a slot's base owner cannot know for how long: flows from before may live on at
 * the base owner, which drains, fails its checks or has a part of its slots only, although none of
 * this node's do. They may come here from a node that is gone.
 */
static bool is_in_doubt(const struct pool *pool, uint32_t slot)
{
	return pool->doubt ||
	       (pool->doubt_ms && pool_narrow(pool->base[slot]) != pool->served[slot].owner);
}

static uint64_t plain_word(const struct pool *pool, uint32_t slot)
{
	const struct serving *served = &pool->served[slot];

	return abi_slot(index_of(pool, served->owner), 0, index_of(pool, served->other));
}

static uint64_t word_of(const struct pool *pool, uint32_t slot)
{
	return plain_word(pool, slot) | transition_word(&pool->transitions, slot) |
	       (is_in_doubt(pool, slot) ? ABI_SLOT_DOUBT : 0);
}

static void store(struct writing *writing, uint32_t slot, uint64_t word)
{
	if (!writing->slots || __atomic_load_n(&writing->slots[slot], __ATOMIC_RELAXED) == word)
		return;
	__atomic_store_n(&writing->slots[slot], word, __ATOMIC_RELEASE);
	writing->stored++;
}

void words_store(struct writing *writing, uint32_t slot)
{
	store(writing, slot, word_of(writing->pool, slot));
}

void words_store_told(void *arg, uint32_t slot)
{
	words_store(arg, slot);
}

void words_store_all(struct writing *writing)
{
	const struct pool *pool = writing->pool;
	bool plain = !pool->transitions.count && !pool->doubt_ms;

	for (uint32_t slot = 0; plain && slot < pool->size; slot++)
		store(writing, slot, plain_word(pool, slot));
	for (uint32_t slot = 0; !plain && slot < pool->size; slot++)
		words_store(writing, slot);
}

/* May a flow have begun on it because the slot's word names it as the other owner? */
static bool may_have_begun(const struct pool *pool, uint16_t member)
{
	const struct member *it = member == NOBODY ? NULL : &pool->members.items[member];

	return it && (it->share > 0 || it->lowered);
}

/*
 * While a pool that began from nothing comes to know its members, one after the other, who serves
 * in the place of one that is still awaited only stands in. Flows that are under way began on other
 * nodes, which know the members all: they are the awaited one's, and what begins here meanwhile is
 * recorded. When that one comes there is nobody else whose flows have no entries.
 */
static bool stands_in(const struct writing *writing, uint32_t slot, uint16_t owner)
{
	const struct pool *pool = writing->pool;
	uint32_t base = pool->base[slot];

	return writing->starts && owner != NOBODY && owner != base &&
	       members_is_awaited(&pool->members, base);
}

/*
 * The slot goes from `before` to `owner`. Amid a start, one who is heard of for the first time has
 * it from who only stood in; and after a restart amid it what is said of the time before is later
 * than the words.
 */
static void begin_transition(struct writing *writing, uint32_t slot, uint16_t before,
			     uint16_t owner)
{
	struct pool *pool = writing->pool;
	struct transitions *transitions = &pool->transitions;
	uint32_t from = pool->cut[before] ? 0 : index_of(pool, before);

	if (writing->starts && owner != NOBODY && !pool->seen[owner])
		transition_come(transitions, slot, index_of(pool, owner), writing->now_ms);
	else if (writing->starts && pool->adopted)
		transition_await(transitions, slot, from, writing->now_ms);
	else
		transition_begin(transitions, slot, from, writing->now_ms);
}

/* Who had the slot and who gets it, by their shares of before and now. */
static void count_move(struct pool *pool, uint16_t before, uint16_t owner)
{
	pool->moves.slots += before != NOBODY;
	if (pool->settled && before != NOBODY && owner != NOBODY)
		pool->moves.collateral += pool->now[before] >= pool->was[before] &&
					  pool->now[owner] <= pool->was[owner];
}

static void change_owner(struct writing *writing, uint32_t slot, uint16_t owner)
{
	struct pool *pool = writing->pool;
	struct transitions *transitions = &pool->transitions;
	struct serving *served = &pool->served[slot];
	uint16_t before = served->owner;

	pool->slots_of[(uint16_t)(owner + 1)]++;
	pool->slots_of[(uint16_t)(before + 1)]--;
	served->owner = owner;
	count_move(pool, before, owner);
	if (stands_in(writing, slot, owner))
		transition_await(transitions, slot, index_of(pool, pool_narrow(pool->base[slot])),
				 writing->now_ms);
	else if (before != NOBODY)
		begin_transition(writing, slot, before, owner);
	else if (served->other != owner && may_have_begun(pool, served->other))
		transition_begin(transitions, slot, 0, writing->now_ms);
}

/*
 * A slot whose base owner has just been added stays where it is until that one's first check has a
 * result: whoever the overlay names in its place would be a third owner, for seconds. In a fresh
 * table there is nobody to stay with.
 */
static bool holds(const struct pool *pool, uint32_t slot)
{
	uint16_t owner = pool->served[slot].owner;

	return (pool->adopted || pool->inherited) && owner != NOBODY &&
	       pool->members.items[owner].share > 0 &&
	       members_is_awaited(&pool->members, pool->base[slot]);
}

static void serve_slot(struct writing *writing, const struct overlay_change *change)
{
	struct pool *pool = writing->pool;
	struct serving *served = &pool->served[change->slot];
	struct serving wanted = {pool_narrow(change->owner), pool_narrow(change->other)};

	if (served->owner != wanted.owner && holds(pool, change->slot)) {
		wanted = (struct serving){served->owner, pool_narrow(change->base)};
		pool->held++;
	}
	if (served->owner == wanted.owner && served->other == wanted.other)
		return;
	if (served->owner != wanted.owner)
		change_owner(writing, change->slot, wanted.owner);
	served->other = wanted.other;
	words_store(writing, change->slot);
}

/*
 * Slots lie far apart, and memory answers many questions in the time of one if they are asked at
 * once. So the lines that a batch needs are read before, in loops that do nothing else: serving is
 * too long for a processor to see the next slot's beyond it. (Prefetching them did not help.)
 */
static void touch(const struct writing *writing, const struct overlay_change *changes, size_t count)
{
	const struct pool *pool = writing->pool;
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += pool->served[changes[i].slot].owner;
	for (size_t i = 0; writing->slots && i < count; i++)
		sum += writing->slots[changes[i].slot];
	for (size_t i = 0; i < count; i++) {
		uint32_t slot = changes[i].slot;

		if (pool->served[slot].owner != pool_narrow(changes[i].owner))
			sum += pool->transitions.slots[slot].since_ms;
	}
	__asm__ volatile("" ::"r"(sum));
}

void words_serve(void *arg, const struct overlay_change *changes, size_t count)
{
	struct writing *writing = arg;

	touch(writing, changes, count);
	for (size_t i = 0; i < count; i++)
		serve_slot(writing, &changes[i]);
}

void words_serve_one(void *arg, uint32_t slot, uint32_t owner, uint32_t other)
{
	struct writing *writing = arg;
	struct overlay_change change = {slot, writing->pool->base[slot], owner, other};

	serve_slot(writing, &change);
}
