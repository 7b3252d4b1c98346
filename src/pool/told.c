/* SPDX-License-Identifier: BSD-2-Clause */
/* What a pool tells of its slots. */
#include "pool/state.h"

uint32_t pool_moving_slots(const struct pool *pool)
{
	return pool->transitions.count;
}

struct pool_moves pool_moves(const struct pool *pool)
{
	return pool->moves;
}

uint32_t pool_slot_owner(const struct pool *pool, uint32_t slot)
{
	uint16_t owner = slot < pool->size ? pool->owners[pool_place(pool, slot)] : NOBODY;

	return owner == NOBODY ? HASH_NOBODY : owner;
}

uint32_t pool_slot_base(const struct pool *pool, uint32_t slot)
{
	uint16_t base = slot < pool->size ? pool_base(pool, pool_place(pool, slot)) : NOBODY;

	return base == NOBODY ? HASH_NOBODY : base;
}
