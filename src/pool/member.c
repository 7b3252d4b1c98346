/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A member has two states that come from outside: what the operator wants of it (admin) and what
 * its checks say (health). From these follow two answers. May it take new flows (its share is
 * above 0)? That decides the table. May its flows go on (keep)? That is a flag of its record, and
 * moves no slot: a member that failed keeps its flows for a time, since most failures are short
 * and a check can be wrong, while new ones avoid it at once.
 *
 *	admin		health		usable	keep
 *	active		healthy		yes	yes
 *	active		unknown		no	yes: nothing is known against it
 *	active		unhealthy	no	for on_down_keep_ms after it failed
 *	drain		as above	no	as above
 *	maint		any		no	no
 */
#include "pool/member.h"

#include "dp/abi.h"

void members_init(struct members *members, const struct pool_spec *spec)
{
	members->count = spec->member_count;
	members->on_down_keep_ms = spec->on_down_keep_ms;
	members->slow_start_ms = spec->slow_start_ms;
	members->drain_limit_ms = spec->drain_limit_ms;
	members->backup_below = spec->backup_below;
	for (size_t i = 0; i < spec->member_count; i++) {
		const struct pool_member_spec *from = &spec->members[i];

		members->items[i].index = from->index;
		members->items[i].admin = from->admin;
		members->items[i].health = from->health;
		members->items[i].backup = from->backup;
		members->items[i].percent = 100;
	}
	members_update(members, 0);
}

void members_set_health(struct members *members, size_t member, enum pool_health health,
			uint64_t now_ms)
{
	struct member *it = &members->items[member];

	if (health == POOL_UNHEALTHY && it->health != POOL_UNHEALTHY) {
		it->keep_until_ms = now_ms + members->on_down_keep_ms;
		if (it->keep_until_ms < now_ms)
			it->keep_until_ms = UINT64_MAX;
	}
	it->health = health;
	members_update(members, now_ms);
}

void members_set_admin(struct members *members, size_t member, enum pool_admin admin,
		       uint64_t now_ms)
{
	members->items[member].admin = admin;
	members_update(members, now_ms);
}

void members_set_share(struct members *members, size_t member, unsigned percent, uint64_t now_ms)
{
	members->items[member].percent = percent < 100 ? (uint8_t)percent : 100;
	members_update(members, now_ms);
}

void members_update(struct members *members, uint64_t now_ms)
{
	(void)now_ms;
	for (size_t i = 0; i < members->count; i++) {
		struct member *it = &members->items[i];

		it->share = it->admin == POOL_ACTIVE && it->health == POOL_HEALTHY && it->percent
				    ? 100
				    : 0;
	}
}

bool members_is_cut(const struct members *members, size_t member, uint64_t now_ms)
{
	(void)now_ms;
	return members->items[member].admin == POOL_MAINT;
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

uint64_t members_next_deadline_ms(const struct members *members, uint64_t now_ms)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < members->count; i++) {
		const struct member *it = &members->items[i];

		if (it->admin != POOL_MAINT && it->health == POOL_UNHEALTHY &&
		    now_ms < it->keep_until_ms && it->keep_until_ms < next)
			next = it->keep_until_ms;
	}
	return next;
}
