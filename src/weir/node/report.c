/* SPDX-License-Identifier: BSD-2-Clause */
#include <unistd.h>

#include "base/time.h"
#include "dp/verdict.h"
#include "weir/metrics/exporter.h"
#include "weir/node/announcer.h"
#include "weir/node/app.h"
#include "weir/node/app_state.h"
#include "weir/node/attach.h"
#include "weir/node/drains.h"
#include "weir/node/reload.h"
#include "weir/node/report.h"
#include "weir/node/requests.h"
#include "weir/node/watch.h"
#include "weir/show.h"
#include "weir/workers/workers.h"

static const char *const verdict_names[] = {
#define NAME(name, action, help) #name,
	VERDICTS(NAME)
#undef NAME
};

json_t *report_service(const struct app *app, size_t at)
{
	const struct conf_service *service = &app->conf->services[at];
	struct abi_count count =
		dp_service_count(app->dp, balancer_service_record(app->balancer, at));

	json_t *object = json_pack("{s:s, s:o, s:o, s:s, s:s, s:I, s:I}", "name", service->name,
				   "vips", show_vips(service->vips, service->vip_count), "listen",
				   show_listens(service), "pool", service->pool->name, "forward",
				   conf_forward_name(service->forward), "packets",
				   (json_int_t)count.packets, "bytes", (json_int_t)count.bytes);

	show_settings(object, service);
	return object;
}

static json_t *report_check(const struct app_backend *backend)
{
	static const enum pool_health same[] = {
		[HEALTH_UNKNOWN] = POOL_UNKNOWN,
		[HEALTH_HEALTHY] = POOL_HEALTHY,
		[HEALTH_UNHEALTHY] = POOL_UNHEALTHY,
	};
	const struct conf_check *check = &backend->app->conf->pools[backend->pool].check;
	const struct health_status *status;

	if (!backend->check)
		return json_null();
	status = health_status(backend->check);
	return json_pack("{s:s, s:i, s:s, s:s, s:f, s:f, s:I, s:I, s:I, s:o}", "type",
			 conf_check_name(check->type), "port", check->port, "via",
			 check->via == CONF_VIA_TUNNEL ? "tunnel" : "node", "state",
			 show_health(same[status->state]), "since_s",
			 status->since_ns ? time_since_s(status->since_ns) : 0.0, "latency_ms",
			 (double)status->latency_ns / (double)TIME_MILLI_NS, "successes",
			 (json_int_t)status->successes, "failures", (json_int_t)status->failures,
			 "not_run", (json_int_t)status->not_run, "last_error",
			 show_bytes(status->last_error));
}

json_t *report_backend(const struct app_backend *backend)
{
	const struct app *app = backend->app;
	const struct pool *pool = balancer_pool(app->balancer, backend->pool);
	const struct conf_backend *conf =
		&app->conf->pools[backend->pool].backends[backend->member];
	uint32_t record = balancer_backend_record(app->balancer, backend->pool, backend->member);
	uint32_t slots = pool_member_slots(pool, backend->member);
	struct abi_count count = dp_backend_count(app->dp, record);
	const struct nexthop *nexthop = nexthop_now(backend->nexthop);
	char text[ADDR_TEXT_MAX];
	json_t *object;

	object = json_pack("{s:s, s:s, s:i, s:i, s:b, s:s, s:b, s:f, s:I, s:I, s:o, s:b, s:b, s:s}",
			   "name", conf->name, "address", addr_format(&conf->address, text), "port",
			   conf->port, "weight", (int)conf->weight, "backup", conf->backup,
			   "health", show_health(pool_member_health(pool, backend->member)),
			   "usable", pool_member_usable(pool, backend->member), "share",
			   100.0 * slots / pool_table_size(pool), "packets",
			   (json_int_t)count.packets, "bytes", (json_int_t)count.bytes, "check",
			   report_check(backend), "next_hop", nexthop->resolved, "on_link",
			   nexthop->resolved && nexthop->on_link, "next_hop_why",
			   nexthop->resolved ? "" : nexthop->why);
	requests_show(backend->app, backend->pool, backend->member, object);
	json_object_set_new(object, "drain", drains_report(backend));
	return object;
}

json_t *report_pool(const struct app *app, size_t at)
{
	const struct pool *pool = balancer_pool(app->balancer, at);
	int usable = 0;

	for (size_t m = 0; m < pool_member_count(pool); m++)
		usable += pool_member_usable(pool, m);
	return json_pack("{s:s, s:i, s:i, s:i}", "name", pool_name(pool), "table_size",
			 (int)pool_table_size(pool), "in_transition", (int)pool_moving_slots(pool),
			 "usable", usable);
}

static json_t *report_pools(const struct app *app)
{
	json_t *list = json_array();
	size_t at = 0;

	for (size_t p = 0; p < app->conf->pool_count; p++) {
		json_t *pool = report_pool(app, p), *backends = json_array();

		for (size_t m = 0; m < app->conf->pools[p].backend_count; m++, at++)
			json_array_append_new(backends, report_backend(app->backends[at]));
		json_object_set_new(pool, "backends", backends);
		json_array_append_new(list, pool);
	}
	return list;
}

json_t *report_verdicts(const struct app *app)
{
	json_t *verdicts = json_object();

	for (uint32_t i = 0; i < VERDICT_COUNT; i++)
		json_object_set_new(verdicts, show_label(verdict_names[i]).text,
				    show_count(dp_verdict_count(app->dp, i)));
	return verdicts;
}

json_t *report_flows(const struct app *app)
{
	const struct dp_tables *tables = dp_tables(app->dp);

	return json_pack("{s:I, s:I, s:I, s:I}", "entries",
			 (json_int_t)tables->flow_buckets * ABI_BUCKET_FLOWS, "new",
			 (json_int_t)dp_event_count(app->dp, ABI_EVENT_FLOW_NEW), "skipped",
			 (json_int_t)dp_event_count(app->dp, ABI_EVENT_FLOW_SKIPPED), "evicted",
			 (json_int_t)dp_event_count(app->dp, ABI_EVENT_FLOW_EVICTED));
}

/* What of the verdict too_big_split became; `lost` counts on over restarts, as verdicts do. */
json_t *report_split(const struct app *app)
{
	struct splitter_counts counts = splitter_counts(app->splitter);

	return json_pack("{s:b, s:I, s:I, s:I, s:I, s:I}", "reading", app->splitter != NULL,
			 "packets", (json_int_t)counts.packets, "pieces", (json_int_t)counts.pieces,
			 "refused", (json_int_t)counts.refused, "failed", (json_int_t)counts.failed,
			 "lost", (json_int_t)dp_event_count(app->dp, ABI_EVENT_SLOW_LOST));
}

/* But for what there may be many of. */
json_t *report_node(const struct app *app)
{
	return json_pack("{s:s, s:s, s:i, s:f, s:b, s:o, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:o, "
			 "s:s, s:o}",
			 "node", app->conf->node.name, "version", WEIR_VERSION, "pid",
			 (int)getpid(), "uptime_s", time_since_s(app->daemon.started_ns), "ready",
			 watch_is_ready(app), "configuration", reload_report(app), "adopted",
			 dp_adopted(app->dp), "tables", attach_tables(app), "file",
			 show_bytes(app->daemon.file), "interfaces", show_links(dp_links(app->dp)),
			 "verdicts", report_verdicts(app), "flows", report_flows(app), "split",
			 report_split(app), "admin", exporter_report(app->exporter), "engine",
			 workers_engine(app->conf), "workers", workers_report(app));
}

json_t *app_report(void *arg)
{
	const struct app *app = arg;
	json_t *object = report_node(app), *services = json_array();

	for (size_t i = 0; i < app->conf->service_count; i++)
		json_array_append_new(services, report_service(app, i));
	json_object_set_new(object, "services", services);
	json_object_set_new(object, "pools", report_pools(app));
	json_object_set_new(object, "announce", announcer_report(app));
	return object;
}
