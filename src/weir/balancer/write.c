/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables are written in the order in which nothing points at what is not there yet: backends,
 * slots, services, VIPs. Last, what the configuration no longer names is taken away in the opposite
 * order.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "weir/balancer/assemble.h"
#include "weir/balancer/state.h"
#include "weir/tables/servers.h"

/* As long as Linux waits for the rest of a datagram. */
enum { FRAGMENT_MS = 30 * 1000 };

static uint32_t host_bits(unsigned length, unsigned total)
{
	unsigned bits = total - length;

	return bits >= 32 ? UINT32_MAX : (1U << bits) - 1;
}

/* The age up to which an entry holds: ages count from 1 (flow/flow.h). */
static uint32_t ticks(uint64_t ms)
{
	return (uint32_t)((ms * TIME_MILLI_NS + (1ULL << ABI_TICK_SHIFT) - 1) >> ABI_TICK_SHIFT) +
	       1;
}

static void write_node(struct balancer *balancer)
{
	const struct conf_node *conf = &balancer->conf->node;
	struct abi_node *node = balancer->tables->node;

	node->established_ticks = ticks(conf->flows.established_ms);
	node->handshake_ticks = ticks(conf->flows.handshake_ms);
	node->closing_ticks = ticks(conf->flows.closing_ms);
	node->udp_ticks = ticks(conf->flows.udp_ms);
	node->fragment_ticks = ticks(FRAGMENT_MS);
	node->insert_limit = conf->flows.insert_limit;
	node->reply_limit = conf->reply_limit;
	node->slow_limit = conf->slow_limit;
	/* Without a prefix the source is the node's own address: balancer_set_source. */
	if (conf->has_source4)
		node->source4 = dp_addr(&conf->source4.addr);
	if (conf->has_source6)
		node->source6 = dp_addr(&conf->source6.addr);
	node->source4_vary = conf->has_source4 ? PKT_BE32(host_bits(conf->source4.length, 32)) : 0;
	node->source6_vary = conf->has_source6 ? PKT_BE32(host_bits(conf->source6.length, 128)) : 0;
}

void write_flag(struct balancer *balancer, size_t at, size_t member, uint64_t now_ms)
{
	struct balanced_pool *pool = &balancer->pools[at];
	struct abi_backend *backend = &balancer->tables->backends[pool->records[member]];
	uint32_t wanted = pool_member_flags(pool->pool, member, now_ms);

	/* Flows that are cut for good: their pins must not match when it serves again. */
	if (backend->flags & ABI_BACKEND_KEEP && pool_member_is_cut(pool->pool, member, now_ms))
		backend->generation++;
	if (pool_member_returned(pool->pool, member))
		wanted &= ~(uint32_t)ABI_BACKEND_UP;
	wanted |= backend->flags & (ABI_BACKEND_NEIGH | ABI_BACKEND_LINK | ABI_BACKEND_TAGGED);
	if (backend->flags != wanted)
		__atomic_store_n(&backend->flags, wanted, __ATOMIC_RELEASE);
}

void write_flags(struct balancer *balancer, size_t at, uint64_t now_ms)
{
	pool_advance(balancer->pools[at].pool, now_ms);
	for (size_t i = 0; i < pool_member_count(balancer->pools[at].pool); i++)
		write_flag(balancer, at, i, now_ms);
}

static uint32_t service_flags(const struct conf_service *conf)
{
	uint32_t flags = 0;

	if (conf->tracking == CONF_TRACKING_ALWAYS)
		flags |= ABI_SERVICE_TRACK;
	else if (conf->tracking == CONF_TRACKING_TRANSITION)
		flags |= ABI_SERVICE_TRANSITION;
	if (conf->lookup == CONF_LOOKUP_DUAL)
		flags |= ABI_SERVICE_DUAL;
	if (conf->second_chance)
		flags |= ABI_SERVICE_SECOND;
	if (conf->oversize_df == CONF_OVERSIZE_ICMP)
		flags |= ABI_SERVICE_TOO_BIG;
	if (conf->rate_limit)
		flags |= ABI_SERVICE_RATE;
	if (conf->fragments == CONF_FRAGMENTS_PIN)
		flags |= ABI_SERVICE_FRAGMENTS;
	if (conf->mss_clamp > CONF_MSS_OFF)
		flags |= ABI_SERVICE_MSS;
	if (conf->oversize_nodf == CONF_NODF_FRAGMENT)
		flags |= ABI_SERVICE_NODF_FRAGMENT;
	else if (conf->oversize_nodf == CONF_NODF_ICMP)
		flags |= ABI_SERVICE_NODF_ICMP;
	if (conf->on_empty == CONF_EMPTY_REJECT)
		flags |= ABI_SERVICE_REJECT;
	else if (conf->on_empty == CONF_EMPTY_PASS)
		flags |= ABI_SERVICE_PASS;
	return flags;
}

/* What a flag speaks of is written before the flag. */
static void write_service(struct balancer *balancer, size_t at)
{
	const struct conf_service *conf = &balancer->conf->services[at];
	struct abi_service *service = &balancer->tables->services[balancer->services[at]];
	uint32_t list = balancer->reserved->lists[at], flags = list ? ABI_SERVICE_ACCESS : 0;

	if (list)
		__atomic_store_n(&service->access, list, __ATOMIC_RELEASE);
	service->mss = conf->mss_clamp;
	service->rate_gap = assemble_rate_gap(conf->rate_limit);
	service->mode = assemble_mode(conf);
	flags |= service_flags(conf) | servers_write_policy(conf, service);
	if (balancer->flip_until_ms[at])
		flags |= ABI_SERVICE_FLIP;
	__atomic_store_n(&service->flags, flags, __ATOMIC_RELEASE);
}

static void point_service(struct balancer *balancer, size_t at)
{
	const struct balanced_pool *pool =
		balanced_pool(balancer, balancer->conf->services[at].pool);
	struct abi_service *service = &balancer->tables->services[balancer->services[at]];
	uint64_t table = abi_table(pool->first_slot, pool_table_size(pool->pool));

	/* A start after a death in between must not take one pool's slots for another's. */
	if (service->table != table)
		__atomic_store_n(&service->pool_identity, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&service->table, table, __ATOMIC_RELEASE);
	__atomic_store_n(&service->pool_identity, pool->identity, __ATOMIC_RELEASE);
}

/*
 * The tables change together, and the seed with them: a packet in between finds the table that it
 * should not, but one whose slots are in transition (flips.c), so only who begins just then is
 * lost.
 */
static void write_services(struct balancer *balancer)
{
	for (size_t i = 0; i < balancer->conf->service_count; i++)
		write_service(balancer, i);
	for (size_t i = 0; i < balancer->conf->service_count; i++)
		point_service(balancer, i);
	__atomic_store_n(&balancer->tables->node->slot_seed, assemble_seed(balancer->conf->seed),
			 __ATOMIC_RELEASE);
}

/* --- taking away --- */

/* Marks what the configuration names. Returns whether anything else is there. */
static bool mark_records(struct balancer *balancer)
{
	uint8_t *keep = balancer->reserved->keep, *keep_service = keep + ABI_BACKENDS;
	bool others = false;

	for (size_t i = 0; i < balancer->conf->service_count; i++)
		keep_service[balancer->services[i]] = 1;
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		for (size_t m = 0; m < balancer->conf->pools[i].backend_count; m++)
			keep[balancer->pools[i].records[m]] = 1;
	}
	for (uint32_t i = 1; i < ABI_SERVICES && !others; i++)
		others = !keep_service[i] && balancer->tables->services[i].identity;
	for (uint32_t i = 1; i < ABI_BACKENDS && !others; i++)
		others = !keep[i] && balancer->tables->backends[i].identity;
	return others;
}

static void drop_old_records(struct balancer *balancer)
{
	const uint8_t *keep = balancer->reserved->keep, *keep_service = keep + ABI_BACKENDS;

	for (uint32_t i = 1; i < ABI_SERVICES; i++) {
		struct abi_service *service = &balancer->tables->services[i];

		if (!keep_service[i] && service->identity)
			*service = (struct abi_service){0};
	}
	for (uint32_t i = 1; i < ABI_BACKENDS; i++) {
		struct abi_backend *backend = &balancer->tables->backends[i];

		if (keep[i] || !backend->identity)
			continue;
		__atomic_store_n(&backend->flags, 0, __ATOMIC_RELEASE);
		backend->identity = 0;
	}
}

/* --- all of it --- */

/*
 * Whether a service of each pool looks flows up in slots in transition alone; and whether it has
 * looked up each flow so far, or they came by another table, so that flows may have entries in any
 * slot.
 */
static void find_followers(const struct balancer *balancer)
{
	for (size_t i = 0; i < balancer->conf->service_count; i++) {
		const struct conf_service *conf = &balancer->conf->services[i];
		struct balanced_pool *pool = balanced_pool(balancer, conf->pool);
		uint32_t flags = balancer->tables->services[balancer->services[i]].flags;

		pool->holds |= flips_begins(balancer, i);
		if (conf->tracking != CONF_TRACKING_TRANSITION)
			continue;
		pool->follows = true;
		pool->holds |= (flags & ABI_SERVICE_TRACK) != 0;
	}
}

/* Whoever left the slots may have ended before it wrote what the flags say. At a start: a pool that
 * is already there knows more. */
static int adopt_slots(struct balancer *balancer, struct balanced_pool *pool)
{
	for (size_t i = 0; i < pool_member_count(pool->pool); i++) {
		const struct abi_backend *backend = &balancer->tables->backends[pool->records[i]];

		if (!(backend->flags & ABI_BACKEND_UP))
			pool_member_was_down(pool->pool, i);
	}
	return pool_adopt_slots(pool->pool, balanced_slots(balancer, pool),
				balancer_starting_until_ms(balancer->tables),
				balancer->start.now_ms);
}

int write_adopt(struct balancer *balancer)
{
	int ret = 0;

	for (size_t i = 0; i < balancer->conf->pool_count && !ret; i++) {
		if (balancer->pools[i].adopted)
			ret = adopt_slots(balancer, &balancer->pools[i]);
	}
	return ret;
}

/* Its words but for the records, and what was told to it since. */
static void write_begun(struct balancer *balancer, struct balanced_pool *pool, uint64_t now_ms)
{
	uint64_t *slots = balanced_slots(balancer, pool);

	for (uint32_t i = 0; i < pool_table_size(pool->pool); i++)
		slots[i] = built_word(pool->words[i], pool->records);
	free(pool->words);
	pool->words = NULL;
	pool_update_slots(pool->pool, slots, now_ms);
}

static void write_slots(struct balancer *balancer)
{
	uint64_t now_ms = balancer->start.now_ms;

	find_followers(balancer);
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		struct balanced_pool *pool = &balancer->pools[i];

		if (pool->holds)
			pool_hold_slots(pool->pool, now_ms);
		else if (pool->stays)
			continue;
		write_flags(balancer, i, now_ms);
		if (pool->words && !pool->holds)
			write_begun(balancer, pool, now_ms);
		else
			pool_write_slots(pool->pool, balanced_slots(balancer, pool), now_ms);
		write_flags(balancer, i, now_ms);
	}
}

void write_all(struct balancer *balancer)
{
	struct reserved *reserved = balancer->reserved;
	bool goes;

	write_node(balancer);
	places_write(balancer);
	flips_write(balancer);
	write_slots(balancer);
	servers_write(balancer, balancer->tables);
	write_services(balancer);
	vips_write(&reserved->vips);
	servers_drop_old(balancer, balancer->tables, reserved->keys);
	tiers_drop(&reserved->tiers);
	goes = vips_drop(&reserved->vips) > 0;
	goes |= mark_records(balancer);
	goes |= access_is_left(&reserved->access);
	/* Packets that found what is gone by now must be through before it is written over. */
	if (goes)
		dp_tables_wait(balancer->tables);
	drop_old_records(balancer);
	vips_clear(&reserved->vips);
	access_drop(&reserved->access);
}
