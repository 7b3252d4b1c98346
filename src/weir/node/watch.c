/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/node/watch.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "weir/node/attach.h"
#include "weir/probing/probing.h"

enum { VLANS_TEXT_MAX = 12 }; /* "4094.4094" */

static const struct conf_pool *conf_pool(const struct app_backend *backend)
{
	return &backend->app->conf->pools[backend->pool];
}

static const struct conf_backend *conf_backend(const struct app_backend *backend)
{
	return &conf_pool(backend)->backends[backend->member];
}

bool watch_is_ready(const struct app *app)
{
	for (size_t i = 0; i < app->backend_count; i++) {
		const struct health_check *check = app->backends[i].check;

		if (check && health_status(check)->state == HEALTH_UNKNOWN)
			return false;
	}
	return true;
}

/* --- what changes --- */

static void on_health(void *arg, struct health_check *check, enum health_state state)
{
	struct app_backend *backend = arg;
	const struct health_status *status = health_status(check);
	bool healthy = state == HEALTH_HEALTHY;

	balancer_set_health(backend->app->balancer, backend->pool, backend->member,
			    healthy ? POOL_HEALTHY : POOL_UNHEALTHY, time_now_ms());
	app_settle_soon(backend->app);
	log_write(LOG_INFO, &backend->log, healthy ? "backend is healthy" : "backend is unhealthy",
		  "pool=%s backend=%s reason=%s", conf_pool(backend)->name,
		  conf_backend(backend)->name,
		  log_quote(healthy ? "check succeeded" : status->last_error).text);
}

static bool needs_link(const struct app_backend *backend)
{
	const struct conf *conf = backend->app->conf;

	for (size_t i = 0; i < conf->service_count; i++) {
		if (conf->services[i].pool == conf_pool(backend) &&
		    conf->services[i].forward == CONF_FORWARD_L2DSR)
			return true;
	}
	return false;
}

static void warn_backend(struct app_backend *backend, const char *what)
{
	log_write(LOG_WARN, &backend->log, what, "pool=%s backend=%s", conf_pool(backend)->name,
		  conf_backend(backend)->name);
}

/* The identifiers of its VLANs, the outer first, for the log. */
static const char *show_vlans(const struct nexthop *nexthop, char text[VLANS_TEXT_MAX])
{
	unsigned outer = nexthop->tags[0] & 0xfff, inner = nexthop->tags[1] & 0xfff;

	if (!nexthop->tags[0])
		return "none";
	snprintf(text, VLANS_TEXT_MAX, nexthop->tags[1] ? "%u.%u" : "%u", outer, inner);
	return text;
}

static void on_nexthop(void *arg, const struct nexthop *nexthop)
{
	struct app_backend *backend = arg;
	struct app *app = backend->app;
	uint32_t path_mtu = app->conf->node.path_mtu;
	struct dp_nexthop hop = {.ifindex = nexthop->ifindex,
				 .mtu = nexthop->mtu,
				 .on_link = nexthop->on_link,
				 .tags = {nexthop->tags[0], nexthop->tags[1]}};
	char interface[IF_NAMESIZE] = "?", vlans[VLANS_TEXT_MAX];

	if (!nexthop->resolved) {
		balancer_set_nexthop(app->balancer, backend->pool, backend->member, NULL);
		log_write(LOG_WARN, &backend->log, "backend has no next hop",
			  "pool=%s backend=%s reason=%s", conf_pool(backend)->name,
			  conf_backend(backend)->name, log_quote(nexthop->why).text);
		return;
	}
	memcpy(hop.src_mac, nexthop->src_mac, sizeof(hop.src_mac));
	memcpy(hop.dst_mac, nexthop->dst_mac, sizeof(hop.dst_mac));
	if (path_mtu && path_mtu < hop.mtu)
		hop.mtu = path_mtu;
	balancer_set_source(app->balancer, &nexthop->source);
	balancer_set_nexthop(app->balancer, backend->pool, backend->member, &hop);
	if (!nexthop->on_link && needs_link(backend))
		warn_backend(backend, "backend is behind a router, so l2dsr does not reach it");
	if (nexthop->stacked && !attach_all_generic(app))
		warn_backend(backend, "backend is behind a bridge or suchlike, to which native XDP "
				      "cannot send: its packets are lost");
	if_indextoname(nexthop->ifindex, interface);
	log_write(LOG_INFO, &backend->log, "next hop",
		  "pool=%s backend=%s interface=%s mac=%02x:%02x:%02x:%02x:%02x:%02x "
		  "vlan=%s mtu=%u",
		  conf_pool(backend)->name, conf_backend(backend)->name, interface,
		  nexthop->dst_mac[0], nexthop->dst_mac[1], nexthop->dst_mac[2],
		  nexthop->dst_mac[3], nexthop->dst_mac[4], nexthop->dst_mac[5],
		  show_vlans(nexthop, vlans), nexthop->mtu);
}

/* --- start and end --- */

static const enum pool_health as_pool[] = {
	[HEALTH_UNKNOWN] = POOL_UNKNOWN,
	[HEALTH_HEALTHY] = POOL_HEALTHY,
	[HEALTH_UNHEALTHY] = POOL_UNHEALTHY,
};

/* 0: no tunnel. */
static uint32_t way_of(const struct app_backend *backend)
{
	const struct app *app = backend->app;
	const struct conf_pool *pool = conf_pool(backend);
	const struct conf_service *service = conf_check_service(app->conf, pool);
	size_t at;

	if (pool->check.via != CONF_VIA_TUNNEL || !service)
		return 0;
	at = (size_t)(service - app->conf->services);
	return tunnel_way(balancer_service_record(app->balancer, at),
			  balancer_backend_record(app->balancer, backend->pool, backend->member));
}

static int start_check(struct app *app, struct app_backend *backend)
{
	const struct conf_check *check = &conf_pool(backend)->check;
	const struct pool *pool = balancer_pool(app->balancer, backend->pool);
	enum pool_health health = POOL_HEALTHY;
	struct probing probing;
	int ret = 0;

	if (check->type != CONF_CHECK_NONE) {
		ret = probing_init(app->conf, conf_pool(backend), conf_backend(backend), &probing);
		if (ret)
			return ret;
		probing.spec.way = way_of(backend);
		/* What an earlier daemon knew is better than what the file supposes. */
		if (pool_member_health(pool, backend->member) == POOL_HEALTHY)
			probing.spec.initial = HEALTH_HEALTHY;
		else if (dp_adopted(app->dp))
			probing.spec.initial = HEALTH_UNKNOWN;
		health = as_pool[probing.spec.initial];
		ret = health_add(app->health, &probing.spec, on_health, backend, &backend->check);
		probing_fini(&probing);
	}
	if (!ret && health != pool_member_health(pool, backend->member))
		balancer_set_health(app->balancer, backend->pool, backend->member, health,
				    time_now_ms());
	return ret;
}

int watch_start(struct app *app, struct err *err)
{
	size_t at = 0;
	int code;

	if (probing_needs_tunnel(app->conf)) {
		code = tunnel_open(&app->daemon.loop, dp_tables(app->dp), &app->tunnel, err);
		if (code)
			return code;
		health_set_way(app->health, tunnel_prepare, app->tunnel);
	}
	for (size_t p = 0; p < app->conf->pool_count; p++)
		app->backend_count += app->conf->pools[p].backend_count;
	app->backends = calloc(app->backend_count + 1, sizeof(*app->backends));
	if (!app->backends)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t p = 0; p < app->conf->pool_count; p++) {
		for (size_t m = 0; m < app->conf->pools[p].backend_count; m++) {
			struct app_backend *backend = &app->backends[at++];
			int ret;

			*backend = (struct app_backend){.app = app, .pool = p, .member = m};
			ret = nexthops_watch(app->nexthops, &conf_backend(backend)->address,
					     on_nexthop, backend, &backend->nexthop);
			if (!ret)
				ret = start_check(app, backend);
			if (ret)
				return err_set(err, ret, "backend %s: cannot be watched: %s",
					       conf_backend(backend)->name, strerror(-ret));
		}
	}
	return 0;
}

void watch_close(struct app *app)
{
	if (app->health)
		health_close(app->health);
	tunnel_close(app->tunnel);
	if (app->nexthops)
		nexthops_close(app->nexthops);
}
