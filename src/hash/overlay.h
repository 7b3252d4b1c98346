/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who serves a slot while its base owner cannot: the slot borrows from another slot of the same
 * base table, found by a pseudo-random walk of its own. The answer depends on the base table and
 * on the set of usable members alone, so every node reaches the same one, a failure moves only
 * the failed member's slots, and a return gives exactly those back. Pure functions over arrays
 * that the caller owns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * For each of `size` slots: `owners` gets the base owner where it is usable, else the member
 * borrowed from, else HASH_NOBODY (no member is usable). `others` gets the slot's second owner:
 * the base owner where the slot is borrowed, else who would serve if the base owner were not
 * usable, HASH_NOBODY if nobody. `usable[m]` is by member. `base` may hold HASH_NOBODY.
 */
void overlay_apply(const uint32_t *base, uint32_t size, const bool *usable, size_t members,
		   uint32_t *owners, uint32_t *others);
