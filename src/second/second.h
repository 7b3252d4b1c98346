/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The second chance of a packet that came in GUE's variant 0 and names another owner of its slot:
 * it stays if a socket here accepts the TCP segment, or one that an ICMP error quotes (accept.h);
 * else it goes on to the other owner, once, which is counted in the header. Where a socket is there
 * but refuses, a weak bit goes along, and the last host then drops the packet rather than let its
 * stack answer RST for a connection that may be somebody's. Other protocols and pieces stay.
 *
 * The includer supplies, before it includes this:
 *   __u32 env_spaces(void)  network namespaces to look in, 1 or more
 *   void env_socket(ctx, const struct pkt *, const struct second *, __u32 space,
 *                   struct accept_socket *)
 *                           the socket of the inner tuple there; *ret is zero before
 *   int env_route(ctx, const struct second *, __u8 version, struct second_way *)
 *                           how a packet of the host gets to second->other; 0: it does not know
 */
#pragma once

#include "l4/quote.h"
#include "pkt/chain.h"
#include "pkt/csum.h"
#include "second/accept.h"
#include "second/packet.h"
#include "tunnel/format.h"

enum second_done {
	SECOND_HERE,      /* for this host */
	SECOND_UNCLAIMED, /* the last host does not accept it either, and somebody refused it */
	SECOND_ON,        /* written for the other owner: nobody here knows it */
	SECOND_WEAK,      /* the same: somebody here refused it */
};

/* After tunnel_open: what the private data say, if they are ours. pkt is the outer packet. */
PKT_INLINE void second_find(const struct pkt_ctx *ctx, const struct pkt *pkt, struct second *second)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, second->at);
	tunnel_gue0 *gue = pkt_take(&cursor, tunnel_gue0);
	int is4 = pkt->version == 4;
	__u8 *other;

	if (!gue || gue->kind != TUNNEL_GUE0_KIND ||
	    gue->words != (is4 ? TUNNEL_GUE0_WORDS4 : TUNNEL_GUE0_WORDS6))
		return;
	second->hops = gue->hops;
	second->weak = gue->private_flags & TUNNEL_GUE0_WEAK;
	if (gue->family != pkt->version)
		return;
	if (is4) {
		other = pkt_take_bytes(&cursor, sizeof(__be32));
		if (!other)
			return;
		second->other.word[2] = PKT_BE32(0xffff);
		pkt_copy(&second->other.word[3], other, sizeof(__be32));
	} else {
		other = pkt_take_bytes(&cursor, sizeof(second->other));
		if (!other)
			return;
		pkt_copy(second->other.word, other, sizeof(second->other));
	}
	second->named = !pkt_addr_equal(&second->other, &pkt->dst);
}

/* --- what the inner packet is --- */

/* Its IP header, at offsets of the frame as it is. */
PKT_INLINE int second_ip(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	__u16 shift = pkt->l4 - (__u16)sizeof(pkt_eth);
	enum pkt_parsed parsed = pkt->proto == IPPROTO_IPIP ? pkt_parse_ip4(&cursor, pkt)
							    : pkt_parse_ip6(&cursor, pkt);

	pkt->l4 += shift;
	pkt->length += shift;
	return parsed == PKT_PARSED && (!pkt->fragment || pkt->version == 6);
}

/* Steps over IPv6's extension headers. Whether the transport header of a whole packet follows. */
PKT_INLINE int second_chain(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_chain chain = {
		.at = pkt->l4,
		.end = pkt->length + (__u32)sizeof(pkt_eth),
		.proto = pkt->proto,
	};

	if (pkt->version == 4 || !pkt_chain_is_extension(pkt->proto))
		return 1;
	if (pkt_chain_walk(ctx, &chain) != PKT_CHAIN_OVER || chain.fragment)
		return 0;
	pkt->proto = chain.proto;
	pkt->l4 = (__u16)chain.at;
	return 1;
}

PKT_INLINE int second_tcp(const struct pkt_ctx *ctx, struct pkt *pkt, struct second *second)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	__u32 room = pkt->length + (__u32)sizeof(pkt_eth) - pkt->l4;
	pkt_tcp *tcp = pkt_take(&cursor, pkt_tcp);

	if (!tcp || room < sizeof(*tcp))
		return 0;
	pkt->sport = tcp->source;
	pkt->dport = tcp->dest;
	second->segment.seq = PKT_HOST32(tcp->seq);
	second->segment.ack = PKT_HOST32(tcp->ack_seq);
	second->segment.flags = ((__u8 *)tcp)[13];
	return 1;
}

/* An error quotes at least the ports and the sequence of what the host sent. */
PKT_INLINE int second_quote(const struct pkt_ctx *ctx, struct pkt *pkt, struct second *second)
{
	struct pkt_cursor cursor;
	__be32 seq;
	__u8 *tcp;
	__u32 at;

	if (!l4_quote_find(ctx, pkt, &at) || pkt->proto != IPPROTO_TCP)
		return 0;
	cursor = pkt_cursor(ctx, at);
	tcp = pkt_take_bytes(&cursor, 8);
	if (!tcp || at + 8 > pkt->length + sizeof(pkt_eth))
		return 0;
	pkt_copy(&seq, tcp + 4, sizeof(seq));
	second->segment.seq = PKT_HOST32(seq);
	second->segment.quoted = 1;
	return 1;
}

/* Makes *pkt the inner packet. Whether it is one of those that sockets are asked about. */
PKT_STAGE int second_read(struct pkt_ctx *ctx, struct pkt *pkt, struct second *second)
{
	if (!ctx || !pkt || !second)
		return 0;
	second->ip = pkt->l4;
	if (!second_ip(ctx, pkt) || !second_chain(ctx, pkt))
		return 0;
	if (pkt->proto == IPPROTO_TCP)
		return second_tcp(ctx, pkt, second);
	if (pkt->proto == (pkt->version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6))
		return second_quote(ctx, pkt, second);
	return 0;
}

/* --- who wants it --- */

PKT_STAGE int second_ask(struct pkt_ctx *ctx, struct pkt *pkt, struct second *second, __u32 space)
{
	struct accept_socket socket = {};

	if (!ctx || !pkt || !second)
		return ACCEPTED_NONE;
	env_socket(ctx, pkt, second, space, &socket);
	return accept_decide(&socket, &second->segment);
}

PKT_INLINE int second_ask_all(struct pkt_ctx *ctx, struct pkt *pkt, struct second *second)
{
	int best = ACCEPTED_NONE;

	for (__u32 space = 0; space <= SECOND_SPACES && space < env_spaces(); space++) {
		int said = second_ask(ctx, pkt, second, space);

		if (said > best)
			best = said;
		if (best == ACCEPTED_YES)
			break;
	}
	return best;
}

/* --- onwards --- */

/* From this host to the other owner: what was the destination is the source. */
PKT_INLINE int second_turn4(struct pkt_cursor *cursor, const struct second *second)
{
	pkt_ip4 *ip = pkt_take(cursor, pkt_ip4);

	if (!ip)
		return 0;
	ip->check = pkt_csum_mend(ip->check, pkt_csum_word(ip->saddr),
				  pkt_csum_word(second->other.word[3]));
	ip->saddr = ip->daddr;
	ip->daddr = second->other.word[3];
	return 1;
}

PKT_INLINE int second_turn6(struct pkt_cursor *cursor, const struct second *second)
{
	pkt_ip6 *ip = pkt_take(cursor, pkt_ip6);

	if (!ip)
		return 0;
	pkt_copy_words(&ip->saddr, &ip->daddr, sizeof(ip->daddr));
	pkt_copy_words(&ip->daddr, second->other.word, sizeof(ip->daddr));
	return 1;
}

/* Where the host knows no way, the sender's: a router sent it, or a node that knows both. */
PKT_INLINE void second_link(pkt_eth *eth, const struct second_way *way)
{
	__u8 kept[ETH_ALEN];

	if (way->ifindex) {
		pkt_copy(eth->h_dest, way->to, ETH_ALEN);
		pkt_copy(eth->h_source, way->from, ETH_ALEN);
		return;
	}
	pkt_copy(kept, eth->h_dest, ETH_ALEN);
	pkt_copy(eth->h_dest, eth->h_source, ETH_ALEN);
	pkt_copy(eth->h_source, kept, ETH_ALEN);
}

/* Writes it for the other owner. Of pkt only the outer version is asked. */
PKT_STAGE int second_hand_on(struct pkt_ctx *ctx, struct pkt *pkt, struct second *second, int weak)
{
	struct second_way way = {};
	struct pkt_cursor cursor;
	tunnel_gue0 *gue;
	pkt_eth *eth;

	if (!ctx || !pkt || !second)
		return SECOND_HERE;
	if (!env_route(ctx, second, pkt->version, &way))
		way.ifindex = 0;
	second->ifindex = way.ifindex ? way.ifindex : ctx->ingress_ifindex;
	cursor = pkt_cursor(ctx, second->at);
	gue = pkt_take(&cursor, tunnel_gue0);
	if (!gue)
		return SECOND_HERE;
	gue->hops = 1;
	gue->private_flags = weak ? TUNNEL_GUE0_WEAK : 0;
	cursor = pkt_cursor(ctx, 0);
	eth = pkt_take(&cursor, pkt_eth);
	if (!eth)
		return SECOND_HERE;
	second_link(eth, &way);
	if (!(pkt->version == 4 ? second_turn4(&cursor, second) : second_turn6(&cursor, second)))
		return SECOND_HERE;
	return weak ? SECOND_WEAK : SECOND_ON;
}

/*
 * Whose it is, of a packet from one who is believed, before the tunnel is taken off. pkt is as
 * tunnel_open left it, and is so again afterwards in what the tunnel's end needs.
 */
PKT_STAGE int second_chance(struct pkt_ctx *ctx, struct pkt *pkt, struct second *second)
{
	struct pkt outer = {};
	int said;

	if (!ctx || !pkt || !second)
		return SECOND_HERE;
	outer.l4 = pkt->l4;
	outer.length = pkt->length;
	outer.proto = pkt->proto;
	outer.tos = pkt->tos;
	outer.version = pkt->version;
	said = second_read(ctx, pkt, second) ? second_ask_all(ctx, pkt, second) : ACCEPTED_YES;
	pkt->l4 = outer.l4;
	pkt->length = outer.length;
	pkt->proto = outer.proto;
	pkt->tos = outer.tos;
	pkt->version = outer.version;
	if (said == ACCEPTED_YES)
		return SECOND_HERE;
	if (!second->hops && second->named)
		return second_hand_on(ctx, pkt, second, said == ACCEPTED_REFUSED);
	return second->hops && second->weak ? SECOND_UNCLAIMED : SECOND_HERE;
}
