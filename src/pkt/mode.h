/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a packet reaches its backend, and how many bytes that adds to it: the one place for these
 * sizes, so that the size check, the writers (encap.h) and the agent's MSS cannot differ.
 *
 * GRE (RFC 2784, over and around IPv6 RFC 7676) is the plain header of four bytes: no checksum, no
 * key. GUE is variant 1 of draft-ietf-intarea-gue: a UDP header, and directly after it the inner
 * packet, whose IP version is the variant. UDP's checksum is zero, over IPv6 too (RFC 6935 and
 * 6936): the inner packet has its own, and a wrong outer address meets no agent that believes it.
 */
#pragma once

#include "pkt/ctx.h"

enum pkt_mode {
	PKT_MODE_IPIP, /* 0, as in tables that knew no other */
	PKT_MODE_GRE,
	PKT_MODE_GUE,
	PKT_MODE_L2DSR, /* MAC addresses alone: nothing is added */
	PKT_MODES,
};

enum {
	PKT_MODE_IP4 = 20, /* bytes of headers */
	PKT_MODE_IP6 = 40,
	PKT_MODE_GRE_SHIM = 4,
	PKT_MODE_UDP_SHIM = 8,
};

/* Bytes between the outer IP header and the inner packet. */
PKT_INLINE __u32 pkt_mode_shim(__u8 mode)
{
	switch (mode) {
	case PKT_MODE_GRE: return PKT_MODE_GRE_SHIM;
	case PKT_MODE_GUE: return PKT_MODE_UDP_SHIM;
	default: return 0;
	}
}

/* Bytes that the mode adds to an IP packet. */
PKT_INLINE __u32 pkt_mode_overhead(__u8 mode, int outer4)
{
	if (mode == PKT_MODE_L2DSR)
		return 0;
	return (outer4 ? PKT_MODE_IP4 : PKT_MODE_IP6) + pkt_mode_shim(mode);
}
