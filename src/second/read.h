/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a packet that may have a second chance says: GUE's private data, and of the inner packet the
 * tuple and the numbers that sockets are asked by. A part of second.h.
 */
#pragma once

#include "l4/quote.h"
#include "pkt/chain.h"
#include "pkt/parse.h"
#include "second/packet.h"
#include "tunnel/format.h"

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
