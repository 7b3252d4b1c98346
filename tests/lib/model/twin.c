// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/model/twin.h"

static const uint8_t orders[TWIN_ORDERS][TWIN_MEMBERS] = {
	{0, 1, 2}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0},
};

uint32_t twin_flags(const struct twin *twin, uint32_t member)
{
	enum twin_health health = twin->health[member];
	enum twin_admin admin = twin->admin[member];

	if (admin == TWIN_REMOVED)
		return 0;
	return (admin == TWIN_ACTIVE && health == TWIN_UP ? ABI_BACKEND_UP : 0) |
	       (admin != TWIN_MAINT && health != TWIN_EXPIRED ? ABI_BACKEND_KEEP : 0) |
	       (health == TWIN_UP ? ABI_BACKEND_HEALTHY : 0);
}

/* The first usable one in the order that is not `but`; with `any` whether usable or not. */
static uint32_t first_of(const struct twin *twin, const struct twin_limits *limits, uint32_t but,
			 bool any)
{
	for (uint32_t i = 0; i < TWIN_MEMBERS; i++) {
		uint32_t member = orders[twin->order][i], record = member + TWIN_FIRST_RECORD;

		if (member >= limits->members || twin->admin[member] == TWIN_REMOVED ||
		    record == but)
			continue;
		if (any || twin_flags(twin, member) & ABI_BACKEND_UP)
			return record;
	}
	return 0;
}

uint32_t twin_owner(const struct twin *twin, const struct twin_limits *limits)
{
	return first_of(twin, limits, 0, false);
}

/* The base owner while another serves in its place, else who would serve in its place. */
static uint32_t other_of(const struct twin *twin, const struct twin_limits *limits, uint32_t owner)
{
	uint32_t base = first_of(twin, limits, 0, true);

	return base != owner ? base : first_of(twin, limits, owner, false);
}

bool twin_is_settled(const struct twin *twin, const struct twin_limits *limits)
{
	return abi_slot_current(twin->words[twin->at]) == twin_owner(twin, limits);
}

/* The slot begins a transition, or one that knows of nobody from before gets to know. */
static void begin(struct twin *twin, uint32_t from)
{
	uint64_t *word = &twin->words[twin->at];

	if (*word & ABI_SLOT_TRANSITION && (abi_slot_previous(*word) || !from))
		return;
	*word = (*word & ~(ABI_SLOT_LATE | abi_slot(0, ABI_INDEX_MASK, 0))) | abi_slot(0, from, 0) |
		ABI_SLOT_TRANSITION;
	twin->since_age = 0;
}

/* In maintenance, or no member any more: its flows are cut for good. */
static bool is_cut(const struct twin *twin, uint32_t record)
{
	return record && twin->admin[record - TWIN_FIRST_RECORD] >= TWIN_MAINT;
}

static bool is_lowered(const struct twin *twin, uint32_t record)
{
	return record && twin->lowered & 1 << (record - TWIN_FIRST_RECORD);
}

static bool is_up(const struct twin *twin, uint32_t record)
{
	return record && twin_flags(twin, record - TWIN_FIRST_RECORD) & ABI_BACKEND_UP;
}

static void change_owner(struct twin *twin, uint32_t owner)
{
	uint64_t word = twin->words[twin->at];
	uint32_t current = abi_slot_current(word), other = abi_slot_other(word);

	if (current == owner) {
		/* It went and came back: flows that began meanwhile did so with the other owner. So
		 * they did where nobody served, and the other one came and went. */
		if (owner ? is_lowered(twin, owner) && is_up(twin, owner) : is_lowered(twin, other))
			begin(twin, 0);
	} else if (current) {
		begin(twin, is_cut(twin, current) ? 0 : current);
	} else if (other != owner && (is_up(twin, other) || is_lowered(twin, other))) {
		begin(twin, 0);
	}
}

bool twin_settle(struct twin *twin, const struct twin_limits *limits)
{
	uint64_t *word = &twin->words[twin->at], before = *word;
	uint32_t owner = twin_owner(twin, limits), previous;
	uint8_t lowered = twin->lowered;

	change_owner(twin, owner);
	previous = abi_slot_previous(*word);
	if (is_cut(twin, previous))
		previous = 0;
	*word = abi_slot(owner, previous, other_of(twin, limits, owner)) |
		(*word & (ABI_SLOT_TRANSITION | ABI_SLOT_LATE));
	twin->lowered = 0;
	return *word != before || lowered;
}

/* A member's state has changed. Who comes back within moments has the word follow at once. */
static void changed(struct twin *twin, const struct twin_limits *limits, uint32_t member,
		    uint32_t flags)
{
	uint32_t now = twin_flags(twin, member);

	if (flags & ~now & ABI_BACKEND_UP)
		twin->lowered |= (uint8_t)(1U << member);
	if (now & ABI_BACKEND_UP && is_lowered(twin, member + TWIN_FIRST_RECORD))
		twin_settle(twin, limits);
}

bool twin_set_health(struct twin *twin, const struct twin_limits *limits, uint32_t member,
		     enum twin_health health)
{
	uint32_t flags = twin_flags(twin, member);
	bool differs = twin->health[member] != health;

	if (twin->admin[member] == TWIN_REMOVED ||
	    (health == TWIN_EXPIRED && twin->health[member] != TWIN_DOWN) ||
	    (health == TWIN_DOWN && twin->health[member] != TWIN_UP))
		return false;
	twin->health[member] = health;
	changed(twin, limits, member, flags);
	return differs;
}

bool twin_set_admin(struct twin *twin, const struct twin_limits *limits, uint32_t member,
		    enum twin_admin admin)
{
	enum twin_admin before = twin->admin[member];
	uint32_t flags = twin_flags(twin, member);

	/* One that comes anew is active. */
	if (before == admin || (before == TWIN_REMOVED && admin != TWIN_ACTIVE))
		return false;
	twin->admin[member] = admin;
	if (before == TWIN_REMOVED)
		twin->health[member] = TWIN_UP;
	changed(twin, limits, member, flags);
	if (before == TWIN_REMOVED || admin == TWIN_REMOVED)
		twin_settle(twin, limits);
	return true;
}

bool twin_set_order(struct twin *twin, const struct twin_limits *limits, uint8_t order)
{
	if (twin->order == order)
		return false;
	twin->order = order;
	twin_settle(twin, limits);
	return true;
}

bool twin_flip(struct twin *twin, const struct twin_limits *limits, uint8_t order)
{
	uint32_t owner;

	if (twin->flipping)
		return false;
	twin->order = order;
	twin->at ^= 1;
	twin->flipping = 1;
	twin->flip_age = 0;
	twin->since_age = 0;
	owner = twin_owner(twin, limits);
	twin->words[twin->at] = abi_slot(owner, 0, other_of(twin, limits, owner)) |
				ABI_SLOT_TRANSITION;
	return true;
}

bool twin_restart(struct twin *twin)
{
	bool differs = twin->since_age || (twin->flipping && twin->flip_age);

	twin->since_age = 0;
	twin->flip_age = 0;
	return differs;
}

static void grow_older(uint8_t *age, const struct twin_limits *limits)
{
	if (*age <= limits->idle)
		(*age)++;
}

void twin_step(struct twin *twin, const struct twin_limits *limits)
{
	uint64_t *word = &twin->words[twin->at];

	grow_older(&twin->relied_age, limits);
	/* Without anybody from before it is all the same how old a transition is. */
	if (*word & ABI_SLOT_TRANSITION && (abi_slot_previous(*word) || twin->flipping))
		grow_older(&twin->since_age, limits);
	if (*word & ABI_SLOT_TRANSITION && twin->since_age >= limits->late)
		*word |= ABI_SLOT_LATE;
	if (twin->flipping)
		grow_older(&twin->flip_age, limits);
}

void twin_end(struct twin *twin, const struct twin_limits *limits, bool pinned)
{
	uint64_t *word = &twin->words[twin->at];

	if (twin->relied_age < limits->idle)
		return;
	/* Entries that stand under its slots are live for a tick longer than the time says. */
	if (twin->flipping && twin->flip_age > limits->idle) {
		twin->flipping = 0;
		twin->flip_age = 0;
		twin->words[twin->at ^ 1] = 0;
	}
	if (!(*word & ABI_SLOT_TRANSITION) || twin->flipping || pinned ||
	    (abi_slot_previous(*word) && twin->since_age < limits->idle))
		return;
	*word = abi_slot(abi_slot_current(*word), 0, abi_slot_other(*word));
	twin->since_age = 0;
}
