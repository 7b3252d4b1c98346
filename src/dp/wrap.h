/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a packet gets to its backend: the size check, and the outer headers in place. A part of
 * forward.h, which says what the includer supplies.
 */
#pragma once

#include "dp/abi.h"
#include "dp/reply.h"
#include "pkt/encap.h"
#include "pkt/parse.h"
#include "pkt/verdict.h"

/* The outer source: in the node's prefix, varied with the flow so that receivers spread it. */
PKT_INLINE __be32 wrap_vary(__be32 fixed, __be32 vary, const struct pkt *pkt)
{
	return fixed | ((__be32)pkt->hash & vary);
}

PKT_INLINE int wrap_ipip4(struct pkt_ctx *ctx, const struct pkt *pkt,
			  const struct abi_backend *backend)
{
	const struct abi_node *node = env_node();
	struct pkt_cursor cursor;
	pkt_ip4 *outer;
	pkt_eth *eth;

	if (pkt_adjust_head(ctx, -(int)sizeof(*outer)))
		return VERDICT_NO_HEADROOM;
	cursor = pkt_cursor(ctx, 0);
	eth = pkt_take(&cursor, pkt_eth);
	outer = pkt_take(&cursor, pkt_ip4);
	if (!eth || !outer)
		return VERDICT_NO_HEADROOM;
	pkt_copy(eth, backend->dst_mac, 2 * ETH_ALEN);
	eth->h_proto = PKT_BE16(ETH_P_IP);
	pkt_encap4_write(outer, pkt, wrap_vary(node->source4.word[3], node->source4_vary, pkt),
			 backend->addr.word[3], backend->outer_sum);
	return PKT_ON;
}

PKT_INLINE int wrap_ipip6(struct pkt_ctx *ctx, const struct pkt *pkt,
			  const struct abi_backend *backend)
{
	struct pkt_addr source = env_node()->source6;
	struct pkt_cursor cursor;
	pkt_ip6 *outer;
	pkt_eth *eth;

	if (pkt_adjust_head(ctx, -(int)sizeof(*outer)))
		return VERDICT_NO_HEADROOM;
	cursor = pkt_cursor(ctx, 0);
	eth = pkt_take(&cursor, pkt_eth);
	outer = pkt_take(&cursor, pkt_ip6);
	if (!eth || !outer)
		return VERDICT_NO_HEADROOM;
	source.word[3] = wrap_vary(source.word[3], env_node()->source6_vary, pkt);
	pkt_copy(eth, backend->dst_mac, 2 * ETH_ALEN);
	eth->h_proto = PKT_BE16(ETH_P_IPV6);
	pkt_encap6_write(outer, pkt, &source, &backend->addr);
	return PKT_ON;
}

/* Wraps the packet for the chosen backend. Always a verdict. */
PKT_STAGE int wrap(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_backend *backend;
	int outer4, wrapped;
	__u32 length;

	if (!pkt)
		return VERDICT_EMPTY;
	backend = env_backend(pkt->backend);
	if (!backend || !pkt->backend) {
		pkt->why = WHY_EMPTY;
		return VERDICT_EMPTY;
	}
	if (!(backend->flags & ABI_BACKEND_NEIGH))
		return VERDICT_NO_NEIGHBOR;
	outer4 = pkt_addr_is4(&backend->addr);
	length = pkt->length + (outer4 ? sizeof(pkt_ip4) : sizeof(pkt_ip6));
	if (length > backend->mtu)
		return reply_too_big(ctx, pkt, backend->mtu - (int)(length - pkt->length));
	wrapped = outer4 ? wrap_ipip4(ctx, pkt, backend) : wrap_ipip6(ctx, pkt, backend);
	if (wrapped != PKT_ON)
		return wrapped;
	return backend->ifindex == ctx->ingress_ifindex ? VERDICT_FORWARDED : VERDICT_REDIRECTED;
}
