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

#include "pkt/csum.h"
#include "second/accept.h"
#include "second/packet.h"
#include "second/read.h"

enum second_done {
	SECOND_HERE,      /* for this host */
	SECOND_UNCLAIMED, /* the last host does not accept it either, and somebody refused it */
	SECOND_ON,        /* written for the other owner: nobody here knows it */
	SECOND_WEAK,      /* the same: somebody here refused it */
};

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
