/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When may a slot be settled again? Flows from before the change have an entry as soon as a packet
 * of theirs comes, so whoever has none after the idle time has been silent for that long, which is
 * where a connection table would have forgotten it. What is left are entries that name another
 * backend; a survey finds them. It takes its time, so it must have begun when the slot was ripe,
 * and a slot whose owner changed meanwhile waits for the next one.
 *
 * All of a slot is one word, for a pool may have 131071 of them and most are never in transition.
 * A bit a slot says of which there is anything to know, and the others' words are not even read.
 * Nothing is kept sorted: what is due by time is looked for in all that have their bit, once for
 * all slots that changed in one event.
 */
#include "pool/transition.h"

#include "base/time.h"
#include "dp/abi_slot.h"

#define SINCE_MAX ((1ULL << 40) - 1)

_Static_assert(sizeof(struct transition) == 8, "a slot's transition is one word");
_Static_assert(ABI_INDEX_BITS == 20, "a record's index fits");

static uint64_t earlier_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t later_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t ripe_ms(const struct transitions *all, const struct transition *slot)
{
	uint64_t alone = slot->previous ? time_later_ms(slot->since_ms, all->idle_ms)
					: slot->since_ms;
	uint64_t waits = earlier_of(all->wait_until_ms,
				    time_later_ms(slot->since_ms, TRANSITION_WAITS * all->idle_ms));

	return later_of(later_of(alone, waits), all->hold_until_ms);
}

static uint64_t late_ms(const struct transitions *all, const struct transition *slot)
{
	return slot->late ? UINT64_MAX : time_later_ms(slot->since_ms, all->datagram_ms);
}

/* Who has been silent for so long is no flow any more: what comes without an entry then, from
 * before, is from another node, and of its present owner rather than of the one before. */
static uint64_t weak_ms(const struct transitions *all, const struct transition *slot)
{
	if (!all->weakens || slot->weak || !slot->previous)
		return UINT64_MAX;
	return time_later_ms(slot->since_ms, all->idle_ms);
}

/* Of a slot that is settled, but whose previous owner is remembered. */
static uint64_t forgotten_ms(const struct transitions *all, const struct transition *slot)
{
	return time_later_ms(slot->since_ms, TRANSITION_WAITS * all->idle_ms);
}

/* When its word changes by time alone. */
static uint64_t turn_ms(const struct transitions *all, const struct transition *slot)
{
	if (!slot->on)
		return slot->previous ? forgotten_ms(all, slot) : UINT64_MAX;
	return earlier_of(late_ms(all, slot), weak_ms(all, slot));
}

static void expect(struct transitions *all, const struct transition *slot)
{
	all->next_ripe_ms = earlier_of(all->next_ripe_ms, ripe_ms(all, slot));
	all->next_turn_ms = earlier_of(all->next_turn_ms, turn_ms(all, slot));
}

static bool is_known(const struct transitions *all, uint32_t at)
{
	return all->known[at / TRANSITION_WORD] >> at % TRANSITION_WORD & 1;
}

static void set_known(struct transitions *all, uint32_t at)
{
	all->known[at / TRANSITION_WORD] |= 1ULL << at % TRANSITION_WORD;
}

static void clear(struct transitions *all, uint32_t at)
{
	all->slots[at] = (struct transition){0};
	all->known[at / TRANSITION_WORD] &= ~(1ULL << at % TRANSITION_WORD);
}

static void start(struct transitions *all, uint32_t at, uint32_t previous, uint64_t now_ms)
{
	struct transition *slot = &all->slots[at];

	all->count += !slot->on;
	set_known(all, at);
	slot->on = 1;
	slot->late = slot->weak = 0;
	slot->previous = previous;
	slot->since_ms = now_ms < SINCE_MAX ? now_ms : SINCE_MAX;
	expect(all, slot);
}

static void remember(struct transitions *all, uint32_t at, uint32_t previous, uint64_t now_ms)
{
	struct transition *slot = &all->slots[at];

	set_known(all, at);
	*slot = (struct transition){.previous = previous, .weak = 1};
	slot->since_ms = now_ms < SINCE_MAX ? now_ms : SINCE_MAX;
	all->next_turn_ms = earlier_of(all->next_turn_ms, turn_ms(all, slot));
}

static void turn(struct transitions *all, uint32_t at, uint64_t now_ms)
{
	struct transition *slot = &all->slots[at];

	if (!slot->on) {
		clear(all, at);
		return;
	}
	slot->late |= late_ms(all, slot) <= now_ms;
	slot->weak |= weak_ms(all, slot) <= now_ms;
}

/* No flow of this node needs the slot's previous owner any more; those of others may. */
static void end(struct transitions *all, uint32_t at)
{
	if (all->weakens && all->slots[at].previous)
		remember(all, at, all->slots[at].previous, all->survey_from_ms);
	else
		clear(all, at);
}

void transitions_init(struct transitions *all, struct arena *arena, uint32_t size)
{
	all->slots = arena_array(arena, size, sizeof(*all->slots));
	all->known = arena_array(arena, size / TRANSITION_WORD + 1, sizeof(*all->known));
	all->size = size;
	all->next_turn_ms = all->next_ripe_ms = UINT64_MAX;
}

uint32_t transitions_next(const struct transitions *all, uint32_t from)
{
	uint32_t word = from / TRANSITION_WORD, last = all->size / TRANSITION_WORD;
	uint64_t bits = all->known[word] & ~0ULL << from % TRANSITION_WORD;

	while (!bits && word < last)
		bits = all->known[++word];
	return bits ? word * TRANSITION_WORD + (uint32_t)__builtin_ctzll(bits) : all->size;
}

uint64_t transition_begin(struct transitions *all, uint32_t at, uint32_t from, uint64_t now_ms)
{
	struct transition *slot = &all->slots[at];
	bool fresh = !is_known(all, at) && from;

	slot->changed = 1;
	/* The oldest owner stays: flows of those after it have entries. Not so a weak one: of flows
	 * that have none, more are of the one who is seen to have the slot. */
	if (!slot->on || ((!slot->previous || slot->weak) && from))
		start(all, at, from, now_ms);
	if (fresh)
		all->fresh = *slot;
	return transition_word(all, at);
}

void transition_tell(struct transitions *all, uint32_t at, uint32_t from, uint64_t now_ms)
{
	transition_begin(all, at, from, now_ms);
	all->slots[at].weak = 1;
}

void transition_await(struct transitions *all, uint32_t at, uint32_t from, uint64_t now_ms)
{
	const struct transition *slot = &all->slots[at];

	transition_begin(all, at, slot->on && slot->previous ? 0 : from, now_ms);
}

void transition_come(struct transitions *all, uint32_t at, uint32_t to, uint64_t now_ms)
{
	struct transition *slot = &all->slots[at];

	transition_begin(all, at, 0, now_ms);
	if (slot->previous != to)
		return;
	slot->previous = 0;
	expect(all, slot);
}

void transition_adopt(struct transitions *all, uint32_t at, uint64_t word, uint64_t now_ms)
{
	struct transition *slot = &all->slots[at];

	bool told = slot->previous && (!abi_slot_previous(word) || word & ABI_SLOT_ASK);

	if (slot->previous == abi_slot_current(word))
		slot->weak = 0;
	if (!(word & ABI_SLOT_TRANSITION) && !slot->previous && abi_slot_previous(word))
		remember(all, at, abi_slot_previous(word), now_ms);
	if (!(word & ABI_SLOT_TRANSITION) || told)
		return;
	start(all, at, abi_slot_previous(word), now_ms);
	slot->late = (word & ABI_SLOT_LATE) != 0;
	slot->weak = (word & ABI_SLOT_ASK) != 0;
}

void transition_inherit(struct transitions *all, uint32_t at, const struct transition *from,
			bool keeps_previous)
{
	struct transition *slot = &all->slots[at];

	*slot = *from;
	if (!keeps_previous)
		slot->previous = slot->weak = 0;
	/* Who is only remembered is so for packets that name two. */
	if (!all->weakens && !slot->on)
		slot->previous = 0;
	if (!all->weakens)
		slot->weak = 0;
	if (slot->on || slot->previous)
		set_known(all, at);
	else
		clear(all, at);
	all->count += slot->on;
}

void transitions_inherit(struct transitions *all, const struct transitions *from)
{
	all->hold_from_ms = from->hold_from_ms;
	all->hold_until_ms = from->hold_until_ms;
	all->wait_until_ms = from->wait_until_ms;
	all->next_turn_ms = all->next_ripe_ms = UINT64_MAX;
	all->fresh.on = 0;
	for (uint32_t at = 0; (at = transitions_next(all, at)) < all->size; at++) {
		if (all->slots[at].on)
			expect(all, &all->slots[at]);
		else
			all->next_turn_ms =
				earlier_of(all->next_turn_ms, turn_ms(all, &all->slots[at]));
	}
}

void transitions_wait(struct transitions *all, uint64_t now_ms)
{
	uint64_t last_ms = time_later_ms(all->hold_from_ms, TRANSITION_WAITS * all->idle_ms);

	all->fresh.on = 0;
	all->wait_until_ms = time_later_ms(now_ms, all->idle_ms);
	if (now_ms < all->hold_until_ms)
		all->hold_until_ms = earlier_of(all->wait_until_ms, last_ms);
}

void transitions_hold(struct transitions *all, uint64_t now_ms)
{
	all->fresh.on = 0;
	all->hold_from_ms = now_ms;
	all->hold_until_ms = time_later_ms(now_ms, all->idle_ms);
	for (uint32_t slot = 0; slot < all->size; slot++)
		transition_begin(all, slot, 0, now_ms);
}

bool transition_drop_weak(struct transitions *all, uint32_t at)
{
	struct transition *slot = &all->slots[at];

	if (!slot->weak)
		return false;
	slot->previous = slot->weak = 0;
	if (slot->on)
		expect(all, slot);
	return true;
}

/* Who is told, and of what next. */
struct telling {
	transition_told *told;
	void *arg;
	size_t count;
	uint32_t slots[TRANSITION_BATCH];
};

static void tell_to(struct telling *telling, transition_told *told, void *arg)
{
	telling->told = told;
	telling->arg = arg;
	telling->count = 0;
}

static void tell_all(struct telling *telling)
{
	if (telling->count > 0)
		telling->told(telling->arg, telling->slots, telling->count);
	telling->count = 0;
}

static void tell(struct telling *telling, uint32_t at)
{
	telling->slots[telling->count++] = at;
	if (telling->count == TRANSITION_BATCH)
		tell_all(telling);
}

void transitions_forget(struct transitions *all, uint32_t record, transition_told *told, void *arg)
{
	struct telling telling;

	tell_to(&telling, told, arg);
	for (uint32_t at = 0; (at = transitions_next(all, at)) < all->size; at++) {
		struct transition *slot = &all->slots[at];

		if (slot->previous != record)
			continue;
		slot->previous = 0;
		if (slot->on)
			expect(all, slot);
		tell(&telling, at);
	}
	tell_all(&telling);
}

void transitions_pass_time(struct transitions *all, uint64_t now_ms, transition_told *told,
			   void *arg)
{
	struct telling telling;

	if (now_ms < all->next_turn_ms)
		return;
	tell_to(&telling, told, arg);
	all->next_turn_ms = UINT64_MAX;
	all->fresh.on = 0;
	for (uint32_t at = 0; (at = transitions_next(all, at)) < all->size; at++) {
		struct transition *slot = &all->slots[at];

		if (turn_ms(all, slot) <= now_ms) {
			turn(all, at, now_ms);
			tell(&telling, at);
		}
		all->next_turn_ms = earlier_of(all->next_turn_ms, turn_ms(all, slot));
	}
	tell_all(&telling);
}

uint64_t transitions_deadline_ms(const struct transitions *all, uint64_t now_ms)
{
	uint64_t ripe = all->next_ripe_ms > now_ms ? all->next_ripe_ms : UINT64_MAX;

	return all->next_turn_ms > now_ms ? earlier_of(all->next_turn_ms, ripe) : ripe;
}

bool transitions_are_ripe(const struct transitions *all, uint64_t now_ms)
{
	return all->count > 0 && all->next_ripe_ms <= now_ms;
}

void transitions_begin_survey(struct transitions *all, uint64_t now_ms)
{
	all->survey_from_ms = now_ms;
	for (uint32_t at = 0; (at = transitions_next(all, at)) < all->size; at++)
		all->slots[at].changed = 0;
}

void transitions_end_survey(struct transitions *all, transition_pinned *pinned,
			    const void *pinned_arg, transition_told *told, void *arg)
{
	struct telling telling;

	tell_to(&telling, told, arg);
	all->next_ripe_ms = UINT64_MAX;
	all->fresh.on = 0;
	for (uint32_t at = 0; (at = transitions_next(all, at)) < all->size; at++) {
		struct transition *slot = &all->slots[at];

		if (!slot->on)
			continue;
		if (slot->changed || ripe_ms(all, slot) > all->survey_from_ms ||
		    pinned(pinned_arg, at)) {
			expect(all, slot);
			continue;
		}
		end(all, at);
		all->count--;
		tell(&telling, at);
	}
	tell_all(&telling);
}
