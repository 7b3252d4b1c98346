/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections are counted when somebody asks, and at most once in AGE_MS: the kernel goes through
 * all of its sockets for it, and nobody else here waits for the agent's loop.
 */
#include "weir/figures/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "weir/agent/app.h"
#include "weir/events/events.h"
#include "weir/show.h"

enum { AGE_MS = 2000 };

struct agent_connections {
	struct host_sockets sockets;
	uint64_t looked_ms; /* 0: never */
	int error;
};

static struct agent_app *agent_of(const struct scrape *scrape)
{
	return scrape->app;
}

/* --- connections --- */

static const struct agent_connections *look(struct agent_app *app)
{
	struct agent_connections *connections = app->connections;
	uint64_t now_ms = time_now_ms();

	if (!connections->looked_ms || now_ms - connections->looked_ms > AGE_MS) {
		connections->error = host_sockets_count(app->conf->vips, app->conf->vip_count,
							app->spaces, app->conf->netns_count,
							&connections->sockets);
		connections->looked_ms = now_ms;
	}
	return connections;
}

static json_t *report_spaces(const struct agent_app *app)
{
	json_t *list = json_array();

	for (size_t i = 0; i < app->conf->netns_count; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", app->conf->netns[i],
						      "error", app->spaces[i].err.text));
	return list;
}

json_t *agent_connections_report(struct agent_app *app)
{
	const struct agent_connections *connections;
	json_t *vips = json_array();
	char text[ADDR_TEXT_MAX];

	if (!app->connections) {
		json_decref(vips);
		return json_null();
	}
	connections = look(app);
	for (size_t i = 0; !connections->error && i < app->conf->vip_count; i++)
		json_array_append_new(vips,
				      json_pack("{s:s, s:I}", "vip",
						prefix_format_short(&app->conf->vips[i], text),
						"established",
						(json_int_t)connections->sockets.established[i]));
	return json_pack("{s:s, s:b, s:o, s:o}", "error",
			 connections->error ? strerror(-connections->error) : "", "at_least",
			 connections->sockets.is_cut, "netns", report_spaces(app), "vips", vips);
}

static size_t count_vips(const struct scrape *scrape)
{
	return look(agent_of(scrape))->error ? 0 : agent_of(scrape)->conf->vip_count;
}

static void sample_established(struct scrape *scrape, size_t at)
{
	const struct agent_app *app = agent_of(scrape);
	char text[ADDR_TEXT_MAX];

	metrics_put(&scrape->text, app->connections->sockets.established[at],
		    {"vip", prefix_format_short(&app->conf->vips[at], text)});
}

static void sample_cut(struct scrape *scrape, size_t at)
{
	const struct agent_connections *connections = look(agent_of(scrape));

	(void)at;
	metrics_sample(&scrape->text, NULL, 0, connections->error || connections->sockets.is_cut);
}

/* --- packets --- */

static const struct {
	const char *name, *action, *help;
} verdicts[] = {
#define ROW(name, action, help) {#name, #action, help},
	AGENT_VERDICTS(ROW)
#undef ROW
};

static const char *const clamps[] = {
#define ROW(name, help) #name,
	AGENT_CLAMPS(ROW)
#undef ROW
};

static size_t count_verdicts(const struct scrape *scrape)
{
	(void)scrape;
	return AGENT_VERDICT_COUNT;
}

static struct abi_count verdict_at(const struct scrape *scrape, size_t at)
{
	return agent_dp_verdict_count(agent_of(scrape)->dp, (enum agent_verdict)at);
}

static void sample_packets(struct scrape *scrape, size_t at)
{
	metrics_put(&scrape->text, verdict_at(scrape, at).packets,
		    {"verdict", show_label(verdicts[at].name).text},
		    {"action", show_label(verdicts[at].action).text});
}

static void sample_bytes(struct scrape *scrape, size_t at)
{
	metrics_put(&scrape->text, verdict_at(scrape, at).bytes,
		    {"verdict", show_label(verdicts[at].name).text},
		    {"action", show_label(verdicts[at].action).text});
}

static void sample_verdict(struct scrape *scrape, size_t at)
{
	metrics_put(&scrape->text, 1, {"verdict", show_label(verdicts[at].name).text},
		    {"action", show_label(verdicts[at].action).text}, {"means", verdicts[at].help});
}

static size_t count_clamps(const struct scrape *scrape)
{
	(void)scrape;
	return AGENT_CLAMP_COUNT;
}

static void sample_clamp(struct scrape *scrape, size_t at)
{
	struct abi_count count = agent_dp_clamp_count(agent_of(scrape)->dp, (enum agent_clamp)at);

	metrics_put(&scrape->text, count.packets, {"outcome", show_label(clamps[at]).text});
}

static void sample_ports(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0, agent_dp_port_count(agent_of(scrape)->dp).packets);
}

static void sample_agent(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_put(&scrape->text, 1, {"agent", agent_of(scrape)->conf->name});
}

static const struct family families[] = {
	{"weir_agent_info", METRIC_GAUGE, "1; the agent's name", NULL, sample_agent},
	{"weir_agent_packets", METRIC_COUNTER,
	 "packets by what became of them; weir_agent_verdict_info says what each verdict means",
	 count_verdicts, sample_packets},
	{"weir_agent_bytes", METRIC_COUNTER, "bytes of frames as they came", count_verdicts,
	 sample_bytes},
	{"weir_agent_verdict_info", METRIC_GAUGE, "1; what each verdict means", count_verdicts,
	 sample_verdict},
	{"weir_agent_syn_acks", METRIC_COUNTER,
	 "SYN-ACKs of the VIPs on their way out, by what became of their MSS", count_clamps,
	 sample_clamp},
	{"weir_agent_answers_from_vip_port", METRIC_COUNTER,
	 "packets that left from a VIP's port in place of the server's own", NULL, sample_ports},
	{"weir_agent_connections", METRIC_GAUGE,
	 "established TCP connections of the VIP, in the agent's network namespace and in those of "
	 "agent.netns",
	 count_vips, sample_established},
	{"weir_agent_connections_cut", METRIC_GAUGE,
	 "1: there are more, for not all sockets were looked at, or they cannot be", NULL,
	 sample_cut},
};

static const struct family_list agent_families = {families, sizeof(families) / sizeof(families[0])};

/* --- life --- */

static uint64_t generation_of(const void *app)
{
	(void)app;
	return 1;
}

static json_t *report_ready(void *arg)
{
	struct agent_app *app = arg;
	const struct links *links = agent_dp_links(app->dp);
	json_t *reasons = json_array();

	if (app->daemon.end != DAEMON_RUNS)
		json_array_append_new(reasons, json_string("the agent ends"));
	for (size_t i = 0; i < links->count; i++) {
		if (link_is_lost(&links->attached[i]))
			json_array_append_new(reasons,
					      json_string("an interface has no program attached"));
	}
	return json_pack("{s:b, s:s, s:o}", "ready", json_array_size(reasons) == 0, "agent",
			 app->conf->name, "reasons", reasons);
}

static void answer_status(void *arg, struct http_exchange *exchange)
{
	exporter_reply_json(exchange, 200, agent_app_report(arg));
}

static void answer_events(void *arg, struct http_exchange *exchange)
{
	events_reply(((struct agent_app *)arg)->daemon.events, exchange);
}

static void answer_connections(void *arg, struct http_exchange *exchange)
{
	exporter_reply_json(exchange, 200, agent_connections_report(arg));
}

static const struct http_route routes[] = {
	{.path = "/api/v1/connections", .handler = answer_connections},
	{.path = "/api/v1/events", .handler = answer_events},
	{.path = "/api/v1/status", .handler = answer_status},
};

static int open_connections(struct agent_app *app)
{
	app->connections = calloc(1, sizeof(*app->connections));
	if (!app->connections)
		return -ENOMEM;
	app->connections->sockets.established =
		calloc(app->conf->vip_count, sizeof(*app->connections->sockets.established));
	return app->connections->sockets.established ? 0 : -ENOMEM;
}

int agent_metrics_open(struct agent_app *app, struct err *err)
{
	static struct family_list lists[3];
	const struct exporter_spec spec = {
		.loop = &app->daemon.loop,
		.app = app,
		.links = agent_dp_links(app->dp),
		.lists = lists,
		.list_count = 3,
		.generation = generation_of,
		.ready = report_ready,
		.routes = routes,
		.route_count = sizeof(routes) / sizeof(routes[0]),
	};
	int error = open_connections(app);

	lists[0] = metrics_process_families;
	lists[1] = metrics_link_families;
	lists[2] = agent_families;
	if (!error)
		error = exporter_open(&spec, &app->exporter);
	if (error)
		return err_set(err, error, "metrics: out of memory");
	exporter_listen(app->exporter, &app->conf->admin);
	return 0;
}

void agent_metrics_close(struct agent_app *app)
{
	exporter_close(app->exporter);
	app->exporter = NULL;
	if (app->connections)
		free(app->connections->sockets.established);
	free(app->connections);
	app->connections = NULL;
}
