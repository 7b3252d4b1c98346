/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP errors (RFC 792, RFC 4443) and what they quote: the beginning of a packet that travelled
 * from a VIP to a client. Read backwards, its addresses and ports are those of the flow that the
 * error is about, so that the error can go where the flow goes. How long the quoted packet was, or
 * whether its checksums hold, is the backend's to judge.
 */
#pragma once

#include "l4/icmp.h"
#include "pkt/chain.h"
#include "pkt/parse.h"

enum { L4_QUOTED_FRAGMENT = 0x1fff }; /* the offset's bits: 0 in the piece that has the ports */

struct l4_port_pair {
	__be16 source, dest;
};
typedef struct l4_port_pair l4_ports PKT_LOOSE;

/* Source quench and redirects are no errors that a backend's TCP or UDP would hear (RFC 6633). */
PKT_INLINE int l4_icmp_is_error(const struct pkt *pkt, __u8 type)
{
	if (pkt->version == 4)
		return pkt->proto == IPPROTO_ICMP &&
		       (type == L4_ICMP4_UNREACHABLE || type == L4_ICMP4_TIME_EXCEEDED ||
			type == L4_ICMP4_PARAMETER);
	return pkt->proto == IPPROTO_ICMPV6 && type >= L4_ICMP6_UNREACHABLE &&
	       type <= L4_ICMP6_PARAMETER;
}

/*
 * Of ICMP, what no service gets, whatever it listens on: errors, which go by what they quote, echo
 * requests, and what neighbours on a link say to each other (RFC 4861). In the other family's
 * packets the protocol's number means nothing.
 */
PKT_INLINE int l4_icmp_is_hosts(const struct pkt_ctx *ctx, const struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	l4_icmp *icmp;

	if (pkt->proto != (pkt->version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6))
		return 0;
	icmp = pkt_take(&cursor, l4_icmp);
	if (!icmp || pkt->l4 + sizeof(*icmp) > pkt->length + sizeof(pkt_eth))
		return 1;
	if (l4_icmp_is_error(pkt, icmp->type))
		return 1;
	if (pkt->version == 4)
		return icmp->type == L4_ICMP4_ECHO;
	return icmp->type == L4_ICMP6_ECHO ||
	       (icmp->type >= L4_ICMP6_ND_FIRST && icmp->type <= L4_ICMP6_ND_LAST);
}

/* Both take the quoted packet's destination and protocol; whether it is one of the VIP's. */
PKT_INLINE int l4_quote_ip4(struct pkt_cursor *cursor, struct pkt *pkt, struct pkt_chain *chain)
{
	pkt_ip4 *ip = pkt_take(cursor, pkt_ip4);

	if (!ip || ip->version != 4 || ip->ihl < 5 || ip->saddr != pkt->dst.word[3])
		return 0;
	chain->later = (ip->frag_off & PKT_BE16(L4_QUOTED_FRAGMENT)) != 0;
	pkt->src = pkt_addr4(ip->daddr);
	chain->proto = ip->protocol;
	chain->at += ip->ihl * 4U;
	return 1;
}

PKT_INLINE int l4_quote_ip6(const struct pkt_ctx *ctx, struct pkt_cursor *cursor, struct pkt *pkt,
			    struct pkt_chain *chain)
{
	pkt_ip6 *ip = pkt_take(cursor, pkt_ip6);
	struct pkt_addr source;

	if (!ip || ip->version != 6)
		return 0;
	pkt_copy(source.word, &ip->saddr, sizeof(source));
	if (!pkt_addr_equal(&source, &pkt->dst))
		return 0;
	pkt_copy(pkt->src.word, &ip->daddr, sizeof(pkt->src));
	chain->proto = ip->nexthdr;
	chain->at += (__u32)sizeof(*ip);
	return !pkt_chain_is_extension(chain->proto) ||
	       pkt_chain_walk(ctx, chain) == PKT_CHAIN_OVER;
}

/* The quoted ports, the other way round; none, 0, where the protocol is another than TCP or UDP. */
PKT_INLINE int l4_quote_ports(const struct pkt_ctx *ctx, struct pkt *pkt,
			      const struct pkt_chain *chain)
{
	struct pkt_cursor cursor;
	__u32 at = chain->at;
	l4_ports *ports;

	pkt->sport = 0;
	pkt->dport = 0;
	if (chain->proto != IPPROTO_TCP && chain->proto != IPPROTO_UDP)
		return 1;
	/* What stands behind the packet's end is Ethernet's padding, not a port. */
	if (chain->later || at + sizeof(*ports) > chain->end || at > PKT_OFFSET_MAX)
		return 0;
	cursor = pkt_cursor(ctx, at);
	ports = pkt_take(&cursor, l4_ports);
	if (!ports)
		return 0;
	pkt->sport = ports->dest;
	pkt->dport = ports->source;
	return 1;
}

/*
 * For ICMP and ICMPv6, whose header is at pkt->l4. Returns whether this is an error about a packet
 * that the destination sent; then the packet's tuple is that of the quoted flow, seen from its
 * client, and it looks like a segment amid a connection; *ret_at is where the header stands, from
 * the frame's start, that follows the quoted IP header. If not, the tuple is void.
 */
PKT_INLINE int l4_quote_find(const struct pkt_ctx *ctx, struct pkt *pkt, __u32 *ret_at)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	l4_icmp *error = pkt_take(&cursor, l4_icmp);
	struct pkt_chain chain = {
		.at = pkt->l4 + (__u32)sizeof(*error),
		.end = pkt->length + (__u32)sizeof(pkt_eth),
	};

	if (!error || !l4_icmp_is_error(pkt, error->type))
		return 0;
	if (!(pkt->version == 4 ? l4_quote_ip4(&cursor, pkt, &chain)
				: l4_quote_ip6(ctx, &cursor, pkt, &chain)))
		return 0;
	/* The quoted packet's own header ends within the error. */
	if (chain.at > chain.end || !l4_quote_ports(ctx, pkt, &chain))
		return 0;
	pkt->quoted = 1;
	pkt->proto = chain.proto;
	pkt->tcp_flags = PKT_TCP_ACK;
	*ret_at = chain.at;
	return 1;
}

/* The same for who does not change the quote. */
PKT_INLINE int l4_quote_parse(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	__u32 at;

	return l4_quote_find(ctx, pkt, &at);
}
