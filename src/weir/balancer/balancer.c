/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a configuration gets into tables that packets read meanwhile, at a start and in place of
 * another. First every backend, service and pool is given its place: the one it has had, if an
 * earlier daemon or configuration left it one, else a free one; and room is made sure of. Up to
 * here it may fail, and nothing has changed. Then the tables are written in the order in which
 * nothing points at what is not there yet: backends, slots, services, VIPs. Last, what the
 * configuration no longer names is taken away in the opposite order. Every step is valid by itself,
 * so a packet in between finds either the old or the new answer.
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

size_t balanced_service_before(const struct balancer *balancer, size_t service)
{
	const struct balancer *from = balancer->from;
	uint32_t record = balancer->sources[service];

	if (!from)
		return SIZE_MAX;
	if (service < from->conf->service_count && from->services[service] == record)
		return service;
	for (size_t i = 0; i < from->conf->service_count; i++) {
		if (from->services[i] == record)
			return i;
	}
	return SIZE_MAX;
}

/* Where there is no room for the old beside the new at a start, the old goes first. */
static int reserve(struct balancer *balancer, struct err *err)
{
	int ret = reserve_all(balancer, err);

	if (!ret || balancer->from || ret == -ENOMEM)
		return ret;
	ret = reserve_make_room(balancer, err);
	return ret ? ret : reserve_all(balancer, err);
}

static int plan(struct balancer *balancer, struct err *err)
{
	int ret = places_find_lineage(balancer, err);

	if (!ret)
		ret = places_build_pools(balancer, err);
	if (!ret)
		ret = places_claim_services(balancer, err);
	if (!ret)
		ret = places_find_slots(balancer, err);
	if (!ret && !balancer->from && write_adopt(balancer))
		ret = err_set(err, -ENOMEM, "out of memory");
	balancer->lineage = NULL;
	lineage_fini(&balancer->own_lineage);
	if (ret)
		return ret;
	flips_find(balancer);
	return reserve(balancer, err);
}

static struct balancer *make(const struct conf *conf, struct dp_tables *tables,
			     const struct balancer_start *start)
{
	struct balancer *balancer = calloc(1, sizeof(*balancer));

	if (!balancer)
		return NULL;
	balancer->conf = conf;
	balancer->tables = tables;
	balancer->start = *start;
	balancer->relying = start->relying;
	balancer->arg = start->arg;
	balancer->pools = calloc(conf->pool_count + 1, sizeof(*balancer->pools));
	balancer->services = calloc(conf->service_count + 1, sizeof(*balancer->services));
	balancer->sources = calloc(conf->service_count + 1, sizeof(*balancer->sources));
	balancer->flip_until_ms = calloc(conf->service_count + 1, sizeof(uint64_t));
	balancer->flips_now = calloc(conf->service_count + 1, sizeof(bool));
	if (balancer->pools && balancer->services && balancer->sources && balancer->flip_until_ms &&
	    balancer->flips_now)
		return balancer;
	balancer_free(balancer);
	return NULL;
}

int balancer_new(const struct conf *conf, struct dp_tables *tables,
		 const struct balancer_start *start, struct balancer **ret, struct err *err)
{
	struct balancer *balancer = make(conf, tables, start);
	int error;

	if (!balancer || survey_init(&balancer->survey, tables))
		error = err_set(err, -ENOMEM, "out of memory");
	else
		error = plan(balancer, err);
	if (error) {
		balancer_free(balancer);
		return error;
	}
	if (start->relying)
		balancer->relied = start->relying(start->arg);
	balancer_commit(balancer);
	*ret = balancer;
	return 0;
}

int balancer_prepare(const struct conf *conf, struct balancer *from,
		     const struct balancer_start *start, struct balancer **ret, struct err *err)
{
	struct balancer *balancer = make(conf, from->tables, start);
	int error;

	if (!balancer)
		return err_set(err, -ENOMEM, "out of memory");
	/* What pools know is what their words say. */
	balancer_settle(from, start->now_ms);
	balancer->from = from;
	error = plan(balancer, err);
	if (error)
		balancer_free(balancer);
	else
		*ret = balancer;
	return error;
}

/* What goes on from the balancer whose place this one takes, which then is no more. */
static void take_over(struct balancer *balancer)
{
	struct balancer *from = balancer->from;

	balancer->relied = from->relied;
	balancer->next_look_ms = from->next_look_ms;
	survey_take_over(balancer);
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		struct balanced_pool *pool = &balancer->pools[i];

		if (pool->stays) {
			pool->told_slots = pool->from->told_slots;
			pool->was_moving = pool->from->was_moving;
			pool->from->pool = NULL;
		}
		pool->from = NULL;
	}
}

/* What a pool begins with is no news of it. */
static void begin_news(struct balancer *balancer)
{
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		struct balanced_pool *pool = &balancer->pools[i];

		if (pool->stays)
			continue;
		pool->told_slots = pool_moves(pool->pool).slots;
		pool->was_moving = pool_moving_slots(pool->pool) > 0;
	}
}

void balancer_commit(struct balancer *balancer)
{
	if (balancer->from)
		take_over(balancer);
	write_all(balancer);
	begin_news(balancer);
	reserve_end(balancer, false);
	/* What only the old configuration needed the next program need not have. */
	balancer->tables->node->features = balancer_features(balancer->conf);
	balancer_free(balancer->from);
	balancer->from = NULL;
}

/* One that has not been committed leaves what belongs to the other. */
void balancer_free(struct balancer *balancer)
{
	if (!balancer)
		return;
	reserve_end(balancer, true);
	for (size_t i = 0; balancer->pools && i < balancer->conf->pool_count; i++) {
		if (!balancer->from || !balancer->pools[i].stays)
			pool_free(balancer->pools[i].pool);
		free(balancer->pools[i].records);
		free(balancer->pools[i].words);
	}
	free(balancer->pools);
	free(balancer->services);
	free(balancer->sources);
	free(balancer->flip_until_ms);
	free(balancer->flips_now);
	survey_fini(&balancer->survey);
	free(balancer);
}

bool balancer_pool_stays(const struct balancer *balancer, size_t pool)
{
	return balancer->pools[pool].stays;
}

const struct conf *balancer_conf(const struct balancer *balancer)
{
	return balancer->conf;
}

const struct pool *balancer_pool(const struct balancer *balancer, size_t pool)
{
	return balancer->pools[pool].pool;
}

bool balancer_pool_news(struct balancer *balancer, size_t at, struct balancer_news *ret)
{
	struct balanced_pool *pool = &balancer->pools[at];
	uint64_t slots = pool_moves(pool->pool).slots;
	bool moves = pool_moving_slots(pool->pool) > 0;

	*ret = (struct balancer_news){.slots = slots - pool->told_slots,
				      .settled = pool->was_moving && !moves};
	pool->told_slots = slots;
	pool->was_moving = moves;
	return ret->slots || ret->settled;
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
