/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where another size, seed, policy or pool gives a service's flows other slots, the table that they
 * had stays for the idle time, and the service's record says how it is read: whoever has no entry
 * is taken to be where that table says (choose/transition.h). All slots of the new table are in
 * transition meanwhile, so that every flow gets an entry.
 *
 * A service has one old table, and the node one old seed. Of two changes within the idle time the
 * later one counts: flows that were silent since before the first go where they may be unknown.
 */
#include "pool/transition.h"
#include "weir/balancer/assemble.h"
#include "weir/balancer/state.h"

static struct abi_service *record(const struct balancer *balancer, size_t at)
{
	return &balancer->tables->services[balancer->services[at]];
}

static bool keeps_policy(const struct conf_service *conf, const struct abi_service *service)
{
	if (service->policy != (uint8_t)conf->policy)
		return false;
	return conf->policy != CONF_POLICY_SOURCE_PREFIX ||
	       (service->source_prefix4 == conf->source_prefix4 &&
		service->source_prefix6 == conf->source_prefix6);
}

/* Where a flow is offered two slots it may be where neither its own says nor its entry stays. */
static bool keeps_lookup(const struct conf_service *conf, const struct abi_service *service)
{
	return (conf->lookup == CONF_LOOKUP_DUAL) == !!(service->flags & ABI_SERVICE_DUAL);
}

/* Do its flows come by other slots than those they went by, which are still there? */
static bool flips_now(const struct balancer *balancer, size_t at)
{
	const struct conf_service *conf = &balancer->conf->services[at];
	const struct balanced_pool *pool = balanced_pool(balancer, conf->pool);
	const struct abi_service *service = balanced_source(balancer, at);
	uint64_t table = abi_table(pool->first_slot, pool_table_size(pool->pool));

	if (conf->tracking == CONF_TRACKING_NONE || pool->spoiled || !(service->table >> 32))
		return false;
	return service->table != table || !keeps_policy(conf, service) ||
	       !keeps_lookup(conf, service) ||
	       balancer->tables->node->slot_seed != assemble_seed(balancer->conf->seed);
}

/* Has it an old table from before, which can stay? */
static bool flips_on(const struct balancer *balancer, size_t at, bool is_seed_taken)
{
	const struct abi_node *node = balancer->tables->node;

	if (balancer->conf->services[at].tracking == CONF_TRACKING_NONE ||
	    balancer->no_room_for_flips ||
	    !(balanced_source(balancer, at)->flags & ABI_SERVICE_FLIP))
		return false;
	return !is_seed_taken || node->old_slot_seed == node->slot_seed;
}

static uint64_t end_ms(const struct balancer *balancer, uint64_t now_ms)
{
	uint64_t idle_ms = balancer->conf->node.flows.established_ms;

	return now_ms + (idle_ms ? idle_ms : 1);
}

/* Since when an earlier daemon's goes on is not known; an earlier configuration's is. */
static uint64_t rest_ms(const struct balancer *balancer, size_t at, uint64_t until_ms)
{
	size_t before = balanced_service_before(balancer, at);

	return before == SIZE_MAX ? until_ms : balancer->from->flip_until_ms[before];
}

void flips_find(struct balancer *balancer)
{
	uint64_t until_ms = end_ms(balancer, balancer->start.now_ms);
	size_t services = balancer->conf->service_count;
	bool any = false;

	for (size_t i = 0; i < services; i++) {
		balancer->flips_now[i] = flips_now(balancer, i);
		balancer->flip_until_ms[i] = balancer->flips_now[i] ? until_ms : 0;
		any |= balancer->flips_now[i];
	}
	for (size_t i = 0; i < services; i++) {
		if (!balancer->flips_now[i] && flips_on(balancer, i, any))
			balancer->flip_until_ms[i] = rest_ms(balancer, i, until_ms);
	}
	balancer->flips_from_ms = balancer->from && !any ? balancer->from->flips_from_ms
							 : balancer->start.now_ms;
}

static void end(struct abi_service *service)
{
	__atomic_and_fetch(&service->flags, ~(uint32_t)ABI_SERVICE_FLIP, __ATOMIC_RELEASE);
}

void flips_write(struct balancer *balancer)
{
	struct abi_node *node = balancer->tables->node;

	for (size_t i = 0; i < balancer->conf->service_count; i++) {
		if (!balancer->flip_until_ms[i])
			end(record(balancer, i));
	}
	for (size_t i = 0; i < balancer->conf->service_count; i++) {
		struct abi_service *service = record(balancer, i);

		if (!balancer->flips_now[i])
			continue;
		service->old_policy = service->policy;
		service->old_source_prefix4 = service->source_prefix4;
		service->old_source_prefix6 = service->source_prefix6;
		__atomic_store_n(&service->old_table, service->table, __ATOMIC_RELEASE);
		__atomic_store_n(&node->old_slot_seed, node->slot_seed, __ATOMIC_RELEASE);
		__atomic_or_fetch(&service->flags, ABI_SERVICE_FLIP, __ATOMIC_RELEASE);
	}
}

bool flips_begins(const struct balancer *balancer, size_t service)
{
	return balancer->from ? balancer->flips_now[service] : balancer->flip_until_ms[service] > 0;
}

void flips_tick(struct balancer *balancer, uint64_t now_ms)
{
	for (size_t i = 0; i < balancer->conf->service_count; i++) {
		if (!balancer->flip_until_ms[i] || now_ms < balancer->flip_until_ms[i])
			continue;
		balancer->flip_until_ms[i] = 0;
		end(record(balancer, i));
	}
}

void flips_wait(struct balancer *balancer, uint64_t now_ms)
{
	uint64_t idle_ms = balancer->conf->node.flows.established_ms;
	uint64_t last_ms = balancer->flips_from_ms + TRANSITION_WAITS * idle_ms;
	uint64_t until_ms = end_ms(balancer, now_ms);

	for (size_t i = 0; i < balancer->conf->service_count; i++) {
		if (now_ms < balancer->flip_until_ms[i])
			balancer->flip_until_ms[i] = until_ms < last_ms ? until_ms : last_ms;
	}
}

uint64_t flips_deadline_ms(const struct balancer *balancer)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < balancer->conf->service_count; i++) {
		uint64_t until_ms = balancer->flip_until_ms[i];

		if (until_ms && until_ms < first)
			first = until_ms;
	}
	return first;
}

bool balancer_service_flips(const struct balancer *balancer, size_t service)
{
	return balancer->flip_until_ms[service] > 0;
}
