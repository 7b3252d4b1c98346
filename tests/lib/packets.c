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

#define PORTS(port)      .sport = (port), .dport = 40000
#define FROM4(vip, port) .src = (vip), .dst = WORLD_CLIENT4, PORTS(port)
#define FROM6(vip, port) .src = (vip), .dst = WORLD_CLIENT6, PORTS(port)
#define ABOUT(...)                          \
	.quote = &(const struct frame_spec) \
	{                                   \
		__VA_ARGS__                 \
	}
#define ICMP4(number)  .proto = IPPROTO_ICMP, .icmp_type = (number)
#define ICMP6(number)  .proto = IPPROTO_ICMPV6, .icmp_type = (number)
#define ERROR4(number) .src = WORLD_ROUTER4, ICMP4(number)
#define ERROR6(number) .src = WORLD_ROUTER6, ICMP6(number)

#define RELAYED(name, service, backend, ...) \
	ROW(name, FORWARDED, ICMP, service, backend, __VA_ARGS__)
#define UNRELAYED(name, ...)  ROW(name, OTHER_PROTOCOL, ICMP, NONE, NOBODY, __VA_ARGS__)
#define ERROR_TO_ONE4(number) ERROR4(number), .dst = WORLD_ONE4_VIP4
#define ERROR_TO_ONE6(number) ERROR6(number), .dst = WORLD_ONE6_VIP6
#define BEHIND(...)           .extensions = {__VA_ARGS__}
#define HOP                   FRAME_EXT_HOP
#define ROUTING               FRAME_EXT_ROUTING
#define OPTIONS               FRAME_EXT_DESTINATION
#define SPLIT                 FRAME_EXT_FRAGMENT
#define BEYOND(name, ...)     ROW(name, EXTENSIONS, LIMIT, NONE, NOBODY, __VA_ARGS__)

#define TWICE_8021Q .vlans = 2, LIE(LINK, 12, 2, 0x8100)

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

	/* Not ours: to the host, untouched. */
	NOT_OURS("arp", NOT_IP, .payload = 46),
	NOT_OURS("bare ethernet header", NOT_IP, .payload = 0),
	NOT_OURS("tcp4 three times tagged", NOT_IP, TO4(WORLD_ONE4_VIP4), .vlans = 3),
	NOT_OURS("tcp4 in a service tag alone", NOT_IP, TO4(WORLD_ONE4_VIP4), .vlans = 1,
		 LIE(LINK, 12, 2, 0x88a8)),
	NOT_OURS("tcp4 in two service tags", NOT_IP, TO4(WORLD_ONE4_VIP4), .vlans = 2,
		 LIE(LINK, 16, 2, 0x88a8)),
	NOT_OURS("tagged arp", NOT_IP, .payload = 46, .vlans = 1),
	NOT_OURS("tagged, and nothing in it", NOT_IP, .payload = 0, .vlans = 2),
	NOT_OURS("tcp4 tagged elsewhere", NOT_VIP, TO4("198.51.100.11"), .vlans = 1),
	NOT_OURS("tcp6 twice tagged elsewhere", NOT_VIP, TO6("2001:db8:10::11"), .vlans = 2),
	NOT_OURS("tcp4 tagged, a port that nobody listens on", NOT_LISTENED, TO4(WORLD_ONE4_VIP4),
		 .vlans = 1, .dport = 22),
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
	ROW("icmp4 unreachable about nothing", OTHER_PROTOCOL, ICMP, NONE, NOBODY,
	    TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_ICMP, .icmp_type = 3, .payload = 28),
	ROW("icmp6 echo", OTHER_PROTOCOL, ICMP, NONE, NOBODY, TO6(WORLD_ONE6_VIP6),
	    .proto = IPPROTO_ICMPV6, .payload = 56),
	ROW("icmp6 too big about nothing", OTHER_PROTOCOL, ICMP, NONE, NOBODY, TO6(WORLD_ONE6_VIP6),
	    .proto = IPPROTO_ICMPV6, .icmp_type = 2, .payload = 48),
	NOT_OURS("gre4", OTHER_PROTOCOL, TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_GRE, .payload = 40),
	NOT_OURS("ipip4", OTHER_PROTOCOL, TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_IPIP,
		 .payload = 40),
	NOT_OURS("sctp4", OTHER_PROTOCOL, TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_SCTP,
		 .payload = 40),
	NOT_OURS("protocol 255 without data", OTHER_PROTOCOL, TO4(WORLD_ONE4_VIP4), .proto = 255),
	NOT_OURS("esp6", OTHER_PROTOCOL, TO6(WORLD_ONE6_VIP6), .proto = IPPROTO_ESP, .payload = 40),
	NOT_OURS("no next header", OTHER_PROTOCOL, TO6(WORLD_ONE6_VIP6), .proto = IPPROTO_NONE),
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

	/* IPv6 extension headers: what can be looked through goes along whole. */
	TO_B6("tcp6 behind hop-by-hop options", TO6(WORLD_ONE6_VIP6), BEHIND(HOP), .payload = 20),
	TO_B6("tcp6 behind a routing header", TO6(WORLD_ONE6_VIP6), BEHIND(ROUTING)),
	TO_B6("udp6 behind destination options", TO6(WORLD_ONE6_VIP6), .proto = IPPROTO_UDP,
	      .dport = 443, BEHIND(OPTIONS), .payload = 7),
	TO_B4("tcp6 behind options over ipv4", TO6(WORLD_ONE4_VIP6), BEHIND(HOP, OPTIONS)),
	TO_B6("tcp6 behind four extension headers", TO6(WORLD_ONE6_VIP6),
	      BEHIND(HOP, OPTIONS, ROUTING, OPTIONS), .payload = 5),
	TO_B6("tcp6 syn behind options, padded", TO6(WORLD_ONE6_VIP6), BEHIND(OPTIONS),
	      .tcp_flags = FRAME_SYN, .padding = 30),
	TO_B6("tcp6 behind options of 16 bytes", TO6(WORLD_ONE6_VIP6), BEHIND(OPTIONS, OPTIONS),
	      .patches = {{FRAME_AT_IP, 40, 1, IPPROTO_TCP}, {FRAME_AT_IP, 41, 1, 1}}),
	ROW("tcp6 behind options, other service", FORWARDED, SLOT, LOOSE, L1, TO6(WORLD_ONE4_VIP6),
	    BEHIND(OPTIONS), .dport = 9000),
	ROW("tcp6 behind options, a byte too long", TOO_BIG, SLOT, ONE6, B6, TO6(WORLD_ONE6_VIP6),
	    BEHIND(OPTIONS), .payload = FITS_6IN6 - 7),
	NOT_OURS("tcp6 behind options, a port that nobody listens on", NOT_LISTENED,
		 TO6(WORLD_ONE6_VIP6), BEHIND(OPTIONS), .dport = 22),
	NOT_OURS("tcp6 behind options elsewhere", NOT_VIP, TO6("2001:db8:10::11"), BEHIND(OPTIONS)),
	NOT_OURS("esp6 behind options", OTHER_PROTOCOL, TO6(WORLD_ONE6_VIP6), BEHIND(OPTIONS),
		 .proto = IPPROTO_ESP, .payload = 40),
	NOT_OURS("nothing behind options", OTHER_PROTOCOL, TO6(WORLD_ONE6_VIP6), BEHIND(OPTIONS),
		 .proto = IPPROTO_NONE),
	UNRELAYED("icmp6 echo behind options", TO6(WORLD_ONE6_VIP6), BEHIND(HOP), ICMP6(128)),
	RELAYED("icmp6 error behind options", ONE6, B6, ERROR_TO_ONE6(2), BEHIND(OPTIONS),
		ABOUT(FROM6(WORLD_ONE6_VIP6, 80), .payload = 100)),
	RELAYED("icmp6 error about a packet with options", ONE6, B6, ERROR_TO_ONE6(2),
		ABOUT(FROM6(WORLD_ONE6_VIP6, 80), BEHIND(HOP, OPTIONS), .payload = 100)),
	RELAYED("icmp6 error about a first fragment", ONE6, B6, ERROR_TO_ONE6(3),
		ABOUT(FROM6(WORLD_ONE6_VIP6, 443), .proto = IPPROTO_UDP, BEHIND(SPLIT), .frag = 1,
		      .payload = 100)),
	UNRELAYED("icmp6 error about a later fragment", ERROR_TO_ONE6(3),
		  ABOUT(FROM6(WORLD_ONE6_VIP6, 443), .proto = IPPROTO_UDP, BEHIND(SPLIT),
			.frag = 4 << 3, .payload = 100)),
	UNRELAYED(
		"icmp6 error that quotes too many headers", ERROR_TO_ONE6(2),
		ABOUT(FROM6(WORLD_ONE6_VIP6, 80), BEHIND(HOP, OPTIONS, ROUTING, OPTIONS, OPTIONS))),
	UNRELAYED("icmp6 error that quotes half an extension header", ERROR_TO_ONE6(2),
		  ABOUT(FROM6(WORLD_ONE6_VIP6, 80), BEHIND(OPTIONS)), .quote_length = 44,
		  .padding = 20),
	PIECE("tcp6 fragment behind three headers", TO6(WORLD_ONE6_VIP6),
	      BEHIND(HOP, OPTIONS, ROUTING, SPLIT), .frag = 1),
	PIECE("udp6 later fragment behind options", TO6(WORLD_ONE6_VIP6), .proto = IPPROTO_UDP,
	      .dport = 443, BEHIND(HOP, SPLIT), .frag = 4 << 3, .payload = 32),
	BEYOND("tcp6 behind five extension headers", TO6(WORLD_ONE6_VIP6),
	       BEHIND(HOP, OPTIONS, ROUTING, OPTIONS, OPTIONS)),
	BEYOND("tcp6 behind a routing header with a segment left", TO6(WORLD_ONE6_VIP6),
	       BEHIND(ROUTING), LIE(IP, 43, 1, 1)),
	BEYOND("tcp6 behind late hop-by-hop options", TO6(WORLD_ONE6_VIP6), BEHIND(OPTIONS, HOP)),
	BEYOND("tcp6 behind 1024 bytes of options", TO6(WORLD_ONE6_VIP6), BEHIND(OPTIONS),
	       LIE(IP, 41, 1, 127), .payload = 1100),
	REFUSED("tcp6 options beyond the packet", TRUNCATED, TO6(WORLD_ONE6_VIP6), BEHIND(OPTIONS),
		LIE(IP, 41, 1, 3)),
	REFUSED("tcp6 options in the padding", TRUNCATED, TO6(WORLD_ONE6_VIP6), BEHIND(OPTIONS),
		LIE(IP, 41, 1, 3), .padding = 100),
	REFUSED("tcp6 nothing where options should be", TRUNCATED, TO6(WORLD_ONE6_VIP6),
		BEHIND(OPTIONS), LIE_IP6_LENGTH(0)),
	REFUSED("tcp6 behind options, a byte short", TRUNCATED, TO6(WORLD_ONE6_VIP6),
		BEHIND(OPTIONS), LIE_IP6_LENGTH(27)),
	REFUSED("udp6 behind options, length beyond the packet", TRUNCATED, TO6(WORLD_ONE6_VIP6),
		.proto = IPPROTO_UDP, .dport = 443, BEHIND(OPTIONS), LIE_UDP_LENGTH(9)),

	/* VLAN tags: they go along as they came, and are not looked at. */
	TO_B4("tcp4 tagged", TO4(WORLD_ONE4_VIP4), .vlans = 1, .payload = 20),
	TO_B4("tcp4 tagged with all bits", TO4(WORLD_ONE4_VIP4), .vlans = 1,
	      LIE(LINK, 14, 2, 0xffff)),
	TO_B4("tcp4 with a priority tag", TO4(WORLD_ONE4_VIP4), .vlans = 1,
	      LIE(LINK, 14, 2, 0xe000)),
	TO_B4("tcp4 twice tagged", TO4(WORLD_ONE4_VIP4), .vlans = 2),
	TO_B4("tcp4 twice tagged by 802.1q", TO4(WORLD_ONE4_VIP4), TWICE_8021Q, .payload = 5),
	TO_B4("tcp4 tagged and padded", TO4(WORLD_ONE4_VIP4), .vlans = 1, .padding = 2),
	TO_B4("tcp4 tagged, ip options", TO4(WORLD_ONE4_VIP4), .vlans = 2, .ip_options = 40),
	TO_B4("tcp4 tagged, as long as the path", TO4(WORLD_ONE4_VIP4), .vlans = 1,
	      .payload = FITS_4IN4),
	TO_B4("udp6 tagged over ipv4", TO6(WORLD_ONE4_VIP6), .proto = IPPROTO_UDP, .dport = 53,
	      .vlans = 1, .payload = 9),
	TO_B6("tcp4 tagged over ipv6", TO4(WORLD_ONE6_VIP4), .vlans = 1),
	TO_B6("tcp6 twice tagged", TO6(WORLD_ONE6_VIP6), .vlans = 2, .payload = 30),
	TO_B6("tcp6 tagged, behind options", TO6(WORLD_ONE6_VIP6), .vlans = 1, BEHIND(HOP)),
	RELAYED("icmp6 error, tagged", ONE6, B6, ERROR_TO_ONE6(2), .vlans = 1,
		ABOUT(FROM6(WORLD_ONE6_VIP6, 80), .payload = 100)),
	UNRELAYED("icmp4 echo, tagged", TO4(WORLD_ONE4_VIP4), ICMP4(8), .vlans = 2, .payload = 56),
	PIECE("udp4 last fragment, tagged", TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_UDP, .dport = 53,
	      .vlans = 1, .frag = 4, .payload = 8),
	ROW("tcp4 tagged, redirected", REDIRECTED, SLOT, AWAY, AWAY1, TO4(WORLD_AWAY_VIP4),
	    .vlans = 1, .payload = 50),
	ROW("tcp6 twice tagged, redirected", REDIRECTED, SLOT, AWAY, AWAY1, TO6(WORLD_AWAY_VIP6),
	    .vlans = 2),
	ROW("tcp4 tagged, no backend", EMPTY, EMPTY, EMPTY, NOBODY, TO4(WORLD_EMPTY_VIP4),
	    .vlans = 1),
	ROW("tcp6 tagged, no next hop", NO_NEIGHBOR, SLOT, LOST, LOST1, TO6(WORLD_LOST_VIP6),
	    .vlans = 2),
	ROW("tcp4 tagged, a byte too long", TOO_BIG, SLOT, ONE4, B4, TO4(WORLD_ONE4_VIP4),
	    .vlans = 1, .payload = FITS_4IN4 + 1),
	REFUSED("tcp4 tagged, ends after its ports", TRUNCATED, TO4(WORLD_ONE4_VIP4), .vlans = 1,
		LIE_IP4_LENGTH(24)),
	REFUSED("ip6 twice tagged, last byte missing", MALFORMED, TO6(WORLD_ONE6_VIP6), .vlans = 2,
		.payload = 10, .cut = 1),

	/* ICMP errors: to the backend of the flow that they quote. */
	RELAYED("icmp4 too big about tcp", ONE4, B4, ERROR_TO_ONE4(3), LIE(L4, 1, 1, 4),
		ABOUT(FROM4(WORLD_ONE4_VIP4, 80), .frag = DONT, .payload = 200)),
	RELAYED("icmp4 unreachable about udp", ONE4, B4, ERROR_TO_ONE4(3),
		ABOUT(FROM4(WORLD_ONE4_VIP4, 53), .proto = IPPROTO_UDP, .payload = 20)),
	RELAYED("icmp4 time exceeded", ONE4, B4, ERROR_TO_ONE4(11),
		ABOUT(FROM4(WORLD_ONE4_VIP4, 80))),
	RELAYED("icmp4 parameter problem", ONE4, B4, ERROR_TO_ONE4(12),
		ABOUT(FROM4(WORLD_ONE4_VIP4, 80))),
	RELAYED("icmp4 error that quotes eight bytes", ONE4, B4, ERROR_TO_ONE4(3),
		ABOUT(FROM4(WORLD_ONE4_VIP4, 80)), .quote_length = 28),
	RELAYED("icmp4 error that quotes no more than ports", ONE4, B4, ERROR_TO_ONE4(3),
		ABOUT(FROM4(WORLD_ONE4_VIP4, 80)), .quote_length = 24),
	RELAYED("icmp4 error, padded", ONE4, B4, ERROR_TO_ONE4(3),
		ABOUT(FROM4(WORLD_ONE4_VIP4, 80)), .quote_length = 28, .padding = 4),
	RELAYED("icmp4 error, ip options in both packets", ONE4, B4, ERROR_TO_ONE4(3),
		.ip_options = 40, ABOUT(FROM4(WORLD_ONE4_VIP4, 80), .ip_options = 40)),
	RELAYED("icmp4 error with extensions after the quote", ONE4, B4, ERROR_TO_ONE4(3),
		ABOUT(FROM4(WORLD_ONE4_VIP4, 80), .payload = 88), .payload = 12),
	RELAYED("icmp4 error about a first fragment", ONE4, B4, ERROR_TO_ONE4(11),
		ABOUT(FROM4(WORLD_ONE4_VIP4, 80), .frag = MORE, .payload = 8)),
	RELAYED("icmp4 error from the client itself", ONE4, B4, ERROR_TO_ONE4(3),
		ABOUT(FROM4(WORLD_ONE4_VIP4, 80)), LIE(IP, 12, 4, 0xcb007105)),
	RELAYED("icmp4 error about an untracked flow", LOOSE, L1, ERROR_TO_ONE4(3),
		ABOUT(.src = WORLD_ONE4_VIP4, .dst = WORLD_CLIENT4, .sport = 9000)),
	RELAYED("icmp4 error over ipv6", ONE6, B6, ERROR4(3), .dst = WORLD_ONE6_VIP4,
		ABOUT(FROM4(WORLD_ONE6_VIP4, 80))),
	RELAYED("icmp6 too big about tcp", ONE6, B6, ERROR_TO_ONE6(2),
		ABOUT(FROM6(WORLD_ONE6_VIP6, 80), .payload = 200)),
	RELAYED("icmp6 unreachable about udp", ONE6, B6, ERROR_TO_ONE6(1),
		ABOUT(FROM6(WORLD_ONE6_VIP6, 443), .proto = IPPROTO_UDP, .payload = 9)),
	RELAYED("icmp6 time exceeded", ONE6, B6, ERROR_TO_ONE6(3),
		ABOUT(FROM6(WORLD_ONE6_VIP6, 80))),
	RELAYED("icmp6 parameter problem", ONE6, B6, ERROR_TO_ONE6(4),
		ABOUT(FROM6(WORLD_ONE6_VIP6, 80))),
	RELAYED("icmp6 error that quotes no more than ports", ONE6, B6, ERROR_TO_ONE6(2),
		ABOUT(FROM6(WORLD_ONE6_VIP6, 80)), .quote_length = 44),
	RELAYED("icmp6 error over ipv4", ONE4, B4, ERROR6(2), .dst = WORLD_ONE4_VIP6,
		ABOUT(FROM6(WORLD_ONE4_VIP6, 80), .payload = 1000)),
	ROW("icmp4 error, redirected", REDIRECTED, ICMP, AWAY, AWAY1, ERROR4(3),
	    .dst = WORLD_AWAY_VIP4, ABOUT(FROM4(WORLD_AWAY_VIP4, 80))),
	ROW("icmp4 error, no backend", EMPTY, EMPTY, EMPTY, NOBODY, ERROR4(3),
	    .dst = WORLD_EMPTY_VIP4, ABOUT(FROM4(WORLD_EMPTY_VIP4, 80))),
	ROW("icmp4 error, no next hop", NO_NEIGHBOR, ICMP, LOST, LOST1, ERROR4(3),
	    .dst = WORLD_LOST_VIP4, ABOUT(FROM4(WORLD_LOST_VIP4, 80))),
	ROW("icmp4 error too long for the path", TOO_BIG, ICMP, SMALL, SMALL1, ERROR4(3),
	    .dst = WORLD_SMALL_VIP4, ABOUT(FROM4(WORLD_SMALL_VIP4, 80), .payload = 1300)),
	ROW("icmp4 error about a port that nobody listens on", NOT_LISTENED, ICMP, NONE, NOBODY,
	    ERROR_TO_ONE4(3), ABOUT(.src = WORLD_ONE4_VIP4, .dst = WORLD_CLIENT4, .sport = 22)),
	ROW("icmp4 error about tcp on udp's port", NOT_LISTENED, ICMP, NONE, NOBODY,
	    ERROR_TO_ONE4(3), ABOUT(.src = WORLD_ONE4_VIP4, .dst = WORLD_CLIENT4, .sport = 53)),
	ROW("icmp6 error about the other end's port", NOT_LISTENED, ICMP, NONE, NOBODY,
	    ERROR_TO_ONE6(1),
	    ABOUT(.src = WORLD_ONE6_VIP6, .dst = WORLD_CLIENT6, .sport = 40000, .dport = 80)),
	UNRELAYED("icmp4 source quench", ERROR_TO_ONE4(4), ABOUT(FROM4(WORLD_ONE4_VIP4, 80))),
	UNRELAYED("icmp4 redirect", ERROR_TO_ONE4(5), ABOUT(FROM4(WORLD_ONE4_VIP4, 80))),
	UNRELAYED("icmp4 echo reply", ERROR_TO_ONE4(255), ABOUT(FROM4(WORLD_ONE4_VIP4, 80)),
		  LIE(L4, 0, 1, 0)),
	UNRELAYED("icmp6 type of icmp4's unreachable, as echo", ERROR_TO_ONE6(129),
		  ABOUT(FROM6(WORLD_ONE6_VIP6, 80))),
	UNRELAYED("icmp6 error of a type not known", ERROR_TO_ONE6(5),
		  ABOUT(FROM6(WORLD_ONE6_VIP6, 80))),
	UNRELAYED("icmp6 type 0", ERROR_TO_ONE6(1), ABOUT(FROM6(WORLD_ONE6_VIP6, 80)),
		  LIE(L4, 0, 1, 0)),
	UNRELAYED("icmp4 in ipv6", ERROR_TO_ONE6(3), ABOUT(FROM6(WORLD_ONE6_VIP6, 80)),
		  LIE(IP, 6, 1, IPPROTO_ICMP)),
	UNRELAYED("icmp6 in ipv4", ERROR_TO_ONE4(3), ABOUT(FROM4(WORLD_ONE4_VIP4, 80)),
		  LIE(IP, 9, 1, IPPROTO_ICMPV6)),
	UNRELAYED("icmp4 error about a later fragment", ERROR_TO_ONE4(11),
		  ABOUT(FROM4(WORLD_ONE4_VIP4, 80), .frag = 1, .payload = 8)),
	UNRELAYED("icmp4 error about icmp", ERROR_TO_ONE4(3),
		  ABOUT(FROM4(WORLD_ONE4_VIP4, 80), .proto = IPPROTO_ICMP, .payload = 8)),
	UNRELAYED("icmp6 error about gre", ERROR_TO_ONE6(1),
		  ABOUT(FROM6(WORLD_ONE6_VIP6, 80), .proto = IPPROTO_GRE, .payload = 8)),
	UNRELAYED("icmp4 error about a packet to the vip", ERROR_TO_ONE4(3),
		  ABOUT(TO4(WORLD_ONE4_VIP4), .payload = 8)),
	UNRELAYED("icmp6 error about a packet to the vip", ERROR_TO_ONE6(1),
		  ABOUT(TO6(WORLD_ONE6_VIP6), .payload = 8)),
	UNRELAYED("icmp4 error about another vip's packet", ERROR_TO_ONE4(3),
		  ABOUT(FROM4(WORLD_ONE6_VIP4, 80))),
	UNRELAYED("icmp6 error about another vip's packet", ERROR_TO_ONE6(2),
		  ABOUT(FROM6(WORLD_ONE4_VIP6, 80))),
	UNRELAYED("icmp4 error that quotes ipv6", ERROR_TO_ONE4(3),
		  ABOUT(FROM6(WORLD_ONE4_VIP6, 80))),
	UNRELAYED("icmp6 error that quotes ipv4", ERROR_TO_ONE6(1),
		  ABOUT(FROM4(WORLD_ONE6_VIP4, 80))),
	UNRELAYED("icmp4 error that quotes a header of 16 bytes", ERROR_TO_ONE4(3),
		  ABOUT(FROM4(WORLD_ONE4_VIP4, 80), LIE_IP4_FIRST(0x44))),
	UNRELAYED("icmp4 error that quotes options beyond its end", ERROR_TO_ONE4(3),
		  ABOUT(FROM4(WORLD_ONE4_VIP4, 80), LIE_IP4_FIRST(0x4f))),
	UNRELAYED("icmp4 error without a quote", ERROR_TO_ONE4(3)),
	UNRELAYED("icmp4 error, the quoted ports in the padding", ERROR_TO_ONE4(3),
		  ABOUT(FROM4(WORLD_ONE4_VIP4, 80)), .quote_length = 20, .padding = 20),
	UNRELAYED("icmp6 error without a quote", ERROR_TO_ONE6(2)),

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
