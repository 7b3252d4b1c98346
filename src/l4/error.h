/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An ICMP or ICMPv6 error in the place of the frame that it is about (RFC 792, RFC 1812 section
 * 4.3.2, RFC 4443): the frame grows at its head, and is cut behind what is quoted of it, whole
 * words of the packet and nothing of its padding. Who may be told is not decided here.
 */
#pragma once

#include "l4/answer.h"
#include "pkt/parse.h"

/* Type and code of the errors. */
enum {
	L4_ERROR4_TOO_BIG = L4_ICMP4_UNREACHABLE << 8 | 4,
	L4_ERROR4_NO_PORT = L4_ICMP4_UNREACHABLE << 8 | 3,
	L4_ERROR6_TOO_BIG = L4_ICMP6_TOO_BIG << 8,
	L4_ERROR6_NO_PORT = L4_ICMP6_UNREACHABLE << 8 | 4,
};

/* Bytes quoted at most: a datagram of 576 (RFC 1812, section 4.3.2.3), a packet of 1280. */
enum {
	L4_ERROR_LENGTH4 = 576,
	L4_ERROR_LENGTH6 = 1280,
	L4_ERROR_QUOTE4 = L4_ERROR_LENGTH4 - sizeof(pkt_ip4) - sizeof(l4_icmp),
	L4_ERROR_QUOTE6 = L4_ERROR_LENGTH6 - sizeof(pkt_ip6) - sizeof(l4_icmp),
};

/* Makes room for `grown` bytes before the packet, of which `quote` bytes stay. */
PKT_INLINE int l4_error_quote(struct pkt_ctx *ctx, const struct pkt *pkt, __u32 grown, __u32 quote)
{
	__u32 length = sizeof(pkt_eth) + quote;

	if (pkt_adjust_head(ctx, -(int)grown))
		return -1;
	if (pkt_adjust_tail(ctx, (int)length - (int)pkt->frame_length))
		return -1;
	return l4_answer_eth(ctx, grown);
}

/* Writes the checksum of what begins at `icmp_at`, with the sum of what is counted besides. */
PKT_INLINE int l4_error_seal(struct pkt_ctx *ctx, __u32 icmp_at, __u32 besides)
{
	__u32 sum = besides + (__u32)l4_answer_sum(ctx, icmp_at);
	struct pkt_cursor cursor = pkt_cursor(ctx, icmp_at);
	l4_icmp *icmp = pkt_take(&cursor, l4_icmp);

	if (!icmp)
		return -1;
	icmp->check = (__u16)~pkt_csum_fold(sum);
	return 0;
}

/* `error` is type and code, `rest` the header's second word. 0, or a negative number. */
PKT_INLINE int l4_error_write4(struct pkt_ctx *ctx, const struct pkt *pkt, __u16 error, __u32 rest)
{
	const __u32 icmp_at = sizeof(pkt_eth) + sizeof(pkt_ip4);
	__u32 quote = pkt->length < L4_ERROR_QUOTE4 ? pkt->length & ~3U : L4_ERROR_QUOTE4;
	struct pkt_cursor cursor;
	l4_icmp *icmp;
	pkt_ip4 *ip;

	if (l4_error_quote(ctx, pkt, sizeof(*ip) + sizeof(*icmp), quote))
		return -1;
	cursor = pkt_cursor(ctx, sizeof(pkt_eth));
	ip = pkt_take(&cursor, pkt_ip4);
	if (!ip)
		return -1;
	icmp = pkt_take(&cursor, l4_icmp);
	if (!icmp)
		return -1;
	l4_answer_ip4(ip, pkt, IPPROTO_ICMP, sizeof(*ip) + sizeof(*icmp) + quote, L4_ANSWER_ATOMIC);
	icmp->type = (__u8)(error >> 8);
	icmp->code = (__u8)error;
	icmp->check = 0;
	icmp->rest = PKT_BE32(rest);
	return l4_error_seal(ctx, icmp_at, 0);
}

PKT_INLINE int l4_error_write6(struct pkt_ctx *ctx, const struct pkt *pkt, __u16 error, __u32 rest)
{
	const __u32 icmp_at = sizeof(pkt_eth) + sizeof(pkt_ip6);
	__u32 quote = pkt->length < L4_ERROR_QUOTE6 ? pkt->length & ~3U : L4_ERROR_QUOTE6;
	__u32 length = (__u32)sizeof(l4_icmp) + quote;
	struct pkt_cursor cursor;
	l4_icmp *icmp;
	pkt_ip6 *ip;

	if (l4_error_quote(ctx, pkt, sizeof(*ip) + sizeof(*icmp), quote))
		return -1;
	cursor = pkt_cursor(ctx, sizeof(pkt_eth));
	ip = pkt_take(&cursor, pkt_ip6);
	if (!ip)
		return -1;
	icmp = pkt_take(&cursor, l4_icmp);
	if (!icmp)
		return -1;
	l4_answer_ip6(ip, pkt, IPPROTO_ICMPV6, sizeof(*ip) + length);
	icmp->type = (__u8)(error >> 8);
	icmp->code = (__u8)error;
	icmp->check = 0;
	icmp->rest = PKT_BE32(rest);
	return l4_error_seal(ctx, icmp_at, l4_answer_pseudo(pkt, IPPROTO_ICMPV6, length));
}
