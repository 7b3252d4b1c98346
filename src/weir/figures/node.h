/* SPDX-License-Identifier: BSD-2-Clause */
/* What `weir run` shows on its admin port. The loop's thread. */
#pragma once

#include "weir/metrics/exporter.h"
#include "weir/node/app_state.h"

/* Opens the exporter, which listens where the configuration says. 0, or -ENOMEM and err. */
int node_metrics_open(struct app *app, struct err *err);

/* Read once for a scrape: counters of all records. */
struct node_notes {
	struct abi_count services[ABI_SERVICES];
	struct abi_count backends[ABI_BACKENDS];
};

static inline const struct app *scrape_app(const struct scrape *scrape)
{
	return scrape->app;
}

/* node.c: the node as a whole; node_pools.c: its services, pools and backends; node_routing.c;
 * node_workers.c */
extern const struct family_list node_families, node_pool_families, node_routing_families,
	node_worker_families;

/* node_api.c: /api/v1/... */
extern const struct http_route node_api_routes[];
extern const size_t node_api_route_count;
/* {"error": why} */
void node_refuse(struct http_exchange *exchange, unsigned status, const char *why);
/* Whether the service's name, its pool's or an address has the text. */
bool node_service_matches(const struct app *app, size_t at, const char *q);
/* By its name: its place, and that of its first backend among all. */
bool node_find_pool(const struct app *app, const char *name, size_t *ret, size_t *ret_first);

/* node_live.c: the parts of /api/v1 that are asked for all the time */
enum { NODE_LIVE_ROUTES = 3 };
extern const struct http_route node_live_routes[NODE_LIVE_ROUTES];
