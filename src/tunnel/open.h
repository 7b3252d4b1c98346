/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which tunnel is it, and where does its inner packet begin? The twin of encap.h: IP in IP, in
 * IPv6 also with the tunnel encapsulation limit that Linux adds; GRE without options; and those
 * over UDP (open_udp.h). What is of such a protocol but not just so is somebody else's, and left
 * alone. Nothing is changed here, and nobody is believed: whose packet it is and who may send it is
 * for the includer to ask. See strip.h for what comes after.
 *
 * The includer supplies, before it includes this:
 *   int env_takes(enum tunnel_mode)  whether tunnels of the mode are read; GUE's both variants are
 *                                    TUNNEL_GUE's, and without a tunnel there is TUNNEL_IPOPT's
 * A constant, or in BPF a word of read-only data: the code of a mode that is off is not loaded.
 */
#pragma once

#include "pkt/parse.h"
#include "tunnel/encap.h"
#include "tunnel/open_udp.h"

enum { TUNNEL_LIMIT = 4 }; /* the option's type; RFC 2473, section 4.1.1 */

/* A destination options header of 8 bytes whose first option is the tunnel encapsulation limit. */
struct tunnel_limit {
	__u8 next, length;
	__u8 type, type_length, limit;
	__u8 padding[3];
};

/* Whether a packet of this protocol may be a tunnel's: what is asked before anything else. */
PKT_INLINE int tunnel_may_be(const struct pkt *pkt)
{
	return tunnel_is_ip(pkt->proto) || pkt->proto == IPPROTO_GRE || pkt->proto == IPPROTO_UDP ||
	       (pkt->version == 6 &&
		(pkt->proto == IPPROTO_DSTOPTS || pkt->proto == IPPROTO_FRAGMENT));
}

/* The host may put it together. */
PKT_INLINE enum tunnel_opened tunnel_fragment(const struct pkt_ctx *ctx, const struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	__u8 proto = pkt->proto, *next;

	if (pkt->version == 6) {
		next = pkt_take(&cursor, __u8);
		if (!next)
			return TUNNEL_BROKEN;
		proto = *next;
	}
	return tunnel_is_ip(proto) || proto == IPPROTO_GRE ? TUNNEL_PIECE : TUNNEL_FOREIGN;
}

/* Steps over the limit if it is there, and a tunnel's packet after it. */
PKT_INLINE void tunnel_skip_limit(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	struct tunnel_limit *limit = pkt_take(&cursor, struct tunnel_limit);

	if (!limit || limit->length || limit->type != TUNNEL_LIMIT || limit->type_length != 1 ||
	    !tunnel_is_ip(limit->next) || pkt->length < sizeof(pkt_ip6) + sizeof(*limit))
		return;
	pkt->proto = limit->next;
	pkt->l4 += sizeof(*limit);
}

/* With any flag there are options, or a version, that no balancer sends. */
PKT_INLINE enum tunnel_opened tunnel_open_gre(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	tunnel_gre *gre = tunnel_take(&cursor, pkt, sizeof(*gre));

	if (!gre || gre->flags)
		return TUNNEL_FOREIGN;
	return tunnel_open_type(pkt, gre->proto);
}

/*
 * After pkt_parse_ip. TUNNEL_OPENED: pkt->l4 is where the inner packet begins, pkt->proto which it
 * is (as of IP in IP), and pkt->length ends where it must end at the latest. Else *pkt is void but
 * for version and addresses. `told` must be zero.
 */
PKT_STAGE int tunnel_open(struct pkt_ctx *ctx, struct pkt *pkt, struct tunnel_told *told)
{
	if (!ctx || !pkt || !told)
		return TUNNEL_BROKEN;
	if (pkt->fragment)
		return tunnel_fragment(ctx, pkt);
	if (pkt->version == 6 && pkt->proto == IPPROTO_DSTOPTS)
		tunnel_skip_limit(ctx, pkt);
	if (pkt->proto == IPPROTO_GRE)
		return env_takes(TUNNEL_GRE) ? tunnel_open_gre(ctx, pkt) : TUNNEL_OFF;
	if (pkt->proto == IPPROTO_UDP)
		return tunnel_open_udp(ctx, pkt, told);
	if (!tunnel_is_ip(pkt->proto))
		return TUNNEL_FOREIGN;
	return env_takes(TUNNEL_IPIP) ? TUNNEL_OPENED : TUNNEL_OFF;
}
