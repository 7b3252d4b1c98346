/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring is an array of tokens sorted by position, and for each slot the place of its first
 * token. Who serves a slot in a state of the members is read from two more arrays over the tokens:
 * the first usable token from each place on, and the first one after that of another member. Both
 * are filled by going round backwards, so a state costs a pass over tokens and one over slots,
 * however many members are gone, and no walk can be long.
 *
 * A member of a smaller share is usable at its first tokens, as many as the share says: the ring is
 * then what it would be with fewer tokens, so with a smaller weight.
 */
#include "hash/ring.h"
#include "base/factor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#define NO_TOKEN UINT32_MAX

struct token {
	uint64_t position;
	uint64_t identity; /* of its member: equal positions are told apart by it */
	uint32_t member;
	uint32_t level; /* the least share of the member with which it is usable */
};

/* By token: the places of who serves from there on, and of who would in its stead. */
struct state {
	uint32_t *first;
	uint32_t *second;
};

struct ring {
	struct token *tokens;
	uint32_t token_count;
	uint32_t *slots; /* places of their first tokens */
	uint32_t size;
	uint32_t *counts; /* of tokens, by member */
	struct state was, now;
};

/* What stands at a position: a member's token, or a slot. */
static uint64_t position(uint64_t what, uint64_t number, uint64_t seed)
{
	const uint64_t key[2] = {what, number};

	return XXH64(key, sizeof(key), seed);
}

static int by_position(const void *left, const void *right)
{
	const struct token *a = left, *b = right;

	if (a->position != b->position)
		return a->position < b->position ? -1 : 1;
	return a->identity < b->identity ? -1 : a->identity > b->identity;
}

static void count_tokens(struct ring *ring, const struct maglev_member *members, size_t count,
			 uint32_t tokens)
{
	uint64_t units = 0;
	uint32_t factor = 0;

	for (size_t i = 0; i < count; i++)
		factor = factor_common(members[i].weight, factor);
	for (size_t i = 0; i < count; i++)
		units += factor ? members[i].weight / factor : 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t own = factor ? members[i].weight / factor : 0;

		if (units > RING_TOKENS_MAX / tokens)
			own = own && own * RING_TOKENS_MAX < units ? 1
								   : own * RING_TOKENS_MAX / units;
		else
			own *= tokens;
		ring->counts[i] = (uint32_t)own;
		ring->token_count += (uint32_t)own;
	}
}

static void place_tokens(struct ring *ring, const struct maglev_member *members, size_t count,
			 uint64_t seed)
{
	struct token *token = ring->tokens;

	for (size_t i = 0; i < count; i++) {
		uint32_t level = 1;

		for (uint32_t t = 0; t < ring->counts[i]; t++) {
			while (overlay_quota(ring->counts[i], level) <= t)
				level++;
			*token++ = (struct token){
				.position = position(members[i].identity, t, seed),
				.identity = members[i].identity,
				.member = (uint32_t)i,
				.level = level,
			};
		}
	}
	qsort(ring->tokens, ring->token_count, sizeof(*ring->tokens), by_position);
}

static uint32_t first_clockwise(const struct ring *ring, uint64_t from)
{
	uint32_t low = 0, high = ring->token_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ring->tokens[middle].position < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low == ring->token_count ? 0 : low;
}

static int compare_identities(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static int check_identities(const struct maglev_member *members, size_t count)
{
	uint64_t *sorted = malloc((count + 1) * sizeof(*sorted));
	int error = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = members[i].identity;
	qsort(sorted, count, sizeof(*sorted), compare_identities);
	for (size_t i = 1; i < count; i++) {
		if (sorted[i] == sorted[i - 1])
			error = -EINVAL;
	}
	free(sorted);
	return error;
}

static int alloc_tokens(struct ring *ring)
{
	size_t count = ring->token_count + 1U;

	ring->tokens = calloc(count, sizeof(*ring->tokens));
	ring->was.first = calloc(count, sizeof(uint32_t));
	ring->was.second = calloc(count, sizeof(uint32_t));
	ring->now.first = calloc(count, sizeof(uint32_t));
	ring->now.second = calloc(count, sizeof(uint32_t));
	return ring->tokens && ring->was.first && ring->was.second && ring->now.first &&
			       ring->now.second
		       ? 0
		       : -ENOMEM;
}

/* Slots hash with a number of their own in the place of an identity, and another seed. */
static void place_slots(struct ring *ring, uint64_t seed)
{
	for (uint32_t slot = 0; slot < ring->size; slot++)
		ring->slots[slot] =
			ring->token_count ? first_clockwise(ring, position(slot, ring->size, ~seed))
					  : NO_TOKEN;
}

int ring_new(const struct maglev_member *members, size_t count, uint64_t seed, uint32_t tokens,
	     uint32_t size, struct ring **ret)
{
	struct ring *ring;
	int error;

	if (!size || size > RING_SIZE_MAX || !tokens || tokens > RING_TOKENS_MAX ||
	    count > RING_TOKENS_MAX)
		return -EINVAL;
	error = check_identities(members, count);
	if (error)
		return error;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->size = size;
	ring->slots = calloc(size, sizeof(*ring->slots));
	ring->counts = calloc(count + 1, sizeof(*ring->counts));
	if (ring->slots && ring->counts) {
		count_tokens(ring, members, count, tokens);
		error = alloc_tokens(ring);
	} else {
		error = -ENOMEM;
	}
	if (error) {
		ring_free(ring);
		return error;
	}
	place_tokens(ring, members, count, seed);
	place_slots(ring, seed);
	*ret = ring;
	return 0;
}

void ring_free(struct ring *ring)
{
	if (!ring)
		return;
	free(ring->tokens);
	free(ring->slots);
	free(ring->counts);
	free(ring->was.first);
	free(ring->was.second);
	free(ring->now.first);
	free(ring->now.second);
	free(ring);
}

uint32_t ring_base(const struct ring *ring, uint32_t slot)
{
	return ring->slots[slot] == NO_TOKEN ? HASH_NOBODY : ring->tokens[ring->slots[slot]].member;
}

uint32_t ring_tokens(const struct ring *ring, size_t member)
{
	return ring->counts[member];
}

/* The first time round finds what lies beyond the array's end, the second fills in. */
static void fill_state(const struct ring *ring, const uint8_t *share, struct state *state)
{
	uint32_t first = NO_TOKEN, second = NO_TOKEN;

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = ring->token_count; i-- > 0;) {
			uint32_t member = ring->tokens[i].member;

			if (share[member] >= ring->tokens[i].level) {
				if (first != NO_TOKEN && ring->tokens[first].member != member)
					second = first;
				first = i;
			}
			state->first[i] = first;
			state->second[i] = second;
		}
	}
}

static uint32_t member_at(const struct ring *ring, uint32_t token)
{
	return token == NO_TOKEN ? HASH_NOBODY : ring->tokens[token].member;
}

struct answer {
	uint32_t owner, other;
};

static struct answer answer_of(const struct ring *ring, const struct state *state, uint32_t slot)
{
	uint32_t token = ring->slots[slot], base;
	struct answer ret = {HASH_NOBODY, HASH_NOBODY};

	if (token == NO_TOKEN)
		return ret;
	base = ring->tokens[token].member;
	ret.owner = member_at(ring, state->first[token]);
	ret.other = ret.owner == base ? member_at(ring, state->second[token]) : base;
	return ret;
}

void ring_apply(struct ring *ring, const uint8_t *was, const uint8_t *share, overlay_answer *answer,
		void *arg)
{
	if (was)
		fill_state(ring, was, &ring->was);
	fill_state(ring, share, &ring->now);
	for (uint32_t slot = 0; slot < ring->size; slot++) {
		struct answer now = answer_of(ring, &ring->now, slot);

		if (was) {
			struct answer before = answer_of(ring, &ring->was, slot);

			if (before.owner == now.owner && before.other == now.other)
				continue;
		}
		answer(arg, slot, now.owner, now.other);
	}
}
