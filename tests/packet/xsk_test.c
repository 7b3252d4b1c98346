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
#include "engine/dp.h"
#include "engine/native.h"
#include "engine/xsk/port.h"
#include "engine/xsk/xsk.h"
#include "pkt/ctx.h"
#include "tests/lib/frame/frame.h"
#include "tests/lib/rows/packets.h"
#include "tests/lib/world/world.h"

enum {
	/* What fits WORLD_SMALL's path, too, with the most that a mode adds. */
	PACKET_MAX = WORLD_SMALL_MTU - 80,
	WAIT_MS = 10000,
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

static struct {
	struct dp *dp;
	int far_fd, away_fd; /* packet sockets at the other ends */
	uint32_t ifindex, away_ifindex;
} lab;

static void shell(const char *command)
{
	if (system(command))
		fail_msg("failed: %s", command);
}

static int open_end(const char *interface)
{
	struct sockaddr_ll end = {
		.sll_family = AF_PACKET,
		.sll_protocol = PKT_BE16(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(interface),
	};
	const int on = 1;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_return_code(fd, errno);
	setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on));
	setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
	assert_return_code(bind(fd, (struct sockaddr *)&end, sizeof(end)), errno);
	return fd;
}

/* The kernel takes the outer tag off a frame, and tells of it beside. */
static size_t put_tag_back(const struct msghdr *message, uint8_t *bytes, size_t length)
{
	for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at;
	     at = CMSG_NXTHDR((struct msghdr *)message, at)) {
		struct tpacket_auxdata aux;
		uint16_t tag[2];

		if (at->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(at), sizeof(aux));
		if (!(aux.tp_status & TP_STATUS_VLAN_VALID))
			continue;
		tag[0] = PKT_BE16(aux.tp_vlan_tpid);
		tag[1] = PKT_BE16(aux.tp_vlan_tci);
		memmove(bytes + 16, bytes + 12, length - 12);
		memcpy(bytes + 12, tag, sizeof(tag));
		return length + sizeof(tag);
	}
	return length;
}

/* The next frame there; 0: none came in time. */
static size_t receive(int fd, uint8_t *bytes, size_t room)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};
	uint8_t control[256];
	struct iovec part = {bytes, room - 4};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	ssize_t length;

	if (poll(&poller, 1, WAIT_MS) != 1)
		return 0;
	length = recvmsg(fd, &message, 0);
	return length < 0 ? 0 : put_tag_back(&message, bytes, (size_t)length);
}

/* The world's interfaces are not those of this machine. */
static void move_world(struct dp_tables *tables)
{
	for (uint32_t i = 1; i < WORLD_BACKENDS; i++) {
		struct abi_backend *backend = &tables->backends[i];

		if (backend->ifindex == WORLD_IFINDEX)
			backend->ifindex = lab.ifindex;
		else if (backend->ifindex == WORLD_AWAY_IFINDEX)
			backend->ifindex = lab.away_ifindex;
	}
}

static void open_lab(void)
{
	const struct dp_options options = {
		.flow_entries = WORLD_FLOWS, .features = (uint32_t)ABI_HAS_ALL, .steers = true};
	struct err err;

	assert_return_code(unshare(CLONE_NEWNET), errno);
	shell("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
	shell("ip link add v0 type veth peer name v1 && ip link add v2 type veth peer name v3");
	shell("for link in v0 v1 v2 v3; do ip link set $link up || exit 1; done");
	lab.ifindex = if_nametoindex("v0");
	lab.away_ifindex = if_nametoindex("v2");
	lab.far_fd = open_end("v1");
	lab.away_fd = open_end("v3");
	if (dp_open(&options, &lab.dp, &err) || dp_attach(lab.dp, "v0", LINK_XDP_NATIVE, &err) ||
	    xsk_open(lab.dp, 1, &err) || xsk_look(lab.dp, &err))
		fail_msg("%s", err.text);
	world_fill(dp_tables(lab.dp));
	move_world(dp_tables(lab.dp));
	xsk_set_packet_max(lab.dp, PACKET_MAX);
}

static void close_lab(void)
{
	dp_close(lab.dp);
	close(lab.far_fd);
	close(lab.away_fd);
}

static struct xsk_figures figures(void)
{
	struct xsk_seen seen;

	assert_int_equal(xsk_count(lab.dp), 1);
	assert_true(xsk_see(lab.dp, 0, &seen));
	return seen.figures;
}

/* What leaves nowhere is seen by its counters. */
static void wait_for_count(const char *name, uint32_t verdict, uint64_t verdicts, uint64_t received)
{
	uint64_t end_ms = time_now_ms() + WAIT_MS;

	while (dp_verdict_count(lab.dp, verdict).packets < verdicts ||
	       figures().received < received) {
		if (time_now_ms() > end_ms)
			fail_msg("%s: it is not counted", name);
		sched_yield();
	}
	assert_int_equal(dp_verdict_count(lab.dp, verdict).packets, verdicts);
	assert_int_equal(figures().received, received);
}

static void run_row(const struct packet_row *row, const struct frame *frame)
{
	static struct outcome wanted;
	static uint8_t bytes[FRAME_MAX];
	uint64_t before, received = figures().received;
	uint32_t action;
	size_t length;

	run_native(frame, &wanted);
	action = action_of(wanted.verdict);
	before = dp_verdict_count(lab.dp, wanted.verdict).packets;
	world_forget_flows(dp_tables(lab.dp));
	assert_int_equal(send(lab.far_fd, frame->bytes, frame->length, 0), frame->length);
	if (action == XDP_TX || action == XDP_REDIRECT) {
		length = receive(action == XDP_TX ? lab.far_fd : lab.away_fd, bytes, sizeof(bytes));
		if (length != wanted.length || memcmp(bytes, wanted.bytes, length))
			fail_msg("%s: %zu bytes came, %zu are right", row->name, length,
				 wanted.length);
	}
	wait_for_count(row->name, wanted.verdict, before + 1, received + 1);
}

static void test_over_veth(void **state)
{
	size_t ran = 0;
	struct frame frame;
	struct xsk_figures end;

	(void)state;
	if (geteuid() != 0) {
		print_message("skip: AF_XDP needs root\n");
		skip();
	}
	open_lab();
	for (size_t i = 0; i < packet_row_count; i++) {
		frame_build(&packet_rows[i].spec, &frame);
		if (!is_steered(&frame))
			continue;
		run_row(&packet_rows[i], &frame);
		ran++;
	}
	end = figures();
	assert_true(ran >= 500);
	assert_int_equal(end.received, ran);
	assert_int_equal(end.refused + end.late + end.ring_full + end.other, 0);
	close_lab();
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
		cmocka_unit_test(test_steering),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_over_veth),
	};

	return cmocka_run_group_tests(tests, open_native, close_native);
}
