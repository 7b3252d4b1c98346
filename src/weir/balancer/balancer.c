/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a configuration gets into tables that packets read meanwhile. First every backend, service
 * and pool is given its place: the one it has had, if an earlier daemon left it one, else a free
 * one. Then the tables are written in the order in which nothing points at what is not there yet:
 * backends, slots, services, VIPs. Last, what the configuration no longer names is taken away in
 * the opposite order. Every step is valid by itself, so a packet in between finds either the old
 * or the new answer.
 */
#include "weir/balancer/balancer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "dp/abi.h"
#include "weir/balancer/assemble.h"
#include "weir/balancer/records.h"
#include "weir/tables/access.h"
#include "weir/tables/servers.h"
#include "weir/tables/tiers.h"
#include "weir/tables/vips.h"

/* As long as Linux waits for the rest of a datagram. */
enum { FRAGMENT_MS = 30 * 1000 };

struct balanced_pool {
	struct pool *pool;
	uint64_t identity;
	uint32_t *records; /* of its members */
	uint32_t first_slot;
	bool unsettled; /* members changed since the slots were written */
};

struct balancer {
	const struct conf *conf;
	struct dp_tables *tables;
	const struct balancer_start *start; /* while it begins */
	struct balanced_pool *pools;
	uint32_t *services; /* records */
};

static uint64_t backend_identity(const void *table, uint32_t index)
{
	return ((const struct abi_backend *)table)[index].identity;
}

static uint64_t service_identity(const void *table, uint32_t index)
{
	return ((const struct abi_service *)table)[index].identity;
}

/* --- places --- */

static int claim_backends(struct balancer *balancer, struct records *records, size_t at,
			  struct err *err)
{
	const struct conf_pool *conf = &balancer->conf->pools[at];
	struct balanced_pool *pool = &balancer->pools[at];

	pool->identity = assemble_name_identity("pool", conf->name);
	pool->records = calloc(conf->backend_count, sizeof(*pool->records));
	if (!pool->records)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < conf->backend_count; i++) {
		uint64_t identity = assemble_record_identity(conf, &conf->backends[i]);
		struct abi_backend *backend;
		bool is_new;

		pool->records[i] = records_claim(records, identity, &is_new);
		if (!pool->records[i])
			return err_set(err, -ENOSPC, "the tables hold %d backends at most",
				       ABI_BACKENDS - 1);
		backend = &balancer->tables->backends[pool->records[i]];
		if (is_new) {
			backend->flags = 0;
			backend->generation++;
			backend->identity = identity;
			balancer->start->new_backend(balancer->start->arg, pool->records[i]);
		}
		dp_tables_set_tunnel(backend, &conf->backends[i].address);
		backend->port = PKT_BE16(conf->backends[i].port);
	}
	return 0;
}

static int claim_services(struct balancer *balancer, struct err *err)
{
	struct records records;
	int ret =
		records_init(&records, balancer->tables->services, ABI_SERVICES, service_identity);

	if (ret)
		return err_set(err, ret, "out of memory");
	for (size_t i = 0; i < balancer->conf->service_count && !ret; i++) {
		const char *name = balancer->conf->services[i].name;
		uint64_t identity = assemble_name_identity("service", name);
		bool is_new;

		balancer->services[i] = records_claim(&records, identity, &is_new);
		if (!balancer->services[i]) {
			ret = err_set(err, -ENOSPC, "the tables hold %d services at most",
				      ABI_SERVICES - 1);
		} else if (is_new) {
			balancer->tables->services[balancer->services[i]].identity = identity;
			balancer->start->new_service(balancer->start->arg, balancer->services[i]);
		}
	}
	records_fini(&records);
	return ret;
}

/* The range that the pool's services point at already, if it has the right size. */
static bool find_old_slots(const struct balancer *balancer, struct balanced_pool *pool)
{
	for (uint32_t i = 1; i < ABI_SERVICES; i++) {
		const struct abi_service *service = &balancer->tables->services[i];

		if (service->pool_identity == pool->identity &&
		    (uint32_t)(service->table >> 32) == pool_table_size(pool->pool)) {
			pool->first_slot = (uint32_t)service->table;
			return true;
		}
	}
	return false;
}

/* Each pool keeps its slots or gets free ones; those in use now stay whole until the end. */
static int place_slots(struct balancer *balancer, struct err *err)
{
	size_t pools = balancer->conf->pool_count, count = 0;
	struct range *used = calloc(ABI_SERVICES + pools, sizeof(*used));
	int ret = 0;

	if (!used)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 1; i < ABI_SERVICES; i++) {
		uint64_t table = balancer->tables->services[i].table;

		if (table >> 32)
			used[count++] = (struct range){(uint32_t)table, (uint32_t)(table >> 32)};
	}
	for (size_t i = 0; i < pools && !ret; i++) {
		struct balanced_pool *pool = &balancer->pools[i];
		uint32_t size = pool_table_size(pool->pool);

		if (find_old_slots(balancer, pool))
			continue;
		ret = range_find(used, count, size, ABI_SLOTS, &pool->first_slot);
		if (ret)
			err_set(err, ret,
				"pool %s: its %u slots do not fit: all pools together "
				"have %d",
				pool_name(pool->pool), size, ABI_SLOTS);
		else
			used[count++] = (struct range){pool->first_slot, size};
	}
	free(used);
	return ret;
}

/* --- writing --- */

static uint32_t host_bits(unsigned length, unsigned total)
{
	unsigned bits = total - length;

	return bits >= 32 ? UINT32_MAX : (1U << bits) - 1;
}

/* The age up to which an entry holds: ages count from 1 (choose/flow.h). */
static uint32_t ticks(uint64_t ms)
{
	return (uint32_t)((ms * TIME_MILLI_NS + (1ULL << ABI_TICK_SHIFT) - 1) >> ABI_TICK_SHIFT) +
	       1;
}

static void write_node(struct balancer *balancer)
{
	const struct conf_node *conf = &balancer->conf->node;
	struct abi_node *node = balancer->tables->node;

	node->slot_seed = assemble_seed(balancer->conf->seed);
	node->established_ticks = ticks(conf->flows.established_ms);
	node->handshake_ticks = ticks(conf->flows.handshake_ms);
	node->closing_ticks = ticks(conf->flows.closing_ms);
	node->udp_ticks = ticks(conf->flows.udp_ms);
	node->fragment_ticks = ticks(FRAGMENT_MS);
	node->insert_limit = conf->flows.insert_limit;
	node->reply_limit = conf->reply_limit;
	node->slow_limit = conf->slow_limit;
	/* Without a prefix the source is the node's own address: balancer_set_source. */
	node->source4_vary = 0;
	node->source6_vary = 0;
	if (conf->has_source4) {
		node->source4 = dp_addr(&conf->source4.addr);
		node->source4_vary = PKT_BE32(host_bits(conf->source4.length, 32));
	}
	if (conf->has_source6) {
		node->source6 = dp_addr(&conf->source6.addr);
		node->source6_vary = PKT_BE32(host_bits(conf->source6.length, 128));
	}
}

static void write_flag(struct balancer *balancer, size_t at, size_t member, uint64_t now_ms)
{
	struct balanced_pool *pool = &balancer->pools[at];
	struct abi_backend *backend = &balancer->tables->backends[pool->records[member]];
	uint32_t wanted = pool_member_flags(pool->pool, member, now_ms);

	/* Flows that are cut for good: their pins must not match when it serves again. */
	if (backend->flags & ABI_BACKEND_KEEP && pool_member_is_cut(pool->pool, member, now_ms))
		backend->generation++;
	wanted |= backend->flags & (ABI_BACKEND_NEIGH | ABI_BACKEND_LINK);
	if (backend->flags != wanted)
		__atomic_store_n(&backend->flags, wanted, __ATOMIC_RELEASE);
}

static void write_flags(struct balancer *balancer, size_t at, uint64_t now_ms)
{
	pool_advance(balancer->pools[at].pool, now_ms);
	for (size_t i = 0; i < pool_member_count(balancer->pools[at].pool); i++)
		write_flag(balancer, at, i, now_ms);
}

static size_t pool_place(const struct balancer *balancer, const struct conf_pool *pool)
{
	return (size_t)(pool - balancer->conf->pools);
}

static uint32_t service_flags(const struct conf_service *conf)
{
	uint32_t flags = 0;

	if (conf->tracking == CONF_TRACKING_ALWAYS)
		flags |= ABI_SERVICE_TRACK;
	else if (conf->tracking == CONF_TRACKING_TRANSITION)
		flags |= ABI_SERVICE_TRANSITION;
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
static int write_service(struct balancer *balancer, struct access *access, size_t at,
			 struct err *err)
{
	const struct conf_service *conf = &balancer->conf->services[at];
	const struct balanced_pool *pool = &balancer->pools[pool_place(balancer, conf->pool)];
	struct abi_service *service = &balancer->tables->services[balancer->services[at]];
	uint32_t access_flags, policy_flags;
	uint64_t table;
	int ret = access_write(access, conf, balancer->services[at], &access_flags, err);

	if (ret)
		return ret;
	service->mss = conf->mss_clamp;
	service->rate_gap = assemble_rate_gap(conf->rate_limit);
	service->mode = assemble_mode(conf);
	policy_flags = servers_write_policy(conf, service);
	__atomic_store_n(&service->flags, service_flags(conf) | access_flags | policy_flags,
			 __ATOMIC_RELEASE);
	table = abi_table(pool->first_slot, pool_table_size(pool->pool));
	/* A start after a death in between must not take one pool's slots for another's. */
	if (service->table != table)
		__atomic_store_n(&service->pool_identity, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&service->table, table, __ATOMIC_RELEASE);
	__atomic_store_n(&service->pool_identity, pool->identity, __ATOMIC_RELEASE);
	return 0;
}

static int write_services(struct balancer *balancer, struct access *access, struct err *err)
{
	int ret = 0;

	for (size_t i = 0; i < balancer->conf->service_count && !ret; i++)
		ret = write_service(balancer, access, i, err);
	return ret;
}

/* --- taking away --- */

static int drop_old_records(struct balancer *balancer, struct err *err)
{
	uint8_t *keep = calloc(ABI_BACKENDS + ABI_SERVICES, 1);
	uint8_t *keep_service = keep + ABI_BACKENDS;

	if (!keep)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < balancer->conf->service_count; i++)
		keep_service[balancer->services[i]] = 1;
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		for (size_t m = 0; m < balancer->conf->pools[i].backend_count; m++)
			keep[balancer->pools[i].records[m]] = 1;
	}
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
	free(keep);
	return 0;
}

/* --- life --- */

/*
 * What an earlier daemon left healthy is. Of the others the flags do not say why they are not
 * (failed, never checked), so their first check decides, and till then flows stay.
 */
static void inherit_health(struct balancer *balancer, size_t at)
{
	struct balanced_pool *pool = &balancer->pools[at];

	for (size_t i = 0; i < pool_member_count(pool->pool); i++) {
		uint32_t flags = balancer->tables->backends[pool->records[i]].flags;

		pool_set_health(pool->pool, i,
				flags & ABI_BACKEND_HEALTHY ? POOL_HEALTHY
							    : balancer->start->health,
				balancer->start->now_ms);
	}
}

static int build_pools(struct balancer *balancer, struct err *err)
{
	const struct conf *conf = balancer->conf;
	struct records records;
	int ret =
		records_init(&records, balancer->tables->backends, ABI_BACKENDS, backend_identity);

	if (ret)
		return err_set(err, ret, "out of memory");
	for (size_t i = 0; i < conf->pool_count && !ret; i++) {
		ret = claim_backends(balancer, &records, i, err);
		if (ret)
			break;
		ret = assemble_pool(conf, &conf->pools[i], balancer->pools[i].records, POOL_UNKNOWN,
				    &balancer->pools[i].pool);
		if (ret) {
			err_set(err, ret, "pool %s: cannot build its table: %s",
				conf->pools[i].name, strerror(-ret));
			break;
		}
		if (balancer->start->prepare)
			balancer->start->prepare(balancer->start->arg, i, balancer->pools[i].pool);
		inherit_health(balancer, i);
	}
	records_fini(&records);
	return ret;
}

static int write_tables(struct balancer *balancer, struct access *access, struct vips *vips,
			struct err *err)
{
	int ret;

	write_node(balancer);
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		struct balanced_pool *pool = &balancer->pools[i];

		write_flags(balancer, i, balancer->start->now_ms);
		pool_write_slots(pool->pool, balancer->tables->slots + pool->first_slot,
				 balancer->start->now_ms);
	}
	ret = tiers_write(&balancer->conf->node, balancer->tables, err);
	if (!ret)
		ret = servers_write(balancer, balancer->tables, err);
	if (!ret)
		ret = write_services(balancer, access, err);
	if (!ret)
		ret = vips_write(vips, err);
	if (!ret)
		ret = servers_drop_old(balancer, balancer->tables, err);
	if (ret)
		return ret;
	vips_drop(vips);
	/* Packets that found what is gone by now must be through before it is written over. */
	dp_tables_wait(balancer->tables);
	ret = drop_old_records(balancer, err);
	vips_clear(vips);
	access_drop(access);
	return ret;
}

static int write_all(struct balancer *balancer, struct err *err)
{
	struct access access;
	struct vips vips;
	int ret = access_init(&access, balancer->tables, err);

	if (ret)
		return ret;
	ret = vips_init(&vips, balancer->conf, balancer->services, balancer->tables, err);
	if (!ret)
		ret = write_tables(balancer, &access, &vips, err);
	vips_fini(&vips);
	access_fini(&access);
	return ret;
}

int balancer_new(const struct conf *conf, struct dp_tables *tables,
		 const struct balancer_start *start, struct balancer **ret, struct err *err)
{
	struct balancer *balancer = calloc(1, sizeof(*balancer));
	int error;

	if (!balancer)
		return err_set(err, -ENOMEM, "out of memory");
	balancer->conf = conf;
	balancer->tables = tables;
	balancer->start = start;
	balancer->pools = calloc(conf->pool_count + 1, sizeof(*balancer->pools));
	balancer->services = calloc(conf->service_count + 1, sizeof(*balancer->services));
	if (!balancer->pools || !balancer->services)
		error = err_set(err, -ENOMEM, "out of memory");
	else
		error = build_pools(balancer, err);
	if (!error)
		error = claim_services(balancer, err);
	if (!error)
		error = place_slots(balancer, err);
	if (!error)
		error = write_all(balancer, err);
	if (error) {
		balancer_free(balancer);
		return error;
	}
	/* What only the old configuration needed the next program need not have. */
	tables->node->features = balancer_features(conf);
	balancer->start = NULL;
	*ret = balancer;
	return 0;
}

void balancer_free(struct balancer *balancer)
{
	if (!balancer)
		return;
	for (size_t i = 0; balancer->pools && i < balancer->conf->pool_count; i++) {
		pool_free(balancer->pools[i].pool);
		free(balancer->pools[i].records);
	}
	free(balancer->pools);
	free(balancer->services);
	free(balancer);
}

const struct conf *balancer_conf(const struct balancer *balancer)
{
	return balancer->conf;
}

const struct pool *balancer_pool(const struct balancer *balancer, size_t pool)
{
	return balancer->pools[pool].pool;
}

uint32_t balancer_backend_record(const struct balancer *balancer, size_t pool, size_t member)
{
	return balancer->pools[pool].records[member];
}

uint32_t balancer_first_slot(const struct balancer *balancer, size_t pool)
{
	return balancer->pools[pool].first_slot;
}

uint32_t balancer_service_record(const struct balancer *balancer, size_t service)
{
	return balancer->services[service];
}

/* --- changes --- */

void balancer_set_health(struct balancer *balancer, size_t pool, size_t member,
			 enum pool_health health, uint64_t now_ms)
{
	pool_set_health(balancer->pools[pool].pool, member, health, now_ms);
	write_flag(balancer, pool, member, now_ms);
	balancer->pools[pool].unsettled = true;
}

void balancer_set_admin(struct balancer *balancer, size_t pool, size_t member,
			enum pool_admin admin, uint64_t now_ms)
{
	pool_set_admin(balancer->pools[pool].pool, member, admin, now_ms);
	write_flag(balancer, pool, member, now_ms);
	balancer->pools[pool].unsettled = true;
}

void balancer_set_share(struct balancer *balancer, size_t pool, size_t member, unsigned percent,
			uint64_t now_ms)
{
	pool_set_share(balancer->pools[pool].pool, member, percent, now_ms);
	write_flag(balancer, pool, member, now_ms);
	balancer->pools[pool].unsettled = true;
}

void balancer_settle(struct balancer *balancer, uint64_t now_ms)
{
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		struct balanced_pool *pool = &balancer->pools[i];

		if (!pool->unsettled)
			continue;
		write_flags(balancer, i, now_ms); /* of backups too, who come and go with others */
		pool_update_slots(pool->pool, balancer->tables->slots + pool->first_slot, now_ms);
		pool->unsettled = false;
	}
}

void balancer_set_nexthop(struct balancer *balancer, size_t pool, size_t member,
			  const struct dp_nexthop *hop)
{
	uint32_t record = balancer->pools[pool].records[member];

	dp_tables_set_nexthop(&balancer->tables->backends[record], hop);
}

void balancer_set_source(struct balancer *balancer, const struct addr *source)
{
	struct abi_node *node = balancer->tables->node;

	if (addr_is4(source) && !balancer->conf->node.has_source4)
		node->source4 = dp_addr(source);
	else if (!addr_is4(source) && !balancer->conf->node.has_source6)
		node->source6 = dp_addr(source);
}

uint64_t balancer_deadline_ms(const struct balancer *balancer, uint64_t now_ms)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		uint64_t deadline = pool_next_deadline_ms(balancer->pools[i].pool, now_ms);

		if (deadline < first)
			first = deadline;
	}
	return first;
}

void balancer_tick(struct balancer *balancer, uint64_t now_ms)
{
	for (size_t i = 0; i < balancer->conf->pool_count; i++)
		balancer->pools[i].unsettled = true;
	balancer_settle(balancer, now_ms);
}
