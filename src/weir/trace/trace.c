/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir trace: what would become of given packets, and why; of the tables that packets meet on this
 * node (live.c), or, here, of a file. It builds the tables that `weir run` would build from it,
 * with every backend healthy unless told otherwise, and runs each packet through one of the two
 * engines: the packet path compiled natively, which needs no privileges, or the XDP program in the
 * kernel. Both print the same.
 *
 * Packets run in order on one set of tables, so flows are carried over; in a capture the time
 * stamps are the clock. One packet is in memory at a time, however long the capture.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "engine/dp.h"
#include "engine/native.h"
#include "weir/balancer/balancer.h"
#include "weir/command.h"
#include "weir/trace/input.h"
#include "weir/trace/options.h"
#include "weir/trace/print.h"

enum {
	FRAME_MAX = DP_RUN_LENGTH_MAX, /* in both engines, so that they print the same */
	IFINDEX = 1,                   /* where frames come in, and leave */
	IFINDEX_AWAY = 2,              /* of --away */
	MTU_DEFAULT = 1500,
	/* Any numbers do, but the same for both engines: eviction depends on them. */
	FLOW_SECRET = 0x77656972,
	VIP_SECRET = 0x74726163,
};

static const char name[] = "trace";

struct trace {
	const struct trace_options *options;
	struct conf *conf;
	struct balancer *balancer;
	struct native *native; /* one of the two engines */
	struct dp *dp;
	struct dp_tables *tables;
	struct trace_names names;
	struct dp_nexthop hop; /* of every backend */
	uint64_t now_ns;
	uint64_t packets, failed;
	uint8_t frame[FRAME_MAX + NATIVE_HEADROOM];
};

/* --- the command line --- */

static int parse_macs(struct trace *trace)
{
	static const uint8_t src[6] = {2, 0, 0, 0, 0, 1}, dst[6] = {2, 0, 0, 0, 0, 2};
	const char *text = trace->options->mac;
	size_t src_length = 0, dst_length = 0;

	memcpy(trace->hop.src_mac, src, 6);
	memcpy(trace->hop.dst_mac, dst, 6);
	if (!text)
		return 0;
	if (!trace_parse_hex(&text, ',', trace->hop.src_mac, 6, &src_length) && *text == ',') {
		text++;
		trace_parse_hex(&text, '\0', trace->hop.dst_mac, 6, &dst_length);
	}
	if (src_length != 6 || dst_length != 6)
		return command_usage_error(name, "--mac %s: expected two MAC addresses, SRC,DST",
					   trace->options->mac);
	return 0;
}

/* All are read before the first runs, so that a typing error prints nothing else. */
static int check_packets(struct trace *trace)
{
	for (size_t i = 0; i < trace->options->packet_count; i++) {
		const char *text = trace->options->packets[i];
		size_t length;
		const char *wrong = trace_parse_hex(&text, '\0', trace->frame, FRAME_MAX, &length);

		if (wrong)
			return command_usage_error(name, "--packet number %zu: %s", i + 1, wrong);
	}
	return 0;
}

/* --- the tables --- */

static int open_engine(struct trace *trace)
{
	struct dp_options options = {
		.flow_entries = trace->conf->node.flows.entries,
		.features = balancer_features(trace->conf) | ABI_HAS_TRACE,
	};
	struct err err = {0};
	cpu_set_t core;
	int error;

	if (!trace->options->engine || strcmp(trace->options->engine, "native") == 0) {
		error = native_new(options.flow_entries, &trace->native);
		if (error)
			return command_fail(name, "the native engine: %s", strerror(-error));
		native_set_features(trace->native, options.features);
		trace->tables = native_tables(trace->native);
		return 0;
	}
	/* The insert limit counts by core. */
	CPU_ZERO(&core);
	CPU_SET((size_t)(sched_getcpu() < 0 ? 0 : sched_getcpu()), &core);
	sched_setaffinity(0, sizeof(core), &core);
	error = dp_open(&options, &trace->dp, &err);
	if (error == -EPERM || (error && geteuid() != 0))
		return command_fail(name,
				    "--engine xdp needs root (CAP_BPF and CAP_NET_ADMIN): %s; "
				    "--engine native needs no privileges",
				    err.text);
	if (error)
		return command_fail(name, "--engine xdp: %s", err.text);
	trace->tables = dp_tables(trace->dp);
	return 0;
}

/* "b1" means a backend of any pool, "web/b1" that of one. */
static bool is_named(const struct conf_pool *pool, const struct conf_backend *backend,
		     const char *text, size_t length)
{
	size_t pool_length = strlen(pool->name);

	if (strlen(backend->name) == length && memcmp(backend->name, text, length) == 0)
		return true;
	if (length <= pool_length || memcmp(text, pool->name, pool_length) != 0 ||
	    text[pool_length] != '/')
		return false;
	text += pool_length + 1;
	length -= pool_length + 1;
	return strlen(backend->name) == length && memcmp(backend->name, text, length) == 0;
}

/* What an option says of a backend. */
typedef void apply_fn(struct trace *trace, size_t pool, size_t member);

static void apply_down(struct trace *trace, size_t pool, size_t member)
{
	balancer_set_health(trace->balancer, pool, member, POOL_UNHEALTHY, 0);
}

static void apply_drain(struct trace *trace, size_t pool, size_t member)
{
	balancer_set_admin(trace->balancer, pool, member, POOL_DRAIN, 0);
}

static void apply_away(struct trace *trace, size_t pool, size_t member)
{
	struct dp_nexthop hop = trace->hop;

	hop.ifindex = IFINDEX_AWAY;
	balancer_set_nexthop(trace->balancer, pool, member, &hop);
}

static void apply_lost(struct trace *trace, size_t pool, size_t member)
{
	balancer_set_nexthop(trace->balancer, pool, member, NULL);
}

static size_t apply_name(struct trace *trace, const char *text, size_t length, apply_fn *apply)
{
	size_t found = 0;

	for (size_t p = 0; p < trace->conf->pool_count; p++) {
		const struct conf_pool *pool = &trace->conf->pools[p];

		for (size_t m = 0; m < pool->backend_count; m++) {
			if (!is_named(pool, &pool->backends[m], text, length))
				continue;
			apply(trace, p, m);
			found++;
		}
	}
	return found;
}

static int apply_names(struct trace *trace, const char *option, const char *list, apply_fn *apply)
{
	while (list) {
		size_t length = strcspn(list, ",");

		if (!apply_name(trace, list, length, apply))
			return command_usage_error(name, "--%s: no backend \"%.*s\"", option,
						   (int)length, list);
		list = list[length] ? list + length + 1 : NULL;
	}
	return 0;
}

/* In this order: a backend that is both lost and away is lost. */
static int apply_options(struct trace *trace)
{
	const struct trace_options *options = trace->options;
	const struct {
		const char *option, *list;
		apply_fn *apply;
	} all[] = {
		{"down", options->down, apply_down},
		{"drain", options->drain, apply_drain},
		{"away", options->away, apply_away},
		{"lost", options->lost, apply_lost},
	};
	int wrong = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && !wrong; i++)
		wrong = apply_names(trace, all[i].option, all[i].list, all[i].apply);
	return wrong;
}

static void set_sources(struct trace *trace)
{
	struct addr source4, source6;

	addr_parse("192.0.2.1", &source4);
	addr_parse("2001:db8::1", &source6);
	balancer_set_source(trace->balancer, &source4);
	balancer_set_source(trace->balancer, &source6);
}

/* All others are healthy; only now, so that nobody's slots have moved and no flow is elsewhere. */
static void settle_others(struct trace *trace)
{
	for (size_t p = 0; p < trace->conf->pool_count; p++) {
		const struct pool *pool = balancer_pool(trace->balancer, p);

		for (size_t m = 0; m < pool_member_count(pool); m++) {
			if (pool_member_health(pool, m) == POOL_UNKNOWN)
				balancer_set_health(trace->balancer, p, m, POOL_HEALTHY, 0);
		}
	}
	balancer_settle(trace->balancer, 0);
}

/* Counters of an engine that was just opened are at zero. */
static void ignore_record(void *arg, uint32_t record)
{
	(void)arg;
	(void)record;
}

static int fill_tables(struct trace *trace)
{
	static const struct balancer_start start = {
		.health = POOL_UNKNOWN,
		.new_backend = ignore_record,
		.new_service = ignore_record,
	};
	const struct conf *conf = trace->conf;
	struct err err = {0};
	int wrong;

	trace->tables->node->flow_secret = FLOW_SECRET;
	trace->tables->node->vip_secret = VIP_SECRET;
	if (balancer_new(conf, trace->tables, &start, &trace->balancer, &err))
		return command_fail(name, "%s", err.text);
	set_sources(trace);
	trace->hop.ifindex = IFINDEX;
	trace->hop.on_link = true;
	trace->hop.mtu = conf->node.path_mtu ? conf->node.path_mtu : MTU_DEFAULT;
	for (size_t p = 0; p < conf->pool_count; p++) {
		for (size_t m = 0; m < conf->pools[p].backend_count; m++)
			balancer_set_nexthop(trace->balancer, p, m, &trace->hop);
	}
	wrong = apply_options(trace);
	settle_others(trace);
	if (!wrong && trace_names_init(&trace->names, trace->balancer, trace->tables) != 0)
		wrong = command_fail(name, "out of memory");
	return wrong;
}

/* --- packets --- */

static void refuse(struct trace *trace, const char *problem)
{
	trace->failed++;
	if (trace->options->ask.json)
		trace_print_refused_json(problem);
	else
		trace_print_refused(trace->packets, problem);
}

/* Runs what stands in trace->frame. 0, or EXIT_NO: the engine is broken, stop. */
static int run_packet(struct trace *trace, size_t length)
{
	struct dp_result result = {0};
	struct trace_packet packet = {
		.number = trace->packets, .length = length, .result = &result, .out = trace->frame};
	size_t capacity = length + NATIVE_HEADROOM;
	int error;

	trace_packet_describe(&packet, trace->frame, length);
	if (trace->native)
		error = native_run(trace->native, trace->frame, length, capacity, trace->now_ns,
				   &result);
	else
		error = dp_run(trace->dp, trace->frame, length, capacity, trace->now_ns, &result);
	if (error)
		return command_fail(name, "packet %llu cannot be run: %s",
				    (unsigned long long)trace->packets, strerror(-error));
	if (trace->options->ask.json)
		trace_print_json(&trace->names, &packet);
	else
		trace_print(&trace->names, &packet);
	return 0;
}

static int run_hex(struct trace *trace)
{
	for (size_t i = 0; i < trace->options->packet_count; i++) {
		const char *text = trace->options->packets[i];
		size_t length = 0;
		char problem[TRACE_PROBLEM_MAX];

		trace->packets++;
		trace_parse_hex(&text, '\0', trace->frame, FRAME_MAX, &length);
		if (length > FRAME_MAX) {
			snprintf(problem, sizeof(problem), "%zu bytes, %d at most can be run",
				 length, FRAME_MAX);
			refuse(trace, problem);
		} else if (run_packet(trace, length)) {
			return EXIT_NO;
		}
	}
	return 0;
}

static int run_tuple(struct trace *trace)
{
	size_t length = tuple_frame(&trace->options->tuple, trace->frame);

	trace->packets++;
	if (length)
		return run_packet(trace, length);
	return command_usage_error(name, "--length %zu: shorter than its headers, or too long",
				   trace->options->tuple.length);
}

static int run_captured(struct trace *trace, const struct trace_captured *captured)
{
	char problem[TRACE_PROBLEM_MAX];

	trace->packets++;
	/* The clock follows the time stamps, but never goes back. */
	if (captured->time_ns > trace->now_ns)
		trace->now_ns = captured->time_ns;
	if (captured->length < captured->wire_length) {
		snprintf(problem, sizeof(problem),
			 "captured short: %u of %u bytes (capture with a larger snapshot length)",
			 captured->length, captured->wire_length);
		refuse(trace, problem);
		return 0;
	}
	if (captured->length > FRAME_MAX) {
		snprintf(problem, sizeof(problem), "%u bytes, %d at most can be run",
			 captured->length, FRAME_MAX);
		refuse(trace, problem);
		return 0;
	}
	memcpy(trace->frame, captured->bytes, captured->length);
	return run_packet(trace, captured->length);
}

static int run_pcap(struct trace *trace)
{
	const char *path = trace->options->pcap;
	struct trace_captured captured;
	struct trace_capture capture;
	struct err err = {0};
	int got, error = 0;

	if (trace_capture_open(path, &capture, &err))
		return command_fail(name, "%s: %s", path, err.text);
	while (!error && !ferror(stdout)) {
		got = trace_capture_next(&capture, &captured, &err);
		if (got <= 0)
			break;
		error = run_captured(trace, &captured);
	}
	if (!error && err.text[0])
		error = command_fail(name, "%s: after packet %llu: %s", path,
				     (unsigned long long)trace->packets, err.text);
	trace_capture_close(&capture);
	return error;
}

static int run_all(struct trace *trace)
{
	int error;

	if (trace->options->pcap)
		error = run_pcap(trace);
	else if (trace->options->packet_count)
		error = run_hex(trace);
	else
		error = run_tuple(trace);

	if (fflush(stdout) != 0 || ferror(stdout))
		return command_fail(name, "cannot write the output: %s", strerror(errno));
	if (error)
		return error;
	if (trace->failed)
		return command_fail(name, "%llu of %llu %s could not be run",
				    (unsigned long long)trace->failed,
				    (unsigned long long)trace->packets,
				    plural(trace->packets, "packet", "packets"));
	return EXIT_OK;
}

static int run_trace(struct trace *trace)
{
	int error = parse_macs(trace);

	if (!error)
		error = check_packets(trace);
	if (error)
		return error;
	trace->conf = command_load_conf(name, trace->options->config);
	error = trace->conf ? open_engine(trace) : EXIT_NO;
	if (!error)
		error = fill_tables(trace);
	if (!error)
		error = run_all(trace);
	trace_names_fini(&trace->names);
	balancer_free(trace->balancer);
	native_free(trace->native);
	dp_close(trace->dp);
	conf_free(trace->conf);
	return error;
}

int command_trace(int argc, char **argv)
{
	struct trace_options options = {0};
	struct trace *trace = calloc(1, sizeof(*trace));
	int status;

	options.packets = calloc((size_t)argc, sizeof(*options.packets));
	if (!trace || !options.packets) {
		status = command_fail(name, "out of memory");
		goto out;
	}
	status = trace_parse_options(argc, argv, &options);
	if (status)
		goto out;
	trace->options = &options;
	if (options.help)
		trace_print_help();
	else if (options.config)
		status = run_trace(trace);
	else
		status = trace_live(&options);
out:
	free(options.packets);
	free(trace);
	return status;
}
