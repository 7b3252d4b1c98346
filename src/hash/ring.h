/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A consistent-hashing ring (Karger et al., STOC'97) compiled to a table of slots. Each member has
 * tokens by its weight; tokens and slots have hashed positions (XXH64) on the whole 64-bit circle;
 * a slot belongs to the first token clockwise, and while that one's member is not usable to the
 * next usable one. So whatever fails, returns, is added or taken away moves its own slots alone,
 * at the price of shares that are less even than Maglev's: within 4 / sqrt(tokens) of ideal.
 *
 * The answer depends on identities, weights, seed and size alone. Positions are worked out once;
 * one thread at a time, for answers are made in the ring's own memory.
 */
#pragma once

#include "hash/maglev.h"
#include "hash/overlay.h"

enum {
	RING_SIZE_MAX = MAGLEV_SIZE_MAX, /* slots; any number from 1 */
	RING_TOKENS_DEFAULT = 150,       /* of a unit of weight */
	RING_TOKENS_MAX = 65536,         /* of all members together */
};

struct ring;

/*
 * `tokens` a unit of weight, after weights are divided by their common factor; where that makes
 * more than RING_TOKENS_MAX each member has its part of those, at least one. Only below that
 * bound do the tokens of a member stay the same when others come or go. 0, -EINVAL (two equal
 * identities, more members than tokens, no or too many slots) or -ENOMEM.
 */
int ring_new(const struct maglev_member *members, size_t count, uint64_t seed, uint32_t tokens,
	     uint32_t size, struct ring **ret);
void ring_free(struct ring *ring);

/* Who owns the slot while everybody is usable; HASH_NOBODY if no member has weight. */
uint32_t ring_base(const struct ring *ring, uint32_t slot);
/* The member's tokens. */
uint32_t ring_tokens(const struct ring *ring, size_t member);

/*
 * As overlay_apply: each slot whose answer differs between the states, all of them with `was` NULL.
 * A share is of a member's tokens, so with half of it the ring is what it is with half the weight,
 * and slots between two tokens of one member may stay its own when the first one is not usable.
 * `other` of a slot is the base owner where another serves, else the next usable member clockwise.
 */
void ring_apply(struct ring *ring, const uint8_t *was, const uint8_t *share, overlay_answer *answer,
		void *arg);
