// SPDX-License-Identifier: BSD-2-Clause
/*
 * Nanoseconds a packet through the balancer's program beside a plain one (reference.bpf.c), by
 * BPF_PROG_TEST_RUN, from a base case with one thing changed at a time: flows, families, modes,
 * services, cores. Each round has a sample of the one, of the other, and of the harness alone with
 * the same frame, which is taken off both; so what slows the machine for a while slows all.
 * docs/design/09-bench.md says how to read the figures.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/reference.h"
#include "bench/report.h"
#include "bench/setting.h"
#include "bench/timing.h"
#include "bench/world.h"
#include "dp/verdict.h"
#include "measure/measure.h"

enum path_kind {
	PATH_PLAIN,
	PATH_SYN, /* of flows that are known */
	PATH_NEW, /* each packet is the SYN of another flow */
	PATH_NOT_VIP,
	PATH_NOT_LISTENED,
	PATH_TRUNCATED,
	PATH_SMALLEST, /* no balancer: an outer header and nothing else */
	PATH_LINE,     /* no balancer: one line of memory */
};

struct path_row {
	const char *name, *group;
	const char *forward; /* NULL: ipip */
	enum path_kind kind;
	uint32_t flows;    /* 0: a thousand */
	uint32_t services; /* 0: one */
	uint32_t entries;  /* of the flow table; 0: two millions */
	uint32_t cores;    /* 0: one */
	uint32_t slots;    /* of the pool's table; 0: as many as is usual */
	bool ipv6, udp, quic, always, all;
	double at_most; /* of the reference's time; 0: nothing is aimed at */
};

static const struct path_row rows[] = {
#include "bench/path_rows.h"
};

enum {
	ROWS = sizeof(rows) / sizeof(rows[0]),
	ROUNDS = 21,
	TRIES = 4, /* of a sample during which another one ran */
	ROUNDS_MAX = 100,
	FEW = 6000, /* packets of a sample, if all that they touch is soon in the caches */
	MANY = 20000,
	ENTRIES = 2 * 1024 * 1024,
	NEW_FLOWS = 1 << 30,
	CORES = 2,
	PAYLOAD = 74, /* frames of 128 bytes, by TCP over IPv4 */
};

/* One program, and one row's frames for it. */
struct side {
	struct measure_run run;
	double ns[ROUNDS_MAX];
};

struct subject {
	const struct path_row *row;
	struct frame frame;
	uint32_t verdict;
	struct side weir, reference;
	double nothing_ns[ROUNDS_MAX], move_ns[ROUNDS_MAX];
};

/* A core's part: a harness of its own, on a thread that stays there. */
struct core {
	struct measure *measure;
	struct measure_run run;
	pthread_t thread;
	int number, error;
	struct bench *bench;
};

struct bench {
	uint32_t rounds;
	const char *only;
	struct core cores[CORES];
	int core_count;
	pthread_barrier_t begins, ends;
	struct world *world;
	struct reference *reference;
};

static bool is_weir(const struct path_row *row)
{
	return row->kind != PATH_SMALLEST && row->kind != PATH_LINE;
}

/* --- frames --- */

static void build_frame(const struct path_row *row, struct frame *ret)
{
	struct frame_spec spec = {
		.src = row->ipv6 ? "2001:db8:c::5" : "203.0.0.0",
		.dst = row->ipv6 ? "2001:db8:b::" : "198.18.0.0",
		.proto = row->udp ? IPPROTO_UDP : IPPROTO_TCP,
		.payload = PAYLOAD,
		.frag = row->ipv6 ? 0 : 0x4000,
	};

	if (row->kind == PATH_NOT_VIP)
		spec.dst = row->ipv6 ? "2001:db8:e::" : "198.51.100.1";
	if (row->kind == PATH_NOT_LISTENED)
		spec.dport = 81;
	if (row->kind == PATH_SYN || row->kind == PATH_NEW)
		spec.tcp_flags = FRAME_SYN;
	/* A header length beyond the packet's end. */
	if (row->kind == PATH_TRUNCATED)
		spec.patches[0] = (struct frame_patch){FRAME_AT_IP, 2, 2, 30};
	frame_build(&spec, ret);
	if (row->quic) {
		/* A short header, and an id that names server 5 in the bits behind its version. */
		static const uint8_t start[] = {0x40, 0x40, 0x01, 0x40, 1, 2, 3, 4, 5};

		memcpy(ret->bytes + ret->l4 + 8, start, sizeof(start));
	}
}

static uint32_t flows_of(const struct path_row *row)
{
	return row->flows ? row->flows : 1000;
}

static void describe_frames(const struct subject *subject, struct measure_whole *ret)
{
	const struct path_row *row = subject->row;
	const struct frame *frame = &subject->frame;

	*ret = (struct measure_whole){
		.length = (uint32_t)frame->length,
		.port_at = (uint32_t)frame->l4,
		/* The last two bytes of an address. */
		.source_at = (uint32_t)frame->ip + (row->ipv6 ? 22 : 14),
		.scatter = flows_of(row),
	};
	if (row->kind == PATH_NEW) {
		ret->scatter = 0;
		ret->flows_mask = NEW_FLOWS - 1;
	}
	if (row->services) {
		ret->vip_at = (uint32_t)frame->ip + (row->ipv6 ? 38 : 18);
		ret->vips = row->services;
	}
	memcpy(ret->headers, frame->bytes, MEASURE_HEADERS);
}

/* --- samples --- */

/* The worker of another core: whenever it is let go, it takes its sample. */
static void *work(void *arg)
{
	struct core *core = arg;
	struct err err;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)core->number, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		bench_die("a core", errno);
	if (measure_open(&core->measure, &err))
		bench_die(err.text, EINVAL);
	timing_go_first();
	for (;;) {
		pthread_barrier_wait(&core->bench->begins);
		core->error = measure_run(core->measure, &core->run);
		pthread_barrier_wait(&core->bench->ends);
	}
	return NULL;
}

static void open_cores(struct bench *bench)
{
	int here;
	struct err err;

	if (measure_open(&bench->cores[0].measure, &err))
		bench_die(err.text, EINVAL);
	if (!measure_is_quick(bench->cores[0].measure))
		fputs("path_bench: no tap to attach to: it takes longer\n", stderr);
	bench->core_count = sysconf(_SC_NPROCESSORS_ONLN) < CORES ? 1 : CORES;
	here = sched_getcpu();
	pthread_barrier_init(&bench->begins, NULL, (unsigned)bench->core_count);
	pthread_barrier_init(&bench->ends, NULL, (unsigned)bench->core_count);
	for (int i = 1; i < bench->core_count; i++) {
		bench->cores[i].bench = bench;
		bench->cores[i].number = here ? 0 : 1;
		if (pthread_create(&bench->cores[i].thread, NULL, work, &bench->cores[i]))
			bench_die("a thread", EAGAIN);
	}
}

/* The mean of the cores' times. Their packets are of the same flows, but not at the same time. */
static double run_on_all(struct bench *bench, struct measure_run *run)
{
	double ns = 0;

	for (int i = 0; i < bench->core_count; i++) {
		bench->cores[i].run = *run;
		bench->cores[i].run.whole.first += (uint32_t)i << 28;
	}
	pthread_barrier_wait(&bench->begins);
	bench->cores[0].error = measure_run(bench->cores[0].measure, &bench->cores[0].run);
	pthread_barrier_wait(&bench->ends);
	for (int i = 0; i < bench->core_count; i++) {
		if (bench->cores[i].error)
			bench_die("a test run", bench->cores[i].error);
		ns += bench->cores[i].run.ns / bench->core_count;
	}
	run->action = bench->cores[0].run.action;
	return ns;
}

/* How often this thread has given its core to another one. */
static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void run_once(struct bench *bench, const struct path_row *row, struct measure_run *run)
{
	int error = 0;

	if (row->cores > 1)
		run->ns = run_on_all(bench, run);
	else
		error = measure_run(bench->cores[0].measure, run);
	if (error)
		bench_die("a test run", error);
	run->whole.first += measure_rounds(run->repeat);
}

/* The least of the tries if there is none that nobody disturbed. Returns how many there were. */
static uint32_t run_side(struct bench *bench, const struct path_row *row, struct side *side,
			 uint32_t round)
{
	uint32_t tries = 0;
	long before;

	do {
		before = switches();
		run_once(bench, row, &side->run);
		if (!tries || side->run.ns < side->ns[round])
			side->ns[round] = side->run.ns;
	} while (++tries < TRIES && row->cores < 2 && switches() != before);
	return tries;
}

static uint32_t action_of(const struct path_row *row)
{
	switch (row->kind) {
	case PATH_NOT_VIP:
	case PATH_NOT_LISTENED: return XDP_PASS;
	case PATH_TRUNCATED: return XDP_DROP;
	default: return XDP_TX;
	}
}

static void run_round(struct bench *bench, struct subject *subject, uint32_t round)
{
	const struct path_row *row = subject->row;
	uint32_t packets = measure_rounds(subject->weir.run.repeat);
	uint64_t before = dp_verdict_count(world_dp(bench->world), subject->verdict).packets;

	packets *= run_side(bench, row, &subject->weir, round) * (row->cores ? row->cores : 1);
	if (dp_verdict_count(world_dp(bench->world), subject->verdict).packets - before !=
	    (is_weir(row) ? packets : 0))
		bench_die(row->name, EIO);
	run_side(bench, row, &subject->reference, round);
	if (row->kind != PATH_NOT_LISTENED && row->kind != PATH_TRUNCATED &&
	    subject->reference.run.action != action_of(row))
		bench_die("the reference path", EIO);
	if (measure_base(bench->cores[0].measure, &subject->reference.run,
			 &subject->nothing_ns[round], &subject->move_ns[round]))
		bench_die("the harness", EIO);
}

/* --- a row --- */

static void try_once(const struct bench *bench, struct subject *subject)
{
	uint64_t before[VERDICT_COUNT];
	size_t length = 0;

	for (uint32_t i = 0; i < VERDICT_COUNT; i++)
		before[i] = dp_verdict_count(world_dp(bench->world), i).packets;
	if (measure_once(&subject->weir.run, &length))
		bench_die("a test run", EIO);
	for (uint32_t i = 0; i < VERDICT_COUNT; i++) {
		if (dp_verdict_count(world_dp(bench->world), i).packets != before[i])
			subject->verdict = i;
	}
	if (length > subject->frame.length)
		subject->weir.run.whole.head = (uint32_t)(length - subject->frame.length);
	if (measure_once(&subject->reference.run, &length))
		bench_die("a test run", EIO);
	if (length > subject->frame.length)
		subject->reference.run.whole.head = (uint32_t)(length - subject->frame.length);
}

/* Does it touch more than is soon in the caches? */
static bool is_wide(const struct path_row *row)
{
	return flows_of(row) > 10000 || row->kind == PATH_NEW;
}

static void set_side(struct side *side, const struct subject *subject, int program_fd)
{
	side->run = (struct measure_run){
		.program_fd = program_fd,
		.bytes = subject->frame.bytes,
		.length = subject->frame.length,
		.repeat = is_wide(subject->row) ? MANY : FEW,
	};
	describe_frames(subject, &side->run.whole);
}

/* Every flow once, so that the tables know it; where there are more than they hold, as many. */
static void warm(struct bench *bench, const struct path_row *row, const struct side *side)
{
	struct measure_run run = side->run;
	uint32_t entries = row->entries ? row->entries : ENTRIES, all = 1;

	while (all < flows_of(row) && all < entries)
		all *= 2;
	if (row->kind == PATH_NEW)
		all = row->entries;
	if (!all)
		return;
	run.whole.scatter = 0;
	run.whole.flows_mask = (row->kind == PATH_NEW ? NEW_FLOWS : all) - 1;
	run.whole.first = row->kind == PATH_NEW ? NEW_FLOWS / 2 : 0;
	run.repeat = all;
	if (measure_run(bench->cores[0].measure, &run))
		bench_die("a test run", EIO);
}

static struct subject *subject_new(struct bench *bench, const struct path_row *row)
{
	struct subject *subject = calloc(1, sizeof(*subject));

	if (!subject)
		bench_die("memory", ENOMEM);
	subject->row = row;
	build_frame(row, &subject->frame);
	set_side(&subject->weir, subject, dp_program_fd(world_dp(bench->world)));
	set_side(&subject->reference, subject, reference_program_fd(bench->reference));
	if (row->kind == PATH_SMALLEST)
		subject->weir.run.program_fd = reference_smallest_fd(bench->reference);
	if (row->kind == PATH_LINE)
		subject->weir.run.program_fd = reference_line_fd(bench->reference);
	try_once(bench, subject);
	if (row->always)
		warm(bench, row, &subject->weir);
	warm(bench, row, &subject->reference);
	return subject;
}

/* --- the report --- */

static double least(const double *values, uint32_t count)
{
	double least = values[0];

	for (uint32_t i = 1; i < count; i++)
		least = values[i] < least ? values[i] : least;
	return least;
}

static void tell_side(const struct bench *bench, const struct subject *subject,
		      const struct side *side, const char *name)
{
	double nothing_ns = least(subject->nothing_ns, bench->rounds);
	double move_ns = (least(subject->move_ns, bench->rounds) - nothing_ns) / 2;

	for (uint32_t i = 0; i < bench->rounds; i++)
		report_value(name, "ns",
			     side->ns[i] - nothing_ns - (side->run.whole.head ? move_ns : 0));
}

static void tell(const struct bench *bench, const struct subject *subject)
{
	const struct path_row *row = subject->row;
	char reference[128];

	tell_side(bench, subject, &subject->weir, row->name);
	if (is_weir(row))
		report_note(row->name, report_verdict(subject->verdict));
	if (row->kind == PATH_NOT_LISTENED || row->kind == PATH_TRUNCATED)
		return;
	snprintf(reference, sizeof(reference), "%s: reference", row->name);
	tell_side(bench, subject, &subject->reference, reference);
	report_compare(row->name, reference);
	if (row->at_most > 0)
		report_at_most(row->name, row->at_most);
}

static void tell_memory(void)
{
	const struct reference_spec spec = {.flows = ENTRIES, .vips = 1};
	const struct world_spec few = {.flows = ABI_FLOWS_DEFAULT,
				       .services = 1,
				       .backends = 100,
				       .forward = "ipip",
				       .tracking = "transition"};
	struct reference *reference = reference_open(&spec);
	struct world *world = world_open(&few);

	report_value("tables of a node at the default limits", "MiB",
		     (double)dp_memory(world_dp(world)) / (1 << 20));
	report_limit("tables of a node at the default limits", 64);
	report_value("a tracked flow", "bytes", sizeof(struct abi_flow));
	report_value("a flow: reference", "bytes",
		     (double)reference_flow_memory(reference) / ENTRIES);
	report_compare("a tracked flow", "a flow: reference");
	report_limit("a tracked flow", 16);
	world_close(world);
	reference_close(reference);
}

/* --- groups --- */

static void open_group(struct bench *bench, const struct path_row *row)
{
	uint32_t services = row->services ? row->services : 1;
	uint32_t entries = row->entries ? row->entries : ENTRIES;
	const char *forward = row->forward ? row->forward : "ipip";
	struct world_spec world = {
		.flows = entries,
		.services = services,
		.backends = services > 1 ? 10 : 100,
		.slots = row->slots,
		.forward = forward,
		.tracking = row->always ? "always" : "transition",
		.ipv6 = row->ipv6,
		.quic = row->quic,
		.all = row->all,
	};
	struct reference_spec reference = {
		.flows = entries,
		/* Of its tables a few are enough to be out of every cache. */
		.vips = services,
		.ipv6 = row->ipv6,
		.quic = row->quic,
		.gue = strcmp(forward, "gue") == 0,
	};

	bench->world = world_open(&world);
	bench->reference = reference_open(&reference);
}

static bool is_wanted(const struct bench *bench, const struct path_row *row)
{
	return strstr(row->name, bench->only) &&
	       (int)(row->cores ? row->cores : 1) <= bench->core_count;
}

/* All of the rows from `first` on that are of its group; returns where the next one begins. */
static size_t run_group(struct bench *bench, size_t first)
{
	struct subject *subjects[ROWS];
	size_t end = first, count = 0;

	for (; end < ROWS && strcmp(rows[end].group, rows[first].group) == 0; end++) {
		if (!is_wanted(bench, &rows[end]))
			continue;
		if (!count)
			open_group(bench, &rows[first]);
		subjects[count++] = subject_new(bench, &rows[end]);
	}
	for (uint32_t round = 0; round < bench->rounds; round++) {
		for (size_t i = 0; i < count; i++)
			run_round(bench, subjects[i], round);
	}
	for (size_t i = 0; i < count; i++) {
		tell(bench, subjects[i]);
		free(subjects[i]);
	}
	if (count) {
		world_close(bench->world);
		reference_close(bench->reference);
	}
	return end;
}

int main(int argc, char **argv)
{
	static struct bench bench = {.rounds = ROUNDS, .only = ""};

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--rounds") == 0)
			bench.rounds = (uint32_t)atoi(argv[i + 1]);
		else if (strcmp(argv[i], "--only") == 0)
			bench.only = argv[i + 1];
		else
			argc = 0;
	}
	if (argc % 2 == 0 || bench.rounds < 1 || bench.rounds > ROUNDS_MAX) {
		fputs("usage: path_bench [--rounds N] [--only TEXT]; needs root\n", stderr);
		return 2;
	}
	open_cores(&bench);
	timing_go_first();
	for (size_t i = 0; i < ROWS;)
		i = run_group(&bench, i);
	if (!*bench.only)
		tell_memory();
	report_print();
	return 0;
}
