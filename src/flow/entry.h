/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A flow's entry in the table of flow.h: whether it decides for a packet, and how it is made and
 * kept. A part of dp/forward.h, which says what the includer supplies.
 */
#pragma once

#include "dp/abi.h"
#include "flow/flow.h"
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

/* Is the entry as the packet would leave it: a segment amid its connection, within a tick? */
PKT_INLINE int entry_stays(const struct flow *flow, const struct pkt *pkt)
{
	return pkt->proto == IPPROTO_TCP && flow_pin_state(flow->pin) == FLOW_ESTABLISHED &&
	       !(pkt->tcp_flags & (PKT_TCP_RST | PKT_TCP_FIN)) &&
	       !(((__u32)flow->pin ^ flow->tick) & FLOW_TIME_MASK);
}

/* The entry found gets the packet's state and time, if they differ. */
PKT_INLINE void entry_touch(const struct flow *flow, const struct pkt *pkt)
{
	struct abi_bucket *bucket;
	__u32 state;
	__u64 pin;

	if (entry_stays(flow, pkt))
		return;
	bucket = env_bucket(flow->bucket);
	state = flow_next_state(flow_pin_state(flow->pin), pkt);
	pin = flow_pin(flow->slot, flow_pin_backend(flow->pin), flow_pin_generation(flow->pin),
		       state, flow->tick);
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
 * Is this live entry one that says nothing which its slot's word does not say without it? Whose
 * flow is from before the slot's change, and has stayed where it was.
 */
PKT_INLINE int entry_is_redundant(__u64 key, __u64 pin)
{
	__u32 state = flow_pin_state(pin);
	__u64 *slot, word;

	if (state == FLOW_UDP || state == FLOW_FRAGMENT || pin == FLOW_BUSY)
		return 0;
	slot = env_slot((__u32)(pin >> FLOW_SLOT_SHIFT) << FLOW_KEY_SLOT_BITS |
			((__u32)key & FLOW_KEY_SLOT_MASK));
	if (!slot)
		return 0;
	word = *(volatile __u64 *)slot;
	return word & ABI_SLOT_TRANSITION && abi_slot_previous(word) == flow_pin_backend(pin);
}

/* The same question to a bucket; the place of such an entry is the flow's. Whether there is one. */
PKT_STAGE int entry_redundant_place(struct flow *flow, __u32 index)
{
	struct abi_bucket *bucket = env_bucket(index);

	if (!flow || !bucket)
		return 0;
	for (__u32 i = 0; i < ABI_BUCKET_FLOWS; i++) {
		__u64 key = *(volatile __u64 *)&bucket->flows[i].key;
		__u64 pin = *(volatile __u64 *)&bucket->flows[i].pin;

		if (!entry_is_redundant(key, pin))
			continue;
		flow->pin = pin;
		flow->bucket = index;
		flow->place = i;
		return 1;
	}
	return 0;
}

/*
 * A place for a new entry. A redundant one gets none that an entry which lives has; any other gets
 * first what redundant ones have. Whether there is one; the flow's pin, bucket and place are it.
 */
PKT_INLINE int entry_find_place(struct flow *flow, int redundant)
{
	__u32 none = redundant ? FLOW_WORTH_EXPIRED + 1 : ~0U, worth;

	worth = (__u32)entry_place(flow, flow->buckets[0], none);
	if (worth > FLOW_WORTH_EMPTY)
		worth = (__u32)entry_place(flow, flow->buckets[1], worth);
	if (worth == none)
		return 0;
	if (worth <= FLOW_WORTH_EXPIRED)
		return 1;
	if (entry_redundant_place(flow, flow->buckets[0]) ||
	    entry_redundant_place(flow, flow->buckets[1]))
		env_event(ABI_EVENT_FLOW_RELIES);
	env_event(ABI_EVENT_FLOW_EVICTED);
	return 1;
}

/* Over what is at the flow's place, if it is still there. Returns whether. */
PKT_INLINE int entry_write_for(struct flow *flow, const struct abi_backend *backend, __u32 index,
			       __u32 state)
{
	struct abi_bucket *bucket = env_bucket(flow->bucket);
	struct abi_flow *entry;

	if (!bucket)
		return 0;
	entry = &bucket->flows[flow->place & (ABI_BUCKET_FLOWS - 1)];
	if (!env_swap(&entry->pin, flow->pin, FLOW_BUSY))
		return 0;
	env_store(&entry->key, flow->key);
	env_store(&entry->pin, flow_pin(flow->slot, index, backend->generation, state, flow->tick));
	return 1;
}

PKT_INLINE int entry_write(struct flow *flow, __u32 index, __u32 state)
{
	struct abi_backend *backend = env_backend(index);

	return backend && entry_write_for(flow, backend, index, state);
}

/*
 * Records the flow's backend: over its own old entry, else in the place of least worth. Returns
 * whether. What cannot be recorded is counted, and where it goes from now on is the caller's care.
 * A redundant entry, without which the flow goes the same way, costs at most half of the limit.
 */
PKT_STAGE int entry_record(struct flow *flow, struct pkt *pkt, int redundant)
{
	struct abi_backend *backend = pkt ? env_backend(pkt->backend) : 0;
	struct abi_node *node = env_node();

	/* A pin that is void at once could come to hold later, when the flow has gone elsewhere. */
	if (!flow || !backend || !(backend->flags & ABI_BACKEND_KEEP))
		return 0;
	/* Over its own entry is no insert: the old one would go on to decide for the new flow. */
	if (!flow->pin &&
	    (!env_may_insert(redundant ? node->insert_limit / 2 : node->insert_limit, flow->tick) ||
	     !entry_find_place(flow, redundant)))
		goto skipped;
	if (!entry_write(flow, pkt->backend, flow_next_state(FLOW_NONE, pkt)))
		goto skipped;
	env_event(ABI_EVENT_FLOW_NEW);
	return 1;
skipped:
	env_event(ABI_EVENT_FLOW_SKIPPED);
	return 0;
}

/* The slot that the flow is looked for under. */
PKT_INLINE void flow_set_slot(struct flow *flow, __u32 slot)
{
	flow->slot = slot;
	flow->key = (flow->key & ~(__u64)FLOW_KEY_SLOT_MASK) | (slot & FLOW_KEY_SLOT_MASK);
}

/* In the flow's first bucket. Whether it is there, or an empty place: then nowhere else. */
PKT_INLINE int entry_look_first(struct flow *flow)
{
	struct abi_bucket *bucket = env_bucket(flow->buckets[0]);

	if (!bucket || flow_find_in(flow, bucket, flow->buckets[0]))
		return 1;
	flow->bucket = flow->buckets[0];
	flow->place = flow_empty_in(bucket);
	return flow->place < ABI_BUCKET_FLOWS;
}

/* No loop: kernel 6.1 takes some for jumps back that it does not know. */
PKT_INLINE void entry_look_both(struct flow *flow)
{
	struct abi_bucket *second;

	if (entry_look_first(flow))
		return;
	second = env_bucket(flow->buckets[1]);
	if (second)
		flow_find_in(flow, second, flow->buckets[1]);
}

/* Looks the flow up. Returns whether it has an entry that decides for this packet. */
PKT_INLINE int entry_find(const struct abi_node *node, struct flow *flow, const struct pkt *pkt)
{
	flow_prepare(flow, node, pkt, env_now_ns());
	entry_look_both(flow);
	return flow->pin && entry_holds(node, flow, pkt);
}
