/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whom a flow goes to by its slot's word: where that is settled, where nothing is tracked, and for
 * what is to have no entry. A part of dp/forward.h, which says what the includer supplies.
 */
#pragma once

#include "choose/transition.h"
#include "dp/abi.h"
#include "dp/verdict.h"
#include "flow/entry.h"
#include "pkt/parse.h"

/*
 * Is the slot's word all that there is to know: no change under way, and its owner up? Then
 * pkt->backend is it, whose record is returned; else NULL. This is the way of a plain packet.
 */
PKT_INLINE struct abi_backend *choose_settled(struct pkt *pkt)
{
	__u64 *slot = env_slot(pkt->slot), word;
	struct abi_backend *backend;

	if (!slot)
		return 0;
	word = *(volatile __u64 *)slot;
	pkt->why = WHY_SLOT;
	pkt->backend = abi_slot_current(word);
	backend = env_backend(pkt->backend);
	if (!backend || word & ABI_SLOT_TRANSITION || !(backend->flags & ABI_BACKEND_UP))
		return 0;
	return backend;
}

PKT_INLINE int choose_is_settled(struct pkt *pkt)
{
	return choose_settled(pkt) != 0;
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
