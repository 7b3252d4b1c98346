/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which backend a packet's flow gets: the slot's word, or, where the service tracks its flows, the
 * flow's entry. A part of dp/forward.h, which says what the includer supplies.
 */
#pragma once

#include "choose/entry.h"
#include "choose/flow.h"
#include "choose/policy.h"
#include "choose/special.h"
#include "choose/transition.h"
#include "dp/abi.h"
#include "dp/verdict.h"
#include "pkt/hash.h"
#include "pkt/parse.h"

/*
 * Is the slot's word all that there is to know: no change under way, and its owner up? Then
 * pkt->backend is it. This is the way of a plain packet.
 */
PKT_INLINE int choose_is_settled(struct pkt *pkt)
{
	__u64 *slot = env_slot(pkt->slot), word;
	struct abi_backend *backend;

	if (!slot)
		return 0;
	word = *(volatile __u64 *)slot;
	pkt->why = WHY_SLOT;
	pkt->backend = abi_slot_current(word);
	backend = env_backend(pkt->backend);
	return backend && !(word & ABI_SLOT_TRANSITION) && backend->flags & ABI_BACKEND_UP;
}

/*
 * Of a service that tracks nothing, whose slot is not settled, the word alone decides: PKT_ON, or
 * a verdict where there is no such slot. While the owner is down, a flow that begins takes the
 * slot's other owner.
 */
PKT_STAGE int choose_untracked(struct pkt *pkt)
{
	__u64 *slot = pkt ? env_slot(pkt->slot) : 0, word;
	__u32 other;

	if (!slot)
		return VERDICT_EMPTY;
	word = *(volatile __u64 *)slot;
	pkt->why = WHY_SLOT;
	pkt->backend = abi_slot_current(word);
	if (transition_flags(pkt->backend) & ABI_BACKEND_UP || !entry_begins(pkt))
		return PKT_ON;
	other = abi_slot_other(word);
	if (transition_flags(other) & ABI_BACKEND_UP) {
		pkt->why = WHY_OTHER;
		pkt->backend = other;
	}
	return PKT_ON;
}

PKT_INLINE int choose_tracks(const struct abi_service *service)
{
	return service->flags & (ABI_SERVICE_TRACK | ABI_SERVICE_TRANSITION | ABI_SERVICE_FLIP) &&
	       env_has(ABI_HAS_TRACK);
}

/* Does every flow of the service have an entry, or may it? */
PKT_INLINE int choose_tracks_all(const struct abi_service *service)
{
	return service->flags & (ABI_SERVICE_TRACK | ABI_SERVICE_FLIP) && env_has(ABI_HAS_TRACK);
}

/*
 * Who has no entry and is to get none: what is quoted, and a datagram by what all of its pieces
 * have. Ends as choose_untracked.
 */
PKT_INLINE int choose_unrecorded(struct pkt_ctx *ctx, struct pkt *pkt,
				 const struct abi_service *service, enum transition_key key)
{
	if (choose_is_settled(pkt))
		return PKT_ON;
	return choose_tracks(service) ? transition_go(ctx, pkt, key) : choose_untracked(pkt);
}

/* Looks for an entry by the slot that the flow had in the old table. Whether one holds. */
PKT_INLINE int choose_find_old(struct pkt_ctx *ctx, struct pkt *pkt, struct flow *flow)
{
	flow->pin = 0;
	flow_set_slot(flow, (__u32)transition_old_slot(ctx, pkt, TRANSITION_ENTRY));
	entry_look_both(flow);
	return flow->pin && entry_holds(env_node(), flow, pkt);
}

/*
 * Such an entry decides as well, and is brought under the flow's present slot: in its own place, or
 * over what stands under that slot and holds no more. Whether there is one.
 */
PKT_STAGE int choose_by_old_flow(struct pkt_ctx *ctx, struct pkt *pkt, struct flow *flow)
{
	struct flow own;
	__u32 state;

	if (!ctx || !pkt || !flow)
		return 0;
	own = *flow;
	if (!choose_find_old(ctx, pkt, flow)) {
		*flow = own;
		return 0;
	}
	pkt->why = WHY_FLOW;
	pkt->backend = flow_pin_backend(flow->pin);
	state = flow_next_state(flow_pin_state(flow->pin), pkt);
	if (own.pin)
		*flow = own;
	else
		flow_set_slot(flow, own.slot);
	entry_write(flow, pkt->backend, state);
	return 1;
}

/* A datagram's is not: where it goes without one changes with time. */
PKT_INLINE int choose_is_redundant(const struct transition *to, const struct pkt *pkt)
{
	return to->stays && pkt->backend == to->later && pkt->proto == IPPROTO_TCP;
}

/* No entry decides: the slot does, and is recorded. */
PKT_STAGE int choose_new_flow(struct pkt_ctx *ctx, struct pkt *pkt, struct flow *flow)
{
	struct transition to = {};
	int verdict;

	if (!ctx || !pkt || !flow)
		return VERDICT_EMPTY;
	if (pkt->labelled)
		pkt->slot = pkt->label_slot;
	verdict = transition_look(ctx, pkt, &to);
	if (verdict != PKT_ON)
		return verdict;
	pkt->backend = to.later;
	pkt->why = to.later_why;
	if (pkt->proto == IPPROTO_TCP && entry_begins(pkt)) {
		pkt->backend = to.begins;
		pkt->why = to.begins_why;
	}
	if (!pkt->backend || entry_record(flow, pkt, choose_is_redundant(&to, pkt)))
		return PKT_ON;
	/* Its next packet will be no SYN, and find no entry. */
	if (to.stays)
		env_event(ABI_EVENT_FLOW_RELIES);
	pkt->backend = to.later;
	pkt->why = to.later_why;
	return PKT_ON;
}

/* The flow's entry decides where there is one that holds; else it is as if the flow were new. */
PKT_STAGE int choose_by_flow(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_node *node = env_node();
	struct abi_service *service;
	struct flow flow = {};

	if (!pkt || !ctx)
		return VERDICT_EMPTY;
	if (entry_find(node, &flow, pkt)) {
		pkt->why = WHY_FLOW;
		pkt->backend = flow_pin_backend(flow.pin);
		entry_touch(&flow, pkt);
		return PKT_ON;
	}
	service = env_service(pkt->service);
	if (service && service->flags & ABI_SERVICE_FLIP && choose_by_old_flow(ctx, pkt, &flow))
		return PKT_ON;
	return choose_new_flow(ctx, pkt, &flow);
}

/*
 * A tracked flow's packet has named its backend itself. Errors about the flow quote no name, so
 * the entry keeps it; but never in place of another one that holds: anybody can write a name.
 */
PKT_STAGE int choose_named(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_node *node = env_node();
	struct flow flow = {};

	if (!pkt || !ctx)
		return VERDICT_EMPTY;
	if (!entry_find(node, &flow, pkt))
		entry_record(&flow, pkt, 0);
	else if (flow_pin_backend(flow.pin) == pkt->backend)
		entry_touch(&flow, pkt);
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

/*
 * For a service without slots. Who may not come, or comes too often, hears that in place of the
 * answer of a service that nobody serves.
 */
PKT_STAGE int choose_nobody(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service = pkt ? env_service(pkt->service) : 0;
	int verdict;

	if (!ctx || !service || !(service->flags & ABI_SERVICE_SPECIAL) ||
	    !env_has(ABI_HAS_SPECIAL))
		return VERDICT_EMPTY;
	verdict = special(ctx, pkt);
	return verdict == PKT_ON ? VERDICT_EMPTY : verdict;
}

/* Which backend? Ends with pkt->backend set, or a verdict. */
PKT_STAGE int choose_backend(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service;

	if (!pkt || !ctx)
		return VERDICT_EMPTY;
	service = choose_slot(pkt);
	if (!service)
		return choose_nobody(ctx, pkt);
	if (service->flags & ABI_SERVICE_SPECIAL && env_has(ABI_HAS_SPECIAL)) {
		int verdict = special(ctx, pkt);

		if (verdict == PKT_ON && service->flags & ABI_SERVICE_BY_POLICY)
			verdict = policy(ctx, pkt);
		if (verdict != PKT_ON)
			return verdict;
		if (pkt->backend && env_has(ABI_HAS_TRACK) && service->flags & ABI_SERVICE_TRACK)
			return choose_named(ctx, pkt);
		if (pkt->backend)
			return PKT_ON;
	}
	if (choose_tracks_all(service))
		return choose_by_flow(ctx, pkt);
	if (choose_is_settled(pkt))
		return PKT_ON;
	return choose_tracks(service) ? choose_by_flow(ctx, pkt) : choose_untracked(pkt);
}

/* Has the flow that an ICMP error quotes an entry? Then it has pkt->backend. */
PKT_STAGE int choose_quoted_flow(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service = pkt ? env_service(pkt->service) : 0;
	struct abi_node *node = env_node();
	struct flow flow = {};

	if (!ctx || !service || !choose_tracks(service))
		return 0;
	if (!entry_find(node, &flow, pkt) &&
	    (!(service->flags & ABI_SERVICE_FLIP) || !choose_find_old(ctx, pkt, &flow)))
		return 0;
	pkt->backend = flow_pin_backend(flow.pin);
	return 1;
}

/*
 * Which backend has the flow that an ICMP error quotes? The one that a packet of the flow would
 * get; but nothing is recorded or touched: an error is no sign of life, and anyone can make one up.
 */
PKT_STAGE int choose_quoted(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service;

	if (!pkt || !ctx)
		return VERDICT_EMPTY;
	service = choose_slot(pkt);
	if (!service)
		return choose_nobody(ctx, pkt);
	if (service->flags & ABI_SERVICE_SPECIAL && env_has(ABI_HAS_SPECIAL)) {
		int verdict = special(ctx, pkt);

		if (verdict == PKT_ON && service->flags & ABI_SERVICE_BY_POLICY)
			verdict = policy_quoted(pkt);
		if (verdict != PKT_ON)
			return verdict;
	}
	if ((choose_tracks_all(service) || !choose_is_settled(pkt)) && choose_quoted_flow(ctx, pkt))
		return PKT_ON;
	if (env_has(ABI_HAS_SPECIAL) && pkt->unquoted) {
		pkt->backend = 0;
		pkt->why = WHY_ICMP;
		return VERDICT_UNQUOTED;
	}
	return choose_unrecorded(ctx, pkt, service, TRANSITION_FLOW);
}
