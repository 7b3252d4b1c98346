/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent's decision about a frame that comes in: take the tunnel off what a balancer sent for
 * a VIP, keep silent about VIPs, and leave all else to the host. One text for the XDP program and
 * for native tests. Which tunnels these are is in decap/tunnel.h.
 *
 * The includer supplies, before it includes this:
 *   int env_vip(const struct pkt_addr *)       the IP version of the VIP, of the balancers'
 *   int env_balancer(const struct pkt_addr *)  longest prefix that matches; 0: there is none
 *   void env_count(const struct pkt *, __u32 verdict)
 * The version is asked for because an IPv6 packet can bear the address ::ffff:a.b.c.d, which is
 * how tables hold a.b.c.d; and ::/0, as a prefix, is no word about IPv4.
 *
 * The inner destination is looked at before the outer source: tunnels of others on the same host
 * are none of the agent's business. Only what claims to be for a VIP must come from a balancer.
 */
#pragma once

#include "decap/silence.h"
#include "decap/tunnel.h"
#include "pkt/csum.h"
#include "pkt/parse.h"

enum {
	DECAP_CE = 3, /* of the two ECN bits: congestion experienced; RFC 3168 */
	DECAP_ECT1 = 1,
	DECAP_ECT0 = 2,
};

struct decap_inner {
	struct pkt_addr dst;
	__u32 header; /* bytes */
	__u32 length; /* with the header */
};

/* Ends with pkt->proto as of IP in IP and pkt->l4 where the inner packet begins, or a verdict. */
PKT_STAGE int decap_outer(struct pkt_ctx *ctx, struct pkt *pkt)
{
	enum pkt_parsed parsed;

	if (!pkt)
		return AGENT_MALFORMED;
	pkt->frame_length = (__u32)((__u64)pkt_data_end(ctx) - (__u64)pkt_data(ctx));
	parsed = pkt_parse_ip(ctx, pkt);
	if (parsed == PKT_PARSED_NOT_IP)
		return silence_arp(ctx) ? AGENT_SILENCED : AGENT_NOT_IP;
	if (parsed != PKT_PARSED)
		return AGENT_MALFORMED;
	if (pkt->fragment)
		return tunnel_fragment(ctx, pkt);
	if (pkt->version == 6 && pkt->proto == IPPROTO_ICMPV6)
		return silence_solicitation(ctx, pkt) ? AGENT_SILENCED : AGENT_NOT_TUNNEL;
	if (pkt->version == 6 && pkt->proto == IPPROTO_DSTOPTS)
		tunnel_skip_limit(ctx, pkt);
	if (pkt->proto == IPPROTO_GRE)
		return tunnel_open_gre(ctx, pkt);
	if (pkt->proto == IPPROTO_UDP)
		return tunnel_open_gue(ctx, pkt);
	return tunnel_is_ip(pkt->proto) ? PKT_ON : AGENT_NOT_TUNNEL;
}

/* Whether there is a header of the right version to read. */
PKT_INLINE int decap_read4(struct pkt_cursor *cursor, struct decap_inner *inner)
{
	pkt_ip4 *ip = pkt_take(cursor, pkt_ip4);

	if (!ip || ip->version != 4)
		return 0;
	inner->dst = pkt_addr4(ip->daddr);
	inner->header = ip->ihl * 4U;
	inner->length = PKT_HOST16(ip->tot_len);
	return inner->header >= sizeof(*ip);
}

PKT_INLINE int decap_read6(struct pkt_cursor *cursor, struct decap_inner *inner)
{
	pkt_ip6 *ip = pkt_take(cursor, pkt_ip6);

	if (!ip || ip->version != 6)
		return 0;
	pkt_copy(inner->dst.word, &ip->daddr, sizeof(inner->dst));
	inner->header = sizeof(*ip);
	inner->length = sizeof(*ip) + (__u32)PKT_HOST16(ip->payload_len);
	return 1;
}

/* For us, from a balancer, and whole? */
PKT_STAGE int decap_inner(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct decap_inner inner = {};
	struct pkt_cursor cursor;
	__u32 room;
	int read;

	if (!pkt)
		return AGENT_MALFORMED;
	cursor = pkt_cursor(ctx, pkt->l4);
	read = pkt->proto == IPPROTO_IPIP ? decap_read4(&cursor, &inner)
					  : decap_read6(&cursor, &inner);
	room = pkt->length + (__u32)sizeof(pkt_eth) - pkt->l4;
	/* What stands behind the outer packet's end is Ethernet's padding, not a header. */
	if (!read || room < inner.header)
		return AGENT_MALFORMED;
	if (env_vip(&inner.dst) != (pkt->proto == IPPROTO_IPIP ? 4 : 6))
		return AGENT_NOT_VIP;
	if (env_balancer(&pkt->src) != pkt->version)
		return AGENT_BAD_SOURCE;
	if (inner.length < inner.header || inner.length > room)
		return AGENT_TRUNCATED;
	return PKT_ON;
}

/* Which ECN bits the inner packet has from now on (RFC 6040, figure 4), or -1: it is lost. */
PKT_INLINE int decap_ecn(__u8 outer, __u8 inner)
{
	if (outer == DECAP_CE)
		return inner ? DECAP_CE : -1;
	if (outer == DECAP_ECT1 && inner == DECAP_ECT0)
		return DECAP_ECT1;
	return inner;
}

PKT_INLINE int decap_carry_ecn4(pkt_ip4 *ip, __u8 outer)
{
	int ecn = decap_ecn(outer, ip->tos & 3);
	__u32 sum = (__u16)~ip->check;

	if (ecn < 0)
		return AGENT_NOT_ECT;
	if (ecn == (ip->tos & 3))
		return PKT_ON;
	/* RFC 1624, equation 3: the word that holds version, ihl and ToS changes. */
	sum += (__u16)~PKT_BE16(ip->tos) + PKT_BE16((ip->tos & 0xfc) | ecn);
	ip->tos = (__u8)((ip->tos & 0xfc) | ecn);
	ip->check = (__u16)~pkt_csum_fold(sum);
	return PKT_ON;
}

PKT_INLINE int decap_carry_ecn6(pkt_ip6 *ip, __u8 outer)
{
	int ecn = decap_ecn(outer, ip->flow_lbl[0] >> 4 & 3);

	if (ecn < 0)
		return AGENT_NOT_ECT;
	ip->flow_lbl[0] = (__u8)((ip->flow_lbl[0] & 0xcf) | ecn << 4);
	return PKT_ON;
}

PKT_INLINE int decap_carry_ecn(const struct pkt_ctx *ctx, const struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	pkt_ip6 *ip6;
	pkt_ip4 *ip4;

	if (pkt->proto == IPPROTO_IPIP) {
		ip4 = pkt_take(&cursor, pkt_ip4);
		return ip4 ? decap_carry_ecn4(ip4, pkt->tos & 3) : AGENT_MALFORMED;
	}
	ip6 = pkt_take(&cursor, pkt_ip6);
	return ip6 ? decap_carry_ecn6(ip6, pkt->tos & 3) : AGENT_MALFORMED;
}

/* Takes the outer header off. Always a verdict. */
PKT_STAGE int decap_strip(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, 0);
	pkt_eth *eth = pkt_take(&cursor, pkt_eth);
	pkt_eth kept;
	int carried;

	if (!pkt || !eth)
		return AGENT_MALFORMED;
	pkt_copy(&kept, eth, sizeof(kept));
	kept.h_proto = pkt->proto == IPPROTO_IPIP ? PKT_BE16(ETH_P_IP) : PKT_BE16(ETH_P_IPV6);
	carried = decap_carry_ecn(ctx, pkt);
	if (carried != PKT_ON)
		return carried;
	if (pkt_adjust_head(ctx, pkt->l4 - (int)sizeof(kept)))
		return AGENT_NO_ROOM;
	cursor = pkt_cursor(ctx, 0);
	eth = pkt_take(&cursor, pkt_eth);
	if (!eth)
		return AGENT_NO_ROOM;
	pkt_copy(eth, &kept, sizeof(kept));
	return AGENT_DECAPSULATED;
}

/* The whole way. Counts; the verdict's action is the includer's to carry out. */
PKT_INLINE int decap(struct pkt_ctx *ctx, struct pkt *pkt)
{
	int verdict = decap_outer(ctx, pkt);

	if (verdict == PKT_ON)
		verdict = decap_inner(ctx, pkt);
	if (verdict == PKT_ON)
		verdict = decap_strip(ctx, pkt);
	env_count(pkt, (__u32)verdict);
	return verdict;
}
