// SPDX-License-Identifier: BSD-2-Clause
#include "packets.h"

#include <netinet/in.h>

#define TO4(vip) .src = WORLD_CLIENT4, .dst = (vip)
#define TO6(vip) .src = WORLD_CLIENT6, .dst = (vip)

#define ROW(row_name, row_verdict, row_why, row_service, row_backend, ...)                 \
	{                                                                                  \
		.name = row_name, .spec = {__VA_ARGS__}, .verdict = VERDICT_##row_verdict, \
		.why = WHY_##row_why, .service = WORLD_##row_service,                      \
		.backend = WORLD_##row_backend,                                            \
	}
#define TO_B4(name, ...)             ROW(name, FORWARDED, SLOT, ONE4, B4, __VA_ARGS__)
#define TO_B6(name, ...)             ROW(name, FORWARDED, SLOT, ONE6, B6, __VA_ARGS__)
#define NOT_OURS(name, verdict, ...) ROW(name, verdict, NOT_VIP, NONE, NOBODY, __VA_ARGS__)
#define REFUSED(name, verdict, ...)  ROW(name, verdict, MALFORMED, NONE, NOBODY, __VA_ARGS__)
#define PIECE(name, ...)             ROW(name, FRAGMENT, FRAGMENT, NONE, NOBODY, __VA_ARGS__)

#define LIE(layer, offset, size, value) .patches = {{FRAME_AT_##layer, offset, size, value}}
/* By field; the values are those of the wrong header. */
#define LIE_IP4_FIRST(value)  LIE(IP, 0, 1, value)
#define LIE_IP4_LENGTH(value) LIE(IP, 2, 2, value)
#define LIE_IP6_FIRST(value)  LIE(IP, 0, 1, value)
#define LIE_IP6_LENGTH(value) LIE(IP, 4, 2, value)
#define LIE_TCP_OFFSET(words) LIE(L4, 12, 1, (words) << 4)
#define LIE_TCP_FLAGS(value)  LIE(L4, 13, 1, value)
#define LIE_UDP_LENGTH(value) LIE(L4, 4, 2, value)

/* Of WORLD_MODE, which adds `overhead` bytes. */
#define IN(mode, name, ...)         ROW(name, FORWARDED, SLOT, mode, mode##_B, __VA_ARGS__)
#define TOO_BIG_IN(mode, name, ...) ROW(name, TOO_BIG, SLOT, mode, mode##_B, __VA_ARGS__)
#define TO4_OF(mode)                TO4(WORLD_##mode##_VIP4)
#define TO6_OF(mode)                TO6(WORLD_##mode##_VIP6)
#define IN_MODE(mode, name, overhead)                                                              \
	IN(mode, "tcp4 by " name, TO4_OF(mode), .payload = 100),                                   \
		IN(mode, "tcp4 syn by " name, TO4_OF(mode), .tcp_flags = FRAME_SYN,                \
		   .tcp_options = 20),                                                             \
		IN(mode, "tcp4 tos by " name, TO4_OF(mode), .tos = 0xb9, .ttl = 1),                \
		IN(mode, "tcp4 df by " name, TO4_OF(mode), .frag = DONT),                          \
		IN(mode, "tcp4 ip options by " name, TO4_OF(mode), .ip_options = 8, .payload = 3), \
		IN(mode, "tcp4 padded by " name, TO4_OF(mode), .padding = 6),                      \
		IN(mode, "udp4 by " name, TO4_OF(mode), .proto = IPPROTO_UDP, .dport = 53,         \
		   .payload = 33),                                                                 \
		IN(mode, "tcp6 by " name, TO6_OF(mode), .payload = 100),                           \
		IN(mode, "tcp6 class by " name, TO6_OF(mode), .tos = 0xff, .ttl = 1),              \
		IN(mode, "tcp6 padded by " name, TO6_OF(mode), .padding = 2),                      \
		IN(mode, "udp6 by " name, TO6_OF(mode), .proto = IPPROTO_UDP, .dport = 53,         \
		   .payload = 1),                                                                  \
		IN(mode, "tcp4 as long as the path by " name, TO4_OF(mode),                        \
		   .payload = WORLD_MTU - (overhead)-40),                                          \
		IN(mode, "tcp6 as long as the path by " name, TO6_OF(mode),                        \
		   .payload = WORLD_MTU - (overhead)-60),                                          \
		TOO_BIG_IN(mode, "tcp4 a byte too long by " name, TO4_OF(mode),                    \
			   .payload = WORLD_MTU - (overhead)-40 + 1),                              \
		TOO_BIG_IN(mode, "tcp6 a byte too long by " name, TO6_OF(mode),                    \
			   .payload = WORLD_MTU - (overhead)-60 + 1)

enum { MORE = 0x2000, DONT = 0x4000 }; /* IPv4's fragment flags */

/* Payloads of TCP without options for which the outer packet is exactly as long as its path. */
enum {
	FITS_4IN4 = WORLD_MTU - 20 - 20 - 20,
	FITS_6IN4 = WORLD_MTU - 20 - 40 - 20,
	FITS_4IN6 = WORLD_MTU - 40 - 20 - 20,
	FITS_6IN6 = WORLD_MTU - 40 - 40 - 20,
	FITS_SMALL_4IN4 = WORLD_SMALL_MTU - 20 - 20 - 20,
	FITS_SMALL_6IN4 = WORLD_SMALL_MTU - 20 - 40 - 20,
};

const struct packet_row packet_rows[] = {
	/* 4in4: the usual, and every field that the outer header takes over or must not. */
	TO_B4("tcp4 syn", TO4(WORLD_ONE4_VIP4), .tcp_flags = FRAME_SYN, .tcp_options = 20),
	TO_B4("tcp4 ack without data", TO4(WORLD_ONE4_VIP4)),
	TO_B4("tcp4 data", TO4(WORLD_ONE4_VIP4), .payload = 517),
	TO_B4("tcp4 odd payload", TO4(WORLD_ONE4_VIP4), .payload = 1),
	TO_B4("tcp4 fin", TO4(WORLD_ONE4_VIP4), .tcp_flags = FRAME_FIN | FRAME_ACK),
	TO_B4("tcp4 rst", TO4(WORLD_ONE4_VIP4), .tcp_flags = FRAME_RST),
	TO_B4("tcp4 no flags at all", TO4(WORLD_ONE4_VIP4), LIE_TCP_FLAGS(0)),
	TO_B4("tcp4 all flags", TO4(WORLD_ONE4_VIP4), LIE_TCP_FLAGS(0xff)),
	TO_B4("tcp4 most options", TO4(WORLD_ONE4_VIP4), .tcp_options = 40),
	TO_B4("tcp4 first port of a range", TO4(WORLD_ONE4_VIP4), .dport = 8000),
	TO_B4("tcp4 last port of a range", TO4(WORLD_ONE4_VIP4), .dport = 8099),
	TO_B4("tcp4 tos", TO4(WORLD_ONE4_VIP4), .tos = 0xb9),
	TO_B4("tcp4 tos with all bits", TO4(WORLD_ONE4_VIP4), .tos = 0xff),
	TO_B4("tcp4 ttl 1", TO4(WORLD_ONE4_VIP4), .ttl = 1),
	TO_B4("tcp4 df", TO4(WORLD_ONE4_VIP4), .frag = DONT),
	TO_B4("tcp4 reserved flag", TO4(WORLD_ONE4_VIP4), .frag = 0x8000),
	TO_B4("tcp4 padded to 60 bytes", TO4(WORLD_ONE4_VIP4), .padding = 6),
	TO_B4("tcp4 long padding", TO4(WORLD_ONE4_VIP4), .padding = 300),
	TO_B4("tcp4 ip options", TO4(WORLD_ONE4_VIP4), .ip_options = 4),
	TO_B4("tcp4 most ip options", TO4(WORLD_ONE4_VIP4), .ip_options = 40, .payload = 9),
	TO_B4("tcp4 wrong ip checksum", TO4(WORLD_ONE4_VIP4), LIE(IP, 10, 2, 0xbad),
	      .keep_ip_checksum = true),
	TO_B4("tcp4 wrong tcp checksum", TO4(WORLD_ONE4_VIP4), LIE(L4, 16, 2, 0xbad)),
	TO_B4("tcp4 source port 0", TO4(WORLD_ONE4_VIP4), LIE(L4, 0, 2, 0)),
	TO_B4("tcp4 from the vip itself", .src = WORLD_ONE4_VIP4, .dst = WORLD_ONE4_VIP4),
	TO_B4("tcp4 multicast source mac", TO4(WORLD_ONE4_VIP4), LIE(LINK, 6, 1, 0xff)),
	TO_B4("udp4", TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_UDP, .dport = 53, .payload = 33),
	TO_B4("udp4 empty", TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_UDP, .dport = 53),
	TO_B4("udp4 without checksum", TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_UDP, .dport = 53,
	      .payload = 8, LIE(L4, 6, 2, 0)),
	TO_B4("udp4 shorter than its packet", TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_UDP,
	      .dport = 53, .payload = 8, LIE_UDP_LENGTH(12)),
	TO_B4("udp4 padded", TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_UDP, .dport = 53,
	      .padding = 18),
	TO_B4("tcp4 as long as the path", TO4(WORLD_ONE4_VIP4), .payload = FITS_4IN4),
	TO_B4("tcp4 as long as the path, padded", TO4(WORLD_ONE4_VIP4), .payload = FITS_4IN4,
	      .padding = 4),
	ROW("tcp4 other service of the vip", FORWARDED, SLOT, LOOSE, L1, TO4(WORLD_ONE4_VIP4),
	    .dport = 9000),

	/* 6in4 */
	TO_B4("tcp6 syn over ipv4", TO6(WORLD_ONE4_VIP6), .tcp_flags = FRAME_SYN,
	      .tcp_options = 20),
	TO_B4("tcp6 class over ipv4", TO6(WORLD_ONE4_VIP6), .tos = 0xb9, .payload = 3),
	TO_B4("udp6 over ipv4", TO6(WORLD_ONE4_VIP6), .proto = IPPROTO_UDP, .dport = 53,
	      .payload = 40),
	TO_B4("tcp6 padded over ipv4", TO6(WORLD_ONE4_VIP6), .padding = 2),
	TO_B4("tcp6 as long as the path over ipv4", TO6(WORLD_ONE4_VIP6), .payload = FITS_6IN4),
	ROW("tcp6 other service of the vip", FORWARDED, SLOT, LOOSE, L1, TO6(WORLD_ONE4_VIP6),
	    .dport = 9000),

	/* 4in6 */
	TO_B6("tcp4 over ipv6", TO4(WORLD_ONE6_VIP4), .payload = 100),
	TO_B6("tcp4 tos over ipv6", TO4(WORLD_ONE6_VIP4), .tos = 0x47),
	TO_B6("tcp4 ip options over ipv6", TO4(WORLD_ONE6_VIP4), .ip_options = 8),
	TO_B6("tcp4 padded over ipv6", TO4(WORLD_ONE6_VIP4), .padding = 6),
	TO_B6("udp4 over ipv6", TO4(WORLD_ONE6_VIP4), .proto = IPPROTO_UDP, .dport = 443,
	      .payload = 1200),
	TO_B6("tcp4 as long as the path over ipv6", TO4(WORLD_ONE6_VIP4), .payload = FITS_4IN6),

	/* 6in6 */
	TO_B6("tcp6 syn", TO6(WORLD_ONE6_VIP6), .tcp_flags = FRAME_SYN, .tcp_options = 20),
	TO_B6("tcp6 class with all bits", TO6(WORLD_ONE6_VIP6), .tos = 0xff),
	TO_B6("tcp6 hop limit 1", TO6(WORLD_ONE6_VIP6), .ttl = 1),
	TO_B6("tcp6 flow label of ones", TO6(WORLD_ONE6_VIP6), LIE(IP, 1, 3, 0x0fffff)),
	TO_B6("tcp6 padded", TO6(WORLD_ONE6_VIP6), .padding = 2),
	TO_B6("udp6", TO6(WORLD_ONE6_VIP6), .proto = IPPROTO_UDP, .dport = 443, .payload = 1200),
	TO_B6("tcp6 as long as the path", TO6(WORLD_ONE6_VIP6), .payload = FITS_6IN6),

	/* Modes other than IP in IP: by outer family, inner family, and to the byte of the size. */
	IN_MODE(GRE4, "gre over ipv4", 20 + 4),
	IN_MODE(GRE6, "gre over ipv6", 40 + 4),
	IN_MODE(GUE4, "gue over ipv4", 20 + 8),
	IN_MODE(GUE6, "gue over ipv6", 40 + 8),
	IN_MODE(LINK4, "l2dsr", 0),
	IN_MODE(LINK6, "l2dsr to an ipv6 backend", 0),
	ROW("tcp4 by l2dsr to a backend behind a router", NO_NEIGHBOR, SLOT, FAR, FAR_B,
	    TO4_OF(FAR)),
	ROW("tcp6 by l2dsr to a backend behind a router", NO_NEIGHBOR, SLOT, FAR, FAR_B,
	    TO6_OF(FAR)),

	/* Not ours: to the host, untouched. */
	NOT_OURS("arp", NOT_IP, .payload = 46),
	NOT_OURS("bare ethernet header", NOT_IP, .payload = 0),
	NOT_OURS("tagged ipv4 for a vip", NOT_IP, TO4(WORLD_ONE4_VIP4), .vlans = 1),
	NOT_OURS("twice tagged ipv6 for a vip", NOT_IP, TO6(WORLD_ONE6_VIP6), .vlans = 2),
	NOT_OURS("length in place of a type", NOT_IP, TO4(WORLD_ONE4_VIP4), .ethertype = 40),
	NOT_OURS("mpls", NOT_IP, TO4(WORLD_ONE4_VIP4), .ethertype = 0x8847),
	NOT_OURS("tcp4 elsewhere", NOT_VIP, TO4("198.51.100.11")),
	NOT_OURS("tcp6 elsewhere", NOT_VIP, TO6("2001:db8:10::11")),
	NOT_OURS("tcp4 to broadcast", NOT_VIP, TO4("255.255.255.255")),
	NOT_OURS("tcp4 to nowhere", NOT_VIP, TO4("0.0.0.0")),
	NOT_OURS("tcp6 to ::", NOT_VIP, TO6("::")),
	NOT_OURS("tcp6 to the ipv4-mapped form of a vip", NOT_VIP, TO6("::"),
		 .patches = {{FRAME_AT_IP, 34, 2, 0xffff}, {FRAME_AT_IP, 36, 4, 0xc633640a}}),
	NOT_OURS("icmp6 neighbour solicitation", NOT_VIP, TO6("ff02::1:ff00:10"),
		 .proto = IPPROTO_ICMPV6, .icmp_type = 135, .payload = 16),
	NOT_OURS("tcp6 port that nobody listens on", NOT_LISTENED, TO6(WORLD_ONE4_VIP6),
		 .dport = 22, .payload = 4),
	NOT_OURS("fragment elsewhere", NOT_VIP, TO4("198.51.100.11"), .frag = MORE),
	NOT_OURS("later fragment elsewhere", NOT_VIP, TO6("2001:db8:10::11"),
		 .extensions = {FRAME_EXT_FRAGMENT}, .frag = 4 << 3, .payload = 32),
	NOT_OURS("icmp4 echo elsewhere", NOT_VIP, TO4("198.51.100.11"), .proto = IPPROTO_ICMP,
		 .payload = 56),
	NOT_OURS("icmp6 echo elsewhere", NOT_VIP, TO6("2001:db8:10::11"), .proto = IPPROTO_ICMPV6,
		 .payload = 56),
	NOT_OURS("tcp4 ip options elsewhere", NOT_VIP, TO4("198.51.100.11"), .ip_options = 40),
	NOT_OURS("tcp6 behind hop-by-hop options elsewhere", NOT_VIP, TO6("2001:db8:10::11"),
		 .extensions = {FRAME_EXT_HOP}),
	NOT_OURS("gre4 elsewhere", NOT_VIP, TO4("198.51.100.11"), .proto = IPPROTO_GRE,
		 .payload = 40),
	NOT_OURS("truncated tcp4 elsewhere", NOT_VIP, TO4("198.51.100.11"), LIE_IP4_LENGTH(24)),
	NOT_OURS("tcp4 port below a range", NOT_LISTENED, TO4(WORLD_ONE4_VIP4), .dport = 7999),
	NOT_OURS("tcp4 port above a range", NOT_LISTENED, TO4(WORLD_ONE4_VIP4), .dport = 8100),
	NOT_OURS("tcp4 port 0", NOT_LISTENED, TO4(WORLD_ONE4_VIP4), LIE(L4, 2, 2, 0)),
	NOT_OURS("tcp4 port 65535", NOT_LISTENED, TO4(WORLD_ONE4_VIP4), .dport = 65535),
	NOT_OURS("tcp4 on udp's port", NOT_LISTENED, TO4(WORLD_ONE4_VIP4), .dport = 53),
	NOT_OURS("udp4 on tcp's port", NOT_LISTENED, TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_UDP),
	NOT_OURS("udp6 on tcp's port", NOT_LISTENED, TO6(WORLD_ONE6_VIP6), .proto = IPPROTO_UDP),

	/* For a VIP, but nothing that this version balances. */
	ROW("icmp4 echo", OTHER_PROTOCOL, ICMP, NONE, NOBODY, TO4(WORLD_ONE4_VIP4),
	    .proto = IPPROTO_ICMP, .payload = 56),
	ROW("icmp4 unreachable", OTHER_PROTOCOL, ICMP, NONE, NOBODY, TO4(WORLD_ONE4_VIP4),
	    .proto = IPPROTO_ICMP, .icmp_type = 3, .payload = 28),
	ROW("icmp6 echo", OTHER_PROTOCOL, ICMP, NONE, NOBODY, TO6(WORLD_ONE6_VIP6),
	    .proto = IPPROTO_ICMPV6, .payload = 56),
	ROW("icmp6 too big", OTHER_PROTOCOL, ICMP, NONE, NOBODY, TO6(WORLD_ONE6_VIP6),
	    .proto = IPPROTO_ICMPV6, .icmp_type = 2, .payload = 48),
	NOT_OURS("gre4", OTHER_PROTOCOL, TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_GRE, .payload = 40),
	NOT_OURS("ipip4", OTHER_PROTOCOL, TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_IPIP,
		 .payload = 40),
	NOT_OURS("sctp4", OTHER_PROTOCOL, TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_SCTP,
		 .payload = 40),
	NOT_OURS("protocol 255 without data", OTHER_PROTOCOL, TO4(WORLD_ONE4_VIP4), .proto = 255),
	NOT_OURS("esp6", OTHER_PROTOCOL, TO6(WORLD_ONE6_VIP6), .proto = IPPROTO_ESP, .payload = 40),
	NOT_OURS("no next header", OTHER_PROTOCOL, TO6(WORLD_ONE6_VIP6), .proto = IPPROTO_NONE),
	NOT_OURS("tcp6 behind hop-by-hop options", OTHER_PROTOCOL, TO6(WORLD_ONE6_VIP6),
		 .extensions = {FRAME_EXT_HOP}),
	NOT_OURS("tcp6 behind a routing header", OTHER_PROTOCOL, TO6(WORLD_ONE6_VIP6),
		 .extensions = {FRAME_EXT_ROUTING}),
	NOT_OURS("udp6 behind destination options", OTHER_PROTOCOL, TO6(WORLD_ONE6_VIP6),
		 .proto = IPPROTO_UDP, .dport = 443, .extensions = {FRAME_EXT_DESTINATION}),
	NOT_OURS("tcp6 behind four extension headers", OTHER_PROTOCOL, TO6(WORLD_ONE6_VIP6),
		 .extensions = {FRAME_EXT_HOP, FRAME_EXT_DESTINATION, FRAME_EXT_ROUTING,
				FRAME_EXT_FRAGMENT}),
	PIECE("tcp4 first fragment", TO4(WORLD_ONE4_VIP4), .frag = MORE, .payload = 32),
	PIECE("udp4 last fragment", TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_UDP, .dport = 53,
	      .frag = 4, .payload = 8),
	PIECE("udp4 middle fragment, df", TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_UDP, .dport = 53,
	      .frag = MORE | DONT | 0x1fff, .payload = 8),
	PIECE("tcp6 first fragment", TO6(WORLD_ONE6_VIP6), .extensions = {FRAME_EXT_FRAGMENT},
	      .frag = 1, .payload = 32),
	PIECE("udp6 later fragment", TO6(WORLD_ONE6_VIP6), .proto = IPPROTO_UDP, .dport = 443,
	      .extensions = {FRAME_EXT_FRAGMENT}, .frag = 4 << 3, .payload = 32),
	PIECE("tcp6 atomic fragment", TO6(WORLD_ONE6_VIP6), .extensions = {FRAME_EXT_FRAGMENT}),

	/* An IP header that is cut short or contradicts itself: passed, whatever its address. */
	REFUSED("ip4 version 6", MALFORMED, TO4(WORLD_ONE4_VIP4), LIE_IP4_FIRST(0x65)),
	REFUSED("ip4 version 0", MALFORMED, TO4(WORLD_ONE4_VIP4), LIE_IP4_FIRST(0x05)),
	REFUSED("ip4 header of 16 bytes", MALFORMED, TO4(WORLD_ONE4_VIP4), LIE_IP4_FIRST(0x44)),
	REFUSED("ip4 header of 0 bytes", MALFORMED, TO4(WORLD_ONE4_VIP4), LIE_IP4_FIRST(0x40)),
	REFUSED("ip4 header longer than its packet", MALFORMED, TO4(WORLD_ONE4_VIP4),
		LIE_IP4_FIRST(0x4f)),
	REFUSED("ip4 total length 0", MALFORMED, TO4(WORLD_ONE4_VIP4), LIE_IP4_LENGTH(0)),
	REFUSED("ip4 total length below the header", MALFORMED, TO4(WORLD_ONE4_VIP4),
		LIE_IP4_LENGTH(19)),
	REFUSED("ip4 total length beyond the frame", MALFORMED, TO4(WORLD_ONE4_VIP4),
		LIE_IP4_LENGTH(41)),
	REFUSED("ip4 total length 65535", MALFORMED, TO4(WORLD_ONE4_VIP4), LIE_IP4_LENGTH(65535)),
	REFUSED("ip4 last byte missing", MALFORMED, TO4(WORLD_ONE4_VIP4), .payload = 10, .cut = 1),
	REFUSED("ip4 header cut", MALFORMED, TO4(WORLD_ONE4_VIP4), .cut = 21),
	REFUSED("ip4 nothing after ethernet", MALFORMED, TO4(WORLD_ONE4_VIP4), .cut = 40),
	REFUSED("ip6 as ipv4", MALFORMED, TO6(WORLD_ONE6_VIP6), .ethertype = 0x0800),
	REFUSED("ip4 as ipv6", MALFORMED, TO4(WORLD_ONE4_VIP4), .ethertype = 0x86dd),
	REFUSED("ip6 version 4", MALFORMED, TO6(WORLD_ONE6_VIP6), LIE_IP6_FIRST(0x40)),
	REFUSED("ip6 payload beyond the frame", MALFORMED, TO6(WORLD_ONE6_VIP6),
		LIE_IP6_LENGTH(21)),
	REFUSED("ip6 payload 65535", MALFORMED, TO6(WORLD_ONE6_VIP6), LIE_IP6_LENGTH(65535)),
	REFUSED("ip6 header cut", MALFORMED, TO6(WORLD_ONE6_VIP6), .cut = 21),
	REFUSED("ip6 last byte missing", MALFORMED, TO6(WORLD_ONE6_VIP6), .payload = 10, .cut = 1),

	/* For a VIP, with a transport header that cannot be. */
	REFUSED("tcp4 ends before its ports", TRUNCATED, TO4(WORLD_ONE4_VIP4), LIE_IP4_LENGTH(20)),
	REFUSED("tcp4 ends after its ports", TRUNCATED, TO4(WORLD_ONE4_VIP4), LIE_IP4_LENGTH(24)),
	REFUSED("tcp4 a byte short of a header", TRUNCATED, TO4(WORLD_ONE4_VIP4),
		LIE_IP4_LENGTH(39)),
	REFUSED("tcp4 data offset 0", TRUNCATED, TO4(WORLD_ONE4_VIP4), LIE_TCP_OFFSET(0)),
	REFUSED("tcp4 data offset 4", TRUNCATED, TO4(WORLD_ONE4_VIP4), LIE_TCP_OFFSET(4)),
	REFUSED("tcp4 options beyond the packet", TRUNCATED, TO4(WORLD_ONE4_VIP4),
		LIE_TCP_OFFSET(6)),
	REFUSED("tcp4 options in the padding", TRUNCATED, TO4(WORLD_ONE4_VIP4), LIE_TCP_OFFSET(6),
		.padding = 40),
	REFUSED("tcp4 hidden by ip options", TRUNCATED, TO4(WORLD_ONE4_VIP4), LIE_IP4_FIRST(0x4a)),
	REFUSED("udp4 ends before its length", TRUNCATED, TO4(WORLD_ONE4_VIP4),
		.proto = IPPROTO_UDP, .dport = 53, .payload = 9, LIE_IP4_LENGTH(24)),
	REFUSED("udp4 length 0", TRUNCATED, TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_UDP, .dport = 53,
		LIE_UDP_LENGTH(0)),
	REFUSED("udp4 length 7", TRUNCATED, TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_UDP, .dport = 53,
		LIE_UDP_LENGTH(7)),
	REFUSED("udp4 length beyond the packet", TRUNCATED, TO4(WORLD_ONE4_VIP4),
		.proto = IPPROTO_UDP, .dport = 53, .payload = 4, LIE_UDP_LENGTH(13)),
	REFUSED("tcp6 payload length 0", TRUNCATED, TO6(WORLD_ONE6_VIP6), LIE_IP6_LENGTH(0)),
	REFUSED("tcp6 a byte short of a header", TRUNCATED, TO6(WORLD_ONE6_VIP6),
		LIE_IP6_LENGTH(19)),
	REFUSED("tcp6 data offset 4", TRUNCATED, TO6(WORLD_ONE6_VIP6), LIE_TCP_OFFSET(4)),
	REFUSED("tcp6 data offset 15", TRUNCATED, TO6(WORLD_ONE6_VIP6), LIE_TCP_OFFSET(15)),
	REFUSED("udp6 length 65535", TRUNCATED, TO6(WORLD_ONE6_VIP6), .proto = IPPROTO_UDP,
		.dport = 443, LIE_UDP_LENGTH(65535)),

	/* Ours, and cannot leave. */
	ROW("tcp4 no backend", EMPTY, EMPTY, EMPTY, NOBODY, TO4(WORLD_EMPTY_VIP4)),
	ROW("tcp4 syn, no backend", EMPTY, EMPTY, EMPTY, NOBODY, TO4(WORLD_EMPTY_VIP4),
	    .tcp_flags = FRAME_SYN),
	ROW("tcp6 no backend", EMPTY, EMPTY, EMPTY, NOBODY, TO6(WORLD_EMPTY_VIP6)),
	ROW("tcp4 no table", EMPTY, EMPTY, BARE, NOBODY, TO4(WORLD_BARE_VIP4)),
	ROW("tcp4 no next hop", NO_NEIGHBOR, SLOT, LOST, LOST1, TO4(WORLD_LOST_VIP4)),
	ROW("tcp6 no next hop", NO_NEIGHBOR, SLOT, LOST, LOST1, TO6(WORLD_LOST_VIP6)),
	ROW("tcp4 a byte too long", TOO_BIG, SLOT, ONE4, B4, TO4(WORLD_ONE4_VIP4),
	    .payload = FITS_4IN4 + 1),
	ROW("tcp6 a byte too long over ipv4", TOO_BIG, SLOT, ONE4, B4, TO6(WORLD_ONE4_VIP6),
	    .payload = FITS_6IN4 + 1),
	ROW("tcp4 a byte too long over ipv6", TOO_BIG, SLOT, ONE6, B6, TO4(WORLD_ONE6_VIP4),
	    .payload = FITS_4IN6 + 1),
	ROW("tcp6 a byte too long", TOO_BIG, SLOT, ONE6, B6, TO6(WORLD_ONE6_VIP6),
	    .payload = FITS_6IN6 + 1),
	ROW("tcp4 full size, df", TOO_BIG, SLOT, ONE4, B4, TO4(WORLD_ONE4_VIP4), .frag = DONT,
	    .payload = WORLD_MTU - 40),
	ROW("tcp4 far too long", TOO_BIG, SLOT, ONE4, B4, TO4(WORLD_ONE4_VIP4), .payload = 3000),
	ROW("tcp4 a byte too long for a small path", TOO_BIG, SLOT, SMALL, SMALL1,
	    TO4(WORLD_SMALL_VIP4), .payload = FITS_SMALL_4IN4 + 1),
	ROW("tcp4 as long as a small path", FORWARDED, SLOT, SMALL, SMALL1, TO4(WORLD_SMALL_VIP4),
	    .payload = FITS_SMALL_4IN4),
	ROW("tcp6 as long as a small path", FORWARDED, SLOT, SMALL, SMALL1, TO6(WORLD_SMALL_VIP6),
	    .payload = FITS_SMALL_6IN4),

	/* Out at another interface. */
	ROW("tcp4 redirected", REDIRECTED, SLOT, AWAY, AWAY1, TO4(WORLD_AWAY_VIP4), .payload = 50),
	ROW("tcp6 redirected", REDIRECTED, SLOT, AWAY, AWAY1, TO6(WORLD_AWAY_VIP6), .payload = 50),
};

const size_t packet_row_count = sizeof(packet_rows) / sizeof(packet_rows[0]);

void packets_build_many(bool ipv6, uint16_t sport, uint8_t tcp_flags, struct frame *ret)
{
	struct frame_spec spec = {
		.src = ipv6 ? WORLD_CLIENT6 : WORLD_CLIENT4,
		.dst = ipv6 ? WORLD_MANY_VIP6 : WORLD_MANY_VIP4,
		.sport = sport,
		.dport = 443,
		.tcp_flags = tcp_flags,
	};

	frame_build(&spec, ret);
}
