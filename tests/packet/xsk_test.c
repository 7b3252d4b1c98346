// SPDX-License-Identifier: BSD-2-Clause
/*
 * Engine af_xdp over the table of packets. First what the kernel's program gives to workers, and
 * what not, natively and by the row's own words: nobody may get a packet that the host should have,
 * that is too big, or that is refused by a list. Then, as root, every frame that is theirs over a
 * veth: the workers' verdict and bytes are those of the native engine, and it leaves where it
 * should; so this is the third run of the table, beside forward_test.c's two.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "dp/abi_steer.h"
#include "engine/dp_state.h"
#include "engine/native.h"
#include "engine/xsk/port.h"
#include "engine/xsk/xsk.h"
#include "pkt/ctx.h"
#include "tests/lib/frame/frame.h"
#include "tests/lib/rows/packets.h"
#include "tests/lib/run/xsk_lab.h"
#include "tests/lib/world/world.h"

enum {
	/* What fits WORLD_SMALL's path, too, with the most that a mode adds. */
	PACKET_MAX = WORLD_SMALL_MTU - 80,
	FLOWS = 200,
	CHUNK_HEADROOM = XSK_CHUNK - XSK_FRAME_MAX,
};

static const struct abi_steer steering = {.packet_max = PACKET_MAX, .frame_max = XSK_FRAME_MAX};
static struct native *native;

static uint64_t coarse_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * TIME_SECOND_NS + (uint64_t)now.tv_nsec;
}

static uint32_t action_of(uint32_t verdict)
{
	static const uint32_t actions[VERDICT_COUNT] = {
#define ACTION(name, action, help) XDP_##action,
		VERDICTS(ACTION)
#undef ACTION
	};

	return actions[verdict];
}

/* A frame where a worker has it; it ends where the memory does. */
struct chunk {
	uint8_t *memory;
	struct pkt_ctx ctx;
};

static void put_in_chunk(const struct frame *frame, struct chunk *ret)
{
	ret->memory = malloc(CHUNK_HEADROOM + frame->length);
	assert_non_null(ret->memory);
	ret->ctx = (struct pkt_ctx){
		.head = ret->memory,
		.data = ret->memory + CHUNK_HEADROOM,
		.data_end = ret->memory + CHUNK_HEADROOM + frame->length,
		.ingress_ifindex = WORLD_IFINDEX,
	};
	memcpy(ret->ctx.data, frame->bytes, frame->length);
}

static bool is_steered(const struct frame *frame)
{
	struct chunk chunk;
	bool ret;

	put_in_chunk(frame, &chunk);
	ret = native_is_steered(native, &chunk.ctx, &steering);
	free(chunk.memory);
	return ret;
}

/* As the row says it of the frame, whatever the packet path makes of it. */
static bool should_be(const struct packet_row *row, const struct frame *frame)
{
	const struct frame_spec *spec = &row->spec;
	bool is_tcp_or_udp = !spec->proto || spec->proto == IPPROTO_TCP ||
			     spec->proto == IPPROTO_UDP;

	return row->service != WORLD_NONE && is_tcp_or_udp && !spec->vlans &&
	       !(spec->frag & 0x3fff) && !spec->extensions[0] &&
	       frame->length - FRAME_ETH - spec->padding <= PACKET_MAX &&
	       row->service != WORLD_PASS && row->service != WORLD_GUARD &&
	       row->service != WORLD_GUARD6 && row->service != WORLD_WIDE &&
	       row->service != WORLD_NARROW && row->service != WORLD_PAIR;
}

static void test_steering(void **state)
{
	size_t steered = 0;
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < packet_row_count; i++) {
		const struct packet_row *row = &packet_rows[i];
		bool is;

		frame_build(&row->spec, &frame);
		is = is_steered(&frame);
		steered += is;
		if (is != should_be(row, &frame))
			fail_msg("%s (service %s, %zu bytes): %s", row->name,
				 world_service_name(row->service), frame.length,
				 is ? "given to a worker" : "not given to a worker");
		if (is &&
		    (action_of(row->verdict) == XDP_PASS || row->verdict == VERDICT_TOO_BIG_SPLIT ||
		     row->verdict == VERDICT_TOO_BIG_ANSWERED || row->verdict == VERDICT_TOO_BIG ||
		     row->verdict == VERDICT_DENIED))
			fail_msg("%s: a worker gets what is not for it", row->name);
	}
	assert_true(steered >= 500);
}

/* Lengths: one byte less is taken. */
static void test_lengths(void **state)
{
	struct abi_steer limits = steering;
	struct frame frame;
	struct chunk chunk;
	const struct frame_spec spec = {
		.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4, .payload = 100, .padding = 20};

	(void)state;
	frame_build(&spec, &frame);
	put_in_chunk(&frame, &chunk);
	limits.packet_max = (uint32_t)frame.length - FRAME_ETH - 20;
	limits.frame_max = (uint32_t)frame.length;
	assert_true(native_is_steered(native, &chunk.ctx, &limits));
	limits.packet_max--;
	assert_false(native_is_steered(native, &chunk.ctx, &limits));
	limits.packet_max++;
	limits.frame_max--;
	assert_false(native_is_steered(native, &chunk.ctx, &limits));
	free(chunk.memory);
}

/* What the native engine makes of a frame in a buffer of its own. */
struct outcome {
	uint32_t verdict;
	size_t length;
	uint8_t bytes[FRAME_MAX + NATIVE_HEADROOM];
};

static void run_native(const struct frame *frame, struct outcome *ret)
{
	struct dp_result result;
	size_t capacity = frame->length + NATIVE_HEADROOM;

	world_forget_flows(native_tables(native));
	memcpy(ret->bytes, frame->bytes, frame->length);
	assert_int_equal(
		native_run(native, ret->bytes, frame->length, capacity, coarse_ns(), &result), 0);
	ret->verdict = result.trace.verdict;
	ret->length = result.length;
}

/* In place, the same comes of it, and never further in front than a chunk has room. */
static void test_in_place(void **state)
{
	static struct outcome wanted;
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < packet_row_count; i++) {
		struct chunk chunk;
		uint32_t backend, verdict;

		frame_build(&packet_rows[i].spec, &frame);
		run_native(&frame, &wanted);
		put_in_chunk(&frame, &chunk);
		world_forget_flows(native_tables(native));
		verdict = native_forward(native, &chunk.ctx, coarse_ns(), &backend);
		assert_int_equal(verdict, wanted.verdict);
		if (verdict == VERDICT_FORWARDED || verdict == VERDICT_REDIRECTED)
			assert_int_equal(backend, packet_rows[i].backend);
		assert_int_equal(chunk.ctx.data_end - chunk.ctx.data, wanted.length);
		assert_memory_equal(chunk.ctx.data, wanted.bytes, wanted.length);
		free(chunk.memory);
	}
}

/* --- over a veth --- */

/* What leaves nowhere is seen by its counters. */
static void wait_for_count(const char *name, uint32_t verdict, uint64_t verdicts, uint64_t received)
{
	uint64_t end_ms = time_now_ms() + XSK_LAB_WAIT_MS;

	while (dp_verdict_count(xsk_lab.dp, verdict).packets < verdicts ||
	       xsk_lab_figures().received < received) {
		if (time_now_ms() > end_ms)
			fail_msg("%s: it is not counted", name);
		sched_yield();
	}
	assert_int_equal(dp_verdict_count(xsk_lab.dp, verdict).packets, verdicts);
}

static void run_row(const struct packet_row *row, const struct frame *frame)
{
	static struct outcome wanted;
	static uint8_t bytes[FRAME_MAX];
	uint64_t before, received = xsk_lab_figures().received;
	uint32_t action;
	size_t length;

	run_native(frame, &wanted);
	action = action_of(wanted.verdict);
	before = dp_verdict_count(xsk_lab.dp, wanted.verdict).packets;
	world_forget_flows(dp_tables(xsk_lab.dp));
	assert_int_equal(send(xsk_lab.far_fd, frame->bytes, frame->length, 0), frame->length);
	if (action == XDP_TX || action == XDP_REDIRECT) {
		length = xsk_lab_receive(action == XDP_TX ? xsk_lab.far_fd : xsk_lab.away_fd, bytes,
					 sizeof(bytes));
		if (length != wanted.length || memcmp(bytes, wanted.bytes, length))
			fail_msg("%s: %zu bytes came, %zu are right", row->name, length,
				 wanted.length);
	}
	wait_for_count(row->name, wanted.verdict, before + 1, received + 1);
	assert_int_equal(xsk_lab_figures().received, received + 1);
}

static void open_lab(uint32_t queues, uint32_t workers)
{
	if (geteuid() != 0) {
		print_message("skip: AF_XDP needs root\n");
		skip();
	}
	xsk_lab_open(queues, workers, PACKET_MAX);
}

static void test_over_veth(void **state)
{
	size_t ran = 0;
	struct frame frame;
	struct xsk_figures end;

	(void)state;
	open_lab(1, 1);
	for (size_t i = 0; i < packet_row_count; i++) {
		frame_build(&packet_rows[i].spec, &frame);
		if (!is_steered(&frame))
			continue;
		run_row(&packet_rows[i], &frame);
		ran++;
	}
	end = xsk_lab_figures();
	assert_true(ran >= 500);
	assert_int_equal(end.received, ran);
	assert_int_equal(end.refused + end.late + end.ring_full + end.other, 0);
	xsk_lab_close();
}

/* Where there are more queues than workers the kernel forwards what comes at the others. */
static void test_more_queues(void **state)
{
	uint64_t received;
	struct frame frame;

	(void)state;
	open_lab(4, 2);
	for (uint16_t port = 1; port <= FLOWS; port++) {
		const struct frame_spec spec = {
			.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4, .sport = port};

		frame_build(&spec, &frame);
		assert_int_equal(send(xsk_lab.far_fd, frame.bytes, frame.length, 0), frame.length);
		wait_for_count("a flow", VERDICT_FORWARDED, port, 0);
	}
	/* By the hash of so many flows, each queue gets some. */
	received = xsk_lab_figures().received;
	assert_in_range(received, 1, FLOWS - 1);
	xsk_lab_close();
}

/* Each of many flows' frames leaves. */
static void pass_flows(void)
{
	static uint8_t bytes[FRAME_MAX];
	struct frame frame;

	for (uint16_t port = 1; port <= FLOWS; port++) {
		const struct frame_spec spec = {
			.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4, .sport = port};

		frame_build(&spec, &frame);
		assert_int_equal(send(xsk_lab.far_fd, frame.bytes, frame.length, 0), frame.length);
		assert_int_equal(xsk_lab_receive(xsk_lab.far_fd, bytes, sizeof(bytes)),
				 frame.length + 20);
	}
}

/* A queue that receives and does not send is no worker's. */
static void test_queues_that_send(void **state)
{
	uint64_t end_ms = time_now_ms() + XSK_LAB_WAIT_MS;
	struct xsk_seen seen;
	struct err err;

	(void)state;
	open_lab(4, 4);
	pass_flows();
	assert_true(xsk_see(xsk_lab.dp, 3, &seen));
	assert_int_equal(xsk_lab_figures().sent, FLOWS);
	/* The kernel refuses that while there are sockets. */
	xsk_close(xsk_lab.dp);
	while (system("ethtool -L v0 tx 2 2>/dev/null") && time_now_ms() < end_ms)
		sched_yield();
	assert_int_equal(xsk_open(xsk_lab.dp, 4, &err), 0);
	while (xsk_look(xsk_lab.dp, &err) && time_now_ms() < end_ms)
		sched_yield();
	assert_int_equal(xsk_count(xsk_lab.dp), 2);
	pass_flows();
	assert_in_range(xsk_lab_figures().sent, 1, FLOWS - 1);
	/* Its successor has fewer of them. */
	xsk_lab.queues = 1;
	xsk_lab_shell("ip link del v0");
	close(xsk_lab.far_fd);
	xsk_lab_link();
	xsk_lab_lead();
	assert_int_equal(dp_reattach(xsk_lab.dp, 0, &err), 0);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 0);
	assert_true(xsk_see(xsk_lab.dp, 0, &seen));
	assert_false(xsk_see(xsk_lab.dp, 1, &seen));
	pass_flows();
	assert_int_equal(xsk_lab_figures().sent, FLOWS);
	xsk_lab_close();
}

/* One frame through a worker. */
static void pass_one(void)
{
	static uint8_t bytes[FRAME_MAX];
	const struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4};
	uint64_t before = xsk_lab_figures().received;
	struct frame frame;

	frame_build(&spec, &frame);
	assert_int_equal(send(xsk_lab.far_fd, frame.bytes, frame.length, 0), frame.length);
	assert_int_equal(xsk_lab_receive(xsk_lab.far_fd, bytes, sizeof(bytes)), frame.length + 20);
	wait_for_count("one", VERDICT_FORWARDED,
		       dp_verdict_count(xsk_lab.dp, VERDICT_FORWARDED).packets, before + 1);
}

/* An interface goes down and up; it is deleted, and one of its name made. */
static void test_links(void **state)
{
	struct err err;

	(void)state;
	open_lab(1, 1);
	pass_one();
	xsk_lab_shell("ip link set v0 down && ip link set v0 up");
	xsk_lab_wait_up("v0", "v1");
	pass_one();
	xsk_lab_shell("ip link del v0");
	close(xsk_lab.far_fd);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 0);
	assert_int_equal(xsk_lab_figures().received, 0);
	xsk_lab_link();
	xsk_lab_lead();
	assert_int_equal(dp_reattach(xsk_lab.dp, 0, &err), 0);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 0);
	pass_one();
	assert_int_equal(xsk_lab_figures().received, 1);
	xsk_lab_close();
}

/* A second interface has a worker of its own, whose packets leave at the first. */
static void test_two_interfaces(void **state)
{
	static uint8_t bytes[FRAME_MAX];
	const struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4};
	struct xsk_seen seen;
	struct frame frame;
	struct err err;

	(void)state;
	open_lab(1, 2);
	assert_int_equal(dp_attach(xsk_lab.dp, "v2", LINK_XDP_NATIVE, &err), 0);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 0);
	assert_int_equal(xsk_count(xsk_lab.dp), 2);
	pass_one();
	frame_build(&spec, &frame);
	assert_int_equal(send(xsk_lab.away_fd, frame.bytes, frame.length, 0), frame.length);
	assert_int_equal(xsk_lab_receive(xsk_lab.far_fd, bytes, sizeof(bytes)), frame.length + 20);
	wait_for_count("redirected", VERDICT_REDIRECTED, 1, 2);
	assert_true(xsk_see(xsk_lab.dp, 1, &seen));
	assert_string_equal(seen.interface, "v2");
	assert_int_equal(seen.figures.received, 1);
	assert_int_equal(seen.figures.redirected, 1);
	xsk_lab_close();
}

/* An interface is gone and back under its number before anybody looks. */
static void test_same_number(void **state)
{
	struct err err;

	(void)state;
	open_lab(1, 1);
	pass_one();
	/* It is somewhere else for a moment: the program stays at it. */
	xsk_lab.number = if_nametoindex("v0");
	xsk_lab_shell("ip netns add weir-$PPID-away && ip link set v0 netns weir-$PPID-away && "
		      "ip -n weir-$PPID-away link set v0 netns $PPID && "
		      "ip netns del weir-$PPID-away && ip link set v0 up");
	xsk_lab_wait_up("v0", "v1");
	assert_int_equal(if_nametoindex("v0"), xsk_lab.number);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 0);
	pass_one();
	/* It is deleted, and one made. */
	xsk_lab_shell("ip link del v0");
	close(xsk_lab.far_fd);
	xsk_lab_link();
	assert_int_equal(if_nametoindex("v0"), xsk_lab.number);
	xsk_lab_lead();
	assert_int_equal(dp_reattach(xsk_lab.dp, 0, &err), 0);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 0);
	pass_one();
	xsk_lab_close();
}

/* A queue that another socket has: it is said, the kernel forwards, and then it is to be had. */
static void test_busy_queue(void **state)
{
	static uint8_t bytes[FRAME_MAX];
	const struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4};
	uint64_t end_ms = time_now_ms() + XSK_LAB_WAIT_MS;
	struct xsk_port other;
	struct frame frame;
	struct err err;

	(void)state;
	open_lab(1, 1);
	xsk_close(xsk_lab.dp);
	while (xsk_port_open("v0", 0, &other, &err) == -EBUSY && time_now_ms() < end_ms)
		sched_yield();
	assert_non_null(other.socket);
	assert_int_equal(xsk_open(xsk_lab.dp, 1, &err), 0);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 1);
	assert_non_null(strstr(err.text, "v0, queue 0"));
	frame_build(&spec, &frame);
	assert_int_equal(send(xsk_lab.far_fd, frame.bytes, frame.length, 0), frame.length);
	assert_int_equal(xsk_lab_receive(xsk_lab.far_fd, bytes, sizeof(bytes)), frame.length + 20);
	assert_int_equal(xsk_lab_figures().received, 0);
	xsk_port_close(&other);
	while (xsk_look(xsk_lab.dp, &err) && time_now_ms() < end_ms)
		sched_yield();
	pass_one();
	xsk_lab_close();
}

/* What has come so far, into the ring or not. */
static uint64_t count_come(const struct xsk_port *port)
{
	return *port->rx.producer - *port->rx.consumer + xsk_port_drops(port).ring_full;
}

/*
 * A worker that takes too little: all chunks are used, and what comes then is lost and counted. It
 * counts as one that takes, or the kernel would forward when half a second has passed.
 */
static void test_behind(void **state)
{
	const struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4};
	uint64_t end_ms = time_now_ms() + 3 * XSK_LAB_WAIT_MS;
	const uint32_t first = 0;
	struct xsk_port port;
	struct frame frame;
	struct err err;
	int fd;

	(void)state;
	open_lab(1, 1);
	xsk_close(xsk_lab.dp);
	while (xsk_port_open("v0", 0, &port, &err) == -EBUSY && time_now_ms() < end_ms)
		sched_yield();
	assert_non_null(port.socket);
	fd = xsk_port_fd(&port);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(xsk_lab.dp->skel->maps.sockets), &first,
					     &fd, BPF_ANY),
			 0);
	frame_build(&spec, &frame);
	for (uint32_t i = 1; i <= XSK_CHUNKS + FLOWS; i++) {
		__atomic_store_n(&xsk_lab.dp->steering->rings[0].taken, i - 1, __ATOMIC_RELAXED);
		assert_int_equal(send(xsk_lab.far_fd, frame.bytes, frame.length, 0), frame.length);
		while (count_come(&port) < i && time_now_ms() < end_ms)
			sched_yield();
	}
	assert_int_equal(*port.rx.producer - *port.rx.consumer, XSK_CHUNKS);
	assert_int_equal(xsk_port_drops(&port).ring_full, FLOWS);
	assert_int_equal(xsk_port_drops(&port).other, 0);
	xsk_port_close(&port);
	xsk_lab_close();
}

/* One whose socket is there, and takes nothing, as in a process that is stopped: after a while the
 * kernel forwards, and once somebody takes again, it gives. */
static void test_stuck(void **state)
{
	static uint8_t bytes[FRAME_MAX];
	const struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4};
	uint64_t end_ms = time_now_ms() + XSK_LAB_WAIT_MS;
	struct xsk_port stuck;
	struct frame frame;
	struct err err;
	uint32_t key = 0;
	int fd;

	(void)state;
	open_lab(1, 1);
	xsk_close(xsk_lab.dp);
	while (xsk_port_open("v0", 0, &stuck, &err) == -EBUSY && time_now_ms() < end_ms)
		sched_yield();
	assert_int_equal(xsk_open(xsk_lab.dp, 1, &err), 0);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 1);
	fd = xsk_port_fd(&stuck);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(xsk_lab.dp->skel->maps.sockets), &key, &fd,
					     BPF_ANY),
			 0);
	frame_build(&spec, &frame);
	do {
		struct pollfd poller = {.fd = xsk_lab.far_fd, .events = POLLIN};

		assert_int_equal(send(xsk_lab.far_fd, frame.bytes, frame.length, 0), frame.length);
		if (poll(&poller, 1, 10) == 1)
			break;
	} while (time_now_ms() < end_ms);
	assert_int_equal(xsk_lab_receive(xsk_lab.far_fd, bytes, sizeof(bytes)), frame.length + 20);
	assert_true(*stuck.rx.producer > 0);
	pass_flows();
	xsk_port_close(&stuck);
	while (xsk_look(xsk_lab.dp, &err) && time_now_ms() < end_ms)
		sched_yield();
	while (!xsk_lab_figures().sent && time_now_ms() < end_ms)
		pass_flows();
	assert_true(xsk_lab_figures().sent);
	xsk_lab_close();
}

static int open_native(void **state)
{
	(void)state;
	if (native_new(WORLD_FLOWS, &native))
		return -1;
	world_fill(native_tables(native));
	return 0;
}

static int close_native(void **state)
{
	(void)state;
	native_free(native);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steering),       cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_in_place),       cmocka_unit_test(test_over_veth),
		cmocka_unit_test(test_more_queues),    cmocka_unit_test(test_queues_that_send),
		cmocka_unit_test(test_links),          cmocka_unit_test(test_same_number),
		cmocka_unit_test(test_two_interfaces), cmocka_unit_test(test_busy_queue),
		cmocka_unit_test(test_behind),         cmocka_unit_test(test_stuck),
	};

	return cmocka_run_group_tests(tests, open_native, close_native);
}
