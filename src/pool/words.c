/* SPDX-License-Identifier: BSD-2-Clause */
#include "pool/words.h"

#include "dp/abi.h"

static inline uint32_t index_of(const struct pool *pool, uint16_t member)
{
	return pool_standing(pool, member)->record;
}

/*
 * A slot's word but for its other owner. Who stands in for a slot's base owner cannot know for how
 * long: flows from before may live on at the base owner, which drains, fails its checks or has a
 * part of its slots only, although none of this node's do. They may come here from a node that is
 * gone: doubt.
 */
static uint64_t word_beside(const struct pool *pool, uint16_t base, uint16_t owner)
{
	bool doubt = pool->doubt || (pool->doubt_ms && base != owner);

	return index_of(pool, owner) | (doubt ? ABI_SLOT_DOUBT : 0);
}

static uint64_t word_of(const struct pool *pool, uint32_t place, uint16_t base, uint16_t owner)
{
	return word_beside(pool, base, owner) | transition_word(&pool->transitions, place);
}

static uint64_t other_in_word(const struct pool *pool, uint16_t other)
{
	return abi_slot(0, 0, index_of(pool, other));
}

/* Returns whether the word was another one. */
static inline bool put(uint64_t *slots, uint32_t slot, uint64_t word)
{
	if (__atomic_load_n(&slots[slot], __ATOMIC_RELAXED) == word)
		return false;
	__atomic_store_n(&slots[slot], word, __ATOMIC_RELEASE);
	return true;
}

static inline void store(struct writing *writing, uint32_t slot, uint64_t word)
{
	if (writing->slots)
		writing->stored += put(writing->slots, slot, word);
}

/*
 * Words that change lie far apart, and memory answers many questions in the time of one if they are
 * asked at once, so words are asked for long before their turn. But where no cache knows a word's
 * page the processor has to find it first, and holds up what comes after the question until it has.
 * Reads with nothing between them find many pages in the time of one. So an event of MANY words,
 * which will come to most pages, begins with a read in each.
 */
enum { AHEAD = 96, MANY = 64, PAGE_WORDS = 4096 / sizeof(uint64_t) };

static void find_pages(struct writing *writing, size_t count)
{
	uint64_t sum = 0;

	if (writing->found || count < MANY)
		return;
	for (uint32_t i = 0; i < writing->pool->size; i += PAGE_WORDS)
		sum += __atomic_load_n(&writing->slots[i], __ATOMIC_RELAXED);
	__asm__ volatile("" ::"r"(sum));
	writing->found = true;
}

void words_store_told(void *arg, const uint32_t *places, size_t count)
{
	struct writing *writing = arg;
	const struct pool *pool = writing->pool;
	uint64_t others = abi_slot(0, 0, ABI_INDEX_MASK);
	uint32_t slots[TRANSITION_BATCH];

	if (!writing->slots)
		return;
	find_pages(writing, count);
	for (size_t i = 0; i < count; i++)
		slots[i] = pool_slot(pool, places[i]);
	for (size_t i = 0; i < count && i < AHEAD; i++)
		__builtin_prefetch(&writing->slots[slots[i]]);
	for (size_t i = 0; i < count; i++) {
		uint16_t base = pool_base(pool, places[i]);
		uint64_t word = word_of(pool, places[i], base, pool->owners[places[i]]);

		if (i + AHEAD < count)
			__builtin_prefetch(&writing->slots[slots[i + AHEAD]]);
		store(writing, slots[i], word | (writing->slots[slots[i]] & others));
	}
}

void words_store(struct writing *writing, uint32_t place)
{
	words_store_told(writing, &place, 1);
}

/* By who serves the slot now; if that is not who should, it is held for its base owner. */
static void store_served(struct writing *writing, const struct overlay_change *change)
{
	const struct pool *pool = writing->pool;
	uint16_t owner = pool->owners[change->place], base = change->base;
	uint16_t other = owner == change->owner ? change->other : base;

	store(writing, change->slot,
	      word_of(pool, change->place, base, owner) | other_in_word(pool, other));
}

static void store_each(void *arg, const struct overlay_change *changes, size_t count,
		       const struct overlay_change *next)
{
	(void)next;
	for (size_t i = 0; i < count; i++)
		store_served(arg, &changes[i]);
}

static struct overlay_change change_in_ring(const struct writing *writing, uint32_t slot,
					    uint32_t owner, uint32_t other)
{
	return (struct overlay_change){
		.place = slot,
		.slot = slot,
		.base = pool_base(writing->pool, slot),
		.owner = pool_narrow(owner),
		.other = pool_narrow(other),
	};
}

static void store_one(void *arg, uint32_t slot, uint32_t owner, uint32_t other)
{
	struct overlay_change change = change_in_ring(arg, slot, owner, other);

	store_served(arg, &change);
}

void words_store_nobodys(struct writing *writing)
{
	const struct pool *pool = writing->pool;

	for (uint32_t i = pool->size; i-- > 0 && pool_base(pool, i) == NOBODY;)
		store(writing, pool_slot(pool, i), word_of(pool, i, NOBODY, NOBODY));
}

void words_store_all(struct writing *writing)
{
	const struct pool *pool = writing->pool;

	if (pool->ring) {
		ring_apply(pool->ring, NULL, pool->was, store_one, writing);
		return;
	}
	overlay_change(pool->overlay, NULL, pool->was, store_each, writing);
	words_store_nobodys(writing);
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
static bool stands_in(const struct writing *writing, uint16_t base, uint16_t owner)
{
	return writing->starts && owner != NOBODY && owner != base &&
	       members_is_awaited(&writing->pool->members, base);
}

/*
 * The slot goes from `before` to `owner`. One who is heard of for the first time has it from who
 * only stood in; and after a restart amid the start what is said of the time before is later than
 * the words.
 */
static void begin_amid_start(struct writing *writing, uint32_t place, uint16_t before,
			     uint16_t owner)
{
	struct pool *pool = writing->pool;
	struct transitions *transitions = &pool->transitions;
	uint32_t from = pool_standing(pool, before)->flows;

	if (owner != NOBODY && !pool->seen[owner])
		transition_come(transitions, place, index_of(pool, owner), writing->now_ms);
	else if (pool->adopted)
		transition_await(transitions, place, from, writing->now_ms);
	else
		transition_begin(transitions, place, from, writing->now_ms);
}

/* Of a move whose giver did not lose by its share and whose taker did not gain, nobody's share is
 * the cause. */
static void count_move(struct pool *pool, uint16_t before, uint16_t owner)
{
	struct standing *gives = pool_standing(pool, before), *takes = pool_standing(pool, owner);

	takes->slots++;
	gives->slots--;
	pool->moves.slots += before != NOBODY;
	pool->moves.collateral += !gives->gives & !takes->takes;
}

/* A transition that is no more than that begins in change_owner. */
static void begin_specially(struct writing *writing, uint32_t place, uint16_t base, uint16_t before)
{
	struct pool *pool = writing->pool;
	struct transitions *transitions = &pool->transitions;
	uint16_t owner = pool->owners[place];

	if (stands_in(writing, base, owner))
		transition_await(transitions, place, index_of(pool, base), writing->now_ms);
	else if (before != NOBODY)
		begin_amid_start(writing, place, before, owner);
	/* While nobody serves, words name the base owner. */
	else if (pool->settled && base != owner && may_have_begun(pool, base))
		transition_begin(transitions, place, 0, writing->now_ms);
}

/* Returns what the slot's word says of its transition after that. */
static inline uint64_t change_owner(struct writing *writing, uint32_t place, uint16_t base,
				    uint16_t before, uint16_t owner)
{
	struct pool *pool = writing->pool;

	pool->owners[place] = owner;
	if (!writing->starts && before != NOBODY)
		return transition_begin(&pool->transitions, place,
					pool_standing(pool, before)->flows, writing->now_ms);
	begin_specially(writing, place, base, before);
	return transition_word(&pool->transitions, place);
}

/*
 * A slot whose base owner has just been added stays where it is until that one's first check has a
 * result: whoever the overlay names in its place would be a third owner, for seconds. In a fresh
 * table there is nobody to stay with.
 */
static bool holds(const struct pool *pool, uint16_t base, uint16_t owner)
{
	return (pool->adopted || pool->inherited) && owner != NOBODY &&
	       pool->members.items[owner].share > 0 && members_is_awaited(&pool->members, base);
}

static void serve_place(struct writing *writing, const struct overlay_change *change)
{
	struct pool *pool = writing->pool;
	uint16_t before = pool->owners[change->place], owner = change->owner;
	uint16_t base = change->base, other = change->other;
	uint64_t transition;

	if (before != owner && holds(pool, base, before)) {
		owner = before;
		other = base;
		pool->held++;
	}
	if (before != owner) {
		count_move(pool, before, owner);
		transition = change_owner(writing, change->place, base, before, owner);
	} else {
		transition = transition_word(&pool->transitions, change->place);
	}
	store(writing, change->slot,
	      word_beside(pool, base, owner) | transition | other_in_word(pool, other));
}

static size_t serve_first(struct writing *writing, const struct overlay_change *change,
			  const struct overlay_change *next)
{
	if (writing->slots)
		__builtin_prefetch(&writing->slots[next->slot]);
	serve_place(writing, change);
	return 1;
}

/*
 * Where a change of owner asks for nothing but a transition, which is nearly always so, changes in
 * a row are served with all in registers that they have alike. All return how many they served.
 */

/* Those whose base owners go on to serve: nothing is to be known of them but the word. */
static size_t serve_kept(struct writing *writing, const struct overlay_change *changes,
			 size_t count, const struct overlay_change *next)
{
	const struct pool *pool = writing->pool;
	const struct transitions *transitions = &pool->transitions;
	uint64_t *slots = writing->slots, doubt = pool->doubt ? ABI_SLOT_DOUBT : 0;
	uint32_t stored = 0;
	size_t i;

	for (i = 0; i < count && changes[i].kept; i++) {
		const struct overlay_change *it = &changes[i];

		__builtin_prefetch(&slots[next[i].slot]);
		stored += put(slots, it->slot,
			      doubt | index_of(pool, it->base) | other_in_word(pool, it->other) |
				      transition_word(transitions, it->place));
	}
	writing->stored += stored;
	return i;
}

static size_t serve_others(struct writing *writing, const struct overlay_change *changes,
			   size_t count, const struct overlay_change *next)
{
	struct pool *pool = writing->pool;
	struct transitions *transitions = &pool->transitions;
	struct transitions_many many = transitions_begin_many(transitions, writing->now_ms);
	uint64_t *slots = writing->slots, doubt = pool->doubt ? ABI_SLOT_DOUBT : 0;
	uint64_t doubt_lent = pool->doubt_ms ? ABI_SLOT_DOUBT : doubt;
	uint16_t *owners = pool->owners;
	uint32_t stored = 0, moved = 0, collateral = 0;
	size_t i;

	for (i = 0; i < count && !changes[i].kept; i++) {
		const struct overlay_change *it = &changes[i];
		uint16_t owner = it->owner, before = owners[it->place];
		uint64_t word = (it->base == owner ? doubt : doubt_lent) | index_of(pool, owner) |
				other_in_word(pool, it->other);

		__builtin_prefetch(&slots[next[i].slot]);
		if (before == NOBODY) {
			serve_place(writing, it);
			continue;
		}
		if (before == owner) {
			word |= transition_word(transitions, it->place);
		} else {
			struct standing *gives = pool_standing(pool, before);
			struct standing *takes = pool_standing(pool, owner);

			owners[it->place] = owner;
			takes->slots++;
			gives->slots--;
			moved++;
			collateral += !gives->gives & !takes->takes;
			word |= transition_begin_next(transitions, &many, it->place, gives->flows);
		}
		stored += put(slots, it->slot, word);
	}
	transitions_end_many(transitions, &many);
	pool->moves.slots += moved;
	pool->moves.collateral += collateral;
	writing->stored += stored;
	return i;
}

/* Of an event's first changes nobody has asked for the words. */
static void ask_first(struct writing *writing, const struct overlay_change *changes, size_t count)
{
	if (writing->found || count < MANY)
		return;
	find_pages(writing, count);
	for (size_t i = 0; i < count; i++)
		__builtin_prefetch(&writing->slots[changes[i].slot]);
}

void words_serve(void *arg, const struct overlay_change *changes, size_t count,
		 const struct overlay_change *next)
{
	struct writing *writing = arg;
	size_t served;

	if (writing->slots)
		ask_first(writing, changes, count);
	for (size_t i = 0; i < count; i += served) {
		size_t left = count - i;

		if (!writing->slots || !writing->plain)
			served = serve_first(writing, &changes[i], &next[i]);
		else if (changes[i].kept)
			served = serve_kept(writing, &changes[i], left, &next[i]);
		else
			served = serve_others(writing, &changes[i], left, &next[i]);
	}
}

void words_serve_one(void *arg, uint32_t slot, uint32_t owner, uint32_t other)
{
	struct overlay_change change = change_in_ring(arg, slot, owner, other);

	words_serve(arg, &change, 1, &change);
}
