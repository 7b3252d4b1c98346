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

enum tunnel_mode {
	TUNNEL_IPIP, /* 0, as in tables that knew no other */
	TUNNEL_GRE,
	TUNNEL_GUE,
	TUNNEL_L2DSR, /* MAC addresses alone: nothing is added */
	TUNNEL_GENEVE,
	TUNNEL_IPOPT,
	TUNNEL_GUE0, /* GUE's variant 0, with the slot's other owner */
	TUNNEL_MODES,
};

enum {
	TUNNEL_BYTES_IP4 = 20, /* bytes of headers */
	TUNNEL_BYTES_IP6 = 40,
	TUNNEL_BYTES_GRE = 4,
	TUNNEL_BYTES_UDP = 8,
};

/* Bytes between the outer IP header and the inner packet. */
PKT_INLINE __u32 tunnel_mode_shim(__u8 mode)
{
	switch (mode) {
	case TUNNEL_GRE: return TUNNEL_BYTES_GRE;
	case TUNNEL_GUE: return TUNNEL_BYTES_UDP;
	default: return 0;
	}
}

/* Bytes that the mode adds to an IP packet of either family. */
PKT_INLINE __u32 tunnel_mode_overhead(__u8 mode, int outer4, int inner4)
{
	(void)inner4;
	if (mode == TUNNEL_L2DSR)
		return 0;
	return (outer4 ? TUNNEL_BYTES_IP4 : TUNNEL_BYTES_IP6) + tunnel_mode_shim(mode);
}
