/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balancer/assemble.h"
#include "weir/lineage/room.h"
#include "weir/tables/vips.h"

int lineage_prefix_order(const struct prefix *one, const struct prefix *two)
{
	if (one->length != two->length)
		return one->length < two->length ? -1 : 1;
	return memcmp(&one->addr, &two->addr, sizeof(one->addr));
}

int lineage_member_order(const void *a, const void *b)
{
	const struct lineage_member *one = a, *two = b;
	int order = memcmp(&one->addr, &two->addr, sizeof(one->addr));

	return order ? order : (int)one->port - two->port;
}

static int by_vip(const void *a, const void *b)
{
	const struct lineage_listen *one = a, *two = b;
	int order = lineage_prefix_order(&one->vip, &two->vip);

	return order ? order : (one->service > two->service) - (one->service < two->service);
}

static void sort(struct lineage_side *side)
{
	for (size_t i = 0; i < side->pool_count; i++)
		qsort(side->pools[i].members, side->pools[i].count, sizeof(*side->members),
		      lineage_member_order);
	qsort(side->listens, side->listen_count, sizeof(*side->listens), by_vip);
}

void lineage_side_fini(struct lineage_side *side)
{
	free(side->pools);
	free(side->services);
	free(side->listens);
	free(side->members);
	*side = (struct lineage_side){0};
}

static int make(struct lineage_side *side, size_t members, size_t listens)
{
	side->pools = calloc(side->pool_count + 1, sizeof(*side->pools));
	side->services = calloc(side->service_count + 1, sizeof(*side->services));
	side->listens = calloc(listens + 1, sizeof(*side->listens));
	side->members = calloc(members + 1, sizeof(*side->members));
	if (side->pools && side->services && side->listens && side->members)
		return 0;
	lineage_side_fini(side);
	return -ENOMEM;
}

/* --- a configuration --- */

static void take_pools(const struct conf *conf, struct lineage_side *side)
{
	struct lineage_member *next = side->members;

	for (size_t i = 0; i < conf->pool_count; i++) {
		const struct conf_pool *pool = &conf->pools[i];

		side->pools[i] = (struct lineage_pool){assemble_name_identity("pool", pool->name),
						       next, pool->backend_count};
		for (size_t m = 0; m < pool->backend_count; m++)
			*next++ = (struct lineage_member){pool->backends[m].address,
							  pool->backends[m].port, (uint32_t)m};
	}
}

static void take_listens(struct lineage_side *side, const struct conf_service *service, size_t at)
{
	for (size_t v = 0; v < service->vip_count; v++) {
		for (size_t l = 0; l < service->listen_count; l++)
			side->listens[side->listen_count++] =
				(struct lineage_listen){service->vips[v], service->listens[l], at};
	}
}

int lineage_side_of(const struct conf *conf, struct lineage_side *ret)
{
	size_t members = 0, listens = 0;

	*ret = (struct lineage_side){.pool_count = conf->pool_count,
				     .service_count = conf->service_count};
	for (size_t i = 0; i < conf->pool_count; i++)
		members += conf->pools[i].backend_count;
	for (size_t i = 0; i < conf->service_count; i++)
		listens += conf->services[i].vip_count * conf->services[i].listen_count;
	if (make(ret, members, listens))
		return -ENOMEM;
	take_pools(conf, ret);
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];

		ret->services[i] = (struct lineage_service){
			.name = assemble_name_identity("service", service->name),
			.pool = (size_t)(service->pool - conf->pools),
		};
		take_listens(ret, service, i);
	}
	sort(ret);
	return 0;
}

/* --- tables --- */

/*
 * A record does not say of which pool it is, but services say which pool's slots they have, and the
 * slots name the pool's records: each member that has any, as every member does.
 */
struct reading {
	const struct dp_tables *tables;
	struct lineage_side *side;
	size_t *service_of; /* by record, its place among the services */
	uint8_t *taken;     /* by backend's record */
	size_t members;
};

static int by_pool(const void *a, const void *b, void *arg)
{
	const struct abi_service *services = arg;
	const struct lineage_service *one = a, *two = b;
	const struct abi_service *first = &services[one->record], *second = &services[two->record];

	if (first->pool_identity != second->pool_identity)
		return first->pool_identity < second->pool_identity ? -1 : 1;
	if (first->table != second->table)
		return first->table < second->table ? -1 : 1;
	return (one->record > two->record) - (one->record < two->record);
}

static void take_member(struct reading *reading, struct lineage_pool *pool, uint32_t record)
{
	const struct abi_backend *backend = &reading->tables->backends[record];

	if (reading->taken[record] || !record || !backend->identity)
		return;
	reading->taken[record] = 1;
	pool->members[pool->count++] = (struct lineage_member){dp_addr_back(&backend->addr),
							       PKT_BE16(backend->port), record};
	reading->members++;
}

static void read_slots(struct reading *reading, struct lineage_pool *pool, uint64_t table)
{
	uint32_t first = (uint32_t)table, size = (uint32_t)(table >> 32);

	if (first > ABI_SLOTS || size > ABI_SLOTS - first)
		return;
	for (uint32_t i = first; i < first + size; i++) {
		uint64_t word = reading->tables->slots[i];

		take_member(reading, pool, abi_slot_current(word) & (ABI_BACKENDS - 1));
		take_member(reading, pool, abi_slot_other(word) & (ABI_BACKENDS - 1));
	}
}

/* Services come by pool and table. */
static void read_pools(struct reading *reading)
{
	struct lineage_side *side = reading->side;
	uint64_t table = 0;

	for (size_t i = 0; i < side->service_count; i++) {
		struct lineage_service *service = &side->services[i];
		const struct abi_service *record = &reading->tables->services[service->record];
		struct lineage_pool *pool = &side->pools[side->pool_count];

		service->pool = LINEAGE_NONE;
		if (!record->pool_identity)
			continue;
		if (!side->pool_count || pool[-1].name != record->pool_identity) {
			*pool = (struct lineage_pool){record->pool_identity,
						      side->members + reading->members, 0};
			side->pool_count++;
			table = 0;
		}
		service->pool = side->pool_count - 1;
		if (record->table != table)
			read_slots(reading, &side->pools[service->pool], record->table);
		table = record->table;
	}
}

static void read_listens(struct reading *reading, const struct prefix *vip, uint32_t place)
{
	const __u64 *words = reading->tables->vips[place].listens;
	struct lineage_side *side = reading->side;

	for (size_t i = 0; i < ABI_VIP_LISTENS && words[i]; i++) {
		struct conf_listen on = {(uint8_t)(words[i] >> 32), (uint16_t)words[i],
					 (uint16_t)(words[i] >> 16)};
		size_t service = reading->service_of[(words[i] >> 40) & (ABI_SERVICES - 1)];

		if (service != LINEAGE_NONE)
			side->listens[side->listen_count++] =
				(struct lineage_listen){*vip, on, service};
	}
}

static void read_vips(struct reading *reading, const struct dp_held *ranges, size_t count)
{
	for (uint32_t i = 0; i < ABI_VIPS; i++) {
		struct prefix vip = {.addr = dp_addr_back(&reading->tables->vips[i].addr)};

		vip.length = addr_is4(&vip.addr) ? 32 : 128;
		if (!addr_is_none(&vip.addr))
			read_listens(reading, &vip, i);
	}
	for (size_t i = 0; i < count; i++) {
		struct prefix vip = vips_prefix(&ranges[i].prefix);

		if (ranges[i].value >= ABI_VIPS && ranges[i].value < ABI_VIPS + ABI_VIP_RANGES)
			read_listens(reading, &vip, ranges[i].value);
	}
}

static int read_services(struct reading *reading)
{
	struct lineage_side *side = reading->side;

	for (uint32_t i = 1; i < ABI_SERVICES; i++) {
		const struct abi_service *service = &reading->tables->services[i];

		if (service->identity)
			side->services[side->service_count++] =
				(struct lineage_service){.name = service->identity, .record = i};
	}
	qsort_r(side->services, side->service_count, sizeof(*side->services), by_pool,
		reading->tables->services);
	reading->service_of = calloc(ABI_SERVICES, sizeof(*reading->service_of));
	if (!reading->service_of)
		return -ENOMEM;
	memset(reading->service_of, 0xff, ABI_SERVICES * sizeof(*reading->service_of));
	for (size_t i = 0; i < side->service_count; i++)
		reading->service_of[side->services[i].record] = i;
	return 0;
}

static size_t count_listens(const struct dp_tables *tables)
{
	size_t count = 0;

	for (uint32_t i = 0; i < ABI_VIPS + ABI_VIP_RANGES; i++) {
		for (size_t l = 0; l < ABI_VIP_LISTENS && tables->vips[i].listens[l]; l++)
			count++;
	}
	return count;
}

int lineage_side_of_tables(const struct dp_tables *tables, struct lineage_side *ret)
{
	struct reading reading = {.tables = tables, .side = ret};
	struct dp_held *ranges = NULL;
	size_t range_count = 0;
	int error;

	*ret = (struct lineage_side){.pool_count = ABI_SERVICES, .service_count = ABI_SERVICES};
	if (make(ret, ABI_BACKENDS, count_listens(tables)))
		return -ENOMEM;
	ret->pool_count = ret->service_count = 0;
	reading.taken = calloc(ABI_BACKENDS, 1);
	error = reading.taken ? read_services(&reading) : -ENOMEM;
	if (!error)
		error = dp_tables_hold(tables, ABI_LIST_VIPS, ABI_LIST_VIPS, &ranges, &range_count);
	if (!error) {
		read_pools(&reading);
		read_vips(&reading, ranges, range_count);
		sort(ret);
	}
	free(ranges);
	free(reading.taken);
	free(reading.service_of);
	if (error)
		lineage_side_fini(ret);
	return error;
}
