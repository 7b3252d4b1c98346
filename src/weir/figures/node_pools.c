/* SPDX-License-Identifier: BSD-2-Clause */
/* Metrics of services, pools and backends: what there may be ten thousands of, so a line each costs
 * no more than writing it. */
#include "base/time.h"
#include "weir/figures/node.h"
#include "weir/node/drains.h"
#include "weir/node/watch.h"
#include "weir/show.h"

/* --- services --- */

static size_t count_services(const struct scrape *scrape)
{
	return scrape_app(scrape)->conf->service_count;
}

static struct abi_count service_count(const struct scrape *scrape, size_t at)
{
	const struct node_notes *notes = scrape->notes;

	return notes->services[balancer_service_record(scrape_app(scrape)->balancer, at)];
}

static void sample_service_packets(struct scrape *scrape, size_t at)
{
	metrics_put(&scrape->text, service_count(scrape, at).packets,
		    {"service", scrape_app(scrape)->conf->services[at].name});
}

static void sample_service_bytes(struct scrape *scrape, size_t at)
{
	metrics_put(&scrape->text, service_count(scrape, at).bytes,
		    {"service", scrape_app(scrape)->conf->services[at].name});
}

static void sample_service_info(struct scrape *scrape, size_t at)
{
	const struct conf_service *service = &scrape_app(scrape)->conf->services[at];

	metrics_put(&scrape->text, 1, {"service", service->name}, {"pool", service->pool->name},
		    {"forward", conf_forward_name(service->forward)});
}

/* --- pools --- */

static size_t count_pools(const struct scrape *scrape)
{
	return scrape_app(scrape)->conf->pool_count;
}

static const struct pool *pool_at(const struct scrape *scrape, size_t at)
{
	return balancer_pool(scrape_app(scrape)->balancer, at);
}

static void put_pool(struct scrape *scrape, size_t at, uint64_t value)
{
	metrics_put(&scrape->text, value, {"pool", scrape_app(scrape)->conf->pools[at].name});
}

static void sample_pool_slots(struct scrape *scrape, size_t at)
{
	put_pool(scrape, at, pool_table_size(pool_at(scrape, at)));
}

static void sample_pool_moving(struct scrape *scrape, size_t at)
{
	put_pool(scrape, at, pool_moving_slots(pool_at(scrape, at)));
}

static void sample_pool_backends(struct scrape *scrape, size_t at)
{
	put_pool(scrape, at, pool_member_count(pool_at(scrape, at)));
}

static void sample_pool_usable(struct scrape *scrape, size_t at)
{
	const struct pool *pool = pool_at(scrape, at);
	uint64_t usable = 0;

	for (size_t m = 0; m < pool_member_count(pool); m++)
		usable += pool_member_usable(pool, m);
	put_pool(scrape, at, usable);
}

static void sample_pool_moved(struct scrape *scrape, size_t at)
{
	put_pool(scrape, at, pool_moves(pool_at(scrape, at)).slots);
}

static void sample_pool_collateral(struct scrape *scrape, size_t at)
{
	put_pool(scrape, at, pool_moves(pool_at(scrape, at)).collateral);
}

/*
 * Of who serves which slot, by what backends are and not by where a node keeps their records, so
 * that two nodes of the same digest send every flow the same way. FNV-1a, over 32 bits so that a
 * sample can hold it.
 */
static uint32_t digest_of(const struct scrape *scrape, size_t at)
{
	const struct pool *pool = pool_at(scrape, at);
	const struct dp_tables *tables = dp_tables(scrape_app(scrape)->dp);
	uint32_t size = pool_table_size(pool), digest = 2166136261U;

	for (uint32_t slot = 0; slot < size; slot++) {
		uint32_t owner = pool_slot_owner(pool, slot);
		uint64_t identity = 0;

		if (owner < pool_member_count(pool))
			identity =
				tables->backends[balancer_backend_record(
							 scrape_app(scrape)->balancer, at, owner)]
					.identity;
		digest = (digest ^ (uint32_t)(identity ^ identity >> 32)) * 16777619U;
	}
	return digest;
}

static void sample_pool_digest(struct scrape *scrape, size_t at)
{
	put_pool(scrape, at, digest_of(scrape, at));
}

/* --- backends --- */

static size_t count_backends(const struct scrape *scrape)
{
	return scrape_app(scrape)->backend_count;
}

static const struct app_backend *backend_at(const struct scrape *scrape, size_t at)
{
	return scrape_app(scrape)->backends[at];
}

static const struct pool *pool_of(const struct app_backend *backend)
{
	return balancer_pool(backend->app->balancer, backend->pool);
}

#define BACKEND_LABELS(backend)                                        \
	{"pool", (backend)->app->conf->pools[(backend)->pool].name},   \
	{                                                              \
		"backend", (backend)                                   \
				   ->app->conf->pools[(backend)->pool] \
				   .backends[(backend)->member]        \
				   .name                               \
	}

static void put_backend(struct scrape *scrape, const struct app_backend *backend, uint64_t value)
{
	metrics_put(&scrape->text, value, BACKEND_LABELS(backend));
}

static struct abi_count backend_count(const struct scrape *scrape, size_t at)
{
	const struct app_backend *backend = backend_at(scrape, at);
	const struct node_notes *notes = scrape->notes;

	return notes->backends[balancer_backend_record(backend->app->balancer, backend->pool,
						       backend->member)];
}

static void sample_backend_packets(struct scrape *scrape, size_t at)
{
	put_backend(scrape, backend_at(scrape, at), backend_count(scrape, at).packets);
}

static void sample_backend_bytes(struct scrape *scrape, size_t at)
{
	put_backend(scrape, backend_at(scrape, at), backend_count(scrape, at).bytes);
}

static void sample_backend_healthy(struct scrape *scrape, size_t at)
{
	const struct app_backend *backend = backend_at(scrape, at);

	put_backend(scrape, backend,
		    pool_member_health(pool_of(backend), backend->member) == POOL_HEALTHY);
}

static void sample_backend_active(struct scrape *scrape, size_t at)
{
	const struct app_backend *backend = backend_at(scrape, at);

	put_backend(scrape, backend,
		    pool_member_admin(pool_of(backend), backend->member) == POOL_ACTIVE);
}

static void sample_backend_usable(struct scrape *scrape, size_t at)
{
	const struct app_backend *backend = backend_at(scrape, at);

	put_backend(scrape, backend, pool_member_usable(pool_of(backend), backend->member));
}

static void sample_backend_slots(struct scrape *scrape, size_t at)
{
	const struct app_backend *backend = backend_at(scrape, at);

	put_backend(scrape, backend, pool_member_slots(pool_of(backend), backend->member));
}

static void sample_backend_flows(struct scrape *scrape, size_t at)
{
	const struct app_backend *backend = backend_at(scrape, at);

	put_backend(scrape, backend,
		    balancer_flows(backend->app->balancer, backend->pool, backend->member));
}

/* None but for those that drain. */
static void sample_backend_drained(struct scrape *scrape, size_t at)
{
	const struct app_backend *backend = backend_at(scrape, at);
	bool ended;

	if (drains_has(backend, &ended))
		put_backend(scrape, backend, ended);
}

static void sample_backend_connections(struct scrape *scrape, size_t at)
{
	const struct app_backend *backend = backend_at(scrape, at);
	uint64_t connections;

	if (drains_connections(backend, &connections))
		put_backend(scrape, backend, connections);
}

static void sample_agents_asked(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0, drains_counts(scrape_app(scrape)).asked);
}

static void sample_agents_failed(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0, drains_counts(scrape_app(scrape)).failed);
}

static void sample_backend_hop(struct scrape *scrape, size_t at)
{
	const struct app_backend *backend = backend_at(scrape, at);

	put_backend(scrape, backend, nexthop_now(backend->nexthop)->resolved);
}

/* --- checks: none for pools without --- */

static const struct health_status *status_at(const struct scrape *scrape, size_t at)
{
	const struct app_backend *backend = backend_at(scrape, at);

	return backend->check ? health_status(backend->check) : NULL;
}

static void sample_check_latency(struct scrape *scrape, size_t at)
{
	const struct app_backend *backend = backend_at(scrape, at);
	const struct health_status *status = status_at(scrape, at);

	if (status && status->successes)
		metrics_put_real(&scrape->text, (double)status->latency_ns / 1e9,
				 BACKEND_LABELS(backend));
}

static void sample_check_successes(struct scrape *scrape, size_t at)
{
	const struct health_status *status = status_at(scrape, at);

	if (status)
		put_backend(scrape, backend_at(scrape, at), status->successes);
}

static void sample_check_failures(struct scrape *scrape, size_t at)
{
	const struct health_status *status = status_at(scrape, at);

	if (status)
		put_backend(scrape, backend_at(scrape, at), status->failures);
}

static void sample_check_not_run(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0, health_sums(scrape_app(scrape)->health).not_run);
}

static void sample_probes(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0, health_sums(scrape_app(scrape)->health).started);
}

static void sample_failures(struct scrape *scrape, size_t at)
{
	struct health_sums sums = health_sums(scrape_app(scrape)->health);

	(void)at;
	for (size_t i = 0; i < HEALTH_REASONS; i++)
		metrics_put(&scrape->text, sums.failed[i],
			    {"reason", health_reason_name((enum health_reason)i)});
}

/* --- all of it --- */

static const struct family families[] = {
	{"weir_service_info", METRIC_GAUGE, "1; each service's pool and mode", count_services,
	 sample_service_info},
	{"weir_service_packets", METRIC_COUNTER, "packets for the service", count_services,
	 sample_service_packets},
	{"weir_service_bytes", METRIC_COUNTER, "bytes of these, as they came", count_services,
	 sample_service_bytes},
	{"weir_pool_slots", METRIC_GAUGE, "slots of the pool's table", count_pools,
	 sample_pool_slots},
	{"weir_pool_slots_in_transition", METRIC_GAUGE,
	 "slots that changed hands, and whose flows from before are still looked after",
	 count_pools, sample_pool_moving},
	{"weir_pool_backends", METRIC_GAUGE, "backends of the pool", count_pools,
	 sample_pool_backends},
	{"weir_pool_backends_usable", METRIC_GAUGE, "of these, those that take new flows",
	 count_pools, sample_pool_usable},
	{"weir_pool_slots_moved", METRIC_COUNTER, "slots that changed hands", count_pools,
	 sample_pool_moved},
	{"weir_pool_slots_collateral", METRIC_COUNTER,
	 "of these, those that were taken from one who lost no share for one who gained none",
	 count_pools, sample_pool_collateral},
	{"weir_pool_table_digest", METRIC_GAUGE,
	 "digest of who serves which slot: the same on all nodes that know the same", count_pools,
	 sample_pool_digest},
	{"weir_backend_packets", METRIC_COUNTER, "packets sent to the backend", count_backends,
	 sample_backend_packets},
	{"weir_backend_bytes", METRIC_COUNTER, "bytes of these, as they came", count_backends,
	 sample_backend_bytes},
	{"weir_backend_healthy", METRIC_GAUGE, "1: its checks succeed, or it has none",
	 count_backends, sample_backend_healthy},
	{"weir_backend_active", METRIC_GAUGE, "0: it drains or is in maintenance", count_backends,
	 sample_backend_active},
	{"weir_backend_usable", METRIC_GAUGE, "1: it takes new flows", count_backends,
	 sample_backend_usable},
	{"weir_backend_slots", METRIC_GAUGE, "slots that it serves, of the pool's", count_backends,
	 sample_backend_slots},
	{"weir_backend_remembered_flows", METRIC_GAUGE,
	 "its flows in the flow table, when that was last looked through", count_backends,
	 sample_backend_flows},
	{"weir_backend_drained", METRIC_GAUGE,
	 "of backends that drain, 1: that has ended, by what its agent counts or by packets",
	 count_backends, sample_backend_drained},
	{"weir_backend_drain_connections", METRIC_GAUGE,
	 "of backends that drain, connections that they have by their agents, from all nodes",
	 count_backends, sample_backend_connections},
	{"weir_agents_asked", METRIC_COUNTER, "questions to agents of backends that drain", NULL,
	 sample_agents_asked},
	{"weir_agents_failed", METRIC_COUNTER,
	 "of these, those without an answer that can be believed", NULL, sample_agents_failed},
	{"weir_backend_next_hop", METRIC_GAUGE, "1: the way to it is known", count_backends,
	 sample_backend_hop},
	{"weir_check_latency_seconds", METRIC_GAUGE, "what its last successful check took",
	 count_backends, sample_check_latency},
	{"weir_check_successes", METRIC_COUNTER, "its checks that succeeded", count_backends,
	 sample_check_successes},
	{"weir_check_failures", METRIC_COUNTER, "its checks that failed", count_backends,
	 sample_check_failures},
	{"weir_probes", METRIC_COUNTER,
	 "probes that were begun: fewer than checks, where these are the same", NULL,
	 sample_probes},
	{"weir_probes_failed", METRIC_COUNTER, "probes that failed, by the kind of reason", NULL,
	 sample_failures},
	{"weir_probes_not_run", METRIC_COUNTER,
	 "probes that this host had no descriptors, ports or memory for", NULL,
	 sample_check_not_run},
};

const struct family_list node_pool_families = {families, sizeof(families) / sizeof(families[0])};
