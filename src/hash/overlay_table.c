/* SPDX-License-Identifier: BSD-2-Clause */
#include "hash/overlay_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hash/maglev.h"
#include "hash/overlay.h"

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

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
	while (b != 0) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

uint32_t overlay_coprime(uint32_t wanted, uint32_t size)
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
	return overlay_coprime((uint32_t)(places * 618ULL / 1000), places);
}

/* Gives every member its run, in the order in which they first appear. */
static void make_runs(struct overlay *overlay, const uint32_t *base)
{
	uint32_t places = 0, guess = 0;

	for (uint32_t slot = 0; slot < overlay->size; slot++) {
		uint32_t owner = base[slot];

		if (owner == HASH_NOBODY)
			continue;
		if (overlay->run_of[owner] == UINT16_MAX) {
			overlay->run_of[owner] = (uint16_t)overlay->run_count;
			overlay->lenders[overlay->run_count++].member = (uint16_t)owner;
		}
		overlay->runs[overlay->run_of[owner]].end++;
	}
	for (uint32_t i = 0; i < overlay->run_count; i++) {
		struct run *run = &overlay->runs[i];

		run->begin = run->limit = places;
		places += run->end;
		run->end = places;
		for (; guess * OVERLAY_GUESS < places; guess++)
			overlay->guess[guess] = (uint16_t)i;
	}
	overlay->lenders[overlay->run_count].usable = PARTLY;
	overlay->place_count = places;
	overlay->factor = places ? choose_factor(places) : 0;
	overlay->reciprocal = places ? UINT64_MAX / places : 0;
}

static void find_slots(struct overlay *overlay, const uint32_t *base)
{
	uint32_t nobodys = overlay->place_count;

	for (uint32_t slot = 0; slot < overlay->size; slot++) {
		uint32_t owner = base[slot];
		uint32_t place = owner == HASH_NOBODY
					 ? nobodys++
					 : overlay->runs[overlay->run_of[owner]].limit++;

		overlay->places[place].slot = slot;
		overlay->place_of[slot] = place;
	}
}

/* Where the walk of a place is, while everybody is usable. */
struct walk {
	uint32_t at, step;
};

/* The run of the next candidate that is in neither of two, or run_count. */
static uint32_t walk_on(const struct overlay *overlay, struct walk *walk, uint32_t own,
			uint32_t other)
{
	while (walk->step < OVERLAY_STEPS) {
		uint32_t run;

		walk->at = overlay_step(overlay, walk->at, ++walk->step);
		run = overlay_run_at(overlay, walk->at);
		if (run != own && run != other)
			return run;
	}
	return overlay->run_count;
}

static void find_candidates(struct overlay *overlay)
{
	for (uint32_t run = 0; run < overlay->run_count; run++) {
		for (uint32_t i = overlay->runs[run].begin; i < overlay->runs[run].end; i++) {
			struct place *place = &overlay->places[i];
			struct walk walk = {.at = i};

			place->first = (uint16_t)walk_on(overlay, &walk, run, run);
			place->second = (uint16_t)walk_on(overlay, &walk, run, place->first);
			overlay->group_end[place->first]++;
		}
	}
}

/* From the groups' lengths to where they end. */
static void group_followers(struct overlay *overlay)
{
	uint32_t *end = overlay->group_end, begin = 0;

	for (uint32_t run = 0; run <= overlay->run_count; run++) {
		uint32_t count = end[run];

		end[run] = begin;
		begin += count;
	}
	for (uint32_t run = 0; run < overlay->run_count; run++) {
		for (uint32_t i = overlay->runs[run].begin; i < overlay->runs[run].end; i++) {
			const struct place *place = &overlay->places[i];
			union follower it = {
				.place = i, .slot = place->slot, .second = place->second};

			/* As a whole: to write a field of bits is to read what was there. */
			overlay->followers[end[place->first]++].bits = it.bits;
		}
	}
}

static bool names_members(const uint32_t *base, uint32_t size, size_t members)
{
	for (uint32_t slot = 0; slot < size; slot++) {
		if (base[slot] != HASH_NOBODY && base[slot] >= members)
			return false;
	}
	return members <= OVERLAY_MEMBERS_MAX;
}

int overlay_new(const uint32_t *base, uint32_t size, size_t members, struct overlay **ret)
{
	size_t runs = members < size ? members : size, guesses = size / OVERLAY_GUESS + 1;
	struct overlay *overlay;

	if (size > MAGLEV_SIZE_MAX || !names_members(base, size, members))
		return -EINVAL;
	overlay = calloc(1, sizeof(*overlay) +
				    (runs + 1) * (sizeof(struct run) + sizeof(struct lender)) +
				    size * (sizeof(union follower) + sizeof(struct place)) +
				    (runs + 1 + size) * sizeof(uint32_t) +
				    (guesses + members) * sizeof(uint16_t));
	if (!overlay)
		return -ENOMEM;
	overlay->size = size;
	overlay->members = (uint32_t)members;
	overlay->followers = (union follower *)overlay->room;
	overlay->places = (struct place *)(overlay->followers + size);
	overlay->runs = (struct run *)(overlay->places + size);
	overlay->lenders = (struct lender *)(overlay->runs + runs + 1);
	overlay->group_end = (uint32_t *)(overlay->lenders + runs + 1);
	overlay->place_of = overlay->group_end + runs + 1;
	overlay->run_of = (uint16_t *)(overlay->place_of + size);
	overlay->guess = overlay->run_of + members;
	memset(overlay->run_of, 0xff, members * sizeof(uint16_t));
	make_runs(overlay, base);
	find_slots(overlay, base);
	find_candidates(overlay);
	group_followers(overlay);
	*ret = overlay;
	return 0;
}

void overlay_free(struct overlay *overlay)
{
	free(overlay);
}

uint32_t overlay_place(const struct overlay *overlay, uint32_t slot)
{
	return overlay->place_of[slot];
}

uint32_t overlay_slot(const struct overlay *overlay, uint32_t place)
{
	return overlay->places[place].slot;
}

uint32_t overlay_base(const struct overlay *overlay, uint32_t place)
{
	if (place >= overlay->place_count)
		return HASH_NOBODY;
	return overlay->lenders[overlay_run_at(overlay, place)].member;
}
