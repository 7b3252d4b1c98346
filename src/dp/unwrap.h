/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A balancer behind another one (`decap: true`): what comes to the node in a tunnel, from a
 * balancer and for a VIP, goes on as if it had come without. One level only: a tunnel within is a
 * packet like any other. What is nobody's VIP stays in its tunnel and is the host's. A part of
 * forward.h, which says what the includer supplies.
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

/* Whose it is and who sent it: PKT_ON, or a verdict. The frame is as it was. */
PKT_STAGE int unwrap_find(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct tunnel_told told = {};
	struct tunnel_inner inner = {};
	int believed;

	if (!ctx || !pkt)
		return VERDICT_MALFORMED;
	if (tunnel_open(ctx, pkt, &told) != TUNNEL_OPENED || !tunnel_read_inner(ctx, pkt, &inner))
		return VERDICT_NOT_VIP;
	/* ::ffff:a.b.c.d on the wire is no a.b.c.d. */
	believed = (pkt->version == 4 || !pkt_addr_is4(&pkt->src)) &&
		   env_prefix(ABI_LIST_BALANCERS, pkt->version, &pkt->src);
	if (!unwrap_is_ours(pkt, &inner))
		return VERDICT_NOT_VIP;
	if (!believed)
		return VERDICT_BAD_SOURCE;
	if (tunnel_inner_is_whole(&inner))
		return PKT_ON;
	pkt->why = WHY_MALFORMED;
	return VERDICT_TRUNCATED;
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
