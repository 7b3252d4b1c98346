/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums of the Internet checksum (RFC 1071), over words as they stand in memory: the sum of words in
 * network order is the sum in network order, on any machine.
 */
#pragma once

#include "pkt/ctx.h"

/* Folds a sum of 16-bit words into one; its complement is the Internet checksum. */
PKT_INLINE __u16 pkt_csum_fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)sum;
}

/*
 * The checksum after a change, which is the sum of the words that came and of the complements of
 * those that went (RFC 1624, equation 3): a wrong one stays wrong.
 */
PKT_INLINE __u16 pkt_csum_change(__u16 check, __u32 change)
{
	return (__u16)~pkt_csum_fold((__u16)~check + change);
}

/* The same where a sum of words was `old` and is `new`. */
PKT_INLINE __u16 pkt_csum_mend(__u16 check, __u32 old, __u32 new)
{
	return pkt_csum_change(check, (__u16)~pkt_csum_fold(old) + (__u32)pkt_csum_fold(new));
}

PKT_INLINE __u32 pkt_csum_word(__be32 word)
{
	return (__u32)(word & 0xffff) + (__u32)(word >> 16);
}
