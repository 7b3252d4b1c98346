/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/node/watch.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "base/time.h"
#include "conf/diff.h"
#include "weir/node/attach.h"
#include "weir/node/drains.h"
#include "weir/probing/probing.h"
#include "weir/workers/workers.h"

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
		const struct health_check *check = app->backends[i]->check;

		if (check && health_status(check)->state == HEALTH_UNKNOWN)
			return false;
	}
	return true;
}

/* --- what changes --- */

static void bring_health(struct app_backend *backend, enum health_state state)
{
	if (state == HEALTH_UNKNOWN)
		return;
	balancer_set_health(backend->app->balancer, backend->pool, backend->member,
			    state == HEALTH_HEALTHY ? POOL_HEALTHY : POOL_UNHEALTHY, time_now_ms());
	app_settle_soon(backend->app);
}

static void on_health(void *arg, struct health_check *check, enum health_state state)
{
	struct app_backend *backend = arg;
	const struct health_status *status = health_status(check);
	bool healthy = state == HEALTH_HEALTHY;

	if (!backend->awaits || !healthy)
		bring_health(backend, state);
	/* That a start finds ten thousand of them well is no news, and would push out what is. */
	event_note(&(struct event_about){backend->is_known || !healthy ? "backend" : NULL, 2,
					 LOG_INFO, &backend->log},
		   healthy ? "backend is healthy" : "backend is unhealthy",
		   "pool=%s backend=%s reason=%s", conf_pool(backend)->name,
		   conf_backend(backend)->name,
		   log_quote(healthy ? "check succeeded" : status->last_error).text);
	backend->is_known = true;
}

/*
 * One that came with a reload takes the place of others, which serve until it can: its first check
 * and its next hop are both to be known.
 */
static void await_no_more(struct app_backend *backend)
{
	if (!backend->awaits)
		return;
	backend->awaits = false;
	bring_health(backend,
		     backend->check ? health_status(backend->check)->state : HEALTH_HEALTHY);
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
	event_note(&(struct event_about){"backend", 2, LOG_WARN, &backend->log}, what,
		   "pool=%s backend=%s", conf_pool(backend)->name, conf_backend(backend)->name);
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

static void bring_nexthop(const struct app_backend *backend, const struct nexthop *nexthop)
{
	struct app *app = backend->app;
	uint32_t path_mtu = app->conf->node.path_mtu;
	struct dp_nexthop hop = {.ifindex = nexthop->ifindex,
				 .mtu = nexthop->mtu,
				 .on_link = nexthop->on_link,
				 .tags = {nexthop->tags[0], nexthop->tags[1]}};

	if (!nexthop->resolved) {
		balancer_set_nexthop(app->balancer, backend->pool, backend->member, NULL);
		return;
	}
	memcpy(hop.src_mac, nexthop->src_mac, sizeof(hop.src_mac));
	memcpy(hop.dst_mac, nexthop->dst_mac, sizeof(hop.dst_mac));
	if (path_mtu && path_mtu < hop.mtu)
		hop.mtu = path_mtu;
	workers_expect_mtu(app, hop.mtu);
	balancer_set_source(app->balancer, &nexthop->source);
	balancer_set_nexthop(app->balancer, backend->pool, backend->member, &hop);
}

static void log_nexthop(struct app_backend *backend, const struct nexthop *nexthop)
{
	char interface[IF_NAMESIZE] = "?", vlans[VLANS_TEXT_MAX];

	if (!nexthop->resolved) {
		event_note(&(struct event_about){"backend", 2, LOG_WARN, &backend->log},
			   "backend has no next hop", "pool=%s backend=%s reason=%s",
			   conf_pool(backend)->name, conf_backend(backend)->name,
			   log_quote(nexthop->why).text);
		backend->had_hop = true;
		return;
	}
	if (!nexthop->on_link && needs_link(backend))
		warn_backend(backend, "backend is behind a router, so l2dsr does not reach it");
	if (nexthop->stacked && !attach_all_generic(backend->app))
		warn_backend(backend, "backend is behind a bridge or suchlike, to which native XDP "
				      "cannot send: its packets are lost");
	if_indextoname(nexthop->ifindex, interface);
	event_note(&(struct event_about){backend->had_hop ? "backend" : NULL, 2, LOG_INFO,
					 &backend->log},
		   "next hop",
		   "pool=%s backend=%s interface=%s mac=%02x:%02x:%02x:%02x:%02x:%02x "
		   "vlan=%s mtu=%u",
		   conf_pool(backend)->name, conf_backend(backend)->name, interface,
		   nexthop->dst_mac[0], nexthop->dst_mac[1], nexthop->dst_mac[2],
		   nexthop->dst_mac[3], nexthop->dst_mac[4], nexthop->dst_mac[5],
		   show_vlans(nexthop, vlans), nexthop->mtu);
	backend->had_hop = true;
}

static void on_nexthop(void *arg, const struct nexthop *nexthop)
{
	struct app_backend *backend = arg;

	bring_nexthop(backend, nexthop);
	await_no_more(backend);
	log_nexthop(backend, nexthop);
}

/* --- another configuration's --- */

static void end_backend(struct app_backend *backend)
{
	drains_forget(backend);
	if (backend->check)
		health_remove(backend->check);
	if (backend->nexthop)
		nexthops_unwatch(backend->nexthop);
	free(backend);
}

/* What runs by record, for free(); NULL: out of memory. */
static struct app_backend **by_record(const struct app *app)
{
	struct app_backend **ret = calloc(ABI_BACKENDS, sizeof(struct app_backend *));

	for (size_t i = 0; ret && i < app->backend_count; i++) {
		struct app_backend *backend = app->backends[i];

		ret[balancer_backend_record(app->balancer, backend->pool, backend->member)] =
			backend;
	}
	return ret;
}

/* Through which service's tunnel its check goes: 0: none. */
static uint32_t way_of(const struct watch_next *next, const struct watch_item *item)
{
	const struct conf_pool *pool = &next->conf->pools[item->pool];
	const struct conf_service *service;
	size_t at;

	if (pool->check.via != CONF_VIA_TUNNEL)
		return 0;
	service = conf_check_service(next->conf, pool);
	if (!service)
		return 0;
	at = (size_t)(service - next->conf->services);
	return tunnel_way(balancer_service_record(next->balancer, at),
			  balancer_backend_record(next->balancer, item->pool, item->member));
}

/* What is known is better than what the file supposes. */
static enum health_state initial_of(const struct watch_next *next, const struct watch_item *item,
				    enum health_state supposed)
{
	const struct pool *pool = balancer_pool(next->balancer, item->pool);
	bool is_known = !item->backend->is_next || (!next->awaits && dp_adopted(next->app->dp));

	if (pool_member_health(pool, item->member) == POOL_HEALTHY)
		return HEALTH_HEALTHY;
	return is_known ? HEALTH_UNKNOWN : supposed;
}

static int add_check(const struct watch_next *next, const struct watch_item *item,
		     struct health_check **ret)
{
	const struct conf_pool *pool = &next->conf->pools[item->pool];
	struct probing probing;
	int error;

	if (pool->check.type == CONF_CHECK_NONE)
		return 0;
	error = probing_init(next->conf, pool, &pool->backends[item->member], &probing);
	if (error)
		return error;
	probing.spec.way = way_of(next, item);
	probing.spec.initial = initial_of(next, item, probing.spec.initial);
	error = health_add(item->backend->app->health, &probing.spec, on_health, item->backend,
			   ret);
	probing_fini(&probing);
	return error;
}

static int add_backend(const struct watch_next *next, struct watch_item *item)
{
	const struct conf_backend *conf = &next->conf->pools[item->pool].backends[item->member];
	struct app_backend *backend = calloc(1, sizeof(*backend));
	int ret;

	if (!backend)
		return -ENOMEM;
	*backend = (struct app_backend){.app = next->app, .is_next = true};
	item->backend = backend;
	ret = nexthops_watch(next->app->nexthops, &conf->address, on_nexthop, backend,
			     &backend->nexthop);
	return ret ? ret : add_check(next, item, &backend->check);
}

/* Is the pool checked as it was? Through a tunnel that takes the same service, too. */
static bool checks_same(const struct watch_next *next, const struct conf_pool *old,
			const struct conf_pool *new)
{
	const struct app *app = next->app;
	const struct conf_service *before, *after;
	size_t pool = (size_t)(new - next->conf->pools);
	/* Those were compared with the pool that goes on as this one. */
	bool is_known = next->built && pool < next->built->count &&
			next->built->lineage.pools[pool] == (size_t)(old - app->conf->pools);

	if (!(is_known ? next->built->checks_same[pool] : conf_check_same(old, new)))
		return false;
	if (new->check.via != CONF_VIA_TUNNEL)
		return true;
	before = conf_check_service(app->conf, old);
	after = conf_check_service(next->conf, new);
	return before && after && conf_service_same(before, after) &&
	       balancer_service_record(app->balancer, (size_t)(before - app->conf->services)) ==
		       balancer_service_record(next->balancer,
					       (size_t)(after - next->conf->services));
}

static int open_tunnel(const struct watch_next *next, struct err *err)
{
	struct app *app = next->app;
	int ret;

	if (app->tunnel || !probing_needs_tunnel(next->conf))
		return 0;
	ret = tunnel_open(&app->daemon.loop, dp_tables(app->dp), &app->tunnel, err);
	if (!ret)
		health_set_way(app->health, tunnel_prepare, app->tunnel);
	return ret;
}

static int prepare_pool(struct watch_next *next, size_t pool, struct app_backend **running,
			struct err *err)
{
	const struct conf_pool *conf = &next->conf->pools[pool];
	const struct conf_pool *asked = NULL, *old;
	bool is_same = false;

	for (size_t m = 0; m < conf->backend_count; m++) {
		struct watch_item *item = &next->items[next->count];
		int ret = 0;

		*item = (struct watch_item){
			.pool = pool,
			.member = m,
			.backend = running[balancer_backend_record(next->balancer, pool, m)],
		};
		/* Mostly all that run were in the same one. */
		old = item->backend ? conf_pool(item->backend) : asked;
		if (old != asked)
			is_same = checks_same(next, old, conf);
		asked = old;
		item->other_check = item->backend && !is_same;
		if (!item->backend)
			ret = add_backend(next, item);
		else if (item->other_check)
			ret = add_check(next, item, &item->check);
		next->count += item->backend != NULL;
		if (ret)
			return err_set(err, ret, "backend %s: cannot be watched: %s",
				       conf->backends[m].name, strerror(-ret));
	}
	return 0;
}

int watch_prepare(struct watch_next *next, struct err *err)
{
	struct app_backend **running = by_record(next->app);
	size_t most = 1;
	int ret = 0;

	for (size_t p = 0; p < next->conf->pool_count; p++)
		most += next->conf->pools[p].backend_count;
	next->items = calloc(most, sizeof(*next->items));
	next->list = calloc(most, sizeof(struct app_backend *));
	if (!running || !next->items || !next->list)
		ret = err_set(err, -ENOMEM, "out of memory");
	if (!ret)
		ret = open_tunnel(next, err);
	for (size_t p = 0; p < next->conf->pool_count && !ret; p++)
		ret = prepare_pool(next, p, running, err);
	free(running);
	if (ret)
		watch_abandon(next);
	return ret;
}

void watch_abandon(struct watch_next *next)
{
	for (size_t i = 0; i < next->count; i++) {
		const struct watch_item *item = &next->items[i];

		if (item->backend->is_next)
			end_backend(item->backend);
		else if (item->check)
			health_remove(item->check);
	}
	free(next->items);
	free(next->list);
	next->items = NULL;
	next->list = NULL;
	next->count = 0;
}

/* What its check begins with, or, where there is none, that it is well. */
static void begin_health(struct app_backend *backend)
{
	enum health_state state = backend->check ? health_status(backend->check)->state
						 : HEALTH_HEALTHY;

	if (!backend->awaits || state != HEALTH_HEALTHY)
		bring_health(backend, state);
}

/* Into its place among those that run. */
static void take_item(struct watch_next *next, const struct watch_item *item)
{
	struct app_backend *backend = item->backend;
	const struct nexthop *nexthop = nexthop_now(backend->nexthop);
	bool is_new = backend->is_next;

	backend->is_next = false;
	backend->is_kept = true;
	backend->pool = item->pool;
	backend->member = item->member;
	if (item->other_check) {
		if (backend->check)
			health_remove(backend->check);
		backend->check = item->check;
	}
	if (is_new && next->awaits)
		backend->awaits = true;
	if (nexthop->resolved) {
		bring_nexthop(backend, nexthop);
		await_no_more(backend);
	}
	if (is_new || item->other_check)
		begin_health(backend);
}

void watch_commit(struct watch_next *next)
{
	struct app *app = next->app;

	for (size_t i = 0; i < next->count; i++) {
		take_item(next, &next->items[i]);
		next->list[i] = next->items[i].backend;
	}
	for (size_t i = 0; i < app->backend_count; i++) {
		if (!app->backends[i]->is_kept)
			end_backend(app->backends[i]);
	}
	for (size_t i = 0; i < next->count; i++)
		next->list[i]->is_kept = false;
	free(app->backends);
	app->backends = next->list;
	app->backend_count = next->count;
	free(next->items);
	next->items = NULL;
}

/* --- start and end --- */

int watch_start(struct app *app, struct err *err)
{
	struct watch_next next = {.app = app, .conf = app->conf, .balancer = app->balancer};
	int ret = watch_prepare(&next, err);

	if (!ret)
		watch_commit(&next);
	return ret;
}

void watch_close(struct app *app)
{
	if (app->health)
		health_close(app->health);
	tunnel_close(app->tunnel);
	if (app->nexthops)
		nexthops_close(app->nexthops);
	for (size_t i = 0; i < app->backend_count; i++)
		free(app->backends[i]);
	free(app->backends);
	app->backends = NULL;
	app->backend_count = 0;
}
