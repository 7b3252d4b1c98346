/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the balancer itself says to a client, in the place of the frame that it came in: that a
 * packet is too big for the tunnel (RFC 1191, RFC 4443 section 3.2), that nobody is there to take
 * it (RST, or ICMP's "port unreachable"), and the answer to a ping. The answer leaves where the
 * question came in, with the MAC addresses swapped; its IP header is written afresh. All of it is
 * off the common path, and all of it is under one limit a core. What is too big and may be
 * fragmented can go to the daemon instead. A part of dp/forward.h, which says what the includer
 * supplies.
 */
#pragma once

#include "dp/abi.h"
#include "dp/verdict.h"
#include "l4/answer.h"
#include "l4/error.h"
#include "l4/icmp.h"
#include "l4/reset.h"
#include "pkt/parse.h"
#include "send/slow.h"

enum {
	REPLY_MTU6_MIN = 1280, /* RFC 8200, section 5 */
	REPLY_NOBODY = -65536, /* in the place of an MTU: no backend */
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

/* --- ICMP errors --- */

/*
 * May an error about the packet be sent, or a RST? Of what quotes a flow, the addresses are the
 * flow's, not the packet's. An error is never answered, nor is a piece that has no ports.
 */
PKT_INLINE int reply_is_due(const struct pkt_ctx *ctx, const struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, 0);
	pkt_eth *eth = pkt_take(&cursor, pkt_eth);

	return eth && !pkt->quoted && !pkt->later &&
	       pkt->proto != (pkt->version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6) &&
	       reply_link_is_host(eth) && reply_source_is_host(pkt);
}

PKT_INLINE int reply_by_icmp(struct pkt_ctx *ctx, const struct pkt *pkt, int mtu)
{
	int nobody = mtu == REPLY_NOBODY;
	__u32 rest = nobody ? 0 : (__u32)mtu;

	if (pkt->version == 4)
		return l4_error_write4(ctx, pkt, nobody ? L4_ERROR4_NO_PORT : L4_ERROR4_TOO_BIG,
				       rest);
	if (!env_has(ABI_HAS_IPV6))
		return -1;
	/* RFC 2473, section 7.1: never less than every link must carry. */
	if (!nobody && mtu < REPLY_MTU6_MIN)
		rest = REPLY_MTU6_MIN;
	return l4_error_write6(ctx, pkt, nobody ? L4_ERROR6_NO_PORT : L4_ERROR6_TOO_BIG, rest);
}

/* Is the sender of a packet that is too big to be told? PKT_ON, or a verdict. IPv6 of 1280 bytes
 * and less has no smaller size (RFC 8201, section 4). */
PKT_INLINE int reply_oversize(struct pkt_ctx *ctx, struct pkt *pkt, int mtu)
{
	struct abi_service *service = env_service(pkt->service);
	__u32 told = ABI_SERVICE_TOO_BIG;

	if (!service)
		return VERDICT_TOO_BIG;
	if (slow_may_be_cut(ctx, pkt)) {
		if (service->flags & ABI_SERVICE_NODF_FRAGMENT)
			return slow_give(ctx, pkt, mtu);
		told = ABI_SERVICE_NODF_ICMP;
	}
	if (!(service->flags & told))
		return VERDICT_TOO_BIG;
	if (pkt->version == 4)
		return mtu >= SLOW_MTU_MIN ? PKT_ON : VERDICT_TOO_BIG;
	return env_has(ABI_HAS_IPV6) && pkt->length > REPLY_MTU6_MIN ? PKT_ON : VERDICT_TOO_BIG;
}

/*
 * For a packet longer than `mtu`, which is what fits; or, with REPLY_NOBODY, for one that has no
 * backend and is to be refused by ICMP. Always a verdict. One stage for both: the verifier goes
 * far to follow the sums over what is quoted.
 */
PKT_STAGE int reply_error(struct pkt_ctx *ctx, struct pkt *pkt, int mtu)
{
	int verdict = mtu == REPLY_NOBODY ? VERDICT_EMPTY : VERDICT_TOO_BIG;
	int told = PKT_ON;

	if (!ctx || !pkt)
		return verdict;
	if (mtu != REPLY_NOBODY)
		told = reply_oversize(ctx, pkt, mtu);
	if (told != PKT_ON)
		return told;
	if (!reply_is_due(ctx, pkt))
		return verdict;
	if (!reply_is_allowed(pkt))
		return VERDICT_REPLY_LIMITED;
	if (reply_by_icmp(ctx, pkt, mtu))
		return VERDICT_NO_HEADROOM;
	return mtu == REPLY_NOBODY ? VERDICT_REJECTED : VERDICT_TOO_BIG_ANSWERED;
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
	    !reply_is_echo(icmp, L4_ICMP4_ECHO))
		return VERDICT_OTHER_PROTOCOL;
	if (!reply_is_allowed(pkt))
		return VERDICT_REPLY_LIMITED;
	/* Routers may cut the answer in pieces: it has an id, and no DF. */
	l4_answer_ip4(ip, pkt, IPPROTO_ICMP, pkt->length, ip->id);
	l4_answer_echo(icmp, L4_ICMP4_ECHO_REPLY);
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
	    !reply_is_echo(icmp, L4_ICMP6_ECHO))
		return VERDICT_OTHER_PROTOCOL;
	if (!reply_is_allowed(pkt))
		return VERDICT_REPLY_LIMITED;
	l4_answer_ip6(ip, pkt, IPPROTO_ICMPV6, pkt->length);
	l4_answer_echo(icmp, L4_ICMP6_ECHO_REPLY);
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
	if (service->flags & ABI_SERVICE_PASS)
		return VERDICT_EMPTY_PASSED;
	if (!(service->flags & ABI_SERVICE_REJECT))
		return VERDICT_EMPTY;
	if (pkt->proto != IPPROTO_TCP)
		return reply_error(ctx, pkt, REPLY_NOBODY);
	if (pkt->tcp_flags & PKT_TCP_RST || !reply_is_due(ctx, pkt))
		return VERDICT_EMPTY;
	if (!reply_is_allowed(pkt))
		return VERDICT_REPLY_LIMITED;
	return l4_reset_answer(ctx, pkt) ? VERDICT_NO_HEADROOM : VERDICT_REJECTED;
}
