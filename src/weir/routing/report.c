/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/time.h"
#include "weir/routing/state.h"

static void put(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *report_bfd(const struct router *router)
{
	struct bfd_status status;
	json_t *object;

	if (!router->session)
		return json_null();
	bfd_status(router->session, &status);
	object = json_pack("{s:s, s:f, s:s, s:s}", "state", bfd_state_name(status.state), "since_s",
			   time_since_s(status.since_ns), "why", status.why, "error", status.error);
	json_object_set_new(object, "detect_ms", json_real((double)status.detect_us / 1e3));
	put(object, "losses", status.losses);
	return object;
}

static void put_counts(json_t *object, const struct bgp_peer_status *status)
{
	put(object, "ups", status->ups);
	put(object, "downs", status->downs);
	put(object, "attempts", status->attempts);
	put(object, "messages_in", status->messages_in);
	put(object, "messages_out", status->messages_out);
	put(object, "updates_in", status->updates_in);
	put(object, "updates_out", status->updates_out);
	put(object, "notifications_in", status->notifications_in);
	put(object, "notifications_out", status->notifications_out);
	put(object, "refreshes_in", status->refreshes_in);
	put(object, "routes_dropped", status->routes_dropped);
	put(object, "malformed", status->malformed);
	put(object, "collisions", status->collisions);
}

static json_t *report_router(const struct router *router)
{
	const struct bgp_peer_status *status = bgp_peer_status(router->peer);
	char text[ADDR_TEXT_MAX];
	json_t *object;

	object = json_pack("{s:s, s:I, s:s, s:f, s:s, s:b, s:b, s:b, s:o}", "address",
			   addr_format_on(&router->conf.address, router->interface, text), "asn",
			   (json_int_t)router->conf.asn, "state",
			   bgp_peer_state_name(status->state), "since_s",
			   time_since_s(status->since_ns), "last_error", status->last_error, "ipv4",
			   status->ipv4, "ipv6", status->ipv6, "graceful_restart",
			   status->graceful_restart, "bfd", report_bfd(router));
	put(object, "hold_s", status->hold_s);
	put(object, "prefixes", status->prefixes);
	put(object, "pending", status->pending);
	put_counts(object, status);
	return object;
}

json_t *routers_report(const struct routers *routers)
{
	const struct bgp_status *status = bgp_status(routers->bgp);
	json_t *peers = json_array(), *object;
	char id[ADDR_TEXT_MAX];
	uint32_t router_id = routers->spec.router_id;

	snprintf(id, sizeof(id), "%u.%u.%u.%u", router_id >> 24, router_id >> 16 & 0xff,
		 router_id >> 8 & 0xff, router_id & 0xff);
	for (size_t i = 0; i < routers->count; i++)
		json_array_append_new(peers, report_router(routers->list[i]));
	object = json_pack("{s:I, s:s, s:b, s:s, s:o}", "asn", (json_int_t)routers->spec.asn,
			   "router_id", id, "graceful_shutdown", status->graceful_shutdown,
			   "listen_error", status->listen_error, "peers", peers);
	put(object, "routes", status->routes);
	put(object, "strangers", status->strangers);
	put(object, "refused", status->refused);
	return object;
}
