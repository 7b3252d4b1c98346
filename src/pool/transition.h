/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a pool remembers of each slot whose owner changed, until the flows from before are gone: who
 * had it, since when, and from these the bits of its word (dp/abi_slot.h). Backends are known by
 * their records. Belongs to pool.c; one thread. Times are passed in, and never go back.
 *
 * A slot is ripe when no flow can be left that is under way and has no entry in the flow table.
 * It then ends as soon as a survey of that table, begun when it was ripe, met no entry that names
 * another backend than the slot does. Where packets name two owners the previous one is remembered
 * beyond the end, for TRANSITION_WAITS idle times in all: flows of his may come from other nodes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "dp/abi_slot.h"

struct transition {
	union {
		uint64_t bits;
		struct {
			uint64_t since_ms : 40;
			uint64_t previous : 20; /* 0: nobody, who has no flows without an entry */
			uint64_t on : 1;        /* in transition; else previous is remembered */
			uint64_t late : 1;
			uint64_t changed : 1; /* since the survey began */
			uint64_t weak : 1;    /* previous has no flows without entries that this
					       * node knows of */
		};
	};
};

enum { TRANSITION_WORD = 64 }; /* slots of a word of `known` */

struct transitions {
	struct transition *slots;
	uint64_t *known; /* a bit for each slot: of the others all is 0 */
	uint32_t size;
	uint32_t count; /* slots that are in transition */
	uint64_t idle_ms, datagram_ms;
	bool weakens; /* packets name two owners, so after idle_ms a slot's previous one is weak */
	uint64_t hold_from_ms, hold_until_ms; /* another table has flows without entries */
	uint64_t wait_until_ms;               /* so have those that found no place for one */
	uint64_t next_turn_ms;   /* no slot becomes late or weak before; UINT64_MAX: none */
	uint64_t next_ripe_ms;   /* the same for ripe */
	uint64_t survey_from_ms; /* when the survey that is under way began */
	struct transition fresh; /* what the last slot began as, of which nothing was known, but for
				  * who previous is; `on`: if any has, and what it expects counts */
};

void transitions_init(struct transitions *all, struct arena *arena, uint32_t size);

/* The first slot from this one on of which anything is known, or `size`. */
uint32_t transitions_next(const struct transitions *all, uint32_t from);

/* The slot's part of its word: previous, TRANSITION, LATE and ASK. */
static inline uint64_t transition_word(const struct transitions *all, uint32_t at)
{
	const struct transition *slot = &all->slots[at];

	if (!(all->known[at / TRANSITION_WORD] >> at % TRANSITION_WORD & 1))
		return 0;
	if (!slot->on)
		return slot->previous ? abi_slot(0, slot->previous, 0) | ABI_SLOT_DOUBT : 0;
	return abi_slot(0, slot->previous, 0) | ABI_SLOT_TRANSITION |
	       (slot->late ? ABI_SLOT_LATE : 0) | (slot->weak ? ABI_SLOT_ASK : 0);
}

/*
 * The slot goes from the backend of record `from` to another. `from` 0: flows from before have
 * entries or are given up, but entries may name another backend than the slot's. Returns
 * its part of the word.
 */
uint64_t transition_begin(struct transitions *all, uint32_t slot, uint32_t from, uint64_t now_ms);

/*
 * For who begins many: of most slots of an event nothing is known, and they begin alike, so nothing
 * is read of them, and what is alike stays in registers. Until the end nothing else is asked of the
 * transitions but words.
 */
struct transitions_many {
	struct transition *slots;
	uint64_t *known;
	uint64_t alike; /* their bits but for previous; 0: none has begun */
	uint64_t now_ms;
	uint32_t begun; /* alike */
};

static inline uint64_t transitions_alike(const struct transitions *all, uint64_t now_ms)
{
	struct transition fresh = all->fresh;

	if (!fresh.on || fresh.since_ms != now_ms)
		return 0;
	fresh.previous = 0;
	return fresh.bits;
}

static inline struct transitions_many transitions_begin_many(const struct transitions *all,
							     uint64_t now_ms)
{
	return (struct transitions_many){
		.slots = all->slots,
		.known = all->known,
		.alike = transitions_alike(all, now_ms),
		.now_ms = now_ms,
	};
}

static inline void transitions_end_many(struct transitions *all,
					const struct transitions_many *many)
{
	all->count += many->begun;
}

/* transition_begin of one of them. */
static inline uint64_t transition_begin_next(struct transitions *all, struct transitions_many *many,
					     uint32_t at, uint32_t from)
{
	uint64_t *known = &many->known[at / TRANSITION_WORD], bits = *known;
	uint64_t bit = 1ULL << at % TRANSITION_WORD, word;

	if (bits & bit || !many->alike || !from) {
		word = transition_begin(all, at, from, many->now_ms);
		many->alike = transitions_alike(all, many->now_ms);
		return word;
	}
	many->slots[at].bits = many->alike | (struct transition){.previous = from}.bits;
	*known = bits | bit;
	many->begun++;
	return abi_slot(0, from, 0) | ABI_SLOT_TRANSITION;
}

/* The same by what is said of the time before the table, which no word tells. */
void transition_tell(struct transitions *all, uint32_t slot, uint32_t from, uint64_t now_ms);
/* Another stands in for `from`, who is still to be heard of: all flows without entries are that
 * one's, unless they are known to be another's. */
void transition_await(struct transitions *all, uint32_t slot, uint32_t from, uint64_t now_ms);
/* That one is heard of, and has the slot: who else has flows of it has entries for them. */
void transition_come(struct transitions *all, uint32_t slot, uint32_t to, uint64_t now_ms);
/* As an earlier daemon left it. Who is told to have had the slot stays unless the word knows
 * better: he had it later than who it was told of, and is known if it says that he has it. */
void transition_adopt(struct transitions *all, uint32_t slot, uint64_t word, uint64_t now_ms);
/*
 * As another pool's, whose place this one takes: the slot, with its previous owner only if that is
 * still there; and once, when all slots are through, what holds for all of them.
 */
void transition_inherit(struct transitions *all, uint32_t slot, const struct transition *from,
			bool keeps_previous);
void transitions_inherit(struct transitions *all, const struct transitions *from);
/*
 * Flows go on without entries, by their slots' previous owners alone, for the flow table has no
 * place for them: none ends for idle_ms, but one that has waited for TRANSITION_WAITS times that.
 */
enum { TRANSITION_WAITS = 4 };
void transitions_wait(struct transitions *all, uint64_t now_ms);
/* All slots, and for idle_ms none ends: flows were given their backends by another table. */
void transitions_hold(struct transitions *all, uint64_t now_ms);
/* A weak previous owner is not the one to name for this slot. Returns whether there was one. */
bool transition_drop_weak(struct transitions *all, uint32_t slot);
/* The record's flows are cut for good. `told` hears of the slots that had it as previous, of some
 * at a time. */
enum { TRANSITION_BATCH = 1024 };
typedef void transition_told(void *arg, const uint32_t *slots, size_t count);
void transitions_forget(struct transitions *all, uint32_t record, transition_told *told, void *arg);
/* Makes slots late and weak whose time it is, and tells of them. */
void transitions_pass_time(struct transitions *all, uint64_t now_ms, transition_told *told,
			   void *arg);
/* When that is next due, or when a slot will be ripe; later than `now_ms`. */
uint64_t transitions_deadline_ms(const struct transitions *all, uint64_t now_ms);

/* --- surveys --- */

/* Is a slot ripe? It may err to yes, but not again after a survey. */
bool transitions_are_ripe(const struct transitions *all, uint64_t now_ms);
void transitions_begin_survey(struct transitions *all, uint64_t now_ms);
/* Ends what is ripe and not pinned elsewhere, and tells of them. */
typedef bool transition_pinned(const void *arg, uint32_t slot);
void transitions_end_survey(struct transitions *all, transition_pinned *pinned,
			    const void *pinned_arg, transition_told *told, void *arg);
