/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables: which member serves which slot.
 *
 * A flow's hash names a slot, the slot names a member. The room answers in two steps. maglev.c
 * builds the base table from the configured members, whatever their health; it changes only when
 * the configuration does. overlay.c lays the members' state over it: who serves a slot while its
 * base owner cannot. Neither keeps anything between two calls.
 *
 * The base table is filled as in Maglev (NSDI'16, section 3.4). Each member has a preference list
 * that visits every slot once: offset, offset + skip, ... modulo a prime. Members take turns, and
 * in its turn a member takes the first slot of its list that is still free.
 *
 * Weights. A member's number of slots is settled before the first turn, by largest remainder with
 * ties by identity, so it is within one slot of exact. The turns are then spread evenly: in each
 * of `rounds` rounds a member earns its number of slots as credit, and a turn costs `rounds`. The
 * member with most slots sets the rounds, one turn in each, unless that would make rounds in
 * which hardly anybody moves: with one heavy member among a thousand it takes several turns in
 * a round instead. So there are at most SPARSE times as many visits as slots.
 *
 * Order. Everything is done in the order of identities, which is what makes the table independent
 * of the list's order, and thereby equal on every node.
 *
 * Speed. Half of all steps along the lists are spent on the last slots, where a list is nearly
 * always refused. There the question is turned around: slot s is number (s - at) / skip, modulo
 * the size, of a list that stands at `at`; the least of these numbers over the few free slots is
 * the next one. Until then a bit a slot says what is taken, so that the search stays in the
 * first-level cache.
 */
#include "hash/maglev.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

enum {
	SPARSE = 4, /* rounds at most, in units of the mean number of slots of a member */
	LAST = 64,  /* free slots from which they are searched instead of the lists */
	WORD = 64,  /* bits of a word of `taken` */
};

/* One that takes turns; in the order of identities while the table is filled. */
struct taker {
	uint64_t identity;
	uint64_t remainder; /* of size * weight / total */
	uint32_t member;
	uint32_t target; /* slots that it will have */
	uint32_t credit;
	uint32_t at; /* the first place of its list that may still be free */
	uint32_t skip;
};

struct filling {
	uint32_t *slots;
	uint32_t size;
	uint32_t left;       /* free slots */
	uint32_t last[LAST]; /* they, once `left` is no more than LAST */
	uint64_t taken[MAGLEV_SIZE_MAX / WORD + 1];
};

static const uint32_t sizes[] = {251,   509,   1021,  2039,  4093,   8191,
				 16381, 32749, 65521, 65537, 131071, 0};

const uint32_t *maglev_sizes(void)
{
	return sizes;
}

bool maglev_size_allowed(uint32_t size)
{
	for (const uint32_t *allowed = sizes; *allowed; allowed++) {
		if (*allowed == size)
			return true;
	}
	return false;
}

uint32_t maglev_size_auto(size_t members)
{
	if (members <= 20)
		return 2039;
	if (members <= 160)
		return 16381;
	return members <= 650 ? 65537 : 131071;
}

static bool is_prime(uint32_t size)
{
	for (uint32_t divisor = 2; (uint64_t)divisor * divisor <= size; divisor++) {
		if (size % divisor == 0)
			return false;
	}
	return size >= 2;
}

struct maglev_walk maglev_walk(uint64_t identity, uint64_t seed, uint32_t size)
{
	uint64_t bytes = htole64(identity);
	XXH128_hash_t hash = XXH3_128bits_withSeed(&bytes, sizeof(bytes), seed);

	return (struct maglev_walk){
		.offset = (uint32_t)(hash.low64 % size),
		.skip = (uint32_t)(hash.high64 % (size - 1)) + 1,
	};
}

uint32_t maglev_walk_next(uint32_t at, uint32_t skip, uint32_t size)
{
	at += skip;
	return at >= size ? at - size : at;
}

static int by_identity(const void *left, const void *right)
{
	const struct taker *a = left, *b = right;

	return (a->identity > b->identity) - (a->identity < b->identity);
}

static int by_remainder(const void *left, const void *right)
{
	const struct taker *a = left, *b = right;

	if (a->remainder != b->remainder)
		return a->remainder < b->remainder ? 1 : -1;
	return by_identity(left, right);
}

/* Settles who gets how many slots. Leaves the takers in the order of identities. */
static void set_targets(struct taker *takers, const struct maglev_member *members, size_t count,
			uint32_t size)
{
	uint64_t total = 0;
	uint32_t left = size;

	for (size_t i = 0; i < count; i++)
		total += members[i].weight;
	for (size_t i = 0; i < count && total > 0; i++) {
		uint64_t share = (uint64_t)size * members[i].weight;

		takers[i].target = (uint32_t)(share / total);
		takers[i].remainder = share % total;
		left -= takers[i].target;
	}
	/* The remainders add up to left * total, so more than `left` of them are not 0. */
	qsort(takers, count, sizeof(*takers), by_remainder);
	for (uint32_t i = 0; i < left && total > 0; i++)
		takers[i].target++;
	qsort(takers, count, sizeof(*takers), by_identity);
}

static struct taker *takers_new(const struct maglev_member *members, size_t count, uint64_t seed,
				uint32_t size)
{
	struct taker *takers = calloc(count ? count : 1, sizeof(*takers));

	if (!takers)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		struct maglev_walk walk = maglev_walk(members[i].identity, seed, size);

		takers[i].identity = members[i].identity;
		takers[i].member = (uint32_t)i;
		takers[i].at = walk.offset;
		takers[i].skip = walk.skip;
	}
	set_targets(takers, members, count, size);
	return takers;
}

/* 1 / skip modulo a prime, by Fermat's little theorem. */
static uint64_t inverse(uint32_t skip, uint32_t size)
{
	uint64_t result = 1, power = skip;

	for (uint32_t exponent = size - 2; exponent > 0; exponent >>= 1) {
		if (exponent & 1)
			result = result * power % size;
		power = power * power % size;
	}
	return result;
}

/* The free slot that comes first in the taker's list; takes it out of `last`. */
static uint32_t search_last(struct filling *filling, const struct taker *taker)
{
	uint64_t factor = inverse(taker->skip, filling->size), best = UINT64_MAX;
	uint32_t found = 0, slot;

	for (uint32_t i = 0; i < filling->left; i++) {
		uint64_t ahead = filling->last[i] + filling->size - taker->at;
		uint64_t steps = ahead * factor % filling->size;

		if (steps < best) {
			best = steps;
			found = i;
		}
	}
	slot = filling->last[found];
	filling->last[found] = filling->last[filling->left - 1];
	return slot;
}

static uint32_t search_list(struct filling *filling, struct taker *taker)
{
	uint32_t at = taker->at;

	while (filling->taken[at / WORD] >> at % WORD & 1)
		at = maglev_walk_next(at, taker->skip, filling->size);
	filling->taken[at / WORD] |= 1ULL << at % WORD;
	taker->at = maglev_walk_next(at, taker->skip, filling->size);
	return at;
}

static void list_last(struct filling *filling)
{
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < filling->size && count < filling->left; slot++) {
		if (!(filling->taken[slot / WORD] >> slot % WORD & 1))
			filling->last[count++] = slot;
	}
}

static void take_turn(struct filling *filling, struct taker *taker)
{
	uint32_t slot;

	if (filling->left > LAST) {
		slot = search_list(filling, taker);
	} else {
		if (filling->left == LAST || filling->left == filling->size)
			list_last(filling);
		slot = search_last(filling, taker);
	}
	filling->slots[slot] = taker->member;
	filling->left--;
}

static uint32_t count_rounds(const struct taker *takers, size_t count, uint32_t size)
{
	size_t limit = (size_t)size * SPARSE / count;
	uint32_t most = 1;

	for (size_t i = 0; i < count; i++) {
		if (takers[i].target > most)
			most = takers[i].target;
	}
	return most > limit ? (limit ? (uint32_t)limit : 1) : most;
}

static void fill(struct filling *filling, struct taker *takers, size_t count)
{
	uint32_t rounds = count_rounds(takers, count, filling->size);

	/* With all but one turn's worth in hand everybody has its first turn in the first round,
	 * and after the last one exactly as many turns as slots. */
	for (size_t i = 0; i < count; i++)
		takers[i].credit = rounds - 1;
	for (uint32_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i < count; i++) {
			takers[i].credit += takers[i].target;
			for (; takers[i].credit >= rounds; takers[i].credit -= rounds)
				take_turn(filling, &takers[i]);
		}
	}
}

/* In the order of identities, as set_targets leaves them. */
static bool are_distinct(const struct taker *takers, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (takers[i].identity == takers[i - 1].identity)
			return false;
	}
	return true;
}

int maglev_build(const struct maglev_member *members, size_t count, uint64_t seed, uint32_t size,
		 uint32_t *slots)
{
	struct filling *filling;
	struct taker *takers;
	int error = 0;

	if (size > MAGLEV_SIZE_MAX || !is_prime(size) || count >= HASH_NOBODY)
		return -EINVAL;
	takers = takers_new(members, count, seed, size);
	filling = calloc(1, sizeof(*filling));
	if (!takers || !filling) {
		error = -ENOMEM;
	} else if (!are_distinct(takers, count)) {
		error = -EINVAL;
	} else {
		filling->slots = slots;
		filling->size = filling->left = size;
		memset(slots, 0xff, size * sizeof(*slots));
		if (count > 0)
			fill(filling, takers, count);
	}
	free(filling);
	free(takers);
	return error;
}
