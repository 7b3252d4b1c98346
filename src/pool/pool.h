/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool's state: its members with their health and administrative state, its base table, and
 * from these the slot words that the packet path reads. State in, table changes out; no I/O, no
 * clock of its own (times are passed in). One thread.
 *
 * A member has a share of its own slots (0 to 100 %: pool/member.c), which follows from the file,
 * the operator, its checks and the time; the overlay decides who serves in its place in the rest.
 * It takes new flows (is usable) with a share above 0. Its established flows go on (keep) while it
 * is active, or draining for drain_limit_ms at most, and not unhealthy, and for on_down_keep_ms
 * after it failed (on_down: keep); one that is unhealthy to begin with keeps none; in maint they
 * are cut.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash/maglev.h"

enum pool_admin { POOL_ACTIVE, POOL_DRAIN, POOL_MAINT };
enum pool_health { POOL_UNKNOWN, POOL_HEALTHY, POOL_UNHEALTHY }; /* unknown is not usable */

struct pool_member_spec {
	const char *name; /* copied */
	uint64_t identity;
	uint32_t weight;
	uint32_t index; /* the backend's record in the data plane, 1 or more */
	enum pool_admin admin;
	enum pool_health health; /* to begin with */
	bool backup;             /* serves while too few others are usable */
};

struct pool_spec {
	const char *name; /* copied */
	uint64_t seed;
	uint32_t tokens;          /* of a ring, a unit of weight; 0: weighted Maglev */
	uint32_t table_size;      /* for Maglev a prime that it allows */
	uint64_t on_down_keep_ms; /* 0: flows of a failed member are cut at once */
	uint32_t backup_below;    /* backups serve while fewer others are usable */
	uint64_t slow_start_ms;   /* 0: who returns has all of its slots at once */
	uint64_t drain_limit_ms;  /* of the flows of a draining member; 0: none */
	uint64_t idle_ms;         /* a TCP flow may be silent for so long */
	uint64_t datagram_ms;     /* and any other */
	uint64_t doubt_ms; /* from the first writing on slots are in doubt, and always those that
			    * another than their base owner serves; 0: none ever is */
	const struct pool_member_spec *members;
	size_t member_count;
};

struct pool;

/* 0 and *ret, or -EINVAL, -ENOMEM. Builds the base table. */
int pool_new(const struct pool_spec *spec, struct pool **ret);
void pool_free(struct pool *pool);

const char *pool_name(const struct pool *pool);
uint32_t pool_table_size(const struct pool *pool);
size_t pool_member_count(const struct pool *pool);
/* Members are named by their place in the spec. */
const char *pool_member_name(const struct pool *pool, size_t member);
/* Another record than the spec says, before slots name it. */
void pool_set_index(struct pool *pool, size_t member, uint32_t index);
enum pool_health pool_member_health(const struct pool *pool, size_t member);
enum pool_admin pool_member_admin(const struct pool *pool, size_t member);
/* Slots that the member serves, as of the last pool_write_slots or pool_update_slots. */
uint32_t pool_member_slots(const struct pool *pool, size_t member);
/* Its share of its own base slots, 0 to 100, as of the last call that names a time. */
unsigned pool_member_share(const struct pool *pool, size_t member);
/* Takes new flows: its share is above 0. */
bool pool_member_usable(const struct pool *pool, size_t member);

void pool_set_health(struct pool *pool, size_t member, enum pool_health health, uint64_t now_ms);
void pool_set_admin(struct pool *pool, size_t member, enum pool_admin admin, uint64_t now_ms);
/* What the operator gives it of its weight, 0 to 100; 100 to begin with. */
void pool_set_share(struct pool *pool, size_t member, unsigned percent, uint64_t now_ms);

/* Brings shares to what they are at `now_ms`; so does all that is set or written at a time. */
void pool_advance(struct pool *pool, uint64_t now_ms);
/* ABI_BACKEND_UP, KEEP and HEALTHY as they are at `now_ms`; write them before the slots. */
uint32_t pool_member_flags(const struct pool *pool, size_t member, uint64_t now_ms);
/* Whether its flows are cut for good: in maintenance, or drained for as long as it may. */
bool pool_member_is_cut(const struct pool *pool, size_t member, uint64_t now_ms);
/*
 * Whether it stopped taking new flows and takes them again since slots were last brought up to
 * date. Do that before its flag UP is seen again: its flows of meanwhile are elsewhere.
 */
bool pool_member_returned(const struct pool *pool, size_t member);
/* The same of one that an earlier daemon left without the flag: it may not have come to slots. */
void pool_member_was_down(struct pool *pool, size_t member);
/* When flags, shares or slots next change by time alone, or a survey may be wanted, later than
 * `now_ms`; UINT64_MAX: never. */
uint64_t pool_next_deadline_ms(const struct pool *pool, uint64_t now_ms);

/* --- slots: pool_table_size words, shared with running packets --- */

/* So long a pool that began from nothing comes to know its members, one after the other: who serves
 * meanwhile only stands in. */
enum { POOL_STARTING_MS = 10000 };
/*
 * Takes over what an earlier daemon left in the words of the same table, before they are first
 * written: whose slots they were, and transitions, which go on from now. Words of a start that is
 * not over yet name who stands in: so until `starting_until_ms` this is a start as well, 0: it is
 * none. 0 or -ENOMEM.
 */
int pool_adopt_slots(struct pool *pool, const uint64_t *slots, uint64_t starting_until_ms,
		     uint64_t now_ms);
/*
 * The same from the pool of an earlier configuration, which ends with this call but for being
 * freed: what was known of each member that has the same record, and, if `same_table` (seed and
 * size, and the words in the same place), whose its slots are and what is in transition. Its words
 * must have been up to date (pool_update_slots). Before anything is set. 0 or -ENOMEM.
 */
int pool_inherit(struct pool *pool, const struct pool *from, bool same_table, uint64_t now_ms);
/* What the base table of a pool was made of. */
struct pool_before {
	uint64_t seed;
	uint32_t tokens; /* as in pool_spec */
	uint32_t table_size;
	const struct maglev_member *members;
	const size_t *now; /* by member: the pool's member that it is; SIZE_MAX: none */
	size_t member_count;
};
/*
 * Where nothing was left, or, before pool_adopt_slots, words of a start: the table was this one
 * until a moment ago, perhaps, so slots with another owner begin in transition from that one. Only
 * where packets name a second owner (doubt_ms), as otherwise it would be a guess. 0, -ENOMEM, or
 * -EINVAL: no such table can be, or its slots were not these.
 */
int pool_begin_after(struct pool *pool, const struct pool_before *before, uint64_t now_ms);
/*
 * All slots are in transition for idle_ms at least: flows come that were given their backends by
 * another table (abi_service.old_table), or that may have entries in any slot. Before slots are
 * first written, or at any time.
 */
void pool_hold_slots(struct pool *pool, uint64_t now_ms);
/* Flows go on without entries where they should have some: slots in transition wait for them. */
void pool_wait_longer(struct pool *pool, uint64_t now_ms);

/*
 * Brings `slots` to the present state: each
 * word that differs is stored whole, the others are not touched. Returns how many were stored.
 */
uint32_t pool_write_slots(struct pool *pool, uint64_t *slots, uint64_t now_ms);
/*
 * The same at the cost of what changes, for `slots` that hold what the last call of one of the two
 * brought them to; others are not looked at, so with anything else in them stay as they are. The
 * slots' other owners are in these words alone: what else is called with `slots` keeps them.
 */
uint32_t pool_update_slots(struct pool *pool, uint64_t *slots, uint64_t now_ms);
/* The member that serves a slot as of the last such call, or HASH_NOBODY (hash/maglev.h). */
uint32_t pool_slot_owner(const struct pool *pool, uint32_t slot);
/* The same by the base table, whatever anyone's state. */
uint32_t pool_slot_base(const struct pool *pool, uint32_t slot);

/* Slots that changed hands over all time, and those of them that nobody's share asked for: who had
 * it lost nothing, who got it gained nothing. */
struct pool_moves {
	uint64_t slots, collateral;
};
struct pool_moves pool_moves(const struct pool *pool);

/* --- transitions: pool/transition.h says when a slot is ripe to end --- */

/* Slots in transition. */
uint32_t pool_moving_slots(const struct pool *pool);
/*
 * Whether some may end, if the flow table shows no entry of theirs that names another backend. Who
 * looks begins a survey, walks the table, and ends it with what was found; `slots` as above.
 */
bool pool_wants_survey(const struct pool *pool, uint64_t now_ms);
void pool_begin_survey(struct pool *pool, uint64_t now_ms);
/* Did the survey meet an entry of this slot (of this pool) that names another than its owner? */
typedef bool pool_pinned(const void *arg, uint32_t slot);
uint32_t pool_end_survey(struct pool *pool, pool_pinned *pinned, const void *arg, uint64_t *slots);
