/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The outer headers of IP in IP: 4in4 (RFC 2003), 6in4 (RFC 4213), 4in6 and 6in6 (RFC 2473). The
 * inner packet is not touched. ToS and traffic class are copied out (RFC 6040, normal mode); an
 * IPv4 outer header has DF set and id 0 (an atomic datagram, RFC 6864), so the path never
 * fragments what the backend would have to put together.
 */
#pragma once

#include <linux/in.h>

#include "pkt/csum.h"
#include "pkt/parse.h"

enum { PKT_ENCAP_TTL = 64 };

/* The sum of those words of the outer IPv4 header that are the same for every packet to `dst`. */
PKT_INLINE __u16 pkt_encap4_constant(__be32 dst)
{
	__u32 sum = PKT_BE16(0x4500) + PKT_BE16(0x4000) + PKT_BE16(PKT_ENCAP_TTL << 8);

	return pkt_csum_fold(sum + pkt_csum_word(dst));
}

/* The protocol number of a packet inside a packet. */
PKT_INLINE __u8 pkt_encap_proto(__u8 inner_version)
{
	return inner_version == 4 ? IPPROTO_IPIP : IPPROTO_IPV6;
}

/* Around a packet as parsed; `constant` is pkt_encap4_constant of dst. */
PKT_INLINE void pkt_encap4_write(pkt_ip4 *outer, const struct pkt *inner, __be32 src, __be32 dst,
				 __u16 constant)
{
	__be16 length = PKT_BE16(inner->length + sizeof(*outer));
	__u8 proto = pkt_encap_proto(inner->version);
	__u32 sum = constant + PKT_BE16(inner->tos) + length + PKT_BE16(proto);

	outer->version = 4;
	outer->ihl = 5;
	outer->tos = inner->tos;
	outer->tot_len = length;
	outer->id = 0;
	outer->frag_off = PKT_BE16(0x4000);
	outer->ttl = PKT_ENCAP_TTL;
	outer->protocol = proto;
	outer->check = (__u16)~pkt_csum_fold(sum + pkt_csum_word(src));
	outer->saddr = src;
	outer->daddr = dst;
}

/* The flow label is the low 20 bits of the flow's hash (RFC 6438). */
PKT_INLINE void pkt_encap6_write(pkt_ip6 *outer, const struct pkt *inner,
				 const struct pkt_addr *src, const struct pkt_addr *dst)
{
	__be32 first = PKT_BE32(6U << 28 | (__u32)inner->tos << 20 | (inner->hash & 0xfffff));

	pkt_copy(outer, &first, sizeof(first));
	outer->payload_len = PKT_BE16(inner->length);
	outer->nexthdr = pkt_encap_proto(inner->version);
	outer->hop_limit = PKT_ENCAP_TTL;
	pkt_copy(&outer->saddr, src->word, sizeof(*src));
	pkt_copy(&outer->daddr, dst->word, sizeof(*dst));
}
