/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The second chance, as the node gives it: a packet of a slot whose flows may be at either of two
 * backends names the other one too, for the agent there to ask its sockets (second/second.h). A
 * slot without any doubt names nobody, and its packets go without that header. A part of
 * dp/forward.h, which says what the includer supplies.
 */
#pragma once

#include "choose/transition.h"
#include "dp/abi.h"
#include "flow/entry.h"
#include "pkt/parse.h"

/*
 * May the packet's flow be another backend's than the one that was chosen? While the slot changes
 * its owner, or the owner is down, or another node may know more of the slot than this one. A
 * connection that begins is nobody's yet. If the chosen server has just died it is refused, as in
 * any other slot: one that began at the other owner would be known there alone, and would break
 * when the slot is settled or its other owner changes.
 */
PKT_INLINE int wrap_in_doubt(const struct pkt *pkt)
{
	__u64 *slot = env_slot(pkt->slot), word;

	/* The other pieces of a datagram would not go on with this one. */
	if (!slot || pkt->fragment || (pkt->proto == IPPROTO_TCP && entry_begins(pkt)))
		return 0;
	word = *(volatile __u64 *)slot;
	return word & (ABI_SLOT_TRANSITION | ABI_SLOT_DOUBT) ||
	       !(transition_flags(abi_slot_current(word)) & ABI_BACKEND_UP);
}

/* Flows may go on there, and a packet to it has the outer family of one to the chosen backend. */
PKT_INLINE int wrap_may_name(const struct pkt *pkt, __u32 index)
{
	struct abi_backend *chosen = env_backend(pkt->backend), *backend = env_backend(index);

	return index && index != pkt->backend && chosen && backend &&
	       backend->flags & ABI_BACKEND_KEEP &&
	       pkt_addr_is4(&backend->addr) == pkt_addr_is4(&chosen->addr);
}

/*
 * Who else may have the flow, into pkt->other: of a change the other side of it; where that is the
 * chosen one itself or nobody, the slot's other owner. So a backend that has returned, who is both
 * sides of its slots' changes, is named with who served in its place.
 */
PKT_STAGE int wrap_find_other(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct transition to = {.key = TRANSITION_FLOW};
	__u64 *slot = pkt ? env_slot(pkt->slot) : 0, word;
	__u32 third;

	if (!ctx || !slot)
		return 0;
	word = *(volatile __u64 *)slot;
	third = abi_slot_other(word);
	pkt->other = 0;
	to.begins = abi_slot_current(word);
	to.later = abi_slot_previous(word);
	if (word & ABI_SLOT_TRANSITION && transition_look(ctx, pkt, &to) != PKT_ON)
		return 0;
	if (wrap_may_name(pkt, to.begins))
		pkt->other = to.begins;
	else if (wrap_may_name(pkt, to.later))
		pkt->other = to.later;
	else if (wrap_may_name(pkt, third))
		pkt->other = third;
	return pkt->other != 0;
}
