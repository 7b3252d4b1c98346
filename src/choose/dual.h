/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `lookup: dual`: a flow without an entry is offered two slots, its own and one by another hash of
 * the same key, and goes to the heavier of their backends. The other one is kept as its backup, an
 * entry of the flow under the second slot's number, in the same two buckets as its first: that one
 * decides as long as its backend may have the flow, and the backup's after it. Which is which goes
 * by slots, never by owners. A part of dp/forward.h, which says what the includer supplies; the
 * reasons are in docs/design/15-dual.md.
 */
#pragma once

#include "choose/backup.h"
#include "choose/follow.h"
#include "choose/policy.h"
#include "choose/transition.h"
#include "dp/abi.h"
#include "dp/verdict.h"
#include "flow/entry.h"
#include "flow/flow.h"
#include "pkt/hash.h"
#include "pkt/parse.h"

/* The second hash is one of the first and this. */
#define DUAL_HASH 0x64756a6c6c6f6f6bULL

/* Only services that track every flow have it (conf/verify). */
PKT_INLINE int dual_is(const struct abi_service *service)
{
	return service->flags & ABI_SERVICE_DUAL && env_has(ABI_HAS_DUAL);
}

/*
 * The flow's second slot, in all slots; beyond all of them when there is none. By label it is that
 * of the 5-tuple, as that of entries is: a label may change within a flow.
 */
PKT_STAGE int dual_slot(struct pkt *pkt)
{
	struct abi_service *service = pkt ? env_service(pkt->service) : 0;
	__u64 hash;

	if (!service)
		return ABI_SLOTS;
	hash = pkt->hash;
	if (service->flags & ABI_SERVICE_POLICY && policy_is_tuple(service->policy))
		hash = policy_hash(service, pkt);
	return (int)policy_slot(service, pkt_hash_end(hash ^ DUAL_HASH));
}

/* --- which of two slots --- */

/* What both slots say of the packet. */
struct dual {
	struct transition own;
	struct transition second;
};

/*
 * Has the second backend the flow? Where both may (ABI_BACKEND_*), and differ, the heavier has. A
 * stage for its caller's stack: all frames of a chain of calls have half a kilobyte.
 */
PKT_STAGE int dual_is_second(__u32 own, __u32 second, __u32 may)
{
	struct abi_backend *first = env_backend(own), *other = env_backend(second);

	if (!second || own == second || !first || !other || !(other->flags & may))
		return 0;
	if (!own || !(first->flags & may))
		return 1;
	return other->weight > first->weight;
}

/* Whose word counts for who has no entry: the label's, where that is not the entry's. */
PKT_INLINE __u32 dual_own_slot(const struct pkt *pkt, __u32 slot)
{
	return pkt->labelled ? pkt->label_slot : slot;
}

/* No stage: calls go eight deep at most. Ends as transition_look, with pkt->slot the own one. */
PKT_INLINE int dual_both(struct pkt_ctx *ctx, struct pkt *pkt, __u32 slot, struct dual *dual)
{
	__u32 own = dual_own_slot(pkt, pkt->slot);
	int verdict;

	pkt->slot = slot;
	verdict = transition_look(ctx, pkt, &dual->second);
	pkt->slot = own;
	if (verdict != PKT_ON)
		return verdict;
	return transition_look(ctx, pkt, &dual->own);
}

/*
 * Who begins now goes to one that is up; anybody else to one that it may have begun on. Sets
 * pkt->backend and why, and pkt->slot if it is the second. Returns who lost.
 */
PKT_INLINE __u32 dual_take(struct pkt *pkt, const struct dual *dual, __u32 slot, int begins)
{
	__u32 own = begins ? dual->own.begins : dual->own.later;
	__u32 second = begins ? dual->second.begins : dual->second.later;
	int is_second = dual_is_second(own, second, begins ? ABI_BACKEND_UP : ABI_BACKEND_KEEP);
	const struct transition *to = is_second ? &dual->second : &dual->own;

	if (is_second)
		pkt->slot = slot;
	pkt->backend = is_second ? second : own;
	pkt->why = begins ? to->begins_why : to->later_why;
	return is_second ? own : second;
}

/* --- the way of a packet --- */

/* The flow's first entry. In another table the slot may have been the flow's second. */
PKT_INLINE int dual_find(struct flow *flow, const struct pkt *pkt)
{
	int holds = entry_find(env_node(), flow, pkt);

	if (flow_pin_state(flow->pin) != FLOW_BACKUP)
		return holds;
	flow->pin = 0;
	return 0;
}

/*
 * Do the flow's entries decide? Then pkt->backend is it. A flow that goes to its backup stays
 * there, and has no other. Of a quoted one nothing is changed.
 */
PKT_STAGE int dual_by_entries(struct pkt *pkt, struct flow *flow, __u32 slot)
{
	__u32 index;

	if (!pkt || !flow)
		return 0;
	if (dual_find(flow, pkt)) {
		pkt->why = WHY_FLOW;
		pkt->backend = flow_pin_backend(flow->pin);
		if (pkt->quoted)
			return 1;
		/* Once a tick: the first entry is written then anyway. */
		if ((flow->tick ^ (__u32)flow->pin) & FLOW_TIME_MASK)
			backup_touch(flow, slot);
		entry_touch(flow, pkt);
		return 1;
	}
	index = (__u32)backup_backend(pkt, flow, slot);
	if (!index)
		return 0;
	pkt->why = WHY_BACKUP;
	pkt->backend = index;
	if (!pkt->quoted)
		entry_write(flow, index, flow_next_state(flow_pin_state(flow->pin), pkt));
	return 1;
}

/* None does. As choose_new_flow, of two slots. */
PKT_INLINE int dual_new_flow(struct pkt_ctx *ctx, struct pkt *pkt, struct flow *flow, __u32 slot)
{
	struct dual dual = {};
	__u32 loser;
	int verdict;

	if (!ctx || !pkt || !flow)
		return VERDICT_EMPTY;
	verdict = dual_both(ctx, pkt, slot, &dual);
	if (verdict != PKT_ON)
		return verdict;
	loser = dual_take(pkt, &dual, slot, pkt->proto == IPPROTO_TCP && entry_begins(pkt));
	if (!pkt->backend)
		return PKT_ON;
	if (entry_record(flow, pkt, 0)) {
		if (loser != pkt->backend)
			backup_record(flow, slot, loser);
		return PKT_ON;
	}
	if (dual.own.stays || dual.second.stays)
		env_event(ABI_EVENT_FLOW_RELIES);
	pkt->slot = dual_own_slot(pkt, flow->slot);
	dual_take(pkt, &dual, slot, 0);
	return PKT_ON;
}

PKT_INLINE int dual_by_old_flow(struct pkt_ctx *ctx, struct pkt *pkt, struct flow *flow)
{
	struct abi_service *service = env_service(pkt->service);

	return service && service->flags & ABI_SERVICE_FLIP && choose_by_old_flow(ctx, pkt, flow);
}

/* As choose_by_flow. */
PKT_STAGE int dual_by_flow(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct flow flow = {};
	__u32 slot;

	if (!ctx || !pkt)
		return VERDICT_EMPTY;
	slot = (__u32)dual_slot(pkt);
	if (dual_by_entries(pkt, &flow, slot) || dual_by_old_flow(ctx, pkt, &flow))
		return PKT_ON;
	return dual_new_flow(ctx, pkt, &flow, slot);
}

/* --- what is quoted --- */

/* Has the flow an entry that decides, as choose_quoted_flow has it? */
PKT_STAGE int dual_quoted_flow(struct pkt *pkt)
{
	struct flow flow = {};

	return pkt && dual_by_entries(pkt, &flow, (__u32)dual_slot(pkt));
}

/* If not, it goes where a packet without an entry does. PKT_ON, or a verdict. */
PKT_STAGE int dual_quoted(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct dual dual = {};
	int verdict;
	__u32 slot;

	if (!ctx || !pkt)
		return VERDICT_EMPTY;
	slot = (__u32)dual_slot(pkt);
	verdict = dual_both(ctx, pkt, slot, &dual);
	if (verdict == PKT_ON)
		dual_take(pkt, &dual, slot, 0);
	return verdict;
}
