/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the backend's port is another than the VIP's: the inner packet of a Geneve tunnel comes to
 * the port that the option names, and so does the quote of an ICMP error; what the server sends
 * leaves from the VIP's port again, or its client would not know it (answer_port). Checksums are
 * mended by the difference (RFC 1624), so that a damaged packet stays one.
 *
 * Who says which ports belong together? The agent's file, which nothing contradicts, and packets
 * of balancers: they alone are believed, for whoever could write here could turn the answers of a
 * VIP's servers to a port of their choice.
 *
 * The includer supplies, beside what decap.h asks for:
 *   struct agent_other_port *env_port(const struct agent_port *)  NULL: nothing is known
 *   int env_learn_port(const struct agent_port *, __be16)         0, or negative: no place
 */
#pragma once

#include "decap/abi_agent.h"
#include "l4/quote.h"
#include "pkt/csum.h"
#include "tunnel/open.h"

enum {
	PORTS_DEST_AT = 2, /* of TCP's and UDP's header */
	PORTS_UDP_CHECK_AT = 6,
	PORTS_TCP_CHECK_AT = 16,
	PORTS_ICMP_CHECK_AT = 2,
	PORTS_TCP_READ = 18, /* bytes up to the checksum's end */
	PORTS_UDP_READ = 8,
};

typedef __be16 ports_word PKT_LOOSE;

/* UDP's 0 says that there is none, and a sum of 0 is written as ones (RFC 768). */
PKT_INLINE void ports_mend(ports_word *check, __u8 proto, __u32 old, __u32 new)
{
	if (proto == IPPROTO_UDP && !*check)
		return;
	*check = pkt_csum_mend(*check, old, new);
	if (proto == IPPROTO_UDP && !*check)
		*check = 0xffff;
}

/* Does the file, or what was learned, allow that the server's `to` stands for the VIP's port? */
PKT_INLINE int ports_agree(const struct tunnel_told *told, __u8 proto)
{
	struct agent_port key = {.vip = told->vip, .port = told->to, .proto = proto};
	struct agent_other_port *known = env_port(&key);

	if (known ? known->port == told->vip_port : told->to == told->vip_port)
		return PKT_ON;
	if (known && known->given)
		return AGENT_BAD_PORT;
	return env_learn_port(&key, told->vip_port) ? AGENT_PORTS_FULL : PKT_ON;
}

/* The inner packet's fields, at offsets of the frame as it is: with the outer header before it. */
PKT_INLINE int ports_read(const struct pkt_ctx *ctx, const struct pkt *outer, struct pkt *ret)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, outer->l4);
	__u16 shift = outer->l4 - (__u16)sizeof(pkt_eth);
	enum pkt_parsed parsed = outer->proto == IPPROTO_IPIP ? pkt_parse_ip4(&cursor, ret)
							      : pkt_parse_ip6(&cursor, ret);

	ret->l4 += shift;
	ret->length += shift;
	return parsed == PKT_PARSED;
}

/* Steps over IPv6 extension headers. Whether a transport header is where pkt->l4 says. */
PKT_INLINE int ports_find_l4(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_chain chain = {
		.at = pkt->l4,
		.end = pkt->length + (__u32)sizeof(pkt_eth),
		.proto = pkt->proto,
	};

	if (pkt->version == 6 && pkt_chain_is_extension(pkt->proto)) {
		if (pkt_chain_walk(ctx, &chain) != PKT_CHAIN_OVER)
			return 0;
		pkt->proto = chain.proto;
		pkt->later = chain.later;
		pkt->l4 = (__u16)chain.at;
	}
	return !pkt->later;
}

/* The transport's checksum, `header` on the header; NULL: it is not within the packet. */
PKT_INLINE ports_word *ports_check(const struct pkt_ctx *ctx, const struct pkt *pkt,
				   __u8 **ret_header)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	__u32 room = pkt->length + (__u32)sizeof(pkt_eth) - pkt->l4;

	if (pkt->proto == IPPROTO_TCP) {
		*ret_header = pkt_take_bytes(&cursor, PORTS_TCP_READ);
		if (!*ret_header || room < PORTS_TCP_READ)
			return 0;
		return (ports_word *)(*ret_header + PORTS_TCP_CHECK_AT);
	}
	*ret_header = pkt_take_bytes(&cursor, PORTS_UDP_READ);
	if (!*ret_header || room < PORTS_UDP_READ)
		return 0;
	return (ports_word *)(*ret_header + PORTS_UDP_CHECK_AT);
}

/* A TCP or UDP packet, be it the first piece of one, to the server's port. */
PKT_STAGE int ports_deliver_packet(struct pkt_ctx *ctx, struct pkt *pkt, struct tunnel_told *told)
{
	ports_word *check, *dest;
	__u8 *header;
	int agreed;

	if (!ctx || !pkt || !told)
		return AGENT_MALFORMED;
	check = ports_check(ctx, pkt, &header);
	if (!check)
		return AGENT_TRUNCATED;
	dest = (ports_word *)(header + PORTS_DEST_AT);
	if (*dest != told->vip_port)
		return AGENT_BAD_OPTION;
	agreed = ports_agree(told, pkt->proto);
	if (agreed != PKT_ON)
		return agreed;
	ports_mend(check, pkt->proto, *dest, told->to);
	*dest = told->to;
	return PKT_ON;
}

/* The quoted packet came from the server's port, as the server knows it. */
PKT_INLINE int ports_change_quote(const struct pkt_ctx *ctx, const struct pkt *pkt, __u32 quoted_at,
				  __be16 to)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	__u8 *icmp = pkt_take_bytes(&cursor, PORTS_ICMP_CHECK_AT + sizeof(__be16));
	ports_word *source, *check;

	cursor = pkt_cursor(ctx, quoted_at);
	source = pkt_take(&cursor, ports_word);
	if (!icmp || !source)
		return AGENT_TRUNCATED;
	check = (ports_word *)(icmp + PORTS_ICMP_CHECK_AT);
	*check = pkt_csum_mend(*check, *source, to);
	*source = to;
	return PKT_ON;
}

/* An ICMP error about a packet that has ports; *ret_at is where they stand. */
PKT_INLINE int ports_find_quote(const struct pkt_ctx *ctx, struct pkt *pkt, __u32 *ret_at)
{
	return l4_quote_find(ctx, pkt, ret_at) &&
	       (pkt->proto == IPPROTO_TCP || pkt->proto == IPPROTO_UDP);
}

/* An ICMP error of which the option speaks; any other ICMP goes on as it is. */
PKT_STAGE int ports_deliver_error(struct pkt_ctx *ctx, struct pkt *pkt, struct tunnel_told *told)
{
	__u32 quoted_at;
	int agreed;

	if (!ctx || !pkt || !told)
		return AGENT_MALFORMED;
	if (!ports_find_quote(ctx, pkt, &quoted_at))
		return PKT_ON;
	if (pkt->dport != told->vip_port)
		return AGENT_BAD_OPTION;
	agreed = ports_agree(told, pkt->proto);
	return agreed == PKT_ON ? ports_change_quote(ctx, pkt, quoted_at, told->to) : agreed;
}

/*
 * Between tunnel_read_inner and tunnel_strip, where the tunnel told of a VIP: brings the inner
 * packet to the port that was told. An option with port 0 speaks of a packet without ports.
 */
PKT_STAGE int ports_deliver(struct pkt_ctx *ctx, struct pkt *pkt, struct tunnel_told *told)
{
	struct pkt inner = {};

	if (!ctx || !pkt || !told)
		return AGENT_MALFORMED;
	if (!ports_read(ctx, pkt, &inner))
		return AGENT_MALFORMED;
	if (told->version != inner.version || !pkt_addr_equal(&told->vip, &inner.dst))
		return AGENT_BAD_OPTION;
	if (!told->to || !ports_find_l4(ctx, &inner))
		return PKT_ON;
	if (inner.proto == IPPROTO_TCP || inner.proto == IPPROTO_UDP)
		return ports_deliver_packet(ctx, &inner, told);
	if (inner.proto == IPPROTO_ICMP || inner.proto == IPPROTO_ICMPV6)
		return ports_deliver_error(ctx, &inner, told);
	return PKT_ON;
}
