/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP's option for the maximum segment size (RFC 9293, section 3.7.1), in options that need not
 * stand in a frame: a step sees four bytes, which is the whole of that option and the beginning of
 * any other. Where a cursor reaches them, l4/option.h finds it.
 */
#pragma once

#include "pkt/parse.h"

enum { L4_MSS_LENGTH = 4 };

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

	if (mss->at >= mss->size || bytes[0] == PKT_TCP_OPTION_END)
		return L4_MSS_ABSENT;
	if (bytes[0] == PKT_TCP_OPTION_NOP) {
		mss->at++;
		return PKT_ON;
	}
	if (left < 2 || length < 2 || length > left)
		return L4_MSS_UNREADABLE;
	if (bytes[0] != PKT_TCP_OPTION_MSS) {
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
