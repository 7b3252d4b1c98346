/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP's header and ICMPv6's (RFC 792, RFC 4443), which are alike but for their types, and those
 * types that the packet path reads or writes.
 */
#pragma once

#include "pkt/cursor.h"

enum {
	L4_ICMP4_ECHO_REPLY = 0,
	L4_ICMP4_UNREACHABLE = 3,
	L4_ICMP4_ECHO = 8, /* requests */
	L4_ICMP4_TIME_EXCEEDED = 11,
	L4_ICMP4_PARAMETER = 12,
	L4_ICMP6_UNREACHABLE = 1,
	L4_ICMP6_TOO_BIG = 2, /* and 3 time exceeded */
	L4_ICMP6_PARAMETER = 4,
	L4_ICMP6_ECHO = 128,
	L4_ICMP6_ECHO_REPLY = 129,
	L4_ICMP6_ND_FIRST = 133, /* router solicitation */
	L4_ICMP6_ND_LAST = 137,  /* redirect */
};

struct l4_icmp_header {
	__u8 type;
	__u8 code;
	__u16 check;
	__be32 rest;
};
typedef struct l4_icmp_header l4_icmp PKT_LOOSE;
