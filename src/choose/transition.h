/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whom a packet goes to that no flow entry decides for, while its slot is not settled: its owner
 * changes, or has changed lately, and flows from before are under way that have no entries. Who
 * begins gets the new owner; whatever else comes without an entry is from before and gets the one
 * from before: the word's previous, or whom the service's old table names. A part of dp/forward.h,
 * which says what the includer supplies. The argument is in docs/design/11-transitions.md.
 */
#pragma once

#include "choose/policy.h"
#include "dp/abi.h"
#include "dp/verdict.h"
#include "pkt/hash.h"
#include "pkt/parse.h"

struct transition {
	__u32 begins; /* whom a TCP connection that begins gets */
	__u32 later;  /* whom any other packet gets, as often as it comes without an entry */
	__u8 begins_why;
	__u8 later_why;
	__u8 stays; /* `later` has the flow from before: an entry that names it says nothing new */
	__u8 asks;  /* who does not begin goes to `begins` too, without an entry: transition_asks */
	__u8 key;   /* enum transition_key */
};

/* What of a packet is asked for its slot in an old table. */
enum transition_key {
	TRANSITION_FLOW,  /* all: whom a packet without an entry goes to */
	TRANSITION_ENTRY, /* what its flow's entries stand under */
	TRANSITION_ALIKE, /* what all pieces of a datagram have: there are no ports */
};

PKT_INLINE __u32 transition_flags(__u32 index)
{
	struct abi_backend *backend = env_backend(index);

	return index && backend ? backend->flags : 0;
}

/*
 * May a flow without an entry be taken to be one that the backend has? A datagram does not say
 * whether it begins a flow, so only for a time, and only while the backend answers its checks.
 */
PKT_INLINE int transition_may_stay(const struct pkt *pkt, __u32 index, __u64 word)
{
	__u32 flags = transition_flags(index);

	if (pkt->proto == IPPROTO_TCP)
		return (flags & ABI_BACKEND_KEEP) != 0;
	return !(word & ABI_SLOT_LATE) && flags & ABI_BACKEND_KEEP && flags & ABI_BACKEND_HEALTHY;
}

/* --- a table before the service's present one --- */

/* Can the old policy's key be told from this packet? */
PKT_INLINE int transition_has_key(const struct abi_service *service, const struct pkt *pkt,
				  enum transition_key key)
{
	if (key == TRANSITION_ALIKE)
		return !policy_needs_ports(service->old_policy) &&
		       (service->old_policy != ABI_POLICY_3TUPLE || pkt->proto == pkt->piece_proto);
	/* The label of what an error quotes is the server's own. */
	return service->old_policy != ABI_POLICY_FLOW_LABEL || !pkt->quoted || pkt->version == 4;
}

/* By the flow label? Where every flow has an entry, those stand by the 5-tuple (policy.h). */
PKT_INLINE int transition_by_label(const struct abi_service *service, const struct pkt *pkt,
				   enum transition_key key)
{
	return service->old_policy == ABI_POLICY_FLOW_LABEL && pkt->version == 6 &&
	       (key != TRANSITION_ENTRY || !(service->flags & ABI_SERVICE_TRACK));
}

/* The slot that the flow had in the old table, in all slots; ABI_SLOTS: that is not known. */
PKT_STAGE int transition_old_slot(struct pkt_ctx *ctx, struct pkt *pkt, enum transition_key key)
{
	struct abi_service *service = pkt ? env_service(pkt->service) : 0;
	struct policy_by by = {.seed = env_node()->old_slot_seed};
	__u64 hash = 0;

	if (!service || !ctx || !transition_has_key(service, pkt, key))
		return ABI_SLOTS;
	by.policy = service->old_policy;
	by.source_prefix4 = service->old_source_prefix4;
	by.source_prefix6 = service->old_source_prefix6;
	if (policy_is_tuple(by.policy))
		hash = policy_hash_by(&by, pkt);
	else if (transition_by_label(service, pkt, key))
		hash = policy_label_hash(ctx, pkt, by.seed);
	if (!hash)
		hash = pkt_hash_tuple(&pkt->src, &pkt->dst, pkt->sport, pkt->dport, pkt->proto,
				      by.seed);
	return (int)policy_slot_in(*(volatile __u64 *)&service->old_table, hash);
}

/* Whom the old table names, if the flow may stay there; else 0. */
PKT_INLINE int transition_by_old(struct pkt_ctx *ctx, struct pkt *pkt, enum transition_key key)
{
	__u64 *slot = env_slot((__u32)transition_old_slot(ctx, pkt, key)), word;

	if (!slot || !pkt)
		return 0;
	word = *(volatile __u64 *)slot;
	if (word & ABI_SLOT_TRANSITION && transition_may_stay(pkt, abi_slot_previous(word), word))
		return (int)abi_slot_previous(word);
	return transition_may_stay(pkt, abi_slot_current(word), 0) ? (int)abi_slot_current(word)
								   : 0;
}

/* --- the slot's word --- */

/* Who had the slot before, by the word; its current one if that is down and goes next. */
PKT_INLINE __u32 transition_previous(__u64 word)
{
	__u32 previous = word & ABI_SLOT_TRANSITION ? abi_slot_previous(word) : 0;

	if (previous || transition_flags(abi_slot_current(word)) & ABI_BACKEND_UP)
		return previous;
	return abi_slot_current(word);
}

/*
 * Whom a connection that begins gets: while the word's current one is down the other owner, and
 * nobody where that one is down too and the current one keeps nothing.
 */
PKT_INLINE void transition_begin(struct transition *to, __u64 word)
{
	__u32 flags;

	to->begins = abi_slot_current(word);
	to->begins_why = WHY_SLOT;
	flags = transition_flags(to->begins);
	if (flags & ABI_BACKEND_UP)
		return;
	if (transition_flags(abi_slot_other(word)) & ABI_BACKEND_UP) {
		to->begins = abi_slot_other(word);
		to->begins_why = WHY_OTHER;
	} else if (!(flags & ABI_BACKEND_KEEP)) {
		to->begins = 0;
	}
}

/* Whom a flow from before has; 0: nobody, or it may not stay there. */
PKT_INLINE void transition_stay(struct pkt_ctx *ctx, struct pkt *pkt, struct transition *to,
				__u64 word)
{
	struct abi_service *service = env_service(pkt->service);
	int flips = service && service->flags & ABI_SERVICE_FLIP && word & ABI_SLOT_TRANSITION;

	to->later = 0;
	to->later_why = WHY_OLD_TABLE;
	if (flips && (pkt->proto == IPPROTO_TCP || !(word & ABI_SLOT_LATE)))
		to->later = (__u32)transition_by_old(ctx, pkt, to->key);
	if (to->later)
		return;
	to->later = transition_previous(word);
	to->later_why = word & ABI_SLOT_TRANSITION ? WHY_PREVIOUS : WHY_SLOT;
	if (!transition_may_stay(pkt, to->later, word & ABI_SLOT_TRANSITION ? word : 0))
		to->later = 0;
}

/*
 * A flow from before whose backend fails its checks, or one that began since, at a node that is
 * gone? The first is lost to a dead machine anyway, and the second is not to wait for it. With a
 * second chance the one who takes what begins is asked first, and hands on what it does not know;
 * also where it is likelier that one's (ABI_SLOT_ASK). No entry is made: it would hold when the
 * backend is healthy again, or name the wrong one when the slot changes once more. A piece names
 * nobody.
 */
PKT_INLINE int transition_asks(const struct pkt *pkt, const struct transition *to, __u64 word)
{
	struct abi_service *service = env_service(pkt->service);
	struct abi_backend *begins = env_backend(to->begins), *later = env_backend(to->later);

	return env_has(ABI_HAS_SECOND) && service && service->flags & ABI_SERVICE_SECOND &&
	       pkt->proto == IPPROTO_TCP && !pkt->fragment && to->stays && begins && later &&
	       to->begins != to->later && begins->flags & ABI_BACKEND_UP &&
	       (!(later->flags & ABI_BACKEND_HEALTHY) || word & ABI_SLOT_ASK) &&
	       pkt_addr_is4(&begins->addr) == pkt_addr_is4(&later->addr);
}

/*
 * Fills `to`; PKT_ON, or a verdict where there is no slot. While the current backend's record says
 * that it is down and the word is not yet rewritten, all is as the word will be: the slot's other
 * owner is the current one.
 */
PKT_STAGE int transition_look(struct pkt_ctx *ctx, struct pkt *pkt, struct transition *to)
{
	__u64 *slot = pkt ? env_slot(pkt->slot) : 0, word;

	if (!ctx || !slot || !to)
		return VERDICT_EMPTY;
	word = *(volatile __u64 *)slot;
	transition_begin(to, word);
	transition_stay(ctx, pkt, to, word);
	to->stays = to->later != 0;
	to->asks = (__u8)transition_asks(pkt, to, word);
	if (!to->stays) {
		to->later = to->begins;
		to->later_why = to->begins_why;
	}
	return PKT_ON;
}

/* As it goes without an entry, and is no flow that begins. PKT_ON, or a verdict. */
PKT_STAGE int transition_go(struct pkt_ctx *ctx, struct pkt *pkt, enum transition_key key)
{
	struct transition to = {.key = (__u8)key};
	int verdict = transition_look(ctx, pkt, &to);

	if (verdict != PKT_ON || !pkt)
		return verdict;
	pkt->backend = to.asks ? to.begins : to.later;
	pkt->why = to.asks ? to.begins_why : to.later_why;
	return PKT_ON;
}
