/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pieces of datagrams (RFC 791, RFC 8200 section 4.5): all of one datagram reach one backend, in
 * any order of arrival on a node. The first piece has the ports and goes the way of its flow; the
 * later ones have none, and follow it by an entry of the datagram in the flow table (flow.h). A
 * later piece that comes first is placed by what all pieces have, source, destination and
 * protocol, and the first one follows it. Where no entry can be made all pieces go by that. Of a
 * policy that asks for no ports they do so anyway, without an entry and on any node.
 *
 * A part of dp/forward.h, which says what the includer supplies.
 */
#pragma once

#include "choose/choose.h"
#include "choose/find.h"
#include "choose/piece.h"
#include "choose/special.h"
#include "dp/abi.h"
#include "dp/verdict.h"
#include "flow/entry.h"
#include "pkt/parse.h"

/* --- entries --- */

/* In one bucket. No loop over the two: Linux 6.1 refuses one that its body falls back into. */
PKT_INLINE __u32 fragment_look_in(struct flow *flow, __u32 index)
{
	struct abi_bucket *bucket = env_bucket(index);

	return bucket ? flow_find_piece_in(flow, bucket, index) : 0;
}

/* Looks the datagram up. Returns the service that a live entry names, or 0. */
PKT_STAGE int fragment_look(struct pkt *pkt, struct flow *flow)
{
	struct abi_node *node = env_node();
	__u32 service;

	if (!pkt || !flow)
		return 0;
	flow_prepare_piece(flow, node, pkt, env_now_ns());
	service = fragment_look_in(flow, flow->buckets[0]);
	if (!service)
		service = fragment_look_in(flow, flow->buckets[1]);
	return service && flow_pin_live(node, flow->pin, flow->tick) ? (int)service : 0;
}

/* May the entry's backend have more of the datagram? */
PKT_INLINE int fragment_holds(const struct flow *flow)
{
	struct abi_backend *backend = env_backend(flow_pin_backend(flow->pin));

	return backend && backend->generation == flow_pin_generation(flow->pin) &&
	       backend->flags & ABI_BACKEND_KEEP;
}

/* The place for a new entry: none of a flow that is under way. */
PKT_INLINE int fragment_find_place(struct flow *flow)
{
	__u32 worth;

	if (!env_may_pin(env_node()->insert_limit, flow->tick))
		return 0;
	worth = (__u32)entry_place(flow, flow->buckets[0], FLOW_WORTH_FLOW);
	worth = (__u32)entry_place(flow, flow->buckets[1], worth);
	if (worth == FLOW_WORTH_FLOW)
		return 0;
	if (worth > FLOW_WORTH_EXPIRED)
		env_event(ABI_EVENT_FLOW_EVICTED);
	return 1;
}

/* Records the piece's backend, over the datagram's old entry if there is one. Returns whether. */
PKT_STAGE int fragment_record(struct pkt *pkt, struct flow *flow)
{
	struct abi_backend *backend = pkt ? env_backend(pkt->backend) : 0;
	struct abi_bucket *bucket;
	struct abi_flow *entry;

	if (!backend || !flow)
		return 0;
	if (!flow->pin && !fragment_find_place(flow))
		goto skipped;
	bucket = env_bucket(flow->bucket);
	if (!bucket)
		goto skipped;
	entry = &bucket->flows[flow->place & (ABI_BUCKET_FLOWS - 1)];
	if (!env_swap(&entry->pin, flow->pin, FLOW_BUSY))
		goto skipped;
	env_store(&entry->key, flow->key | (pkt->service & FLOW_KEY_SLOT_MASK));
	env_store(&entry->pin,
		  flow_pin(0, pkt->backend, backend->generation, FLOW_FRAGMENT, flow->tick));
	env_event(ABI_EVENT_FLOW_NEW);
	return 1;
skipped:
	env_event(ABI_EVENT_FLOW_SKIPPED);
	return 0;
}

/*
 * The first piece follows the entry found, which lives on by it if it says what the flow says: else
 * a sender whose ids repeat within its time would be held at a backend that its flow has left.
 */
PKT_INLINE void fragment_follow(struct pkt *pkt, const struct flow *flow)
{
	struct abi_bucket *bucket = env_bucket(flow->bucket);
	__u32 backend = flow_pin_backend(flow->pin);
	__u64 pin = (flow->pin & ~(__u64)FLOW_TIME_MASK) | (flow->tick & FLOW_TIME_MASK);

	if (backend == pkt->backend && bucket && pin != flow->pin)
		env_swap(&bucket->flows[flow->place & (ABI_BUCKET_FLOWS - 1)].pin, flow->pin, pin);
	if (backend != pkt->backend)
		pkt->why = WHY_FRAGMENT;
	pkt->backend = backend;
}

/* --- the way of a piece --- */

/* The piece that has the ports. */
PKT_INLINE int fragment_find_first(struct pkt_ctx *ctx, struct pkt *pkt, struct abi_vip *vip)
{
	if (!piece_parse_ports(ctx, pkt)) {
		pkt->why = WHY_MALFORMED;
		return VERDICT_TRUNCATED;
	}
	pkt->service = (__u32)find_service_rare(vip, pkt);
	return pkt->service ? PKT_ON : VERDICT_NOT_LISTENED;
}

/* A piece without ports: where several services listen, the datagram's entry says which. */
PKT_INLINE int fragment_find_later(struct pkt *pkt, struct abi_vip *vip)
{
	int verdict = piece_find_later(pkt, vip, 0);
	struct flow flow = {};
	int named;

	if (!env_has(ABI_HAS_FRAGMENT) || verdict != VERDICT_FRAGMENT_EARLY)
		return verdict;
	named = fragment_look(pkt, &flow);
	return named ? piece_find_later(pkt, vip, (__u32)named) : verdict;
}

/* Whose piece is it? PKT_PIECE with pkt->service set, or a verdict. */
PKT_STAGE int fragment(struct pkt_ctx *ctx, struct pkt *pkt, struct abi_vip *vip)
{
	struct abi_service *service;
	struct pkt_cursor cursor;
	int verdict;
	pkt_ip4 *ip;

	if (!ctx || !pkt || !vip)
		return VERDICT_FRAGMENT;
	if (pkt->version == 4) {
		cursor = pkt_cursor(ctx, sizeof(pkt_eth));
		ip = pkt_take(&cursor, pkt_ip4);
		if (!ip)
			return VERDICT_MALFORMED;
		pkt->fragment_id = ip->id;
		pkt->piece_proto = pkt->proto;
	}
	/* What the node answers or relays of ICMP comes in one piece. */
	if (pkt->proto == IPPROTO_ICMP || pkt->proto == IPPROTO_ICMPV6)
		return VERDICT_OTHER_PROTOCOL;
	verdict = pkt->later ? fragment_find_later(pkt, vip) : fragment_find_first(ctx, pkt, vip);
	if (verdict == VERDICT_NOT_LISTENED && pkt->proto != IPPROTO_TCP &&
	    pkt->proto != IPPROTO_UDP)
		return VERDICT_OTHER_PROTOCOL;
	if (verdict != PKT_ON)
		return verdict;
	pkt->why = WHY_FRAGMENT;
	service = env_service(pkt->service);
	return service && piece_is_pinned(service) ? PKT_PIECE : VERDICT_FRAGMENT;
}

/* By what all pieces have. Ends with pkt->backend set, or a verdict. */
PKT_INLINE int fragment_choose_alike(struct pkt_ctx *ctx, struct pkt *pkt,
				     const struct abi_service *service)
{
	if (!choose_slot(pkt))
		return choose_nobody(ctx, pkt);
	if (env_has(ABI_HAS_SPECIAL) && service->flags & ABI_SERVICE_SPECIAL) {
		int verdict = special(ctx, pkt);

		if (verdict != PKT_ON)
			return verdict;
	}
	return piece_by_slot(ctx, pkt, service);
}

/* Is it a piece that goes the way of any packet of its flow, and has others follow it? */
PKT_STAGE int fragment_leads(struct pkt *pkt)
{
	struct abi_service *service = pkt ? env_service(pkt->service) : 0;

	return service && env_has(ABI_HAS_FRAGMENT) && !pkt->later &&
	       piece_needs_entry(service, pkt);
}

/* Such a one, once pkt->backend is its flow's: the datagram's entry. Ends as choose_backend. */
PKT_STAGE int fragment_lead(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service = pkt ? env_service(pkt->service) : 0;
	struct flow flow = {};
	int verdict = PKT_ON;
	__u32 named;

	if (!ctx || !service || !env_has(ABI_HAS_FRAGMENT))
		return VERDICT_FRAGMENT;
	named = (__u32)fragment_look(pkt, &flow);
	if (named == pkt->service && fragment_holds(&flow))
		fragment_follow(pkt, &flow);
	else if (!fragment_record(pkt, &flow))
		verdict = piece_by_slot(ctx, pkt, service);
	if (verdict != PKT_ON)
		return verdict;
	/* All pieces take one path. */
	pkt->hash = piece_hash(service, pkt);
	return PKT_ON;
}

PKT_INLINE int fragment_choose_later(struct pkt_ctx *ctx, struct pkt *pkt,
				     const struct abi_service *service)
{
	int verdict = fragment_choose_alike(ctx, pkt, service);
	struct flow flow = {};
	__u32 named;

	if (verdict != PKT_ON)
		return verdict;
	named = (__u32)fragment_look(pkt, &flow);
	if (named == pkt->service && fragment_holds(&flow)) {
		pkt->backend = flow_pin_backend(flow.pin);
		pkt->why = WHY_FRAGMENT;
	} else if (pkt->backend) {
		fragment_record(pkt, &flow);
	}
	return PKT_ON;
}

/* Of any other piece, once it is known whose it is. Ends as choose_backend. */
PKT_STAGE int fragment_choose(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service = pkt ? env_service(pkt->service) : 0;

	if (!ctx || !service || !env_has(ABI_HAS_FRAGMENT))
		return VERDICT_FRAGMENT;
	return piece_needs_entry(service, pkt) ? fragment_choose_later(ctx, pkt, service)
					       : fragment_choose_alike(ctx, pkt, service);
}
