/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/agent/tunnels.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"

const char *const tunnel_balancers[TUNNEL_BALANCERS] = {
	"100.64.1.0/24",
	"192.0.2.11",
	"2001:db8:f::/64",
};

#define FROM4 .src = "203.0.113.5"
#define FROM6 .src = "2001:db8:c::5"
#define IN4   FROM4, .dst = TUNNEL_VIP4, .payload = 100
#define IN6   FROM6, .dst = TUNNEL_VIP6, .payload = 100

/* A row of a mode, from a balancer; the families are the outer's and the inner's. */
#define GOOD(row_name, row_mode, outer, in, ...)                                     \
	{                                                                            \
		.name = row_name, .from = TUNNEL_LB##outer, .inner = {IN##in},       \
		.verdict = AGENT_DECAPSULATED, .mode = FRAME_##row_mode, __VA_ARGS__ \
	}
/* IPv4 in IPv4 with a lie. */
#define BAD(row_name, row_mode, row_verdict, ...)                                   \
	{                                                                           \
		.name = row_name, .from = TUNNEL_LB4, .inner = {IN4},               \
		.verdict = AGENT_##row_verdict, .mode = FRAME_##row_mode, .lies = { \
			__VA_ARGS__                                                 \
		}                                                                   \
	}

const struct tunnel_row tunnel_rows[] = {
	{"4in4", TUNNEL_LB4, {IN4}, .verdict = AGENT_DECAPSULATED},
	{"6in4", TUNNEL_LB4, {IN6}, .verdict = AGENT_DECAPSULATED},
	{"4in6", TUNNEL_LB6, {IN4}, .verdict = AGENT_DECAPSULATED},
	{"6in6", TUNNEL_LB6, {IN6}, .verdict = AGENT_DECAPSULATED},
	{"4in4, from a single address", "192.0.2.11", {IN4}, .verdict = AGENT_DECAPSULATED},
	{"4in4, UDP", TUNNEL_LB4, {IN4, .proto = IPPROTO_UDP}, .verdict = AGENT_DECAPSULATED},
	{"6in6, ICMPv6", TUNNEL_LB6, {IN6, .proto = IPPROTO_ICMPV6}, .verdict = AGENT_DECAPSULATED},
	{"4in4, a VIP by its prefix",
	 TUNNEL_LB4,
	 {FROM4, .dst = "198.51.100.127"},
	 .verdict = AGENT_DECAPSULATED},
	{"6in4, a VIP by its prefix",
	 TUNNEL_LB4,
	 {FROM6, .dst = "2001:db8:20:ffff::1"},
	 .verdict = AGENT_DECAPSULATED},
	{"4in4, beside the prefix of VIPs",
	 TUNNEL_LB4,
	 {FROM4, .dst = "198.51.100.128"},
	 .verdict = AGENT_NOT_VIP},
	{"6in6, beside the prefix of VIPs",
	 TUNNEL_LB6,
	 {FROM6, .dst = "2001:db8:21::1"},
	 .verdict = AGENT_NOT_VIP},
	{"4in4, no payload",
	 TUNNEL_LB4,
	 {.src = "203.0.113.5", .dst = TUNNEL_VIP4},
	 .verdict = AGENT_DECAPSULATED},
	{"4in4, Ethernet padding", TUNNEL_LB4, {IN4}, .verdict = AGENT_DECAPSULATED, .padding = 9},
	{"6in6, Ethernet padding", TUNNEL_LB6, {IN6}, .verdict = AGENT_DECAPSULATED, .padding = 46},
	{"4in4, full size",
	 TUNNEL_LB4,
	 {FROM4, .dst = TUNNEL_VIP4, .payload = 1440},
	 .verdict = AGENT_DECAPSULATED},
	{"6in6, full size",
	 TUNNEL_LB6,
	 {FROM6, .dst = TUNNEL_VIP6, .payload = 1400},
	 .verdict = AGENT_DECAPSULATED},
	{"4in4, inner options", TUNNEL_LB4, {IN4, .ip_options = 8}, .verdict = AGENT_DECAPSULATED},
	{"4in4, inner fragment", TUNNEL_LB4, {IN4, .frag = 0x2000}, .verdict = AGENT_DECAPSULATED},
	{"4in4, outer options",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_DECAPSULATED,
	 .shape = TUNNEL_OPTIONS4},
	{"6in4, outer options",
	 TUNNEL_LB4,
	 {IN6},
	 .verdict = AGENT_DECAPSULATED,
	 .shape = TUNNEL_OPTIONS4},
	{"4in6, tunnel limit",
	 TUNNEL_LB6,
	 {IN4},
	 .verdict = AGENT_DECAPSULATED,
	 .shape = TUNNEL_LIMIT6},
	{"6in6, tunnel limit",
	 TUNNEL_LB6,
	 {IN6},
	 .verdict = AGENT_DECAPSULATED,
	 .shape = TUNNEL_LIMIT6},
	{"6in6, other options",
	 TUNNEL_LB6,
	 {IN6},
	 .verdict = AGENT_NOT_TUNNEL,
	 .shape = TUNNEL_PADDED6},
	{"6in6, limit of a wrong size",
	 TUNNEL_LB6,
	 {IN6},
	 .verdict = AGENT_NOT_TUNNEL,
	 .shape = TUNNEL_LIMIT6,
	 .lies = {{TUNNEL_OUTER, 43, 1, 2}}},
	{"6in6, a longer header with the limit",
	 TUNNEL_LB6,
	 {IN6},
	 .verdict = AGENT_NOT_TUNNEL,
	 .shape = TUNNEL_LIMIT6,
	 .lies = {{TUNNEL_OUTER, 41, 1, 1}}},
	{"6in6, limit behind the outer length",
	 TUNNEL_LB6,
	 {IN6},
	 .verdict = AGENT_NOT_TUNNEL,
	 .shape = TUNNEL_LIMIT6,
	 .lies = {{TUNNEL_OUTER, 4, 2, 7}}},
	{"4in4, tagged", TUNNEL_LB4, {IN4}, .verdict = AGENT_NOT_IP, .shape = TUNNEL_TAGGED},
	{"6in6, tagged", TUNNEL_LB6, {IN6}, .verdict = AGENT_NOT_IP, .shape = TUNNEL_TAGGED},

	{"case 35: congestion met on the way, 4in4",
	 TUNNEL_LB4,
	 {IN4, .tos = 0x02},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x03,
	 .tos_result = 0x03},
	{"case 35: congestion met on the way, 6in4",
	 TUNNEL_LB4,
	 {IN6, .tos = 0xb9},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0xbb,
	 .tos_result = 0xbb},
	{"case 35: congestion met on the way, 4in6",
	 TUNNEL_LB6,
	 {IN4, .tos = 0x2a},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x03,
	 .tos_result = 0x2b},
	{"case 35: congestion met on the way, 6in6",
	 TUNNEL_LB6,
	 {IN6, .tos = 0x01},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x03,
	 .tos_result = 0x03},
	{"case 35: ECT(1) over ECT(0)",
	 TUNNEL_LB4,
	 {IN4, .tos = 0x02},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x01,
	 .tos_result = 0x01},
	{"case 35: ECT(0) over ECT(1) stays",
	 TUNNEL_LB4,
	 {IN4, .tos = 0x01},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x02,
	 .tos_result = 0x01},
	{"case 35: inner congestion stays",
	 TUNNEL_LB6,
	 {IN6, .tos = 0x03},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x02,
	 .tos_result = 0x03},
	{"case 35: congestion over a flow without ECN, 4",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_NOT_ECT,
	 .outer_tos = 0x03},
	{"case 35: congestion over a flow without ECN, 6",
	 TUNNEL_LB6,
	 {IN6},
	 .verdict = AGENT_NOT_ECT,
	 .outer_tos = 0x03},

	{"4in4, a stranger's tunnel", "100.64.2.1", {IN4}, .verdict = AGENT_BAD_SOURCE},
	{"6in4, a stranger's tunnel", "192.0.2.12", {IN6}, .verdict = AGENT_BAD_SOURCE},
	{"6in6, a stranger's tunnel", "2001:db8:f:1::77", {IN6}, .verdict = AGENT_BAD_SOURCE},
	{"4in6, a stranger's tunnel", "2001:db8:e::77", {IN4}, .verdict = AGENT_BAD_SOURCE},
	{"4in4, a stranger's tunnel for a stranger",
	 "100.64.2.1",
	 {FROM4, .dst = "198.51.100.11"},
	 .verdict = AGENT_NOT_VIP},
	{"4in4, for another address",
	 TUNNEL_LB4,
	 {FROM4, .dst = "198.51.100.11"},
	 .verdict = AGENT_NOT_VIP},
	{"6in6, for another address",
	 TUNNEL_LB6,
	 {FROM6, .dst = "2001:db8:10::11"},
	 .verdict = AGENT_NOT_VIP},

	{"inner length beyond the outer",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{TUNNEL_INNER, 2, 2, 141}}},
	{"inner length beyond the outer, in the padding",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{TUNNEL_INNER, 2, 2, 141}},
	 .padding = 40},
	{"inner length below its header",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{TUNNEL_INNER, 2, 2, 19}}},
	{"inner length below the outer",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_DECAPSULATED,
	 .lies = {{TUNNEL_INNER, 2, 2, 100}}},
	{"inner IPv6 length beyond the outer",
	 TUNNEL_LB6,
	 {IN6},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{TUNNEL_INNER, 4, 2, 121}}},
	{"inner IPv6 length of all ones",
	 TUNNEL_LB6,
	 {IN6},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{TUNNEL_INNER, 4, 2, 0xffff}}},
	{"inner header length of 4 words",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{TUNNEL_INNER, 0, 1, 0x44}}},
	{"inner header longer than its packet",
	 TUNNEL_LB4,
	 {.src = "203.0.113.5", .dst = TUNNEL_VIP4},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{TUNNEL_INNER, 0, 1, 0x4a}, {TUNNEL_INNER, 2, 2, 39}}},
	{"inner header longer than the outer's room",
	 TUNNEL_LB4,
	 {.src = "203.0.113.5", .dst = TUNNEL_VIP4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{TUNNEL_INNER, 0, 1, 0x4b}}},
	{"4in4 that holds IPv6",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{TUNNEL_INNER, 0, 1, 0x60}}},
	{"6in4 that holds IPv4",
	 TUNNEL_LB4,
	 {IN6},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{TUNNEL_INNER, 0, 1, 0x45}}},
	{"protocol 4 around IPv6",
	 TUNNEL_LB4,
	 {IN6},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{TUNNEL_OUTER, 9, 1, 4}}},
	{"protocol 41 around IPv4",
	 TUNNEL_LB6,
	 {IN4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{TUNNEL_OUTER, 6, 1, 41}}},
	{"outer length ends in the inner header",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{TUNNEL_OUTER, 2, 2, 39}}},
	{"outer length ends in the inner IPv6 header",
	 TUNNEL_LB6,
	 {IN6},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{TUNNEL_OUTER, 4, 2, 39}}},
	{"outer length ends in the inner payload",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{TUNNEL_OUTER, 2, 2, 100}}},
	{"outer length beyond the frame",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{TUNNEL_OUTER, 2, 2, 1000}}},
	{"outer IPv6 length beyond the frame",
	 TUNNEL_LB6,
	 {IN6},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{TUNNEL_OUTER, 4, 2, 1000}}},
	{"outer header length of 4 words",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{TUNNEL_OUTER, 0, 1, 0x44}}},
	{"a byte is missing", TUNNEL_LB4, {IN4}, .verdict = AGENT_MALFORMED, .cut = 1},
	{"outer header alone",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{TUNNEL_OUTER, 2, 2, 20}}},

	{"outer first fragment",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_FRAGMENT,
	 .lies = {{TUNNEL_OUTER, 6, 2, 0x2000}}},
	{"outer later fragment",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_FRAGMENT,
	 .lies = {{TUNNEL_OUTER, 6, 2, 0x0010}}},
	{"outer fragment of something else",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_NOT_TUNNEL,
	 .lies = {{TUNNEL_OUTER, 6, 2, 0x2000}, {TUNNEL_OUTER, 9, 1, 17}}},
	{"outer IPv6 fragment",
	 TUNNEL_LB6,
	 {IN6},
	 .verdict = AGENT_FRAGMENT,
	 .shape = TUNNEL_LIMIT6,
	 .lies = {{TUNNEL_OUTER, 6, 1, 44}}},
	{"outer IPv6 fragment of something else",
	 TUNNEL_LB6,
	 {IN6},
	 .verdict = AGENT_NOT_TUNNEL,
	 .shape = TUNNEL_LIMIT6,
	 .lies = {{TUNNEL_OUTER, 6, 1, 44}, {TUNNEL_OUTER, 40, 1, 17}}},

	/* GRE and GUE: each pair of families, sizes, and who sends. */
	GOOD("gre, 4 over 4", GRE, 4, 4, ),
	GOOD("gre, 6 over 4", GRE, 4, 6, ),
	GOOD("gre, 4 over 6", GRE, 6, 4, ),
	GOOD("gre, 6 over 6", GRE, 6, 6, ),
	GOOD("gue, 4 over 4", GUE, 4, 4, ),
	GOOD("gue, 6 over 4", GUE, 4, 6, ),
	GOOD("gue, 4 over 6", GUE, 6, 4, ),
	GOOD("gue, 6 over 6", GUE, 6, 6, ),
	GOOD("gre, 4 over 4, padded", GRE, 4, 4, .padding = 9),
	GOOD("gue, 6 over 6, padded", GUE, 6, 6, .padding = 9),
	GOOD("gre, 4 over 4, outer options", GRE, 4, 4, .shape = TUNNEL_OPTIONS4),
	GOOD("gue, 6 over 4, outer options", GUE, 4, 6, .shape = TUNNEL_OPTIONS4),
	GOOD("gre, inner length below the outer", GRE, 4, 4, .lies = {{TUNNEL_INNER, 2, 2, 100}}),
	GOOD("gue, a datagram that ends before its packet", GUE, 4, 4,
	     .lies = {{TUNNEL_OUTER, 2, 2, 180}, {TUNNEL_OUTER, 24, 2, 8 + 140}}, .padding = 20),
	{"case 35: gre, congestion met on the way",
	 TUNNEL_LB4,
	 {IN4, .tos = 0x02},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x03,
	 .tos_result = 0x03,
	 .mode = FRAME_GRE},
	{"case 35: gue, congestion met on the way",
	 TUNNEL_LB6,
	 {IN6, .tos = 0x01},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x03,
	 .tos_result = 0x03,
	 .mode = FRAME_GUE},
	{"gue, full size",
	 TUNNEL_LB6,
	 {FROM4, .dst = TUNNEL_VIP4, .payload = 1412},
	 .verdict = AGENT_DECAPSULATED,
	 .mode = FRAME_GUE},

	{"gre, a stranger's", "100.64.2.1", {IN4}, .verdict = AGENT_BAD_SOURCE, .mode = FRAME_GRE},
	{"gre, a stranger's over IPv6",
	 "2001:db8:e::77",
	 {IN4},
	 .verdict = AGENT_BAD_SOURCE,
	 .mode = FRAME_GRE},
	{"gue, a stranger's", "100.64.2.1", {IN6}, .verdict = AGENT_BAD_SOURCE, .mode = FRAME_GUE},
	{"gue, a stranger's over IPv6",
	 "2001:db8:e::77",
	 {IN6},
	 .verdict = AGENT_BAD_SOURCE,
	 .mode = FRAME_GUE},
	BAD("gre, for another address", GRE, NOT_VIP, {TUNNEL_INNER, 16, 4, 0xc633640b}),
	BAD("gue, for another address", GUE, NOT_VIP, {TUNNEL_INNER, 16, 4, 0xc633640b}),
	BAD("gre with a checksum", GRE, NOT_TUNNEL, {TUNNEL_OUTER, 20, 2, 0x8000}),
	BAD("gre with a key", GRE, NOT_TUNNEL, {TUNNEL_OUTER, 20, 2, 0x2000}),
	BAD("gre with a sequence number", GRE, NOT_TUNNEL, {TUNNEL_OUTER, 20, 2, 0x1000}),
	BAD("gre with a source route", GRE, NOT_TUNNEL, {TUNNEL_OUTER, 20, 2, 0x4000}),
	BAD("gre of version 1", GRE, NOT_TUNNEL, {TUNNEL_OUTER, 20, 2, 0x0001}),
	BAD("gre of a frame", GRE, NOT_TUNNEL, {TUNNEL_OUTER, 22, 2, 0x6558}),
	BAD("gre of IPv6 that is IPv4", GRE, MALFORMED, {TUNNEL_OUTER, 22, 2, 0x86dd}),
	BAD("gre, inner length beyond the outer", GRE, TRUNCATED, {TUNNEL_INNER, 2, 2, 141}),
	BAD("gre, outer length ends in its header", GRE, NOT_TUNNEL, {TUNNEL_OUTER, 2, 2, 23}),
	BAD("gre, outer length ends before its header", GRE, NOT_TUNNEL, {TUNNEL_OUTER, 2, 2, 20}),
	BAD("gre, outer length ends after its header", GRE, MALFORMED, {TUNNEL_OUTER, 2, 2, 24}),
	BAD("gre, outer length ends in the inner header", GRE, MALFORMED, {TUNNEL_OUTER, 2, 2, 43}),
	BAD("gre, a byte is missing", GRE, MALFORMED, {TUNNEL_OUTER, 2, 2, 165}),
	BAD("gre, outer first fragment", GRE, FRAGMENT, {TUNNEL_OUTER, 6, 2, 0x2000}),
	BAD("gue to another port", GUE, NOT_TUNNEL, {TUNNEL_OUTER, 22, 2, 6082}),
	BAD("gue to geneve's port", GUE, NOT_TUNNEL, {TUNNEL_OUTER, 22, 2, 6081}),
	BAD("gue with a checksum", GUE, NOT_TUNNEL, {TUNNEL_OUTER, 26, 2, 0x1234}),
	BAD("gue of variant 0", GUE, NOT_TUNNEL, {TUNNEL_INNER, 0, 1, 0x04}),
	BAD("gue of variant 2", GUE, NOT_TUNNEL, {TUNNEL_INNER, 0, 1, 0x84}),
	BAD("gue of IP version 5", GUE, NOT_TUNNEL, {TUNNEL_INNER, 0, 1, 0x55}),
	BAD("gue, inner header of 4 words", GUE, MALFORMED, {TUNNEL_INNER, 0, 1, 0x44}),
	BAD("gue, inner length beyond the datagram", GUE, TRUNCATED, {TUNNEL_INNER, 2, 2, 141}),
	BAD("gue, length 0", GUE, NOT_TUNNEL, {TUNNEL_OUTER, 24, 2, 0}),
	BAD("gue, length 7", GUE, NOT_TUNNEL, {TUNNEL_OUTER, 24, 2, 7}),
	BAD("gue, an empty datagram", GUE, NOT_TUNNEL, {TUNNEL_OUTER, 24, 2, 8}),
	BAD("gue, length of the inner header less one", GUE, MALFORMED, {TUNNEL_OUTER, 24, 2, 27}),
	BAD("gue, length ends in the inner payload", GUE, TRUNCATED, {TUNNEL_OUTER, 24, 2, 100}),
	BAD("gue, length beyond the outer", GUE, NOT_TUNNEL, {TUNNEL_OUTER, 24, 2, 149}),
	BAD("gue, length of all ones", GUE, NOT_TUNNEL, {TUNNEL_OUTER, 24, 2, 0xffff}),
	BAD("gue, outer length ends in its header", GUE, NOT_TUNNEL, {TUNNEL_OUTER, 2, 2, 27}),
	BAD("gue, outer fragment", GUE, NOT_TUNNEL, {TUNNEL_OUTER, 6, 2, 0x2000}),

	{"protocol 47 around IPv4",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_NOT_TUNNEL,
	 .lies = {{TUNNEL_OUTER, 9, 1, 47}}},
	{"IPv4 with ICMPv6's number",
	 TUNNEL_LB4,
	 {IN4},
	 .verdict = AGENT_NOT_TUNNEL,
	 .lies = {{TUNNEL_OUTER, 9, 1, 58}}},
	{"straight to the VIP", NULL, {IN4}, .verdict = AGENT_NOT_TUNNEL, .shape = TUNNEL_BARE},
	{"straight to the VIP, IPv6",
	 NULL,
	 {IN6},
	 .verdict = AGENT_NOT_TUNNEL,
	 .shape = TUNNEL_BARE},
	{"an unknown ethertype",
	 NULL,
	 {IN4, .ethertype = 0x88b5},
	 .verdict = AGENT_NOT_IP,
	 .shape = TUNNEL_BARE},
	{"echo request over IPv6",
	 NULL,
	 {IN6, .proto = IPPROTO_ICMPV6},
	 .verdict = AGENT_NOT_TUNNEL,
	 .shape = TUNNEL_BARE},
};

const size_t tunnel_row_count = sizeof(tunnel_rows) / sizeof(tunnel_rows[0]);

static void parse(const char *text, struct addr *ret)
{
	if (addr_parse(text, ret) != 0)
		assert(!"an address that a row gave");
}

static uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void insert(struct frame *frame, size_t at, const void *bytes, size_t size)
{
	memmove(frame->bytes + at + size, frame->bytes + at, frame->length - at);
	memcpy(frame->bytes + at, bytes, size);
	frame->length += size;
	frame->l4 += size;
	if (frame->ip >= at)
		frame->ip += size;
}

/* A destination options header between the outer IPv6 header and what it carries. */
static void insert_options6(struct frame *frame, const uint8_t *options)
{
	uint8_t header[8], *ip = frame->bytes + frame->ip;

	header[0] = ip[6];
	header[1] = 0;
	memcpy(header + 2, options, 6);
	ip[6] = IPPROTO_DSTOPTS;
	frame_put(ip + 4, 2, get16(ip + 4) + sizeof(header));
	insert(frame, frame->ip + 40, header, sizeof(header));
}

static void apply_shape(const struct tunnel_row *row, struct frame *frame)
{
	static const uint8_t limit[] = {4, 1, 4, 1, 1, 0}, padding[] = {1, 4, 0, 0, 0, 0};
	uint8_t *ip = frame->bytes + frame->ip;

	if (row->outer_tos && ip[0] >> 4 == 4)
		ip[1] = row->outer_tos;
	else if (row->outer_tos)
		frame_put(ip, 2, 0x6000U | (uint32_t)row->outer_tos << 4 | (ip[1] & 0xfU));
	switch (row->shape) {
	case TUNNEL_OPTIONS4:
		ip[0] = 0x46;
		frame_put(ip + 2, 2, get16(ip + 2) + 4U);
		insert(frame, frame->ip + 20, "\1\1\1\0", 4);
		break;
	case TUNNEL_LIMIT6: insert_options6(frame, limit); break;
	case TUNNEL_PADDED6: insert_options6(frame, padding); break;
	case TUNNEL_TAGGED: insert(frame, 12, "\x81\0\0\x05", 4); break;
	default: break;
	}
}

void tunnel_build(const struct tunnel_row *row, struct frame *inner, struct frame *arrived)
{
	struct frame_tunnel tunnel = {.mode = row->mode,
				      .sport = 50000,
				      .src_mac = FRAME_CLIENT_MAC,
				      .dst_mac = FRAME_NODE_MAC};
	struct addr from, to;

	frame_build(&row->inner, inner);
	if (row->shape == TUNNEL_BARE) {
		*arrived = *inner;
		return;
	}
	parse(row->from, &from);
	tunnel.outer4 = addr_is4(&from);
	parse(tunnel.outer4 ? "10.0.1.11" : "2001:db8:1::11", &to);
	memcpy(tunnel.src, from.bytes + (tunnel.outer4 ? 12 : 0), tunnel.outer4 ? 4 : 16);
	memcpy(tunnel.dst, to.bytes + (tunnel.outer4 ? 12 : 0), tunnel.outer4 ? 4 : 16);
	frame_encapsulate(inner->bytes, inner->length, &tunnel, arrived);
	apply_shape(row, arrived);
	for (size_t i = 0; i < 2 && row->lies[i].in; i++) {
		size_t at = row->lies[i].in == TUNNEL_OUTER ? arrived->ip : arrived->l4;

		frame_put(arrived->bytes + at + row->lies[i].at, row->lies[i].size,
			  row->lies[i].value);
	}
	memset(arrived->bytes + arrived->length, 0x5a, row->padding);
	arrived->length += row->padding;
	arrived->length -= row->cut;
}
