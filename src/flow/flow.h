/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The flow table: which backend a flow was given, 16 bytes a flow, four flows to a cache line.
 *
 * A flow has two candidate buckets and may stand in any of their eight places. An entry is two
 * words. The key holds 52 bits of a signature of the tuple, keyed with the node's secret, and
 * the low 12 bits of the slot. The pin holds the slot's other bits, the backend and its record's
 * generation, the flow's state, and when it was last seen, in ticks of 2^30 ns.
 *
 * A place that was taken is never empty again, and a flow goes to its second bucket only when the
 * first one is full; so where that has an empty place, nobody need look at the second.
 *
 * All cores share the table without locks. A writer claims a place by exchanging its pin for
 * FLOW_BUSY (compare-and-exchange, so one wins), stores the key, and publishes the pin last. A
 * reader takes pin, key, pin again, and believes them when both pins are equal: if the place
 * changed hands in between, and the new pin happens to be equal, it says the same. State and
 * time change by compare-and-exchange of the pin, and only when they differ from what is there.
 *
 * Datagrams in pieces (choose/fragment.h) have entries here too, which give way to any flow that is
 * under way and take no place of one. Such a key has the service where a flow's has the slot.
 */
#pragma once

#include "dp/abi.h"
#include "flow/pin.h"
#include "pkt/hash.h"
#include "pkt/parse.h"

/* A flow as looked for, and as found. */
struct flow {
	__u64 key;
	__u32 slot;
	__u32 buckets[2];
	__u32 tick; /* now; pins keep the low FLOW_TIME_BITS */
	/* of the entry found: */
	__u64 pin; /* 0: none */
	__u32 bucket;
	__u32 place; /* of none: an empty one in the first bucket, ABI_BUCKET_FLOWS if it is full */
};

/* Fills what a look-up needs. */
PKT_INLINE void flow_prepare_hash(struct flow *flow, const struct abi_node *node, __u64 hash,
				  __u64 now_ns)
{
	flow->key = (hash & ~(__u64)FLOW_KEY_SLOT_MASK) | (flow->slot & FLOW_KEY_SLOT_MASK);
	/* 12 bits of the hash are not in the key; the buckets bring them in. */
	flow->buckets[0] = (__u32)hash & node->flow_buckets_mask;
	flow->buckets[1] = (__u32)pkt_hash_end(hash) & node->flow_buckets_mask;
	flow->tick = (__u32)(now_ns >> ABI_TICK_SHIFT);
	flow->pin = 0;
}

PKT_INLINE void flow_prepare(struct flow *flow, const struct abi_node *node, const struct pkt *pkt,
			     __u64 now_ns)
{
	flow->slot = pkt->slot;
	flow_prepare_hash(flow, node,
			  pkt_hash_tuple(&pkt->src, &pkt->dst, pkt->sport, pkt->dport, pkt->proto,
					 node->flow_secret),
			  now_ns);
}

/*
 * The same for the datagram that a piece is of: the id stands for the ports, the secret is one that
 * no flow is hashed with, and the slot is left 0, for a piece may not know its service. Of IPv6 the
 * protocol does not count (RFC 8200, section 4.5).
 */
PKT_INLINE void flow_prepare_piece(struct flow *flow, const struct abi_node *node,
				   const struct pkt *pkt, __u64 now_ns)
{
	__u8 proto = pkt->version == 4 ? pkt->proto : IPPROTO_FRAGMENT;

	flow->slot = 0;
	flow_prepare_hash(flow, node,
			  pkt_hash_tuple(&pkt->src, &pkt->dst, (__be16)pkt->fragment_id,
					 (__be16)(pkt->fragment_id >> 16), proto,
					 pkt_hash_end(node->flow_secret)),
			  now_ns);
}

/* The state after a segment; `state` is that before, FLOW_NONE for a new flow. */
PKT_INLINE __u32 flow_next_state(__u32 state, const struct pkt *pkt)
{
	if (pkt->proto != IPPROTO_TCP)
		return FLOW_UDP;
	if (pkt->tcp_flags & PKT_TCP_RST)
		return state == FLOW_FIN ? FLOW_FIN : FLOW_RST;
	if (pkt->tcp_flags & PKT_TCP_FIN || state == FLOW_FIN)
		return FLOW_FIN;
	if (!(pkt->tcp_flags & PKT_TCP_SYN))
		return FLOW_ESTABLISHED;
	return state == FLOW_NONE ? FLOW_HANDSHAKE : state;
}

/* Looks in one bucket. Returns whether the flow was found. */
PKT_INLINE int flow_find_in(struct flow *flow, struct abi_bucket *bucket, __u32 index)
{
	for (__u32 i = 0; i < ABI_BUCKET_FLOWS; i++) {
		__u64 pin = *(volatile __u64 *)&bucket->flows[i].pin;

		if (*(volatile __u64 *)&bucket->flows[i].key != flow->key)
			continue;
		if (pin >> FLOW_SLOT_SHIFT != flow->slot >> FLOW_KEY_SLOT_BITS || !pin ||
		    pin == FLOW_BUSY || *(volatile __u64 *)&bucket->flows[i].pin != pin)
			continue;
		flow->pin = pin;
		flow->bucket = index;
		flow->place = i;
		return 1;
	}
	return 0;
}

/*
 * The first empty place of a bucket, ABI_BUCKET_FLOWS where there is none. Without branches: which
 * places are empty is chance, so they would be mispredicted, at the cost of waiting for the line
 * from memory each time. pin | -pin has the highest bit of 64 unless pin is 0; `taken` stays 1 up
 * to the first such place, which so many additions count.
 */
PKT_INLINE __u32 flow_empty_in(struct abi_bucket *bucket)
{
	__u32 place = 0;
	__u64 taken = 1;

	for (__u32 i = 0; i < ABI_BUCKET_FLOWS; i++) {
		__u64 pin = *(volatile __u64 *)&bucket->flows[i].pin;

		pin |= -pin;
		pkt_hide(pin);
		taken &= pin >> 63;
		place += (__u32)taken;
	}
	return place;
}

/* Looks in one bucket for the datagram of a piece. Returns its service, or 0. */
PKT_INLINE __u32 flow_find_piece_in(struct flow *flow, struct abi_bucket *bucket, __u32 index)
{
	for (__u32 i = 0; i < ABI_BUCKET_FLOWS; i++) {
		__u64 pin = *(volatile __u64 *)&bucket->flows[i].pin;
		__u64 key = *(volatile __u64 *)&bucket->flows[i].key;

		if ((key ^ flow->key) & ~(__u64)FLOW_KEY_SLOT_MASK ||
		    flow_pin_state(pin) != FLOW_FRAGMENT ||
		    *(volatile __u64 *)&bucket->flows[i].pin != pin)
			continue;
		flow->pin = pin;
		flow->bucket = index;
		flow->place = i;
		return (__u32)key & FLOW_KEY_SLOT_MASK;
	}
	return 0;
}

/*
 * What is lost when an entry gives way to the flow: nothing up to FLOW_WORTH_EXPIRED, and from
 * FLOW_WORTH_FLOW on a flow that is under way.
 */
enum {
	FLOW_WORTH_OWN,
	FLOW_WORTH_EMPTY,
	FLOW_WORTH_EXPIRED,
	FLOW_WORTH_FLOW = 2 << FLOW_TIME_BITS,
};
PKT_INLINE __u32 flow_worth(const struct abi_node *node, const struct flow *flow,
			    const struct abi_flow *entry)
{
	__u32 state = flow_pin_state(entry->pin);
	__u32 age = flow_pin_age(entry->pin, flow->tick);
	__u32 rank;

	if (!entry->pin)
		return FLOW_WORTH_EMPTY;
	if (entry->key == flow->key)
		return FLOW_WORTH_OWN;
	if (age > flow_limit_ticks(node, state))
		return FLOW_WORTH_EXPIRED;
	if (state == FLOW_FIN || state == FLOW_RST || state >= FLOW_FRAGMENT)
		rank = 1;
	else
		rank = state == FLOW_HANDSHAKE ? 2 : 3;
	/* Within a rank the oldest goes first. */
	return rank << FLOW_TIME_BITS | (FLOW_TIME_MASK - age);
}

/* The place of least worth in a bucket, if it beats *worth. */
PKT_INLINE void flow_victim_in(const struct abi_node *node, struct flow *flow,
			       struct abi_bucket *bucket, __u32 index, __u32 *worth)
{
	for (__u32 i = 0; i < ABI_BUCKET_FLOWS; i++) {
		struct abi_flow entry = {
			*(volatile __u64 *)&bucket->flows[i].key,
			*(volatile __u64 *)&bucket->flows[i].pin,
		};
		__u32 found = flow_worth(node, flow, &entry);

		if (entry.pin == FLOW_BUSY || found >= *worth)
			continue;
		*worth = found;
		flow->pin = entry.pin;
		flow->bucket = index;
		flow->place = i;
	}
}
