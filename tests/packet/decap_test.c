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

#include "../lib/agent/agent_run.h"
#include "../lib/agent/tunnels.h"
#include "engine/agent/agent_dp.h"

#define MAPPED_VIP4 "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc6\x33\x64\x0a"

enum { FRAMES_DAMAGED = 20000 };

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

/* --- modes that are off --- */

static uint32_t takes_of(enum frame_mode mode)
{
	return 1U << (mode == FRAME_GUE0 ? FRAME_GUE : mode);
}

/* What comes of a row where only `takes` is listed; without the list it is the row's verdict. */
static enum agent_verdict want_of(const struct tunnel_row *row, uint32_t takes)
{
	enum agent_verdict verdict = row->verdict;

	if (takes & takes_of(row->mode))
		return verdict;
	if (verdict == AGENT_BAD_SOURCE)
		return AGENT_NOT_TUNNEL;
	return verdict == AGENT_DECAPSULATED || verdict == AGENT_NOT_ECT ? AGENT_MODE_OFF : verdict;
}

static void run_with(uint32_t takes)
{
	static struct outcome outcome;
	static struct frame inner, arrived;
	size_t off = 0;

	for (size_t i = 0; i < tunnel_row_count; i++) {
		const struct tunnel_row *row = &tunnel_rows[i];
		enum agent_verdict want = want_of(row, takes);

		/* What is not read may be broken anyhow; and a lie may make it another mode's. */
		if (row->verdict == AGENT_NOT_TUNNEL ||
		    (want == row->verdict && !(takes & takes_of(row->mode))))
			continue;
		tunnel_build(row, &inner, &arrived);
		run_both(row->name, arrived.bytes, arrived.length, &outcome);
		if (outcome.verdict != (int)want)
			fail_msg("%s, of modes 0x%x: %s, should be %s", row->name, takes,
				 names[outcome.verdict], names[want]);
		off += want == AGENT_MODE_OFF;
	}
	assert_true(off > 0);
}

/* Each mode alone: the others are the host's, untouched, also in the program as it is loaded. */
static void test_modes_off(void **state)
{
	struct agent_dp *all = agents_kernel;

	(void)state;
	for (uint32_t takes = 1; takes <= AGENT_TAKES_IPOPT; takes <<= 1) {
		if (!(takes & AGENT_TAKES_ALL))
			continue;
		agents_takes = (enum agent_takes)takes;
		if (all) {
			agents_kernel = agents_new(agents_takes);
			assert_non_null(agents_kernel);
			memset(kernel_counts, 0, sizeof(kernel_counts));
		}
		run_with(takes);
		if (all)
			agent_dp_close(agents_kernel);
	}
	agents_takes = AGENT_TAKES_ALL;
	agents_kernel = all;
	for (int i = 0; all && i < AGENT_VERDICT_COUNT; i++)
		kernel_counts[i] = agent_dp_verdict_count(all, (enum agent_verdict)i);
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
		{"\xc6\x33\x64\x40", 1, 0x0800, 0x0604, AGENT_SILENCED}, /* the prefix's first */
		{"\xc6\x33\x64\x7f", 1, 0x0800, 0x0604, AGENT_SILENCED}, /* its last */
		{"\xc6\x33\x64\x80", 1, 0x0800, 0x0604, AGENT_NOT_IP},
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
		{"2001:db8:20::", NULL, 135, AGENT_SILENCED},
		{"2001:db8:20:ffff::1", NULL, 135, AGENT_SILENCED},
		{"2001:db8:21::", NULL, 135, AGENT_NOT_TUNNEL},
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
		cmocka_unit_test(test_modes_off),
		cmocka_unit_test(test_arp),
		cmocka_unit_test(test_neighbour_solicitation),
		cmocka_unit_test(test_mapped_addresses),
	};

	return cmocka_run_group_tests(tests, agents_open, agents_close);
}
