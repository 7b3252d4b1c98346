/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The headers of an answer in the place of the frame that it answers, ICMP's (RFC 792, RFC 4443)
 * or TCP's (reset.h): back to where it came from, with the MAC addresses swapped. The IP headers
 * take nothing over from the question. Who may be answered is not decided here.
 */
#pragma once

#include "l4/icmp.h"
#include "pkt/csum.h"
#include "pkt/parse.h"

enum {
	L4_ANSWER_TTL = 64,
	L4_ANSWER_WORDS = (1280 - sizeof(pkt_ip6)) / sizeof(__be32), /* of ICMP at most */
};

/* The link header of the answer; the question's stands `grown` bytes further on. */
PKT_INLINE int l4_answer_eth(const struct pkt_ctx *ctx, __u32 grown)
{
	struct pkt_cursor from = pkt_cursor(ctx, grown), to = pkt_cursor(ctx, 0);
	pkt_eth *was = pkt_take(&from, pkt_eth), *eth;
	struct ethhdr question;

	if (!was)
		return -1;
	pkt_copy(&question, was, sizeof(question));
	eth = pkt_take(&to, pkt_eth);
	if (!eth)
		return -1;
	pkt_copy(eth->h_dest, question.h_source, ETH_ALEN);
	pkt_copy(eth->h_source, question.h_dest, ETH_ALEN);
	eth->h_proto = question.h_proto;
	return 0;
}

/* The header's second word: id 0 and DF, an atomic datagram (RFC 6864). */
#define L4_ANSWER_ATOMIC PKT_BE32(0x4000)

/* From the VIP to the packet's source; `second` is the header's second word: id, flags, offset. */
PKT_INLINE void l4_answer_ip4(pkt_ip4 *ip, const struct pkt *pkt, __u8 proto, __u32 length,
			      __be32 second)
{
	__u32 sum = PKT_BE16(0x4500) + PKT_BE16(L4_ANSWER_TTL << 8 | proto);

	ip->version = 4;
	ip->ihl = 5;
	ip->tos = 0;
	ip->tot_len = PKT_BE16(length);
	pkt_copy(&ip->id, &second, sizeof(second));
	ip->ttl = L4_ANSWER_TTL;
	ip->protocol = proto;
	ip->saddr = pkt->dst.word[3];
	ip->daddr = pkt->src.word[3];
	sum += ip->tot_len + pkt_csum_word(second);
	sum += pkt_csum_word(ip->saddr) + pkt_csum_word(ip->daddr);
	ip->check = (__u16)~pkt_csum_fold(sum);
}

PKT_INLINE void l4_answer_ip6(pkt_ip6 *ip, const struct pkt *pkt, __u8 proto, __u32 length)
{
	__be32 first = PKT_BE32(6U << 28);

	pkt_copy(ip, &first, sizeof(first));
	ip->payload_len = PKT_BE16(length - sizeof(*ip));
	ip->nexthdr = proto;
	ip->hop_limit = L4_ANSWER_TTL;
	pkt_copy(&ip->saddr, pkt->dst.word, sizeof(pkt->dst));
	pkt_copy(&ip->daddr, pkt->src.word, sizeof(pkt->src));
}

/*
 * The sum of what TCP and ICMPv6 count beside their own bytes (RFC 8200, section 8.1; RFC 9293,
 * section 3.1). The 0xffff of mapped IPv4 addresses is a zero of this sum.
 */
PKT_INLINE __u32 l4_answer_pseudo(const struct pkt *pkt, __u8 proto, __u32 length)
{
	__u32 sum = PKT_BE16(length) + PKT_BE16(proto);

	for (__u32 i = 0; i < 4; i++)
		sum += pkt_csum_word(pkt->src.word[i]) + pkt_csum_word(pkt->dst.word[i]);
	return sum;
}

/*
 * The sum from `offset` to the frame's end, which is a whole number of words, in 16 bits. A stage,
 * so that the verifier goes through its words once for all that answers.
 */
PKT_STAGE int l4_answer_sum(struct pkt_ctx *ctx, __u32 offset)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, offset);
	pkt_word *words;
	__u64 sum = 0;

	/* Words of 32 bits are as good as pairs of 16; their carries stay above. */
	for (__u32 i = 0; i < L4_ANSWER_WORDS / 4; i++) {
		words = pkt_take_bytes(&cursor, 4 * sizeof(*words));
		if (!words)
			break;
		sum += (__u64)words[0] + words[1] + words[2] + words[3];
	}
	for (__u32 i = 0; i < 3; i++) {
		words = pkt_take(&cursor, pkt_word);
		if (!words)
			break;
		sum += *words;
	}
	sum = (sum & 0xffffffff) + (sum >> 32);
	return pkt_csum_fold(pkt_csum_word((__be32)sum) + (__u32)(sum >> 32));
}

/*
 * What the request's checksum covers stays, but for the type. The other zero is as right where
 * there are data, and the only right one where all else is zeros.
 */
PKT_INLINE void l4_answer_echo(l4_icmp *icmp, __u8 type)
{
	__u16 check = pkt_csum_mend(icmp->check, PKT_BE16(icmp->type << 8), PKT_BE16(type << 8));

	icmp->check = check ? check : 0xffff;
	icmp->type = type;
}
