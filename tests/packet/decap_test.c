/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes in at an agent: one table of frames, run natively and in the agents_kernel, with equal
 * verdict and bytes. What a good frame must become is made by the builder of frame.h, which shares
 * no code with what is tested.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "../lib/agents.h"
#include "../lib/tunnels.h"
#include "engine/agent_dp.h"

#define MAPPED_VIP4 "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc6\x33\x64\x0a"

enum { FRAMES_DAMAGED = 20000 };

/* --- the native world --- */

static uint64_t native_counts[AGENT_VERDICT_COUNT];

struct pkt;
static void env_count(const struct pkt *pkt, uint32_t verdict)
{
	(void)pkt;
	native_counts[verdict]++;
}

#define env_vip      agents_vip
#define env_balancer agents_balancer
#include "decap/decap.h"

static const uint32_t actions[] = {
#define ACTION(name, action, help) XDP_##action,
	AGENT_VERDICTS(ACTION)
#undef ACTION
};

static const char *const names[] = {
#define NAME(name, action, help) #name,
	AGENT_VERDICTS(NAME)
#undef NAME
};

struct outcome {
	int verdict;
	size_t length;
	uint8_t bytes[FRAME_MAX];
};

/* In memory of exactly the frame's length, so that the sanitizer sees each byte past it. */
static void run_native(const uint8_t *frame, size_t length, struct outcome *ret)
{
	uint8_t *memory = malloc(length + 2); /* frames begin at 2 modulo 4 */
	struct pkt_ctx ctx = {memory, memory + 2, memory + 2 + length, 1};
	struct pkt pkt = {0};

	memcpy(memory + 2, frame, length);
	ret->verdict = decap(&ctx, &pkt);
	assert_true(ret->verdict >= 0 && ret->verdict < AGENT_VERDICT_COUNT);
	ret->length = (size_t)(ctx.data_end - ctx.data);
	memcpy(ret->bytes, ctx.data, ret->length);
	free(memory);
}

/* The kernel tells its verdict by the counter that went up, and one must. */
static void run_kernel(const uint8_t *frame, size_t length, struct outcome *ret)
{
	static struct abi_count before[AGENT_VERDICT_COUNT];
	uint32_t action = AGENTS_ACTION_NONE;
	int counted = 0;

	memcpy(ret->bytes, frame, length);
	ret->length = length;
	assert_int_equal(agent_dp_run(agents_kernel, AGENT_DP_DECAP, ret->bytes, &ret->length,
				      FRAME_MAX, &action),
			 0);
	for (int i = 0; i < AGENT_VERDICT_COUNT; i++) {
		struct abi_count now = agent_dp_verdict_count(agents_kernel, (enum agent_verdict)i);

		if (now.packets == before[i].packets)
			continue;
		assert_int_equal(now.packets, before[i].packets + 1);
		assert_int_equal(now.bytes, before[i].bytes + length);
		ret->verdict = i;
		before[i] = now;
		counted++;
	}
	assert_int_equal(counted, 1);
	assert_int_equal(action, actions[ret->verdict]);
}

/* Runs the frame in both worlds. An unchanged frame is demanded of all that is not taken out. */
static void run_both(const char *name, const uint8_t *frame, size_t length, struct outcome *ret)
{
	static struct outcome other;

	run_native(frame, length, ret);
	if (actions[ret->verdict] != XDP_PASS || ret->verdict != AGENT_DECAPSULATED) {
		if (ret->length != length || memcmp(ret->bytes, frame, length) != 0) {
			frame_say(frame, length);
			fail_msg("%s: changed, though its verdict is %s", name,
				 names[ret->verdict]);
		}
	}
	if (!agents_kernel || length < FRAME_ETH)
		return;
	run_kernel(frame, length, &other);
	if (other.verdict == ret->verdict && other.length == ret->length &&
	    memcmp(other.bytes, ret->bytes, ret->length) == 0)
		return;
	frame_say(frame, length);
	fail_msg("%s: native %s %zu bytes, kernel %s %zu bytes, or bytes differ", name,
		 names[ret->verdict], ret->length, names[other.verdict], other.length);
}

/* --- the table --- */

/* What a frame that is taken out must be: the link header with the inner packet's type, then the
 * bytes behind the outer header, with ToS as the row says. */
static void check_bytes(const struct tunnel_row *row, const struct frame *arrived,
			const struct outcome *outcome)
{
	struct frame_spec spec = row->inner;
	struct frame want = {0};
	size_t headers;
	uint8_t *ip;

	if (row->tos_result)
		spec.tos = row->tos_result;
	frame_build(&spec, &want);
	memcpy(want.bytes, arrived->bytes, 12);
	if (row->lies[0].in) /* no twin of a lie */
		memcpy(want.bytes + FRAME_ETH, arrived->bytes + arrived->l4,
		       want.length - FRAME_ETH);
	memset(want.bytes + want.length, 0x5a, row->padding);
	want.length += row->padding;
	assert_int_equal(outcome->length, want.length);
	assert_memory_equal(outcome->bytes, want.bytes, want.length);
	ip = want.bytes + FRAME_ETH;
	headers = ip[0] >> 4 == 4 ? (ip[0] & 0xfU) * 4 : 0;
	if (headers && !row->lies[0].in)
		assert_int_equal(frame_checksum(ip, headers, 0), 0);
}

static void test_table(void **state)
{
	static struct outcome outcome;
	static struct frame inner, arrived;

	(void)state;
	for (size_t i = 0; i < tunnel_row_count; i++) {
		uint64_t before = native_counts[tunnel_rows[i].verdict];

		tunnel_build(&tunnel_rows[i], &inner, &arrived);
		run_both(tunnel_rows[i].name, arrived.bytes, arrived.length, &outcome);
		if (outcome.verdict != (int)tunnel_rows[i].verdict) {
			frame_say(arrived.bytes, arrived.length);
			fail_msg("%s: %s, should be %s", tunnel_rows[i].name,
				 names[outcome.verdict], names[tunnel_rows[i].verdict]);
		}
		assert_int_equal(native_counts[tunnel_rows[i].verdict], before + 1);
		if (outcome.verdict == AGENT_DECAPSULATED)
			check_bytes(&tunnel_rows[i], &arrived, &outcome);
	}
}

/* A frame that ends anywhere is read no further, and never taken for whole. */
static void test_every_length(void **state)
{
	static struct outcome outcome;
	static struct frame inner, arrived;

	(void)state;
	for (size_t i = 0; i < tunnel_row_count; i++) {
		if (tunnel_rows[i].inner.payload > 1000)
			continue;
		tunnel_build(&tunnel_rows[i], &inner, &arrived);
		for (size_t length = 0; length < arrived.length; length++) {
			run_both(tunnel_rows[i].name, arrived.bytes, length, &outcome);
			if (length < arrived.length - tunnel_rows[i].padding)
				assert_int_not_equal(outcome.verdict, AGENT_DECAPSULATED);
		}
	}
}

/* Damaged frames: both worlds agree on each, and none is read past its end. */
static void test_damage(void **state)
{
	static struct outcome outcome;
	static struct frame inner, arrived;

	(void)state;
	for (int i = 0; i < FRAMES_DAMAGED; i++) {
		const struct tunnel_row *row = &tunnel_rows[frame_random() % (tunnel_row_count)];

		if (row->inner.payload > 1000)
			continue;
		tunnel_build(row, &inner, &arrived);
		for (uint64_t left = 1 + frame_random() % 4; left; left--) {
			size_t at = frame_random() % 110;

			if (at < arrived.length)
				arrived.bytes[at] ^= (uint8_t)(1U << frame_random() % 8);
		}
		run_both(row->name, arrived.bytes, arrived.length, &outcome);
	}
}

/* --- silence about VIPs --- */

static void test_arp(void **state)
{
	static const struct {
		const char *target;
		uint16_t operation, protocol, lengths;
		enum agent_verdict verdict;
	} cases[] = {
		{"\xc6\x33\x64\x0a", 1, 0x0800, 0x0604, AGENT_SILENCED},
		{"\xc6\x33\x64\x0b", 1, 0x0800, 0x0604, AGENT_NOT_IP},
		{"\xc6\x33\x64\x0a", 2, 0x0800, 0x0604, AGENT_NOT_IP}, /* an answer */
		{"\xc6\x33\x64\x0a", 1, 0x0806, 0x0604, AGENT_NOT_IP},
		{"\xc6\x33\x64\x0a", 1, 0x0800, 0x0804, AGENT_NOT_IP},
	};
	static struct outcome outcome;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t frame[60] = "\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\1\x08\x06\0\1";

		frame_put(frame + 16, 2, cases[i].protocol);
		frame_put(frame + 18, 2, cases[i].lengths);
		frame_put(frame + 20, 2, cases[i].operation);
		memcpy(frame + 28, "\xc6\x33\x64\x0a", 4); /* a VIP as the sender is no matter */
		memcpy(frame + 38, cases[i].target, 4);
		run_both("ARP", frame, sizeof(frame), &outcome);
		assert_int_equal(outcome.verdict, cases[i].verdict);
		for (size_t length = 0; length < 42; length++) {
			run_both("short ARP", frame, length, &outcome);
			assert_int_not_equal(outcome.verdict, AGENT_SILENCED);
		}
	}
}

static void test_neighbour_solicitation(void **state)
{
	static const struct {
		const char *target, *mapped;
		uint8_t type;
		enum agent_verdict verdict;
	} cases[] = {
		{TUNNEL_VIP6, NULL, 135, AGENT_SILENCED},
		{"2001:db8:10::11", NULL, 135, AGENT_NOT_TUNNEL},
		{TUNNEL_VIP6, NULL, 136, AGENT_NOT_TUNNEL}, /* an answer */
		{TUNNEL_VIP6, MAPPED_VIP4, 135, AGENT_NOT_TUNNEL},
	};
	static struct outcome outcome;
	static struct frame frame;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct frame_spec spec = {.src = "2001:db8:1::1",
						.dst = "ff02::1:ff00:10",
						.ttl = 255,
						.proto = IPPROTO_ICMPV6,
						.icmp_type = cases[i].type,
						.payload = 24};
		struct addr target;

		frame_build(&spec, &frame);
		assert_int_equal(addr_parse(cases[i].target, &target), 0);
		memcpy(frame.bytes + frame.l4 + 8,
		       cases[i].mapped ? cases[i].mapped : (char *)target.bytes, 16);
		run_both("solicitation", frame.bytes, frame.length, &outcome);
		assert_int_equal(outcome.verdict, cases[i].verdict);
		for (size_t length = 0; length < frame.length; length++) {
			run_both("short solicitation", frame.bytes, length, &outcome);
			assert_int_not_equal(outcome.verdict, AGENT_SILENCED);
		}
	}
}

/* The tables hold a.b.c.d as ::ffff:a.b.c.d; on the wire these are two addresses. */
static void test_mapped_addresses(void **state)
{
	static const struct tunnel_row row = {"mapped",
					      TUNNEL_LB6,
					      {.src = "2001:db8:c::5", .dst = TUNNEL_VIP6},
					      .verdict = AGENT_DECAPSULATED};
	static struct outcome outcome;
	static struct frame inner, arrived;

	(void)state;
	tunnel_build(&row, &inner, &arrived);
	memcpy(arrived.bytes + arrived.l4 + 24, MAPPED_VIP4, 16);
	run_both("mapped VIP", arrived.bytes, arrived.length, &outcome);
	assert_int_equal(outcome.verdict, AGENT_NOT_VIP);
	tunnel_build(&row, &inner, &arrived);
	memcpy(arrived.bytes + arrived.ip + 8, MAPPED_VIP4, 12);
	memcpy(arrived.bytes + arrived.ip + 20, "\x64\x40\x01\x4d", 4); /* TUNNEL_LB4 */
	run_both("mapped balancer", arrived.bytes, arrived.length, &outcome);
	assert_int_equal(outcome.verdict, AGENT_BAD_SOURCE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agents_test_kernel_ran),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_arp),
		cmocka_unit_test(test_neighbour_solicitation),
		cmocka_unit_test(test_mapped_addresses),
	};

	return cmocka_run_group_tests(tests, agents_open, agents_close);
}
