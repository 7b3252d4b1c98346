/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A flow's entry in the table of flow.h: whether it decides for a packet, and how it is made and
 * kept. A part of dp/forward.h, which says what the includer supplies.
 */
#pragma once

#include "choose/flow.h"
#include "dp/abi.h"
#include "pkt/parse.h"

/* A flow that begins: TCP's first SYN, any datagram. */
PKT_INLINE int entry_begins(const struct pkt *pkt)
{
	return pkt->proto != IPPROTO_TCP ||
	       (pkt->tcp_flags & (PKT_TCP_SYN | PKT_TCP_ACK)) == PKT_TCP_SYN;
}

/* May a flow with this pin go on to its backend with this packet? */
PKT_INLINE int entry_holds(const struct abi_node *node, const struct flow *flow,
			   const struct pkt *pkt)
{
	struct abi_backend *backend = env_backend(flow_pin_backend(flow->pin));
	__u32 state = flow_pin_state(flow->pin);

	if (!backend || backend->generation != flow_pin_generation(flow->pin) ||
	    !(backend->flags & ABI_BACKEND_KEEP))
		return 0;
	if (!flow_pin_live(node, flow->pin, flow->tick))
		return 0;
	if (pkt->proto != IPPROTO_TCP || !entry_begins(pkt))
		return 1;
	/* A SYN on a live connection keeps its pin: the backend answers it (RFC 5961, section 4).
	 * On a closing one it begins anew, and so does one that its backend never answered. */
	return state == FLOW_ESTABLISHED ||
	       (state == FLOW_HANDSHAKE && backend->flags & ABI_BACKEND_UP);
}

/* The entry found gets the packet's state and time, if they differ. */
PKT_INLINE void entry_touch(const struct flow *flow, const struct pkt *pkt)
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
PKT_STAGE int entry_place(struct flow *flow, __u32 index, __u32 worth)
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
PKT_INLINE void entry_record(const struct abi_node *node, struct flow *flow, const struct pkt *pkt)
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
	worth = (__u32)entry_place(flow, flow->buckets[0], ~0U);
	if (worth != FLOW_WORTH_OWN)
		worth = (__u32)entry_place(flow, flow->buckets[1], worth);
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

/* In one of the flow's two buckets. Returns whether it is there. */
PKT_INLINE int entry_look(struct flow *flow, __u32 which)
{
	struct abi_bucket *bucket = env_bucket(flow->buckets[which]);

	return bucket && flow_find_in(flow, bucket, flow->buckets[which]);
}

/* Looks the flow up. Returns whether it has an entry that decides for this packet. */
PKT_INLINE int entry_find(const struct abi_node *node, struct flow *flow, const struct pkt *pkt)
{
	flow_prepare(flow, node, pkt, env_now_ns());
	/* No loop: kernel 6.1 takes some for jumps back that it does not know. */
	if (!entry_look(flow, 0))
		entry_look(flow, 1);
	return flow->pin && entry_holds(node, flow, pkt);
}
