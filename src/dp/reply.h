/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the balancer itself says to a client, in the place of the frame that it came in: that a
 * packet is too big for the tunnel (RFC 1191, RFC 4443 section 3.2), and the answer to a ping. The
 * answer leaves where the question came in, with the MAC addresses swapped; its IP header is
 * written afresh. All of it is off the common path, and all of it is under one limit a core. A
 * part of forward.h, which says what the includer supplies.
 */
#pragma once

#include "dp/abi.h"
#include "dp/verdict.h"
#include "l4/answer.h"
#include "pkt/parse.h"

enum {
	REPLY_MTU4_MIN = 68,   /* RFC 791, section 3.2 */
	REPLY_MTU6_MIN = 1280, /* RFC 8200, section 5 */
	REPLY_ECHO_REQUEST = 8,
	REPLY_ECHO = 0,
	REPLY_UNREACHABLE = 3,
	REPLY_NEEDS_FRAGMENTING = 4, /* a code */
	REPLY_ECHO_REQUEST6 = 128,
	REPLY_ECHO6 = 129,
	REPLY_TOO_BIG6 = 2,
};

/* Bytes quoted at most: a datagram of 576 (RFC 1812, section 4.3.2.3), a packet of 1280. */
enum {
	REPLY_QUOTE4 = 576 - sizeof(pkt_ip4) - sizeof(l4_icmp),
	REPLY_QUOTE6 = REPLY_MTU6_MIN - sizeof(pkt_ip6) - sizeof(l4_icmp),
};

/* Only a source that names one host may be answered (RFC 1122 3.2.2, RFC 4443 2.4), and no VIP
 * talks to itself. ::/64 holds the unspecified, the loopback and the mapped addresses. */
PKT_INLINE int reply_source_is_host(const struct pkt *pkt)
{
	__u8 first = pkt->src.bytes[pkt->version == 4 ? 12 : 0];

	if (pkt_addr_equal(&pkt->src, &pkt->dst))
		return 0;
	if (pkt->version == 4)
		return first != 0 && first != 127 && first < 224;
	return first != 0xff && pkt->src.half[0];
}

/* Nor is what came to, or claims to be from, a group of machines on the link. */
PKT_INLINE int reply_link_is_host(const pkt_eth *eth)
{
	return !((eth->h_dest[0] | eth->h_source[0]) & 1);
}

PKT_INLINE int reply_is_allowed(struct pkt *pkt)
{
	__u32 tick = (__u32)(env_now_ns() >> ABI_TICK_SHIFT);

	if (env_may_reply(env_node()->reply_limit, tick))
		return 1;
	pkt->why = WHY_LIMIT;
	return 0;
}

/* --- too big --- */

/* Makes room for `grown` bytes before the packet, of which `quote` bytes stay. */
PKT_INLINE int reply_quote(struct pkt_ctx *ctx, const struct pkt *pkt, __u32 grown, __u32 quote)
{
	__u32 length = sizeof(pkt_eth) + quote;

	if (pkt_adjust_head(ctx, -(int)grown))
		return -1;
	if (pkt_adjust_tail(ctx, (int)length - (int)pkt->frame_length))
		return -1;
	return l4_answer_eth(ctx, grown);
}

PKT_INLINE int reply_too_big4(struct pkt_ctx *ctx, const struct pkt *pkt, __u32 mtu)
{
	const __u32 icmp_at = sizeof(pkt_eth) + sizeof(pkt_ip4);
	__u32 quote = pkt->length < REPLY_QUOTE4 ? pkt->length & ~3U : REPLY_QUOTE4;
	struct pkt_cursor cursor;
	l4_icmp *icmp;
	pkt_ip4 *ip;

	if (reply_quote(ctx, pkt, sizeof(*ip) + sizeof(*icmp), quote))
		return VERDICT_NO_HEADROOM;
	cursor = pkt_cursor(ctx, sizeof(pkt_eth));
	ip = pkt_take(&cursor, pkt_ip4);
	if (!ip)
		return VERDICT_NO_HEADROOM;
	icmp = pkt_take(&cursor, l4_icmp);
	if (!icmp)
		return VERDICT_NO_HEADROOM;
	l4_answer_ip4(ip, pkt, sizeof(*ip) + sizeof(*icmp) + quote, 0, PKT_BE16(0x4000));
	icmp->type = REPLY_UNREACHABLE;
	icmp->code = REPLY_NEEDS_FRAGMENTING;
	icmp->check = 0;
	icmp->rest = PKT_BE32(mtu);
	icmp->check = l4_answer_checksum(ctx, icmp_at, 0);
	return VERDICT_TOO_BIG_ANSWERED;
}

PKT_INLINE int reply_too_big6(struct pkt_ctx *ctx, const struct pkt *pkt, __u32 mtu)
{
	const __u32 icmp_at = sizeof(pkt_eth) + sizeof(pkt_ip6);
	const __u32 icmp_length = sizeof(l4_icmp) + REPLY_QUOTE6;
	struct pkt_cursor cursor;
	l4_icmp *icmp;
	pkt_ip6 *ip;

	if (reply_quote(ctx, pkt, sizeof(*ip) + sizeof(*icmp), REPLY_QUOTE6))
		return VERDICT_NO_HEADROOM;
	cursor = pkt_cursor(ctx, sizeof(pkt_eth));
	ip = pkt_take(&cursor, pkt_ip6);
	if (!ip)
		return VERDICT_NO_HEADROOM;
	icmp = pkt_take(&cursor, l4_icmp);
	if (!icmp)
		return VERDICT_NO_HEADROOM;
	l4_answer_ip6(ip, pkt, sizeof(*ip) + icmp_length);
	icmp->type = REPLY_TOO_BIG6;
	icmp->code = 0;
	icmp->check = 0;
	icmp->rest = PKT_BE32(mtu);
	icmp->check = l4_answer_checksum(ctx, icmp_at, l4_answer_sum6(pkt, icmp_length));
	return VERDICT_TOO_BIG_ANSWERED;
}

/* May not be fragmented, and an error about it may be sent: it is no error itself, and what it
 * quotes names the flow. IPv6 of 1280 bytes and less has no smaller size (RFC 8201, section 4). */
PKT_INLINE int reply_is_due(const struct pkt_ctx *ctx, const struct pkt *pkt, int mtu)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, 0);
	pkt_eth *eth = pkt_take(&cursor, pkt_eth);
	pkt_ip4 *ip;

	/* Of what quotes a flow, the addresses are the flow's, not the packet's. */
	if (!eth || pkt->quoted || !reply_link_is_host(eth) || !reply_source_is_host(pkt))
		return 0;
	if (pkt->version == 6)
		return env_has(ABI_HAS_IPV6) && pkt->length > REPLY_MTU6_MIN;
	ip = pkt_take(&cursor, pkt_ip4);
	return ip && mtu >= REPLY_MTU4_MIN && ip->protocol != IPPROTO_ICMP &&
	       (ip->frag_off & PKT_BE16(0x5fff)) == PKT_BE16(0x4000);
}

/* For a packet longer than `mtu`, which is what fits. Always a verdict. */
PKT_STAGE int reply_too_big(struct pkt_ctx *ctx, struct pkt *pkt, int mtu)
{
	struct abi_service *service;

	if (!ctx || !pkt)
		return VERDICT_TOO_BIG;
	service = env_service(pkt->service);
	if (!service || !(service->flags & ABI_SERVICE_TOO_BIG) || !reply_is_due(ctx, pkt, mtu))
		return VERDICT_TOO_BIG;
	if (!reply_is_allowed(pkt))
		return VERDICT_REPLY_LIMITED;
	if (pkt->version == 4)
		return reply_too_big4(ctx, pkt, (__u32)mtu);
	/* RFC 2473, section 7.1: never less than every link must carry. */
	return reply_too_big6(ctx, pkt, mtu < REPLY_MTU6_MIN ? REPLY_MTU6_MIN : (__u32)mtu);
}

/* --- echo --- */

PKT_INLINE int reply_is_echo(const l4_icmp *icmp, __u8 type)
{
	return icmp->type == type && icmp->code == 0;
}

/* With options the host answers: they would have to be carried out (RFC 1122, 3.2.2.6). */
PKT_INLINE int reply_echo4(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, sizeof(pkt_eth));
	pkt_ip4 *ip = pkt_take(&cursor, pkt_ip4);
	l4_icmp *icmp;

	if (!ip)
		return VERDICT_OTHER_PROTOCOL;
	icmp = pkt_take(&cursor, l4_icmp);
	if (!icmp || ip->ihl != 5 || pkt->length < sizeof(*ip) + sizeof(*icmp) ||
	    !reply_is_echo(icmp, REPLY_ECHO_REQUEST))
		return VERDICT_OTHER_PROTOCOL;
	if (!reply_is_allowed(pkt))
		return VERDICT_REPLY_LIMITED;
	/* Routers may cut the answer in pieces: it has an id, and no DF. */
	l4_answer_ip4(ip, pkt, pkt->length, ip->id, 0);
	l4_answer_echo(icmp, REPLY_ECHO);
	return l4_answer_eth(ctx, 0) ? VERDICT_OTHER_PROTOCOL : VERDICT_ECHO_ANSWERED;
}

PKT_INLINE int reply_echo6(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, sizeof(pkt_eth));
	pkt_ip6 *ip = pkt_take(&cursor, pkt_ip6);
	l4_icmp *icmp;

	if (!ip)
		return VERDICT_OTHER_PROTOCOL;
	icmp = pkt_take(&cursor, l4_icmp);
	if (!icmp || ip->nexthdr != IPPROTO_ICMPV6 || pkt->length < sizeof(*ip) + sizeof(*icmp) ||
	    !reply_is_echo(icmp, REPLY_ECHO_REQUEST6))
		return VERDICT_OTHER_PROTOCOL;
	if (!reply_is_allowed(pkt))
		return VERDICT_REPLY_LIMITED;
	l4_answer_ip6(ip, pkt, pkt->length);
	l4_answer_echo(icmp, REPLY_ECHO6);
	return l4_answer_eth(ctx, 0) ? VERDICT_OTHER_PROTOCOL : VERDICT_ECHO_ANSWERED;
}

/* For a VIP's packet that is neither TCP nor UDP. Always a verdict. */
PKT_STAGE int reply_echo(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor;
	pkt_eth *eth;

	if (!ctx || !pkt)
		return VERDICT_OTHER_PROTOCOL;
	cursor = pkt_cursor(ctx, 0);
	eth = pkt_take(&cursor, pkt_eth);
	if (!eth || !reply_link_is_host(eth) || !reply_source_is_host(pkt))
		return VERDICT_OTHER_PROTOCOL;
	if (pkt->version == 4)
		return pkt->proto == IPPROTO_ICMP ? reply_echo4(ctx, pkt) : VERDICT_OTHER_PROTOCOL;
	return env_has(ABI_HAS_IPV6) && pkt->proto == IPPROTO_ICMPV6 ? reply_echo6(ctx, pkt)
								     : VERDICT_OTHER_PROTOCOL;
}

/* --- no backend --- */

/* For a packet of a service without a usable backend, which stands as it came. A verdict. */
PKT_STAGE int reply_empty(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service = pkt ? env_service(pkt->service) : 0;

	if (!service || !ctx)
		return VERDICT_EMPTY;
	return service->flags & ABI_SERVICE_PASS ? VERDICT_EMPTY_PASSED : VERDICT_EMPTY;
}
