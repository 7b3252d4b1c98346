/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An address in the packet path and its tables: 16 bytes in network order, IPv4 as
 * ::ffff:a.b.c.d (RFC 4291, section 2.5.5.2), so that one key serves both families.
 */
#pragma once

#include "pkt/ctx.h"

struct pkt_addr {
	union {
		__u8 bytes[16];
		__be32 word[4];
		__u64 half[2]; /* only to compare, hash and copy */
	};
};

/* By halves, as it is read again at once: a load that spans two stores has to wait for both. */
PKT_INLINE struct pkt_addr pkt_addr4(__be32 addr)
{
	struct pkt_addr mapped = {.half = {0, (__u64)addr << 32 | PKT_BE32(0xffff)}};

	return mapped;
}

PKT_INLINE int pkt_addr_is4(const struct pkt_addr *addr)
{
	return addr->half[0] == 0 && addr->word[2] == PKT_BE32(0xffff);
}

PKT_INLINE int pkt_addr_equal(const struct pkt_addr *a, const struct pkt_addr *b)
{
	return a->half[0] == b->half[0] && a->half[1] == b->half[1];
}
