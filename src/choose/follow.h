/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whom a flow goes to once it is known which slot it has: by the slot's word where that is settled,
 * and else, or where every flow is tracked, by the flow's entry, which is made if there is none. A
 * part of dp/forward.h, which says what the includer supplies.
 */
#pragma once

#include "choose/transition.h"
#include "choose/word.h"
#include "dp/abi.h"
#include "dp/verdict.h"
#include "flow/entry.h"
#include "flow/flow.h"
#include "pkt/parse.h"

/* Looks for an entry by the slot that the flow had in the old table. Whether one holds. */
PKT_INLINE int choose_find_old(struct pkt_ctx *ctx, struct pkt *pkt, struct flow *flow)
{
	flow->pin = 0;
	flow_set_slot(flow, (__u32)transition_old_slot(ctx, pkt, TRANSITION_ENTRY));
	entry_look_both(flow);
	return flow->pin && flow_pin_state(flow->pin) != FLOW_BACKUP &&
	       entry_holds(env_node(), flow, pkt);
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
	/* One owner has it, recorded or not: transition_look would come to the same. */
	if (choose_is_settled(pkt) && pkt->backend) {
		entry_record(flow, pkt, 0);
		return PKT_ON;
	}
	verdict = transition_look(ctx, pkt, &to);
	if (verdict != PKT_ON)
		return verdict;
	pkt->backend = to.later;
	pkt->why = to.later_why;
	if (to.asks || (pkt->proto == IPPROTO_TCP && entry_begins(pkt))) {
		pkt->backend = to.begins;
		pkt->why = to.begins_why;
	}
	if (!pkt->backend || ((!to.asks || entry_begins(pkt)) &&
			      entry_record(flow, pkt, choose_is_redundant(&to, pkt))))
		return PKT_ON;
	/* Its next packet will be no SYN, and find no entry. */
	if (to.stays)
		env_event(ABI_EVENT_FLOW_RELIES);
	if (to.asks)
		return PKT_ON;
	pkt->backend = to.later;
	pkt->why = to.later_why;
	return PKT_ON;
}

/*
 * The usual case of the one before: the slot is settled, and there is room. Whether it is that;
 * nothing is done else.
 */
PKT_INLINE int choose_new_usual(struct pkt *pkt, struct flow *flow)
{
	struct abi_backend *backend;

	if (flow->pin || flow->place >= ABI_BUCKET_FLOWS || pkt->labelled)
		return 0;
	backend = choose_settled(pkt);
	if (!backend || !pkt->backend || !(backend->flags & ABI_BACKEND_KEEP))
		return 0;
	if (!env_may_insert(env_node()->insert_limit, flow->tick) ||
	    !entry_write_for(flow, backend, pkt->backend, flow_next_state(FLOW_NONE, pkt)))
		env_event(ABI_EVENT_FLOW_SKIPPED);
	else
		env_event(ABI_EVENT_FLOW_NEW);
	return 1;
}

/*
 * The flow's entry decides where there is one that holds; else it is as if the flow were new. The
 * way of all packets of a tracked service, so it is no stage.
 */
PKT_INLINE int choose_by_entry(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_node *node = env_node();
	struct abi_service *service;
	struct flow flow = {};

	if (entry_find(node, &flow, pkt)) {
		pkt->why = WHY_FLOW;
		pkt->backend = flow_pin_backend(flow.pin);
		entry_touch(&flow, pkt);
		return PKT_ON;
	}
	service = env_service(pkt->service);
	if (service && service->flags & ABI_SERVICE_FLIP && choose_by_old_flow(ctx, pkt, &flow))
		return PKT_ON;
	if (choose_new_usual(pkt, &flow))
		return PKT_ON;
	return choose_new_flow(ctx, pkt, &flow);
}

/* The same as a stage, for those off the usual way. */
PKT_STAGE int choose_by_flow(struct pkt_ctx *ctx, struct pkt *pkt)
{
	return pkt && ctx ? choose_by_entry(ctx, pkt) : VERDICT_EMPTY;
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
