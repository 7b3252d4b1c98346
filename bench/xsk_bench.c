// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a worker of engine af_xdp forwards in a second, beside the least that can be done on the
 * same socket: a program that gives it every frame, and a worker that swaps two MAC addresses and
 * sends the frame back. Both over a veth, with more frames coming than either takes; what arrives
 * at the other end is counted. The sender has one core, the worker another, where there are two.
 * All ways are measured in turn, a short sample each, and again.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "bench/report.h"
#include "bench/setting.h"
#include "bench/world.h"
#include "engine/dp_state.h"
#include "engine/native.h"
#include "engine/xsk/port.h"
#include "engine/xsk/worker.h"
#include "pkt/ctx.h"
#include "xsk.skel.h"

enum {
	ROUNDS = 9,
	WARM_MS = 60,
	WARM_FRAMES = 5000, /* more than a ring holds */
	SAMPLE_MS = 250,
	FRAMES_A_CALL = 1 << 14,
	FRAME = 64,
	FLOWS = 1024 * 1024,
};

#define WARM_MAX_NS (5 * TIME_SECOND_NS)

enum way { BARE, WORKER, AWAY, KERNEL, WAYS };
static const char *const names[] = {
	"bare loop on the socket",
	"a worker (af_xdp)",
	"a worker, out at another interface",
	"the kernel's program, the same frames",
};

/* The thread's time, which counts whatever else the machine does; the kernel's is no thread's. */
static const char *const spent_names[] = {
	"bare loop, its thread's time a frame",
	"a worker, its thread's time a frame",
	"a worker, out at another interface, its thread's time a frame",
};

struct bench {
	struct xsk_bpf *skel;
	struct world *world;
	struct native *native;
	struct xsk_worker *worker;
	uint32_t ifindex, far_ifindex, away_ifindex;
	int link_fd, far_link_fd, away_link_fd;
	_Atomic enum way way;
	_Atomic bool sends;
	pthread_t sender;
};

static void run(const char *command)
{
	if (system(command))
		bench_die(command, EINVAL);
}

static int checked(int result, const char *what)
{
	if (result < 0)
		bench_die(what, -result);
	return result;
}

/* --- the worker's path --- */

static int swap(struct pkt_ctx *ctx)
{
	uint8_t mac[ETH_ALEN];

	memcpy(mac, ctx->data, ETH_ALEN);
	memcpy(ctx->data, ctx->data + ETH_ALEN, ETH_ALEN);
	memcpy(ctx->data + ETH_ALEN, mac, ETH_ALEN);
	return VERDICT_FORWARDED;
}

static int path(void *arg, struct pkt_ctx *ctx, uint64_t now_ns, uint32_t *ret_ifindex)
{
	struct bench *bench = arg;
	enum way way = atomic_load_explicit(&bench->way, memory_order_relaxed);
	uint32_t backend;
	int verdict;

	*ret_ifindex = bench->away_ifindex;
	if (way == BARE)
		return swap(ctx);
	verdict = (int)native_forward(bench->native, ctx, now_ns, &backend);
	return way == AWAY && verdict == VERDICT_FORWARDED ? VERDICT_REDIRECTED : verdict;
}

/* How long the worker's thread has run; the only one of its name. */
static uint64_t worker_spent_ns(void)
{
	unsigned long long ns = 0;
	FILE *file =
		popen("cat $(dirname $(grep -l '^xsk-' /proc/$PPID/task/*/comm))/schedstat", "r");

	if (!file || fscanf(file, "%llu", &ns) != 1)
		bench_die("the thread's time", EINVAL);
	pclose(file);
	return ns;
}

/* --- frames --- */

static void *send_frames(void *arg)
{
	struct bench *bench = arg;
	uint8_t frame[FRAME] = {0};
	struct xdp_md ctx = {.data_end = FRAME, .ingress_ifindex = bench->far_ifindex};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = FRAME,
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = FRAMES_A_CALL,
		    .batch_size = 64, .flags = BPF_F_TEST_XDP_LIVE_FRAMES);

	while (atomic_load(&bench->sends))
		checked(bpf_prog_test_run_opts(bpf_program__fd(bench->skel->progs.bench_send),
					       &opts),
			"live frames");
	return NULL;
}

static void stay_on(pthread_t thread, int core)
{
	cpu_set_t cores;

	CPU_ZERO(&cores);
	CPU_SET(core, &cores);
	pthread_setaffinity_np(thread, sizeof(cores), &cores);
}

static uint64_t count_arrived(const struct bench *bench)
{
	uint64_t counts[CPU_SETSIZE], sum = 0;
	const uint32_t first = 0;
	int cores = libbpf_num_possible_cpus();

	if (cores < 0 || cores > CPU_SETSIZE ||
	    bpf_map_lookup_elem(bpf_map__fd(bench->skel->maps.arrived), &first, counts))
		bench_die("the counter", errno);
	for (int i = 0; i < cores; i++)
		sum += counts[i];
	return sum;
}

static void pause_ms(uint32_t ms)
{
	const struct timespec pause = {.tv_nsec = (long)ms * TIME_MILLI_NS};

	nanosleep(&pause, NULL);
}

/* --- the world --- */

static void open_links(struct bench *bench)
{
	if (unshare(CLONE_NEWNET))
		bench_die("a network namespace", errno);
	run("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
	run("ip link add v0 address 02:00:00:00:00:01 type veth peer name v1 address "
	    "02:00:00:00:00:02");
	run("ip link add v2 type veth peer name v3");
	run("for link in v0 v1 v2 v3; do ip link set $link up || exit 1; done");
	bench->away_ifindex = if_nametoindex("v2");
	bench->ifindex = if_nametoindex("v0");
	bench->far_ifindex = if_nametoindex("v1");
}

static void build_template(struct bench *bench)
{
	static const struct frame_spec spec = {
		.src = "203.0.113.5", .dst = "198.18.0.0", .payload = 10};
	struct frame frame;

	frame_build(&spec, &frame);
	if (frame.length != FRAME)
		bench_die("the frame's length", EINVAL);
	memcpy(bench->skel->bss->template, frame.bytes, FRAME);
}

static void set_socket(const struct bpf_map *map, int fd)
{
	const uint32_t first = 0;

	if (fd < 0)
		bpf_map_delete_elem(bpf_map__fd(map), &first);
	else
		checked(bpf_map_update_elem(bpf_map__fd(map), &first, &fd, BPF_ANY), "a socket");
}

static void open_worker(struct bench *bench)
{
	struct dp *dp = world_dp(bench->world);
	const struct xsk_worker_options options = {
		.interface = "v0",
		.ifindex = bench->ifindex,
		.ring = &dp->steering->rings[0],
		.path = path,
		.arg = bench,
	};
	struct err err;

	checked(native_borrow(dp_tables(dp), &bench->native), "memory");
	native_set_features(bench->native, (uint32_t)ABI_HAS_ALL);
	if (xsk_worker_open(&options, &bench->worker, &err) ||
	    xsk_worker_start(bench->worker, &err))
		bench_die(err.text, EINVAL);
	set_socket(bench->skel->maps.socket, xsk_worker_fd(bench->worker));
	*dp->steering = (struct abi_steer){
		.packet_max = 1000,
		.frame_max = 1000,
		.links = {{.ifindex = bench->ifindex, .first = 0, .queues = 1}},
	};
}

static int attach(const struct bpf_program *program, uint32_t ifindex)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_DRV_MODE);

	return checked(bpf_link_create(bpf_program__fd(program), (int)ifindex, BPF_XDP, &opts),
		       "attaching");
}

static void open_bench(struct bench *bench)
{
	const struct world_spec spec = {
		.flows = FLOWS,
		.services = 1,
		.backends = 16,
		.forward = "ipip",
		.tracking = "transition",
		.ifindex = if_nametoindex("v0"),
		.steers = true,
	};

	bench->skel = xsk_bpf__open_and_load();
	if (!bench->skel)
		bench_die("the programs", errno);
	build_template(bench);
	bench->world = world_open(&spec);
	bench->link_fd = attach(bench->skel->progs.bench_give, bench->ifindex);
	bench->far_link_fd = attach(bench->skel->progs.bench_count, bench->far_ifindex);
	bench->away_link_fd = attach(bench->skel->progs.bench_count, if_nametoindex("v3"));
	open_worker(bench);
}

static void close_bench(struct bench *bench)
{
	close(bench->link_fd);
	close(bench->far_link_fd);
	close(bench->away_link_fd);
	xsk_worker_close(bench->worker);
	native_free(bench->native);
	world_close(bench->world);
	xsk_bpf__destroy(bench->skel);
}

/* --- samples --- */

static void go(struct bench *bench, enum way way)
{
	struct dp *dp = world_dp(bench->world);
	int program = way == BARE ? bpf_program__fd(bench->skel->progs.bench_give)
				  : dp_program_fd(dp);

	atomic_store(&bench->way, way);
	set_socket(dp->skel->maps.sockets,
		   way == WORKER || way == AWAY ? xsk_worker_fd(bench->worker) : -1);
	checked(bpf_link_update(bench->link_fd, program, NULL), "exchanging programs");
}

/* Until frames go the way at all: a busy machine takes its time. */
static void warm_up(const struct bench *bench)
{
	uint64_t from = count_arrived(bench), end_ns = time_now_ns() + WARM_MAX_NS;

	do
		pause_ms(WARM_MS);
	while (count_arrived(bench) < from + WARM_FRAMES && time_now_ns() < end_ns);
}

static void sample(struct bench *bench, enum way way)
{
	uint64_t from, from_ns, received, took_ns, spent_ns;
	double rate;

	go(bench, way);
	atomic_store(&bench->sends, true);
	if (pthread_create(&bench->sender, NULL, send_frames, bench))
		bench_die("a thread", errno);
	stay_on(bench->sender, (int)(sysconf(_SC_NPROCESSORS_ONLN) - 1));
	warm_up(bench);
	spent_ns = worker_spent_ns();
	received = xsk_worker_figures(bench->worker).received;
	from = count_arrived(bench);
	from_ns = time_now_ns();
	pause_ms(SAMPLE_MS);
	took_ns = time_now_ns() - from_ns;
	rate = (double)(count_arrived(bench) - from) * 1e9 / (double)took_ns;
	received = xsk_worker_figures(bench->worker).received - received;
	spent_ns = worker_spent_ns() - spent_ns;
	atomic_store(&bench->sends, false);
	pthread_join(bench->sender, NULL);
	/* What is left in the ring of the way before is not many. */
	if (rate < 1 || (way == KERNEL ? received > XSK_CHUNKS : received == 0))
		bench_die("frames that went another way", EINVAL);
	report_value(names[way], "/s", rate);
	if (way != KERNEL)
		report_value(spent_names[way], "ns", (double)spent_ns / (double)received);
}

int main(void)
{
	static struct bench bench;

	open_links(&bench);
	stay_on(pthread_self(), 0);
	open_bench(&bench);
	for (int round = 0; round < ROUNDS; round++) {
		for (int way = 0; way < WAYS; way++)
			sample(&bench, (enum way)way);
	}
	report_note(names[BARE], xsk_worker_is_zero_copy(bench.worker) ? "zero-copy" : "copy mode");
	report_compare(names[WORKER], names[BARE]);
	report_at_least(names[WORKER], 0.8);
	report_compare(names[AWAY], names[BARE]);
	report_compare(spent_names[WORKER], spent_names[BARE]);
	report_compare(spent_names[AWAY], spent_names[BARE]);
	report_compare(names[KERNEL], names[BARE]);
	report_print();
	close_bench(&bench);
	return 0;
}
