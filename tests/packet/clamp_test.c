/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The SYN-ACKs that leave a backend: found natively (clamp.h) and changed by the tc program in the
 * agents_kernel, with the checksum right again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/agent/agents.h"
#include "../lib/agent/tunnels.h"
#include "engine/agent/agent_dp.h"

enum { FRAMES_DAMAGED = 20000 };

#define env_vip agents_vip
#include "decap/clamp.h"

struct clamp_row {
	const char *name;
	const char *src;
	uint8_t flags;
	uint8_t size; /* of the options */
	const char *options;
	int found;    /* enum agent_clamp, or CLAMP_NOT_OURS */
	uint16_t mss; /* afterwards, at mss_at of the options; 0: the frame stays as it is */
	uint8_t mss_at;
};

enum { NOT_OURS = -1, SYN_ACK = FRAME_SYN | FRAME_ACK };

/* Path MTU 1500, some balancers IPv6: 1500 - 40 - 20 - 20 and 1500 - 40 - 40 - 20. */
static const struct clamp_row clamp_rows[] = {
	{"as Linux sends it", TUNNEL_VIP4, SYN_ACK, 12, "\2\4\5\xb4\1\1\4\2\1\3\3\7",
	 AGENT_CLAMP_CLAMPED, 1420, 2},
	{"IPv6", TUNNEL_VIP6, SYN_ACK, 12, "\2\4\5\xa0\1\1\4\2\1\3\3\7", AGENT_CLAMP_CLAMPED, 1400,
	 2},
	{"at an odd offset", TUNNEL_VIP4, SYN_ACK, 8, "\1\2\4\5\xb4\1\1\0", AGENT_CLAMP_CLAMPED,
	 1420, 3},
	{"at an odd offset, IPv6", TUNNEL_VIP6, SYN_ACK, 8, "\1\2\4\xff\xff\1\1\0",
	 AGENT_CLAMP_CLAMPED, 1400, 3},
	{"last of all", TUNNEL_VIP4, SYN_ACK, 40,
	 "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\2\4\5\xb4",
	 AGENT_CLAMP_CLAMPED, 1420, 38},
	{"after a long option", TUNNEL_VIP4, SYN_ACK, 16,
	 "\x08\x0a\1\2\3\4\5\6\7\x08\2\4\5\xb4\0\0", AGENT_CLAMP_CLAMPED, 1420, 12},
	{"one more than fits", TUNNEL_VIP4, SYN_ACK, 4, "\2\4\x05\x8d", AGENT_CLAMP_CLAMPED, 1420,
	 2},
	{"just fits", TUNNEL_VIP4, SYN_ACK, 4, "\2\4\x05\x8c", AGENT_CLAMP_FITTING, 0, 0},
	{"small", TUNNEL_VIP6, SYN_ACK, 4, "\2\4\2\x18", AGENT_CLAMP_FITTING, 0, 0},
	{"with ECN's flag", TUNNEL_VIP4, SYN_ACK | 0x40, 4, "\2\4\5\xb4", AGENT_CLAMP_CLAMPED, 1420,
	 2},
	{"no options", TUNNEL_VIP4, SYN_ACK, 0, "", AGENT_CLAMP_ABSENT, 0, 0},
	{"options without it", TUNNEL_VIP4, SYN_ACK, 4, "\1\3\3\7", AGENT_CLAMP_ABSENT, 0, 0},
	{"behind the list's end", TUNNEL_VIP4, SYN_ACK, 8, "\1\0\1\1\2\4\5\xb4", AGENT_CLAMP_ABSENT,
	 0, 0},
	{"an option of length 0", TUNNEL_VIP4, SYN_ACK, 8, "\x09\0\1\1\2\4\5\xb4",
	 AGENT_CLAMP_UNREADABLE, 0, 0},
	{"an option of length 1", TUNNEL_VIP4, SYN_ACK, 8, "\x09\1\1\1\2\4\5\xb4",
	 AGENT_CLAMP_UNREADABLE, 0, 0},
	{"an option beyond the header", TUNNEL_VIP4, SYN_ACK, 4, "\1\1\x09\3",
	 AGENT_CLAMP_UNREADABLE, 0, 0},
	{"a kind without a length", TUNNEL_VIP4, SYN_ACK, 4, "\1\1\1\2", AGENT_CLAMP_UNREADABLE, 0,
	 0},
	{"cut by the header's end", TUNNEL_VIP4, SYN_ACK, 4, "\1\2\4\5", AGENT_CLAMP_UNREADABLE, 0,
	 0},
	{"of another length", TUNNEL_VIP4, SYN_ACK, 8, "\2\5\5\xb4\1\1\1\1", AGENT_CLAMP_UNREADABLE,
	 0, 0},
	{"a SYN", TUNNEL_VIP4, FRAME_SYN, 4, "\2\4\5\xb4", NOT_OURS, 0, 0},
	{"an ACK", TUNNEL_VIP4, FRAME_ACK, 4, "\2\4\5\xb4", NOT_OURS, 0, 0},
	{"a SYN-ACK-RST", TUNNEL_VIP4, SYN_ACK | FRAME_RST, 4, "\2\4\5\xb4", NOT_OURS, 0, 0},
	{"another source", "198.51.100.11", SYN_ACK, 4, "\2\4\5\xb4", NOT_OURS, 0, 0},
	{"another source, IPv6", "2001:db8:10::11", SYN_ACK, 4, "\2\4\5\xa0", NOT_OURS, 0, 0},
};

static uint16_t tcp_checksum(const uint8_t *frame, size_t length)
{
	const uint8_t *ip = frame + FRAME_ETH;
	size_t header = ip[0] >> 4 == 4 ? 20 : 40, addresses = ip[0] >> 4 == 4 ? 8 : 32;
	size_t tcp = length - FRAME_ETH - header;
	uint32_t pseudo = IPPROTO_TCP + (uint32_t)tcp;

	pseudo += (uint16_t)~frame_checksum(ip + (header == 20 ? 12 : 8), addresses, 0);
	return frame_checksum(ip + header, tcp, pseudo);
}

static void build_syn_ack(const struct clamp_row *row, struct frame *ret)
{
	bool is6 = strchr(row->src, ':') != NULL;
	const struct frame_spec spec = {.src = row->src,
					.dst = is6 ? "2001:db8:c::5" : "203.0.113.5",
					.tcp_flags = row->flags,
					.tcp_options = row->size};

	frame_build(&spec, ret);
	memcpy(ret->bytes + ret->l4 + 20, row->options, row->size);
	frame_put(ret->bytes + ret->l4 + 16, 2, 0);
	frame_put(ret->bytes + ret->l4 + 16, 2, tcp_checksum(ret->bytes, ret->length));
}

/* What the tc program does with clamp.h, over plain memory of the frame's length. */
static int find_native(const uint8_t *frame, size_t length, struct clamp *clamp)
{
	struct agent_limits limits = agents_limits();
	uint8_t *copy = malloc(length + 2);
	struct pkt_cursor cursor = {copy + 2, copy + 2 + length};
	int found = NOT_OURS;

	memset(clamp, 0, sizeof(*clamp));
	memcpy(copy + 2, frame, length);
	if (clamp_wanted(cursor, &limits, clamp)) {
		found = AGENT_CLAMP_UNREADABLE;
		assert_true(clamp->mss.size <= PKT_TCP_OPTIONS_MAX);
		if (clamp->options_at + clamp->mss.size <= length) {
			memcpy(clamp->options, copy + 2 + clamp->options_at, clamp->mss.size);
			found = clamp_walk(clamp);
		}
	}
	free(copy);
	return found;
}

/* Runs the tc program; returns what it counted. */
static int clamp_in_kernel(uint8_t *frame, size_t length)
{
	static struct abi_count before[AGENT_CLAMP_COUNT];
	uint32_t action = AGENTS_ACTION_NONE;
	size_t after = length;
	int found = NOT_OURS;

	assert_int_equal(
		agent_dp_run(agents_kernel, AGENT_DP_CLAMP, frame, &after, FRAME_MAX, &action), 0);
	assert_int_equal(after, length);
	assert_int_equal((int32_t)action, -1); /* filters after it have their say */
	for (int i = 0; i < AGENT_CLAMP_COUNT; i++) {
		struct abi_count now = agent_dp_clamp_count(agents_kernel, (enum agent_clamp)i);

		if (now.packets != before[i].packets) {
			assert_int_equal(found, NOT_OURS);
			found = i;
		}
		before[i] = now;
	}
	return found;
}

static void test_clamp(void **state)
{
	static struct frame frame, want;
	struct clamp clamp;

	(void)state;
	for (size_t i = 0; i < sizeof(clamp_rows) / sizeof(clamp_rows[0]); i++) {
		const struct clamp_row *row = &clamp_rows[i];
		int found;

		build_syn_ack(row, &frame);
		assert_int_equal(tcp_checksum(frame.bytes, frame.length), 0);
		found = find_native(frame.bytes, frame.length, &clamp);
		if (found != row->found)
			fail_msg("%s: found %d, should be %d", row->name, found, row->found);
		want = frame;
		if (row->mss) {
			assert_int_equal(clamp.mss.limit, row->mss);
			assert_int_equal(clamp_mss_at(&clamp), frame.l4 + 20 + row->mss_at);
			frame_put(want.bytes + frame.l4 + 20 + row->mss_at, 2, row->mss);
			frame_put(want.bytes + frame.l4 + 16, 2, 0);
			frame_put(want.bytes + frame.l4 + 16, 2,
				  tcp_checksum(want.bytes, want.length));
		}
		if (!agents_kernel)
			continue;
		assert_int_equal(clamp_in_kernel(frame.bytes, frame.length), row->found);
		if (memcmp(frame.bytes, want.bytes, want.length) != 0) {
			frame_say(frame.bytes, frame.length);
			frame_say(want.bytes, want.length);
			fail_msg("%s: the first is what came, the second what should", row->name);
		}
	}
}

/* Damaged SYN-ACKs: both worlds find the same, and only the MSS and the checksum ever change. */
static void test_clamp_damage(void **state)
{
	static struct frame frame, before;
	struct clamp clamp;

	(void)state;
	for (int i = 0; i < FRAMES_DAMAGED; i++) {
		const struct clamp_row *row =
			&clamp_rows[frame_random() % (sizeof(clamp_rows) / sizeof(clamp_rows[0]))];
		int found;

		build_syn_ack(row, &frame);
		for (uint64_t left = frame_random() % 3; left; left--)
			frame.bytes[frame_random() % frame.length] ^= (uint8_t)frame_random();
		if (frame_random() % 2)
			frame.length = FRAME_ETH + 1 + frame_random() % (frame.length - FRAME_ETH);
		found = find_native(frame.bytes, frame.length, &clamp);
		/* The kernel makes no skb with less than an IP header. */
		if (!agents_kernel || frame.length < FRAME_ETH + 40)
			continue;
		before = frame;
		assert_int_equal(clamp_in_kernel(frame.bytes, frame.length), found);
		if (found == AGENT_CLAMP_CLAMPED) {
			memcpy(before.bytes + clamp.checksum_at, frame.bytes + clamp.checksum_at,
			       2);
			frame_put(before.bytes + clamp_mss_at(&clamp), 2, clamp.mss.limit);
		}
		assert_memory_equal(frame.bytes, before.bytes, frame.length);
	}
}

static void test_limits(void **state)
{
	static const struct {
		uint32_t path_mtu, overhead;
		uint16_t mss4, mss6;
	} cases[] = {
		{1500, 20, 1440, 1420}, {1500, 40, 1420, 1400}, {9000, 40, 8920, 8900},
		{1280, 40, 1200, 1180}, {68, 40, 88, 88},       {1u << 31, 20, 65535, 65535},
	};
	/* What balancers of IPv4, and of both families, add around IPv4 and IPv6. */
	static const struct {
		enum agent_takes takes;
		uint32_t by4[2], by6[2];
	} modes[] = {
		{AGENT_TAKES_IPIP, {20, 20}, {40, 40}},
		{AGENT_TAKES_GRE, {24, 24}, {44, 44}},
		{AGENT_TAKES_IPIP | AGENT_TAKES_GRE, {24, 24}, {44, 44}},
		{AGENT_TAKES_GUE, {28, 28}, {48, 48}},
		{AGENT_TAKES_GUE | AGENT_TAKES_SECOND, {40, 40}, {72, 72}}, /* variant 0 */
		{AGENT_TAKES_GENEVE, {48, 60}, {68, 80}},
		{AGENT_TAKES_IPOPT, {8, 24}, {8, 24}},
		{AGENT_TAKES_IPIP | AGENT_TAKES_IPOPT, {20, 24}, {40, 40}},
		{AGENT_TAKES_ALL, {48, 60}, {72, 80}},
	};
	struct prefix list[2];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct agent_limits limits =
			agent_dp_limits(cases[i].path_mtu, cases[i].overhead, cases[i].overhead);

		assert_int_equal(limits.mss4, cases[i].mss4);
		assert_int_equal(limits.mss6, cases[i].mss6);
	}
	assert_int_equal(prefix_parse("192.0.2.0/24", &list[0]), 0);
	assert_int_equal(prefix_parse("2001:db8::/32", &list[1]), 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(agent_dp_overhead(modes[i].takes, list, 1, true), modes[i].by4[0]);
		assert_int_equal(agent_dp_overhead(modes[i].takes, list, 1, false),
				 modes[i].by4[1]);
		assert_int_equal(agent_dp_overhead(modes[i].takes, list, 2, true), modes[i].by6[0]);
		assert_int_equal(agent_dp_overhead(modes[i].takes, list, 2, false),
				 modes[i].by6[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agents_test_kernel_ran),
		cmocka_unit_test(test_clamp),
		cmocka_unit_test(test_clamp_damage),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, agents_open, agents_close);
}
