/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a packet reaches its backend, and how many bytes that adds to it: the one place for these
 * sizes, so that the size check, the writers (encap.h) and the agent's MSS cannot differ.
 *
 * GRE (RFC 2784, over and around IPv6 RFC 7676) is the plain header of four bytes: no checksum, no
 * key. GUE is variant 1 of draft-ietf-intarea-gue: a UDP header, and directly after it the inner
 * packet, whose IP version is the variant. What Geneve, GUE's variant 0 and ipopt have there is in
 * format.h. UDP's checksum is zero, over IPv6 too (RFC 6935 and 6936): the inner packet has its
 * own, and a wrong outer address meets no agent that believes it.
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
	TUNNEL_GUE0, /* GUE with a second chance: variant 0 names the slot's other owner, if any */
	TUNNEL_MODES,
};

enum {
	TUNNEL_BYTES_IP4 = 20, /* bytes of headers */
	TUNNEL_BYTES_IP6 = 40,
	TUNNEL_BYTES_GRE = 4,
	TUNNEL_BYTES_UDP = 8,
	TUNNEL_BYTES_GENEVE = 16, /* with its option, but for the VIP */
	TUNNEL_BYTES_GUE0 = 8,    /* with its private data, but for the other owner */
	TUNNEL_BYTES_ADDR4 = 4,
	TUNNEL_BYTES_ADDR6 = 16,
	TUNNEL_BYTES_OPTION4 = 8, /* of ipopt: all of it */
	TUNNEL_BYTES_OPTION6 = 24,
};

/* Bytes of an address. */
PKT_INLINE __u32 tunnel_mode_addr(int is4)
{
	return is4 ? TUNNEL_BYTES_ADDR4 : TUNNEL_BYTES_ADDR6;
}

/* In UDP, whose source port varies with the flow in the place of the outer source. */
PKT_INLINE int tunnel_mode_is_udp(__u8 mode)
{
	return mode == TUNNEL_GUE || mode == TUNNEL_GENEVE || mode == TUNNEL_GUE0;
}

/* Bytes between the outer IP header and the inner packet. */
PKT_INLINE __u32 tunnel_mode_shim(__u8 mode, int outer4, int inner4)
{
	switch (mode) {
	case TUNNEL_GRE: return TUNNEL_BYTES_GRE;
	case TUNNEL_GUE: return TUNNEL_BYTES_UDP;
	case TUNNEL_GENEVE:
		return TUNNEL_BYTES_UDP + TUNNEL_BYTES_GENEVE + tunnel_mode_addr(inner4);
	case TUNNEL_GUE0: return TUNNEL_BYTES_UDP + TUNNEL_BYTES_GUE0 + tunnel_mode_addr(outer4);
	default: return 0;
	}
}

/* Bytes that the mode adds to an IP packet of either family. */
PKT_INLINE __u32 tunnel_mode_overhead(__u8 mode, int outer4, int inner4)
{
	__u32 outer = outer4 ? TUNNEL_BYTES_IP4 : TUNNEL_BYTES_IP6;

	if (mode == TUNNEL_IPIP)
		return outer;
	if (mode == TUNNEL_L2DSR)
		return 0;
	if (mode == TUNNEL_IPOPT)
		return inner4 ? TUNNEL_BYTES_OPTION4 : TUNNEL_BYTES_OPTION6;
	return outer + tunnel_mode_shim(mode, outer4, inner4);
}
