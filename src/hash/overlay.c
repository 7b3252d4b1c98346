/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a slot finds whom to borrow from.
 *
 * Think of the base table sorted by owner, the owners in the order of their first slots: every
 * member has a run of places as long as its share. A slot at place p asks the owner of the place
 * p * factor + 1 (modulo the number of places), from there goes on in the same way, and takes the
 * first owner that is usable and not its own. Each step maps the places one to one, and neighbours
 * far apart, so the slots of one run are spread over all runs, and each run is asked by all, much
 * more evenly than by chance. Members are known by their first slots only, never by their number
 * in a list: the same base table gives the same answer whatever the list's order.
 *
 * A slot that has found nobody after STEPS steps (hardly anybody is usable) asks a ring: all slots
 * in the order i * stride, and the next one with a usable owner serves. There are RINGS rings of
 * different strides and each slot belongs to one, so that the arcs before a member's few slots
 * average out. A pass backwards along a ring answers for all of its slots at once, which bounds
 * the worst case.
 *
 * Both are "the first usable one of a fixed sequence", which is what makes a failure or a return
 * move the member's own slots alone. Nothing that looks at loads could have that property.
 *
 * A member of a smaller share is usable in the first places of its run, as many as the share says,
 * so that each place has a level: the least share from which on it is usable. A step of p * factor
 * leads from any row of neighbouring places to all runs alike, and to the same part of each, so
 * the rest of a run is lent as evenly as the whole. (A scattered order was tried: less even.)
 *
 * Most slots never look beyond their first candidate. So that an event costs no more than what it
 * moves, two lists are kept by member: the slots it owns, and those whose first candidate it is.
 * A slot is untouched while its place and its first candidate's are usable before and after.
 */
#include "hash/overlay.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hash/maglev.h"

enum { STEPS = 24, RINGS = 8, FULL = 100 };
enum { OWNER_BITS = 24, OWNER_MASK = (1 << OWNER_BITS) - 1 };

#define PENDING (HASH_NOBODY - 1) /* what a walk finds that finds nobody */

/*
 * Factors for the sizes of Maglev tables. Of those whose first four powers, as fractions of the
 * size, have small partial quotients only (each step then is even alone, and with the step
 * before), the ones that kept shares evenest with one and with half of the members down.
 */
static const struct {
	uint32_t size;
	uint32_t factor;
} factors[] = {
	{251, 183},     {509, 215},     {1021, 231},     {2039, 1173},
	{4093, 940},    {8191, 1856},   {16381, 4881},   {32749, 26474},
	{65521, 48368}, {65537, 54285}, {131071, 74145},
};

/* A place is a position in the base table sorted by owner; the owners' runs stand in the order of
 * their first slots, and a run's slots in rising order. */
struct overlay {
	const uint32_t *base;
	uint32_t size;
	uint32_t members;
	uint32_t places; /* slots that have an owner */
	uint32_t factor;
	uint32_t *run;        /* by member: its first place */
	uint32_t *length;     /* by member: its places */
	uint32_t *slot;       /* by place */
	uint32_t *owner;      /* by place: the member, and from OWNER_BITS on its level */
	uint32_t *second;     /* places by their first candidate, last those that have none */
	uint32_t *second_end; /* by member, and one more for "none": where its group ends */
	uint32_t room[];      /* for all of these */
};

/* The state that is being applied, and what is not answered yet. */
struct state {
	const struct overlay *overlay;
	const uint8_t *was;
	const uint8_t *share;
	overlay_answer *answer;
	void *arg;
	uint32_t serving; /* usable members that own slots */
	uint32_t only;    /* one of them */
	uint32_t rings;   /* a bit for each ring that has to answer a slot */
	uint64_t pending[MAGLEV_SIZE_MAX / 64 + 1]; /* a bit for each such slot */
};

/* Every bit of the result depends on every bit of the input (splitmix64's finisher). */
static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

static uint32_t owner_of(const struct overlay *overlay, uint32_t place)
{
	return overlay->owner[place] & OWNER_MASK;
}

static bool is_usable(const struct overlay *overlay, const uint8_t *share, uint32_t place)
{
	return share[owner_of(overlay, place)] >= overlay->owner[place] >> OWNER_BITS;
}

/* The owner of the first candidate of a place that is usable and not its own, or PENDING. */
static uint32_t walk(const struct overlay *overlay, const uint8_t *share, uint32_t place)
{
	uint32_t owner = owner_of(overlay, place);
	uint64_t at = place;

	/* Adding another number at each step leaves no place that leads to itself for ever. */
	for (uint32_t step = 1; step <= STEPS; step++) {
		uint32_t member;

		at = (at * overlay->factor + step) % overlay->places;
		member = owner_of(overlay, (uint32_t)at);
		if (member != owner && is_usable(overlay, share, (uint32_t)at))
			return member;
	}
	return PENDING;
}

static uint32_t ring_of(uint32_t slot)
{
	return mix(slot) % RINGS;
}

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
	while (b != 0) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The first number from `wanted` on that visits all of `size` places when they are stepped or
 * multiplied by it. */
static uint32_t coprime(uint32_t wanted, uint32_t size)
{
	while (greatest_divisor(wanted, size) != 1)
		wanted++;
	return wanted % size;
}

static uint32_t choose_factor(uint32_t places)
{
	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
		if (factors[i].size == places)
			return factors[i].factor;
	}
	return coprime((uint32_t)(places * 618ULL / 1000), places);
}

/* `here`: the owner is usable in this slot. If nobody else is anywhere, it serves what it lent. */
static void tell(const struct state *state, uint32_t slot, uint32_t owner, uint32_t borrowed,
		 bool here)
{
	if (here || (borrowed == HASH_NOBODY && state->share[owner] > 0))
		state->answer(state->arg, slot, owner, borrowed);
	else
		state->answer(state->arg, slot, borrowed, owner);
}

static bool has_bit(const uint64_t *bits, uint32_t slot)
{
	return bits[slot / 64] >> slot % 64 & 1;
}

static void set_bit(uint64_t *bits, uint32_t slot)
{
	bits[slot / 64] |= 1ULL << slot % 64;
}

/* Answers what is pending in one ring: two rounds backwards, the first to know what comes. */
static void ask_ring(const struct state *state, uint32_t ring, const uint64_t *usable)
{
	uint32_t size = state->overlay->size, at = 0;
	uint32_t stride = coprime((uint32_t)(mix(ring + 1) % size), size);
	uint32_t next = HASH_NOBODY; /* the owner of the next usable slot ahead */
	uint32_t then = HASH_NOBODY; /* of the next one that is another's */

	for (uint32_t i = 0; i < 2 * size; i++) {
		uint32_t owner = state->overlay->base[at];
		bool here = has_bit(usable, at);

		if (i >= size && has_bit(state->pending, at) && ring_of(at) == ring)
			tell(state, at, owner, next != owner ? next : then, here);
		if (here && next != owner) {
			then = next;
			next = owner;
		}
		at = at >= stride ? at - stride : at + size - stride;
	}
}

static void ask_rings(const struct state *state)
{
	const struct overlay *overlay = state->overlay;
	uint64_t usable[MAGLEV_SIZE_MAX / 64 + 1] = {0}; /* a bit for each slot */

	for (uint32_t place = 0; place < overlay->places; place++) {
		if (is_usable(overlay, state->share, place))
			set_bit(usable, overlay->slot[place]);
	}
	for (uint32_t ring = 0; ring < RINGS; ring++) {
		if (state->rings >> ring & 1)
			ask_ring(state, ring, usable);
	}
}

static void answer(struct state *state, uint32_t place)
{
	const struct overlay *overlay = state->overlay;
	uint32_t owner = owner_of(overlay, place), slot = overlay->slot[place], found;

	if (state->serving > 1)
		found = walk(overlay, state->share, place);
	else
		found = owner != state->only ? state->only : HASH_NOBODY;
	if (found != PENDING) {
		tell(state, slot, owner, found, is_usable(overlay, state->share, place));
		return;
	}
	state->rings |= 1U << ring_of(slot);
	set_bit(state->pending, slot);
}

/* The share that the member has before and after: places up to that level are steady. */
static uint8_t steady_share(const struct state *state, uint32_t member)
{
	uint8_t was = state->was ? state->was[member] : 0;

	return was < state->share[member] ? was : state->share[member];
}

static bool is_steady(const struct state *state, uint32_t place)
{
	uint32_t owner = state->overlay->owner[place];

	return steady_share(state, owner & OWNER_MASK) >= owner >> OWNER_BITS;
}

/* The places that are not steady, and of the others those whose first candidate may not be, or
 * that have none. */
static void answer_touched(struct state *state)
{
	const struct overlay *overlay = state->overlay;
	uint32_t members = overlay->members, end = 0;

	for (uint32_t member = 0; member <= members; member++) {
		uint8_t steady = member < members ? steady_share(state, member) : 0;
		uint32_t begin = end, length = member < members ? overlay->length[member] : 0;

		end = overlay->second_end[member];
		if (steady == FULL)
			continue;
		for (uint32_t i = overlay_quota(length, steady); i < length; i++)
			answer(state, overlay->run[member] + i);
		for (uint32_t i = begin; i < end; i++) {
			if (is_steady(state, overlay->second[i]))
				answer(state, overlay->second[i]);
		}
	}
}

/* Gives every member its run, in the order in which they first appear. */
static void sort_by_owner(struct overlay *overlay)
{
	uint32_t places = 0;

	for (uint32_t slot = 0; slot < overlay->size; slot++) {
		if (overlay->base[slot] != HASH_NOBODY)
			overlay->length[overlay->base[slot]]++;
	}
	for (uint32_t slot = 0; slot < overlay->size; slot++) {
		uint32_t owner = overlay->base[slot];

		if (owner != HASH_NOBODY && overlay->run[owner] == HASH_NOBODY) {
			overlay->run[owner] = places;
			places += overlay->length[owner];
			overlay->length[owner] = 0;
		}
		if (owner == HASH_NOBODY)
			continue;
		overlay->slot[overlay->run[owner] + overlay->length[owner]] = slot;
		overlay->owner[overlay->run[owner] + overlay->length[owner]++] = owner;
	}
	overlay->places = places;
	overlay->factor = places ? choose_factor(places) : 0;
}

/* The first places of a run have the least levels. */
static void set_levels(struct overlay *overlay, uint32_t member)
{
	uint32_t level = 1;

	for (uint32_t i = 0; i < overlay->length[member]; i++) {
		while (overlay_quota(overlay->length[member], level) <= i)
			level++;
		overlay->owner[overlay->run[member] + i] |= level << OWNER_BITS;
	}
}

/* Groups the places by the first candidate. `first` is room for one number a place, `everybody`
 * the state in which all are usable. */
static void group_by_second(struct overlay *overlay, const uint8_t *everybody, uint32_t *first)
{
	uint32_t begin = 0;

	for (uint32_t place = 0; place < overlay->places; place++) {
		first[place] = walk(overlay, everybody, place);
		if (first[place] == PENDING)
			first[place] = overlay->members;
		overlay->second_end[first[place]]++;
	}
	for (uint32_t member = 0; member <= overlay->members; member++) {
		uint32_t count = overlay->second_end[member];

		overlay->second_end[member] = begin;
		begin += count;
	}
	for (uint32_t place = 0; place < overlay->places; place++)
		overlay->second[overlay->second_end[first[place]]++] = place;
}

static bool names_members(const uint32_t *base, uint32_t size, size_t members)
{
	for (uint32_t slot = 0; slot < size; slot++) {
		if (base[slot] != HASH_NOBODY && base[slot] >= members)
			return false;
	}
	return members <= OWNER_MASK;
}

int overlay_new(const uint32_t *base, uint32_t size, size_t members, struct overlay **ret)
{
	size_t numbers = 3 * (size_t)size + 3 * (members + 1);
	struct overlay *overlay;
	uint32_t *first;
	uint8_t *everybody;

	if (size > MAGLEV_SIZE_MAX || !names_members(base, size, members))
		return -EINVAL;
	overlay = calloc(1, sizeof(*overlay) + numbers * sizeof(uint32_t));
	first = malloc(size * sizeof(*first) + members + 1);
	if (!overlay || !first) {
		free(overlay);
		free(first);
		return -ENOMEM;
	}
	everybody = (uint8_t *)(first + size);
	memset(everybody, FULL, members);
	overlay->base = base;
	overlay->size = size;
	overlay->members = (uint32_t)members;
	overlay->slot = overlay->room;
	overlay->owner = overlay->slot + size;
	overlay->second = overlay->owner + size;
	overlay->second_end = overlay->second + size;
	overlay->run = overlay->second_end + members + 1;
	overlay->length = overlay->run + members;
	memset(overlay->run, 0xff, members * sizeof(uint32_t));
	sort_by_owner(overlay);
	for (uint32_t member = 0; member < overlay->members; member++)
		set_levels(overlay, member);
	group_by_second(overlay, everybody, first);
	free(first);
	*ret = overlay;
	return 0;
}

void overlay_free(struct overlay *overlay)
{
	free(overlay);
}

void overlay_apply(const struct overlay *overlay, const uint8_t *was, const uint8_t *share,
		   overlay_answer *tell_slot, void *arg)
{
	struct state state = {
		.overlay = overlay,
		.was = was,
		.share = share,
		.answer = tell_slot,
		.arg = arg,
		.only = HASH_NOBODY,
	};

	if (was && memcmp(was, share, overlay->members) == 0)
		return;
	for (uint32_t member = 0; member < overlay->members; member++) {
		if (share[member] > 0 && overlay->length[member] > 0) {
			state.serving++;
			state.only = member;
		}
	}
	answer_touched(&state);
	if (state.rings)
		ask_rings(&state);
}
