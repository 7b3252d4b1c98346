/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /api/v1: what `weir status` knows, in parts. A list is {"total", "offset", "limit", "items"}, of
 * those whose name or address has the text ?q=, from ?offset= on, ?limit= at most: so an answer
 * costs the loop some milliseconds, however large the configuration is.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "weir/events/events.h"
#include "weir/figures/node.h"
#include "weir/node/announcer_state.h"
#include "weir/node/reload.h"
#include "weir/node/report.h"
#include "weir/routing/state.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 500 };

void node_refuse(struct http_exchange *exchange, unsigned status, const char *why)
{
	exporter_reply_json(exchange, status, json_pack("{s:s}", "error", why));
}

/* --- lists --- */

struct listing {
	const struct app *app;
	size_t first, count; /* what there is */
	bool (*matches)(const struct listing *listing, size_t at, const char *q);
	bool (*passes)(const struct listing *listing, size_t at); /* NULL: all do */
	json_t *(*item)(const struct listing *listing, size_t at);
};

static json_t *list_items(const struct listing *listing, const char *q, uint64_t offset,
			  uint64_t limit)
{
	json_t *items = json_array();
	uint64_t total = 0;

	for (size_t i = 0; i < listing->count; i++) {
		size_t at = listing->first + i;

		if ((q && *q && !listing->matches(listing, at, q)) ||
		    (listing->passes && !listing->passes(listing, at)))
			continue;
		if (total >= offset && total - offset < limit)
			json_array_append_new(items, listing->item(listing, at));
		total++;
	}
	return json_pack("{s:I, s:I, s:I, s:o}", "total", (json_int_t)total, "offset",
			 (json_int_t)offset, "limit", (json_int_t)limit, "items", items);
}

/* NULL: refused, and told so. */
static json_t *list(struct http_exchange *exchange, const struct listing *listing)
{
	uint64_t offset, limit;

	if (http_query_number(exchange, "offset", 0, UINT32_MAX, &offset) ||
	    http_query_number(exchange, "limit", LIMIT_DEFAULT, LIMIT_MAX, &limit)) {
		node_refuse(exchange, 400, "offset and limit are whole numbers, limit 500 at most");
		return NULL;
	}
	return list_items(listing, http_query(exchange, "q"), offset, limit);
}

static void answer_list(struct http_exchange *exchange, const struct listing *listing)
{
	json_t *answer = list(exchange, listing);

	if (answer)
		exporter_reply_json(exchange, 200, answer);
}

/* --- services --- */

bool node_service_matches(const struct app *app, size_t at, const char *q)
{
	const struct conf_service *service = &app->conf->services[at];
	char text[ADDR_TEXT_MAX];

	if (strstr(service->name, q) || strstr(service->pool->name, q))
		return true;
	for (size_t i = 0; i < service->vip_count; i++) {
		if (strstr(prefix_format_short(&service->vips[i], text), q))
			return true;
	}
	return false;
}

static bool service_matches(const struct listing *listing, size_t at, const char *q)
{
	return node_service_matches(listing->app, at, q);
}

/* With how many backends its pool has, and can use. */
static json_t *report_service_live(const struct app *app, size_t at)
{
	const struct conf_pool *conf = app->conf->services[at].pool;
	const struct pool *pool = balancer_pool(app->balancer, (size_t)(conf - app->conf->pools));
	json_t *object = report_service(app, at);
	size_t usable = 0;

	for (size_t m = 0; m < pool_member_count(pool); m++)
		usable += pool_member_usable(pool, m);
	json_object_set_new(object, "usable", json_integer((json_int_t)usable));
	json_object_set_new(object, "backends", json_integer((json_int_t)pool_member_count(pool)));
	return object;
}

static json_t *service_item(const struct listing *listing, size_t at)
{
	return report_service_live(listing->app, at);
}

/* Those at the places that ?at= names, in its order: "7,0,12". */
static void answer_services_at(const struct app *app, struct http_exchange *exchange,
			       const char *text)
{
	json_t *items = json_array();
	char *end;

	for (size_t count = 0; *text && count < LIMIT_DEFAULT; count++, text = end) {
		unsigned long at = strtoul(text, &end, 10);

		/* strtoul takes blanks and signs as well. */
		if (!isdigit((unsigned char)*text) || (*end && *end != ','))
			break;
		end += *end == ',';
		json_array_append_new(items, at < app->conf->service_count
						     ? report_service_live(app, at)
						     : json_null());
	}
	if (*text) {
		json_decref(items);
		node_refuse(exchange, 400, "at: whole numbers with commas between, 100 at most");
		return;
	}
	exporter_reply_json(exchange, 200,
			    json_pack("{s:I, s:o}", "generation",
				      (json_int_t)reload_facts(app).generation, "items", items));
}

static void answer_services(void *arg, struct http_exchange *exchange)
{
	const struct app *app = arg;
	const char *at = http_query(exchange, "at");

	if (at) {
		answer_services_at(app, exchange, at);
		return;
	}
	answer_list(exchange, &(struct listing){.app = app,
						.count = app->conf->service_count,
						.matches = service_matches,
						.item = service_item});
}

static void answer_service(void *arg, struct http_exchange *exchange)
{
	const struct app *app = arg;

	for (size_t i = 0; i < app->conf->service_count; i++) {
		if (strcmp(app->conf->services[i].name, http_rest(exchange)) == 0) {
			exporter_reply_json(exchange, 200, report_service_live(app, i));
			return;
		}
	}
	node_refuse(exchange, 404, "there is no such service");
}

/* --- pools and backends --- */

static bool pool_matches(const struct listing *listing, size_t at, const char *q)
{
	return strstr(listing->app->conf->pools[at].name, q) != NULL;
}

static json_t *pool_item(const struct listing *listing, size_t at)
{
	return report_pool(listing->app, at);
}

static void answer_pools(void *arg, struct http_exchange *exchange)
{
	const struct app *app = arg;

	answer_list(exchange, &(struct listing){.app = app,
						.count = app->conf->pool_count,
						.matches = pool_matches,
						.item = pool_item});
}

static bool backend_matches(const struct listing *listing, size_t at, const char *q)
{
	const struct app_backend *backend = listing->app->backends[at];
	const struct conf_pool *pool = &listing->app->conf->pools[backend->pool];
	const struct conf_backend *conf = &pool->backends[backend->member];
	char text[ADDR_TEXT_MAX];

	return strstr(conf->name, q) || strstr(pool->name, q) ||
	       strstr(addr_format(&conf->address, text), q);
}

static json_t *backend_item(const struct listing *listing, size_t at)
{
	const struct app_backend *backend = listing->app->backends[at];
	json_t *object = report_backend(backend);

	json_object_set_new(object, "pool",
			    json_string(listing->app->conf->pools[backend->pool].name));
	return object;
}

static struct listing backends_of(const struct app *app, size_t first, size_t count)
{
	return (struct listing){.app = app,
				.first = first,
				.count = count,
				.matches = backend_matches,
				.item = backend_item};
}

/* New flows do not get it, for whatever reason but that it is a backup. */
static bool backend_is_out(const struct listing *listing, size_t at)
{
	const struct app_backend *backend = listing->app->backends[at];
	const struct pool *pool = balancer_pool(listing->app->balancer, backend->pool);

	return !pool_member_usable(pool, backend->member);
}

static void answer_backends(void *arg, struct http_exchange *exchange)
{
	const struct app *app = arg;
	struct listing listing = backends_of(app, 0, app->backend_count);
	const char *usable = http_query(exchange, "usable");

	if (usable && strcmp(usable, "no") == 0)
		listing.passes = backend_is_out;
	answer_list(exchange, &listing);
}

bool node_find_pool(const struct app *app, const char *name, size_t *ret, size_t *ret_first)
{
	size_t at = 0, first = 0;

	while (at < app->conf->pool_count && strcmp(app->conf->pools[at].name, name) != 0)
		first += app->conf->pools[at++].backend_count;
	*ret = at;
	*ret_first = first;
	return at < app->conf->pool_count;
}

static void answer_pool(void *arg, struct http_exchange *exchange)
{
	const struct app *app = arg;
	size_t first, at;
	struct listing listing;
	json_t *backends, *answer;

	if (!node_find_pool(app, http_rest(exchange), &at, &first)) {
		node_refuse(exchange, 404, "there is no such pool");
		return;
	}
	listing = backends_of(app, first, app->conf->pools[at].backend_count);
	backends = list(exchange, &listing);
	if (!backends)
		return;
	answer = report_pool(app, at);
	json_object_set_new(answer, "backends", backends);
	exporter_reply_json(exchange, 200, answer);
}

/* --- what is announced --- */

static bool vip_matches(const struct listing *listing, size_t at, const char *q)
{
	char text[ADDR_TEXT_MAX];

	return strstr(prefix_format_short(&policy_vip(listing->app->announcer->policy, at)->prefix,
					  text),
		      q) != NULL;
}

static json_t *vip_item(const struct listing *listing, size_t at)
{
	return announcer_report_vip(listing->app->announcer, at);
}

static void answer_vips(void *arg, struct http_exchange *exchange)
{
	const struct app *app = arg;

	answer_list(exchange,
		    &(struct listing){.app = app,
				      .count = app->announcer ? app->announcer->told_count : 0,
				      .matches = vip_matches,
				      .item = vip_item});
}

static void answer_announce(void *arg, struct http_exchange *exchange)
{
	exporter_reply_json(exchange, 200, announcer_report_node(arg));
}

static json_t *report_bgp(const struct app *app)
{
	return app->announcer && app->announcer->routers ? routers_report(app->announcer->routers)
							 : json_null();
}

static void answer_bgp(void *arg, struct http_exchange *exchange)
{
	exporter_reply_json(exchange, 200, report_bgp(arg));
}

/* Of the same, the sessions that have it. */
static void answer_bfd(void *arg, struct http_exchange *exchange)
{
	json_t *bgp = report_bgp(arg), *sessions = json_array(), *peer;
	size_t i;

	json_array_foreach(json_object_get(bgp, "peers"), i, peer)
	{
		json_t *bfd = json_object_get(peer, "bfd");

		if (!json_is_object(bfd))
			continue;
		json_object_set(bfd, "address", json_object_get(peer, "address"));
		json_array_append(sessions, bfd);
	}
	json_decref(bgp);
	exporter_reply_json(exchange, 200, json_pack("{s:o}", "sessions", sessions));
}

/* --- the node --- */

static json_t *count_all(const struct app *app)
{
	uint64_t healthy = 0, usable = 0;

	for (size_t i = 0; i < app->backend_count; i++) {
		const struct app_backend *backend = app->backends[i];
		const struct pool *pool = balancer_pool(app->balancer, backend->pool);

		healthy += pool_member_health(pool, backend->member) == POOL_HEALTHY;
		usable += pool_member_usable(pool, backend->member);
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "services",
			 (json_int_t)app->conf->service_count, "pools",
			 (json_int_t)app->conf->pool_count, "backends",
			 (json_int_t)app->backend_count, "backends_healthy", (json_int_t)healthy,
			 "backends_usable", (json_int_t)usable);
}

static void answer_status(void *arg, struct http_exchange *exchange)
{
	json_t *answer = report_node(arg);

	json_object_set_new(answer, "counts", count_all(arg));
	exporter_reply_json(exchange, 200, answer);
}

/* Not its text: the arguments of a probe's program may be nobody's business. */
static void answer_config(void *arg, struct http_exchange *exchange)
{
	exporter_reply_json(exchange, 200, reload_report(arg));
}

static void answer_events(void *arg, struct http_exchange *exchange)
{
	events_reply(((struct app *)arg)->daemon.events, exchange);
}

const struct http_route node_api_routes[] = {
	{.path = "/api/v1/events", .handler = answer_events},
	{.path = "/api/v1/status", .handler = answer_status},
	{.path = "/api/v1/services", .handler = answer_services},
	{.path = "/api/v1/services/", .prefix = true, .handler = answer_service},
	{.path = "/api/v1/pools", .handler = answer_pools},
	{.path = "/api/v1/pools/", .prefix = true, .handler = answer_pool},
	{.path = "/api/v1/backends", .handler = answer_backends},
	{.path = "/api/v1/announce", .handler = answer_announce},
	{.path = "/api/v1/vips", .handler = answer_vips},
	{.path = "/api/v1/bgp", .handler = answer_bgp},
	{.path = "/api/v1/bfd", .handler = answer_bfd},
	{.path = "/api/v1/config", .handler = answer_config},
};
const size_t node_api_route_count = sizeof(node_api_routes) / sizeof(node_api_routes[0]);
