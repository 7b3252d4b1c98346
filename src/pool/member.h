/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The members of a pool, without its slots: from what is wanted of each and what its checks say
 * follow the share of its slots that it serves, and the flags of its record. Belongs to pool.c;
 * one thread. Times are passed in.
 */
#pragma once

#include "pool/pool.h"

enum { MEMBER_WHOLE = 100 }; /* the share of one that serves all of its slots */

struct member {
	const char *name;
	uint32_t index;
	enum pool_admin admin;
	enum pool_health health;
	bool backup;
	bool weighs;     /* its weight is above 0 */
	bool checked;    /* its health has been known */
	uint8_t percent; /* what the operator gives it, 0 to 100 */
	uint8_t share;   /* what it serves of its own base slots, 0 to 100: members_update */
	bool lowered;    /* its share fell to 0; pool.c clears it */
	bool counts;     /* as one of those that backups wait for */
	bool was_away;   /* was unhealthy or not active since it last served: comes back slowly */
	bool ramps;      /* comes back */
	bool drains;     /* since drains_since_ms; false until the time is known */
	uint64_t keep_until_ms; /* while unhealthy */
	uint64_t ramps_since_ms;
	uint64_t drains_since_ms;
};

struct members {
	struct member *items;
	size_t count;
	size_t others;      /* members that count */
	bool backups_serve; /* too few of them */
	uint64_t on_down_keep_ms, slow_start_ms, drain_limit_ms;
	uint32_t backup_below;
};

/* Takes over what the specification says; `items` has room for all of it. */
void members_init(struct members *members, const struct pool_spec *spec);

/* What was known of it in an earlier configuration; members_update goes after all of them. */
void members_inherit(struct members *members, size_t member, const struct member *from);

/* Each brings the shares to what they are then, of others too where backups come or go. */
void members_set_health(struct members *members, size_t member, enum pool_health health,
			uint64_t now_ms);
void members_set_admin(struct members *members, size_t member, enum pool_admin admin,
		       uint64_t now_ms);
void members_set_share(struct members *members, size_t member, unsigned percent, uint64_t now_ms);
/* Brings everybody's share to what it is at `now_ms`. */
void members_update(struct members *members, uint64_t now_ms);

/* Whether it serves unless its checks say no. */
bool members_is_called(const struct members *members, size_t member);
/* Whether it would serve if its first check succeeded, which has no result yet. */
bool members_is_awaited(const struct members *members, size_t member);
/* enum abi_backend_flags, of those that a pool knows. */
uint32_t members_flags(const struct members *members, size_t member, uint64_t now_ms);
/* Whether its flows are cut for good: in maintenance, or drained for as long as it may. */
bool members_is_cut(const struct members *members, size_t member, uint64_t now_ms);
/* When a share or a flag next changes by time alone, later than `now_ms`; UINT64_MAX: never. */
uint64_t members_next_deadline_ms(const struct members *members, uint64_t now_ms);
