/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The second chance as a frame meets it at an agent: a table of packets that name another owner,
 * with the socket that a native run finds; where that is none the kernel runs the frame too, in a
 * network namespace without any socket or route. What is handed on must be what a host would have
 * built that sends to the other owner, with a hop and perhaps the weak bit. What real sockets make
 * of it is in second_sockets_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/agent/agent_run.h"
#include "../lib/agent/tunnels.h"
#include "base/addr.h"
#include "engine/agent/agent_dp.h"

#define HOST4  "10.0.1.11"
#define HOST6  "2001:db8:1::11"
#define OTHER4 "10.0.1.12"
#define OTHER6 "2001:db8:1::12"
#define PEER4  "10.0.1.13"
#define PEER6  "2001:db8:1::13"
#define TCP4                                                            \
	{                                                               \
		.src = "203.0.113.5", .dst = TUNNEL_VIP4, .payload = 64 \
	}
#define TCP6                                                              \
	{                                                                 \
		.src = "2001:db8:c::5", .dst = TUNNEL_VIP6, .payload = 64 \
	}
#define WITH4(...)                                                    \
	{                                                             \
		.src = "203.0.113.5", .dst = TUNNEL_VIP4, __VA_ARGS__ \
	}
#define WITH6(...)                                                      \
	{                                                               \
		.src = "2001:db8:c::5", .dst = TUNNEL_VIP6, __VA_ARGS__ \
	}

/* Whose numbers the socket has that a native run finds. */
enum whose { NO_SOCKET, ITS, ANOTHERS };

struct row {
	const char *name;
	const char *from;
	const char *other; /* NULL: none is named */
	struct frame_spec inner;
	enum agent_verdict verdict;
	uint8_t hops, weak;
	enum whose whose;
	struct frame_patch lie; /* in the private data, from GUE's header on */
};

static const struct frame_spec quoted4 = {
	.src = TUNNEL_VIP4, .dst = "203.0.113.5", .sport = 80, .dport = 40000, .payload = 20};
static const struct frame_spec quoted6 = {
	.src = TUNNEL_VIP6, .dst = "2001:db8:c::5", .sport = 80, .dport = 40000, .payload = 20};
static const struct frame_spec quoted_udp = {.src = TUNNEL_VIP4,
					     .dst = "203.0.113.5",
					     .proto = IPPROTO_UDP,
					     .sport = 80,
					     .dport = 40000};

#define ERROR4(...)          WITH4(.proto = IPPROTO_ICMP, .icmp_type = 3, __VA_ARGS__)
#define ERROR6(...)          WITH6(.proto = IPPROTO_ICMPV6, .icmp_type = 2, __VA_ARGS__)
#define GUE(at, size, value) .lie = {FRAME_AT_L4, at, size, value}

static const struct row rows[] = {
	/* from a balancer */
	{"4, nobody", TUNNEL_LB4, OTHER4, TCP4, .verdict = AGENT_HANDED_ON},
	{"6, nobody", TUNNEL_LB6, OTHER6, TCP6, .verdict = AGENT_HANDED_ON},
	{"6 in 4, nobody", TUNNEL_LB4, OTHER4, TCP6, .verdict = AGENT_HANDED_ON},
	{"4 in 6, nobody", TUNNEL_LB6, OTHER6, TCP4, .verdict = AGENT_HANDED_ON},
	{"SYN, nobody listens", TUNNEL_LB4, OTHER4, WITH4(.tcp_flags = FRAME_SYN),
	 .verdict = AGENT_HANDED_ON},
	{"RST, nobody", TUNNEL_LB4, OTHER4, WITH4(.tcp_flags = FRAME_RST),
	 .verdict = AGENT_HANDED_ON},
	{"4, IP options inside", TUNNEL_LB4, OTHER4, WITH4(.ip_options = 8),
	 .verdict = AGENT_HANDED_ON},
	{"6, extension headers inside", TUNNEL_LB6, OTHER6,
	 WITH6(.extensions = {FRAME_EXT_DESTINATION, FRAME_EXT_ROUTING}),
	 .verdict = AGENT_HANDED_ON},
	{"congestion met on the way stays in the outer header", TUNNEL_LB4, OTHER4, WITH4(.tos = 2),
	 .verdict = AGENT_HANDED_ON},
	{"4, the socket's own", TUNNEL_LB4, OTHER4, TCP4, .verdict = AGENT_DECAPSULATED,
	 .whose = ITS},
	{"6, the socket's own", TUNNEL_LB6, OTHER6, TCP6, .verdict = AGENT_DECAPSULATED,
	 .whose = ITS},
	{"4, a socket of another", TUNNEL_LB4, OTHER4, TCP4, .verdict = AGENT_HANDED_WEAK,
	 .whose = ANOTHERS},
	{"6, a socket of another", TUNNEL_LB6, OTHER6, TCP6, .verdict = AGENT_HANDED_WEAK,
	 .whose = ANOTHERS},
	{"none is named, nobody", TUNNEL_LB4, NULL, TCP4, .verdict = AGENT_DECAPSULATED},
	{"none is named, a socket of another", TUNNEL_LB4, NULL, TCP4,
	 .verdict = AGENT_DECAPSULATED, .whose = ANOTHERS},
	{"the host itself is named", TUNNEL_LB4, HOST4, TCP4, .verdict = AGENT_DECAPSULATED},
	{"the host itself is named, 6", TUNNEL_LB6, HOST6, TCP6, .verdict = AGENT_DECAPSULATED},
	{"data of another kind", TUNNEL_LB4, OTHER4, TCP4, .verdict = AGENT_DECAPSULATED,
	 GUE(4, 1, 2)},
	{"of another family", TUNNEL_LB4, OTHER4, TCP4, .verdict = AGENT_DECAPSULATED,
	 GUE(7, 1, 6)},
	{"unknown flags are nothing", TUNNEL_LB4, OTHER4, TCP4, .verdict = AGENT_HANDED_ON,
	 GUE(6, 1, 0xfe)},
	{"UDP", TUNNEL_LB4, OTHER4, WITH4(.proto = IPPROTO_UDP), .verdict = AGENT_DECAPSULATED},
	{"SCTP", TUNNEL_LB4, OTHER4, WITH4(.proto = 132, .payload = 40),
	 .verdict = AGENT_DECAPSULATED},
	{"the first piece", TUNNEL_LB4, OTHER4, WITH4(.frag = 0x2000, .payload = 64),
	 .verdict = AGENT_DECAPSULATED},
	{"a later piece", TUNNEL_LB4, OTHER4, WITH4(.frag = 8, .payload = 64),
	 .verdict = AGENT_DECAPSULATED},
	{"the first piece, 6", TUNNEL_LB6, OTHER6,
	 WITH6(.extensions = {FRAME_EXT_FRAGMENT}, .frag = 1, .payload = 64),
	 .verdict = AGENT_DECAPSULATED},
	{"a later piece, 6", TUNNEL_LB6, OTHER6,
	 WITH6(.extensions = {FRAME_EXT_FRAGMENT}, .frag = 8, .payload = 64),
	 .verdict = AGENT_DECAPSULATED},
	{"whole, in a fragment header", TUNNEL_LB6, OTHER6,
	 WITH6(.extensions = {FRAME_EXT_FRAGMENT}, .payload = 64), .verdict = AGENT_HANDED_ON},
	{"error, nobody", TUNNEL_LB4, OTHER4, ERROR4(.quote = &quoted4),
	 .verdict = AGENT_HANDED_ON},
	{"error, 6, nobody", TUNNEL_LB6, OTHER6, ERROR6(.quote = &quoted6),
	 .verdict = AGENT_HANDED_ON},
	{"error, 28 bytes are quoted", TUNNEL_LB4, OTHER4,
	 ERROR4(.quote = &quoted4, .quote_length = 28), .verdict = AGENT_HANDED_ON},
	{"error, no sequence is quoted", TUNNEL_LB4, OTHER4,
	 ERROR4(.quote = &quoted4, .quote_length = 27), .verdict = AGENT_DECAPSULATED},
	{"error, about UDP", TUNNEL_LB4, OTHER4, ERROR4(.quote = &quoted_udp),
	 .verdict = AGENT_DECAPSULATED},
	{"error, the socket's own", TUNNEL_LB4, OTHER4, ERROR4(.quote = &quoted4),
	 .verdict = AGENT_DECAPSULATED, .whose = ITS},
	{"error, 6, the socket's own", TUNNEL_LB6, OTHER6, ERROR6(.quote = &quoted6),
	 .verdict = AGENT_DECAPSULATED, .whose = ITS},
	{"error, about another's", TUNNEL_LB4, OTHER4, ERROR4(.quote = &quoted4),
	 .verdict = AGENT_HANDED_WEAK, .whose = ANOTHERS},
	{"ping", TUNNEL_LB4, OTHER4, WITH4(.proto = IPPROTO_ICMP), .verdict = AGENT_DECAPSULATED},

	/* handed on */
	{"a hop, nobody", PEER4, HOST4, TCP4, .verdict = AGENT_TAKEN, .hops = 1},
	{"a hop, 6, nobody", PEER6, HOST6, TCP6, .verdict = AGENT_TAKEN, .hops = 1},
	{"a hop, the socket's own", PEER4, HOST4, TCP4, .verdict = AGENT_TAKEN, .hops = 1,
	 .whose = ITS},
	{"a hop, a socket of another", PEER4, HOST4, TCP4, .verdict = AGENT_TAKEN, .hops = 1,
	 .whose = ANOTHERS},
	{"a weak hop, nobody", PEER4, HOST4, TCP4, .verdict = AGENT_UNCLAIMED, .hops = 1,
	 .weak = 1},
	{"a weak hop, 6, nobody", PEER6, HOST6, TCP6, .verdict = AGENT_UNCLAIMED, .hops = 1,
	 .weak = 1},
	{"a weak hop, the socket's own", PEER4, HOST4, TCP4, .verdict = AGENT_TAKEN, .hops = 1,
	 .weak = 1, .whose = ITS},
	{"a weak hop, a socket of another", PEER4, HOST4, TCP4, .verdict = AGENT_UNCLAIMED,
	 .hops = 1, .weak = 1, .whose = ANOTHERS},
	{"a hop that names somebody else goes no further", PEER4, OTHER4, TCP4,
	 .verdict = AGENT_TAKEN, .hops = 1},
	{"no hop ever after", PEER4, OTHER4, TCP4, .verdict = AGENT_TAKEN, .hops = 255},
	{"a weak error, nobody", PEER4, HOST4, ERROR4(.quote = &quoted4),
	 .verdict = AGENT_UNCLAIMED, .hops = 1, .weak = 1},
	{"a hop from a balancer", TUNNEL_LB4, HOST4, TCP4, .verdict = AGENT_BAD_PEER, .hops = 1},
	{"a hop from a balancer, 6", TUNNEL_LB6, HOST6, TCP6, .verdict = AGENT_BAD_PEER, .hops = 1},
	{"a hop from anyone", "198.18.0.1", HOST4, TCP4, .verdict = AGENT_BAD_PEER, .hops = 1},
	{"a hop from anyone, 6", "2001:db8:66::1", HOST6, TCP6, .verdict = AGENT_BAD_PEER,
	 .hops = 1},
	{"a weak hop from anyone", "198.18.0.1", HOST4, TCP4, .verdict = AGENT_BAD_PEER, .hops = 1,
	 .weak = 1, .whose = ITS},
	{"no hop, and from a peer", PEER4, OTHER4, TCP4, .verdict = AGENT_BAD_SOURCE},
	{"no hop, and from a peer, 6", PEER6, OTHER6, TCP6, .verdict = AGENT_BAD_SOURCE},
	{"a hop to no VIP",
	 PEER4,
	 HOST4,
	 {.src = "203.0.113.5", .dst = "198.51.100.1"},
	 .verdict = AGENT_NOT_VIP,
	 1},
};

static void parse(const char *text, uint8_t *ret)
{
	struct addr addr;

	assert_int_equal(addr_parse(text, &addr), 0);
	memcpy(ret, addr.bytes + (addr_is4(&addr) ? 12 : 0), addr_is4(&addr) ? 4 : 16);
}

static size_t gue_at(bool outer4)
{
	return FRAME_ETH + (outer4 ? 20U : 40U) + 8;
}

static struct frame_tunnel tunnel_of(const struct row *row)
{
	struct frame_tunnel tunnel = {.mode = FRAME_GUE0,
				      .sport = 50000,
				      .src_mac = FRAME_CLIENT_MAC,
				      .dst_mac = FRAME_NODE_MAC};

	tunnel.outer4 = !strchr(row->from, ':');
	parse(row->from, tunnel.src);
	parse(tunnel.outer4 ? HOST4 : HOST6, tunnel.dst);
	if (!row->other)
		return tunnel;
	tunnel.other_family = tunnel.outer4 ? 4 : 6;
	parse(row->other, tunnel.other);
	return tunnel;
}

static void build(const struct row *row, const struct frame_tunnel *tunnel, struct frame *inner,
		  struct frame *ret)
{
	uint8_t *gue;

	frame_build(&row->inner, inner);
	frame_encapsulate(inner->bytes, inner->length, tunnel, ret);
	gue = ret->bytes + gue_at(tunnel->outer4);
	gue[5] = row->hops;
	gue[6] = row->weak;
	if (row->lie.size)
		frame_put(gue + row->lie.offset, row->lie.size, row->lie.value);
}

/* To the other owner, from this host, back to where the frame came from on the link. */
static void build_onwards(const struct row *row, bool weak, struct frame *ret)
{
	struct frame_tunnel tunnel = tunnel_of(row);
	static struct frame inner;
	uint8_t *gue;

	memcpy(tunnel.src, tunnel.dst, sizeof(tunnel.src));
	memcpy(tunnel.dst, tunnel.other, sizeof(tunnel.dst));
	memcpy(tunnel.src_mac, FRAME_NODE_MAC, 6);
	memcpy(tunnel.dst_mac, FRAME_CLIENT_MAC, 6);
	build(row, &tunnel, &inner, ret);
	gue = ret->bytes + gue_at(tunnel.outer4);
	gue[5] = 1;
	gue[6] = weak;
}

static uint32_t get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* One that expects just this segment, or one far from it. */
static void place_socket(const struct row *row, const struct frame *inner)
{
	uint32_t far = row->whose == ANOTHERS ? 1U << 30 : 0;
	const uint8_t *tcp = inner->bytes + inner->l4;

	agents_socket = (struct accept_socket){0};
	if (row->whose == NO_SOCKET)
		return;
	if (row->inner.quote)
		tcp += 8 + (strchr(row->inner.dst, ':') ? 40 : 20);
	agents_socket.kind = ACCEPT_CONNECTED;
	agents_socket.rcv_nxt = get32(tcp + 4) + far;
	agents_socket.snd_una = get32(tcp + (row->inner.quote ? 4 : 8)) + far;
	agents_socket.snd_end = agents_socket.snd_una;
}

static void check_bytes(const struct row *row, const struct frame *inner,
			const struct outcome *outcome)
{
	static struct frame want;

	if (outcome->verdict == AGENT_HANDED_ON || outcome->verdict == AGENT_HANDED_WEAK) {
		build_onwards(row, outcome->verdict == AGENT_HANDED_WEAK, &want);
		if (row->lie.size)
			want.bytes[gue_at(!strchr(row->from, ':')) + 6] = 0;
	} else if (outcome->verdict == AGENT_DECAPSULATED || outcome->verdict == AGENT_TAKEN) {
		want = *inner;
		memcpy(want.bytes, FRAME_NODE_MAC FRAME_CLIENT_MAC, 12);
	} else {
		return;
	}
	assert_int_equal(outcome->length, want.length);
	assert_memory_equal(outcome->bytes, want.bytes, want.length);
}

static void test_table(void **state)
{
	static struct outcome outcome;
	static struct frame inner, arrived;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame_tunnel tunnel = tunnel_of(&rows[i]);

		build(&rows[i], &tunnel, &inner, &arrived);
		place_socket(&rows[i], &inner);
		run_both(rows[i].name, arrived.bytes, arrived.length, &outcome);
		if (outcome.verdict != (int)rows[i].verdict)
			fail_msg("%s: %s, should be %s", rows[i].name, names[outcome.verdict],
				 names[rows[i].verdict]);
		check_bytes(&rows[i], &inner, &outcome);
	}
	agents_socket = (struct accept_socket){0};
}

/* However it is cut, it is read no further, and not handed on without its ports and numbers. */
static void test_every_length(void **state)
{
	static struct outcome outcome;
	static struct frame inner, arrived;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame_tunnel tunnel = tunnel_of(&rows[i]);

		build(&rows[i], &tunnel, &inner, &arrived);
		for (size_t length = 0; length < arrived.length; length++) {
			run_both(rows[i].name, arrived.bytes, length, &outcome);
			assert_int_not_equal(outcome.verdict, AGENT_HANDED_ON);
		}
	}
}

static void test_damage(void **state)
{
	static struct outcome outcome;
	static struct frame inner, arrived;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		const struct row *row = &rows[frame_random() % (sizeof(rows) / sizeof(rows[0]))];
		struct frame_tunnel tunnel = tunnel_of(row);

		build(row, &tunnel, &inner, &arrived);
		for (uint64_t left = 1 + frame_random() % 4; left; left--) {
			size_t at = 12 + frame_random() % 120;

			if (at < arrived.length)
				arrived.bytes[at] ^= (uint8_t)(1U << frame_random() % 8);
		}
		run_both(row->name, arrived.bytes, arrived.length, &outcome);
	}
}

/* Without peers what is named is stepped over, and a hop is a tunnel like any other. */
static void test_without_peers(void **state)
{
	struct agent_dp *all = agents_kernel;
	static struct outcome outcome;
	static struct frame inner, arrived;

	(void)state;
	agents_takes = AGENT_TAKES_GUE;
	if (all) {
		agents_kernel = agents_new(agents_takes);
		assert_non_null(agents_kernel);
		memset(kernel_counts, 0, sizeof(kernel_counts));
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame_tunnel tunnel = tunnel_of(&rows[i]);
		bool balancer = strcmp(rows[i].from, TUNNEL_LB4) == 0 ||
				strcmp(rows[i].from, TUNNEL_LB6) == 0;

		build(&rows[i], &tunnel, &inner, &arrived);
		run_both(rows[i].name, arrived.bytes, arrived.length, &outcome);
		if (rows[i].verdict != AGENT_NOT_VIP)
			assert_int_equal(outcome.verdict,
					 balancer ? AGENT_DECAPSULATED : AGENT_BAD_SOURCE);
	}
	if (all)
		agent_dp_close(agents_kernel);
	agents_takes = AGENT_TAKES_ALL;
	agents_kernel = all;
	for (int i = 0; all && i < AGENT_VERDICT_COUNT; i++)
		kernel_counts[i] = agent_dp_verdict_count(all, (enum agent_verdict)i);
}

static int open_alone(void **state)
{
	if (geteuid() == 0 && unshare(CLONE_NEWNET))
		return -1;
	return agents_open(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agents_test_kernel_ran), cmocka_unit_test(test_table),
		cmocka_unit_test(test_every_length),      cmocka_unit_test(test_damage),
		cmocka_unit_test(test_without_peers),
	};

	return cmocka_run_group_tests_name("second", tests, open_alone, agents_close);
}
