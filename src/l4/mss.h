/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP's option for the maximum segment size (RFC 9293, section 3.7.1): finds it in the options of
 * a SYN, and lowers it in place. The walk sees four bytes at a time, which is the whole of that
 * option and the beginning of any other, so it is the same wherever the options are; reading and
 * writing are for frames that a cursor reaches.
 */
#pragma once

#include "pkt/csum.h"
#include "pkt/parse.h"

enum {
	L4_MSS_OPTIONS_MAX = 40, /* bytes that a TCP header has for options */
	L4_MSS_KIND_END = 0,
	L4_MSS_KIND_NOP = 1,
	L4_MSS_KIND = 2,
	L4_MSS_LENGTH = 4,
};

enum l4_mss_found {
	L4_MSS_LARGE,      /* above the limit */
	L4_MSS_FITTING,    /* not above it */
	L4_MSS_ABSENT,     /* there is none */
	L4_MSS_UNREADABLE, /* options that contradict themselves */
};

struct l4_mss {
	__u32 size; /* bytes of options */
	__u32 at;   /* those read so far; the option, once it is found */
	__u16 mss;  /* as it stands; host order, as the limit */
	__u16 limit;
};

/* One option, which begins with these bytes: enum l4_mss_found, or PKT_ON: look at mss->at. */
PKT_INLINE int l4_mss_step(struct l4_mss *mss, const __u8 bytes[L4_MSS_LENGTH])
{
	__u32 left = mss->size - mss->at, length = bytes[1];

	if (mss->at >= mss->size || bytes[0] == L4_MSS_KIND_END)
		return L4_MSS_ABSENT;
	if (bytes[0] == L4_MSS_KIND_NOP) {
		mss->at++;
		return PKT_ON;
	}
	if (left < 2 || length < 2 || length > left)
		return L4_MSS_UNREADABLE;
	if (bytes[0] != L4_MSS_KIND) {
		mss->at += length;
		return PKT_ON;
	}
	if (length != L4_MSS_LENGTH)
		return L4_MSS_UNREADABLE;
	mss->mss = (__u16)(bytes[2] << 8 | bytes[3]);
	return mss->mss > mss->limit ? L4_MSS_LARGE : L4_MSS_FITTING;
}

/* Two bytes as they count in a checksum: at an odd offset they straddle its words. */
PKT_INLINE __u16 l4_mss_csum(__u16 value, __u32 at)
{
	return at & 1 ? value : PKT_BE16(value);
}

/* Changes nothing, but the verifier knows no longer which way through the options led here: it
 * would else follow each of them by itself to the end. */
PKT_INLINE void l4_mss_hide(__u32 *at, const struct pkt *pkt)
{
	__u32 unknown = pkt->l4 & 63;

	*at ^= unknown;
	asm volatile("" : "+r"(*at));
	*at ^= unknown;
}

/* Of a parsed TCP segment: enum l4_mss_found. Behind the last place for a whole option of this kind
 * nothing is looked at. */
PKT_INLINE int l4_mss_find(struct pkt_ctx *ctx, const struct pkt *pkt, struct l4_mss *mss)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	__u8 *tcp = pkt_take_bytes(&cursor, sizeof(pkt_tcp)), *bytes;
	int found = PKT_ON;

	if (!tcp || pkt->l4 > PKT_OFFSET_MAX - sizeof(pkt_tcp) - L4_MSS_OPTIONS_MAX)
		return L4_MSS_UNREADABLE;
	mss->size = (tcp[12] >> 4) * 4U - (__u32)sizeof(pkt_tcp);
	if (mss->size > L4_MSS_OPTIONS_MAX)
		return L4_MSS_UNREADABLE;
	for (__u32 i = 0; i < L4_MSS_OPTIONS_MAX && found == PKT_ON; i++) {
		l4_mss_hide(&mss->at, pkt);
		/* Or the compiler keeps half of a packet's pointer from one round to the next. */
		asm volatile("" : "+r"(ctx));
		if (mss->at + L4_MSS_LENGTH > mss->size)
			return L4_MSS_ABSENT;
		cursor = pkt_cursor(ctx, pkt->l4 + (__u32)sizeof(pkt_tcp) + mss->at);
		bytes = pkt_take_bytes(&cursor, L4_MSS_LENGTH);
		if (!bytes)
			return L4_MSS_UNREADABLE;
		found = l4_mss_step(mss, bytes);
	}
	return found == PKT_ON ? L4_MSS_ABSENT : found;
}

/* Writes the limit in place of the option found, and mends the checksum. */
PKT_INLINE void l4_mss_write(const struct pkt_ctx *ctx, const struct pkt *pkt,
			     const struct l4_mss *mss)
{
	__u32 at = pkt->l4 + (__u32)sizeof(pkt_tcp) + mss->at + 2;
	struct pkt_cursor head = pkt_cursor(ctx, pkt->l4), place = pkt_cursor(ctx, at);
	pkt_tcp *tcp = pkt_take(&head, pkt_tcp);
	__u8 *value = pkt_take_bytes(&place, sizeof(mss->limit));

	if (!tcp || !value)
		return;
	at -= pkt->l4;
	tcp->check =
		pkt_csum_mend(tcp->check, l4_mss_csum(mss->mss, at), l4_mss_csum(mss->limit, at));
	value[0] = (__u8)(mss->limit >> 8);
	value[1] = (__u8)mss->limit;
}
