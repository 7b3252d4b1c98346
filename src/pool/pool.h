/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool's state: its members with their health and administrative state, its base table, and
 * from these the slot words that the packet path reads. State in, table changes out; no I/O, no
 * clock of its own (times are passed in). One thread.
 *
 * A member takes new flows (usable) when it is active and healthy; the overlay decides who serves
 * in its place when it is not. Its established flows go on (keep) while it is active or draining
 * and not unhealthy, and for on_down_keep_ms after it failed (on_down: keep); one that is
 * unhealthy to begin with keeps none; in maint they are cut.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pool_admin { POOL_ACTIVE, POOL_DRAIN, POOL_MAINT };
enum pool_health { POOL_UNKNOWN, POOL_HEALTHY, POOL_UNHEALTHY }; /* unknown is not usable */

struct pool_member_spec {
	const char *name; /* copied */
	uint64_t identity;
	uint32_t weight;
	uint32_t index; /* the backend's record in the data plane, 1 or more */
	enum pool_admin admin;
	enum pool_health health; /* to begin with */
};

struct pool_spec {
	const char *name; /* copied */
	uint64_t seed;
	uint32_t tokens;          /* of a ring, a unit of weight; 0: weighted Maglev */
	uint32_t table_size;      /* for Maglev a prime that it allows */
	uint64_t on_down_keep_ms; /* 0: flows of a failed member are cut at once */
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
enum pool_health pool_member_health(const struct pool *pool, size_t member);
enum pool_admin pool_member_admin(const struct pool *pool, size_t member);
/* Slots that the member serves, as of the last pool_write_slots or pool_update_slots. */
uint32_t pool_member_slots(const struct pool *pool, size_t member);
bool pool_member_usable(const struct pool *pool, size_t member);

void pool_set_health(struct pool *pool, size_t member, enum pool_health health, uint64_t now_ms);
void pool_set_admin(struct pool *pool, size_t member, enum pool_admin admin);

/* ABI_BACKEND_UP and ABI_BACKEND_KEEP as they are at `now_ms`; write them before the slots. */
uint32_t pool_member_flags(const struct pool *pool, size_t member, uint64_t now_ms);
/* When a member's flags next change by time alone; UINT64_MAX: never. */
uint64_t pool_next_deadline_ms(const struct pool *pool, uint64_t now_ms);

/*
 * Brings `slots` (pool_table_size words, shared with running packets) to the present state: each
 * word that differs is stored whole, the others are not touched. Returns how many were stored.
 */
uint32_t pool_write_slots(struct pool *pool, uint64_t *slots);
/*
 * The same at the cost of what changes, for `slots` that hold what the last call of one of the two
 * brought them to; others are not looked at, so with anything else in them stay as they are.
 */
uint32_t pool_update_slots(struct pool *pool, uint64_t *slots);
/* The member that serves a slot as of the last such call, or HASH_NOBODY (hash/maglev.h). */
uint32_t pool_slot_owner(const struct pool *pool, uint32_t slot);
/* The same by the base table, whatever anyone's state. */
uint32_t pool_slot_base(const struct pool *pool, uint32_t slot);
