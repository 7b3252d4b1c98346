/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RST that a TCP gives to a segment of no connection (RFC 9293, section 3.10.7.1), in the
 * place of the frame that had the segment. Who may be answered is not decided here; a RST never
 * is.
 */
#pragma once

#include "l4/answer.h"
#include "pkt/csum.h"
#include "pkt/parse.h"

struct l4_reset {
	__be32 seq;
	__be32 ack;
	__u8 flags;
};

/* What it says, by the segment at pkt->l4. 0, or a negative number. */
PKT_INLINE int l4_reset_read(const struct pkt_ctx *ctx, const struct pkt *pkt, struct l4_reset *ret)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	pkt_tcp *tcp = pkt_take(&cursor, pkt_tcp);
	__u32 length;

	if (!tcp)
		return -1;
	if (pkt->tcp_flags & PKT_TCP_ACK) {
		ret->seq = tcp->ack_seq;
		ret->ack = 0;
		ret->flags = PKT_TCP_RST;
		return 0;
	}
	/* The packet's end, not the frame's: padding was never sent as data. */
	length = pkt->length + (__u32)sizeof(pkt_eth) - pkt->l4 - tcp->doff * 4U;
	length += (pkt->tcp_flags & PKT_TCP_SYN) != 0;
	length += (pkt->tcp_flags & PKT_TCP_FIN) != 0;
	ret->seq = 0;
	ret->ack = PKT_BE32(PKT_HOST32(tcp->seq) + length);
	ret->flags = PKT_TCP_RST | PKT_TCP_ACK;
	return 0;
}

PKT_INLINE void l4_reset_write(pkt_tcp *tcp, const struct pkt *pkt, const struct l4_reset *reset)
{
	__be16 fourth = PKT_BE16(5 << 12 | reset->flags);
	__u32 sum = l4_answer_pseudo(pkt, IPPROTO_TCP, sizeof(*tcp));

	sum += pkt->sport + pkt->dport + fourth;
	sum += pkt_csum_word(reset->seq) + pkt_csum_word(reset->ack);
	tcp->source = pkt->dport;
	tcp->dest = pkt->sport;
	tcp->seq = reset->seq;
	tcp->ack_seq = reset->ack;
	pkt_copy((__u8 *)tcp + 12, &fourth, sizeof(fourth));
	tcp->window = 0;
	tcp->check = (__u16)~pkt_csum_fold(sum);
	tcp->urg_ptr = 0;
}

PKT_INLINE int l4_reset_put4(struct pkt_ctx *ctx, const struct pkt *pkt,
			     const struct l4_reset *reset)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, sizeof(pkt_eth));
	pkt_ip4 *ip = pkt_take(&cursor, pkt_ip4);
	pkt_tcp *tcp;

	if (!ip)
		return -1;
	tcp = pkt_take(&cursor, pkt_tcp);
	if (!tcp)
		return -1;
	l4_answer_ip4(ip, pkt, IPPROTO_TCP, sizeof(*ip) + sizeof(*tcp), L4_ANSWER_ATOMIC);
	l4_reset_write(tcp, pkt, reset);
	return l4_answer_eth(ctx, 0);
}

PKT_INLINE int l4_reset_put6(struct pkt_ctx *ctx, const struct pkt *pkt,
			     const struct l4_reset *reset)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, sizeof(pkt_eth));
	pkt_ip6 *ip = pkt_take(&cursor, pkt_ip6);
	pkt_tcp *tcp;

	if (!ip)
		return -1;
	tcp = pkt_take(&cursor, pkt_tcp);
	if (!tcp)
		return -1;
	l4_answer_ip6(ip, pkt, IPPROTO_TCP, sizeof(*ip) + sizeof(*tcp));
	l4_reset_write(tcp, pkt, reset);
	return l4_answer_eth(ctx, 0);
}

/* A RST, shorter than any segment that it answers. 0, or a negative number. */
PKT_INLINE int l4_reset_answer(struct pkt_ctx *ctx, const struct pkt *pkt)
{
	__u32 length = sizeof(pkt_eth) + sizeof(pkt_tcp);
	struct l4_reset reset;

	if (l4_reset_read(ctx, pkt, &reset))
		return -1;
	length += pkt->version == 4 ? sizeof(pkt_ip4) : sizeof(pkt_ip6);
	if (pkt_adjust_tail(ctx, (int)length - (int)pkt->frame_length))
		return -1;
	if (pkt->version == 4)
		return l4_reset_put4(ctx, pkt, &reset);
	return l4_reset_put6(ctx, pkt, &reset);
}
