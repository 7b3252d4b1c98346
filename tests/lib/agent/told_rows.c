/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of told.h. Their order counts where ports are learned. */
#include <netinet/in.h>

#include "tests/lib/agent/agents.h"
#include "tests/lib/agent/told.h"
#include "tests/lib/agent/tunnels.h"

#define BACKEND4 "10.0.1.11"
#define BACKEND6 "2001:db8:1::11"
#define CLIENT4  "203.0.113.5"
#define CLIENT6  "2001:db8:c::5"
#define ROUTER4  "203.0.113.1"
#define ROUTER6  "2001:db8:c::1"

enum { SERVER = 8080 };

/* By both families: to a VIP, with no payload, to one by its prefix, to another address. */
#define IN4  .src = CLIENT4, .dst = TUNNEL_VIP4, .payload = 100
#define IN6  .src = CLIENT6, .dst = TUNNEL_VIP6, .payload = 100
#define INN4 .src = CLIENT4, .dst = TUNNEL_VIP4
#define INP4 .src = CLIENT4, .dst = "198.51.100.99", .payload = 100
#define INP6 .src = CLIENT6, .dst = "2001:db8:20::7", .payload = 100
#define INA4 .src = CLIENT4, .dst = "198.51.100.11", .payload = 100
#define INA6 .src = CLIENT6, .dst = "2001:db8:10::11", .payload = 100
/* By ipopt it is the inner family that the backend has; a stranger's tunnel comes to it too. */
#define BACKENDN4   BACKEND4
#define BACKENDP4   BACKEND4
#define BACKENDP6   BACKEND6
#define BACKENDA4   BACKEND4
#define BACKENDA6   BACKEND6
#define BACKENDX4   BACKEND4
#define BACKENDX6   BACKEND6
#define TUNNEL_LBX4 "100.64.2.1"
#define TUNNEL_LBX6 "2001:db8:e::77"
#define ERROR4      .src = ROUTER4, .dst = TUNNEL_VIP4, .proto = IPPROTO_ICMP, .icmp_type = 3
#define ERROR6      .src = ROUTER6, .dst = TUNNEL_VIP6, .proto = IPPROTO_ICMPV6, .icmp_type = 2
#define UDP         .proto = IPPROTO_UDP
#define NO_SUM      .patches = {{FRAME_AT_L4, 6, 2, 0}}
#define TO_8080     .server = SERVER
#define FILE        .server = AGENTS_TO

#define TUNNEL(row_name, row_mode, outer, in, row_verdict, row_spec, ...)                          \
	{                                                                                          \
		.name = row_name, .spec = {IN##in, BARE row_spec},                                 \
		.told = {.mode = TOLD_##row_mode, .from = TUNNEL_LB##outer, .to = BACKEND##outer}, \
		.verdict = AGENT_##row_verdict, __VA_ARGS__                                        \
	}
#define GENEVE(row_name, outer, in, row_verdict, row_spec, ...) \
	TUNNEL(row_name, GENEVE, outer, in, row_verdict, row_spec, __VA_ARGS__)
#define SHAPE(row_name, row_shape, row_verdict, ...)        \
	{                                                   \
		.name = row_name, .spec = {IN4},            \
		.told =                                     \
			{                                   \
				.mode = TOLD_GENEVE,        \
				.from = TUNNEL_LB4,         \
				.to = BACKEND4,             \
				.shape = row_shape,         \
			},                                  \
		.verdict = AGENT_##row_verdict, __VA_ARGS__ \
	}
#define IPOPT(row_name, in, row_verdict, row_spec, ...)                                          \
	{                                                                                        \
		.name = row_name, .spec = {IN##in, BARE row_spec},                               \
		.told = {.mode = TOLD_IPOPT, .to = BACKEND##in}, .verdict = AGENT_##row_verdict, \
		__VA_ARGS__                                                                      \
	}
#define DPORT(port) .dport = (port)
#define BARE(...)   __VA_ARGS__ /* out of its parentheses */

static const struct frame_spec quote_tcp4 = {
	.src = TUNNEL_VIP4, .dst = CLIENT4, .sport = AGENTS_PORT, .dport = 40000, .payload = 20};
static const struct frame_spec quote_udp4 = {.src = TUNNEL_VIP4,
					     .dst = CLIENT4,
					     UDP,
					     .sport = AGENTS_PORT,
					     .dport = 40000,
					     .payload = 20};
static const struct frame_spec quote_tcp6 = {
	.src = TUNNEL_VIP6, .dst = CLIENT6, .sport = AGENTS_PORT, .dport = 40000, .payload = 20};
static const struct frame_spec quote_udp6 = {.src = TUNNEL_VIP6,
					     .dst = CLIENT6,
					     UDP,
					     .sport = AGENTS_PORT,
					     .dport = 40000,
					     .payload = 20};
static const struct frame_spec quote_away = {
	.src = "198.51.100.11", .dst = CLIENT4, .sport = AGENTS_PORT, .payload = 20};

/* An ICMP error has no more payload than its quote. */
#define ERROR_ROW(row_name, row_mode, outer, in, row_quote, row_verdict, ...)                   \
	{                                                                                       \
		.name = row_name, .spec = {ERROR##in, .quote = &(row_quote)},                   \
		.told = {.mode = TOLD_##row_mode, .from = TUNNEL_LB##outer, .to = BACKEND##in}, \
		.verdict = AGENT_##row_verdict, __VA_ARGS__                                     \
	}

const struct told_row told_rows[] = {
	GENEVE("geneve, 4 over 4", 4, 4, DECAPSULATED, ()),
	GENEVE("geneve, 6 over 4", 4, 6, DECAPSULATED, ()),
	GENEVE("geneve, 4 over 6", 6, 4, DECAPSULATED, ()),
	GENEVE("geneve, 6 over 6", 6, 6, DECAPSULATED, ()),
	GENEVE("geneve to 8080, 4 over 4", 4, 4, DECAPSULATED, (), TO_8080),
	GENEVE("geneve to 8080, 6 over 4", 4, 6, DECAPSULATED, (), TO_8080),
	GENEVE("geneve to 8080, 4 over 6", 6, 4, DECAPSULATED, (), TO_8080),
	GENEVE("geneve to 8080, 6 over 6", 6, 6, DECAPSULATED, (), TO_8080),
	GENEVE("geneve to 8080, UDP", 4, 4, DECAPSULATED, (UDP), TO_8080),
	GENEVE("geneve to 8080, UDP, 6", 6, 6, DECAPSULATED, (UDP), TO_8080),
	GENEVE("geneve to 8080, UDP without a sum", 4, 4, DECAPSULATED, (UDP, NO_SUM), TO_8080),
	GENEVE("geneve to 8080, UDP without a sum, 6", 6, 6, DECAPSULATED, (UDP, NO_SUM), TO_8080),
	GENEVE("geneve to 8080, a SYN", 4, 4, DECAPSULATED,
	       (.tcp_flags = FRAME_SYN, .tcp_options = 20), TO_8080),
	GENEVE("geneve to 8080, options of IPv4", 4, 4, DECAPSULATED, (.ip_options = 40), TO_8080),
	GENEVE("geneve to 8080, extension headers", 6, 6, DECAPSULATED,
	       (.extensions = {FRAME_EXT_HOP, FRAME_EXT_DESTINATION}), TO_8080),
	GENEVE("geneve to 8080, a first piece", 4, 4, DECAPSULATED, (.frag = 0x2000), TO_8080),
	GENEVE("geneve to 8080, a first piece of UDP", 4, 4, DECAPSULATED, (UDP, .frag = 0x2000),
	       TO_8080),
	GENEVE("geneve to 8080, a first piece, 6", 6, 6, DECAPSULATED,
	       (.extensions = {FRAME_EXT_FRAGMENT}, .frag = 1), TO_8080),
	GENEVE("geneve to 8080, a later piece", 4, 4, DECAPSULATED, (.frag = 0x0010), TO_8080,
	       .untouched = true),
	GENEVE("geneve to 8080, a later piece, 6", 6, 6, DECAPSULATED,
	       (.extensions = {FRAME_EXT_FRAGMENT}, .frag = 0x0010), TO_8080, .untouched = true),
	GENEVE("geneve to 8080, another protocol", 4, 4, DECAPSULATED, (.proto = 132), TO_8080,
	       .untouched = true),
	GENEVE("geneve, an echo request", 4, 4, DECAPSULATED, (.proto = IPPROTO_ICMP)),
	GENEVE("geneve, an echo request, 6", 6, 6, DECAPSULATED, (.proto = IPPROTO_ICMPV6)),
	GENEVE("geneve to the file's port", 4, 4, DECAPSULATED, (DPORT(AGENTS_PORT)), FILE),
	GENEVE("geneve to the file's port, UDP, 6", 6, 6, DECAPSULATED, (DPORT(AGENTS_PORT), UDP),
	       FILE),
	GENEVE("geneve to the file's port from another", 4, 4, BAD_PORT, (), FILE),
	GENEVE("geneve to the server's port as a VIP's", 4, 4, BAD_PORT, (DPORT(AGENTS_TO)), FILE),
	GENEVE("geneve, another service takes the port over", 4, 4, DECAPSULATED, (DPORT(81)),
	       TO_8080),
	GENEVE("geneve, and gives it back", 4, 4, DECAPSULATED, (), TO_8080),
	GENEVE("geneve, the VIP's port becomes the server's", 4, 4, DECAPSULATED, (DPORT(SERVER)),
	       TO_8080),
	GENEVE("geneve, and no more", 4, 4, DECAPSULATED, (), TO_8080),
	GENEVE("case 35: geneve, congestion met on the way", 4, 4, DECAPSULATED, (.tos = 0x02),
	       TO_8080, .told.outer_tos = 0x03, .tos_result = 0x03),
	GENEVE("case 35: geneve, congestion over a flow without ECN", 4, 4, NOT_ECT, (),
	       .told.outer_tos = 0x03),
	GENEVE("geneve, a VIP by its prefix", 4, P4, DECAPSULATED, (), TO_8080),
	GENEVE("geneve for another address", 4, A4, NOT_VIP, ()),
	GENEVE("geneve, padded", 4, 4, DECAPSULATED, (.padding = 7), TO_8080),

	SHAPE("geneve without an option", TOLD_NO_OPTION, DECAPSULATED),
	SHAPE("geneve, ours after others", TOLD_AFTER, DECAPSULATED, TO_8080),
	SHAPE("geneve, ours before another", TOLD_BEFORE, DECAPSULATED, TO_8080),
	SHAPE("geneve, ours at the last place", TOLD_LAST, DECAPSULATED, TO_8080),
	SHAPE("geneve, one option too many", TOLD_TOO_MANY, NOT_TUNNEL, TO_8080),
	SHAPE("geneve, ours twice", TOLD_TWICE, DECAPSULATED, TO_8080),
	SHAPE("geneve, a critical option", TOLD_CRITICAL, NOT_TUNNEL),
	SHAPE("geneve, ours too long", TOLD_WORDS3, NOT_TUNNEL),
	SHAPE("geneve, the longest option", TOLD_LONGEST, DECAPSULATED, TO_8080),

	GENEVE("geneve, a stranger's", X4, 4, BAD_SOURCE, (), TO_8080),
	GENEVE("geneve, a stranger's, 6", X6, 6, BAD_SOURCE, (), TO_8080),
	GENEVE("geneve that tells of another VIP", 4, 4, BAD_OPTION, (), TO_8080,
	       .told.vip = "198.51.100.99"),
	GENEVE("geneve that tells of another family", 4, 4, BAD_OPTION, (), TO_8080,
	       .told.vip = TUNNEL_VIP6),
	GENEVE("geneve that tells of another port", 4, 4, BAD_OPTION, (), TO_8080,
	       .told.vip_port = 81),
	GENEVE("geneve of version 1", 4, 4, NOT_TUNNEL, (), .lies = {{TOLD_OUTER, 28, 1, 0x43}}),
	GENEVE("geneve, OAM", 4, 4, NOT_TUNNEL, (), .lies = {{TOLD_OUTER, 29, 1, 0x80}}),
	GENEVE("geneve, something critical", 4, 4, NOT_TUNNEL, (),
	       .lies = {{TOLD_OUTER, 29, 1, 0x40}}),
	GENEVE("geneve, reserved bits", 4, 4, DECAPSULATED, (), TO_8080,
	       .lies = {{TOLD_OUTER, 29, 1, 0x3f}, {TOLD_OUTER, 35, 1, 0xff}}),
	GENEVE("geneve of a frame", 4, 4, NOT_TUNNEL, (), .lies = {{TOLD_OUTER, 30, 2, 0x6558}}),
	GENEVE("geneve of network 1", 4, 4, NOT_TUNNEL, (), .lies = {{TOLD_OUTER, 34, 1, 1}}),
	GENEVE("geneve of network 65536", 4, 4, NOT_TUNNEL, (), .lies = {{TOLD_OUTER, 32, 1, 1}}),
	GENEVE("geneve with a checksum", 4, 4, NOT_TUNNEL, (),
	       .lies = {{TOLD_OUTER, 26, 2, 0x1234}}),
	GENEVE("geneve, IPv6 that is IPv4", 4, 4, MALFORMED, (),
	       .lies = {{TOLD_OUTER, 30, 2, 0x86dd}}),
	GENEVE("geneve, options up to the datagram's end", 4, 4, NOT_TUNNEL, (),
	       .lies = {{TOLD_OUTER, 28, 1, 0x3f}}),
	GENEVE("geneve, fewer words than the option has", 4, 4, NOT_TUNNEL, (),
	       .lies = {{TOLD_OUTER, 28, 1, 2}}),
	GENEVE("geneve, an option longer than the header says", 4, 4, NOT_TUNNEL, (),
	       .lies = {{TOLD_OUTER, 39, 1, 31}}),
	GENEVE("geneve, the datagram ends in its header", 4, 4, NOT_TUNNEL, (),
	       .lies = {{TOLD_OUTER, 24, 2, 15}}),
	GENEVE("geneve, the datagram ends in the option", 4, 4, NOT_TUNNEL, (),
	       .lies = {{TOLD_OUTER, 24, 2, 20}}),
	GENEVE("geneve, the datagram ends after the option", 4, 4, MALFORMED, (),
	       .lies = {{TOLD_OUTER, 24, 2, 28}}),
	GENEVE("geneve, the inner packet is longer", 4, 4, TRUNCATED, (), TO_8080,
	       .lies = {{TOLD_INNER, 2, 2, 141}}),
	GENEVE("geneve, the inner packet ends before its ports", 4, 4, TRUNCATED, (), TO_8080,
	       .lies = {{TOLD_INNER, 2, 2, 23}}),
	GENEVE("geneve, and before its checksum", 4, 4, TRUNCATED, (), TO_8080,
	       .lies = {{TOLD_INNER, 2, 2, 37}}),
	GENEVE("geneve, a datagram before its checksum", 4, 4, TRUNCATED, (UDP), TO_8080,
	       .lies = {{TOLD_INNER, 2, 2, 27}}),

	ERROR_ROW("geneve, an error about TCP", GENEVE, 4, 4, quote_tcp4, DECAPSULATED, FILE),
	ERROR_ROW("geneve, an error about UDP", GENEVE, 4, 4, quote_udp4, DECAPSULATED, TO_8080),
	ERROR_ROW("geneve, an error about TCP, 6", GENEVE, 6, 6, quote_tcp6, DECAPSULATED, FILE),
	ERROR_ROW("geneve, an error about UDP, 6", GENEVE, 6, 6, quote_udp6, DECAPSULATED, TO_8080),
	ERROR_ROW("geneve, an error about another port", GENEVE, 4, 4, quote_tcp4, BAD_OPTION,
		  TO_8080, .told.vip_port = 80),
	ERROR_ROW("geneve, an error about another's packet", GENEVE, 4, 4, quote_away, DECAPSULATED,
		  TO_8080, .untouched = true),

	TUNNEL("gue 0, 4 over 4", GUE0, 4, 4, DECAPSULATED, ()),
	TUNNEL("gue 0, 6 over 4", GUE0, 4, 6, DECAPSULATED, ()),
	TUNNEL("gue 0, 4 over 6", GUE0, 6, 4, DECAPSULATED, ()),
	TUNNEL("gue 0, 6 over 6", GUE0, 6, 6, DECAPSULATED, ()),
	TUNNEL("gue 0, private data", GUE0, 4, 4, DECAPSULATED, (), .told.words = 2),
	TUNNEL("gue 0, private data, 6", GUE0, 6, 6, DECAPSULATED, (), .told.words = 5),
	TUNNEL("gue 0, the most private data", GUE0, 6, 4, DECAPSULATED, (), .told.words = 31),
	TUNNEL("case 35: gue 0, congestion met on the way", GUE0, 4, 4, DECAPSULATED, (.tos = 0x01),
	       .told.outer_tos = 0x03, .tos_result = 0x03),
	TUNNEL("gue 0, a stranger's", GUE0, X4, 4, BAD_SOURCE, ()),
	TUNNEL("gue 0, a control message", GUE0, 4, 4, NOT_TUNNEL, (),
	       .lies = {{TOLD_OUTER, 28, 1, 0x20}}),
	TUNNEL("gue 0, flags", GUE0, 4, 4, NOT_TUNNEL, (), .lies = {{TOLD_OUTER, 30, 2, 0x0001}}),
	TUNNEL("gue 0, more flags", GUE0, 4, 4, NOT_TUNNEL, (),
	       .lies = {{TOLD_OUTER, 30, 2, 0x8000}}),
	TUNNEL("gue 0, another protocol", GUE0, 4, 4, NOT_TUNNEL, (),
	       .lies = {{TOLD_OUTER, 29, 1, 6}}),
	TUNNEL("gue 0, IPv6 that is IPv4", GUE0, 4, 4, MALFORMED, (),
	       .lies = {{TOLD_OUTER, 29, 1, 41}}),
	TUNNEL("gue 0, the datagram ends in its header", GUE0, 4, 4, NOT_TUNNEL, (),
	       .lies = {{TOLD_OUTER, 24, 2, 11}}),
	TUNNEL("gue 0, the datagram ends in private data", GUE0, 4, 4, NOT_TUNNEL, (),
	       .told.words = 2, .lies = {{TOLD_OUTER, 24, 2, 19}}),
	TUNNEL("gue 0, the datagram ends after them", GUE0, 4, 4, MALFORMED, (), .told.words = 2,
	       .lies = {{TOLD_OUTER, 24, 2, 20}}),
	TUNNEL("gue 0, with a checksum", GUE0, 4, 4, NOT_TUNNEL, (),
	       .lies = {{TOLD_OUTER, 26, 2, 0x1234}}),

	IPOPT("ipopt", 4, RESTORED, ()),
	IPOPT("ipopt, 6", 6, RESTORED, ()),
	IPOPT("ipopt, UDP", 4, RESTORED, (UDP)),
	IPOPT("ipopt, UDP, 6", 6, RESTORED, (UDP)),
	IPOPT("ipopt, UDP without a sum", 4, RESTORED, (UDP, NO_SUM)),
	IPOPT("ipopt, UDP without a sum, 6", 6, RESTORED, (UDP, NO_SUM)),
	IPOPT("ipopt, a SYN", 4, RESTORED, (.tcp_flags = FRAME_SYN, .tcp_options = 40)),
	IPOPT("ipopt, no payload and padded", N4, RESTORED, (.padding = 12)),
	IPOPT("ipopt to the file's port", 4, RESTORED, (DPORT(AGENTS_PORT)), FILE),
	IPOPT("ipopt to the file's port, 6", 6, RESTORED, (DPORT(AGENTS_PORT)), FILE),
	IPOPT("ipopt to the file's port, UDP", 4, RESTORED, (DPORT(AGENTS_PORT), UDP), FILE),
	IPOPT("ipopt to the file's port, UDP without a sum, 6", 6, RESTORED,
	      (DPORT(AGENTS_PORT), UDP, NO_SUM), FILE),
	IPOPT("ipopt to a port that a balancer's geneve named", 4, RESTORED, (), TO_8080),
	IPOPT("ipopt to a port that nobody named", 4, BAD_PORT, (), .server = 8081),
	IPOPT("ipopt to the file's port from another", 6, BAD_PORT, (), FILE),
	IPOPT("ipopt to the server's port as a VIP's", 4, BAD_PORT, (DPORT(AGENTS_TO)), FILE),
	IPOPT("ipopt, options of the client's", 4, RESTORED, (.ip_options = 32)),
	IPOPT("ipopt, extension headers", 6, RESTORED,
	      (.extensions = {FRAME_EXT_ROUTING, FRAME_EXT_DESTINATION})),
	IPOPT("ipopt, hop-by-hop options", 6, RESTORED, (.extensions = {FRAME_EXT_HOP})),
	IPOPT("ipopt, a first piece", 4, RESTORED, (DPORT(AGENTS_PORT), .frag = 0x2000), FILE),
	IPOPT("ipopt, a first piece of UDP", 4, RESTORED, (UDP, .frag = 0x2000)),
	IPOPT("ipopt, a first piece, 6", 6, RESTORED,
	      (.extensions = {FRAME_EXT_FRAGMENT}, .frag = 1)),
	IPOPT("ipopt, a later piece", 4, RESTORED, (.frag = 0x0010), .untouched = true),
	IPOPT("ipopt, a later piece, 6", 6, RESTORED,
	      (.extensions = {FRAME_EXT_FRAGMENT}, .frag = 0x0010), .untouched = true),
	IPOPT("ipopt, another protocol", 4, RESTORED, (.proto = 132)),
	IPOPT("ipopt, another protocol, 6", 6, RESTORED, (.proto = 132)),
	IPOPT("ipopt, an echo request", 4, RESTORED, (.proto = IPPROTO_ICMP)),
	IPOPT("ipopt, an echo request, 6", 6, RESTORED, (.proto = IPPROTO_ICMPV6)),
	IPOPT("ipopt, a VIP by its prefix", P4, RESTORED, ()),
	IPOPT("ipopt, a VIP by its prefix, 6", P6, RESTORED, ()),
	IPOPT("ipopt for another address", A4, NOT_VIP, ()),
	IPOPT("ipopt for another address, 6", A6, NOT_VIP, ()),
	IPOPT("ipopt, another option", 4, NOT_TUNNEL, (), .lies = {{TOLD_OUTER, 20, 1, 0x99}}),
	IPOPT("ipopt, another length", 4, NOT_TUNNEL, (), .lies = {{TOLD_OUTER, 21, 1, 7}}),
	IPOPT("ipopt, not before the header's end", 4, NOT_TUNNEL, (),
	      .lies = {{TOLD_OUTER, 0, 1, 0x46}}),
	IPOPT("ipopt, another option, 6", 6, NOT_TUNNEL, (), .lies = {{TOLD_OUTER, 42, 1, 0x3b}}),
	IPOPT("ipopt, other data, 6", 6, NOT_TUNNEL, (), .lies = {{TOLD_OUTER, 43, 1, 17}}),
	IPOPT("ipopt, another header length, 6", 6, NOT_TUNNEL, (),
	      .lies = {{TOLD_OUTER, 41, 1, 1}}),
	IPOPT("ipopt, the packet ends in it, 6", 6, NOT_TUNNEL, (),
	      .lies = {{TOLD_OUTER, 4, 2, 23}}),
	IPOPT("ipopt, the packet ends before its checksum", 4, TRUNCATED, (),
	      .lies = {{TOLD_OUTER, 2, 2, 45}}),
	IPOPT("ipopt, the packet ends before its checksum, 6", 6, TRUNCATED, (UDP),
	      .lies = {{TOLD_OUTER, 4, 2, 31}}),
	ERROR_ROW("ipopt, an error about TCP", IPOPT, 4, 4, quote_tcp4, RESTORED, FILE),
	ERROR_ROW("ipopt, an error about UDP", IPOPT, 4, 4, quote_udp4, RESTORED, FILE),
	ERROR_ROW("ipopt, an error about TCP, 6", IPOPT, 6, 6, quote_tcp6, RESTORED, FILE),
	ERROR_ROW("ipopt, an error about UDP, 6", IPOPT, 6, 6, quote_udp6, RESTORED, FILE),
	ERROR_ROW("ipopt, an error about another port", IPOPT, 4, 4, quote_tcp4, BAD_OPTION,
		  .told.vip_port = 80),
	ERROR_ROW("ipopt, an error about another's packet", IPOPT, 4, 4, quote_away, RESTORED,
		  .untouched = true),
};

const size_t told_row_count = sizeof(told_rows) / sizeof(told_rows[0]);
