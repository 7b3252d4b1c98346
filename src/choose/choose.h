/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which backend a packet's flow gets: by the slot's word alone, or by the flow's entry
 * (choose/follow.h). A part of dp/forward.h, which says what the includer supplies.
 */
#pragma once

#include "choose/dual.h"
#include "choose/follow.h"
#include "choose/policy.h"
#include "choose/special.h"
#include "dp/abi.h"
#include "dp/verdict.h"
#include "pkt/hash.h"
#include "pkt/parse.h"

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

/*
 * What a special service asks first: PKT_ON, with another slot or with pkt->backend where a policy
 * says so; or a verdict.
 */
PKT_INLINE int choose_special(struct pkt_ctx *ctx, struct pkt *pkt, struct abi_service *service)
{
	int verdict = PKT_ON;

	if (service->flags & ABI_SERVICE_SPECIAL & ~ABI_SERVICE_BY_POLICY)
		verdict = special_may(service, pkt);
	if (verdict == PKT_ON && service->flags & ABI_SERVICE_BY_POLICY)
		verdict = policy(ctx, pkt, service);
	return verdict;
}

/* The same as a stage, for those off the usual way. */
PKT_STAGE int choose_special_rare(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service = pkt ? env_service(pkt->service) : 0;

	return service && ctx ? choose_special(ctx, pkt, service) : VERDICT_EMPTY;
}

PKT_INLINE int choose_is_special(const struct abi_service *service)
{
	return service->flags & ABI_SERVICE_SPECIAL && env_has(ABI_HAS_SPECIAL);
}

/* Once the slot is known, and a special service has been asked. Ends as choose_backend. */
PKT_INLINE int choose_in(struct pkt_ctx *ctx, struct pkt *pkt, const struct abi_service *service)
{
	if (choose_is_special(service) && pkt->backend)
		return env_has(ABI_HAS_TRACK) && service->flags & ABI_SERVICE_TRACK
			       ? choose_named(ctx, pkt)
			       : PKT_ON;
	if (choose_tracks_all(service))
		return dual_is(service) ? dual_by_flow(ctx, pkt) : choose_by_flow(ctx, pkt);
	if (choose_is_settled(pkt))
		return PKT_ON;
	return choose_tracks(service) ? choose_by_flow(ctx, pkt) : choose_untracked(pkt);
}

/* Which backend? Ends with pkt->backend set, or a verdict. */
PKT_STAGE int choose_backend(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service;
	int verdict;

	if (!pkt || !ctx)
		return VERDICT_EMPTY;
	service = choose_slot(pkt);
	if (!service)
		return choose_nobody(ctx, pkt);
	verdict = choose_is_special(service) ? choose_special_rare(ctx, pkt) : PKT_ON;
	return verdict == PKT_ON ? choose_in(ctx, pkt, service) : verdict;
}

/* The same where choose_slot has been. */
PKT_STAGE int choose_further(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service = pkt ? env_service(pkt->service) : 0;
	int verdict;

	if (!service || !ctx)
		return VERDICT_EMPTY;
	verdict = choose_is_special(service) ? choose_special(ctx, pkt, service) : PKT_ON;
	return verdict == PKT_ON ? choose_in(ctx, pkt, service) : verdict;
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
	if (choose_is_special(service)) {
		int verdict = special(ctx, pkt);

		if (verdict == PKT_ON && service->flags & ABI_SERVICE_BY_POLICY)
			verdict = policy_quoted(pkt);
		if (verdict != PKT_ON)
			return verdict;
	}
	if (dual_is(service) && dual_quoted_flow(pkt))
		return PKT_ON;
	if ((choose_tracks_all(service) || !choose_is_settled(pkt)) && choose_quoted_flow(ctx, pkt))
		return PKT_ON;
	if (env_has(ABI_HAS_SPECIAL) && pkt->unquoted) {
		pkt->backend = 0;
		pkt->why = WHY_ICMP;
		return VERDICT_UNQUOTED;
	}
	return dual_is(service) ? dual_quoted(ctx, pkt)
				: choose_unrecorded(ctx, pkt, service, TRANSITION_FLOW);
}
