/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `weir run`. The order of the start is the order of trust: the configuration was checked before
 * anything; then the lock, so that there is one writer; the tables, adopted or new; the loop with
 * what feeds them (next hops, health); last the program is attached. After an earlier daemon's
 * death the attached program goes on with the pinned tables through all of this, and meets its
 * successor's program by one exchange.
 *
 * The end by SIGTERM or SIGINT goes backwards and leaves nothing. Any other death leaves all that
 * is pinned, which forwards on as it was.
 */
#include "weir/node/app.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"
#include "bpf/gro.h"
#include "weir/node/app_state.h"
#include "weir/node/history.h"
#include "weir/node/requests.h"

enum {
	SETTLE_MS = 50,      /* from the first change of health to the slots' */
	VLANS_TEXT_MAX = 12, /* "4094.4094" */
};

static const struct conf_pool *conf_pool(const struct app_backend *backend)
{
	return &backend->app->conf->pools[backend->pool];
}

static const struct conf_backend *conf_backend(const struct app_backend *backend)
{
	return &conf_pool(backend)->backends[backend->member];
}

int app_is_ready(const struct app *app)
{
	for (size_t i = 0; i < app->backend_count; i++) {
		const struct health_check *check = app->backends[i].check;

		if (check && health_status(check)->state == HEALTH_UNKNOWN)
			return 0;
	}
	return 1;
}

/* --- what changes --- */

static void on_deadline(uv_timer_t *timer);

static void on_survey(uv_timer_t *timer)
{
	struct app *app = timer->data;
	uint64_t pause = balancer_survey(app->balancer, time_now_ms());

	if (pause != UINT64_MAX)
		uv_timer_start(&app->survey, on_survey, pause, 0);
}

static void arm_deadline(struct app *app)
{
	uint64_t now = time_now_ms(), deadline = balancer_deadline_ms(app->balancer, now);

	if (deadline == UINT64_MAX)
		uv_timer_stop(&app->deadline);
	else
		uv_timer_start(&app->deadline, on_deadline, deadline > now ? deadline - now : 0, 0);
	/* What changes a slot or lets time pass may give it something to look for. */
	if (!uv_is_active((uv_handle_t *)&app->survey))
		uv_timer_start(&app->survey, on_survey, 0, 0);
}

static void on_deadline(uv_timer_t *timer)
{
	struct app *app = timer->data;

	balancer_tick(app->balancer, time_now_ms());
	arm_deadline(app);
}

void app_settle(struct app *app)
{
	uv_timer_stop(&app->settle);
	balancer_settle(app->balancer, time_now_ms());
	arm_deadline(app);
}

static void on_settle(uv_timer_t *timer)
{
	app_settle(timer->data);
}

/* Failures come in company: a pool's slots are written once for all of them. */
static void on_health(void *arg, struct health_check *check, enum health_state state)
{
	struct app_backend *backend = arg;
	const struct health_status *status = health_status(check);
	bool healthy = state == HEALTH_HEALTHY;

	balancer_set_health(backend->app->balancer, backend->pool, backend->member,
			    healthy ? POOL_HEALTHY : POOL_UNHEALTHY, time_now_ms());
	if (!uv_is_active((uv_handle_t *)&backend->app->settle))
		uv_timer_start(&backend->app->settle, on_settle, SETTLE_MS, 0);
	log_write(LOG_INFO, &backend->log, healthy ? "backend is healthy" : "backend is unhealthy",
		  "pool=%s backend=%s reason=%s", conf_pool(backend)->name,
		  conf_backend(backend)->name,
		  log_quote(healthy ? "check succeeded" : status->last_error).text);
}

static bool is_generic(void *arg, const char *interface)
{
	const struct link_attached *attached =
		links_find(dp_links(((struct app *)arg)->dp), interface);

	return attached && attached->mode == LINK_XDP_GENERIC;
}

static bool all_generic(struct app *app)
{
	const struct conf_node *node = &app->conf->node;

	for (size_t i = 0; i < node->interface_count; i++) {
		if (!is_generic(app, node->interfaces[i]))
			return false;
	}
	return true;
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
	if (nexthop->stacked && !all_generic(app))
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

/* What is shown is what is. */
static json_t *on_status(void *arg)
{
	app_settle(arg);
	return app_report(arg);
}

static void on_new_backend(void *arg, uint32_t record)
{
	dp_reset_backend(((struct app *)arg)->dp, record);
}

static uint64_t on_relying(void *arg)
{
	return dp_event_count(((struct app *)arg)->dp, ABI_EVENT_FLOW_RELIES);
}

static void on_pool(void *arg, size_t at, struct pool *pool)
{
	struct app *app = arg;

	requests_prepare(app, at, pool);
	if (!dp_adopted(app->dp) || time_now_ms() < balancer_starting_until_ms(dp_tables(app->dp)))
		history_prepare(app, at, pool);
}

static void on_new_service(void *arg, uint32_t record)
{
	dp_reset_service(((struct app *)arg)->dp, record);
}

/* --- start --- */

static int open_data_plane(struct app *app, struct err *err)
{
	const struct dp_options options = {
		.pin_dir = app->daemon.instance.pins,
		.flow_entries = app->conf->node.flows.entries,
		.features = balancer_features(app->conf),
	};

	int ret = dp_open(&options, &app->dp, err);

	if (!ret && dp_incomplete(app->dp))
		log_warn("some pins were missing: all tables are made anew, flows are forgotten",
			 "pins=%s", app->daemon.instance.pins);
	return ret;
}

static bool needs_splitter(const struct conf *conf)
{
	for (size_t i = 0; i < conf->service_count; i++) {
		if (conf->services[i].oversize_nodf == CONF_NODF_FRAGMENT)
			return true;
	}
	return false;
}

/* The rest works without: then such packets are lost, and counted. */
static void open_splitter(struct app *app)
{
	struct err err;

	if (needs_splitter(app->conf) &&
	    splitter_open(&app->daemon.loop, app->dp, &app->splitter, &err))
		log_warn("packets that are too big cannot be sent in fragments", "reason=%s",
			 log_quote(err.text).text);
}

static int fill_tables(struct app *app, struct err *err)
{
	const struct balancer_start start = {
		.health = POOL_UNKNOWN,
		.unchecked = POOL_HEALTHY,
		.now_ms = time_now_ms(),
		.new_backend = on_new_backend,
		.new_service = on_new_service,
		.relying = on_relying,
		.prepare = on_pool,
		.arg = app,
	};
	int ret;

	requests_load(app);
	history_load(app);
	ret = balancer_new(app->conf, dp_tables(app->dp), &start, &app->balancer, err);
	if (!ret)
		history_save(app);
	if (!ret && dp_adopted(app->dp))
		log_info("adopted the running data plane", "pins=%s", app->daemon.instance.pins);
	return ret;
}

static int start_check(struct app *app, struct app_backend *backend)
{
	const struct conf_check *check = &conf_pool(backend)->check;
	const struct pool *pool = balancer_pool(app->balancer, backend->pool);
	const struct health_spec spec = {
		.type = HEALTH_TCP,
		.address = conf_backend(backend)->address,
		.port = check->port,
		.interval_ms = check->interval_ms,
		.timeout_ms = check->timeout_ms,
		.rise = check->rise,
		.fall = check->fall,
		.initial = pool_member_health(pool, backend->member) == POOL_HEALTHY
				   ? HEALTH_HEALTHY
				   : HEALTH_UNKNOWN,
	};

	if (check->type == CONF_CHECK_NONE) {
		balancer_set_health(app->balancer, backend->pool, backend->member, POOL_HEALTHY,
				    time_now_ms());
		return 0;
	}
	return health_add(app->health, &spec, on_health, backend, &backend->check);
}

static int start_backends(struct app *app, struct err *err)
{
	size_t at = 0;

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

static void now_attached(const struct app *app, const struct link_attached *attached)
{
	struct err err;

	daemon_log_attached(attached);
	if (attached->mode == LINK_XDP_GENERIC &&
	    gro_suspend(dp_links(app->dp)->dir, attached->interface, &err))
		log_warn("what is joined on receiving will be too big for the tunnel", "reason=%s",
			 log_quote(err.text).text);
}

static bool is_older(void *arg, const char *interface)
{
	const struct link_attached *attached =
		links_find(dp_links(((struct app *)arg)->dp), interface);

	return !attached || attached->adopted;
}

static int reattach(void *arg, size_t at, struct err *err)
{
	struct app *app = arg;
	int ret = dp_reattach(app->dp, at, err);

	if (!ret)
		now_attached(app, &dp_links(app->dp)->attached[at]);
	return ret;
}

static int attach_all(struct app *app, struct err *err)
{
	const struct conf_node *node = &app->conf->node;
	const char *names[LINKS_MAX];
	int ret =
		links_order(dp_links(app->dp), node->interfaces, node->interface_count, names, err);

	if (ret)
		return ret;
	for (size_t i = 0; i < node->interface_count; i++) {
		ret = dp_attach(app->dp, names[i], daemon_xdp(node->xdp), err);
		if (ret)
			return ret;
		now_attached(app, &dp_links(app->dp)->attached[i]);
	}
	links_detach_others(dp_links(app->dp));
	gro_resume(dp_links(app->dp)->dir, is_generic, app);
	return 0;
}

static int start(struct app *app, struct err *err)
{
	int ret = open_data_plane(app, err);

	if (!ret)
		open_splitter(app);
	/* Tables that packets meet already change only once the interfaces are ours. */
	if (!ret && dp_adopted(app->dp))
		ret = attach_all(app, err);
	if (!ret)
		ret = fill_tables(app, err);
	if (ret)
		return ret;
	ret = nexthops_open(&app->daemon.loop, &app->nexthops, err);
	if (ret)
		return ret;
	ret = health_open(&app->daemon.loop, &app->health);
	if (ret)
		return err_set(err, ret, "health checks: %s", strerror(-ret));
	ret = start_backends(app, err);
	if (ret)
		return ret;
	app_settle(app);
	ret = daemon_listen(&app->daemon, on_status, requests_answer, app, err);
	if (ret)
		return ret;
	if (!dp_adopted(app->dp))
		ret = attach_all(app, err);
	if (ret)
		return ret;
	daemon_watch(&app->daemon, dp_links(app->dp), reattach, app);
	return 0;
}

/* --- end --- */

/* What was attached before this start stays when it fails: an earlier daemon's data plane. */
static void stop_data_plane(struct app *app, bool failed)
{
	splitter_close(app->splitter);
	if (!app->dp)
		return;
	if (!failed || !dp_adopted(app->dp)) {
		gro_resume(dp_links(app->dp)->dir, NULL, NULL);
		dp_teardown(app->dp);
	} else {
		gro_resume(dp_links(app->dp)->dir, is_older, app);
		links_detach_new(dp_links(app->dp));
	}
	dp_close(app->dp);
}

static void stop_work(struct app *app)
{
	if (app->health)
		health_close(app->health);
	if (app->nexthops)
		nexthops_close(app->nexthops);
	uv_close((uv_handle_t *)&app->deadline, NULL);
	uv_close((uv_handle_t *)&app->settle, NULL);
	uv_close((uv_handle_t *)&app->survey, NULL);
}

int app_run(const struct conf *conf, const char *file, struct err *err)
{
	struct app app = {.conf = conf};
	int ret = daemon_open(&app.daemon, "", conf->node.name, file, err);

	if (ret)
		return ret;
	uv_timer_init(&app.daemon.loop, &app.deadline);
	uv_timer_init(&app.daemon.loop, &app.settle);
	uv_timer_init(&app.daemon.loop, &app.survey);
	app.deadline.data = app.settle.data = app.survey.data = &app;
	ret = start(&app, err);
	if (!ret) {
		log_info("running", "node=%s file=%s services=%zu pools=%zu backends=%zu",
			 conf->node.name, log_quote(file).text, conf->service_count,
			 conf->pool_count, app.backend_count);
		daemon_run(&app.daemon);
	}
	stop_data_plane(&app, ret != 0);
	stop_work(&app);
	daemon_close(&app.daemon);
	balancer_free(app.balancer);
	free(app.backends);
	overrides_fini(&app.overrides);
	generations_fini(&app.generations);
	if (!ret)
		log_info("stopped", "node=%s", conf->node.name);
	return ret;
}
