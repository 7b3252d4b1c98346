/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What stands between a tunnel's outer IP header and the packet: GRE's header, UDP's, and after the
 * latter what a mode tells the other end. A part of dp/forward.h, which says what the includer
 * supplies.
 */
#pragma once

#include "dp/abi.h"
#include "dp/verdict.h"
#include "pkt/parse.h"
#include "tunnel/encap.h"

/* An address of a family into what was taken for it. */
PKT_INLINE int wrap_addr(struct pkt_cursor *cursor, const struct pkt_addr *addr, int is4)
{
	__u8 *at = is4 ? pkt_take_bytes(cursor, TUNNEL_BYTES_ADDR4)
		       : pkt_take_bytes(cursor, TUNNEL_BYTES_ADDR6);

	if (!at)
		return VERDICT_NO_HEADROOM;
	if (is4)
		pkt_copy_words(at, &addr->word[3], TUNNEL_BYTES_ADDR4);
	else
		pkt_copy_words(at, addr->word, TUNNEL_BYTES_ADDR6);
	return PKT_ON;
}

PKT_INLINE int wrap_shim_geneve(struct pkt_cursor *cursor, const struct pkt *pkt, __be16 port)
{
	tunnel_geneve *geneve = pkt_take(cursor, tunnel_geneve);
	tunnel_geneve_vip *option;

	if (!geneve)
		return VERDICT_NO_HEADROOM;
	option = pkt_take(cursor, tunnel_geneve_vip);
	if (!option)
		return VERDICT_NO_HEADROOM;
	tunnel_write_geneve(geneve, pkt);
	tunnel_write_vip(option, pkt, port);
	return pkt->version == 4 ? wrap_addr(cursor, &pkt->dst, 1)
				 : wrap_addr(cursor, &pkt->dst, 0);
}

PKT_INLINE int wrap_shim_gue0(struct pkt_cursor *cursor, const struct pkt *pkt, int outer4)
{
	const struct abi_backend *other = env_backend(pkt->other);
	tunnel_gue0 *gue = pkt_take(cursor, tunnel_gue0);
	struct pkt_addr nobody = {};

	if (!gue)
		return VERDICT_NO_HEADROOM;
	if (!pkt->other)
		other = 0;
	tunnel_write_gue0(gue, pkt, outer4, other != 0);
	return wrap_addr(cursor, other ? &other->addr : &nobody, outer4);
}

/* What stands between the outer header and the packet. `mode` is a constant, here as below. */
PKT_INLINE int wrap_shim(struct pkt_cursor *cursor, const struct pkt *pkt,
			 const struct abi_backend *backend, __u8 mode, int outer4)
{
	tunnel_gre *gre;
	pkt_udp *udp;

	if (mode == TUNNEL_GRE) {
		gre = pkt_take(cursor, tunnel_gre);
		if (!gre)
			return VERDICT_NO_HEADROOM;
		tunnel_write_gre(gre, pkt);
	} else if (tunnel_mode_is_udp(mode)) {
		udp = pkt_take(cursor, pkt_udp);
		if (!udp)
			return VERDICT_NO_HEADROOM;
		tunnel_write_udp(udp, pkt, mode, outer4);
	}
	if (mode == TUNNEL_GENEVE)
		return wrap_shim_geneve(cursor, pkt, backend->port);
	if (mode == TUNNEL_GUE0)
		return wrap_shim_gue0(cursor, pkt, outer4);
	return PKT_ON;
}
