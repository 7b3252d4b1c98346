// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the node itself answers, beyond the rows of tests/lib/rows/packets.c: the limit, paths of
 * every size, and what a peer would see in the answer, read here field by field. In both engines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <netinet/in.h>
#include <string.h>

#include "../lib/frame/frame.h"
#include "../lib/run/engines.h"
#include "../lib/world/world.h"
#include "dp/verdict.h"

enum { DONT = 0x4000, MORE = 0x2000, TCP4 = 40, TCP6 = 60, OUTER4 = 20 };

static struct engine_outcome outcome;

static int refill(void **state)
{
	(void)state;
	engines_now_ns += 10 * (uint64_t)ENGINES_TICK_NS;
	engines_refill();
	return 0;
}

static enum verdict run(const struct frame_spec *spec)
{
	struct frame frame;

	frame_build(spec, &frame);
	engines_run("reply", &frame, &outcome);
	return outcome.result.trace.verdict;
}

/* A packet of `length` bytes for WORLD_SMALL, on a path that carries `fits` of them. */
static enum verdict run_sized(bool ipv6, uint32_t fits, uint32_t length)
{
	const struct frame_spec spec = {
		.src = ipv6 ? WORLD_CLIENT6 : WORLD_CLIENT4,
		.dst = ipv6 ? WORLD_SMALL_VIP6 : WORLD_SMALL_VIP4,
		.frag = ipv6 ? 0 : DONT,
		.payload = (uint16_t)(length - (ipv6 ? TCP6 : TCP4)),
	};

	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[WORLD_SMALL1].mtu = (uint16_t)(fits + OUTER4);
	return run(&spec);
}

static uint32_t get(size_t at, size_t size)
{
	uint32_t value = 0;

	while (size-- > 0)
		value = value << 8 | outcome.bytes[at++];
	return value;
}

static void test_limit(void **state)
{
	enum { LIMIT = 3 };
	const struct frame_spec echo4 = {
		.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4, .proto = IPPROTO_ICMP};
	const struct frame_spec echo6 = {
		.src = WORLD_CLIENT6, .dst = WORLD_ONE6_VIP6, .proto = IPPROTO_ICMPV6};

	(void)state;
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->reply_limit = LIMIT;
	for (int tick = 0; tick < 3; tick++) {
		engines_now_ns += ENGINES_TICK_NS;
		/* One limit for all that the node answers. */
		assert_int_equal(run_sized(false, 1480, 1500), VERDICT_TOO_BIG_ANSWERED);
		assert_int_equal(run(&echo4), VERDICT_ECHO_ANSWERED);
		assert_int_equal(run_sized(true, 1480, 1500), VERDICT_TOO_BIG_ANSWERED);
		assert_int_equal(run(&echo6), VERDICT_REPLY_LIMITED);
		assert_int_equal(outcome.result.trace.why, WHY_LIMIT);
		assert_int_equal(run(&echo4), VERDICT_REPLY_LIMITED);
		assert_int_equal(run_sized(false, 1480, 1500), VERDICT_REPLY_LIMITED);
		assert_int_equal(outcome.result.trace.why, WHY_LIMIT);
		assert_int_equal(run_sized(true, 1480, 1500), VERDICT_REPLY_LIMITED);
		/* What needs no answer is not held up. */
		assert_int_equal(run_sized(true, 1480, 1480), VERDICT_FORWARDED);
	}
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->reply_limit = 0;
	engines_now_ns += ENGINES_TICK_NS;
	assert_int_equal(run(&echo4), VERDICT_REPLY_LIMITED);
}

/* Cases 1 and 2, as the sender reads it. */
static void test_case_2_fields4(void **state)
{
	const size_t ip = FRAME_ETH, icmp = ip + 20, quote = icmp + 8;

	(void)state;
	assert_int_equal(run_sized(false, 1480, 1500), VERDICT_TOO_BIG_ANSWERED);
	assert_memory_equal(outcome.bytes, FRAME_CLIENT_MAC, 6);
	assert_memory_equal(outcome.bytes + 6, FRAME_NODE_MAC, 6);
	assert_int_equal(get(12, 2), 0x0800);
	assert_int_equal(get(ip, 2), 0x4500);
	assert_int_equal(get(ip + 2, 2), outcome.result.length - FRAME_ETH);
	assert_true(get(ip + 2, 2) <= 576);
	assert_int_equal(get(ip + 4, 4), DONT); /* id 0, offset 0, nothing more to come */
	assert_int_equal(get(ip + 8, 2), 64 << 8 | IPPROTO_ICMP);
	assert_int_equal(frame_checksum(outcome.bytes + ip, 20, 0), 0);
	assert_int_equal(get(ip + 12, 4), 0xc6336450); /* 198.51.100.80 */
	assert_int_equal(get(ip + 16, 4), 0xcb007105); /* 203.0.113.5 */
	assert_int_equal(get(icmp, 2), 0x0304);
	assert_int_equal(get(icmp + 4, 4), 1480);
	assert_int_equal(frame_checksum(outcome.bytes + icmp, outcome.result.length - icmp, 0), 0);
	assert_int_equal(get(quote + 2, 2), 1500);
	assert_int_equal(get(quote + 4, 4), 0x12344000);
	assert_int_equal(get(quote + 20, 4), 40000U << 16 | 80);
}

static void test_case_2_fields6(void **state)
{
	const size_t ip = FRAME_ETH, icmp = ip + 40, quote = icmp + 8;
	uint32_t sum;

	(void)state;
	assert_int_equal(run_sized(true, 1480, 1500), VERDICT_TOO_BIG_ANSWERED);
	assert_memory_equal(outcome.bytes, FRAME_CLIENT_MAC, 6);
	assert_memory_equal(outcome.bytes + 6, FRAME_NODE_MAC, 6);
	assert_int_equal(get(12, 2), 0x86dd);
	assert_int_equal(get(ip, 4), 0x60000000);
	assert_int_equal(get(ip + 4, 2), 1240);
	assert_int_equal(get(ip + 6, 2), IPPROTO_ICMPV6 << 8 | 64);
	assert_memory_equal(outcome.bytes + ip + 8, outcome.bytes + quote + 24, 16);
	assert_memory_equal(outcome.bytes + ip + 24, outcome.bytes + quote + 8, 16);
	assert_int_equal(outcome.result.length, FRAME_ETH + 1280);
	assert_int_equal(get(icmp, 2), 0x0200);
	assert_int_equal(get(icmp + 4, 4), 1480);
	sum = (uint16_t)~frame_checksum(outcome.bytes + ip + 8, 32, 1240 + IPPROTO_ICMPV6);
	assert_int_equal(frame_checksum(outcome.bytes + icmp, 1240, sum), 0);
	assert_int_equal(get(quote + 40, 4), 40000U << 16 | 80);
}

/* Case 1: a full-size packet, by each mode to an IPv4 backend. */
static void test_case_1_every_mode(void **state)
{
	static const struct {
		uint8_t mode;
		uint32_t told4, told6;
	} modes[] = {
		{TUNNEL_IPIP, 1480, 1480},   {TUNNEL_GRE, 1476, 1476},  {TUNNEL_GUE, 1472, 1472},
		{TUNNEL_GENEVE, 1452, 1440}, {TUNNEL_GUE0, 1460, 1460},
	};

	(void)state;
	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		for (size_t i = 0; i < engine_count; i++)
			engines[i].tables->services[WORLD_SMALL].mode = modes[m].mode;
		/* The path has 1500 bytes, 20 of them for IP in IP. */
		assert_int_equal(run_sized(false, 1480, 1500), VERDICT_TOO_BIG_ANSWERED);
		assert_int_equal(get(FRAME_ETH + 20, 2), 0x0304);
		assert_int_equal(get(FRAME_ETH + 24, 4), modes[m].told4);
		assert_int_equal(get(FRAME_ETH + 12, 4), 0xc6336450);
		assert_int_equal(run_sized(false, 1480, modes[m].told4 + 1),
				 VERDICT_TOO_BIG_ANSWERED);
		assert_int_equal(run_sized(false, 1480, modes[m].told4), VERDICT_FORWARDED);
		assert_int_equal(run_sized(true, 1480, 1500), VERDICT_TOO_BIG_ANSWERED);
		assert_int_equal(get(FRAME_ETH + 40, 2), 0x0200);
		assert_int_equal(get(FRAME_ETH + 44, 4), modes[m].told6);
		assert_int_equal(run_sized(true, 1480, modes[m].told6), VERDICT_FORWARDED);
	}
}

/* Case 2: where the sender is a backend of another balancer, that one takes the answer in. */
static void test_case_2_a_peer_takes_it(void **state)
{
	const struct frame_spec from_vips[] = {
		{.src = WORLD_ONE4_VIP4, .sport = 80, .dst = WORLD_SMALL_VIP4, .frag = DONT},
		{.src = WORLD_ONE6_VIP6, .sport = 80, .dst = WORLD_SMALL_VIP6},
		/* Of a packet with every field set, and of a first piece. */
		{.src = WORLD_ONE4_VIP4,
		 .sport = 80,
		 .dst = WORLD_SMALL_VIP4,
		 .frag = DONT | 0x8000,
		 .tos = 0xff,
		 .ttl = 1,
		 .ip_options = 40},
		{.src = WORLD_ONE4_VIP4, .sport = 80, .dst = WORLD_SMALL_VIP4, .frag = DONT | MORE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(from_vips) / sizeof(from_vips[0]); i++) {
		struct frame_spec spec = from_vips[i];
		struct frame answer = {0};

		spec.payload = 1400;
		assert_int_equal(run(&spec), VERDICT_TOO_BIG_ANSWERED);
		answer.length = outcome.result.length;
		memcpy(answer.bytes, outcome.bytes, answer.length);
		answer.ip = FRAME_ETH;
		if (i != 1)
			assert_int_equal(get(FRAME_ETH + 4, 4), DONT);
		engines_run("peer", &answer, &outcome);
		assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
		assert_int_equal(outcome.result.trace.why, WHY_ICMP);
		assert_int_equal(outcome.result.trace.backend, i == 1 ? WORLD_B6 : WORLD_B4);
	}
}

/* Every length around what fits; what IP itself guarantees is never asked to be less. */
static void test_sizes(void **state)
{
	static const uint32_t paths[] = {60,  67,   68,   100,  300,  536,  548,
					 552, 1260, 1279, 1280, 1281, 1480, 2980};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		uint32_t fits = paths[i];

		for (uint32_t length = fits - 3; length <= fits + 9; length++) {
			enum verdict four = length <= fits ? VERDICT_FORWARDED
					    : fits < 68    ? VERDICT_TOO_BIG
							   : VERDICT_TOO_BIG_ANSWERED;
			enum verdict six = length <= fits   ? VERDICT_FORWARDED
					   : length <= 1280 ? VERDICT_TOO_BIG
							    : VERDICT_TOO_BIG_ANSWERED;

			assert_int_equal(run_sized(false, fits, length), four);
			if (length < TCP6)
				continue;
			assert_int_equal(run_sized(true, fits, length), six);
			if (six == VERDICT_TOO_BIG_ANSWERED)
				assert_int_equal(get(FRAME_ETH + 44, 4), fits < 1280 ? 1280 : fits);
		}
	}
}

/* An answer is counted once, under its verdict, with what came; no backend got it. */
static void test_counters(void **state)
{
	(void)state;
	for (size_t e = 0; e < engine_count; e++) {
		const struct engine *engine = &engines[e];
		struct abi_count before = engine_verdict_count(engine, VERDICT_TOO_BIG_ANSWERED);
		struct abi_count service = engine_service_count(engine, WORLD_SMALL);
		struct abi_count backend = engine_backend_count(engine, WORLD_SMALL1), after;

		run_sized(false, 1480, 1500);
		after = engine_verdict_count(engine, VERDICT_TOO_BIG_ANSWERED);
		assert_int_equal(after.packets - before.packets, 1);
		assert_int_equal(after.bytes - before.bytes, FRAME_ETH + 1500);
		after = engine_service_count(engine, WORLD_SMALL);
		assert_int_equal(after.packets - service.packets, 1);
		after = engine_backend_count(engine, WORLD_SMALL1);
		assert_int_equal(after.packets, backend.packets);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		cmocka_unit_test_setup(test_limit, refill),
		cmocka_unit_test_setup(test_case_2_fields4, refill),
		cmocka_unit_test_setup(test_case_2_fields6, refill),
		cmocka_unit_test_setup(test_case_1_every_mode, refill),
		cmocka_unit_test_setup(test_case_2_a_peer_takes_it, refill),
		cmocka_unit_test_setup(test_sizes, refill),
		cmocka_unit_test_setup(test_counters, refill),
	};

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
