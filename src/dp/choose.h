/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which backend a packet's flow gets: the slot's word, or, where the service tracks its flows, the
 * flow's entry. A part of forward.h, which says what the includer supplies.
 */
#pragma once

#include "dp/abi.h"
#include "dp/flow.h"
#include "dp/special.h"
#include "dp/verdict.h"
#include "pkt/hash.h"
#include "pkt/parse.h"

/* A flow that begins: TCP's first SYN, any datagram. */
PKT_INLINE int choose_begins(const struct pkt *pkt)
{
	return pkt->proto != IPPROTO_TCP ||
	       (pkt->tcp_flags & (PKT_TCP_SYN | PKT_TCP_ACK)) == PKT_TCP_SYN;
}

/*
 * The slot's word decides for a flow without an entry. While the backend's record says that it is
 * down and the slot is not yet rewritten, a flow that begins takes the slot's other owner.
 */
PKT_INLINE void choose_by_slot(struct pkt *pkt, __u64 word)
{
	struct abi_backend *backend;
	__u32 other;

	pkt->why = WHY_SLOT;
	pkt->backend = abi_slot_current(word);
	backend = env_backend(pkt->backend);
	if (!backend || backend->flags & ABI_BACKEND_UP || !choose_begins(pkt))
		return;
	other = abi_slot_other(word);
	backend = env_backend(other);
	if (other && backend && backend->flags & ABI_BACKEND_UP) {
		pkt->why = WHY_OTHER;
		pkt->backend = other;
	}
}

/* May a flow with this pin go on to its backend with this packet? */
PKT_INLINE int choose_pin_holds(const struct abi_node *node, const struct flow *flow,
				const struct pkt *pkt)
{
	struct abi_backend *backend = env_backend(flow_pin_backend(flow->pin));
	__u32 state = flow_pin_state(flow->pin);

	if (!backend || backend->generation != flow_pin_generation(flow->pin) ||
	    !(backend->flags & ABI_BACKEND_KEEP))
		return 0;
	if (!flow_pin_live(node, flow->pin, flow->tick))
		return 0;
	if (pkt->proto != IPPROTO_TCP || !choose_begins(pkt))
		return 1;
	/* A SYN on a live connection keeps its pin: the backend answers it (RFC 5961, section 4).
	 * On a closing one it begins anew, and so does one that its backend never answered. */
	return state == FLOW_ESTABLISHED ||
	       (state == FLOW_HANDSHAKE && backend->flags & ABI_BACKEND_UP);
}

/* The entry found gets the packet's state and time, if they differ. */
PKT_INLINE void choose_touch(const struct flow *flow, const struct pkt *pkt)
{
	struct abi_bucket *bucket = env_bucket(flow->bucket);
	__u32 state = flow_next_state(flow_pin_state(flow->pin), pkt);
	__u64 pin = flow_pin(flow->slot, flow_pin_backend(flow->pin),
			     flow_pin_generation(flow->pin), state, flow->tick);

	if (bucket && pin != flow->pin)
		env_swap(&bucket->flows[flow->place & (ABI_BUCKET_FLOWS - 1)].pin, flow->pin, pin);
}

/*
 * The place of least worth in one bucket, if it beats `worth`; returns the lower of the two. A
 * stage of its own, called for new flows alone: within its caller the verifier would follow each
 * way through eight places together with each way through the rest.
 */
PKT_STAGE int choose_place(struct flow *flow, __u32 index, __u32 worth)
{
	struct abi_bucket *bucket = env_bucket(index);

	if (flow && bucket)
		flow_victim_in(env_node(), flow, bucket, index, &worth);
	return (int)worth;
}

/*
 * Records the flow's backend: over its own old entry, else in the place of least worth. What
 * cannot be recorded is only counted; the slot decides for it again.
 */
PKT_INLINE void choose_record(const struct abi_node *node, struct flow *flow, const struct pkt *pkt)
{
	struct abi_backend *backend = env_backend(pkt->backend);
	struct abi_bucket *bucket;
	struct abi_flow *entry;
	__u32 worth;

	/* Over its own entry is no insert: the old one would go on to decide for the new flow. */
	if (!backend || (!flow->pin && !env_may_insert(node->insert_limit, flow->tick))) {
		env_event(ABI_EVENT_FLOW_SKIPPED);
		return;
	}
	worth = (__u32)choose_place(flow, flow->buckets[0], ~0U);
	if (worth != FLOW_WORTH_OWN)
		worth = (__u32)choose_place(flow, flow->buckets[1], worth);
	bucket = env_bucket(flow->bucket);
	if (!bucket || worth == ~0U)
		return env_event(ABI_EVENT_FLOW_SKIPPED);
	entry = &bucket->flows[flow->place & (ABI_BUCKET_FLOWS - 1)];
	if (!env_swap(&entry->pin, flow->pin, FLOW_BUSY))
		return env_event(ABI_EVENT_FLOW_SKIPPED);
	env_store(&entry->key, flow->key);
	env_store(&entry->pin, flow_pin(flow->slot, pkt->backend, backend->generation,
					flow_next_state(FLOW_NONE, pkt), flow->tick));
	env_event(ABI_EVENT_FLOW_NEW);
	if (worth > FLOW_WORTH_EXPIRED)
		env_event(ABI_EVENT_FLOW_EVICTED);
}

/* Looks the flow up. Returns whether it has an entry that decides for this packet. */
PKT_INLINE int choose_find(const struct abi_node *node, struct flow *flow, const struct pkt *pkt)
{
	struct abi_bucket *bucket;

	flow_prepare(flow, node, pkt, env_now_ns());
	for (__u32 i = 0; i < 2; i++) {
		bucket = env_bucket(flow->buckets[i]);
		if (bucket && flow_find_in(flow, bucket, flow->buckets[i]))
			break;
	}
	return flow->pin && choose_pin_holds(node, flow, pkt);
}

/* The flow's entry decides where there is one that holds; else the slot does, and is recorded. */
PKT_STAGE int choose_by_flow(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_node *node = env_node();
	struct flow flow = {};
	__u64 *slot;

	if (!pkt || !ctx)
		return VERDICT_EMPTY;
	if (choose_find(node, &flow, pkt)) {
		pkt->why = WHY_FLOW;
		pkt->backend = flow_pin_backend(flow.pin);
		choose_touch(&flow, pkt);
		return PKT_ON;
	}
	slot = env_slot(pkt->slot);
	if (!slot)
		return VERDICT_EMPTY;
	choose_by_slot(pkt, *(volatile __u64 *)slot);
	if (pkt->backend)
		choose_record(node, &flow, pkt);
	return PKT_ON;
}

/* The flow's slot. Returns its service, or NULL when there is no slot to have. */
PKT_INLINE struct abi_service *choose_slot(struct pkt *pkt)
{
	struct abi_service *service;
	__u64 table;
	__u32 size;

	pkt->why = WHY_EMPTY;
	service = env_service(pkt->service);
	if (!service)
		return 0;
	table = *(volatile __u64 *)&service->table;
	size = (__u32)(table >> 32);
	if (!size)
		return 0;
	pkt->mode = service->mode;
	pkt->hash = pkt_hash_tuple(&pkt->src, &pkt->dst, pkt->sport, pkt->dport, pkt->proto,
				   env_node()->slot_seed);
	pkt->table_first = (__u32)table;
	pkt->slot = (__u32)table + pkt_hash_below(pkt->hash, size);
	return service;
}

/* Which backend? Ends with pkt->backend set, or a verdict. */
PKT_STAGE int choose_backend(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service;
	__u64 *slot;

	if (!pkt || !ctx)
		return VERDICT_EMPTY;
	service = choose_slot(pkt);
	if (!service)
		return VERDICT_EMPTY;
	if (env_has(ABI_HAS_SPECIAL) && service->flags & ABI_SERVICE_SPECIAL) {
		int verdict = special(ctx, pkt);

		if (verdict != PKT_ON || pkt->backend)
			return verdict;
	}
	if (env_has(ABI_HAS_TRACK) && service->flags & ABI_SERVICE_TRACK)
		return choose_by_flow(ctx, pkt);
	slot = env_slot(pkt->slot);
	if (!slot)
		return VERDICT_EMPTY;
	choose_by_slot(pkt, *(volatile __u64 *)slot);
	return PKT_ON;
}

/*
 * Which backend has the flow that an ICMP error quotes? The one that a packet of the flow would
 * get; but nothing is recorded or touched: an error is no sign of life, and anyone can make one up.
 */
PKT_STAGE int choose_quoted(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service;
	struct flow flow = {};
	__u64 *slot;

	if (!pkt || !ctx)
		return VERDICT_EMPTY;
	service = choose_slot(pkt);
	if (!service)
		return VERDICT_EMPTY;
	if (env_has(ABI_HAS_SPECIAL) && service->flags & ABI_SERVICE_SPECIAL) {
		int verdict = special(ctx, pkt);

		if (verdict != PKT_ON || pkt->backend)
			return verdict;
	}
	if (env_has(ABI_HAS_TRACK) && service->flags & ABI_SERVICE_TRACK &&
	    choose_find(env_node(), &flow, pkt)) {
		pkt->backend = flow_pin_backend(flow.pin);
		return PKT_ON;
	}
	slot = env_slot(pkt->slot);
	if (!slot)
		return VERDICT_EMPTY;
	choose_by_slot(pkt, *(volatile __u64 *)slot);
	return PKT_ON;
}
