/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who serves a slot while its base owner cannot: the slot borrows from another slot of the same
 * base table, found by a pseudo-random walk of its own. The answer depends on the base table and
 * on the set of usable members alone, so every node reaches the same one, a failure moves only
 * the failed member's slots, and a return gives exactly those back. What can be known from the
 * base table is worked out once, in a struct overlay, which then is read-only and may be shared
 * between threads; the answers go to arrays that the caller owns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct overlay;

/*
 * `base` has `size` slots that each name one of `members` or HASH_NOBODY; it must outlive the
 * overlay and stay as it is. A slot of nobody stays nobody's whatever happens. 0, -EINVAL (a slot
 * names no member) or -ENOMEM.
 */
int overlay_new(const uint32_t *base, uint32_t size, size_t members, struct overlay **ret);
void overlay_free(struct overlay *overlay);

/*
 * Brings `owners` and `others` from the state `was` to the state `usable` (both by member). With
 * `was` NULL they may hold anything before. `owners` gets the base owner where it is usable, else
 * the member borrowed from, else HASH_NOBODY (no member is usable). `others` gets the slot's
 * second owner: the base owner where the slot is borrowed, else who would serve if the base owner
 * were not usable, HASH_NOBODY if nobody.
 */
void overlay_apply(const struct overlay *overlay, const bool *was, const bool *usable,
		   uint32_t *owners, uint32_t *others);

/* Calls for every slot that overlay_apply may change between the two states, each once. */
typedef void overlay_visit(void *arg, uint32_t slot);
void overlay_each_touched(const struct overlay *overlay, const bool *was, const bool *usable,
			  overlay_visit *visit, void *arg);
