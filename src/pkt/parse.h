/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From bytes to struct pkt: Ethernet, IPv4 (RFC 791) and IPv6 (RFC 8200), TCP (RFC 9293) and UDP
 * (RFC 768). Two steps, because only a VIP's packets are ours: pkt_parse_ip reads what finds the
 * VIP, pkt_parse_l4 the rest. Lengths that headers claim are checked against the frame and each
 * other; Ethernet padding is no part of the packet.
 */
#pragma once

#include <linux/in.h>

#include "pkt/addr.h"
#include "pkt/cursor.h"
#include "pkt/vlan.h"

enum pkt_tcp_flags { PKT_TCP_FIN = 1, PKT_TCP_SYN = 2, PKT_TCP_RST = 4, PKT_TCP_ACK = 16 };

/* Kinds of options, and how many bytes a header has for them. */
enum { PKT_TCP_OPTION_END, PKT_TCP_OPTION_NOP, PKT_TCP_OPTION_MSS, PKT_TCP_OPTIONS_MAX = 40 };

/* What few packets need when they are wrapped, behind one question. */
enum pkt_seldom {
	PKT_SELDOM_TAGS = 1, /* came with VLAN tags */
	PKT_SELDOM_MSS = 2,  /* a SYN, and its service clamps the MSS */
	PKT_SELDOM_HOPS = 4, /* came in a tunnel, whose TTL goes on counting */
};

/* What the stages know of a frame. Numbers are the host's but for the __be ones. */
struct pkt {
	struct pkt_addr src;
	struct pkt_addr dst;
	__be16 sport;
	__be16 dport;
	__u8 proto;         /* IPPROTO_*: of IPv6 the first next header */
	__u8 version;       /* 4 or 6 */
	__u8 tos;           /* ToS or traffic class */
	__u8 tcp_flags;     /* pkt_tcp_flags */
	__u16 length;       /* of the IP packet with its header */
	__u16 l4;           /* where the transport header begins, from the frame's start */
	__u8 fragment;      /* a piece of a datagram, the first one included */
	__u8 later;         /* a piece that is not the first: it has no ports */
	__u8 seldom;        /* enum pkt_seldom */
	__u8 why;           /* enum why */
	__u8 quoted;        /* an ICMP error: addresses, ports and protocol are the quoted flow's */
	__u8 mode;          /* the service's: enum tunnel_mode */
	__u8 labelled;      /* a tracked flow without an entry has `label_slot` */
	__u8 unquoted;      /* what is quoted lacks what the service's policy goes by */
	__u8 piece_proto;   /* of a piece: the protocol that all pieces name */
	__u8 hops;          /* came in a tunnel: the TTL that the next one begins with; else 0 */
	__u16 fits;         /* of what is given to the daemon: the largest packet that fits */
	__be32 fragment_id; /* of a piece: the datagram's */
	__u32 frame_length; /* as it came */
	__u32 service;      /* chosen so far; 0: none */
	__u32 backend;      /* chosen so far; 0: none */
	__u32 slot;         /* in all slots */
	__u32 table_first;  /* the pool's first slot */
	union {
		__u32 label_slot; /* in all slots, by the flow label */
		__u32 other;      /* once it is sent: who else may have its flow; 0: nobody */
	};
	struct pkt_vlan vlan; /* tags that were taken off, and are to be put back */
	__u64 hash;           /* of the flow, by the fleet's seed */
};

enum pkt_parsed {
	PKT_PARSED,
	PKT_PARSED_NOT_IP,
	PKT_PARSED_MALFORMED,
};

/* An address as it stands in a header, by halves (pkt_addr4). */
PKT_INLINE struct pkt_addr pkt_addr6(const void *at)
{
	const pkt_half *halves = at;
	struct pkt_addr addr = {.half = {halves[0], halves[1]}};

	return addr;
}

PKT_INLINE enum pkt_parsed pkt_parse_ip4(struct pkt_cursor *cursor, struct pkt *pkt)
{
	__u64 room = (__u64)cursor->end - (__u64)cursor->at;
	pkt_ip4 *ip = pkt_take(cursor, pkt_ip4);
	__u32 header;

	if (!ip || ip->version != 4 || ip->ihl < 5)
		return PKT_PARSED_MALFORMED;
	header = ip->ihl * 4U;
	pkt->length = PKT_HOST16(ip->tot_len);
	if (pkt->length < header || pkt->length > room)
		return PKT_PARSED_MALFORMED;
	pkt->version = 4;
	pkt->tos = ip->tos;
	pkt->proto = ip->protocol;
	pkt->fragment = (ip->frag_off & PKT_BE16(0x3fff)) != 0;
	if (pkt->fragment)
		pkt->later = (ip->frag_off & PKT_BE16(0x1fff)) != 0;
	pkt->l4 = (__u16)(sizeof(pkt_eth) + header);
	pkt->src = pkt_addr4(ip->saddr);
	pkt->dst = pkt_addr4(ip->daddr);
	return PKT_PARSED;
}

PKT_INLINE enum pkt_parsed pkt_parse_ip6(struct pkt_cursor *cursor, struct pkt *pkt)
{
	__u64 room = (__u64)cursor->end - (__u64)cursor->at;
	pkt_ip6 *ip = pkt_take(cursor, pkt_ip6);
	__u32 length;

	if (!ip || ip->version != 6)
		return PKT_PARSED_MALFORMED;
	length = sizeof(*ip) + (__u32)PKT_HOST16(ip->payload_len);
	if (length > room || length > 0xffff)
		return PKT_PARSED_MALFORMED;
	pkt->length = (__u16)length;
	pkt->version = 6;
	pkt->tos = (__u8)(ip->priority << 4 | ip->flow_lbl[0] >> 4);
	pkt->proto = ip->nexthdr;
	pkt->fragment = ip->nexthdr == IPPROTO_FRAGMENT;
	pkt->l4 = sizeof(pkt_eth) + sizeof(*ip);
	pkt->src = pkt_addr6(&ip->saddr);
	pkt->dst = pkt_addr6(&ip->daddr);
	return PKT_PARSED;
}

/* Fills version, lengths, addresses, protocol, ToS, fragment and l4; `later` must be 0 before. */
PKT_INLINE enum pkt_parsed pkt_parse_ip(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, 0);
	pkt_eth *eth = pkt_take(&cursor, pkt_eth);

	if (!eth)
		return PKT_PARSED_MALFORMED;
	if (eth->h_proto == PKT_BE16(ETH_P_IP))
		return pkt_parse_ip4(&cursor, pkt);
	if (eth->h_proto == PKT_BE16(ETH_P_IPV6))
		return pkt_parse_ip6(&cursor, pkt);
	return PKT_PARSED_NOT_IP;
}

PKT_INLINE enum pkt_parsed pkt_parse_tcp(struct pkt_cursor *cursor, struct pkt *pkt, __u32 room)
{
	pkt_tcp *tcp = pkt_take(cursor, pkt_tcp);

	if (!tcp || room < sizeof(*tcp) || tcp->doff < 5 || tcp->doff * 4U > room)
		return PKT_PARSED_MALFORMED;
	pkt->sport = tcp->source;
	pkt->dport = tcp->dest;
	pkt->tcp_flags = ((__u8 *)tcp)[13];
	return PKT_PARSED;
}

PKT_INLINE enum pkt_parsed pkt_parse_udp(struct pkt_cursor *cursor, struct pkt *pkt, __u32 room)
{
	pkt_udp *udp = pkt_take(cursor, pkt_udp);
	__u32 length;

	if (!udp || room < sizeof(*udp))
		return PKT_PARSED_MALFORMED;
	length = PKT_HOST16(udp->len);
	if (length < sizeof(*udp) || length > room)
		return PKT_PARSED_MALFORMED;
	pkt->sport = udp->source;
	pkt->dport = udp->dest;
	return PKT_PARSED;
}

/* After pkt_parse_ip, for TCP and UDP: fills ports and TCP flags. */
PKT_INLINE enum pkt_parsed pkt_parse_l4(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	__u32 room = pkt->length + (__u32)sizeof(pkt_eth) - pkt->l4;

	if (pkt->proto == IPPROTO_TCP)
		return pkt_parse_tcp(&cursor, pkt, room);
	return pkt_parse_udp(&cursor, pkt, room);
}
