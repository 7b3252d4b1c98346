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

PKT_INLINE __u32 pkt_csum_word(__be32 word)
{
	return (__u32)(word & 0xffff) + (__u32)(word >> 16);
}
