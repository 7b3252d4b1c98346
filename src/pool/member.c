/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A member has three states that come from outside: what the operator wants of it (admin), what he
 * gives it of its weight (percent), and what its checks say (health). From these follow two
 * answers. How many new flows may it take (its share of its own slots)? That decides the table. May
 * its flows go on (keep)? That is a flag of its record, and moves no slot: a member that failed
 * keeps its flows for a time, since most failures are short and a check can be wrong, while new
 * ones avoid it at once.
 *
 *	admin		health		share		keep
 *	active		healthy		percent * ramp	yes
 *	active		unknown		0		yes: nothing is known against it
 *	active		unhealthy	0		for on_down_keep_ms after it failed
 *	drain		as above	0		as above, and for drain_limit_ms at most
 *	maint		any		0		no
 *
 * The ramp is 100 % but for one that was away, failed or put aside, and is back: its first steps
 * are slow. One that has only just become known was not away.
 *
 * A backup's share is 0 unless too few others serve. Who still ramps up is not counted, or a pool
 * of one and its backup would give all to the one in its first step; so the backup goes on until it
 * is through. Who has weight 0 or 0 % is not counted: nothing comes to it. With nobody but such
 * members the pool is empty: the operator wants no flow there, which is not for us to overrule.
 */
#include "pool/member.h"

#include "base/time.h"
#include "dp/abi.h"

enum { FULL = MEMBER_WHOLE, RAMP_STEPS = 10, RAMP_STEP = FULL / RAMP_STEPS };

static bool serves(const struct member *it)
{
	return it->admin == POOL_ACTIVE && it->health == POOL_HEALTHY;
}

/* When the ramp's step begins: the first, 0, at once, the last when slow_start_ms are over. */
static uint64_t step_at_ms(const struct members *members, const struct member *it, unsigned step)
{
	uint64_t whole = members->slow_start_ms / (RAMP_STEPS - 1);
	uint64_t rest = members->slow_start_ms % (RAMP_STEPS - 1);

	return time_later_ms(it->ramps_since_ms, whole * step + rest * step / (RAMP_STEPS - 1));
}

/* The next step that begins after `now_ms`; RAMP_STEPS: none. */
static unsigned next_step(const struct members *members, const struct member *it, uint64_t now_ms)
{
	unsigned step = 1;

	while (step < RAMP_STEPS && step_at_ms(members, it, step) <= now_ms)
		step++;
	return step;
}

static uint8_t own_share(const struct members *members, const struct member *it, uint64_t now_ms)
{
	unsigned ramp = it->ramps ? next_step(members, it, now_ms) * RAMP_STEP : FULL;
	unsigned share = (it->percent * ramp + FULL / 2) / FULL;

	if (!serves(it) || !it->percent)
		return 0;
	return share ? (uint8_t)share : 1;
}

static void set_share(const struct members *members, struct member *it, uint64_t now_ms)
{
	bool waits = it->backup && !members->backups_serve;
	uint8_t share = waits ? 0 : own_share(members, it, now_ms);

	it->lowered |= it->share > 0 && share == 0;
	it->share = share;
}

/* What time makes of a state that somebody set. */
static void advance(struct members *members, struct member *it, uint64_t now_ms)
{
	bool did_count = it->counts;

	if (it->admin != POOL_DRAIN) {
		it->drains = false;
	} else if (!it->drains) {
		it->drains = true;
		it->drains_since_ms = now_ms;
	}
	if (it->admin != POOL_ACTIVE || it->health == POOL_UNHEALTHY) {
		it->was_away = true;
		it->ramps = false;
	} else if (it->was_away && serves(it)) {
		it->was_away = false;
		it->ramps = true;
		it->ramps_since_ms = now_ms;
	}
	if (it->ramps && next_step(members, it, now_ms) == RAMP_STEPS)
		it->ramps = false;
	it->counts = !it->backup && it->weighs && it->percent && serves(it) && !it->ramps;
	members->others += (size_t)it->counts - did_count;
}

/* Backups come or go with the others. */
static void set_backups(struct members *members, uint64_t now_ms)
{
	bool serve = members->others < members->backup_below;

	if (serve == members->backups_serve)
		return;
	members->backups_serve = serve;
	for (size_t i = 0; i < members->count; i++) {
		if (members->items[i].backup)
			set_share(members, &members->items[i], now_ms);
	}
}

static void update_one(struct members *members, struct member *it, uint64_t now_ms)
{
	advance(members, it, now_ms);
	set_share(members, it, now_ms);
}

void members_init(struct members *members, const struct pool_spec *spec)
{
	members->count = spec->member_count;
	members->on_down_keep_ms = spec->on_down_keep_ms;
	members->slow_start_ms = spec->slow_start_ms;
	members->drain_limit_ms = spec->drain_limit_ms;
	members->backup_below = spec->backup_below;
	for (size_t i = 0; i < spec->member_count; i++) {
		const struct pool_member_spec *from = &spec->members[i];
		struct member *it = &members->items[i];

		it->index = from->index;
		it->admin = from->admin;
		it->health = from->health;
		it->checked = from->health != POOL_UNKNOWN;
		it->backup = from->backup;
		it->weighs = from->weight > 0;
		it->percent = FULL;
		update_one(members, it, 0);
		it->drains = false; /* since when is not known yet */
	}
	set_backups(members, 0);
}

void members_inherit(struct members *members, size_t member, const struct member *from)
{
	struct member *it = &members->items[member], as_new = *it;

	*it = *from;
	it->name = as_new.name;
	it->backup = as_new.backup;
	it->weighs = as_new.weighs;
	it->counts = as_new.counts; /* as the sum has it */
}

void members_set_health(struct members *members, size_t member, enum pool_health health,
			uint64_t now_ms)
{
	struct member *it = &members->items[member];

	if (health == POOL_UNHEALTHY && it->health != POOL_UNHEALTHY)
		it->keep_until_ms = time_later_ms(now_ms, members->on_down_keep_ms);
	it->health = health;
	it->checked |= health != POOL_UNKNOWN;
	update_one(members, it, now_ms);
	set_backups(members, now_ms);
}

void members_set_admin(struct members *members, size_t member, enum pool_admin admin,
		       uint64_t now_ms)
{
	members->items[member].admin = admin;
	update_one(members, &members->items[member], now_ms);
	set_backups(members, now_ms);
}

void members_set_share(struct members *members, size_t member, unsigned percent, uint64_t now_ms)
{
	members->items[member].percent = percent < FULL ? (uint8_t)percent : FULL;
	update_one(members, &members->items[member], now_ms);
	set_backups(members, now_ms);
}

void members_update(struct members *members, uint64_t now_ms)
{
	for (size_t i = 0; i < members->count; i++)
		update_one(members, &members->items[i], now_ms);
	set_backups(members, now_ms);
}

static uint64_t drained_at_ms(const struct members *members, const struct member *it)
{
	return it->drains && members->drain_limit_ms
		       ? time_later_ms(it->drains_since_ms, members->drain_limit_ms)
		       : UINT64_MAX;
}

bool members_is_cut(const struct members *members, size_t member, uint64_t now_ms)
{
	const struct member *it = &members->items[member];

	return it->admin == POOL_MAINT || drained_at_ms(members, it) <= now_ms;
}

bool members_is_called(const struct members *members, size_t member)
{
	const struct member *it = &members->items[member];

	return it->admin == POOL_ACTIVE && it->percent && (!it->backup || members->backups_serve);
}

bool members_is_awaited(const struct members *members, size_t member)
{
	return !members->items[member].checked && members_is_called(members, member);
}

uint32_t members_flags(const struct members *members, size_t member, uint64_t now_ms)
{
	const struct member *it = &members->items[member];
	uint32_t flags = it->share ? ABI_BACKEND_UP : 0;

	if (it->health == POOL_HEALTHY)
		flags |= ABI_BACKEND_HEALTHY;
	if (!members_is_cut(members, member, now_ms) &&
	    (it->health != POOL_UNHEALTHY || now_ms < it->keep_until_ms))
		flags |= ABI_BACKEND_KEEP;
	return flags;
}

static void take_earlier(uint64_t *next, uint64_t at_ms, uint64_t now_ms)
{
	if (at_ms > now_ms && at_ms < *next)
		*next = at_ms;
}

uint64_t members_next_deadline_ms(const struct members *members, uint64_t now_ms)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < members->count; i++) {
		const struct member *it = &members->items[i];

		if (members_is_cut(members, i, now_ms))
			continue;
		take_earlier(&next, drained_at_ms(members, it), now_ms);
		if (it->health == POOL_UNHEALTHY)
			take_earlier(&next, it->keep_until_ms, now_ms);
		if (it->ramps && next_step(members, it, now_ms) < RAMP_STEPS)
			take_earlier(&next, step_at_ms(members, it, next_step(members, it, now_ms)),
				     now_ms);
	}
	return next;
}
