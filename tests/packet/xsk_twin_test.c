// SPDX-License-Identifier: BSD-2-Clause
/*
 * The same random frames through both engines, over the same veth and the same tables: what leaves,
 * where, and what is counted, is the same to the byte. Whole frames with a few ports, so that flows
 * go on, and damaged and cut ones. WEIR_FRAMES says how many.
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
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "engine/dp.h"
#include "engine/xsk/xsk.h"
#include "tests/lib/frame/frame.h"
#include "tests/lib/rows/packets.h"
#include "tests/lib/run/xsk_lab.h"
#include "tests/lib/world/world.h"

enum {
	FRAMES = 3000,
	/* One after the other by one engine: entries must not age between the two. */
	ROUND = 250,
	PACKET_MAX = WORLD_SMALL_MTU - 80,
	LONGEST = 1900,
	PORTS = 16,
};

struct seen {
	uint32_t verdict;
	uint32_t action;
	size_t length;
	uint8_t bytes[FRAME_MAX];
};

static struct frame frames[ROUND];
static struct seen workers[ROUND], kernel[ROUND];

static uint32_t below(uint32_t end)
{
	return (uint32_t)(frame_random() % end);
}

static void damage(struct frame *frame)
{
	for (uint32_t left = 1 + below(3); left; left--)
		frame->bytes[12 + below(70)] ^= (uint8_t)(1 + below(255));
}

static void make_frame(struct frame *ret)
{
	struct frame_spec spec = packet_rows[below((uint32_t)packet_row_count)].spec;

	if (below(4)) {
		spec.sport = (uint16_t)(1000 + below(PORTS));
		spec.tcp_flags = (uint8_t)(1U << below(5) | (below(2) ? FRAME_ACK : 0));
		spec.tos = (uint8_t)below(256);
		spec.ttl = (uint8_t)(1 + below(255));
		if (!spec.payload)
			spec.payload = (uint16_t)below(1500);
		spec.padding = (uint16_t)below(20);
	}
	frame_build(&spec, ret);
	if (!below(3))
		damage(ret);
	if (!below(6))
		ret->length = FRAME_ETH + below((uint32_t)ret->length - FRAME_ETH + 1);
	if (ret->length > LONGEST)
		ret->length = LONGEST;
}

/* By verdict. */
static uint64_t count_all(uint64_t *ret)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < VERDICT_COUNT; i++)
		sum += ret[i] = dp_verdict_count(xsk_lab.dp, i).packets;
	return sum;
}

static uint32_t wait_for_verdict(uint64_t *counts, uint64_t before)
{
	uint64_t end_ms = time_now_ms() + XSK_LAB_WAIT_MS, now[VERDICT_COUNT];
	uint32_t verdict = 0;

	while (count_all(now) == before) {
		if (time_now_ms() > end_ms)
			fail_msg("a frame is not counted");
		sched_yield();
	}
	while (now[verdict] == counts[verdict])
		verdict++;
	memcpy(counts, now, sizeof(now));
	return verdict;
}

static void run_round(struct seen *ret)
{
	static const uint32_t actions[VERDICT_COUNT] = {
#define ACTION(name, action, help) XDP_##action,
		VERDICTS(ACTION)
#undef ACTION
	};
	uint64_t counts[VERDICT_COUNT], sum = count_all(counts);

	world_forget_flows(dp_tables(xsk_lab.dp));
	for (size_t i = 0; i < ROUND; i++) {
		struct seen *seen = &ret[i];

		assert_int_equal(send(xsk_lab.far_fd, frames[i].bytes, frames[i].length, 0),
				 frames[i].length);
		seen->verdict = wait_for_verdict(counts, sum + i);
		seen->action = actions[seen->verdict];
		seen->length = 0;
		if (seen->action == XDP_TX || seen->action == XDP_REDIRECT)
			seen->length = xsk_lab_receive(seen->action == XDP_TX ? xsk_lab.far_fd
									      : xsk_lab.away_fd,
						       seen->bytes, sizeof(seen->bytes));
	}
}

static void compare(size_t at)
{
	const struct seen *one = &workers[at], *other = &kernel[at];

	if (one->verdict == other->verdict && one->length == other->length &&
	    !memcmp(one->bytes, other->bytes, one->length))
		return;
	frame_say(frames[at].bytes, frames[at].length);
	frame_say(one->bytes, one->length);
	frame_say(other->bytes, other->length);
	fail_msg("verdict %u and %zu bytes by a worker, %u and %zu by the kernel", one->verdict,
		 one->length, other->verdict, other->length);
}

static void test_same(void **state)
{
	const char *text = getenv("WEIR_FRAMES");
	uint64_t left = text ? strtoull(text, NULL, 10) : FRAMES;
	size_t leaves = 0;
	uint64_t whole = left, received = 0;

	(void)state;
	if (geteuid() != 0) {
		print_message("skip: AF_XDP needs root\n");
		skip();
	}
	xsk_lab_open(1, 1, PACKET_MAX);
	/* By XDP a veth only sends where the other end has a program, too. */
	xsk_lab_shell("ip link set dev v3 xdpdrv obj "
		      "$(dirname $(readlink -f /proc/$PPID/exe))/../lib/pass.bpf.o sec xdp");
	xsk_lab_shell("ip link set v1 mtu 2000 && ip link set v0 mtu 2000 && "
		      "ip link set v2 mtu 2000 && ip link set v3 mtu 2000");
	for (; left >= ROUND; left -= ROUND) {
		for (size_t i = 0; i < ROUND; i++)
			make_frame(&frames[i]);
		xsk_set_packet_max(xsk_lab.dp, PACKET_MAX);
		run_round(workers);
		received = xsk_lab_figures().received;
		xsk_set_packet_max(xsk_lab.dp, 0);
		run_round(kernel);
		assert_int_equal(xsk_lab_figures().received, received);
		for (size_t i = 0; i < ROUND; i++) {
			compare(i);
			leaves += workers[i].length > 0;
		}
	}
	print_message("%zu of %llu leave, %llu by a worker\n", leaves, (unsigned long long)whole,
		      (unsigned long long)received);
	assert_true(received > whole / 6);
	assert_true(leaves > whole / 4);
	assert_int_equal(xsk_lab_figures().refused + xsk_lab_figures().late +
				 xsk_lab_figures().ring_full + xsk_lab_figures().other,
			 0);
	xsk_lab_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
