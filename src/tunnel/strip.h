/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes a tunnel off that open.h has read: first what the inner packet says of itself, so that the
 * includer can tell whose it is; then congestion marks are carried in (RFC 6040, figure 4) and the
 * frame begins with the inner packet. Its TTL is not touched.
 */
#pragma once

#include "pkt/csum.h"
#include "pkt/parse.h"
#include "tunnel/open.h"

enum {
	TUNNEL_CE = 3, /* of the two ECN bits: congestion experienced; RFC 3168 */
	TUNNEL_ECT1 = 1,
	TUNNEL_ECT0 = 2,
};

struct tunnel_inner {
	struct pkt_addr dst;
	__u32 header;  /* bytes */
	__u32 length;  /* with the header */
	__u32 room;    /* bytes that the outer packet has for it */
	__u32 version; /* 4 or 6 */
};

enum tunnel_stripped {
	TUNNEL_STRIPPED,
	TUNNEL_LOST,    /* marked congested on the way, and the flow cannot be told */
	TUNNEL_REFUSED, /* by the driver */
};

/* Whether there is a header of the right version to read. */
PKT_INLINE int tunnel_inner4(struct pkt_cursor *cursor, struct tunnel_inner *ret)
{
	pkt_ip4 *ip = pkt_take(cursor, pkt_ip4);

	if (!ip || ip->version != 4)
		return 0;
	ret->version = 4;
	ret->dst = pkt_addr4(ip->daddr);
	ret->header = ip->ihl * 4U;
	ret->length = PKT_HOST16(ip->tot_len);
	return ret->header >= sizeof(*ip);
}

PKT_INLINE int tunnel_inner6(struct pkt_cursor *cursor, struct tunnel_inner *ret)
{
	pkt_ip6 *ip = pkt_take(cursor, pkt_ip6);

	if (!ip || ip->version != 6)
		return 0;
	ret->version = 6;
	pkt_copy(ret->dst.word, &ip->daddr, sizeof(ret->dst));
	ret->header = sizeof(*ip);
	ret->length = sizeof(*ip) + (__u32)PKT_HOST16(ip->payload_len);
	return 1;
}

/*
 * After tunnel_open. What stands behind the outer packet's end is Ethernet's padding, not a header.
 * Returns whether there is an inner header; tunnel_inner_is_whole asks for the rest.
 */
PKT_INLINE int tunnel_read_inner(const struct pkt_ctx *ctx, const struct pkt *pkt,
				 struct tunnel_inner *ret)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	int read = pkt->proto == IPPROTO_IPIP ? tunnel_inner4(&cursor, ret)
					      : tunnel_inner6(&cursor, ret);

	ret->room = pkt->length + (__u32)sizeof(pkt_eth) - pkt->l4;
	return read && ret->room >= ret->header;
}

PKT_INLINE int tunnel_inner_is_whole(const struct tunnel_inner *inner)
{
	return inner->length >= inner->header && inner->length <= inner->room;
}

/* Which ECN bits the inner packet has from now on, or -1: it is lost. */
PKT_INLINE int tunnel_ecn(__u8 outer, __u8 inner)
{
	if (outer == TUNNEL_CE)
		return inner ? TUNNEL_CE : -1;
	if (outer == TUNNEL_ECT1 && inner == TUNNEL_ECT0)
		return TUNNEL_ECT1;
	return inner;
}

PKT_INLINE enum tunnel_stripped tunnel_carry_ecn4(pkt_ip4 *ip, __u8 outer)
{
	int ecn = tunnel_ecn(outer, ip->tos & 3);
	__u8 tos = (__u8)((ip->tos & 0xfc) | ecn);

	if (ecn < 0)
		return TUNNEL_LOST;
	if (ecn == (ip->tos & 3))
		return TUNNEL_STRIPPED;
	ip->check = pkt_csum_mend(ip->check, PKT_BE16(ip->tos), PKT_BE16(tos));
	ip->tos = tos;
	return TUNNEL_STRIPPED;
}

PKT_INLINE enum tunnel_stripped tunnel_carry_ecn6(pkt_ip6 *ip, __u8 outer)
{
	int ecn = tunnel_ecn(outer, ip->flow_lbl[0] >> 4 & 3);

	if (ecn < 0)
		return TUNNEL_LOST;
	ip->flow_lbl[0] = (__u8)((ip->flow_lbl[0] & 0xcf) | ecn << 4);
	return TUNNEL_STRIPPED;
}

PKT_INLINE enum tunnel_stripped tunnel_carry_ecn(const struct pkt_ctx *ctx, const struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	pkt_ip6 *ip6;
	pkt_ip4 *ip4;

	if (pkt->proto == IPPROTO_IPIP) {
		ip4 = pkt_take(&cursor, pkt_ip4);
		return ip4 ? tunnel_carry_ecn4(ip4, pkt->tos & 3) : TUNNEL_REFUSED;
	}
	ip6 = pkt_take(&cursor, pkt_ip6);
	return ip6 ? tunnel_carry_ecn6(ip6, pkt->tos & 3) : TUNNEL_REFUSED;
}

/* After tunnel_read_inner: takes all off that stands between the link header and pkt->l4. */
PKT_STAGE int tunnel_strip(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, 0);
	pkt_eth *eth = pkt_take(&cursor, pkt_eth);
	enum tunnel_stripped carried;
	pkt_eth kept;

	if (!pkt || !eth)
		return TUNNEL_REFUSED;
	pkt_copy(&kept, eth, sizeof(kept));
	kept.h_proto = pkt->proto == IPPROTO_IPIP ? PKT_BE16(ETH_P_IP) : PKT_BE16(ETH_P_IPV6);
	carried = tunnel_carry_ecn(ctx, pkt);
	if (carried != TUNNEL_STRIPPED)
		return carried;
	if (pkt_adjust_head(ctx, pkt->l4 - (int)sizeof(kept)))
		return TUNNEL_REFUSED;
	cursor = pkt_cursor(ctx, 0);
	eth = pkt_take(&cursor, pkt_eth);
	if (!eth)
		return TUNNEL_REFUSED;
	pkt_copy(eth, &kept, sizeof(kept));
	return TUNNEL_STRIPPED;
}
