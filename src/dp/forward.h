/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The balancer's decision, from a frame to a verdict: parse, find the VIP and the service, find
 * the flow's backend, wrap the packet. One text for the XDP program, the native engine and the
 * tests. Every way out is a verdict (dp/verdict.h) and is counted once, at the end.
 *
 * The includer supplies, before it includes this, what differs between the worlds:
 *   struct abi_node *env_node(void)           never NULL, as all below with an index in range
 *   struct abi_vip *env_vip(u32 place)        these may return NULL for the verifier's sake,
 *   struct abi_service *env_service(u32)      and then the packet ends as if the table were empty
 *   struct abi_backend *env_backend(u32)
 *   __u64 *env_slot(u32)
 *   struct abi_bucket *env_bucket(u32)
 *   __u64 env_now_ns(void)
 *   struct abi_server *env_server(u32)
 *   __u64 *env_rate(u32 service)              this core's time of the service's rate limit
 *   __u32 env_prefix(u32 list, version, addr) the longest prefix's value; 0: there is none
 *   int env_has(enum abi_feature)             constant in BPF: what is off is not there; but a load
 *                                             all the same, so a packet's own question comes first
 *   int env_slow(ctx, const struct abi_slow *)  gives the frame to the daemon; 0 or negative
 *   int env_may_insert(u32 limit, u32 tick)   one more new entry on this core in this tick?
 *   int env_may_pin(u32 limit, u32 tick)      the same for one more datagram in pieces
 *   int env_may_reply(u32 limit, u32 tick)    the same for one more answer of the node's own
 *   int env_may_slow(u32 limit, u32 tick)     the same for one more frame to the daemon
 *   int env_swap(__u64 *at, __u64 old, __u64 new)  compare-and-exchange; whether it was done
 *   void env_store(__u64 *at, __u64 value)    a store that is ordered after what was before it
 *   void env_count(const struct pkt *, u32 verdict), env_event(enum abi_event)
 *   void env_trace(const struct pkt *, u32 verdict)
 */
#pragma once

#include "choose/choose.h"
#include "choose/find.h"
#include "choose/fragment.h"
#include "dp/abi.h"
#include "dp/other.h"
#include "dp/plain.h"
#include "dp/unwrap.h"
#include "dp/verdict.h"
#include "pkt/hash.h"
#include "pkt/parse.h"
#include "pkt/vlan.h"
#include "send/reply.h"
#include "send/wrap.h"

/* Whose packet is it? Ends with pkt->service set: PKT_ON, PKT_CHOSEN, PKT_PIECE; or a verdict. */
PKT_STAGE int forward_classify(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_vip *vip;
	int verdict;

	if (!pkt)
		return VERDICT_MALFORMED;
	verdict = plain_parse(ctx, pkt);
	if (verdict != PKT_ON)
		return verdict;
	vip = plain_vip(pkt);
	if (!vip)
		return VERDICT_NOT_VIP;
	if (pkt->fragment && pkt->version == 4)
		return fragment(ctx, pkt, vip);
	if (!find_has_ports(pkt))
		return other(ctx, pkt, vip);
	return find_listener(ctx, pkt, vip);
}

/*
 * Neither IPv4 nor IPv6 at first sight. Behind VLAN tags there may be a packet for us, which then
 * stands there without them, and goes the way of any other: PKT_AGAIN, or a verdict.
 */
PKT_STAGE int forward_untag(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_vlan vlan = {};

	if (!pkt)
		return VERDICT_NOT_IP;
	if (pkt_vlan_off(ctx, &vlan))
		return VERDICT_NO_HEADROOM;
	if (!vlan.count)
		return VERDICT_NOT_IP;
	pkt->vlan = vlan;
	pkt->seldom |= PKT_SELDOM_TAGS;
	return PKT_AGAIN;
}

/*
 * A frame gets its tags back as they were, be it sent where it came in or passed on. What leaves at
 * another interface, or into a VLAN of its backend's, does so without: wrap_seldom forgets them.
 */
PKT_STAGE int forward_retag(struct pkt_ctx *ctx, struct pkt *pkt, int verdict)
{
	if (!pkt || !ctx)
		return VERDICT_NO_HEADROOM;
	return pkt_vlan_on(ctx, &pkt->vlan) ? VERDICT_NO_HEADROOM : verdict;
}

/* Once it is known whose packet it is. Always a verdict. */
PKT_INLINE int forward_send(struct pkt_ctx *ctx, struct pkt *pkt, int verdict)
{
	if (verdict == PKT_ON)
		verdict = wrap(ctx, pkt);
	return verdict == VERDICT_EMPTY ? reply_empty(ctx, pkt) : verdict;
}

/* Not for a VIP at first sight: there may be another balancer's tunnel around one that is. */
PKT_INLINE int forward_unwrap(struct pkt_ctx *ctx, struct pkt *pkt)
{
	int verdict = tunnel_may_be(pkt) ? unwrap(ctx, pkt) : VERDICT_NOT_VIP;

	return verdict == PKT_ON ? forward_classify(ctx, pkt) : verdict;
}

/* Once it is known whose piece it is. Ends as choose_backend. */
PKT_INLINE int forward_piece(struct pkt_ctx *ctx, struct pkt *pkt)
{
	int verdict;

	if (!fragment_leads(pkt))
		return fragment_choose(ctx, pkt);
	verdict = choose_backend(ctx, pkt);
	return verdict == PKT_ON && pkt->backend ? fragment_lead(ctx, pkt) : verdict;
}

/*
 * What is not simply a packet for a service. One step after the other here, not one within the
 * other: calls go eight deep at most, and their stacks together are half a kilobyte.
 */
PKT_INLINE int forward_rare(struct pkt_ctx *ctx, struct pkt *pkt, int verdict)
{
	__u32 frame_length = pkt->frame_length;

	if (verdict == VERDICT_NOT_IP)
		verdict = forward_untag(ctx, pkt);
	if (verdict == PKT_AGAIN)
		verdict = forward_classify(ctx, pkt);
	if (env_has(ABI_HAS_DECAP) && verdict == VERDICT_NOT_VIP)
		verdict = forward_unwrap(ctx, pkt);
	if (verdict == PKT_ON)
		verdict = choose_backend(ctx, pkt);
	else if (verdict == PKT_PIECE)
		verdict = forward_piece(ctx, pkt);
	else if (verdict == PKT_CHOSEN)
		verdict = PKT_ON;
	verdict = forward_send(ctx, pkt, verdict);
	pkt->frame_length = frame_length;
	return pkt->vlan.count ? forward_retag(ctx, pkt, verdict) : verdict;
}

/* What a plain packet's way could not do to its end (plain.h). */
PKT_INLINE int forward_on(struct pkt_ctx *ctx, struct pkt *pkt, int verdict)
{
	return verdict == PKT_CHOSEN ? forward_send(ctx, pkt, PKT_ON)
				     : forward_rare(ctx, pkt, verdict);
}

/* The whole path. Counts and traces; the verdict's action is the includer's to carry out. */
PKT_INLINE int forward(struct pkt_ctx *ctx, struct pkt *pkt)
{
	int verdict = plain(ctx, pkt);

	if (verdict != VERDICT_FORWARDED)
		verdict = forward_on(ctx, pkt, verdict);
	env_count(pkt, (__u32)verdict);
	if (env_has(ABI_HAS_TRACE))
		env_trace(pkt, (__u32)verdict);
	return verdict;
}
