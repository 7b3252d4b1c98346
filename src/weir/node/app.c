/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `weir run`. The order of the start is the order of trust: the configuration was checked before
 * anything; then the lock, so that there is one writer; the tables, adopted or new; the loop with
 * what feeds them (next hops, health); last the program is attached. After an earlier daemon's
 * death the attached program goes on with the pinned tables through all of this, and meets its
 * successor's program by one exchange.
 *
 * The end by SIGTERM, SIGINT or `weir stop` goes backwards and leaves nothing. `weir restart` and
 * any other death leave all that is pinned, which forwards on as it was.
 */
#include "weir/node/app.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "base/log.h"
#include "base/time.h"
#include "weir/figures/node.h"
#include "weir/figures/top.h"
#include "weir/node/announcer.h"
#include "weir/node/app_state.h"
#include "weir/node/attach.h"
#include "weir/node/capturer.h"
#include "weir/node/drains.h"
#include "weir/node/history.h"
#include "weir/node/reload.h"
#include "weir/node/requests.h"
#include "weir/node/watch.h"
#include "weir/workers/workers.h"

enum {
	KNOW_MS = 10000,   /* for what is to be known before the tables from before are exchanged */
	SURVEYED_MS = 100, /* a longer pause: the flow table has been looked through */
	ARENAS = 2, /* of malloc: the loop's, and one for the threads that read files, in turn */
};

/* --- what changes --- */

static void on_deadline(uv_timer_t *timer);

/* Says which pools' slots changed hands, and which have settled since. */
static void tell_pools(struct app *app)
{
	const struct event_about about = {"pool", 1, LOG_INFO, &app->pools_log};

	for (size_t i = 0; i < app->conf->pool_count; i++) {
		const struct pool *pool = balancer_pool(app->balancer, i);
		struct balancer_news news;

		if (!balancer_pool_news(app->balancer, i, &news))
			continue;
		if (news.slots)
			event_note(&about, "slots changed hands",
				   "pool=%s slots=%llu of=%u in_transition=%u", pool_name(pool),
				   (unsigned long long)news.slots, pool_table_size(pool),
				   pool_moving_slots(pool));
		if (news.settled)
			event_note(&about, "all slots have settled", "pool=%s", pool_name(pool));
	}
}

static void on_survey(uv_timer_t *timer)
{
	struct app *app = timer->data;
	uint64_t pause = balancer_survey(app->balancer, time_now_ms());

	if (pause > SURVEYED_MS) {
		tell_pools(app);
		announcer_look(app);
	}
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
	tell_pools(app);
	arm_deadline(app);
	announcer_look(app);
}

void app_settle(struct app *app)
{
	uv_timer_stop(&app->settle);
	balancer_settle(app->balancer, time_now_ms());
	tell_pools(app);
	arm_deadline(app);
	announcer_look(app);
}

static void on_settle(uv_timer_t *timer)
{
	struct app *app = timer->data;
	uint64_t began_ns = time_now_ns();

	app_settle(app);
	metrics_observe(&app->updates, time_now_ns() - began_ns);
}

/* Failures come in company: a pool's slots are written once for all of them. */
void app_settle_soon(struct app *app)
{
	if (!uv_is_active((uv_handle_t *)&app->settle))
		uv_timer_start(&app->settle, on_settle, app->conf->node.settle_ms, 0);
	/* A VIP that nobody serves any more is withdrawn before packets find out. */
	announcer_look(app);
}

/* What is shown is what is. */
static json_t *on_status(void *arg)
{
	app_settle(arg);
	return app_report(arg);
}

static void on_hangup(void *arg)
{
	reload_now(arg);
}

const struct daemon_op *const app_ops[] = {
	reload_ops, capturer_ops, top_ops, requests_ops, withdraw_ops, NULL,
};

static void on_new_backend(void *arg, uint32_t record)
{
	dp_reset_backend(((struct app *)arg)->dp, record);
}

static uint64_t on_relying(void *arg)
{
	return dp_event_count(((struct app *)arg)->dp, ABI_EVENT_FLOW_RELIES);
}

static void on_pool(void *arg, const struct conf *conf, size_t at, struct pool *pool)
{
	struct app *app = arg;

	requests_prepare(app, conf, at, pool);
	/* What tables were says nothing to those that know. */
	if (!app->balancer && (!dp_adopted(app->dp) ||
			       time_now_ms() < balancer_starting_until_ms(dp_tables(app->dp))))
		history_prepare(app, at, pool);
}

static void on_new_service(void *arg, uint32_t record)
{
	dp_reset_service(((struct app *)arg)->dp, record);
}

/* --- start --- */

static bool may_serve(const struct app *app, const struct app_backend *backend)
{
	uint32_t record = balancer_backend_record(app->balancer, backend->pool, backend->member);
	uint32_t flags = dp_tables(app->dp)->backends[record].flags;

	return !(flags & ABI_BACKEND_HEALTHY) || flags & ABI_BACKEND_NEIGH;
}

/*
 * New tables that know nothing of the backends would refuse what those serve that are at work: so
 * these stay until each check has had a result, and there is a way to who is healthy.
 */
static bool knows_backends(const struct app *app)
{
	for (size_t i = 0; i < app->backend_count; i++) {
		if (!may_serve(app, app->backends[i]))
			return false;
	}
	return watch_is_ready(app);
}

static void get_to_know_backends(struct app *app)
{
	uint64_t end_ms = time_now_ms() + KNOW_MS;

	while (app->daemon.end == DAEMON_RUNS && !knows_backends(app) && time_now_ms() < end_ms)
		uv_run(&app->daemon.loop, UV_RUN_ONCE);
	app_settle(app);
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
void app_open_splitter(struct app *app)
{
	struct err err;

	if (!app->splitter && needs_splitter(app->conf) &&
	    splitter_open(&app->daemon.loop, app->dp, &app->splitter, &err))
		log_warn("packets that are too big cannot be sent in fragments", "reason=%s",
			 log_quote(err.text).text);
}

struct balancer_start app_balancer_start(struct app *app)
{
	return (struct balancer_start){
		.health = POOL_UNKNOWN,
		.unchecked = POOL_HEALTHY,
		.now_ms = time_now_ms(),
		.new_backend = on_new_backend,
		.new_service = on_new_service,
		.relying = on_relying,
		.prepare = on_pool,
		.arg = app,
	};
}

static int fill_tables(struct app *app, struct err *err)
{
	const struct balancer_start start = app_balancer_start(app);
	int ret;

	requests_load(app);
	history_load(app);
	ret = balancer_new(app->conf, dp_tables(app->dp), &start, &app->balancer, err);
	if (!ret)
		history_save(app);
	if (!ret && dp_adopted(app->dp) && !dp_is_beside(app->dp))
		event_note(&(struct event_about){"daemon", 0, LOG_INFO, NULL},
			   "adopted the running data plane", "pins=%s", app->daemon.instance.pins);
	return ret;
}

static int start(struct app *app, struct err *err)
{
	int ret = announcer_check(app->conf, err);
	bool attached = false;

	if (!ret)
		ret = workers_check(app->conf, err);
	if (!ret)
		ret = attach_open(app, err);
	if (!ret)
		app_open_splitter(app);
	/* Tables that packets meet already change only once the interfaces are ours; others are
	 * filled before any packet meets them. */
	if (!ret && dp_adopted(app->dp) && !dp_is_beside(app->dp)) {
		attached = true;
		ret = attach_all(app, err);
	}
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
	ret = watch_start(app, err);
	if (!ret)
		ret = drains_open(app, err);
	if (ret)
		return ret;
	app_settle(app);
	ret = daemon_listen(&app->daemon, on_status, app_ops, app, err);
	if (!ret)
		ret = node_metrics_open(app, err);
	if (ret)
		return ret;
	if (dp_is_beside(app->dp) && !dp_adopted(app->dp))
		get_to_know_backends(app);
	if (!attached && app->daemon.end == DAEMON_RUNS)
		ret = attach_all(app, err);
	if (!ret && app->daemon.end == DAEMON_RUNS)
		ret = workers_open(app, err);
	if (ret)
		return ret;
	app->daemon.hangup = on_hangup;
	daemon_watch(&app->daemon, dp_links(app->dp), attach_again, app);
	daemon_before_end(&app->daemon, announcer_end, app);
	if (app->daemon.end != DAEMON_RUNS)
		return 0;
	ret = announcer_open(app, err);
	return ret ? ret : reload_open(app, err);
}

/* --- end --- */

static void stop_work(struct app *app)
{
	reload_close(app);
	announcer_close(app);
	drains_close(app);
	watch_close(app);
	uv_close((uv_handle_t *)&app->deadline, NULL);
	uv_close((uv_handle_t *)&app->settle, NULL);
	uv_close((uv_handle_t *)&app->survey, NULL);
}

int app_run(const struct conf *conf, const char *file, bool *ret_again, struct err *err)
{
	struct app app = {.conf = conf};
	enum daemon_end end = DAEMON_STOP;
	const struct privileges_files files = {file, conf->source_file};
	int ret = daemon_open(&app.daemon, workers_privileges(conf), conf->node.name, &files, err);

	if (ret)
		return ret;
	mallopt(M_ARENA_MAX, ARENAS);
	uv_timer_init(&app.daemon.loop, &app.deadline);
	uv_timer_init(&app.daemon.loop, &app.settle);
	uv_timer_init(&app.daemon.loop, &app.survey);
	app.deadline.data = app.settle.data = app.survey.data = &app;
	ret = start(&app, err);
	if (!ret) {
		event_note(&(struct event_about){"daemon", 0, LOG_INFO, NULL}, "running",
			   "node=%s file=%s services=%zu pools=%zu backends=%zu tables_mib=%zu",
			   conf->node.name, log_quote(file).text, conf->service_count,
			   conf->pool_count, app.backend_count, (dp_memory(app.dp) >> 20) + 1);
		end = daemon_run(&app.daemon);
	}
	exporter_close(app.exporter);
	capturer_close(&app);
	splitter_close(app.splitter);
	workers_close(&app);
	if (end == DAEMON_RESTART)
		attach_leave(&app);
	else
		attach_stop(&app, ret != 0);
	stop_work(&app);
	daemon_close(&app.daemon);
	balancer_free(app.balancer);
	reload_free(&app);
	overrides_fini(&app.overrides);
	generations_fini(&app.generations);
	if (!ret && end == DAEMON_STOP)
		log_info("stopped", "node=%s", conf->node.name);
	*ret_again = daemon_calls_again(&app.daemon);
	return ret;
}
