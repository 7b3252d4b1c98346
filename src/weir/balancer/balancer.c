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

#include "dp/abi.h"
#include "weir/balancer/state.h"
#include "weir/tables/access.h"

enum { LOOKS = 16 }; /* in an idle time: whether flows go on without entries */

/* --- life --- */

uint64_t balancer_starting_until_ms(const struct dp_tables *tables)
{
	return tables->node->began_s * 1000ULL + POOL_STARTING_MS;
}

static int fill(struct balancer *balancer, struct err *err)
{
	int ret = places_build_pools(balancer, err);

	if (!ret)
		ret = places_claim_services(balancer, err);
	if (!ret)
		ret = places_find_slots(balancer, err);
	if (ret)
		return ret;
	flips_find(balancer);
	return write_all(balancer, err);
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
	balancer->relying = start->relying;
	balancer->arg = start->arg;
	if (start->relying)
		balancer->relied = start->relying(start->arg);
	balancer->pools = calloc(conf->pool_count + 1, sizeof(*balancer->pools));
	balancer->services = calloc(conf->service_count + 1, sizeof(*balancer->services));
	balancer->flip_until_ms = calloc(conf->service_count + 1, sizeof(uint64_t));
	if (!balancer->pools || !balancer->services || !balancer->flip_until_ms ||
	    survey_init(&balancer->survey, tables))
		error = err_set(err, -ENOMEM, "out of memory");
	else
		error = fill(balancer, err);
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
	free(balancer->flip_until_ms);
	survey_fini(&balancer->survey);
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

/* Flags before slots, but for who returned: pool_member_returned. */
static void settle_pool(struct balancer *balancer, size_t at, uint64_t now_ms)
{
	struct balanced_pool *pool = &balancer->pools[at];

	write_flags(balancer, at, now_ms);
	pool_update_slots(pool->pool, balanced_slots(balancer, pool), now_ms);
	write_flags(balancer, at, now_ms);
	pool->unsettled = false;
}

static void member_changed(struct balancer *balancer, size_t pool, size_t member, uint64_t now_ms)
{
	balancer->pools[pool].unsettled = true;
	if (pool_member_returned(balancer->pools[pool].pool, member))
		settle_pool(balancer, pool, now_ms);
	else
		write_flag(balancer, pool, member, now_ms);
}

void balancer_set_health(struct balancer *balancer, size_t pool, size_t member,
			 enum pool_health health, uint64_t now_ms)
{
	pool_set_health(balancer->pools[pool].pool, member, health, now_ms);
	member_changed(balancer, pool, member, now_ms);
}

void balancer_set_admin(struct balancer *balancer, size_t pool, size_t member,
			enum pool_admin admin, uint64_t now_ms)
{
	pool_set_admin(balancer->pools[pool].pool, member, admin, now_ms);
	member_changed(balancer, pool, member, now_ms);
}

void balancer_set_share(struct balancer *balancer, size_t pool, size_t member, unsigned percent,
			uint64_t now_ms)
{
	pool_set_share(balancer->pools[pool].pool, member, percent, now_ms);
	member_changed(balancer, pool, member, now_ms);
}

void balancer_settle(struct balancer *balancer, uint64_t now_ms)
{
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		if (balancer->pools[i].unsettled)
			settle_pool(balancer, i, now_ms);
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

static bool is_moving(const struct balancer *balancer)
{
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		if (pool_moving_slots(balancer->pools[i].pool))
			return true;
	}
	return false;
}

void balancer_look_who_relies(struct balancer *balancer, uint64_t now_ms)
{
	uint64_t relied;

	if (!balancer->relying)
		return;
	balancer->next_look_ms = now_ms + balancer->conf->node.flows.established_ms / LOOKS + 1;
	relied = balancer->relying(balancer->arg);
	if (relied == balancer->relied)
		return;
	balancer->relied = relied;
	flips_wait(balancer, now_ms);
	for (size_t i = 0; i < balancer->conf->pool_count; i++)
		pool_wait_longer(balancer->pools[i].pool, now_ms);
}

uint64_t balancer_deadline_ms(const struct balancer *balancer, uint64_t now_ms)
{
	uint64_t first = flips_deadline_ms(balancer);

	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		uint64_t deadline = pool_next_deadline_ms(balancer->pools[i].pool, now_ms);

		if (deadline < first)
			first = deadline;
	}
	if (balancer->relying && balancer->next_look_ms < first && is_moving(balancer))
		first = balancer->next_look_ms;
	return first;
}

void balancer_tick(struct balancer *balancer, uint64_t now_ms)
{
	balancer_look_who_relies(balancer, now_ms);
	for (size_t i = 0; i < balancer->conf->pool_count; i++)
		settle_pool(balancer, i, now_ms);
	flips_tick(balancer, now_ms);
}

/* --- what a configuration needs of the packet path: the program leaves out the rest --- */

static uint32_t of_service(const struct conf_service *service)
{
	uint32_t features = 0;

	for (size_t i = 0; i < service->vip_count; i++) {
		if (!addr_is4(&service->vips[i].addr))
			features |= ABI_HAS_IPV6;
		if (!prefix_is_host(&service->vips[i]))
			features |= ABI_HAS_RANGES;
	}
	if (service->tracking != CONF_TRACKING_NONE)
		features |= ABI_HAS_TRACK;
	/* Of the MSS auto asks nothing here: the agent clamps what bounds the client. */
	if (service->rate_limit || access_is_limited(service) || service->tcp_server_id ||
	    service->policy != CONF_POLICY_5TUPLE || service->mss_clamp > CONF_MSS_OFF)
		features |= ABI_HAS_SPECIAL;
	/* The entries of datagrams in pieces stand in the flow table. */
	if (service->fragments == CONF_FRAGMENTS_PIN)
		features |= ABI_HAS_FRAGMENT | ABI_HAS_TRACK;
	if (service->second_chance)
		features |= ABI_HAS_SECOND;
	if (service->lookup == CONF_LOOKUP_DUAL)
		features |= ABI_HAS_DUAL;
	return features;
}

uint32_t balancer_features(const struct conf *conf)
{
	uint32_t features = conf->node.decap ? ABI_HAS_DECAP : 0;

	for (size_t i = 0; i < conf->service_count; i++)
		features |= of_service(&conf->services[i]);
	return features;
}
