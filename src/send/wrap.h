/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a packet gets to its backend: the size check, and the outer headers in place. A part of
 * dp/forward.h, which says what the includer supplies.
 */
#pragma once

#include "dp/abi.h"
#include "dp/verdict.h"
#include "pkt/parse.h"
#include "pkt/vlan.h"
#include "send/reply.h"
#include "send/wrap_mss.h"
#include "send/wrap_option.h"
#include "send/wrap_other.h"
#include "send/wrap_shim.h"
#include "tunnel/encap.h"

/* The outer source: in the node's prefix, varied with the flow so that receivers spread it. */
PKT_INLINE __be32 wrap_vary(__be32 fixed, __be32 vary, const struct pkt *pkt)
{
	return fixed | ((__be32)pkt->hash & vary);
}

PKT_INLINE int wrap_in4(struct pkt_ctx *ctx, const struct pkt *pkt,
			const struct abi_backend *backend, __u8 mode)
{
	const struct abi_node *node = env_node();
	__be32 vary = tunnel_mode_is_udp(mode) ? 0 : node->source4_vary;
	struct pkt_cursor cursor;
	pkt_ip4 *outer;
	pkt_eth *eth;

	if (pkt_adjust_head(ctx, -(int)tunnel_mode_overhead(mode, 1, pkt->version == 4)))
		return VERDICT_NO_HEADROOM;
	cursor = pkt_cursor(ctx, 0);
	eth = pkt_take(&cursor, pkt_eth);
	if (!eth)
		return VERDICT_NO_HEADROOM;
	outer = pkt_take(&cursor, pkt_ip4);
	if (!outer)
		return VERDICT_NO_HEADROOM;
	pkt_copy_words(eth, backend->dst_mac, 2 * ETH_ALEN);
	eth->h_proto = PKT_BE16(ETH_P_IP);
	tunnel_write4(outer, pkt, mode, wrap_vary(node->source4.word[3], vary, pkt),
		      backend->addr.word[3], backend->outer_sum);
	return wrap_shim(&cursor, pkt, backend, mode, 1);
}

PKT_INLINE int wrap_in6(struct pkt_ctx *ctx, const struct pkt *pkt,
			const struct abi_backend *backend, __u8 mode)
{
	__be32 vary = tunnel_mode_is_udp(mode) ? 0 : env_node()->source6_vary;
	struct pkt_addr source = env_node()->source6;
	struct pkt_cursor cursor;
	pkt_ip6 *outer;
	pkt_eth *eth;

	if (pkt_adjust_head(ctx, -(int)tunnel_mode_overhead(mode, 0, pkt->version == 4)))
		return VERDICT_NO_HEADROOM;
	cursor = pkt_cursor(ctx, 0);
	eth = pkt_take(&cursor, pkt_eth);
	if (!eth)
		return VERDICT_NO_HEADROOM;
	outer = pkt_take(&cursor, pkt_ip6);
	if (!outer)
		return VERDICT_NO_HEADROOM;
	source.word[3] = wrap_vary(source.word[3], vary, pkt);
	pkt_copy_words(eth, backend->dst_mac, 2 * ETH_ALEN);
	eth->h_proto = PKT_BE16(ETH_P_IPV6);
	tunnel_write6(outer, pkt, mode, &source, &backend->addr);
	return wrap_shim(&cursor, pkt, backend, mode, 0);
}

PKT_INLINE int wrap_in(struct pkt_ctx *ctx, const struct pkt *pkt,
		       const struct abi_backend *backend, __u8 mode)
{
	return pkt_addr_is4(&backend->addr) ? wrap_in4(ctx, pkt, backend, mode)
					    : wrap_in6(ctx, pkt, backend, mode);
}

/*
 * A mode's own stage, so that the usual one, IP in IP, does not meet its code; that mode's is for
 * what is not usual, for the rest has it in its way (wrap).
 */
#define WRAP_MODE(name, mode)                                                      \
	PKT_STAGE int name(struct pkt_ctx *ctx, struct pkt *pkt)                   \
	{                                                                          \
		struct abi_backend *backend = pkt ? env_backend(pkt->backend) : 0; \
                                                                                   \
		return backend ? wrap_in(ctx, pkt, backend, mode) : VERDICT_EMPTY; \
	}
WRAP_MODE(wrap_ipip, TUNNEL_IPIP)
WRAP_MODE(wrap_gre, TUNNEL_GRE)
WRAP_MODE(wrap_gue, TUNNEL_GUE)
WRAP_MODE(wrap_geneve, TUNNEL_GENEVE)
WRAP_MODE(wrap_gue0, TUNNEL_GUE0)
#undef WRAP_MODE

/* A router would send the packet, whose destination is still the VIP, straight back to us. */
PKT_STAGE int wrap_l2dsr(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_backend *backend = pkt ? env_backend(pkt->backend) : 0;
	struct pkt_cursor cursor = pkt_cursor(ctx, 0);
	pkt_eth *eth = pkt_take(&cursor, pkt_eth);

	if (!backend || !eth)
		return VERDICT_EMPTY;
	if (!(backend->flags & ABI_BACKEND_LINK))
		return VERDICT_NO_NEIGHBOR;
	pkt_copy_words(eth, backend->dst_mac, 2 * ETH_ALEN);
	return PKT_ON;
}

/* Its size has been compared with the larger of the two, whichever this is. */
PKT_INLINE int wrap_second(struct pkt_ctx *ctx, struct pkt *pkt)
{
	if (!env_has(ABI_HAS_SECOND) || !wrap_in_doubt(pkt))
		return wrap_gue(ctx, pkt);
	wrap_find_other(ctx, pkt);
	return wrap_gue0(ctx, pkt);
}

/* Every mode but IP in IP, which is asked for before. */
PKT_INLINE int wrap_by_mode(struct pkt_ctx *ctx, struct pkt *pkt)
{
	switch (pkt->mode) {
	case TUNNEL_GRE: return wrap_gre(ctx, pkt);
	case TUNNEL_GUE: return wrap_gue(ctx, pkt);
	case TUNNEL_GENEVE: return wrap_geneve(ctx, pkt);
	case TUNNEL_GUE0: return wrap_second(ctx, pkt);
	case TUNNEL_IPOPT: return wrap_option(ctx, pkt);
	default: return wrap_l2dsr(ctx, pkt);
	}
}

/* PKT_ON: it fits, with so many bytes of tags for which the MTU has no room taken off. */
PKT_INLINE int wrap_size(struct pkt_ctx *ctx, struct pkt *pkt, const struct abi_backend *backend,
			 __u32 tags)
{
	__u32 added = tags + tunnel_mode_overhead(pkt->mode, pkt_addr_is4(&backend->addr),
						  pkt->version == 4);

	if (pkt->length + added > backend->mtu)
		return reply_error(ctx, pkt, backend->mtu - (int)added);
	return PKT_ON;
}

/* The verdict of what was wrapped, or why it could not be. */
PKT_INLINE int wrap_done(const struct pkt_ctx *ctx, const struct abi_backend *backend, int wrapped)
{
	if (wrapped != PKT_ON)
		return wrapped;
	return backend->ifindex == ctx->ingress_ifindex ? VERDICT_FORWARDED : VERDICT_REDIRECTED;
}

PKT_INLINE int wrap_tag(struct pkt_ctx *ctx, const struct abi_backend *backend)
{
	struct pkt_vlan vlan = {backend->tags[0], backend->tags[1], 0};

	vlan.count = !vlan.outer ? 0 : vlan.inner ? 2 : 1;
	return pkt_vlan_on(ctx, &vlan);
}

/*
 * What few packets need: no next hop; VLAN tags, those that the frame came with or those of the
 * backend's link, which take their place; an MSS to clamp. Always a verdict.
 */
PKT_STAGE int wrap_seldom(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_backend *backend = pkt ? env_backend(pkt->backend) : 0;
	int verdict, keeps;
	__u32 flags;

	if (!backend || !ctx)
		return VERDICT_EMPTY;
	flags = *(volatile __u32 *)&backend->flags;
	if (!(flags & ABI_BACKEND_NEIGH))
		return VERDICT_NO_NEIGHBOR;
	keeps = !(flags & ABI_BACKEND_TAGGED) && backend->ifindex == ctx->ingress_ifindex;
	verdict = wrap_size(ctx, pkt, backend, keeps ? pkt->vlan.count * PKT_VLAN_TAG : 0);
	if (verdict != PKT_ON)
		return verdict;
	if (env_has(ABI_HAS_SPECIAL) && pkt->seldom & PKT_SELDOM_MSS)
		wrap_clamp(ctx, pkt);
	verdict = pkt->mode == TUNNEL_IPIP ? wrap_ipip(ctx, pkt) : wrap_by_mode(ctx, pkt);
	verdict = wrap_done(ctx, backend, verdict);
	if (verdict != VERDICT_FORWARDED && verdict != VERDICT_REDIRECTED)
		return verdict;
	if (env_has(ABI_HAS_DECAP) && pkt->seldom & PKT_SELDOM_HOPS)
		tunnel_count_on(ctx, pkt);
	if (flags & ABI_BACKEND_TAGGED || verdict == VERDICT_REDIRECTED)
		pkt->vlan.count = 0;
	if (flags & ABI_BACKEND_TAGGED && wrap_tag(ctx, backend))
		return VERDICT_NO_HEADROOM;
	return verdict;
}

/* Wraps the packet for the chosen backend. Always a verdict. */
PKT_STAGE int wrap(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_backend *backend;
	int verdict;

	if (!pkt)
		return VERDICT_EMPTY;
	backend = env_backend(pkt->backend);
	if (!backend || !pkt->backend) {
		pkt->why = WHY_EMPTY;
		return VERDICT_EMPTY;
	}
	if ((backend->flags & (ABI_BACKEND_NEIGH | ABI_BACKEND_TAGGED)) != ABI_BACKEND_NEIGH ||
	    pkt->seldom)
		return wrap_seldom(ctx, pkt);
	verdict = wrap_size(ctx, pkt, backend, 0);
	if (verdict != PKT_ON)
		return verdict;
	return wrap_done(ctx, backend,
			 pkt->mode == TUNNEL_IPIP ? wrap_in(ctx, pkt, backend, TUNNEL_IPIP)
						  : wrap_by_mode(ctx, pkt));
}
