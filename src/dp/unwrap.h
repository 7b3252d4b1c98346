/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A balancer behind another one (`decap: true`): what comes to the node in a tunnel, from a
 * balancer and for a VIP, goes on as if it had come without. One level only: a tunnel within is a
 * packet like any other. What is nobody's VIP stays in its tunnel and is the host's. The next
 * tunnel's TTL goes on from this one's: two balancers that are each other's backend would else send
 * a packet to and fro for ever. A part of forward.h, which says what the includer supplies.
 */
#pragma once

#include "choose/find.h"
#include "dp/verdict.h"
#define env_takes(mode) 1 /* of tunnels all */
#include "tunnel/open.h"
#include "tunnel/strip.h"

/* Is the inner packet for a VIP? From then on pkt's destination is the inner one. */
PKT_INLINE int unwrap_is_ours(struct pkt *pkt, const struct tunnel_inner *inner)
{
	struct abi_vip *vip;

	if (inner->version == 6 && (!env_has(ABI_HAS_IPV6) || pkt_addr_is4(&inner->dst)))
		return 0;
	pkt->version = (__u8)inner->version;
	pkt->dst = inner->dst;
	vip = find_vip(pkt);
	return vip && vip->listens[0];
}

/* Takes over what is left of the outer TTL. Returns whether there is anything. */
PKT_INLINE int unwrap_hops(const struct pkt_ctx *ctx, struct pkt *pkt, __u8 outer_version)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, sizeof(pkt_eth));
	pkt_ip4 *ip4;
	pkt_ip6 *ip6;
	__u8 ttl = 0;

	if (outer_version == 4) {
		ip4 = pkt_take(&cursor, pkt_ip4);
		ttl = ip4 ? ip4->ttl : 0;
	} else {
		ip6 = pkt_take(&cursor, pkt_ip6);
		ttl = ip6 ? ip6->hop_limit : 0;
	}
	if (ttl <= 1)
		return 0;
	pkt->hops = ttl - 1;
	pkt->seldom |= PKT_SELDOM_HOPS;
	return 1;
}

/* Whose it is and who sent it: PKT_ON, or a verdict. The frame is as it was. */
PKT_STAGE int unwrap_find(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct tunnel_told told = {};
	struct tunnel_inner inner = {};
	__u8 outer_version;
	int believed;

	if (!ctx || !pkt)
		return VERDICT_MALFORMED;
	if (tunnel_open(ctx, pkt, &told) != TUNNEL_OPENED || !tunnel_read_inner(ctx, pkt, &inner))
		return VERDICT_NOT_VIP;
	/* ::ffff:a.b.c.d on the wire is no a.b.c.d. */
	believed = (pkt->version == 4 || !pkt_addr_is4(&pkt->src)) &&
		   env_prefix(ABI_LIST_BALANCERS, pkt->version, &pkt->src);
	outer_version = pkt->version;
	if (!unwrap_is_ours(pkt, &inner))
		return VERDICT_NOT_VIP;
	if (!believed)
		return VERDICT_BAD_SOURCE;
	pkt->why = WHY_MALFORMED;
	if (!tunnel_inner_is_whole(&inner))
		return VERDICT_TRUNCATED;
	pkt->why = WHY_LIMIT;
	return unwrap_hops(ctx, pkt, outer_version) ? PKT_ON : VERDICT_CIRCLED;
}

/* For a packet that is not for a VIP. PKT_ON: the frame begins with what was in the tunnel. */
PKT_INLINE int unwrap(struct pkt_ctx *ctx, struct pkt *pkt)
{
	int verdict = unwrap_find(ctx, pkt);

	if (verdict != PKT_ON)
		return verdict;
	switch (tunnel_strip(ctx, pkt)) {
	case TUNNEL_STRIPPED: return PKT_ON;
	case TUNNEL_LOST: return VERDICT_NOT_ECT;
	default: return VERDICT_NO_HEADROOM;
	}
}
