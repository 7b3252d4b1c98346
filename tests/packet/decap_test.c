/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes in at an agent: one table of frames, run natively and in the kernel, with equal
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

#include "../lib/frame.h"
#include "dp/agent_dp.h"

#define VIP4 "198.51.100.10"
#define VIP6 "2001:db8:10::10"
#define LB4  "100.64.1.77" /* in a prefix */
#define LB6  "2001:db8:f::77"

#define MAPPED_VIP4 "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc6\x33\x64\x0a"

static const char *const vips[] = {VIP4, VIP6};
static const char *const balancers[] = {"100.64.1.0/24", "192.0.2.11", "2001:db8:f::/64"};

enum { PATH_MTU = 1500, FRAMES_DAMAGED = 20000, ACTION_NONE = 0xffff };

static struct prefix balancer_list[sizeof(balancers) / sizeof(balancers[0])];
static struct addr vip_list[sizeof(vips) / sizeof(vips[0])];
static struct agent_dp *kernel; /* NULL: not root */

/* --- the native world --- */

static uint64_t native_counts[AGENT_VERDICT_COUNT];

static int env_vip(const struct pkt_addr *addr)
{
	for (size_t i = 0; i < sizeof(vips) / sizeof(vips[0]); i++) {
		if (memcmp(vip_list[i].bytes, addr->bytes, sizeof(addr->bytes)) == 0)
			return addr_is4(&vip_list[i]) ? 4 : 6;
	}
	return 0;
}

static int env_balancer(const struct pkt_addr *addr)
{
	struct addr given;

	memcpy(given.bytes, addr->bytes, sizeof(given.bytes));
	for (size_t i = 0; i < sizeof(balancers) / sizeof(balancers[0]); i++) {
		if (prefix_has(&balancer_list[i], &given))
			return addr_is4(&balancer_list[i].addr) ? 4 : 6;
	}
	return 0;
}

struct pkt;
static void env_count(const struct pkt *pkt, uint32_t verdict)
{
	(void)pkt;
	native_counts[verdict]++;
}

#include "dp/decap.h"

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
	static struct agent_count before[AGENT_VERDICT_COUNT];
	uint32_t action = ACTION_NONE;
	int counted = 0;

	memcpy(ret->bytes, frame, length);
	ret->length = length;
	assert_int_equal(
		agent_dp_run(kernel, AGENT_DP_DECAP, ret->bytes, &ret->length, FRAME_MAX, &action),
		0);
	for (int i = 0; i < AGENT_VERDICT_COUNT; i++) {
		struct agent_count now = agent_dp_verdict_count(kernel, (enum agent_verdict)i);

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

static void say_frame(const uint8_t *frame, size_t length)
{
	static char text[2 * FRAME_MAX + 1];

	frame_hex(frame, length, text);
	print_error("frame: %s\n", text);
}

/* Runs the frame in both worlds. An unchanged frame is demanded of all that is not taken out. */
static void run_both(const char *name, const uint8_t *frame, size_t length, struct outcome *ret)
{
	static struct outcome other;

	run_native(frame, length, ret);
	if (actions[ret->verdict] != XDP_PASS || ret->verdict != AGENT_DECAPSULATED) {
		if (ret->length != length || memcmp(ret->bytes, frame, length) != 0) {
			say_frame(frame, length);
			fail_msg("%s: changed, though its verdict is %s", name,
				 names[ret->verdict]);
		}
	}
	if (!kernel || length < FRAME_ETH)
		return;
	run_kernel(frame, length, &other);
	if (other.verdict == ret->verdict && other.length == ret->length &&
	    memcmp(other.bytes, ret->bytes, ret->length) == 0)
		return;
	say_frame(frame, length);
	fail_msg("%s: native %s %zu bytes, kernel %s %zu bytes, or bytes differ", name,
		 names[ret->verdict], ret->length, names[other.verdict], other.length);
}

/* --- the table --- */

/* What stands in the outer header beyond the plain tunnel. */
enum shape {
	PLAIN,
	OPTIONS4, /* four bytes of IPv4 options */
	LIMIT6,   /* a tunnel encapsulation limit */
	PADDED6,  /* a destination options header without it */
	TAGGED,   /* a VLAN tag */
	BARE,     /* no tunnel at all: the inner frame as it is */
};

/* In the frame as it arrives; `at` counts from the outer IP header, or from the inner one. */
struct lie {
	enum { OUTER = 1, INNER } in;
	uint16_t at;
	uint8_t size;
	uint32_t value;
};

struct row {
	const char *name;
	const char *from; /* outer source; its family is the tunnel's */
	struct frame_spec inner;
	enum agent_verdict verdict;
	enum shape shape;
	uint8_t outer_tos;  /* set if not 0 */
	uint8_t tos_result; /* of the inner packet, if it changes */
	struct lie lies[2];
	uint16_t padding, cut;
};

#define FROM4 .src = "203.0.113.5"
#define FROM6 .src = "2001:db8:c::5"
#define IN4   FROM4, .dst = VIP4, .payload = 100
#define IN6   FROM6, .dst = VIP6, .payload = 100

static const struct row rows[] = {
	{"4in4", LB4, {IN4}, .verdict = AGENT_DECAPSULATED},
	{"6in4", LB4, {IN6}, .verdict = AGENT_DECAPSULATED},
	{"4in6", LB6, {IN4}, .verdict = AGENT_DECAPSULATED},
	{"6in6", LB6, {IN6}, .verdict = AGENT_DECAPSULATED},
	{"4in4, from a single address", "192.0.2.11", {IN4}, .verdict = AGENT_DECAPSULATED},
	{"4in4, UDP", LB4, {IN4, .proto = IPPROTO_UDP}, .verdict = AGENT_DECAPSULATED},
	{"6in6, ICMPv6", LB6, {IN6, .proto = IPPROTO_ICMPV6}, .verdict = AGENT_DECAPSULATED},
	{"4in4, no payload",
	 LB4,
	 {.src = "203.0.113.5", .dst = VIP4},
	 .verdict = AGENT_DECAPSULATED},
	{"4in4, Ethernet padding", LB4, {IN4}, .verdict = AGENT_DECAPSULATED, .padding = 9},
	{"6in6, Ethernet padding", LB6, {IN6}, .verdict = AGENT_DECAPSULATED, .padding = 46},
	{"4in4, full size",
	 LB4,
	 {FROM4, .dst = VIP4, .payload = 1440},
	 .verdict = AGENT_DECAPSULATED},
	{"6in6, full size",
	 LB6,
	 {FROM6, .dst = VIP6, .payload = 1400},
	 .verdict = AGENT_DECAPSULATED},
	{"4in4, inner options", LB4, {IN4, .ip_options = 8}, .verdict = AGENT_DECAPSULATED},
	{"4in4, inner fragment", LB4, {IN4, .frag = 0x2000}, .verdict = AGENT_DECAPSULATED},
	{"4in4, outer options", LB4, {IN4}, .verdict = AGENT_DECAPSULATED, .shape = OPTIONS4},
	{"6in4, outer options", LB4, {IN6}, .verdict = AGENT_DECAPSULATED, .shape = OPTIONS4},
	{"4in6, tunnel limit", LB6, {IN4}, .verdict = AGENT_DECAPSULATED, .shape = LIMIT6},
	{"6in6, tunnel limit", LB6, {IN6}, .verdict = AGENT_DECAPSULATED, .shape = LIMIT6},
	{"6in6, other options", LB6, {IN6}, .verdict = AGENT_NOT_TUNNEL, .shape = PADDED6},
	{"6in6, limit of a wrong size",
	 LB6,
	 {IN6},
	 .verdict = AGENT_NOT_TUNNEL,
	 .shape = LIMIT6,
	 .lies = {{OUTER, 43, 1, 2}}},
	{"6in6, a longer header with the limit",
	 LB6,
	 {IN6},
	 .verdict = AGENT_NOT_TUNNEL,
	 .shape = LIMIT6,
	 .lies = {{OUTER, 41, 1, 1}}},
	{"6in6, limit behind the outer length",
	 LB6,
	 {IN6},
	 .verdict = AGENT_NOT_TUNNEL,
	 .shape = LIMIT6,
	 .lies = {{OUTER, 4, 2, 7}}},
	{"4in4, tagged", LB4, {IN4}, .verdict = AGENT_NOT_IP, .shape = TAGGED},
	{"6in6, tagged", LB6, {IN6}, .verdict = AGENT_NOT_IP, .shape = TAGGED},

	{"ECN: congestion met on the way, 4in4",
	 LB4,
	 {IN4, .tos = 0x02},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x03,
	 .tos_result = 0x03},
	{"ECN: congestion met on the way, 6in4",
	 LB4,
	 {IN6, .tos = 0xb9},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0xbb,
	 .tos_result = 0xbb},
	{"ECN: congestion met on the way, 4in6",
	 LB6,
	 {IN4, .tos = 0x2a},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x03,
	 .tos_result = 0x2b},
	{"ECN: congestion met on the way, 6in6",
	 LB6,
	 {IN6, .tos = 0x01},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x03,
	 .tos_result = 0x03},
	{"ECN: ECT(1) over ECT(0)",
	 LB4,
	 {IN4, .tos = 0x02},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x01,
	 .tos_result = 0x01},
	{"ECN: ECT(0) over ECT(1) stays",
	 LB4,
	 {IN4, .tos = 0x01},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x02,
	 .tos_result = 0x01},
	{"ECN: inner congestion stays",
	 LB6,
	 {IN6, .tos = 0x03},
	 .verdict = AGENT_DECAPSULATED,
	 .outer_tos = 0x02,
	 .tos_result = 0x03},
	{"ECN: congestion over a flow without ECN, 4",
	 LB4,
	 {IN4},
	 .verdict = AGENT_NOT_ECT,
	 .outer_tos = 0x03},
	{"ECN: congestion over a flow without ECN, 6",
	 LB6,
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
	 LB4,
	 {FROM4, .dst = "198.51.100.11"},
	 .verdict = AGENT_NOT_VIP},
	{"6in6, for another address",
	 LB6,
	 {FROM6, .dst = "2001:db8:10::11"},
	 .verdict = AGENT_NOT_VIP},

	{"inner length beyond the outer",
	 LB4,
	 {IN4},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{INNER, 2, 2, 141}}},
	{"inner length beyond the outer, in the padding",
	 LB4,
	 {IN4},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{INNER, 2, 2, 141}},
	 .padding = 40},
	{"inner length below its header",
	 LB4,
	 {IN4},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{INNER, 2, 2, 19}}},
	{"inner length below the outer",
	 LB4,
	 {IN4},
	 .verdict = AGENT_DECAPSULATED,
	 .lies = {{INNER, 2, 2, 100}}},
	{"inner IPv6 length beyond the outer",
	 LB6,
	 {IN6},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{INNER, 4, 2, 121}}},
	{"inner IPv6 length of all ones",
	 LB6,
	 {IN6},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{INNER, 4, 2, 0xffff}}},
	{"inner header length of 4 words",
	 LB4,
	 {IN4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{INNER, 0, 1, 0x44}}},
	{"inner header longer than its packet",
	 LB4,
	 {.src = "203.0.113.5", .dst = VIP4},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{INNER, 0, 1, 0x4a}, {INNER, 2, 2, 39}}},
	{"inner header longer than the outer's room",
	 LB4,
	 {.src = "203.0.113.5", .dst = VIP4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{INNER, 0, 1, 0x4b}}},
	{"4in4 that holds IPv6",
	 LB4,
	 {IN4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{INNER, 0, 1, 0x60}}},
	{"6in4 that holds IPv4",
	 LB4,
	 {IN6},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{INNER, 0, 1, 0x45}}},
	{"protocol 4 around IPv6",
	 LB4,
	 {IN6},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{OUTER, 9, 1, 4}}},
	{"protocol 41 around IPv4",
	 LB6,
	 {IN4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{OUTER, 6, 1, 41}}},
	{"outer length ends in the inner header",
	 LB4,
	 {IN4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{OUTER, 2, 2, 39}}},
	{"outer length ends in the inner IPv6 header",
	 LB6,
	 {IN6},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{OUTER, 4, 2, 39}}},
	{"outer length ends in the inner payload",
	 LB4,
	 {IN4},
	 .verdict = AGENT_TRUNCATED,
	 .lies = {{OUTER, 2, 2, 100}}},
	{"outer length beyond the frame",
	 LB4,
	 {IN4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{OUTER, 2, 2, 1000}}},
	{"outer IPv6 length beyond the frame",
	 LB6,
	 {IN6},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{OUTER, 4, 2, 1000}}},
	{"outer header length of 4 words",
	 LB4,
	 {IN4},
	 .verdict = AGENT_MALFORMED,
	 .lies = {{OUTER, 0, 1, 0x44}}},
	{"a byte is missing", LB4, {IN4}, .verdict = AGENT_MALFORMED, .cut = 1},
	{"outer header alone", LB4, {IN4}, .verdict = AGENT_MALFORMED, .lies = {{OUTER, 2, 2, 20}}},

	{"outer first fragment",
	 LB4,
	 {IN4},
	 .verdict = AGENT_FRAGMENT,
	 .lies = {{OUTER, 6, 2, 0x2000}}},
	{"outer later fragment",
	 LB4,
	 {IN4},
	 .verdict = AGENT_FRAGMENT,
	 .lies = {{OUTER, 6, 2, 0x0010}}},
	{"outer fragment of something else",
	 LB4,
	 {IN4},
	 .verdict = AGENT_NOT_TUNNEL,
	 .lies = {{OUTER, 6, 2, 0x2000}, {OUTER, 9, 1, 17}}},
	{"outer IPv6 fragment",
	 LB6,
	 {IN6},
	 .verdict = AGENT_FRAGMENT,
	 .shape = LIMIT6,
	 .lies = {{OUTER, 6, 1, 44}}},
	{"outer IPv6 fragment of something else",
	 LB6,
	 {IN6},
	 .verdict = AGENT_NOT_TUNNEL,
	 .shape = LIMIT6,
	 .lies = {{OUTER, 6, 1, 44}, {OUTER, 40, 1, 17}}},

	{"a GRE tunnel", LB4, {IN4}, .verdict = AGENT_NOT_TUNNEL, .lies = {{OUTER, 9, 1, 47}}},
	{"IPv4 with ICMPv6's number",
	 LB4,
	 {IN4},
	 .verdict = AGENT_NOT_TUNNEL,
	 .lies = {{OUTER, 9, 1, 58}}},
	{"straight to the VIP", NULL, {IN4}, .verdict = AGENT_NOT_TUNNEL, .shape = BARE},
	{"straight to the VIP, IPv6", NULL, {IN6}, .verdict = AGENT_NOT_TUNNEL, .shape = BARE},
	{"an unknown ethertype",
	 NULL,
	 {IN4, .ethertype = 0x88b5},
	 .verdict = AGENT_NOT_IP,
	 .shape = BARE},
	{"echo request over IPv6",
	 NULL,
	 {IN6, .proto = IPPROTO_ICMPV6},
	 .verdict = AGENT_NOT_TUNNEL,
	 .shape = BARE},
};

static void put(uint8_t *at, size_t size, uint32_t value)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(value >> 8 * (size - 1 - i));
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
	put(ip + 4, 2, get16(ip + 4) + sizeof(header));
	insert(frame, frame->ip + 40, header, sizeof(header));
}

static void apply_shape(const struct row *row, struct frame *frame)
{
	static const uint8_t limit[] = {4, 1, 4, 1, 1, 0}, padding[] = {1, 4, 0, 0, 0, 0};
	uint8_t *ip = frame->bytes + frame->ip;

	if (row->outer_tos && ip[0] >> 4 == 4)
		ip[1] = row->outer_tos;
	else if (row->outer_tos)
		put(ip, 2, 0x6000U | (uint32_t)row->outer_tos << 4 | (ip[1] & 0xfU));
	switch (row->shape) {
	case OPTIONS4:
		ip[0] = 0x46;
		put(ip + 2, 2, get16(ip + 2) + 4U);
		insert(frame, frame->ip + 20, "\1\1\1\0", 4);
		break;
	case LIMIT6: insert_options6(frame, limit); break;
	case PADDED6: insert_options6(frame, padding); break;
	case TAGGED: insert(frame, 12, "\x81\0\0\x05", 4); break;
	default: break;
	}
}

/* The frame as it arrives, and the inner frame alone. `arrived` has l4 at the inner header. */
static void build(const struct row *row, struct frame *inner, struct frame *arrived)
{
	struct frame_tunnel tunnel = {.src_mac = FRAME_CLIENT_MAC, .dst_mac = FRAME_NODE_MAC};
	struct addr from, to;

	frame_build(&row->inner, inner);
	if (row->shape == BARE) {
		*arrived = *inner;
		return;
	}
	assert_int_equal(addr_parse(row->from, &from), 0);
	tunnel.outer4 = addr_is4(&from);
	assert_int_equal(addr_parse(tunnel.outer4 ? "10.0.1.11" : "2001:db8:1::11", &to), 0);
	memcpy(tunnel.src, from.bytes + (tunnel.outer4 ? 12 : 0), tunnel.outer4 ? 4 : 16);
	memcpy(tunnel.dst, to.bytes + (tunnel.outer4 ? 12 : 0), tunnel.outer4 ? 4 : 16);
	frame_encapsulate(inner->bytes, inner->length, &tunnel, arrived);
	apply_shape(row, arrived);
	for (size_t i = 0; i < 2 && row->lies[i].in; i++) {
		size_t at = row->lies[i].in == OUTER ? arrived->ip : arrived->l4;

		put(arrived->bytes + at + row->lies[i].at, row->lies[i].size, row->lies[i].value);
	}
	memset(arrived->bytes + arrived->length, 0x5a, row->padding);
	arrived->length += row->padding;
	arrived->length -= row->cut;
}

/* What a frame that is taken out must be: the link header with the inner packet's type, then the
 * bytes behind the outer header, with ToS as the row says. */
static void check_bytes(const struct row *row, const struct frame *arrived,
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
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t before = native_counts[rows[i].verdict];

		build(&rows[i], &inner, &arrived);
		run_both(rows[i].name, arrived.bytes, arrived.length, &outcome);
		if (outcome.verdict != (int)rows[i].verdict) {
			say_frame(arrived.bytes, arrived.length);
			fail_msg("%s: %s, should be %s", rows[i].name, names[outcome.verdict],
				 names[rows[i].verdict]);
		}
		assert_int_equal(native_counts[rows[i].verdict], before + 1);
		if (outcome.verdict == AGENT_DECAPSULATED)
			check_bytes(&rows[i], &arrived, &outcome);
	}
}

/* A frame that ends anywhere is read no further, and never taken for whole. */
static void test_every_length(void **state)
{
	static struct outcome outcome;
	static struct frame inner, arrived;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].inner.payload > 1000)
			continue;
		build(&rows[i], &inner, &arrived);
		for (size_t length = 0; length < arrived.length; length++) {
			run_both(rows[i].name, arrived.bytes, length, &outcome);
			if (length < arrived.length - rows[i].padding)
				assert_int_not_equal(outcome.verdict, AGENT_DECAPSULATED);
		}
	}
}

static uint64_t random_next(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Damaged frames: both worlds agree on each, and none is read past its end. */
static void test_damage(void **state)
{
	static struct outcome outcome;
	static struct frame inner, arrived;

	(void)state;
	for (int i = 0; i < FRAMES_DAMAGED; i++) {
		const struct row *row = &rows[random_next() % (sizeof(rows) / sizeof(rows[0]))];

		if (row->inner.payload > 1000)
			continue;
		build(row, &inner, &arrived);
		for (uint64_t left = 1 + random_next() % 4; left; left--) {
			size_t at = random_next() % 110;

			if (at < arrived.length)
				arrived.bytes[at] ^= (uint8_t)(1U << random_next() % 8);
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

		put(frame + 16, 2, cases[i].protocol);
		put(frame + 18, 2, cases[i].lengths);
		put(frame + 20, 2, cases[i].operation);
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
		{VIP6, NULL, 135, AGENT_SILENCED},
		{"2001:db8:10::11", NULL, 135, AGENT_NOT_TUNNEL},
		{VIP6, NULL, 136, AGENT_NOT_TUNNEL}, /* an answer */
		{VIP6, MAPPED_VIP4, 135, AGENT_NOT_TUNNEL},
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
	static const struct row row = {"mapped", LB6, {IN6}, .verdict = AGENT_DECAPSULATED};
	static struct outcome outcome;
	static struct frame inner, arrived;

	(void)state;
	build(&row, &inner, &arrived);
	memcpy(arrived.bytes + arrived.l4 + 24, MAPPED_VIP4, 16);
	run_both("mapped VIP", arrived.bytes, arrived.length, &outcome);
	assert_int_equal(outcome.verdict, AGENT_NOT_VIP);
	build(&row, &inner, &arrived);
	memcpy(arrived.bytes + arrived.ip + 8, MAPPED_VIP4, 12);
	memcpy(arrived.bytes + arrived.ip + 20, "\x64\x40\x01\x4d", 4); /* LB4 */
	run_both("mapped balancer", arrived.bytes, arrived.length, &outcome);
	assert_int_equal(outcome.verdict, AGENT_BAD_SOURCE);
}

/* Without the kernel's engine this says so, and the rest ran natively. */
static void test_kernel_ran(void **state)
{
	(void)state;
	if (!kernel) {
		print_message("no BPF_PROG_TEST_RUN: needs root\n");
		skip();
	}
}

static int open_kernel(void **state)
{
	struct agent_dp_options options = {
		.vips = vip_list,
		.vip_count = sizeof(vips) / sizeof(vips[0]),
		.balancers = balancer_list,
		.balancer_count = sizeof(balancers) / sizeof(balancers[0]),
		.limits = agent_dp_limits(PATH_MTU, 40),
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < options.vip_count; i++) {
		if (addr_parse(vips[i], &vip_list[i]))
			return -1;
	}
	for (size_t i = 0; i < options.balancer_count; i++) {
		if (prefix_parse(balancers[i], &balancer_list[i]))
			return -1;
	}
	if (geteuid() == 0 && agent_dp_open(&options, &kernel, &err) != 0) {
		print_error("%s\n", err.text);
		return -1;
	}
	return 0;
}

static int close_kernel(void **state)
{
	(void)state;
	if (kernel)
		agent_dp_close(kernel);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_ran),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_arp),
		cmocka_unit_test(test_neighbour_solicitation),
		cmocka_unit_test(test_mapped_addresses),
	};

	return cmocka_run_group_tests(tests, open_kernel, close_kernel);
}
