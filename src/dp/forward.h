/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The balancer's decision, from a frame to a verdict: parse, find the VIP and the service, find
 * the flow's backend, wrap the packet. One text for the XDP program, the native engine and the
 * tests. Every way out is a verdict (pkt/verdict.h) and is counted once, at the end.
 *
 * The includer supplies, before it includes this, what differs between the worlds:
 *   struct abi_node *env_node(void)           never NULL, as all below with an index in range
 *   struct abi_vip *env_vip(u32 place)        these may return NULL for the verifier's sake,
 *   struct abi_service *env_service(u32)      and then the packet ends as if the table were empty
 *   struct abi_backend *env_backend(u32)
 *   __u64 *env_slot(u32)
 *   struct abi_bucket *env_bucket(u32)
 *   __u64 env_now_ns(void)
 *   int env_has_ipv6(void), env_has_track(void), env_has_trace(void): switches, constant in BPF
 *   int env_may_insert(u32 limit, u32 tick)   one more new entry on this core in this tick?
 *   int env_may_reply(u32 limit, u32 tick)    the same for one more answer of the node's own
 *   int env_swap(__u64 *at, __u64 old, __u64 new)  compare-and-exchange; whether it was done
 *   void env_store(__u64 *at, __u64 value)    a store that is ordered after what was before it
 *   void env_count(const struct pkt *, u32 verdict), env_event(enum abi_event)
 *   void env_trace(const struct pkt *, u32 verdict)
 */
#pragma once

#include "dp/abi.h"
#include "dp/choose.h"
#include "dp/reply.h"
#include "dp/wrap.h"
#include "pkt/hash.h"
#include "pkt/parse.h"
#include "pkt/verdict.h"

PKT_INLINE struct abi_vip *forward_find_vip(const struct pkt *pkt)
{
	__u32 place = (__u32)pkt_hash_addr(&pkt->dst, env_node()->vip_secret);

	for (__u32 i = 0; i < ABI_VIP_PROBES; i++) {
		struct abi_vip *vip = env_vip((place + i) & (ABI_VIPS - 1));

		if (!vip)
			return 0;
		if (pkt_addr_equal(&vip->addr, &pkt->dst))
			return vip;
		if (!(vip->addr.half[0] | vip->addr.half[1]))
			return 0;
	}
	return 0;
}

PKT_INLINE __u32 forward_find_service(const struct abi_vip *vip, const struct pkt *pkt)
{
	__u32 port = PKT_HOST16(pkt->dport);

	for (__u32 i = 0; i < ABI_VIP_LISTENS; i++) {
		__u64 listen = *(volatile const __u64 *)&vip->listens[i];

		if (!listen)
			return 0;
		if ((__u8)(listen >> 32) == pkt->proto && port >= (__u16)listen &&
		    port <= (__u16)(listen >> 16))
			return (__u32)(listen >> 40);
	}
	return 0;
}

/* Whose packet is it? Ends with pkt->service set, or a verdict. */
PKT_STAGE int forward_classify(struct pkt_ctx *ctx, struct pkt *pkt)
{
	enum pkt_parsed parsed;
	struct abi_vip *vip;

	if (!pkt)
		return VERDICT_MALFORMED;
	pkt->frame_length = (__u32)((__u64)pkt_data_end(ctx) - (__u64)pkt_data(ctx));
	pkt->why = WHY_MALFORMED;
	parsed = pkt_parse_ip(ctx, pkt);
	if (parsed == PKT_PARSED_MALFORMED)
		return VERDICT_MALFORMED;
	pkt->why = WHY_NOT_VIP;
	if (parsed == PKT_PARSED_NOT_IP)
		return VERDICT_NOT_IP;
	/* An IPv6 packet for ::ffff:a.b.c.d must not find the VIP a.b.c.d. */
	if (pkt->version == 6 && (!env_has_ipv6() || pkt_addr_is4(&pkt->dst)))
		return VERDICT_NOT_VIP;
	vip = forward_find_vip(pkt);
	if (!vip || !vip->listens[0])
		return VERDICT_NOT_VIP;
	if (pkt->fragment) {
		pkt->why = WHY_FRAGMENT;
		return VERDICT_FRAGMENT;
	}
	if (pkt->proto != IPPROTO_TCP && pkt->proto != IPPROTO_UDP) {
		if (pkt->proto == IPPROTO_ICMP || pkt->proto == IPPROTO_ICMPV6)
			pkt->why = WHY_ICMP;
		return reply_echo(ctx, pkt);
	}
	if (pkt_parse_l4(ctx, pkt) != PKT_PARSED) {
		pkt->why = WHY_MALFORMED;
		return VERDICT_TRUNCATED;
	}
	pkt->service = forward_find_service(vip, pkt);
	return pkt->service ? PKT_ON : VERDICT_NOT_LISTENED;
}

/* The whole path. Counts and traces; the verdict's action is the includer's to carry out. */
PKT_INLINE int forward(struct pkt_ctx *ctx, struct pkt *pkt)
{
	int verdict = forward_classify(ctx, pkt);

	if (verdict == PKT_ON)
		verdict = choose_backend(ctx, pkt);
	if (verdict == PKT_ON)
		verdict = wrap(ctx, pkt);
	env_count(pkt, (__u32)verdict);
	if (env_has_trace())
		env_trace(pkt, (__u32)verdict);
	return verdict;
}
