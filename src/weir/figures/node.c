/* SPDX-License-Identifier: BSD-2-Clause */
/* The node's metrics but for what there are many of, and its readiness. */
#include "weir/figures/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "dp/verdict.h"
#include "weir/announce/drain.h"
#include "weir/balancer/survey.h"
#include "weir/node/announcer_state.h"
#include "weir/node/attach.h"
#include "weir/node/reload.h"
#include "weir/node/watch.h"
#include "weir/page/page.h"
#include "weir/show.h"

/* Buckets of the flow table that are looked at for a scrape: a line of memory each. */
enum { SAMPLE_BUCKETS = 4096 };

/* --- verdicts --- */

static size_t count_verdicts(const struct scrape *scrape)
{
	(void)scrape;
	return VERDICT_COUNT;
}

static void sample_packets(struct scrape *scrape, size_t at)
{
	struct abi_count count = dp_verdict_count(scrape_app(scrape)->dp, (uint32_t)at);

	metrics_put(&scrape->text, count.packets, {"verdict", show_verdict((uint32_t)at).text},
		    {"action", show_verdict_action((uint32_t)at)});
}

static void sample_bytes(struct scrape *scrape, size_t at)
{
	struct abi_count count = dp_verdict_count(scrape_app(scrape)->dp, (uint32_t)at);

	metrics_put(&scrape->text, count.bytes, {"verdict", show_verdict((uint32_t)at).text},
		    {"action", show_verdict_action((uint32_t)at)});
}

static void sample_verdict(struct scrape *scrape, size_t at)
{
	metrics_put(&scrape->text, 1, {"verdict", show_verdict((uint32_t)at).text},
		    {"action", show_verdict_action((uint32_t)at)},
		    {"means", show_verdict_help((uint32_t)at)});
}

/* --- flows --- */

static void sample_entries(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0,
		       (uint64_t)dp_tables(scrape_app(scrape)->dp)->flow_buckets *
			       ABI_BUCKET_FLOWS);
}

static void sample_used(struct scrape *scrape, size_t at)
{
	const struct dp_tables *tables = dp_tables(scrape_app(scrape)->dp);

	(void)at;
	metrics_sample(&scrape->text, NULL, 0,
		       survey_estimate(tables, SAMPLE_BUCKETS, time_now_ms()));
}

static void sample_insert_limit(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0,
		       dp_tables(scrape_app(scrape)->dp)->node->insert_limit);
}

static void sample_event(struct scrape *scrape, enum abi_event event)
{
	metrics_sample(&scrape->text, NULL, 0, dp_event_count(scrape_app(scrape)->dp, event));
}

static void sample_new(struct scrape *scrape, size_t at)
{
	(void)at;
	sample_event(scrape, ABI_EVENT_FLOW_NEW);
}

static void sample_skipped(struct scrape *scrape, size_t at)
{
	(void)at;
	sample_event(scrape, ABI_EVENT_FLOW_SKIPPED);
}

static void sample_evicted(struct scrape *scrape, size_t at)
{
	(void)at;
	sample_event(scrape, ABI_EVENT_FLOW_EVICTED);
}

static void sample_relies(struct scrape *scrape, size_t at)
{
	(void)at;
	sample_event(scrape, ABI_EVENT_FLOW_RELIES);
}

static void sample_named(struct scrape *scrape, size_t at)
{
	(void)at;
	sample_event(scrape, ABI_EVENT_CID);
}

/* --- fragments --- */

static void sample_split(struct scrape *scrape, size_t at)
{
	struct splitter_counts counts = splitter_counts(scrape_app(scrape)->splitter);
	struct metrics_text *text = &scrape->text;

	(void)at;
	metrics_put(text, counts.packets, {"outcome", "sent"});
	metrics_put(text, counts.refused, {"outcome", "refused"});
	metrics_put(text, counts.failed, {"outcome", "failed"});
	metrics_put(text, dp_event_count(scrape_app(scrape)->dp, ABI_EVENT_SLOW_LOST),
		    {"outcome", "lost"});
}

static void sample_pieces(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0,
		       splitter_counts(scrape_app(scrape)->splitter).pieces);
}

/* --- the program --- */

static void sample_run_time(struct scrape *scrape, size_t at)
{
	struct dp_run_time time = {0};

	(void)at;
	dp_run_time(scrape_app(scrape)->dp, &time);
	metrics_sample_real(&scrape->text, NULL, 0, (double)time.ns / 1e9);
}

static void sample_runs(struct scrape *scrape, size_t at)
{
	struct dp_run_time time = {0};

	(void)at;
	dp_run_time(scrape_app(scrape)->dp, &time);
	metrics_sample(&scrape->text, NULL, 0, time.runs);
}

/* --- the configuration --- */

static void sample_generation(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0, reload_facts(scrape_app(scrape)).generation);
}

static void sample_since(struct scrape *scrape, size_t at)
{
	uint64_t since_ns = reload_facts(scrape_app(scrape)).since_ns;

	(void)at;
	metrics_sample_real(&scrape->text, NULL, 0,
			    (double)time_wall_ms() / 1e3 - time_since_s(since_ns));
}

static void sample_config(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_put(&scrape->text, 1, {"digest", reload_facts(scrape_app(scrape)).digest});
}

static void sample_reloads(struct scrape *scrape, size_t at)
{
	struct reload_facts facts = reload_facts(scrape_app(scrape));

	(void)at;
	metrics_put(&scrape->text, facts.applied, {"outcome", "applied"});
	metrics_put(&scrape->text, facts.unchanged, {"outcome", "unchanged"});
	metrics_put(&scrape->text, facts.refused, {"outcome", "refused"});
}

static void sample_refused(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0, reload_facts(scrape_app(scrape)).is_refused);
}

static void sample_apply(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample_real(&scrape->text, NULL, 0,
			    (double)reload_facts(scrape_app(scrape)).took_ns / 1e9);
}

static void sample_updates(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_put_histogram(&scrape->text, &scrape_app(scrape)->updates);
}

static void sample_node(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_put(&scrape->text, 1, {"node", scrape_app(scrape)->conf->node.name});
}

/* --- readiness --- */

static void add(json_t *reasons, const char *reason)
{
	json_array_append_new(reasons, json_string(reason));
}

static json_t *list_reasons(const struct app *app)
{
	const struct links *links = dp_links(app->dp);
	json_t *reasons = json_array();

	if (!app->reload)
		add(reasons, "the start is under way");
	if (app->daemon.end != DAEMON_RUNS)
		add(reasons, "the daemon ends");
	for (size_t i = 0; i < app->conf->node.interface_count; i++) {
		const struct link_attached *link = links_find(links, app->conf->node.interfaces[i]);

		if (!link || link_is_lost(link))
			add(reasons, "an interface has no program attached");
	}
	if (!watch_is_ready(app))
		add(reasons, "some backend's first check has no result yet");
	if (app->announcer && app->announcer->drain.phase != DRAIN_NONE)
		add(reasons, "the node drains, or is drained");
	return reasons;
}

static void sample_ready(struct scrape *scrape, size_t at)
{
	json_t *reasons = list_reasons(scrape_app(scrape));

	(void)at;
	metrics_sample(&scrape->text, NULL, 0, json_array_size(reasons) == 0);
	json_decref(reasons);
}

static json_t *report_ready(void *arg)
{
	struct app *app = arg;
	json_t *reasons = list_reasons(app);
	struct reload_facts facts = reload_facts(app);

	return json_pack("{s:b, s:s, s:I, s:s, s:o}", "ready", json_array_size(reasons) == 0,
			 "node", app->conf->node.name, "generation", (json_int_t)facts.generation,
			 "digest", facts.digest, "reasons", reasons);
}

/* --- all of it --- */

static uint64_t generation_of(const void *app)
{
	return reload_facts(app).generation;
}

static bool prepare(struct scrape *scrape)
{
	const struct app *app = scrape_app(scrape);
	struct node_notes *notes = malloc(sizeof(*notes));

	scrape->notes = notes;
	return notes && !dp_service_counts(app->dp, notes->services, ABI_SERVICES) &&
	       !dp_backend_counts(app->dp, notes->backends, ABI_BACKENDS);
}

static const struct family families[] = {
	{"weir_node_info", METRIC_GAUGE, "1; the node's name", NULL, sample_node},
	{"weir_packets", METRIC_COUNTER,
	 "packets by what became of them; weir_verdict_info says "
	 "what each verdict means",
	 count_verdicts, sample_packets},
	{"weir_bytes", METRIC_COUNTER, "bytes of frames as they came, by what became of them",
	 count_verdicts, sample_bytes},
	{"weir_verdict_info", METRIC_GAUGE, "1; what each verdict means", count_verdicts,
	 sample_verdict},
	{"weir_flow_table_entries", METRIC_GAUGE, "flows that the node can remember", NULL,
	 sample_entries},
	{"weir_flow_table_used_entries", METRIC_GAUGE,
	 "of these, flows that are remembered and not idle for too long; from a sample", NULL,
	 sample_used},
	{"weir_flow_insert_limit", METRIC_GAUGE,
	 "flows remembered at most, a core and second (node.flows.insert_limit)", NULL,
	 sample_insert_limit},
	{"weir_flows_remembered", METRIC_COUNTER, "new flows that got an entry", NULL, sample_new},
	{"weir_flows_skipped", METRIC_COUNTER,
	 "new flows that got none: the table was full, or the insert limit reached", NULL,
	 sample_skipped},
	{"weir_flows_evicted", METRIC_COUNTER, "entries in use that gave way to new ones", NULL,
	 sample_evicted},
	{"weir_flows_relying", METRIC_COUNTER,
	 "packets without an entry that went on to their slot's previous backend", NULL,
	 sample_relies},
	{"weir_packets_named", METRIC_COUNTER,
	 "packets whose backend was named by a connection id or a TCP option", NULL, sample_named},
	{"weir_split_packets", METRIC_COUNTER,
	 "packets too big that the daemon was given to send "
	 "in fragments",
	 NULL, sample_split},
	{"weir_split_fragments", METRIC_COUNTER, "fragments that it sent", NULL, sample_pieces},
	{"weir_xdp_run_seconds", METRIC_COUNTER,
	 "time in the XDP program, while "
	 "kernel.bpf_stats_enabled is set",
	 NULL, sample_run_time},
	{"weir_xdp_runs", METRIC_COUNTER, "runs of the XDP program, while it is set: a packet each",
	 NULL, sample_runs},
	{"weir_node_ready", METRIC_GAUGE, "1: as /readyz says", NULL, sample_ready},
	{"weir_config_generation", METRIC_GAUGE,
	 "which configuration runs, counted from the start; "
	 "0: it is not through with that",
	 NULL, sample_generation},
	{"weir_config_since_seconds", METRIC_GAUGE, "when it was brought in, since the epoch", NULL,
	 sample_since},
	{"weir_config_info", METRIC_GAUGE, "1; the digest of what all nodes share", NULL,
	 sample_config},
	{"weir_config_reads", METRIC_COUNTER,
	 "how often the file was read again, by what came of "
	 "it",
	 NULL, sample_reloads},
	{"weir_config_refused", METRIC_GAUGE,
	 "1: the file as it is now was refused, and an earlier "
	 "one runs",
	 NULL, sample_refused},
	{"weir_config_apply_seconds", METRIC_GAUGE,
	 "what bringing in the configuration took of the "
	 "event loop; 0: it is the start's",
	 NULL, sample_apply},
	{"weir_table_update_seconds", METRIC_HISTOGRAM,
	 "how long it took to bring the slots of all "
	 "pools up to date after a change of health or state",
	 NULL, sample_updates},
};

const struct family_list node_families = {families, sizeof(families) / sizeof(families[0])};

/* The page, and what it and others ask for. */
static size_t list_routes(struct http_route *ret)
{
	size_t count = 0;

	memcpy(ret, node_api_routes, node_api_route_count * sizeof(*ret));
	count += node_api_route_count;
	memcpy(ret + count, node_live_routes, sizeof(node_live_routes));
	count += NODE_LIVE_ROUTES;
	memcpy(ret + count, page_routes(), PAGE_FILES * sizeof(*ret));
	return count + PAGE_FILES;
}

int node_metrics_open(struct app *app, struct err *err)
{
	static struct family_list lists[6];
	struct http_route routes[EXPORTER_ROUTES_MAX];
	const struct exporter_spec spec = {
		.loop = &app->daemon.loop,
		.app = app,
		.lists = lists,
		.links = dp_links(app->dp),
		.list_count = 6,
		.prepare = prepare,
		.generation = generation_of,
		.ready = report_ready,
		.routes = routes,
		.route_count = list_routes(routes),
	};
	int error = exporter_open(&spec, &app->exporter);

	lists[0] = metrics_process_families;
	lists[1] = node_families;
	lists[2] = node_pool_families;
	lists[3] = node_routing_families;
	lists[4] = metrics_link_families;
	lists[5] = node_worker_families;
	if (error)
		return err_set(err, error, "metrics: out of memory");
	exporter_listen(app->exporter, &app->conf->node.admin);
	return 0;
}
