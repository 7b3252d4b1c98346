/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/workers/workers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "engine/xsk/port.h"
#include "engine/xsk/xsk.h"
#include "weir/workers/limit.h"

enum {
	LOOK_MS = 1000, /* between looks at what there is */
	SOON_MS = 20,   /* the first time after a queue was not to be had; then twice as long */
};

struct workers {
	struct app *app;
	uv_timer_t timer;
	uint64_t pause_ms;
	uint32_t overhead; /* limit_overhead of the configuration */
	uint32_t seen;     /* workers that ran when it was told last */
	uint32_t missing;  /* the same of queues without one */
};

enum privileges workers_privileges(const struct conf *conf)
{
	return conf->node.engine == CONF_ENGINE_AF_XDP ? PRIVILEGES_WORKERS : PRIVILEGES_NODE;
}

int workers_check(const struct conf *conf, struct err *err)
{
	return conf->node.engine == CONF_ENGINE_AF_XDP ? xsk_port_check(err) : 0;
}

/* --- how long packets may be --- */

/* The least MTU of all next hops that are known. */
static uint32_t shortest_path(const struct app *app)
{
	const struct abi_backend *backends = dp_tables(app->dp)->backends;
	uint32_t mtu = UINT16_MAX;

	for (size_t i = 0; i < app->backend_count; i++) {
		const struct app_backend *backend = app->backends[i];
		uint32_t record =
			balancer_backend_record(app->balancer, backend->pool, backend->member);

		if (backends[record].flags & ABI_BACKEND_NEIGH && backends[record].mtu < mtu)
			mtu = backends[record].mtu;
	}
	return mtu;
}

static uint32_t less(uint32_t mtu, uint32_t overhead)
{
	return mtu > overhead ? mtu - overhead : 0;
}

/* Down at once; up by the next look, which asks all of them. */
static void lower(struct app *app, uint32_t length)
{
	if (length < xsk_packet_max(app->dp))
		xsk_set_packet_max(app->dp, length);
}

void workers_expect_mtu(struct app *app, uint32_t mtu)
{
	if (app->workers)
		lower(app, less(mtu, app->workers->overhead));
}

void workers_expect_conf(struct app *app, const struct conf *conf)
{
	if (!app->workers)
		return;
	app->workers->overhead = limit_overhead(conf);
	lower(app, less(shortest_path(app), app->workers->overhead));
}

/* --- looks --- */

static uint32_t count_running(const struct app *app)
{
	struct xsk_seen seen;
	uint32_t count = 0;

	for (uint32_t i = 0; i < xsk_count(app->dp); i++)
		count += xsk_see(app->dp, i, &seen);
	return count;
}

static uint32_t count_zero_copy(const struct app *app)
{
	struct xsk_seen seen;
	uint32_t count = 0;

	for (uint32_t i = 0; i < xsk_count(app->dp); i++)
		count += xsk_see(app->dp, i, &seen) && seen.zero_copy;
	return count;
}

static void tell(struct workers *workers, uint32_t missing, const struct err *why)
{
	uint32_t running = count_running(workers->app);

	if (running != workers->seen)
		event_note(&(struct event_about){"xdp", 1, LOG_INFO, NULL},
			   "workers take packets to their end",
			   "running=%u missing=%u zero_copy=%u", running, missing,
			   count_zero_copy(workers->app));
	workers->seen = running;
	/* A queue that a process has just left is free a moment later. */
	if (missing && missing != workers->missing && workers->pause_ms >= LOOK_MS)
		event_note(&(struct event_about){"xdp", 1, LOG_WARN, NULL},
			   "the kernel forwards what a worker should", "missing=%u reason=%s",
			   missing, log_quote(why->text).text);
	if (!missing || workers->pause_ms >= LOOK_MS)
		workers->missing = missing;
}

static void on_timer(uv_timer_t *timer)
{
	struct workers *workers = timer->data;
	struct app *app = workers->app;
	struct err err;
	uint32_t missing = xsk_look(app->dp, &err);

	xsk_set_packet_max(app->dp, less(shortest_path(app), workers->overhead));
	tell(workers, missing, &err);
	workers->pause_ms = missing ? workers->pause_ms * 2 : LOOK_MS;
	if (workers->pause_ms > LOOK_MS)
		workers->pause_ms = LOOK_MS;
	uv_timer_start(timer, on_timer, workers->pause_ms, 0);
}

/* One a receive queue that there is now; what comes at later ones the kernel forwards. */
static uint32_t wanted(const struct conf_node *node)
{
	uint32_t queues = 0, most = node->workers ? node->workers : XSK_WORKERS_MAX;

	for (size_t i = 0; i < node->interface_count; i++)
		queues += xsk_port_queues(node->interfaces[i]);
	return queues < most ? queues : most;
}

int workers_open(struct app *app, struct err *err)
{
	struct workers *workers;
	int error;

	xsk_fold(app->dp);
	if (app->conf->node.engine != CONF_ENGINE_AF_XDP)
		return 0;
	error = xsk_open(app->dp, wanted(&app->conf->node), err);
	if (error)
		return error;
	workers = calloc(1, sizeof(*workers));
	if (!workers)
		return err_set(err, -ENOMEM, "out of memory");
	workers->app = app;
	workers->pause_ms = SOON_MS;
	workers->overhead = limit_overhead(app->conf);
	uv_timer_init(&app->daemon.loop, &workers->timer);
	workers->timer.data = workers;
	app->workers = workers;
	on_timer(&workers->timer);
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void workers_close(struct app *app)
{
	if (!app->workers)
		return;
	xsk_close(app->dp);
	uv_close((uv_handle_t *)&app->workers->timer, on_closed);
	app->workers = NULL;
}

/* --- for status --- */

static json_t *report_worker(const struct xsk_seen *seen)
{
	const struct xsk_figures *figures = &seen->figures;

	return json_pack("{s:s, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "interface",
			 seen->interface, "queue", (json_int_t)seen->queue, "zero_copy",
			 seen->zero_copy, "received", (json_int_t)figures->received, "sent",
			 (json_int_t)figures->sent, "redirected", (json_int_t)figures->redirected,
			 "refused", (json_int_t)figures->refused, "late", (json_int_t)figures->late,
			 "ring_full", (json_int_t)figures->ring_full, "other",
			 (json_int_t)figures->other);
}

uint32_t workers_missing(const struct app *app)
{
	return app->workers ? app->workers->missing : 0;
}

const char *workers_engine(const struct conf *conf)
{
	return conf->node.engine == CONF_ENGINE_AF_XDP ? "af_xdp" : "xdp";
}

json_t *workers_report(const struct app *app)
{
	json_t *list;

	if (!app->workers)
		return json_null();
	list = json_array();
	for (uint32_t i = 0; i < xsk_count(app->dp); i++) {
		struct xsk_seen seen;

		if (xsk_see(app->dp, i, &seen))
			json_array_append_new(list, report_worker(&seen));
	}
	return json_pack("{s:I, s:I, s:o}", "missing", (json_int_t)app->workers->missing,
			 "packet_max", (json_int_t)xsk_packet_max(app->dp), "running", list);
}
