/* SPDX-License-Identifier: BSD-2-Clause */
/* Short forms for the rows of packets.c: a row says what is special about its frame. */
#pragma once

#include <netinet/in.h>

#include "tests/lib/rows/packets.h"
#include "tests/lib/world/policy.h"

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

/* Too big: its sender is told, or not. */
#define TOLD(name, service, backend, ...) \
	ROW(name, TOO_BIG_ANSWERED, SLOT, service, backend, __VA_ARGS__)
#define UNTOLD(name, service, backend, ...) ROW(name, TOO_BIG, SLOT, service, backend, __VA_ARGS__)
#define UNTOLD_FROM4(from)                                                                   \
	UNTOLD("tcp4 df too long from " from, ONE4, B4, .src = from, .dst = WORLD_ONE4_VIP4, \
	       .frag = DONT, .payload = FITS_4IN4 + 1)
#define UNTOLD_FROM6(from)                                                                \
	UNTOLD("tcp6 too long from " from, ONE6, B6, .src = from, .dst = WORLD_ONE6_VIP6, \
	       .payload = FITS_6IN6 + 1)
#define ECHO4(name, ...)                                                                          \
	ROW(name, ECHO_ANSWERED, ICMP, NONE, NOBODY, TO4(WORLD_ONE4_VIP4), .proto = IPPROTO_ICMP, \
	    ##__VA_ARGS__)
#define ECHO6(name, ...)                                                   \
	ROW(name, ECHO_ANSWERED, ICMP, NONE, NOBODY, TO6(WORLD_ONE6_VIP6), \
	    .proto = IPPROTO_ICMPV6, ##__VA_ARGS__)
#define NO_ECHO4(name, ...) \
	ROW(name, OTHER_PROTOCOL, ICMP, NONE, NOBODY, .proto = IPPROTO_ICMP, __VA_ARGS__)
#define NO_ECHO6(name, ...) \
	ROW(name, OTHER_PROTOCOL, ICMP, NONE, NOBODY, .proto = IPPROTO_ICMPV6, __VA_ARGS__)

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

/* Of WORLD_MODE, which adds `overhead` bytes. */
#define IN(mode, name, ...)         ROW(name, FORWARDED, SLOT, mode, mode##_B, __VA_ARGS__)
#define TOO_BIG_IN(mode, name, ...) ROW(name, TOO_BIG, SLOT, mode, mode##_B, __VA_ARGS__)
#define TO4_OF(mode)                TO4(WORLD_##mode##_VIP4)
#define TO6_OF(mode)                TO6(WORLD_##mode##_VIP6)
#define IN_MODE(mode, name, overhead)                                                              \
	IN(mode, "tcp4 by " name, TO4_OF(mode), .payload = 100),                                   \
		IN(mode, "tcp4 syn by " name, TO4_OF(mode), .tcp_flags = FRAME_SYN,                \
		   .tcp_options = 20),                                                             \
		IN(mode, "case 35: tcp4 tos by " name, TO4_OF(mode), .tos = 0xb9, .ttl = 1),       \
		IN(mode, "tcp4 df by " name, TO4_OF(mode), .frag = DONT),                          \
		IN(mode, "tcp4 ip options by " name, TO4_OF(mode), .ip_options = 8, .payload = 3), \
		IN(mode, "tcp4 padded by " name, TO4_OF(mode), .padding = 6),                      \
		IN(mode, "udp4 by " name, TO4_OF(mode), .proto = IPPROTO_UDP, .dport = 53,         \
		   .payload = 33),                                                                 \
		IN(mode, "tcp6 by " name, TO6_OF(mode), .payload = 100),                           \
		IN(mode, "case 35: tcp6 class by " name, TO6_OF(mode), .tos = 0xff, .ttl = 1),     \
		IN(mode, "tcp6 padded by " name, TO6_OF(mode), .padding = 2),                      \
		IN(mode, "udp6 by " name, TO6_OF(mode), .proto = IPPROTO_UDP, .dport = 53,         \
		   .payload = 1),                                                                  \
		IN(mode, "tcp4 as long as the path by " name, TO4_OF(mode),                        \
		   .payload = WORLD_MTU - (overhead)-40),                                          \
		IN(mode, "tcp6 as long as the path by " name, TO6_OF(mode),                        \
		   .payload = WORLD_MTU - (overhead)-60),                                          \
		TOO_BIG_IN(mode, "tcp4 a byte too long by " name, TO4_OF(mode),                    \
			   .payload = WORLD_MTU - (overhead)-40 + 1),                              \
		TOLD("tcp6 a byte too long by " name, mode, mode##_B, TO6_OF(mode),                \
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
