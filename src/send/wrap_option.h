/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * forward: ipopt. No tunnel: the packet goes to the backend's address and port as any other would,
 * and an option says which VIP and port it was for. Checksums are brought along by what changes
 * (pkt/csum.h). Of what has no ports (later pieces, ICMP errors, other
 * protocols) nothing but IP is changed: whoever puts the VIP back makes it whole again. A part of
 * dp/forward.h, which says what the includer supplies.
 */
#pragma once

#include "dp/abi.h"
#include "dp/verdict.h"
#include "pkt/csum.h"
#include "pkt/parse.h"
#include "tunnel/format.h"
#include "tunnel/mode.h"

enum { WRAP_IHL_MAX = 13 }; /* of 15 words: more leaves no room for two */

PKT_INLINE __u32 wrap_change16(__be16 from, __be16 to)
{
	return (__u32)(__u16)~from + to;
}

/* IPv4's three first words are the same in all addresses, and cancel out. */
PKT_INLINE __u32 wrap_change_addr(const struct pkt_addr *from, const struct pkt_addr *to)
{
	__u64 sum = 0;

	for (int i = 0; i < 4; i++) {
		sum += (__u64)(__u32)~from->word[i] + to->word[i];
		pkt_hide(sum);
	}
	sum = (sum & 0xffffffff) + (sum >> 32);
	return pkt_csum_word((__u32)sum) + (__u32)(sum >> 32);
}

/* The option's port: 0 in what has none. */
PKT_INLINE __be16 wrap_option_port(const struct pkt *pkt)
{
	return pkt->later ? 0 : pkt->dport;
}

/* TCP or UDP, `grown` bytes further back than it came. */
PKT_INLINE int wrap_option_l4(const struct pkt_ctx *ctx, const struct pkt *pkt,
			      const struct abi_backend *backend, __u32 grown)
{
	__u32 change = wrap_change_addr(&pkt->dst, &backend->addr);
	__be16 port = backend->port ? backend->port : pkt->dport;
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	pkt_tcp *tcp;
	pkt_udp *udp;

	if (pkt->later || pkt->quoted)
		return PKT_ON;
	cursor.at += grown;
	change += wrap_change16(pkt->dport, port);
	if (pkt->proto == IPPROTO_TCP) {
		tcp = pkt_take(&cursor, pkt_tcp);
		if (!tcp)
			return VERDICT_NO_HEADROOM;
		tcp->dest = port;
		tcp->check = pkt_csum_change(tcp->check, change);
	} else if (pkt->proto == IPPROTO_UDP) {
		udp = pkt_take(&cursor, pkt_udp);
		if (!udp)
			return VERDICT_NO_HEADROOM;
		udp->dest = port;
		if (udp->check) {
			udp->check = pkt_csum_change(udp->check, change);
			udp->check = udp->check ? udp->check : 0xffff;
		}
	}
	return PKT_ON;
}

PKT_INLINE void wrap_option_ip4(pkt_ip4 *ip, tunnel_option4 *option, const struct pkt *pkt,
				const struct abi_backend *backend)
{
	__be16 length = PKT_BE16(pkt->length + sizeof(*option));
	__u32 change = wrap_change_addr(&pkt->dst, &backend->addr);

	option->type = TUNNEL_OPTION4_TYPE;
	option->length = sizeof(*option);
	option->port = wrap_option_port(pkt);
	option->vip = pkt->dst.word[3];
	change += PKT_BE16(TUNNEL_OPTION4_TYPE << 8 | sizeof(*option)) + (__u32)option->port;
	change += pkt_csum_word(option->vip);
	/* Two words more, in the header's first byte. */
	change += PKT_BE16(2 << 8) + wrap_change16(ip->tot_len, length);
	ip->ihl += 2;
	ip->tot_len = length;
	ip->daddr = backend->addr.word[3];
	ip->check = pkt_csum_change(ip->check, change);
}

PKT_STAGE int wrap_option4(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_backend *backend = pkt ? env_backend(pkt->backend) : 0;
	struct pkt_cursor cursor = pkt_cursor(ctx, sizeof(pkt_eth));
	pkt_ip4 *ip = pkt_take(&cursor, pkt_ip4);
	tunnel_option4 *option;
	pkt_eth *eth;

	if (!backend || !ip)
		return VERDICT_EMPTY;
	if (ip->ihl > WRAP_IHL_MAX || !pkt_addr_is4(&backend->addr))
		return VERDICT_NO_ROOM_OPTION;
	if (pkt_adjust_head(ctx, -(int)sizeof(*option)))
		return VERDICT_NO_HEADROOM;
	cursor = pkt_cursor(ctx, 0);
	eth = pkt_take(&cursor, pkt_eth);
	if (!eth)
		return VERDICT_NO_HEADROOM;
	ip = pkt_take(&cursor, pkt_ip4);
	if (!ip)
		return VERDICT_NO_HEADROOM;
	option = pkt_take(&cursor, tunnel_option4);
	if (!option)
		return VERDICT_NO_HEADROOM;
	pkt_copy_words(eth, backend->dst_mac, 2 * ETH_ALEN);
	eth->h_proto = PKT_BE16(ETH_P_IP);
	pkt_copy_words(ip, (__u8 *)ip + sizeof(*option), sizeof(*ip));
	wrap_option_ip4(ip, option, pkt, backend);
	return wrap_option_l4(ctx, pkt, backend, sizeof(*option));
}

PKT_INLINE void wrap_option_ip6(pkt_ip6 *ip, tunnel_option6 *option, const struct pkt *pkt,
				const struct abi_backend *backend)
{
	option->next = ip->nexthdr;
	option->units = TUNNEL_OPTION6_UNITS;
	option->type = TUNNEL_OPTION6_TYPE;
	option->data_length = TUNNEL_OPTION6_DATA;
	option->port = wrap_option_port(pkt);
	pkt_copy_words(option->vip, pkt->dst.word, sizeof(option->vip));
	option->pad_type = 1; /* RFC 8200, section 4.2 */
	option->pad_length = 0;
	ip->nexthdr = IPPROTO_DSTOPTS;
	ip->payload_len = PKT_BE16(pkt->length - sizeof(*ip) + sizeof(*option));
	pkt_copy(&ip->daddr, backend->addr.word, sizeof(ip->daddr));
}

/* Hop-by-hop options must come first (RFC 8200, section 4.1), and so leave no place. */
PKT_STAGE int wrap_option6(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_backend *backend = pkt ? env_backend(pkt->backend) : 0;
	struct pkt_cursor cursor = pkt_cursor(ctx, sizeof(pkt_eth));
	pkt_ip6 *ip = pkt_take(&cursor, pkt_ip6);
	tunnel_option6 *option;
	pkt_eth *eth;

	if (!backend || !ip)
		return VERDICT_EMPTY;
	if (ip->nexthdr == IPPROTO_HOPOPTS || pkt_addr_is4(&backend->addr))
		return VERDICT_NO_ROOM_OPTION;
	if (pkt_adjust_head(ctx, -(int)sizeof(*option)))
		return VERDICT_NO_HEADROOM;
	cursor = pkt_cursor(ctx, 0);
	eth = pkt_take(&cursor, pkt_eth);
	if (!eth)
		return VERDICT_NO_HEADROOM;
	ip = pkt_take(&cursor, pkt_ip6);
	if (!ip)
		return VERDICT_NO_HEADROOM;
	option = pkt_take(&cursor, tunnel_option6);
	if (!option)
		return VERDICT_NO_HEADROOM;
	pkt_copy_words(eth, backend->dst_mac, 2 * ETH_ALEN);
	eth->h_proto = PKT_BE16(ETH_P_IPV6);
	pkt_copy_words(ip, (__u8 *)ip + sizeof(*option), sizeof(*ip));
	wrap_option_ip6(ip, option, pkt, backend);
	return wrap_option_l4(ctx, pkt, backend, sizeof(*option));
}

PKT_INLINE int wrap_option(struct pkt_ctx *ctx, struct pkt *pkt)
{
	return pkt->version == 4 ? wrap_option4(ctx, pkt) : wrap_option6(ctx, pkt);
}
