/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is too big and may be fragmented, on its way to the daemon: XDP makes one frame of one, and
 * cannot cut it. Bounded by a limit of its own. A part of dp/forward.h, which says what the
 * includer supplies.
 */
#pragma once

#include "dp/abi.h"
#include "dp/verdict.h"
#include "pkt/parse.h"
#include "pkt/vlan.h"

enum { SLOW_MTU_MIN = 68 }; /* every link carries so much of IPv4 (RFC 791, section 3.2) */

PKT_INLINE int slow_may_be_cut(const struct pkt_ctx *ctx, const struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, sizeof(pkt_eth));
	pkt_ip4 *ip = pkt_take(&cursor, pkt_ip4);

	return pkt->version == 4 && ip && !(ip->frag_off & PKT_BE16(0x4000));
}

/*
 * Gives the frame, without its tags, with all that the daemon must know to do with the pieces what
 * the packet path does with a packet. What it could not take is lost.
 */
PKT_STAGE int slow_send(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_slow record = {};

	if (!ctx || !pkt)
		return PKT_ON;
	record.length = pkt->frame_length;
	record.service = pkt->service;
	record.backend = pkt->backend;
	record.mtu = pkt->fits;
	record.hash = pkt->hash;
	record.tags[0] = pkt->vlan.outer;
	record.tags[1] = pkt->vlan.inner;
	record.ifindex = ctx->ingress_ifindex;
	record.sport = pkt->sport;
	record.dport = pkt->dport;
	record.mode = pkt->mode;
	record.hops = pkt->hops;
	if (env_slow(ctx, &record))
		env_event(ABI_EVENT_SLOW_LOST);
	return PKT_ON;
}

/* For a packet longer than `mtu` that may be cut. A verdict. */
PKT_INLINE int slow_give(struct pkt_ctx *ctx, struct pkt *pkt, int mtu)
{
	if (mtu < SLOW_MTU_MIN)
		return VERDICT_TOO_BIG;
	if (!env_may_slow(env_node()->slow_limit, (__u32)(env_now_ns() >> ABI_TICK_SHIFT))) {
		pkt->why = WHY_LIMIT;
		return VERDICT_SPLIT_LIMITED;
	}
	pkt->fits = (__u16)mtu;
	slow_send(ctx, pkt);
	return VERDICT_TOO_BIG_SPLIT;
}
