/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a pool is, shared by pool.c, which keeps it up to date, and begin.c, which begins it.
 *
 * What is kept of slots is kept by place: those of one base owner have places in a row, so that
 * who fails is met in a row of memory and only the words lie scattered (hash/overlay.h; a ring
 * goes over all slots anyway, and each one's place is its number). Of the slots' other owners
 * words are the only record.
 */
#pragma once

#include "base/arena.h"
#include "hash/maglev.h"
#include "hash/overlay.h"
#include "hash/ring.h"
#include "pool/member.h"
#include "pool/pool.h"
#include "pool/transition.h"

/* Members are known in 16 bits, for memory's sake. */
enum { NOBODY = UINT16_MAX };

/* What a slot that changes hands asks of who has it and who gets it. */
struct standing {
	uint32_t record;
	uint32_t flows;    /* the same, or 0 where they are cut: who has those without entries */
	uint32_t slots;    /* that it serves */
	bool gives, takes; /* while settling: its share asks for that */
};

struct pool {
	struct arena *arena; /* owns all but the overlay and the ring */
	const char *name;
	struct members members;
	uint64_t seed;
	uint32_t size;
	uint16_t *owners;               /* who serves, by place */
	struct standing *standing;      /* by member, from 1 on; 0 stands for nobody */
	struct overlay *overlay;        /* of a Maglev table */
	struct ring *ring;              /* in place of it */
	struct transitions transitions; /* by place */
	uint64_t doubt_ms, doubt_until_ms;
	uint64_t starting_until_ms;
	struct pool_moves moves;
	uint32_t held;  /* slots that are served by another than is wanted */
	bool adopted;   /* an earlier daemon's slots */
	bool inherited; /* an earlier configuration's */
	bool begun;     /* its words have been written, or adopted */
	bool doubt;     /* all words have the bit */
	bool settled;   /* owners and counts are as `was` says */
	bool *cut;      /* by member: its flows are cut for good */
	bool *seen;     /* by member: it has taken new flows */
	uint8_t *was;   /* by member: its share then */
	uint8_t *now;   /* by member: its share now, while settling */
};

_Static_assert((uint16_t)HASH_NOBODY == NOBODY, "nobody is nobody in 16 bits as well");

static inline uint16_t pool_narrow(uint32_t member)
{
	return (uint16_t)member;
}

static inline struct standing *pool_standing(const struct pool *pool, uint16_t member)
{
	return &pool->standing[(uint16_t)(member + 1)];
}

static inline uint32_t pool_place(const struct pool *pool, uint32_t slot)
{
	return pool->ring ? slot : overlay_place(pool->overlay, slot);
}

static inline uint32_t pool_slot(const struct pool *pool, uint32_t place)
{
	return pool->ring ? place : overlay_slot(pool->overlay, place);
}

/* The owner by the base table, whatever anyone's state. */
static inline uint16_t pool_base(const struct pool *pool, uint32_t place)
{
	return pool_narrow(pool->ring ? ring_base(pool->ring, place)
				      : overlay_base(pool->overlay, place));
}
