/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who serves a slot while its base owner cannot: the slot borrows from another slot of the same
 * base table, found by a pseudo-random walk of its own. The answer depends on the base table and
 * on the members' shares alone, so every node reaches the same one, a failure moves only the
 * failed member's slots, and a return gives exactly those back. What can be known from the base
 * table is worked out once, in a struct overlay; the state that is applied is noted in it too, so
 * one thread at a time uses it.
 *
 * A share is 0 to 100 %. A member is usable in that part of its own base slots, the nearest whole
 * number of them but one at least, in a fixed order: those of a smaller share are among those of a
 * larger one, so that a step from one to the other moves the slots between alone. Down is 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct overlay;

/*
 * `base` has `size` slots that each name one of `members` or HASH_NOBODY. A slot of nobody stays
 * nobody's whatever happens. 0, -EINVAL (a slot names no member, more than MAGLEV_SIZE_MAX slots or
 * 65534 members) or -ENOMEM.
 */
int overlay_new(const uint32_t *base, uint32_t size, size_t members, struct overlay **ret);
void overlay_free(struct overlay *overlay);

/*
 * Slots sorted by base owner: each has a place, from 0 to the table's size, and those of a member
 * have places in a row. So what is kept by place is met in a row where a member's state changes.
 * Slots of nobody come last.
 */
uint32_t overlay_place(const struct overlay *overlay, uint32_t slot);
uint32_t overlay_slot(const struct overlay *overlay, uint32_t place);
uint32_t overlay_base(const struct overlay *overlay, uint32_t place);

/* Of `slots` own slots those in which a member of this share is usable. */
static inline uint32_t overlay_quota(uint32_t slots, unsigned share)
{
	uint64_t nearest = ((uint64_t)slots * share + 50) / 100;

	return nearest || !share || !slots ? (uint32_t)nearest : 1;
}

/*
 * Who serves a slot: the base owner where it is usable, else another member, borrowed from, else
 * the base owner after all if it is usable elsewhere, else HASH_NOBODY (all shares are 0). `other`
 * is the slot's second owner: the base owner where another serves, else who would serve if the base
 * owner's share were 0, HASH_NOBODY if nobody.
 */
typedef void overlay_answer(void *arg, uint32_t slot, uint32_t owner, uint32_t other);

/*
 * Calls, in no particular order, with each slot whose answer may differ between the shares `was`
 * and `share` (both by member, 0 to 100), once; with `was` NULL with every slot that has a base
 * owner.
 */
void overlay_apply(const struct overlay *overlay, const uint8_t *was, const uint8_t *share,
		   overlay_answer *answer, void *arg);

/*
 * The same for who goes through memory and had better know what comes: many at a time, most of them
 * in rising order, with the place and the base owner. Members are in 16 bits. `next` are as many
 * again, which most probably will be told next: their slots are worth asking memory for.
 */
enum { OVERLAY_NOBODY = UINT16_MAX };
struct overlay_change {
	uint32_t place, slot;
	uint16_t base, owner, other;
	bool kept; /* its base owner serves it before and after: only the other owner may change */
	bool open; /* of no meaning to who is told */
};
typedef void overlay_answers(void *arg, const struct overlay_change *changes, size_t count,
			     const struct overlay_change *next);
void overlay_change(const struct overlay *overlay, const uint8_t *was, const uint8_t *share,
		    overlay_answers *answers, void *arg);
