/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tunnels over UDP: GUE of both variants, and Geneve of network 0, with or without our option.
 * A part of open.h, which says what is taken for a tunnel and what is left alone.
 */
#pragma once

#include "pkt/parse.h"
#include "tunnel/encap.h"

enum tunnel_opened {
	TUNNEL_OPENED,
	TUNNEL_FOREIGN, /* none, or none that a balancer makes */
	TUNNEL_PIECE,   /* a fragment of one, which cannot be taken apart */
	TUNNEL_BROKEN,  /* an IP header that is cut short or contradicts itself */
	TUNNEL_OFF,     /* of a mode that env_takes denies; not read any further */
};

enum {
	TUNNEL_GENEVE_OPTIONS_MAX = 8,
	TUNNEL_GENEVE_WORDS = 0x3f, /* the bits of a header's, and of an option's length */
	TUNNEL_GENEVE_OPTION_WORDS = 0x1f,
	TUNNEL_GENEVE_UNHEARD = 0xc0, /* OAM, or something critical in it */
	TUNNEL_GENEVE_CRITICAL = 0x80,
	TUNNEL_GUE0_WORDS = 0x1f,
	TUNNEL_GUE0_HEAD = 4, /* bytes before private data */
};

/* What a mode says beside the packet (format.h). Zero: nothing. */
struct tunnel_told {
	struct pkt_addr vip;
	__be16 vip_port;
	__be16 to;
	__u8 version; /* of the VIP: 4 or 6; 0: nothing was said */
	__u8 next;    /* header, where an extension header of IPv6 said it */
	__u16 gue0;   /* from the frame's start to the header of GUE's variant 0; 0: none */
};

PKT_INLINE int tunnel_is_ip(__u8 proto)
{
	return proto == IPPROTO_IPIP || proto == IPPROTO_IPV6;
}

/*
 * A header of `size` bytes behind the outer IP header, or NULL: it is not within the outer packet,
 * so it is none. What follows is from then on where the inner packet begins.
 */
PKT_INLINE void *tunnel_take(struct pkt_cursor *cursor, struct pkt *pkt, __u32 size)
{
	__u32 room = pkt->length + (__u32)sizeof(pkt_eth) - pkt->l4;

	if (room < size)
		return 0;
	pkt->l4 += (__u16)size;
	return pkt_take_bytes(cursor, size);
}

/* The inner packet's protocol by its Ethernet type. */
PKT_INLINE enum tunnel_opened tunnel_open_type(struct pkt *pkt, __be16 type)
{
	if (type != PKT_BE16(ETH_P_IP) && type != PKT_BE16(ETH_P_IPV6))
		return TUNNEL_FOREIGN;
	pkt->proto = type == PKT_BE16(ETH_P_IP) ? IPPROTO_IPIP : IPPROTO_IPV6;
	return TUNNEL_OPENED;
}

/* GUE's variant 0. Private data are stepped over; where they stand is told. */
PKT_INLINE enum tunnel_opened tunnel_open_gue0(struct pkt_cursor *cursor, struct pkt *pkt,
					       struct tunnel_told *told)
{
	__u16 at = pkt->l4;
	__u8 *head = tunnel_take(cursor, pkt, TUNNEL_GUE0_HEAD);
	__u32 data;

	/* Control messages, and flags that announce fields, which no balancer sends. */
	if (!head || head[0] & ~TUNNEL_GUE0_WORDS || head[2] || head[3] || !tunnel_is_ip(head[1]))
		return TUNNEL_FOREIGN;
	data = (head[0] & TUNNEL_GUE0_WORDS) * 4U;
	if (data > pkt->length + (__u32)sizeof(pkt_eth) - pkt->l4)
		return TUNNEL_FOREIGN;
	pkt->l4 += (__u16)data;
	pkt->proto = head[1];
	told->gue0 = at;
	return TUNNEL_OPENED;
}

/* The first two bits are the variant; of variant 1 they are those of an IP version. */
PKT_INLINE enum tunnel_opened tunnel_open_gue(struct pkt_cursor *cursor, struct pkt *pkt,
					      struct tunnel_told *told)
{
	struct pkt_cursor ahead = *cursor;
	__u8 *first = pkt_take(&ahead, __u8);

	if (!first || pkt->l4 >= pkt->length + sizeof(pkt_eth))
		return TUNNEL_FOREIGN;
	if (*first >> 6 == 0)
		return tunnel_open_gue0(cursor, pkt, told);
	if (*first >> 4 != 4 && *first >> 4 != 6)
		return TUNNEL_FOREIGN;
	pkt->proto = *first >> 4 == 4 ? IPPROTO_IPIP : IPPROTO_IPV6;
	return TUNNEL_OPENED;
}

/* Our option, by the words of data that it has. Whether it can be one. */
PKT_INLINE int tunnel_read_told(struct pkt_cursor *cursor, __u32 words, struct tunnel_told *ret)
{
	tunnel_geneve_vip *option = pkt_take(cursor, tunnel_geneve_vip);
	__be32 *vip4;
	__u8 *vip6;

	if (!option || (words != 2 && words != 5))
		return 0;
	ret->vip_port = option->vip_port;
	ret->to = option->port;
	if (words == 2) {
		vip4 = pkt_take_bytes(cursor, sizeof(*vip4));
		if (!vip4)
			return 0;
		ret->vip.word[2] = PKT_BE32(0xffff);
		pkt_copy(&ret->vip.word[3], vip4, sizeof(*vip4));
		ret->version = 4;
		return 1;
	}
	vip6 = pkt_take_bytes(cursor, sizeof(ret->vip));
	if (!vip6)
		return 0;
	pkt_copy(ret->vip.bytes, vip6, sizeof(ret->vip));
	ret->version = 6;
	return 1;
}

/*
 * One option of Geneve's. PKT_ON: it is behind us. A stage, so that the verifier reads it once.
 * pkt->l4 is where it begins, `end` where the options do; both count from the frame's start.
 */
PKT_STAGE int tunnel_geneve_step(struct pkt_ctx *ctx, struct pkt *pkt, struct tunnel_told *told,
				 __u32 end)
{
	struct pkt_cursor cursor, option;
	__u32 words, size;
	__u8 *head;

	if (!pkt || !told || !ctx)
		return TUNNEL_FOREIGN;
	option = cursor = pkt_cursor(ctx, pkt->l4);
	head = pkt_take_bytes(&cursor, 4);
	if (!head || pkt->l4 + 4U > end)
		return TUNNEL_FOREIGN;
	words = head[3] & TUNNEL_GENEVE_OPTION_WORDS;
	size = 4 + words * 4;
	if (size > end - pkt->l4)
		return TUNNEL_FOREIGN;
	pkt->l4 += (__u16)size;
	if (head[0] == TUNNEL_GENEVE_CLASS >> 8 && head[1] == (TUNNEL_GENEVE_CLASS & 0xff) &&
	    head[2] == TUNNEL_GENEVE_VIP)
		return tunnel_read_told(&option, words, told) ? PKT_ON : TUNNEL_FOREIGN;
	return head[2] & TUNNEL_GENEVE_CRITICAL ? TUNNEL_FOREIGN : PKT_ON;
}

/* Of several of ours the last holds. More options than a few no balancer sends. */
PKT_INLINE enum tunnel_opened tunnel_open_geneve(struct pkt_ctx *ctx, struct pkt_cursor *cursor,
						 struct pkt *pkt, struct tunnel_told *told)
{
	tunnel_geneve *head = tunnel_take(cursor, pkt, sizeof(*head));
	__be16 type;
	__u32 end;

	if (!head || head->words & ~TUNNEL_GENEVE_WORDS || head->flags & TUNNEL_GENEVE_UNHEARD ||
	    head->vni[0] || head->vni[1] || head->vni[2])
		return TUNNEL_FOREIGN;
	type = head->proto;
	end = pkt->l4 + (head->words & TUNNEL_GENEVE_WORDS) * 4U;
	if (end > pkt->length + sizeof(pkt_eth))
		return TUNNEL_FOREIGN;
	for (int i = 0; i < TUNNEL_GENEVE_OPTIONS_MAX && pkt->l4 < end; i++) {
		if (tunnel_geneve_step(ctx, pkt, told, end) != PKT_ON)
			return TUNNEL_FOREIGN;
	}
	return pkt->l4 == end ? tunnel_open_type(pkt, type) : TUNNEL_FOREIGN;
}

/* The inner packet ends where the datagram ends. */
PKT_INLINE enum tunnel_opened tunnel_open_udp(struct pkt_ctx *ctx, struct pkt *pkt,
					      struct tunnel_told *told)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	__u32 begin = pkt->l4 - (__u32)sizeof(pkt_eth), length;
	pkt_udp *udp = tunnel_take(&cursor, pkt, sizeof(*udp));

	/* Balancers send no checksum; one that is there would have to be verified. */
	if (!udp || udp->check)
		return TUNNEL_FOREIGN;
	if (udp->dest != PKT_BE16(TUNNEL_GUE_PORT) && udp->dest != PKT_BE16(TUNNEL_GENEVE_PORT))
		return TUNNEL_FOREIGN;
	length = PKT_HOST16(udp->len);
	if (length < sizeof(*udp) || begin + length > pkt->length)
		return TUNNEL_FOREIGN;
	pkt->length = (__u16)(begin + length);
	if (udp->dest == PKT_BE16(TUNNEL_GUE_PORT))
		return env_takes(TUNNEL_GUE) ? tunnel_open_gue(&cursor, pkt, told) : TUNNEL_OFF;
	return env_takes(TUNNEL_GENEVE) ? tunnel_open_geneve(ctx, &cursor, pkt, told) : TUNNEL_OFF;
}
