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
#include "dp/abi.h"
#include "dp/verdict.h"
#include "pkt/hash.h"
#include "pkt/parse.h"

/*
 * The slot's word decides for a flow without an entry: PKT_ON, or a verdict where there is no such
 * slot. While the backend's record says that it is down and the slot is not yet rewritten, a flow
 * that begins takes the slot's other owner.
 */
PKT_INLINE int choose_by_slot(struct pkt *pkt)
{
	__u64 *slot = env_slot(pkt->slot), word;
	struct abi_backend *backend;
	__u32 other;

	if (!slot)
		return VERDICT_EMPTY;
	word = *(volatile __u64 *)slot;
	pkt->why = WHY_SLOT;
	pkt->backend = abi_slot_current(word);
	backend = env_backend(pkt->backend);
	if (!backend || backend->flags & ABI_BACKEND_UP || !entry_begins(pkt))
		return PKT_ON;
	other = abi_slot_other(word);
	backend = env_backend(other);
	if (other && backend && backend->flags & ABI_BACKEND_UP) {
		pkt->why = WHY_OTHER;
		pkt->backend = other;
	}
	return PKT_ON;
}

/* The flow's entry decides where there is one that holds; else the slot does, and is recorded. */
PKT_STAGE int choose_by_flow(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_node *node = env_node();
	struct flow flow = {};
	int verdict;

	if (!pkt || !ctx)
		return VERDICT_EMPTY;
	if (entry_find(node, &flow, pkt)) {
		pkt->why = WHY_FLOW;
		pkt->backend = flow_pin_backend(flow.pin);
		entry_touch(&flow, pkt);
		return PKT_ON;
	}
	if (pkt->labelled)
		pkt->slot = pkt->label_slot;
	verdict = choose_by_slot(pkt);
	if (verdict == PKT_ON && pkt->backend)
		entry_record(node, &flow, pkt);
	return verdict;
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
		entry_record(node, &flow, pkt);
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
	if (service->flags & ABI_SERVICE_TRACK && env_has(ABI_HAS_TRACK))
		return choose_by_flow(ctx, pkt);
	return choose_by_slot(pkt);
}

/*
 * Which backend has the flow that an ICMP error quotes? The one that a packet of the flow would
 * get; but nothing is recorded or touched: an error is no sign of life, and anyone can make one up.
 */
PKT_STAGE int choose_quoted(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service;
	struct flow flow = {};

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
	if (env_has(ABI_HAS_TRACK) && service->flags & ABI_SERVICE_TRACK &&
	    entry_find(env_node(), &flow, pkt)) {
		pkt->backend = flow_pin_backend(flow.pin);
		return PKT_ON;
	}
	if (env_has(ABI_HAS_SPECIAL) && pkt->unquoted) {
		pkt->why = WHY_ICMP;
		return VERDICT_UNQUOTED;
	}
	return choose_by_slot(pkt);
}
