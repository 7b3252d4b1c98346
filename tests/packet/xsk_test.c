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
#include "tests/lib/run/xsk_lab.h"
#include "tests/lib/world/world.h"

enum {
	/* What fits WORLD_SMALL's path, too, with the most that a mode adds. */
	PACKET_MAX = WORLD_SMALL_MTU - 80,
	CHUNK_HEADROOM = XSK_CHUNK - XSK_FRAME_MAX,
};

static const struct abi_steer steering = {.packet_max = PACKET_MAX, .frame_max = XSK_FRAME_MAX};
static struct native *native;

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
		native_run(native, ret->bytes, frame->length, capacity, time_coarse_ns(), &result),
		0);
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
		verdict = native_forward(native, &chunk.ctx, time_coarse_ns(), &backend);
		assert_int_equal(verdict, wanted.verdict);
		if (verdict == VERDICT_FORWARDED || verdict == VERDICT_REDIRECTED)
			assert_int_equal(backend, packet_rows[i].backend);
		assert_int_equal(chunk.ctx.data_end - chunk.ctx.data, wanted.length);
		assert_memory_equal(chunk.ctx.data, wanted.bytes, wanted.length);
		free(chunk.memory);
	}
}

/* --- over a veth --- */

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
	xsk_lab_wait_for_count(row->name, wanted.verdict, before + 1, received + 1);
	assert_int_equal(xsk_lab_figures().received, received + 1);
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
	xsk_lab_open(1, 1, PACKET_MAX);
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
