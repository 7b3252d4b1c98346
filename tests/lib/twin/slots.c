/* SPDX-License-Identifier: BSD-2-Clause */
#include "slots.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { STEPS = 24, RINGS = 8 };

static void *room(size_t count, size_t size)
{
	void *memory = calloc(count + 1, size);

	assert(memory);
	return memory;
}

/* --- the base table: all turns in a list, sorted; each takes the first free slot --- */

struct turn {
	uint64_t round, identity;
	uint32_t member, number;
};

static int by_turn(const void *left, const void *right)
{
	const struct turn *a = left, *b = right;

	if (a->round != b->round)
		return a->round < b->round ? -1 : 1;
	if (a->identity != b->identity)
		return a->identity < b->identity ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* One slot at a time to whoever lacks most. */
static uint32_t *set_targets(const struct twin_member *members, size_t count, uint32_t size)
{
	uint32_t *targets = room(count, sizeof(*targets)), given = 0;
	__int128 total = 0;

	for (size_t i = 0; i < count; i++)
		total += members[i].weight;
	for (size_t i = 0; i < count; i++) {
		targets[i] = (uint32_t)((__int128)size * members[i].weight / total);
		given += targets[i];
	}
	for (; given < size; given++) {
		__int128 most = 0;
		size_t who = 0;

		for (size_t i = 0; i < count; i++) {
			__int128 lacks = (__int128)size * members[i].weight - targets[i] * total;

			if (lacks > most ||
			    (lacks == most && members[i].identity < members[who].identity)) {
				most = lacks;
				who = i;
			}
		}
		targets[who]++;
	}
	return targets;
}

static struct turn *list_turns(const struct twin_member *members, size_t count, uint32_t size)
{
	uint32_t *targets = set_targets(members, count, size), made = 0;
	struct turn *turns = room(size, sizeof(*turns));
	uint64_t rounds = 1, limit = (uint64_t)size * 4 / count;

	for (size_t i = 0; i < count; i++)
		rounds = targets[i] > rounds ? targets[i] : rounds;
	rounds = rounds > limit ? limit : rounds;
	rounds = rounds ? rounds : 1;
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t number = 0; number < targets[i]; number++)
			turns[made++] = (struct turn){number * rounds / targets[i],
						      members[i].identity, i, number};
	}
	assert(made == size);
	qsort(turns, size, sizeof(*turns), by_turn);
	free(targets);
	return turns;
}

void twin_base(const struct twin_member *members, size_t count, uint64_t seed, uint32_t size,
	       uint32_t *base)
{
	struct turn *turns = list_turns(members, count, size);
	uint64_t *offset = room(count, sizeof(*offset)), *skip = room(count, sizeof(*skip));
	uint64_t *asked = room(count, sizeof(*asked));

	for (size_t i = 0; i < count; i++) {
		uint8_t bytes[8];

		for (int byte = 0; byte < 8; byte++)
			bytes[byte] = (uint8_t)(members[i].identity >> 8 * byte);
		offset[i] = XXH3_128bits_withSeed(bytes, 8, seed).low64 % size;
		skip[i] = XXH3_128bits_withSeed(bytes, 8, seed).high64 % (size - 1) + 1;
	}
	memset(base, 0xff, size * sizeof(*base));
	for (uint32_t i = 0; i < size; i++) {
		uint32_t who = turns[i].member;
		uint64_t slot;

		do
			slot = (offset[who] + asked[who]++ * skip[who]) % size;
		while (base[slot] != TWIN_NOBODY);
		base[slot] = who;
	}
	free(asked);
	free(skip);
	free(offset);
	free(turns);
}

/* --- the overlay: one slot after the other, one step after the other --- */

static uint32_t count_own(const uint32_t *base, uint32_t size, uint32_t member)
{
	uint32_t own = 0;

	for (uint32_t slot = 0; slot < size; slot++)
		own += base[slot] == member;
	return own;
}

/* How many of its slots a member has: rounded, and one of any share. */
static uint32_t count_had(uint32_t own, uint8_t share)
{
	double exact = (double)own * share / 100;

	return exact > 0 && exact < 1 ? 1 : (uint32_t)(exact + 0.5);
}

static uint64_t factor_of(uint32_t size)
{
	static const uint32_t factors[][2] = {
		{251, 183},     {509, 215},     {1021, 231},     {2039, 1173},
		{4093, 940},    {8191, 1856},   {16381, 4881},   {32749, 26474},
		{65521, 48368}, {65537, 54285}, {131071, 74145},
	};
	size_t i = 0;

	while (factors[i][0] != size)
		i++;
	return factors[i][1];
}

/* The table sorted by owner, and what is asked of it again and again. */
struct sorted {
	const uint32_t *base;
	uint32_t size;
	uint32_t *slots; /* owners in the order of their first slots, each one's slots rising */
	bool *has;       /* by slot */
};

static struct sorted sort(const struct twin_member *members, const uint32_t *base, uint32_t size)
{
	struct sorted sorted = {
		base,
		size,
		room(size, sizeof(*sorted.slots)),
		room(size, sizeof(*sorted.has)),
	};
	bool *done = room(size, sizeof(*done));
	uint32_t made = 0;

	for (uint32_t first = 0; first < size; first++) {
		uint32_t had, member = base[first];

		if (done[first])
			continue;
		had = count_had(count_own(base, size, member), members[member].share);
		for (uint32_t slot = first; slot < size; slot++) {
			if (base[slot] != member)
				continue;
			done[slot] = true;
			sorted.has[slot] = had > 0;
			had -= had > 0;
			sorted.slots[made++] = slot;
		}
	}
	assert(made == size);
	free(done);
	return sorted;
}

static uint64_t mix(uint64_t value)
{
	value ^= value >> 30;
	value *= 0xbf58476d1ce4e5b9ULL;
	value ^= value >> 27;
	value *= 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

/* Forward along the slot's ring until somebody is found. */
static uint32_t ask_ring(const struct sorted *sorted, uint32_t slot)
{
	/* The size is a prime: every stride but 0 will do. */
	uint32_t stride = (uint32_t)(mix(mix(slot) % RINGS + 1) % sorted->size);
	uint64_t at = slot;

	assert(stride);
	for (uint32_t i = 1; i < sorted->size; i++) {
		at = (at + stride) % sorted->size;
		if (sorted->has[at] && sorted->base[at] != sorted->base[slot])
			return sorted->base[at];
	}
	return TWIN_NOBODY;
}

static uint32_t borrow(const struct sorted *sorted, uint32_t place)
{
	uint32_t slot = sorted->slots[place];
	uint64_t at = place;

	for (uint32_t step = 1; step <= STEPS; step++) {
		uint32_t candidate;

		at = (at * factor_of(sorted->size) + step) % sorted->size;
		candidate = sorted->slots[at];
		if (sorted->has[candidate] && sorted->base[candidate] != sorted->base[slot])
			return sorted->base[candidate];
	}
	return ask_ring(sorted, slot);
}

void twin_serve(const struct twin_member *members, const uint32_t *base, uint32_t size,
		uint32_t *owners, uint32_t *others)
{
	struct sorted sorted = sort(members, base, size);

	for (uint32_t place = 0; place < size; place++) {
		uint32_t slot = sorted.slots[place], owner = base[slot];
		uint32_t borrowed = borrow(&sorted, place);
		bool at_home = sorted.has[slot] ||
			       (borrowed == TWIN_NOBODY && members[owner].share > 0);

		owners[slot] = at_home ? owner : borrowed;
		others[slot] = at_home ? borrowed : owner;
	}
	free(sorted.has);
	free(sorted.slots);
}
