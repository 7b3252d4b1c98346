/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of an overlay follows from its base table alone; overlay.c says what for. Places are
 * positions in the base table sorted by owner: every member that owns slots has a run of them, in
 * the order of the first slots, and a run's slots are in rising order. Belongs to overlay.c.
 */
#pragma once

#include <stdint.h>

enum { OVERLAY_STEPS = 24, OVERLAY_GUESS = 16, OVERLAY_MEMBERS_MAX = UINT16_MAX - 1 };

/* In how much of its run a member is usable. */
enum overlay_usable { NOWHERE, PARTLY, WHOLLY };

struct run {
	uint32_t begin, end;
	uint32_t limit;  /* where those begin in which it is not usable, in the state applied */
	uint32_t steady; /* the same of the places that are usable before and after */
};

/* Whose a run is: the part that is asked for most. */
struct lender {
	uint16_t member;
	uint16_t usable; /* enum overlay_usable, in the state applied */
};

/* `first` is the run of its first candidate, `second` that of the first one after it which is not
 * of the same; or run_count. */
struct place {
	uint32_t slot;
	uint16_t first, second;
};

/* A place that has the member of its group as its first candidate. Those of a group are in rising
 * order. */
union follower {
	uint64_t bits;
	struct {
		uint64_t place : 24;
		uint64_t slot : 24;
		uint64_t second : 16;
	};
};

struct overlay {
	uint32_t size;
	uint32_t members;
	uint32_t place_count; /* slots that have an owner; the others' places come after */
	uint32_t factor;
	uint64_t reciprocal; /* of place_count */
	uint32_t run_count;
	struct run *runs;       /* and one more, of nobody */
	struct lender *lenders; /* by run; nobody is always PARTLY */
	struct place *places;
	union follower *followers;      /* by group */
	uint32_t *group_end;            /* by run, and one more for places without a candidate */
	uint32_t *place_of;             /* by slot */
	uint16_t *run_of;               /* by member */
	uint16_t *guess;                /* by OVERLAY_GUESS places: the run of the first of them */
	_Alignas(uint64_t) char room[]; /* for all of these; words of bits come first */
};

static inline uint32_t overlay_run_at(const struct overlay *overlay, uint32_t place)
{
	uint32_t run = overlay->guess[place / OVERLAY_GUESS];

	while (place >= overlay->runs[run].end)
		run++;
	return run;
}

/* The candidate after `at`, the step's number. Adding another one at each step leaves no place that
 * leads to itself for ever. */
static inline uint32_t overlay_step(const struct overlay *overlay, uint32_t at, uint32_t step)
{
	uint64_t sum = (uint64_t)at * overlay->factor + step;
	uint64_t quotient = (uint64_t)((unsigned __int128)sum * overlay->reciprocal >> 64);
	uint32_t rest = (uint32_t)(sum - quotient * overlay->place_count);

	/* The reciprocal is a little too small: by less than one in the quotient of such a sum. */
	return rest >= overlay->place_count ? rest - overlay->place_count : rest;
}

/* The first number from `wanted` on that visits all of `size` places when they are stepped or
 * multiplied by it. */
uint32_t overlay_coprime(uint32_t wanted, uint32_t size);
