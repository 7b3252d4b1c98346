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
 * average out. Who is near along a ring is looked for from the slot; else a pass backwards along
 * the ring answers for all of its slots at once, which bounds the worst case.
 *
 * Both are "the first usable one of a fixed sequence", which is what makes a failure or a return
 * move the member's own slots alone. Nothing that looks at loads could have that property.
 *
 * A member of a smaller share is usable in the first places of its run, as many as the share says,
 * so that each place has a level: the least share from which on it is usable. A step of p * factor
 * leads from any row of neighbouring places to all runs alike, and to the same part of each, so
 * the rest of a run is lent as evenly as the whole. (A scattered order was tried: less even.)
 *
 * Most slots never look beyond their first candidates. So that an event costs no more than what it
 * moves, two lists are kept by member: the slots it owns, and those whose first candidate it is. A
 * slot is untouched while its place and its first candidate's are usable before and after. And with
 * each slot the lists name the first two candidates that are not one member, which is all that is
 * asked for when one member fails (overlay_table.c makes these lists).
 *
 * Other walks are many, short and of no common length, and a wrong guess of where one ends costs
 * more than the step. So a batch of them takes each step together, without a branch on what it
 * finds, and those that found nobody go on. Whose a place is needs no table by place, which would
 * be in no cache: runs are few, and a guess for each stretch of places leads to the right one.
 */
#include "hash/overlay.h"

#include <stdbool.h>
#include <string.h>

#include "hash/maglev.h"
#include "hash/overlay_table.h"

enum { RINGS = 8, NEAR = 16, WALKERS = 512, CHANGES = 1024 };

#define PENDING (HASH_NOBODY - 1) /* what a walk finds that finds nobody */

/* A place and where its walk is. */
struct walker {
	uint32_t place, slot, run;
	uint32_t at;
	uint32_t found; /* a run, or PENDING */
};

/* The state that is being applied, and what is not answered yet. */
struct state {
	const struct overlay *overlay;
	const uint8_t *share;
	overlay_answers *answer;
	void *arg;
	uint32_t serving;        /* usable members that own slots */
	uint32_t only;           /* the run of one of them */
	uint32_t rings;          /* a bit for each ring that has to answer a slot */
	uint32_t strides[RINGS]; /* of those that were asked */
	uint32_t walker_count, change_count;
	struct walker walkers[WALKERS];
	struct overlay_change changes[CHANGES];
	uint64_t pending[MAGLEV_SIZE_MAX / 64 + 1]; /* a bit for each such slot */
};

/* Every bit of the result depends on every bit of the input (splitmix64's finisher). */
static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

/* Finds the run of the first candidate of each that is usable and not its own, or PENDING. */
static void walk(const struct overlay *overlay, struct walker *walkers, uint32_t count)
{
	uint16_t left[WALKERS];

	for (uint32_t i = 0; i < count; i++) {
		left[i] = (uint16_t)i;
		walkers[i].at = walkers[i].place;
	}
	for (uint32_t step = 1; step <= OVERLAY_STEPS && count > 0; step++) {
		uint32_t still = 0;

		for (uint32_t i = 0; i < count; i++) {
			struct walker *walker = &walkers[left[i]];
			uint32_t at = overlay_step(overlay, walker->at, step);
			uint32_t run = overlay_run_at(overlay, at);
			bool found = (at < overlay->runs[run].limit) & (run != walker->run);

			walker->at = at;
			walker->found = found ? run : PENDING;
			left[still] = left[i];
			still += !found;
		}
		count = still;
	}
}

static uint32_t ring_of(uint32_t slot)
{
	return mix(slot) % RINGS;
}

static void flush_changes(struct state *state)
{
	state->answer(state->arg, state->changes, state->change_count);
	state->change_count = 0;
}

/* If nobody is to be borrowed from, the base owner serves what it lent. */
static inline void tell(struct state *state, uint32_t place, uint32_t slot, const struct run *own,
			uint16_t borrowed)
{
	uint16_t base = own->member;
	bool serves = place < own->limit || (borrowed == OVERLAY_NOBODY && state->share[base] > 0);

	state->changes[state->change_count++] = (struct overlay_change){
		.place = place,
		.slot = slot,
		.base = base,
		.owner = serves ? base : borrowed,
		.other = serves ? borrowed : base,
		.kept = place < own->steady,
	};
	if (state->change_count == CHANGES)
		flush_changes(state);
}

static bool has_bit(const uint64_t *bits, uint32_t slot)
{
	return bits[slot / 64] >> slot % 64 & 1;
}

static void set_bit(uint64_t *bits, uint32_t slot)
{
	bits[slot / 64] |= 1ULL << slot % 64;
}

static uint32_t stride_of(struct state *state, uint32_t ring)
{
	uint32_t size = state->overlay->size;

	if (!state->strides[ring])
		state->strides[ring] = overlay_coprime((uint32_t)(mix(ring + 1) % size), size);
	return state->strides[ring];
}

/* The run of a slot in which its owner is usable, or NULL. */
static const struct run *usable_at(const struct overlay *overlay, uint32_t slot)
{
	uint32_t place = overlay->place_of[slot];
	const struct run *run;

	if (place >= overlay->place_count)
		return NULL;
	run = &overlay->runs[overlay_run_at(overlay, place)];
	return place < run->limit ? run : NULL;
}

/* Of two who are ahead on the ring the first one that is not its own serves. */
static void tell_pending(struct state *state, uint32_t slot, const struct run *next,
			 const struct run *then)
{
	const struct overlay *overlay = state->overlay;
	uint32_t place = overlay->place_of[slot];
	const struct run *own = &overlay->runs[overlay_run_at(overlay, place)];
	const struct run *found = next != own ? next : then;

	tell(state, place, slot, own, found ? found->member : OVERLAY_NOBODY);
}

/* Answers what is pending in one ring: two rounds backwards, the first to know what comes. */
static void ask_ring(struct state *state, uint32_t ring)
{
	const struct overlay *overlay = state->overlay;
	uint32_t size = overlay->size, at = 0, stride = stride_of(state, ring);
	const struct run *next = NULL; /* of the next usable slot ahead */
	const struct run *then = NULL; /* of the next one that is another's */

	for (uint32_t i = 0; i < 2 * size; i++) {
		const struct run *here = usable_at(overlay, at);

		if (i >= size && has_bit(state->pending, at) && ring_of(at) == ring)
			tell_pending(state, at, next, then);
		if (here && next != here) {
			then = next;
			next = here;
		}
		at = at >= stride ? at - stride : at + size - stride;
	}
}

/* What ask_ring would answer, or PENDING if that is not near. */
static uint32_t look_ahead(struct state *state, uint32_t slot, const struct run *own)
{
	const struct overlay *overlay = state->overlay;
	uint32_t stride = stride_of(state, ring_of(slot)), at = slot;

	for (uint32_t i = 0; i < NEAR; i++) {
		const struct run *run;

		at += stride;
		at -= at >= overlay->size ? overlay->size : 0;
		run = usable_at(overlay, at);
		if (run && run != own)
			return run->member;
	}
	return PENDING;
}

static void answer_walker(struct state *state, const struct walker *walker)
{
	const struct run *runs = state->overlay->runs, *own = &runs[walker->run];
	uint32_t found = walker->found, member;

	if (state->serving <= 1)
		found = walker->run != state->only ? state->only : HASH_NOBODY;
	if (found == PENDING)
		member = look_ahead(state, walker->slot, own);
	else
		member = found == HASH_NOBODY ? OVERLAY_NOBODY : runs[found].member;
	if (member != PENDING) {
		tell(state, walker->place, walker->slot, own, (uint16_t)member);
		return;
	}
	state->rings |= 1U << ring_of(walker->slot);
	set_bit(state->pending, walker->slot);
}

static void flush_walkers(struct state *state)
{
	if (state->serving > 1)
		walk(state->overlay, state->walkers, state->walker_count);
	for (uint32_t i = 0; i < state->walker_count; i++)
		answer_walker(state, &state->walkers[i]);
	state->walker_count = 0;
}

/* Of the first two candidates the second, if the first is usable nowhere. */
static inline const struct run *candidate(const struct run *runs, uint32_t first, uint32_t second)
{
	return &runs[runs[first].usable == NOWHERE ? second : first];
}

/*
 * By that candidate, if it is usable wholly; or by a walk. Which of both nobody could foresee, so
 * the slot is noted as either and counted as one.
 */
static inline void answer(struct state *state, uint32_t place, uint32_t slot, const struct run *own,
			  const struct run *found)
{
	struct walker *walker = &state->walkers[state->walker_count];
	bool here = place < own->limit, known = found->usable == WHOLLY;

	state->changes[state->change_count] = (struct overlay_change){
		.place = place,
		.slot = slot,
		.base = own->member,
		.owner = here ? own->member : found->member,
		.other = here ? found->member : own->member,
		.kept = place < own->steady,
	};
	walker->place = place;
	walker->slot = slot;
	walker->run = (uint32_t)(own - state->overlay->runs);
	state->change_count += known;
	state->walker_count += !known;
	if (state->change_count == CHANGES)
		flush_changes(state);
	if (state->walker_count == WALKERS)
		flush_walkers(state);
}

/* All places of a run that are not steady. */
static void answer_run(struct state *state, uint32_t run)
{
	const struct run *runs = state->overlay->runs, *own = &runs[run];
	const struct place *places = state->overlay->places;

	for (uint32_t i = own->steady, end = own->end; i < end; i++)
		answer(state, i, places[i].slot, own,
		       candidate(runs, places[i].first, places[i].second));
}

/* Of a group those that are steady, but whose first candidate may not be, or that have none. */
static void answer_group(struct state *state, uint32_t run)
{
	const struct overlay *overlay = state->overlay;
	const union follower *followers = overlay->followers;
	const struct run *own = overlay->runs, *first = &overlay->runs[run];
	uint32_t begin = 0, steady = 0, end = overlay->group_end[run];

	if (run < overlay->run_count) {
		begin = first->begin;
		steady = first->steady;
	}
	for (uint32_t i = run ? overlay->group_end[run - 1] : 0; i < end; i++) {
		union follower it = followers[i];

		while (it.place >= own->end)
			own++;
		if (it.place >= own->steady)
			continue;
		if (steady > begin) {
			uint32_t at = overlay_step(overlay, it.place, 1);

			if (at >= begin && at < steady)
				continue;
		}
		answer(state, it.place, it.slot, own, candidate(overlay->runs, run, it.second));
	}
}

static void answer_touched(struct state *state)
{
	const struct overlay *overlay = state->overlay;

	for (uint32_t run = 0; run < overlay->run_count; run++) {
		if (overlay->runs[run].steady == overlay->runs[run].end)
			continue;
		answer_run(state, run);
		answer_group(state, run);
	}
	answer_group(state, overlay->run_count);
	flush_walkers(state);
}

/* Brings the runs' limits to the state. */
static void set_limits(struct state *state, const uint8_t *was)
{
	const struct overlay *overlay = state->overlay;

	for (uint32_t i = 0; i < overlay->run_count; i++) {
		struct run *run = &overlay->runs[i];
		uint32_t length = run->end - run->begin;
		uint8_t now = state->share[run->member], before = was ? was[run->member] : 0;

		run->limit = run->begin + overlay_quota(length, now);
		run->steady = run->begin + overlay_quota(length, before < now ? before : now);
		run->usable = run->limit == run->end ? WHOLLY : now > 0 ? PARTLY : NOWHERE;
		if (now > 0) {
			state->serving++;
			state->only = i;
		}
	}
}

void overlay_change(const struct overlay *overlay, const uint8_t *was, const uint8_t *share,
		    overlay_answers *answers, void *arg)
{
	struct state state = {
		.overlay = overlay,
		.share = share,
		.answer = answers,
		.arg = arg,
		.only = HASH_NOBODY,
	};

	if (was && memcmp(was, share, overlay->members) == 0)
		return;
	set_limits(&state, was);
	answer_touched(&state);
	for (uint32_t ring = 0; ring < RINGS; ring++) {
		if (state.rings >> ring & 1)
			ask_ring(&state, ring);
	}
	flush_changes(&state);
}

/* Who wants one answer at a time. */
struct listener {
	overlay_answer *answer;
	void *arg;
};

static uint32_t widen(uint16_t member)
{
	return member == OVERLAY_NOBODY ? HASH_NOBODY : member;
}

static void tell_each(void *arg, const struct overlay_change *changes, size_t count)
{
	const struct listener *listener = arg;

	for (size_t i = 0; i < count; i++)
		listener->answer(listener->arg, changes[i].slot, widen(changes[i].owner),
				 widen(changes[i].other));
}

void overlay_apply(const struct overlay *overlay, const uint8_t *was, const uint8_t *share,
		   overlay_answer *answer_slot, void *arg)
{
	struct listener listener = {answer_slot, arg};

	overlay_change(overlay, was, share, tell_each, &listener);
}
