/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the packet table (packets.c, which includes this amid its array): policy. */

/* By connection id. A QUIC packet's beginning: 9 bytes of a short header, 12 of a long one. */
#define QUIC4(service) TO4(WORLD_##service##_VIP4), .proto = IPPROTO_UDP, .dport = 443
#define QUIC6(service) TO6(WORLD_##service##_VIP6), .proto = IPPROTO_UDP, .dport = 443
#define AT_PAYLOAD(at, v)                               \
	{                                               \
		FRAME_AT_L4, 8 + (at), 4, (uint32_t)(v) \
	}
#define SHORT_HEADER(cid) \
	.payload = 40,    \
	.patches = {AT_PAYLOAD(0, 0x40000000 | (cid) >> 40), AT_PAYLOAD(4, (cid) >> 8)}
#define LONG_HEADER(first, version, length, cid)                                             \
	.payload = 40,                                                                       \
	.patches = {AT_PAYLOAD(0, (uint32_t)(first) << 24 | (version) >> 8),                 \
		    AT_PAYLOAD(4, (uint32_t)(version) << 24 | (length) << 16 | (cid) >> 48), \
		    AT_PAYLOAD(8, (cid) >> 16)}
#define NAMED(name, service, ...)   ROW(name, FORWARDED, CID, service, CID2, __VA_ARGS__)
#define UNNAMED(name, service, ...) ROW(name, FORWARDED, SLOT, service, service##1, __VA_ARGS__)
#define LB_CID(config, id)          ((uint64_t)(config) << 61 | (uint64_t)(id) << 40 | 0xabcdef)
#define LB_NAMES                    LB_CID(WORLD_CID_CONFIG, WORLD_ID16)
#define KATRAN_V1(id)               (1ULL << 62 | (uint64_t)(id) << 46)
#define KATRAN_V2(id)               (2ULL << 62 | (uint64_t)(id) << 32)
#define KATRAN_V3(id)               (3ULL << 62 | (uint64_t)(id) << 24)

NAMED("quic-lb short header", CID, QUIC4(CID), SHORT_HEADER(LB_NAMES)),
	NAMED("quic-lb short header over ipv6", CID, QUIC6(CID), SHORT_HEADER(LB_NAMES)),
	NAMED("quic-lb short header behind options", CID, QUIC6(CID), BEHIND(OPTIONS),
	      SHORT_HEADER(LB_NAMES)),
	NAMED("quic-lb handshake", CID, QUIC4(CID), LONG_HEADER(0xe0, 1, 8, LB_NAMES)),
	NAMED("quic-lb handshake over ipv6", CID, QUIC6(CID), LONG_HEADER(0xe3, 1, 20, LB_NAMES)),
	NAMED("quic-lb retry", CID, QUIC4(CID), LONG_HEADER(0xf0, 1, 8, LB_NAMES)),
	NAMED("quic-lb handshake of a draft", CID, QUIC4(CID),
	      LONG_HEADER(0xe0, 0xff00001d, 8, LB_NAMES)),
	NAMED("quic-lb handshake of version 2", CID, QUIC4(CID),
	      LONG_HEADER(0xf0, 0x6b3343cf, 8, LB_NAMES)),
	NAMED("quic-lb retry of version 2", CID, QUIC4(CID),
	      LONG_HEADER(0xc0, 0x6b3343cf, 8, LB_NAMES)),
	NAMED("quic-lb handshake, shortest id", CID, QUIC4(CID), LONG_HEADER(0xe0, 1, 7, LB_NAMES)),
	ROW("quic-lb id of the slot's owner", FORWARDED, CID, CID, CID1, QUIC4(CID),
	    SHORT_HEADER(LB_CID(WORLD_CID_CONFIG, 1))),
	UNNAMED("quic-lb initial", CID, QUIC4(CID), LONG_HEADER(0xc0, 1, 8, LB_NAMES)),
	UNNAMED("quic-lb initial over ipv6", CID, QUIC6(CID), LONG_HEADER(0xc0, 1, 8, LB_NAMES)),
	UNNAMED("quic-lb 0-rtt", CID, QUIC4(CID), LONG_HEADER(0xd0, 1, 8, LB_NAMES)),
	UNNAMED("quic-lb initial of version 2", CID, QUIC4(CID),
		LONG_HEADER(0xd0, 0x6b3343cf, 8, LB_NAMES)),
	UNNAMED("quic-lb 0-rtt of version 2", CID, QUIC4(CID),
		LONG_HEADER(0xe0, 0x6b3343cf, 8, LB_NAMES)),
	UNNAMED("quic-lb handshake of an unknown version", CID, QUIC4(CID),
		LONG_HEADER(0xe0, 0x1a2a3a4a, 8, LB_NAMES)),
	UNNAMED("quic-lb version negotiation", CID, QUIC4(CID), LONG_HEADER(0xe0, 0, 8, LB_NAMES)),
	UNNAMED("quic-lb handshake, id too short", CID, QUIC4(CID),
		LONG_HEADER(0xe0, 1, 6, LB_NAMES)),
	UNNAMED("quic-lb handshake without an id", CID, QUIC4(CID),
		LONG_HEADER(0xe0, 1, 0, LB_NAMES)),
	UNNAMED("quic-lb id of another config", CID, QUIC4(CID),
		SHORT_HEADER(LB_CID(2, WORLD_ID16))),
	UNNAMED("quic-lb id that says it names nobody", CID, QUIC4(CID),
		SHORT_HEADER(LB_CID(7, WORLD_ID16))),
	UNNAMED("quic-lb id of nobody", CID, QUIC6(CID), SHORT_HEADER(LB_CID(3, 0x1235))),
	UNNAMED("quic-lb id 0", CID, QUIC4(CID), SHORT_HEADER(LB_CID(3, 0))),
	UNNAMED("quic-lb id of a backend that may keep no flows", CID, QUIC4(CID),
		SHORT_HEADER(LB_CID(3, WORLD_ID_UNKEPT))),
	UNNAMED("quic-lb id of another pool", KATRAN, QUIC4(KATRAN), SHORT_HEADER(KATRAN_V1(1))),
	UNNAMED("quic-lb datagram of one byte", CID, QUIC4(CID), .payload = 1),
	UNNAMED("quic-lb datagram of none", CID, QUIC4(CID)),
	NAMED("katran version 1", KATRAN, QUIC4(KATRAN), SHORT_HEADER(KATRAN_V1(WORLD_ID16))),
	NAMED("katran version 2", KATRAN, QUIC6(KATRAN), SHORT_HEADER(KATRAN_V2(WORLD_ID24))),
	NAMED("katran version 3", KATRAN, QUIC4(KATRAN), SHORT_HEADER(KATRAN_V3(WORLD_ID32))),
	NAMED("katran handshake", KATRAN, QUIC4(KATRAN),
	      LONG_HEADER(0xe0, 1, 8, KATRAN_V2(WORLD_ID24))),
	UNNAMED("katran version 0", KATRAN, QUIC4(KATRAN),
		SHORT_HEADER(KATRAN_V1(WORLD_ID16) ^ 1ULL << 62)),
	UNNAMED("katran id in another version's layout", KATRAN, QUIC4(KATRAN),
		SHORT_HEADER(KATRAN_V2(WORLD_ID16 << 2))),
	UNNAMED("katran handshake, id too short", KATRAN, QUIC6(KATRAN),
		LONG_HEADER(0xe0, 1, 7, KATRAN_V2(WORLD_ID24))),
	UNNAMED("katran initial", KATRAN, QUIC4(KATRAN),
		LONG_HEADER(0xc3, 1, 8, KATRAN_V2(WORLD_ID24))),
	TO_B6("quic of a service without the policy", TO6(WORLD_ONE6_VIP6), .proto = IPPROTO_UDP,
	      .dport = 443, SHORT_HEADER(LB_NAMES)),

/* By TCP's option: `at` bytes of no-operation before it. The id's bytes are in turn. */
#define OPTION(at, kind, length)                                                                   \
	.dport = 443, .tcp_options = 20,                                                           \
	.patches = {{FRAME_AT_L4, 20 + (at), 4, (uint32_t)(kind) << 24 | (length) << 16 | 0xefcd}, \
		    {FRAME_AT_L4, 24 + (at), 2, 0xab89}}
#define BY_OPTION(name, ...) ROW(name, FORWARDED, OPTION, CID, CID2, __VA_ARGS__)
	BY_OPTION("tcp4 names its server", TO4(WORLD_CID_VIP4), OPTION(0, 0xb7, 6)),
	BY_OPTION("tcp6 names its server", TO6(WORLD_CID_VIP6), OPTION(14, 0xb7, 6), .payload = 9),
	BY_OPTION("tcp4 names its server with fin", TO4(WORLD_CID_VIP4), OPTION(2, 0xb7, 6),
		  .tcp_flags = FRAME_FIN | FRAME_ACK),
	BY_OPTION("tcp4 names its server behind ip options", TO4(WORLD_CID_VIP4), .ip_options = 40,
		  OPTION(0, 0xb7, 6)),
	BY_OPTION("tcp4 names its server behind a time stamp", TO4(WORLD_CID_VIP4), .dport = 443,
		  .tcp_options = 20,
		  .patches = {{FRAME_AT_L4, 20, 4, 0x0101080a},
			      {FRAME_AT_L4, 32, 4, 0xb706efcd},
			      {FRAME_AT_L4, 36, 2, 0xab89}}),
	UNNAMED("tcp4 names its server within a time stamp", CID, TO4(WORLD_CID_VIP4), .dport = 443,
		.tcp_options = 20,
		.patches = {{FRAME_AT_L4, 20, 4, 0x0101080a},
			    {FRAME_AT_L4, 26, 4, 0xb706efcd},
			    {FRAME_AT_L4, 30, 2, 0xab89}}),
	UNNAMED("tcp4 syn with a server's id", CID, TO4(WORLD_CID_VIP4), OPTION(0, 0xb7, 6),
		.tcp_flags = FRAME_SYN),
	UNNAMED("tcp4 syn-ack with a server's id", CID, TO4(WORLD_CID_VIP4), OPTION(0, 0xb7, 6),
		.tcp_flags = FRAME_SYN | FRAME_ACK),
	UNNAMED("tcp4 server's id too short", CID, TO4(WORLD_CID_VIP4), OPTION(0, 0xb7, 5)),
	UNNAMED("tcp6 server's id too long", CID, TO6(WORLD_CID_VIP6), OPTION(0, 0xb7, 7)),
	UNNAMED("tcp4 another option with the id", CID, TO4(WORLD_CID_VIP4), OPTION(0, 0xb6, 6)),
	UNNAMED("tcp4 server's id behind the end of options", CID, TO4(WORLD_CID_VIP4),
		.dport = 443, .tcp_options = 8,
		.patches = {{FRAME_AT_L4, 20, 4, 0x00b706ef}, {FRAME_AT_L4, 24, 3, 0xcdab89}}),
	UNNAMED("tcp4 server's id in the payload", CID, TO4(WORLD_CID_VIP4), .dport = 443,
		.payload = 20,
		.patches = {{FRAME_AT_L4, 20, 4, 0xb706efcd}, {FRAME_AT_L4, 24, 2, 0xab89}}),
	UNNAMED("tcp4 names its server to a service that does not ask", KATRAN,
		TO4(WORLD_KATRAN_VIP4), OPTION(0, 0xb7, 6)),

/* Cases 4 and 32: an error, at a node without the flow, by what it quotes. */
#define ABOUT443(family, vip, ...) ABOUT(FROM##family(vip, 443), __VA_ARGS__)
	ROW("case 4: icmp4 error about a flow by connection id", UNQUOTED, ICMP, CID, NOBODY,
	    ERROR4(3), .dst = WORLD_CID_VIP4, ABOUT443(4, WORLD_CID_VIP4, .proto = IPPROTO_UDP)),
	ROW("case 4: icmp6 error about a flow by connection id", UNQUOTED, ICMP, KATRAN, NOBODY,
	    ERROR6(2), .dst = WORLD_KATRAN_VIP6,
	    ABOUT443(6, WORLD_KATRAN_VIP6, .proto = IPPROTO_UDP)),
	RELAYED("case 4: icmp6 error about tcp of a service by connection id", CID, CID1, ERROR6(2),
		.dst = WORLD_CID_VIP6, ABOUT443(6, WORLD_CID_VIP6, .payload = 9)),
	ROW("case 32: icmp6 error about a flow by label", UNQUOTED, ICMP, LABEL, NOBODY, ERROR6(3),
	    .dst = WORLD_LABEL_VIP6, ABOUT443(6, WORLD_LABEL_VIP6, .payload = 9)),
	RELAYED("case 32: icmp4 error about a flow by label, which ipv4 has not", LABEL, LABEL1,
		ERROR4(11), .dst = WORLD_LABEL_VIP4, ABOUT443(4, WORLD_LABEL_VIP4, .payload = 9)),
