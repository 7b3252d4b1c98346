/* SPDX-License-Identifier: BSD-2-Clause */
/* What a pool is, shared by pool.c, which keeps it up to date, and begin.c, which begins it. */
#pragma once

#include "base/arena.h"
#include "hash/maglev.h"
#include "pool/member.h"
#include "pool/pool.h"
#include "pool/transition.h"

/* Who serves a slot, as members in 16 bits, for memory's sake. */
enum { NOBODY = UINT16_MAX };
struct serving {
	uint16_t owner;
	uint16_t other;
};

struct pool {
	struct arena *arena; /* owns all but the overlay and the ring */
	const char *name;
	struct members members;
	uint64_t seed;
	uint32_t size;
	uint32_t *base;         /* by slot */
	struct serving *served; /* by slot */
	/* By member, from 1 on; 0 stands for nobody: its record, and how many slots it serves. */
	uint32_t *records, *slots_of;
	struct overlay *overlay; /* of a Maglev table */
	struct ring *ring;       /* in place of it */
	struct transitions transitions;
	uint64_t doubt_ms, doubt_until_ms;
	uint64_t starting_until_ms;
	struct pool_moves moves;
	uint32_t held;  /* slots that are served by another than is wanted */
	bool adopted;   /* an earlier daemon's slots */
	bool inherited; /* an earlier configuration's */
	bool begun;     /* its words have been written, or adopted */
	bool doubt;     /* all words have the bit */
	bool settled;   /* `served` and the counts are as `was` says */
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
