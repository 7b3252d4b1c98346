/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The chain of IPv6 extension headers (RFC 8200, section 4): what stands between an IPv6 header
 * and the transport's. Each header says which one follows and how long it is itself, so a chain
 * is believed only step by step, within the packet and within limits. Looked through are
 * hop-by-hop options (first only, as the RFC demands), destination options, routing headers whose
 * way is at its end, and fragment headers.
 */
#pragma once

#include <linux/in.h>

#include "pkt/cursor.h"

enum { PKT_CHAIN_HEADERS = 4, PKT_CHAIN_UNIT = 8 };

enum pkt_chained {
	PKT_CHAIN_OVER,   /* at, proto: the header after the chain */
	PKT_CHAIN_CUT,    /* the packet ends before its header does */
	PKT_CHAIN_BEYOND, /* too many, too long, segments left, hop-by-hop options not first */
};

/* Offsets from the frame's start. */
struct pkt_chain {
	__u32 at;
	__u32 end;     /* of the packet */
	__u8 proto;    /* of the header at `at` */
	__u8 split;    /* there was a fragment header ... */
	__u8 fragment; /* ... of a datagram that has more than one piece ... */
	__u8 later;    /* ... of which this is not the first: no transport header follows */
	__be32 fragment_id;
	__u8 piece_proto; /* what the fragment header says that the datagram begins with */
	__u8 pad[3];
};

/* What all of them begin with: the shortest is as long as this, and so is a fragment header. */
struct pkt_extension {
	__u8 next;
	__u8 length;  /* in units, beyond the first */
	__u8 rest[6]; /* a routing header's segments left in [1]; a fragment's offset */
};

PKT_INLINE int pkt_chain_is_extension(__u8 proto)
{
	return proto == IPPROTO_HOPOPTS || proto == IPPROTO_DSTOPTS || proto == IPPROTO_ROUTING ||
	       proto == IPPROTO_FRAGMENT;
}

/* A fragment header. Neither an offset nor more to come: it is the whole datagram (RFC 6946). */
PKT_INLINE void pkt_chain_split(struct pkt_chain *chain, const struct pkt_extension *extension)
{
	chain->split = 1;
	chain->later = (extension->rest[0] | (extension->rest[1] & 0xf8)) != 0;
	chain->fragment = chain->later || extension->rest[1] & 1;
	pkt_copy(&chain->fragment_id, extension->rest + 2, sizeof(chain->fragment_id));
	chain->piece_proto = extension->next;
}

/* One header. PKT_CHAIN_OVER: it is behind us. */
PKT_INLINE enum pkt_chained pkt_chain_step(const struct pkt_ctx *ctx, struct pkt_chain *chain,
					   int first)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, chain->at);
	struct pkt_extension *extension = pkt_take(&cursor, struct pkt_extension);
	__u32 length = PKT_CHAIN_UNIT;

	if (!extension || chain->at + sizeof(*extension) > chain->end)
		return PKT_CHAIN_CUT;
	if (chain->proto == IPPROTO_FRAGMENT) {
		/* A piece of a piece: no sender makes it, and which datagram's would it be? */
		if (chain->split)
			return PKT_CHAIN_BEYOND;
		pkt_chain_split(chain, extension);
	} else {
		if (chain->proto == IPPROTO_HOPOPTS && !first)
			return PKT_CHAIN_BEYOND;
		if (chain->proto == IPPROTO_ROUTING && extension->rest[1])
			return PKT_CHAIN_BEYOND;
		length += extension->length * (__u32)PKT_CHAIN_UNIT;
	}
	if (length > chain->end - chain->at)
		return PKT_CHAIN_CUT;
	chain->proto = extension->next;
	chain->at += length;
	return chain->at > PKT_OFFSET_MAX ? PKT_CHAIN_BEYOND : PKT_CHAIN_OVER;
}

/* From an extension header to what is none, or to where a later piece's data begin. */
PKT_INLINE enum pkt_chained pkt_chain_walk(const struct pkt_ctx *ctx, struct pkt_chain *chain)
{
	for (int i = 0; i < PKT_CHAIN_HEADERS; i++) {
		enum pkt_chained chained = pkt_chain_step(ctx, chain, i == 0);

		if (chained != PKT_CHAIN_OVER)
			return chained;
		if (chain->later || !pkt_chain_is_extension(chain->proto))
			return PKT_CHAIN_OVER;
	}
	return PKT_CHAIN_BEYOND;
}
