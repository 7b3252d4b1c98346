// SPDX-License-Identifier: BSD-2-Clause
/*
 * Nanoseconds a packet through the balancer's program, by BPF_PROG_TEST_RUN: the program that the
 * daemon loads, with the features that a configuration of the row's kind needs, on one core, the
 * tables hot. measure/whole.bpf.c makes the frame whole before each round. All rows are measured in
 * turn, one short sample each, and again: what disturbs the machine for a while disturbs them
 * alike, and ratios are taken within a turn. It reports; it does not judge.
 *
 * docs/design/09-bench.md says how to read the figures.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/report.h"
#include "bench/ring.h"
#include "bench/setting.h"
#include "bench/timing.h"
#include "dp/verdict.h"
#include "engine/dp.h"
#include "measure/measure.h"

enum {
	ROUNDS = 51,
	REPEAT = 5000,
	ROUNDS_MAX = 1000,
	FLOW_ENTRIES = 1024 * 1024, /* as is usual */
	SOURCE_END = 14,            /* the last two bytes of the source, in an IPv4 header */
	VIP_END = 18,
};

/* A row as it is run. */
struct subject {
	struct dp *dp;
	struct frame frame;
	struct measure_whole whole;
	uint32_t verdict;
	double ns[ROUNDS_MAX]; /* a packet, by round */
	double instructions;   /* in the last round; negative: not counted */
};

struct bench {
	const char *only;
	uint32_t rounds, repeat;
	struct measure *measure;
	int counter_fd;
	struct engine {
		uint32_t features;
		struct dp *dp;
	} engines[BENCH_ROWS_MAX];
	size_t engine_count;
	struct subject *subjects[BENCH_ROWS_MAX]; /* NULL: left out */
	double nothing_ns[ROUNDS_MAX], move_ns[ROUNDS_MAX];
};

/* --- the subjects --- */

/* An engine for each set of features. */
static struct dp *engine_of(struct bench *bench, uint32_t features)
{
	struct dp_options options = {.flow_entries = FLOW_ENTRIES, .features = features};
	struct engine *engine = bench->engines;
	struct err err;

	for (; engine < bench->engines + bench->engine_count; engine++) {
		if (engine->features == features)
			return engine->dp;
	}
	if (dp_open(&options, &engine->dp, &err)) {
		fprintf(stderr, "packet_bench: %s\n", err.text);
		exit(1);
	}
	bench_fill(dp_tables(engine->dp));
	bench_ring_open(dp_slow_map(engine->dp));
	engine->features = features;
	bench->engine_count++;
	return engine->dp;
}

static void count_verdicts(const struct dp *dp, uint64_t ret[VERDICT_COUNT])
{
	for (uint32_t i = 0; i < VERDICT_COUNT; i++)
		ret[i] = dp_verdict_count(dp, i).packets;
}

/* Runs it once: by what it grows is how far its start is moved. What is cut has kept its start. */
static void try_once(struct subject *subject, const struct bench_row *row)
{
	static uint8_t out[FRAME_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = subject->frame.bytes,
		    .data_size_in = (uint32_t)subject->frame.length, .data_out = out,
		    .data_size_out = sizeof(out), .repeat = 1);
	uint64_t before[VERDICT_COUNT], after[VERDICT_COUNT];
	int error;

	count_verdicts(subject->dp, before);
	error = bpf_prog_test_run_opts(dp_program_fd(subject->dp), &opts);
	if (error)
		bench_die("a test run", error);
	count_verdicts(subject->dp, after);
	for (uint32_t i = 0; i < VERDICT_COUNT; i++) {
		if (after[i] != before[i])
			subject->verdict = i;
	}
	if (row->head)
		subject->whole.head = row->head;
	else if (opts.data_size_out > opts.data_size_in)
		subject->whole.head = opts.data_size_out - opts.data_size_in;
}

static struct subject *subject_new(struct bench *bench, size_t at)
{
	struct subject *subject = calloc(1, sizeof(*subject));
	const struct bench_row *row = &bench_rows[at];
	uint32_t flows = row->flows ? row->flows : BENCH_FLOWS;

	if (!subject)
		bench_die("memory", ENOMEM);
	subject->dp = engine_of(bench, bench_features(row));
	bench_build(at, &subject->frame);
	/* The first packet may be another than those that follow. */
	try_once(subject, row);
	try_once(subject, row);
	subject->whole.length = (uint32_t)subject->frame.length;
	subject->whole.port_at = bench_has_ports(row) ? (uint32_t)subject->frame.l4 : 0;
	subject->whole.flows_mask = flows - 1;
	if (flows > 1 << MEASURE_PORT_BITS)
		subject->whole.source_at = (uint32_t)subject->frame.ip + SOURCE_END;
	if (row->vips)
		subject->whole.vip_at = (uint32_t)subject->frame.ip + VIP_END;
	subject->whole.vips = row->vips;
	subject->whole.vip_first = (uint32_t)at << 8;
	memcpy(subject->whole.headers, subject->frame.bytes, MEASURE_HEADERS);
	return subject;
}

/* --- measuring --- */

/* Half as many again come first, whose time is not taken. */
static uint32_t rounds_in(const struct bench *bench)
{
	return measure_rounds(bench->repeat);
}

/* Instructions that this thread's kernel side went through; not every machine can count them. */
static int open_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_user = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static double read_counter(const struct bench *bench)
{
	uint64_t count;

	if (bench->counter_fd < 0 ||
	    read(bench->counter_fd, &count, sizeof(count)) != sizeof(count))
		return -1;
	return (double)count;
}

static struct measure_run run_of(const struct bench *bench, const struct subject *subject)
{
	return (struct measure_run){.program_fd = dp_program_fd(subject->dp),
				    .bytes = subject->frame.bytes,
				    .length = subject->frame.length,
				    .whole = subject->whole,
				    .repeat = bench->repeat};
}

/* What a round takes without a program to measure. */
static void run_base(struct bench *bench, uint32_t round)
{
	const struct subject *any = NULL;
	struct measure_run run;
	int error;

	for (size_t i = 0; i < bench_row_count && !any; i++)
		any = bench->subjects[i];
	run = run_of(bench, any);
	error = measure_base(bench->measure, &run, &bench->nothing_ns[round],
			     &bench->move_ns[round]);
	if (error)
		bench_die("a test run", error);
}

static void run_subject(struct bench *bench, struct subject *subject, const char *name,
			uint32_t round)
{
	uint64_t before = dp_verdict_count(subject->dp, subject->verdict).packets;
	struct measure_run run = run_of(bench, subject);
	double counted = read_counter(bench);
	int error = measure_run(bench->measure, &run);

	if (error)
		bench_die("a test run", error);
	subject->ns[round] = run.ns;
	subject->instructions = counted < 0 ? -1
					    : (read_counter(bench) - counted) / rounds_in(bench);
	subject->whole.first += rounds_in(bench);
	if (dp_verdict_count(subject->dp, subject->verdict).packets - before != rounds_in(bench))
		bench_die(name, EIO);
}

/* So that every flow is known before its time is taken. */
static void warm(struct bench *bench)
{
	for (size_t i = 0; i < bench_row_count; i++) {
		struct subject *subject = bench->subjects[i];
		uint32_t done = 0;

		for (; subject && done < bench_rows[i].flows; done += rounds_in(bench))
			run_subject(bench, subject, bench_rows[i].name, 0);
	}
}

static void measure_all(struct bench *bench)
{
	bool terminal = isatty(STDERR_FILENO);

	warm(bench);
	for (uint32_t round = 0; round < bench->rounds; round++) {
		fprintf(stderr, "%sround %u of %u%s", terminal ? "\r" : "", round + 1,
			bench->rounds, terminal ? "" : "\n");
		run_base(bench, round);
		for (size_t i = 0; i < bench_row_count; i++) {
			if (bench->subjects[i])
				run_subject(bench, bench->subjects[i], bench_rows[i].name, round);
		}
	}
	if (terminal)
		fputc('\n', stderr);
}

/* --- the report --- */

static struct measure_spread spread_of(const double *values, uint32_t count)
{
	double sorted[ROUNDS_MAX];

	memcpy(sorted, values, count * sizeof(*values));
	return measure_spread(sorted, count);
}

/* What making the frame whole takes, with a move of its start or without. By the medians of all
 * rounds: one that was disturbed would make all rows of its round too fast. */
static void take_off(struct bench *bench)
{
	double nothing_ns = spread_of(bench->nothing_ns, bench->rounds).median;
	double move_ns = (spread_of(bench->move_ns, bench->rounds).median - nothing_ns) / 2;

	for (size_t i = 0; i < bench_row_count; i++) {
		struct subject *subject = bench->subjects[i];

		for (uint32_t round = 0; subject && round < bench->rounds; round++)
			subject->ns[round] -= nothing_ns + (subject->whole.head ? move_ns : 0);
	}
}

/* IPIP of the same families, tracked or not as the row is; bench_row_count: it is not there. */
static size_t base_of(const struct bench *bench, size_t at)
{
	size_t i;

	for (i = 0; i < bench_row_count; i++) {
		if (bench->subjects[i] && bench_rows[i].kind == KIND_TCP &&
		    bench_rows[i].mode == TUNNEL_IPIP &&
		    bench_rows[i].outer6 == bench_rows[at].outer6 &&
		    bench_rows[i].inner6 == bench_rows[at].inner6 &&
		    bench_rows[i].flags == (bench_rows[at].flags & ABI_SERVICE_TRACK))
			break;
	}
	return i;
}

static void tell_row(const struct bench *bench, size_t at)
{
	const struct subject *subject = bench->subjects[at];
	const char *name = bench_rows[at].name;
	size_t base = base_of(bench, at);
	char counted[96];

	for (uint32_t round = 0; round < bench->rounds; round++)
		report_value(name, "ns", subject->ns[round]);
	report_note(name, report_verdict(subject->verdict));
	if (base < bench_row_count && base != at)
		report_compare(name, bench_rows[base].name);
	if (subject->instructions < 0)
		return;
	snprintf(counted, sizeof(counted), "%s: instructions", name);
	report_value(counted, "", subject->instructions);
}

static void tell_all(const struct bench *bench)
{
	for (uint32_t round = 0; round < bench->rounds; round++)
		report_value("floor, taken off: the frame made whole", "ns",
			     bench->nothing_ns[round]);
	if (bench->counter_fd < 0)
		fprintf(stderr, "packet_bench: this machine does not count instructions\n");
	for (size_t i = 0; i < bench_row_count; i++) {
		if (bench->subjects[i])
			tell_row(bench, i);
	}
	report_print();
}

/* --- the whole --- */

static int usage(void)
{
	fputs("usage: packet_bench [--rounds N] [--repeat N] [--only TEXT]\n"
	      "ns a packet of the balancer's program; needs root\n",
	      stderr);
	return 2;
}

static bool get_number(const char *text, uint32_t max, uint32_t *ret)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || !value || value > max)
		return false;
	*ret = (uint32_t)value;
	return true;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"rounds", required_argument, NULL, 'r'},
						{"repeat", required_argument, NULL, 'n'},
						{"only", required_argument, NULL, 'o'},
						{NULL, 0, NULL, 0}};
	static struct bench bench = {.rounds = ROUNDS, .repeat = REPEAT, .only = ""};
	struct err err;
	bool good = true;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'r': good &= get_number(optarg, ROUNDS_MAX, &bench.rounds); break;
		case 'n': good &= get_number(optarg, INT32_MAX / 2, &bench.repeat); break;
		case 'o': bench.only = optarg; break;
		default: return usage();
		}
	}
	if (!good || optind < argc)
		return usage();
	if (measure_open(&bench.measure, &err)) {
		fprintf(stderr, "packet_bench: %s\n", err.text);
		return 1;
	}
	if (!measure_is_quick(bench.measure))
		fputs("packet_bench: no tap to attach to: it takes longer\n", stderr);
	bench.counter_fd = open_counter();
	for (size_t i = 0; i < bench_row_count; i++) {
		if (strstr(bench_rows[i].name, bench.only))
			bench.subjects[i] = subject_new(&bench, i);
	}
	timing_go_first();
	measure_all(&bench);
	take_off(&bench);
	tell_all(&bench);
	return 0;
}
