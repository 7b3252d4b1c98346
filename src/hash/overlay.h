/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who serves a slot while its base owner cannot: the slot borrows from another slot of the same
 * base table, found by a pseudo-random walk of its own. The answer depends on the base table and
 * on the set of usable members alone, so every node reaches the same one, a failure moves only
 * the failed member's slots, and a return gives exactly those back. What can be known from the
 * base table is worked out once, in a struct overlay, which then is read-only and may be shared
 * between threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct overlay;

/*
 * `base` has `size` slots that each name one of `members` or HASH_NOBODY; it must outlive the
 * overlay and stay as it is. A slot of nobody stays nobody's whatever happens. 0, -EINVAL (a slot
 * names no member, or more than MAGLEV_SIZE_MAX slots) or -ENOMEM.
 */
int overlay_new(const uint32_t *base, uint32_t size, size_t members, struct overlay **ret);
void overlay_free(struct overlay *overlay);

/*
 * Who serves a slot: the base owner where it is usable, else the member borrowed from, else
 * HASH_NOBODY (no member is usable). `other` is the slot's second owner: the base owner where the
 * slot is borrowed, else who would serve if the base owner were not usable, HASH_NOBODY if nobody.
 */
typedef void overlay_answer(void *arg, uint32_t slot, uint32_t owner, uint32_t other);

/*
 * Calls, in no particular order, with each slot whose answer may differ between the states `was`
 * and `usable` (both by member), once; with `was` NULL with every slot that has a base owner.
 */
void overlay_apply(const struct overlay *overlay, const bool *was, const bool *usable,
		   overlay_answer *answer, void *arg);
