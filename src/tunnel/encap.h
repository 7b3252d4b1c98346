/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The outer headers of all tunnels. Directly around the inner packet they are IP in IP: 4in4
 * (RFC 2003), 6in4 (RFC 4213), 4in6 and 6in6 (RFC 2473); in other modes GRE's header or UDP's, and
 * what follows the latter, stands between them (mode.h, format.h). The inner packet is not touched.
 * ToS and traffic class are copied out (RFC 6040, normal mode); an IPv4 outer header has DF set and
 * id 0 (an atomic datagram, RFC 6864), so the path never fragments what the backend would have to
 * put together.
 */
#pragma once

#include <linux/in.h>

#include "pkt/csum.h"
#include "pkt/parse.h"
#include "tunnel/format.h"
#include "tunnel/mode.h"

enum {
	TUNNEL_TTL = 64,
	TUNNEL_UDP_SOURCE = 49152,      /* the first of the ports that the flow chooses from */
	TUNNEL_UDP_SOURCE_MASK = 16383, /* and how many, less one */
};

struct tunnel_gre_header {
	__be16 flags; /* 0, the version included */
	__be16 proto; /* an Ethernet type */
};

typedef struct tunnel_gre_header tunnel_gre PKT_LOOSE;

_Static_assert(sizeof(pkt_ip4) == TUNNEL_BYTES_IP4, "an IPv4 header without options");
_Static_assert(sizeof(pkt_ip6) == TUNNEL_BYTES_IP6, "an IPv6 header");
_Static_assert(sizeof(tunnel_gre) == TUNNEL_BYTES_GRE, "GRE's header");
_Static_assert(sizeof(pkt_udp) == TUNNEL_BYTES_UDP, "UDP's header");
_Static_assert(sizeof(tunnel_geneve) + sizeof(tunnel_geneve_vip) == TUNNEL_BYTES_GENEVE, "Geneve");
_Static_assert(sizeof(tunnel_gue0) == TUNNEL_BYTES_GUE0, "GUE's variant 0");

/* The sum of those words of the outer IPv4 header that are the same for every packet to `dst`. */
PKT_INLINE __u16 tunnel_sum4(__be32 dst)
{
	__u32 sum = PKT_BE16(0x4500) + PKT_BE16(0x4000) + PKT_BE16(TUNNEL_TTL << 8);

	return pkt_csum_fold(sum + pkt_csum_word(dst));
}

/* The outer header's protocol number. */
PKT_INLINE __u8 tunnel_proto(__u8 mode, __u8 inner_version)
{
	if (mode == TUNNEL_GRE)
		return IPPROTO_GRE;
	if (tunnel_mode_is_udp(mode))
		return IPPROTO_UDP;
	return inner_version == 4 ? IPPROTO_IPIP : IPPROTO_IPV6;
}

/* Around a packet as parsed; `constant` is tunnel_sum4 of dst. */
PKT_INLINE void tunnel_write4(pkt_ip4 *outer, const struct pkt *inner, __u8 mode, __be32 src,
			      __be32 dst, __u16 constant)
{
	__be16 length =
		PKT_BE16(inner->length + tunnel_mode_overhead(mode, 1, inner->version == 4));
	__u8 proto = tunnel_proto(mode, inner->version);
	__u32 sum = constant + PKT_BE16(inner->tos) + length + PKT_BE16(proto);

	outer->version = 4;
	outer->ihl = 5;
	outer->tos = inner->tos;
	outer->tot_len = length;
	outer->id = 0;
	outer->frag_off = PKT_BE16(0x4000);
	outer->ttl = TUNNEL_TTL;
	outer->protocol = proto;
	outer->check = (__u16)~pkt_csum_fold(sum + pkt_csum_word(src));
	outer->saddr = src;
	outer->daddr = dst;
}

/* The flow label is the low 20 bits of the flow's hash (RFC 6438). */
PKT_INLINE void tunnel_write6(pkt_ip6 *outer, const struct pkt *inner, __u8 mode,
			      const struct pkt_addr *src, const struct pkt_addr *dst)
{
	__be32 first = PKT_BE32(6U << 28 | (__u32)inner->tos << 20 | (inner->hash & 0xfffff));

	pkt_copy(outer, &first, sizeof(first));
	outer->payload_len =
		PKT_BE16(inner->length + tunnel_mode_shim(mode, 0, inner->version == 4));
	outer->nexthdr = tunnel_proto(mode, inner->version);
	outer->hop_limit = TUNNEL_TTL;
	pkt_copy(&outer->saddr, src->word, sizeof(*src));
	pkt_copy(&outer->daddr, dst->word, sizeof(*dst));
}

PKT_INLINE void tunnel_write_gre(tunnel_gre *gre, const struct pkt *inner)
{
	gre->flags = 0;
	gre->proto = inner->version == 4 ? PKT_BE16(ETH_P_IP) : PKT_BE16(ETH_P_IPV6);
}

PKT_INLINE void tunnel_write_udp(pkt_udp *udp, const struct pkt *inner, __u8 mode, int outer4)
{
	__u32 shim = tunnel_mode_shim(mode, outer4, inner->version == 4);

	udp->source = PKT_BE16(TUNNEL_UDP_SOURCE + ((__u32)inner->hash & TUNNEL_UDP_SOURCE_MASK));
	udp->dest = mode == TUNNEL_GENEVE ? PKT_BE16(TUNNEL_GENEVE_PORT)
					  : PKT_BE16(TUNNEL_GUE_PORT);
	udp->len = PKT_BE16(inner->length + shim);
	udp->check = 0;
}

PKT_INLINE void tunnel_write_geneve(tunnel_geneve *geneve, const struct pkt *inner)
{
	__u32 option = sizeof(tunnel_geneve_vip) + tunnel_mode_addr(inner->version == 4);

	geneve->words = (__u8)(option / TUNNEL_GENEVE_WORD);
	geneve->flags = 0;
	geneve->proto = inner->version == 4 ? PKT_BE16(ETH_P_IP) : PKT_BE16(ETH_P_IPV6);
	geneve->vni[0] = geneve->vni[1] = geneve->vni[2] = 0;
	geneve->reserved = 0;
}

/* The option; the VIP's address follows. `port` is the backend's own, or 0. */
PKT_INLINE void tunnel_write_vip(tunnel_geneve_vip *option, const struct pkt *inner, __be16 port)
{
	__u32 data = sizeof(__be32) + tunnel_mode_addr(inner->version == 4);
	__be16 vip_port = inner->later ? 0 : inner->dport;

	option->class = PKT_BE16(TUNNEL_GENEVE_CLASS);
	option->type = TUNNEL_GENEVE_VIP;
	option->words = (__u8)(data / TUNNEL_GENEVE_WORD);
	option->vip_port = vip_port;
	option->port = vip_port && port ? port : vip_port;
}

/* The other owner's address follows. `other` is whether there is one. */
PKT_INLINE void tunnel_write_gue0(tunnel_gue0 *gue, const struct pkt *inner, int outer4, int other)
{
	gue->words = outer4 ? TUNNEL_GUE0_WORDS4 : TUNNEL_GUE0_WORDS6;
	gue->proto = inner->version == 4 ? IPPROTO_IPIP : IPPROTO_IPV6;
	gue->flags = 0;
	gue->kind = TUNNEL_GUE0_KIND;
	gue->hops = 0;
	gue->private_flags = 0;
	gue->family = !other ? 0 : outer4 ? 4 : 6;
}

/*
 * The outer header of a frame that was wrapped as any other goes on counting where the one ended in
 * which its packet came (pkt->hops), if its mode has one.
 */
PKT_INLINE void tunnel_count_on(const struct pkt_ctx *ctx, const struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, 0);
	pkt_eth *eth = pkt_take(&cursor, pkt_eth);
	pkt_ip4 *ip4;
	pkt_ip6 *ip6;
	__u32 sum;

	if (!eth || pkt->mode == TUNNEL_L2DSR || pkt->mode == TUNNEL_IPOPT)
		return;
	if (eth->h_proto == PKT_BE16(ETH_P_IP)) {
		ip4 = pkt_take(&cursor, pkt_ip4);
		if (!ip4)
			return;
		/* RFC 1624, equation 3 */
		sum = (__u16)~ip4->check + (__u16)~PKT_BE16(TUNNEL_TTL << 8);
		ip4->check = (__u16)~pkt_csum_fold(sum + PKT_BE16(pkt->hops << 8));
		ip4->ttl = pkt->hops;
	} else {
		ip6 = pkt_take(&cursor, pkt_ip6);
		if (ip6)
			ip6->hop_limit = pkt->hops;
	}
}
