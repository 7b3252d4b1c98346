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
	if (slot >= pool->size || pool->served[slot].owner == NOBODY)
		return HASH_NOBODY;
	return pool->served[slot].owner;
}

uint32_t pool_slot_base(const struct pool *pool, uint32_t slot)
{
	return slot < pool->size ? pool->base[slot] : HASH_NOBODY;
}
