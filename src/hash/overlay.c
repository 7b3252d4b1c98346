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

enum { RINGS = 8, NEAR = 16, BATCH = 128 };

#define PENDING (HASH_NOBODY - 1) /* what a walk finds that finds nobody */

/* A change of which it is open who lends, and where the walk is that finds him. */
struct walker {
	struct overlay_change *change;
	uint32_t run, at;
	uint32_t found; /* a run, or PENDING */
};

/* Changes that are told at once. */
struct batch {
	uint32_t count;
	struct overlay_change changes[BATCH];
};

/* The state that is being applied, and what is not told yet. */
struct state {
	const struct overlay *overlay;
	const uint8_t *share;
	overlay_answers *answer;
	void *arg;
	uint32_t serving;                /* usable members that own slots */
	uint32_t only;                   /* the run of one of them */
	uint32_t rings;                  /* a bit for each ring that has to answer a slot */
	uint32_t strides[RINGS];         /* of those that were asked */
	struct batch *now;               /* is being filled; the other one is told next */
	struct overlay_change *at, *end; /* where its next change goes, and where none does */
	bool open;                       /* a walk has to answer some of them */
	struct batch batches[2];
	uint64_t pending[MAGLEV_SIZE_MAX / 64 + 1]; /* a bit for each slot that a ring answers */
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
	uint8_t left[BATCH];

	for (uint32_t i = 0; i < count; i++)
		left[i] = (uint8_t)i;
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

/* If nobody is to be borrowed from, the base owner serves what it lent. */
static void borrow(const struct state *state, struct overlay_change *change, const struct run *own,
		   uint16_t from)
{
	uint16_t base = change->base;
	bool serves = change->place < own->limit ||
		      (from == OVERLAY_NOBODY && state->share[base] > 0);

	change->owner = serves ? base : from;
	change->other = serves ? from : base;
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

/* The run of a slot in which its owner is usable, or PENDING. */
static uint32_t usable_at(const struct overlay *overlay, uint32_t slot)
{
	uint32_t place = overlay->place_of[slot], run;

	if (place >= overlay->place_count)
		return PENDING;
	run = overlay_run_at(overlay, place);
	return place < overlay->runs[run].limit ? run : PENDING;
}

/* What ask_ring would answer, or PENDING if that is not near. */
static uint32_t look_ahead(struct state *state, uint32_t slot, uint32_t own)
{
	const struct overlay *overlay = state->overlay;
	uint32_t stride = stride_of(state, ring_of(slot)), at = slot;

	for (uint32_t i = 0; i < NEAR; i++) {
		uint32_t run;

		at += stride;
		at -= at >= overlay->size ? overlay->size : 0;
		run = usable_at(overlay, at);
		if (run != PENDING && run != own)
			return run;
	}
	return PENDING;
}

/* The bits are made ready for the first one. */
static void await_ring(struct state *state, uint32_t slot)
{
	if (!state->rings)
		memset(state->pending, 0, sizeof(state->pending));
	state->rings |= 1U << ring_of(slot);
	set_bit(state->pending, slot);
}

/* Returns whether that is an answer: else a ring has it. */
static bool answer_walker(struct state *state, const struct walker *walker)
{
	struct overlay_change *change = walker->change;
	const struct overlay *overlay = state->overlay;
	uint32_t found = walker->found;

	if (state->serving <= 1)
		found = walker->run != state->only ? state->only : HASH_NOBODY;
	if (found == PENDING)
		found = look_ahead(state, change->slot, walker->run);
	if (found == PENDING) {
		await_ring(state, change->slot);
		return false;
	}
	borrow(state, change, &overlay->runs[walker->run],
	       found == HASH_NOBODY ? OVERLAY_NOBODY : overlay->lenders[found].member);
	return true;
}

/* From the last one on, so that who takes the place of one without an answer has his. */
static void answer_walkers(struct state *state, struct batch *batch)
{
	struct walker walkers[BATCH];
	uint32_t count = 0;

	for (uint32_t i = 0; i < batch->count; i++) {
		struct overlay_change *change = &batch->changes[i];

		walkers[count].change = change;
		walkers[count].at = change->place;
		count += change->open;
	}
	for (uint32_t i = 0; i < count; i++)
		walkers[i].run = overlay_run_at(state->overlay, walkers[i].at);
	if (state->serving > 1)
		walk(state->overlay, walkers, count);
	while (count-- > 0) {
		if (!answer_walker(state, &walkers[count]))
			*walkers[count].change = batch->changes[--batch->count];
	}
}

/* Tells of the batch before, now that it is known what comes after it. Returns where the next
 * change goes. */
static struct overlay_change *flush(struct state *state, struct overlay_change *at)
{
	struct batch *now = state->now;
	struct batch *before = &state->batches[now == &state->batches[0]];

	now->count = (uint32_t)(at - now->changes);
	if (state->open)
		answer_walkers(state, now);
	state->open = false;
	if (before->count > 0)
		state->answer(state->arg, before->changes, before->count, now->changes);
	before->count = 0;
	state->now = before;
	state->end = before->changes + BATCH;
	return before->changes;
}

/* Of two who are ahead on the ring the first one that is not its own serves. */
static void tell_pending(struct state *state, uint32_t slot, uint32_t next, uint32_t then)
{
	const struct overlay *overlay = state->overlay;
	uint32_t place = overlay->place_of[slot], own = overlay_run_at(overlay, place);
	uint32_t found = next != own ? next : then;

	*state->at = (struct overlay_change){
		.place = place,
		.slot = slot,
		.base = overlay->lenders[own].member,
		.kept = place < overlay->runs[own].steady,
	};
	borrow(state, state->at, &overlay->runs[own],
	       found == PENDING ? OVERLAY_NOBODY : overlay->lenders[found].member);
	if (++state->at == state->end)
		state->at = flush(state, state->at);
}

/* Answers what is pending in one ring: two rounds backwards, the first to know what comes. */
static void ask_ring(struct state *state, uint32_t ring)
{
	const struct overlay *overlay = state->overlay;
	uint32_t size = overlay->size, at = 0, stride = stride_of(state, ring);
	uint32_t next = PENDING; /* the run of the next usable slot ahead */
	uint32_t then = PENDING; /* and of the next one that is another's */

	for (uint32_t i = 0; i < 2 * size; i++) {
		uint32_t here = usable_at(overlay, at);

		if (i >= size && has_bit(state->pending, at) && ring_of(at) == ring)
			tell_pending(state, at, next, then);
		if (here != PENDING && next != here) {
			then = next;
			next = here;
		}
		at = at >= stride ? at - stride : at + size - stride;
	}
}

/* Of the first two candidates the second, if the first is usable nowhere. */
static inline struct lender candidate(const struct lender *lenders, uint32_t first, uint32_t second)
{
	return lenders[lenders[first].usable == NOWHERE ? second : first];
}

/*
 * By that candidate, if it is usable wholly; or by a walk, which is for the batch's end: which of
 * both nobody could foresee. Returns where the next change goes.
 */
static inline struct overlay_change *note(struct state *state, struct overlay_change *at,
					  uint16_t base, struct lender found, bool here)
{
	at->base = base;
	at->owner = here ? base : found.member;
	at->other = here ? found.member : base;
	at->open = found.usable != WHOLLY;
	state->open |= at->open;
	return ++at == state->end ? flush(state, at) : at;
}

/* Places of a run that are not steady, in all of which it is usable or in none. */
static inline void answer_places(struct state *state, uint32_t run, uint32_t begin, uint32_t end,
				 bool here)
{
	const struct lender *lenders = state->overlay->lenders;
	const struct place *places = state->overlay->places;
	struct overlay_change *at = state->at;
	uint16_t base = lenders[run].member;

	for (uint32_t i = begin; i < end; i++) {
		struct place it = places[i];

		at->place = i;
		at->slot = it.slot;
		at->kept = false;
		at = note(state, at, base, candidate(lenders, it.first, it.second), here);
	}
	state->at = at;
}

/* Of a group those that are steady, but whose first candidate may not be, or that have none. */
static void answer_group(struct state *state, uint32_t run)
{
	const struct overlay *overlay = state->overlay;
	const struct lender *lenders = overlay->lenders;
	const struct run *runs = overlay->runs, *first = &runs[run];
	const union follower *followers = overlay->followers;
	struct overlay_change *at = state->at;
	uint32_t begin = 0, steady = 0, own = 0, end = overlay->group_end[run];

	if (run < overlay->run_count) {
		begin = first->begin;
		steady = first->steady;
	}
	for (uint32_t i = run ? overlay->group_end[run - 1] : 0; i < end; i++) {
		union follower it = followers[i];
		uint32_t place = it.place;

		while (place >= runs[own].end)
			own++;
		if (place >= runs[own].steady)
			continue;
		if (steady > begin) {
			uint32_t to = overlay_step(overlay, place, 1);

			if (to >= begin && to < steady)
				continue;
		}
		at->place = place;
		at->slot = it.slot;
		at->kept = true;
		at = note(state, at, lenders[own].member, candidate(lenders, run, it.second), true);
	}
	state->at = at;
}

static void answer_touched(struct state *state)
{
	const struct overlay *overlay = state->overlay;

	for (uint32_t run = 0; run < overlay->run_count; run++) {
		const struct run *it = &overlay->runs[run];

		if (it->steady == it->end)
			continue;
		answer_places(state, run, it->steady, it->limit, true);
		answer_places(state, run, it->limit, it->end, false);
		answer_group(state, run);
	}
	answer_group(state, overlay->run_count);
	state->at = flush(state, state->at);
}

/* Brings the runs' limits to the state. */
static void set_limits(struct state *state, const uint8_t *was)
{
	const struct overlay *overlay = state->overlay;

	for (uint32_t i = 0; i < overlay->run_count; i++) {
		struct lender *lender = &overlay->lenders[i];
		struct run *run = &overlay->runs[i];
		uint32_t length = run->end - run->begin;
		uint8_t now = state->share[lender->member], before = was ? was[lender->member] : 0;

		run->limit = run->begin + overlay_quota(length, now);
		run->steady = run->begin + overlay_quota(length, before < now ? before : now);
		lender->usable = run->limit == run->end ? WHOLLY : now > 0 ? PARTLY : NOWHERE;
		if (now > 0) {
			state->serving++;
			state->only = i;
		}
	}
}

void overlay_change(const struct overlay *overlay, const uint8_t *was, const uint8_t *share,
		    overlay_answers *answers, void *arg)
{
	struct state state; /* of which most is written before it is read */

	if (was && memcmp(was, share, overlay->members) == 0)
		return;
	memset(&state, 0, offsetof(struct state, pending));
	state.overlay = overlay;
	state.share = share;
	state.answer = answers;
	state.arg = arg;
	state.only = HASH_NOBODY;
	state.now = state.batches;
	state.at = state.now->changes;
	state.end = state.at + BATCH;
	set_limits(&state, was);
	answer_touched(&state);
	for (uint32_t ring = 0; ring < RINGS; ring++) {
		if (state.rings >> ring & 1)
			ask_ring(&state, ring);
	}
	state.at = flush(&state, state.at);
	flush(&state, state.at);
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

static void tell_each(void *arg, const struct overlay_change *changes, size_t count,
		      const struct overlay_change *next)
{
	const struct listener *listener = arg;

	(void)next;
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
