/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which tunnel is it, and where does its inner packet begin? A part of decap.h. The tunnels are
 * those of tunnel/mode.h: IP in IP, in IPv6 also with the tunnel encapsulation limit that Linux
 * adds; GRE without options; GUE's variant 1. What is GRE or on GUE's port but not just so is
 * somebody else's, and left alone.
 */
#pragma once

#include "decap/abi_agent.h"
#include "pkt/parse.h"
#include "tunnel/encap.h"

enum { TUNNEL_LIMIT = 4 }; /* the option's type; RFC 2473, section 4.1.1 */

/* A destination options header of 8 bytes whose first option is the tunnel encapsulation limit. */
struct tunnel_limit {
	__u8 next, length;
	__u8 type, type_length, limit;
	__u8 padding[3];
};

PKT_INLINE int tunnel_is_ip(__u8 proto)
{
	return proto == IPPROTO_IPIP || proto == IPPROTO_IPV6;
}

/* A fragment cannot be taken apart; the host may put it together. */
PKT_INLINE int tunnel_fragment(const struct pkt_ctx *ctx, const struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	__u8 proto = pkt->proto, *next;

	if (pkt->version == 6) {
		next = pkt_take(&cursor, __u8);
		if (!next)
			return AGENT_MALFORMED;
		proto = *next;
	}
	return tunnel_is_ip(proto) || proto == IPPROTO_GRE ? AGENT_FRAGMENT : AGENT_NOT_TUNNEL;
}

/* Steps over the limit if it is there, and a tunnel's packet after it. */
PKT_INLINE void tunnel_skip_limit(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	struct tunnel_limit *limit = pkt_take(&cursor, struct tunnel_limit);

	if (!limit || limit->length || limit->type != TUNNEL_LIMIT || limit->type_length != 1 ||
	    !tunnel_is_ip(limit->next) || pkt->length < sizeof(pkt_ip6) + sizeof(*limit))
		return;
	pkt->proto = limit->next;
	pkt->l4 += sizeof(*limit);
}

/*
 * A header of `size` bytes behind the outer IP header, or NULL: it is not within the outer packet,
 * so it is none. What follows is from then on where the inner packet begins.
 */
PKT_INLINE void *tunnel_take(struct pkt_cursor *cursor, struct pkt *pkt, __u32 size)
{
	__u32 room = pkt->length + (__u32)sizeof(pkt_eth) - pkt->l4;

	if (room < size)
		return 0;
	pkt->l4 += (__u16)size;
	return pkt_take_bytes(cursor, size);
}

/* With any flag there are options, or a version, that no balancer sends. */
PKT_INLINE int tunnel_open_gre(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	tunnel_gre *gre = tunnel_take(&cursor, pkt, sizeof(*gre));

	if (!gre || gre->flags)
		return AGENT_NOT_TUNNEL;
	if (gre->proto != PKT_BE16(ETH_P_IP) && gre->proto != PKT_BE16(ETH_P_IPV6))
		return AGENT_NOT_TUNNEL;
	pkt->proto = gre->proto == PKT_BE16(ETH_P_IP) ? IPPROTO_IPIP : IPPROTO_IPV6;
	return PKT_ON;
}

/* The inner packet's IP version is the variant, and ends where the datagram ends. */
PKT_INLINE int tunnel_open_gue(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	__u32 begin = pkt->l4 - (__u32)sizeof(pkt_eth), length;
	pkt_udp *udp = tunnel_take(&cursor, pkt, sizeof(*udp));
	__u8 *inner;

	/* Balancers send no checksum; one that is there would have to be verified. */
	if (!udp || udp->dest != PKT_BE16(TUNNEL_GUE_PORT) || udp->check)
		return AGENT_NOT_TUNNEL;
	length = PKT_HOST16(udp->len);
	inner = pkt_take(&cursor, __u8);
	if (!inner || length <= sizeof(*udp) || begin + length > pkt->length)
		return AGENT_NOT_TUNNEL;
	if (*inner >> 4 != 4 && *inner >> 4 != 6)
		return AGENT_NOT_TUNNEL;
	pkt->proto = *inner >> 4 == 4 ? IPPROTO_IPIP : IPPROTO_IPV6;
	pkt->length = (__u16)(begin + length);
	return PKT_ON;
}
