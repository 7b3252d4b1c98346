/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool turns what is known of its members (pool/member.c) into slot words.
 *
 * Events only change these states; the table follows when somebody asks for the words, so any
 * number of events cost one update. An update visits only the slots that it may move.
 */
#include "pool/pool.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "dp/abi.h"
#include "hash/maglev.h"
#include "hash/overlay.h"
#include "hash/ring.h"
#include "pool/member.h"

struct serving {
	uint32_t owner;
	uint32_t other;
};

struct pool {
	struct arena *arena; /* owns all but the overlay and the ring */
	const char *name;
	struct members members;
	uint32_t size;
	uint32_t *base;          /* by slot */
	struct serving *served;  /* by slot */
	struct overlay *overlay; /* of a Maglev table */
	struct ring *ring;       /* in place of it */
	bool settled;            /* `served` and the counts are as `was` says */
	uint8_t *was;            /* by member: its share then */
	uint8_t *now;            /* by member: its share now, while settling */
};

/* Where the words of changed slots go; `slots` NULL: nowhere. */
struct writing {
	struct pool *pool;
	uint64_t *slots;
	uint32_t stored;
};

static struct member *member_of(const struct pool *pool, size_t member)
{
	assert(member < pool->members.count);
	return &pool->members.items[member];
}

static bool spec_is_valid(const struct pool_spec *spec)
{
	if (spec->tokens ? !spec->table_size || spec->table_size > RING_SIZE_MAX
			 : !maglev_size_allowed(spec->table_size))
		return false;
	for (size_t i = 0; i < spec->member_count; i++) {
		if (spec->members[i].index == 0 || spec->members[i].index > ABI_INDEX_MASK)
			return false;
	}
	return true;
}

static struct pool *pool_alloc(const struct pool_spec *spec)
{
	struct arena *arena = arena_new();
	struct pool *pool = arena_alloc(arena, sizeof(*pool));

	pool->arena = arena;
	pool->name = arena_strdup(arena, spec->name);
	pool->size = spec->table_size;
	pool->base = arena_array(arena, pool->size, sizeof(uint32_t));
	pool->served = arena_array(arena, pool->size, sizeof(*pool->served));
	for (uint32_t slot = 0; slot < pool->size; slot++)
		pool->served[slot] = (struct serving){HASH_NOBODY, HASH_NOBODY};
	pool->was = arena_array(arena, spec->member_count, sizeof(uint8_t));
	pool->now = arena_array(arena, spec->member_count, sizeof(uint8_t));
	pool->members.items = arena_array(arena, spec->member_count, sizeof(struct member));
	members_init(&pool->members, spec);
	for (size_t i = 0; i < spec->member_count; i++)
		pool->members.items[i].name = arena_strdup(arena, spec->members[i].name);
	return pool;
}

static int build_maglev(struct pool *pool, const struct maglev_member *members,
			const struct pool_spec *spec)
{
	int error = maglev_build(members, spec->member_count, spec->seed, pool->size, pool->base);

	return error ? error
		     : overlay_new(pool->base, pool->size, pool->members.count, &pool->overlay);
}

static int build_ring(struct pool *pool, const struct maglev_member *members,
		      const struct pool_spec *spec)
{
	int error = ring_new(members, spec->member_count, spec->seed, spec->tokens, pool->size,
			     &pool->ring);

	for (uint32_t slot = 0; !error && slot < pool->size; slot++)
		pool->base[slot] = ring_base(pool->ring, slot);
	return error;
}

static int build_base(struct pool *pool, const struct pool_spec *spec)
{
	struct maglev_member *members =
		arena_array(pool->arena, spec->member_count, sizeof(*members));

	for (size_t i = 0; i < spec->member_count; i++) {
		members[i].identity = spec->members[i].identity;
		members[i].weight = spec->members[i].weight;
	}
	if (!spec->tokens)
		return build_maglev(pool, members, spec);
	return build_ring(pool, members, spec);
}

int pool_new(const struct pool_spec *spec, struct pool **ret)
{
	struct pool *pool;
	int error;

	if (!spec_is_valid(spec))
		return -EINVAL;
	pool = pool_alloc(spec);
	error = build_base(pool, spec);
	if (error)
		pool_free(pool);
	else
		*ret = pool;
	return error;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	overlay_free(pool->overlay);
	ring_free(pool->ring);
	arena_free(pool->arena);
}

const char *pool_name(const struct pool *pool)
{
	return pool->name;
}

uint32_t pool_table_size(const struct pool *pool)
{
	return pool->size;
}

size_t pool_member_count(const struct pool *pool)
{
	return pool->members.count;
}

const char *pool_member_name(const struct pool *pool, size_t member)
{
	return member_of(pool, member)->name;
}

enum pool_health pool_member_health(const struct pool *pool, size_t member)
{
	return member_of(pool, member)->health;
}

enum pool_admin pool_member_admin(const struct pool *pool, size_t member)
{
	return member_of(pool, member)->admin;
}

uint32_t pool_member_slots(const struct pool *pool, size_t member)
{
	return member_of(pool, member)->slots;
}

unsigned pool_member_share(const struct pool *pool, size_t member)
{
	return member_of(pool, member)->share;
}

bool pool_member_usable(const struct pool *pool, size_t member)
{
	return member_of(pool, member)->share > 0;
}

void pool_set_health(struct pool *pool, size_t member, enum pool_health health, uint64_t now_ms)
{
	assert(member < pool->members.count);
	members_set_health(&pool->members, member, health, now_ms);
}

void pool_set_admin(struct pool *pool, size_t member, enum pool_admin admin, uint64_t now_ms)
{
	assert(member < pool->members.count);
	members_set_admin(&pool->members, member, admin, now_ms);
}

void pool_set_share(struct pool *pool, size_t member, unsigned percent, uint64_t now_ms)
{
	assert(member < pool->members.count);
	members_set_share(&pool->members, member, percent, now_ms);
}

void pool_advance(struct pool *pool, uint64_t now_ms)
{
	members_update(&pool->members, now_ms);
}

uint32_t pool_member_flags(const struct pool *pool, size_t member, uint64_t now_ms)
{
	assert(member < pool->members.count);
	return members_flags(&pool->members, member, now_ms);
}

bool pool_member_is_cut(const struct pool *pool, size_t member, uint64_t now_ms)
{
	assert(member < pool->members.count);
	return members_is_cut(&pool->members, member, now_ms);
}

uint64_t pool_next_deadline_ms(const struct pool *pool, uint64_t now_ms)
{
	return members_next_deadline_ms(&pool->members, now_ms);
}

static uint32_t index_of(const struct pool *pool, uint32_t member)
{
	return member == HASH_NOBODY ? 0 : pool->members.items[member].index;
}

static void store_word(struct writing *writing, uint32_t slot)
{
	const struct serving *served = &writing->pool->served[slot];
	uint64_t word = abi_slot(index_of(writing->pool, served->owner), 0,
				 index_of(writing->pool, served->other));

	if (__atomic_load_n(&writing->slots[slot], __ATOMIC_RELAXED) == word)
		return;
	__atomic_store_n(&writing->slots[slot], word, __ATOMIC_RELEASE);
	writing->stored++;
}

static void serve(void *arg, uint32_t slot, uint32_t owner, uint32_t other)
{
	struct writing *writing = arg;
	struct pool *pool = writing->pool;
	struct serving *served = &pool->served[slot];

	if (served->owner == owner && served->other == other)
		return;
	if (served->owner != HASH_NOBODY)
		pool->members.items[served->owner].slots--;
	if (owner != HASH_NOBODY)
		pool->members.items[owner].slots++;
	*served = (struct serving){owner, other};
	if (writing->slots)
		store_word(writing, slot);
}

static void settle(struct pool *pool, struct writing *writing, uint64_t now_ms)
{
	const uint8_t *was = pool->settled ? pool->was : NULL;

	members_update(&pool->members, now_ms);
	for (size_t i = 0; i < pool->members.count; i++)
		pool->now[i] = (uint8_t)pool_member_share(pool, i);
	if (pool->ring)
		ring_apply(pool->ring, was, pool->now, serve, writing);
	else
		overlay_apply(pool->overlay, was, pool->now, serve, writing);
	memcpy(pool->was, pool->now, pool->members.count);
	pool->settled = true;
}

uint32_t pool_write_slots(struct pool *pool, uint64_t *slots, uint64_t now_ms)
{
	struct writing writing = {pool, NULL, 0};

	settle(pool, &writing, now_ms);
	writing.slots = slots;
	for (uint32_t slot = 0; slot < pool->size; slot++)
		store_word(&writing, slot);
	return writing.stored;
}

uint32_t pool_update_slots(struct pool *pool, uint64_t *slots, uint64_t now_ms)
{
	struct writing writing = {pool, slots, 0};

	settle(pool, &writing, now_ms);
	return writing.stored;
}

uint32_t pool_slot_owner(const struct pool *pool, uint32_t slot)
{
	return slot < pool->size ? pool->served[slot].owner : HASH_NOBODY;
}

uint32_t pool_slot_base(const struct pool *pool, uint32_t slot)
{
	return slot < pool->size ? pool->base[slot] : HASH_NOBODY;
}
