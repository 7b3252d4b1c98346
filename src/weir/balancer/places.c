/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which place each backend, service and pool has in the tables: the one it has had, if an earlier
 * daemon or configuration left it one, else a free one. Which pool is still the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balancer/assemble.h"
#include "weir/balancer/state.h"
#include "weir/tables/records.h"

static uint64_t service_identity(const void *table, uint32_t index)
{
	return ((const struct abi_service *)table)[index].identity;
}

/* Of 255; what is lighter than a step of that counts as one. */
static uint8_t weight_beside(uint32_t weight, uint32_t heaviest)
{
	uint64_t part = heaviest ? (uint64_t)weight * 255 / heaviest : 0;

	return part ? (uint8_t)part : 1;
}

static void write_weights(struct balancer *balancer, size_t at)
{
	const struct conf_pool *conf = &balancer->conf->pools[at];
	uint32_t heaviest = 0;

	for (size_t i = 0; i < conf->backend_count; i++) {
		if (conf->backends[i].weight > heaviest)
			heaviest = conf->backends[i].weight;
	}
	for (size_t i = 0; i < conf->backend_count; i++)
		balancer->tables->backends[balancer->pools[at].records[i]].weight =
			weight_beside(conf->backends[i].weight, heaviest);
}

/* --- pools of an earlier configuration --- */

static bool stays(const struct balancer *balancer, size_t at)
{
	const struct balanced_pool *from = balancer->pools[at].from;

	return from &&
	       assemble_pool_same(balancer->from->conf,
				  &balancer->from->conf->pools[from - balancer->from->pools],
				  balancer->conf, &balancer->conf->pools[at]);
}

static void find_taken_names(struct balancer *balancer)
{
	const struct lineage *lineage = balancer->lineage;

	for (size_t i = 0; i < lineage->pair_count; i++) {
		struct lineage_pair pair = lineage->pairs[i];

		if (lineage->before.pools[pair.before].name == lineage->now.pools[pair.now].name &&
		    lineage->pools[pair.now] != pair.before)
			balancer->pools[pair.now].takes_name = true;
	}
}

static void find_all_earlier(struct balancer *balancer)
{
	find_taken_names(balancer);
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		struct balanced_pool *pool = &balancer->pools[i];
		size_t before = balancer->lineage->pools[i];

		pool->identity = balancer->lineage->now.pools[i].name;
		if (balancer->from && before != LINEAGE_NONE)
			pool->from = &balancer->from->pools[before];
		pool->stays = stays(balancer, i);
	}
}

static int find_lineage(struct balancer *balancer)
{
	balancer->lineage = &balancer->own_lineage;
	return balancer->from
		       ? lineage_of_conf(balancer->from->conf, balancer->conf, balancer->lineage)
		       : lineage_of_tables(balancer->tables, balancer->conf, balancer->lineage);
}

int places_find_lineage(struct balancer *balancer, struct err *err)
{
	struct built *built = balancer->start.built;
	int ret = 0;

	if (built && built->count && balancer->from && built->running == balancer->from->conf)
		balancer->lineage = &built->lineage;
	else
		ret = find_lineage(balancer);
	if (ret)
		return err_set(err, ret, "what was there cannot be read: %s", strerror(-ret));
	find_all_earlier(balancer);
	return 0;
}

static void write_backend(struct balancer *balancer, size_t pool, size_t member)
{
	const struct conf_pool *conf = &balancer->conf->pools[pool];
	const struct conf_backend *conf_backend = &conf->backends[member];
	uint32_t record = balancer->pools[pool].records[member];
	struct abi_backend *backend = &balancer->tables->backends[record];
	uint64_t identity = assemble_record_identity(conf, conf_backend);

	if (!backend->identity) {
		backend->flags = 0;
		backend->generation++;
		balancer->survey.flows[record] = 0;
	}
	/* One that was another's until now is that of the same backend in a pool of another name;
	 * its counts go on where nobody has counted by that name. */
	if (!backend->identity ||
	    (backend->identity != identity && balancer->pools[pool].takes_name))
		balancer->start.new_backend(balancer->start.arg, record);
	backend->identity = identity;
	dp_tables_set_tunnel(backend, &conf_backend->address);
	backend->port = PKT_BE16(conf_backend->port);
}

static void write_service_owner(struct balancer *balancer, size_t at)
{
	const char *name = balancer->conf->services[at].name;
	uint64_t identity = assemble_name_identity("service", name);
	struct abi_service *service = &balancer->tables->services[balancer->services[at]];

	/* One that parts from another begins with what its flows have come by; no packet finds the
	 * record yet. */
	if (balancer->sources[at] != balancer->services[at]) {
		*service = *balanced_source(balancer, at);
		service->flags &= ~(uint32_t)ABI_SERVICE_ACCESS;
		service->access = 0;
		service->identity = 0;
	}
	if (service->identity == identity)
		return;
	service->identity = identity;
	balancer->start.new_service(balancer->start.arg, balancer->services[at]);
}

void places_write(struct balancer *balancer)
{
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		if (balancer->pools[i].stays)
			continue;
		for (size_t m = 0; m < balancer->conf->pools[i].backend_count; m++)
			write_backend(balancer, i, m);
		write_weights(balancer, i);
	}
	for (size_t i = 0; i < balancer->conf->service_count; i++)
		write_service_owner(balancer, i);
}

/* Of one of before. */
static uint32_t service_record(const struct balancer *balancer, size_t before)
{
	return balancer->from ? balancer->from->services[before]
			      : balancer->lineage->before.services[before].record;
}

static void keep_services(struct balancer *balancer, struct records *records)
{
	for (size_t i = 0; i < balancer->conf->service_count; i++) {
		size_t before = balancer->lineage->services[i];
		size_t source = balancer->lineage->sources[i];

		if (source != LINEAGE_NONE)
			balancer->sources[i] = service_record(balancer, source);
		if (before == LINEAGE_NONE)
			continue;
		balancer->services[i] = service_record(balancer, before);
		records_take(records, balancer->services[i]);
	}
}

int places_claim_services(struct balancer *balancer, struct err *err)
{
	struct records records;
	int ret =
		records_init(&records, balancer->tables->services, ABI_SERVICES, service_identity);

	if (ret)
		return err_set(err, ret, "out of memory");
	keep_services(balancer, &records);
	for (size_t i = 0; i < balancer->conf->service_count && !ret; i++) {
		if (!balancer->services[i])
			balancer->services[i] = records_claim_free(&records);
		if (!balancer->sources[i])
			balancer->sources[i] = balancer->services[i];
		if (!balancer->services[i])
			ret = err_set(err, -ENOSPC,
				      "the tables hold %d services at most, with those that go",
				      ABI_SERVICES - 1);
	}
	records_fini(&records);
	return ret;
}

/* The range that the pool's services point at already, if it has the right size. */
static bool find_old_slots(const struct balancer *balancer, struct balanced_pool *pool)
{
	size_t before;

	if (pool->parts)
		return false;
	if (pool->from)
		pool->first_slot = pool->from->first_slot;
	if (balancer->from)
		return pool->from &&
		       pool_table_size(pool->from->pool) == pool_table_size(pool->pool);
	before = balancer->lineage->pools[pool - balancer->pools];
	if (before == LINEAGE_NONE)
		return false;
	for (uint32_t i = 1; i < ABI_SERVICES; i++) {
		const struct abi_service *service = &balancer->tables->services[i];

		if (service->pool_identity == balancer->lineage->before.pools[before].name &&
		    (uint32_t)(service->table >> 32) == pool_table_size(pool->pool)) {
			pool->first_slot = (uint32_t)service->table;
			return true;
		}
	}
	return false;
}

static bool keeps_seed(const struct balancer *balancer)
{
	return balancer->tables->node->slot_seed == assemble_seed(balancer->conf->seed);
}

static size_t use(struct range *used, size_t count, uint64_t table)
{
	if (!(table >> 32))
		return count;
	used[count] = (struct range){(uint32_t)table, (uint32_t)(table >> 32)};
	return count + 1;
}

/* Ranges that packets find now; `used` has room for two a service, and for earlier pools. */
static size_t ranges_in_use(const struct balancer *balancer, struct range *used)
{
	size_t count = 0;

	for (uint32_t i = 1; i < ABI_SERVICES; i++) {
		const struct abi_service *service = &balancer->tables->services[i];

		count = use(used, count, service->table);
		if (service->flags & ABI_SERVICE_FLIP && !balancer->no_room_for_flips)
			count = use(used, count, service->old_table);
	}
	for (size_t i = 0; balancer->from && i < balancer->from->conf->pool_count; i++) {
		const struct balanced_pool *pool = &balancer->from->pools[i];

		count = use(used, count, abi_table(pool->first_slot, pool_table_size(pool->pool)));
	}
	return count;
}

/* Gives slots to all pools that keep none. 0, or -ENOSPC and the pool. */
static int find_free_slots(struct balancer *balancer, struct range *used, size_t *ret_pool)
{
	struct ranges ranges = {.used = used, .count = ranges_in_use(balancer, used)};

	ranges_sort(&ranges);

	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		struct balanced_pool *pool = &balancer->pools[i];
		uint32_t size = pool_table_size(pool->pool);
		int ret;

		if (pool->adopted || pool->spoiled)
			continue;
		ret = ranges_take(&ranges, size, ABI_SLOTS, &pool->first_slot);
		if (ret) {
			*ret_pool = i;
			return ret;
		}
	}
	return 0;
}

/*
 * Another seed gives slots another meaning, so that the old ones should stay for a time. Where
 * there is no room for both, first those that are only there for such a reason go, then all are
 * written over, which cuts flows, but a table that is full now must not be full for ever.
 */
static int make_room(struct balancer *balancer, struct range *used, size_t *ret_pool)
{
	bool any = false;

	/* A running node does not lose flows for a new file. */
	if (balancer->from)
		return -ENOSPC;
	if (!balancer->no_room_for_flips) {
		balancer->no_room_for_flips = true;
		return find_free_slots(balancer, used, ret_pool);
	}
	for (size_t i = 0; i < balancer->conf->pool_count; i++) {
		struct balanced_pool *pool = &balancer->pools[i];

		pool->spoiled = !pool->adopted && find_old_slots(balancer, pool);
		any |= pool->spoiled;
	}
	return any ? find_free_slots(balancer, used, ret_pool) : -ENOSPC;
}

int places_find_slots(struct balancer *balancer, struct err *err)
{
	size_t earlier = balancer->from ? balancer->from->conf->pool_count : 0;
	struct range *used =
		calloc(2 * ABI_SERVICES + balancer->conf->pool_count + earlier, sizeof(*used));
	const struct pool *pool;
	size_t at = 0;
	int ret;

	if (!used)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < balancer->conf->pool_count; i++)
		balancer->pools[i].adopted = keeps_seed(balancer) &&
					     find_old_slots(balancer, &balancer->pools[i]);
	ret = find_free_slots(balancer, used, &at);
	for (int tries = 0; ret && tries < 2; tries++)
		ret = make_room(balancer, used, &at);
	free(used);
	if (!ret)
		return 0;
	pool = balancer->pools[at].pool;
	return err_set(err, ret, "pool %s: its %u slots do not fit%s: all pools together have %d",
		       pool_name(pool), pool_table_size(pool),
		       balancer->from ? " beside those in use" : "", ABI_SLOTS);
}

/*
 * What an earlier daemon left healthy is. Of the others the flags do not say why they are not
 * (failed, never checked), so their first check decides, and till then flows stay. Who is never
 * checked is what the start says: nothing will tell more.
 */
static void inherit_health(struct balancer *balancer, size_t at)
{
	const struct balancer_start *start = &balancer->start;
	enum pool_health health = balancer->conf->pools[at].check.type == CONF_CHECK_NONE
					  ? start->unchecked
					  : start->health;
	struct balanced_pool *pool = &balancer->pools[at];

	for (size_t i = 0; i < pool_member_count(pool->pool); i++) {
		uint32_t flags = balancer->tables->backends[pool->records[i]].flags;

		pool_set_health(pool->pool, i, flags & ABI_BACKEND_HEALTHY ? POOL_HEALTHY : health,
				start->now_ms);
	}
}

/* --- what of an earlier configuration goes on --- */

/* Of one that is new here nothing is known. */
static void begin_health(struct balancer *balancer, size_t at, size_t member)
{
	const struct balanced_pool *pool = &balancer->pools[at];
	const struct balancer_start *start = &balancer->start;
	bool is_checked = balancer->conf->pools[at].check.type != CONF_CHECK_NONE;

	pool_set_health(pool->pool, member, is_checked ? start->health : start->unchecked,
			start->now_ms);
}

static int inherit(struct balancer *balancer, size_t at)
{
	const struct balanced_pool *from = balancer->pools[at].from;
	struct balanced_pool *pool = &balancer->pools[at];
	bool same_table = from && keeps_seed(balancer) && find_old_slots(balancer, pool);
	int ret = from ? pool_inherit(pool->pool, from->pool, same_table, balancer->start.now_ms)
		       : 0;

	if (ret)
		return ret;
	for (size_t m = 0; m < pool_member_count(pool->pool); m++) {
		const struct abi_backend *backend = &balancer->tables->backends[pool->records[m]];

		if (!backend->identity)
			begin_health(balancer, at, m);
		else if (!from && backend->flags & ABI_BACKEND_HEALTHY)
			pool_set_health(pool->pool, m, POOL_HEALTHY, balancer->start.now_ms);
		else if (!from)
			begin_health(balancer, at, m);
	}
	return 0;
}

/* --- pools --- */

static int build_pool(struct balancer *balancer, size_t at)
{
	const struct conf *conf = balancer->conf;
	struct balanced_pool *pool = &balancer->pools[at];
	int ret;

	if (pool->stays) {
		pool->pool = pool->from->pool;
		return 0;
	}
	pool->pool = built_take(balancer->start.built, at, pool->records, &pool->words);
	ret = pool->pool ? 0
			 : assemble_pool(conf, &conf->pools[at], pool->records, POOL_UNKNOWN,
					 &pool->pool);
	if (!ret && balancer->from)
		ret = inherit(balancer, at);
	if (ret)
		return ret;
	if (balancer->start.prepare)
		balancer->start.prepare(balancer->start.arg, conf, at, pool->pool);
	if (!balancer->from)
		inherit_health(balancer, at);
	return 0;
}

int places_build_pools(struct balancer *balancer, struct err *err)
{
	const struct conf *conf = balancer->conf;
	int ret = claims_find(balancer, err);

	for (size_t i = 0; i < conf->pool_count && !ret; i++) {
		ret = build_pool(balancer, i);
		if (ret)
			err_set(err, ret, "pool %s: cannot build its table: %s",
				conf->pools[i].name, strerror(-ret));
	}
	return ret;
}
