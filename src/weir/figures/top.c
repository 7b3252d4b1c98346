/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/figures/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "weir/balancer/survey.h"
#include "weir/node/announcer_state.h"
#include "weir/node/reload.h"
#include "weir/node/report.h"
#include "weir/routing/state.h"
#include "weir/show.h"

enum { SAMPLE_BUCKETS = 4096 };

static void append(json_t *list, uint64_t value)
{
	json_array_append_new(list, json_integer((json_int_t)value));
}

/* --- the services --- */

/* Of each pool: backends that take new flows. For free(); NULL: out of memory. */
static uint32_t *count_usable(const struct app *app)
{
	uint32_t *usable = calloc(app->conf->pool_count + 1, sizeof(*usable));

	for (size_t i = 0; usable && i < app->backend_count; i++) {
		const struct app_backend *backend = app->backends[i];

		usable[backend->pool] += pool_member_usable(
			balancer_pool(app->balancer, backend->pool), backend->member);
	}
	return usable;
}

static json_t *list_names(const struct app *app)
{
	json_t *names = json_array(), *pools = json_array();

	for (size_t i = 0; i < app->conf->service_count; i++) {
		const struct conf_service *service = &app->conf->services[i];

		json_array_append_new(names, json_string(service->name));
		json_array_append_new(pools, json_string(service->pool->name));
	}
	return json_pack("{s:o, s:o}", "names", names, "pools", pools);
}

/* Lists, each with a number of every service in the order of their names. */
static json_t *list_services(const struct app *app, bool with_names)
{
	struct abi_count *counts = calloc(ABI_SERVICES, sizeof(*counts));
	uint32_t *usable = count_usable(app);
	json_t *ret, *packets = json_array(), *bytes = json_array();
	json_t *usables = json_array(), *backends = json_array();

	ret = with_names ? list_names(app) : json_object();
	for (size_t i = 0; counts && usable && i < app->conf->service_count; i++) {
		const struct conf_pool *pool = app->conf->services[i].pool;
		const struct abi_count *count;

		if (i == 0 && dp_service_counts(app->dp, counts, ABI_SERVICES))
			break;
		count = &counts[balancer_service_record(app->balancer, i)];
		append(packets, count->packets);
		append(bytes, count->bytes);
		append(usables, usable[pool - app->conf->pools]);
		append(backends, pool->backend_count);
	}
	free(counts);
	free(usable);
	json_object_set_new(ret, "packets", packets);
	json_object_set_new(ret, "bytes", bytes);
	json_object_set_new(ret, "usable", usables);
	json_object_set_new(ret, "backends", backends);
	return ret;
}

/* --- a service's backends --- */

static json_t *show_backend(const struct app_backend *backend)
{
	const struct app *app = backend->app;
	const struct pool *pool = balancer_pool(app->balancer, backend->pool);
	const struct conf_backend *conf =
		&app->conf->pools[backend->pool].backends[backend->member];
	uint32_t record = balancer_backend_record(app->balancer, backend->pool, backend->member);
	struct abi_count count = dp_backend_count(app->dp, record);
	char text[ADDR_TEXT_MAX];

	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:f, s:I, s:I, s:I}", "name", conf->name,
			 "address", addr_format(&conf->address, text), "health",
			 show_health(pool_member_health(pool, backend->member)), "state",
			 show_admin(pool_member_admin(pool, backend->member)), "usable",
			 pool_member_usable(pool, backend->member), "share",
			 100.0 * pool_member_slots(pool, backend->member) / pool_table_size(pool),
			 "flows",
			 (json_int_t)balancer_flows(app->balancer, backend->pool, backend->member),
			 "packets", (json_int_t)count.packets, "bytes", (json_int_t)count.bytes);
}

/* null: there is no such service any more. */
static json_t *list_backends(const struct app *app, const char *name)
{
	const struct conf_service *service = NULL;
	json_t *list = json_array();
	size_t pool, total;

	for (size_t i = 0; i < app->conf->service_count && !service; i++) {
		if (strcmp(app->conf->services[i].name, name) == 0)
			service = &app->conf->services[i];
	}
	if (!service) {
		json_decref(list);
		return json_null();
	}
	pool = (size_t)(service->pool - app->conf->pools);
	total = service->pool->backend_count;
	for (size_t i = 0; i < app->backend_count; i++) {
		if (app->backends[i]->pool == pool && json_array_size(list) < TOP_BACKENDS_MAX)
			json_array_append_new(list, show_backend(app->backends[i]));
	}
	return json_pack("{s:s, s:I, s:o}", "pool", service->pool->name, "total", (json_int_t)total,
			 "list", list);
}

/* --- what stands above --- */

static json_t *show_routing(const struct app *app)
{
	const struct announcer *announcer = app->announcer;
	size_t there = 0, up = 0, routers = 0;

	if (!announcer)
		return json_null();
	for (size_t i = 0; i < announcer->told_count; i++)
		there += announcer->told[i].there;
	for (size_t i = 0; announcer->routers && i < announcer->routers->count; i++) {
		const struct router *router = announcer->routers->list[i];

		routers++;
		up += router->peer && bgp_peer_status(router->peer)->state == BGP_PEER_ESTABLISHED;
	}
	return json_pack("{s:I, s:I, s:I, s:I}", "vips", (json_int_t)announcer->told_count,
			 "announced", (json_int_t)there, "routers", (json_int_t)routers,
			 "routers_up", (json_int_t)up);
}

static json_t *show_node(const struct app *app)
{
	struct reload_facts facts = reload_facts(app);
	json_t *flows = report_flows(app);
	uint64_t moving = 0, usable = 0;

	for (size_t i = 0; i < app->conf->pool_count; i++)
		moving += pool_moving_slots(balancer_pool(app->balancer, i));
	for (size_t i = 0; i < app->backend_count; i++) {
		const struct app_backend *backend = app->backends[i];

		usable += pool_member_usable(balancer_pool(app->balancer, backend->pool),
					     backend->member);
	}
	json_object_set_new(flows, "used",
			    json_integer((json_int_t)survey_estimate(
				    dp_tables(app->dp), SAMPLE_BUCKETS, time_now_ms())));
	return json_pack("{s:s, s:s, s:I, s:I, s:b, s:f, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I}",
			 "node", app->conf->node.name, "version", WEIR_VERSION, "started_ns",
			 (json_int_t)app->daemon.started_ns, "generation",
			 (json_int_t)facts.generation, "refused", facts.is_refused, "uptime_s",
			 time_since_s(app->daemon.started_ns), "interfaces",
			 show_links(dp_links(app->dp)), "verdicts", report_verdicts(app), "flows",
			 flows, "routing", show_routing(app), "moving_slots", (json_int_t)moving,
			 "services", (json_int_t)app->conf->service_count, "backends",
			 (json_int_t)app->backend_count, "usable", (json_int_t)usable);
}

static json_t *on_top(void *arg, const struct daemon_request *request)
{
	const struct app *app = arg;
	const char *op, *service = NULL;
	json_int_t known = -1;
	json_t *answer;

	if (json_unpack((json_t *)request->json, "{s:s, s?I, s?s !}", "op", &op, "generation",
			&known, "service", &service))
		return json_pack("{s:s}", "error", "expected a generation and a service, or less");
	answer = json_pack("{s:o, s:I}", "node", show_node(app), "clock_ns",
			   (json_int_t)time_now_ns());
	if (service)
		json_object_set_new(answer, "pool", list_backends(app, service));
	else
		json_object_set_new(
			answer, "services",
			list_services(app, known != (json_int_t)reload_facts(app).generation));
	return answer;
}

const struct daemon_op top_ops[] = {
	{"top", DAEMON_READS, on_top},
	{0},
};
