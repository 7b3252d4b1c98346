/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a piece of a datagram says by itself: its ports, if it is the first; whose it is; and which
 * slot it has by what all pieces have. A part of fragment.h, which says what is made of it.
 */
#pragma once

#include "choose/choose.h"
#include "choose/find.h"
#include "choose/policy.h"
#include "dp/abi.h"
#include "dp/verdict.h"
#include "pkt/chain.h"
#include "pkt/hash.h"
#include "pkt/parse.h"

/* --- whose piece --- */

/*
 * What of a first piece must be there: TCP's header, or UDP's; the length in the latter is the
 * datagram's, so more than there is here. Tiny pieces that hide ports are refused (RFC 1858).
 */
PKT_INLINE int piece_parse_ports(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	__u32 room = pkt->length + (__u32)sizeof(pkt_eth) - pkt->l4;
	pkt_udp *udp;

	if (pkt->proto == IPPROTO_TCP)
		return pkt_parse_tcp(&cursor, pkt, room) == PKT_PARSED;
	if (pkt->proto != IPPROTO_UDP)
		return 1;
	udp = pkt_take(&cursor, pkt_udp);
	if (!udp || room < sizeof(*udp) || PKT_HOST16(udp->len) < sizeof(*udp))
		return 0;
	pkt->sport = udp->source;
	pkt->dport = udp->dest;
	return 1;
}

PKT_INLINE int piece_is_pinned(const struct abi_service *service)
{
	return env_has(ABI_HAS_FRAGMENT) && service->flags & ABI_SERVICE_FRAGMENTS;
}

/* Could a piece without ports be for this listen? Behind options its protocol is not known. */
PKT_INLINE int piece_fits(const struct pkt *pkt, __u64 listen)
{
	__u8 proto = (__u8)(listen >> 32);

	return proto == ABI_PROTO_ANY || proto == pkt->proto || pkt_chain_is_extension(pkt->proto);
}

/* What is found of a later piece's services, listen by listen. */
struct piece_services {
	__u32 named;   /* what the datagram's entry names; 0: nothing */
	__u32 only;    /* listens, perhaps beside others */
	__u32 several; /* others listen too */
	__u32 pinned;  /* one of them pins fragments */
};

/* A listen more. A stage, so that the verifier goes through it once, not for each listen anew. */
PKT_STAGE int piece_consider(struct pkt *pkt, struct piece_services *so_far, __u64 listen)
{
	__u32 found = (__u32)(listen >> 40);
	struct abi_service *service;

	if (!pkt || !so_far || !piece_fits(pkt, listen))
		return 0;
	if (found == so_far->named)
		pkt->service = found;
	so_far->several |= so_far->only && so_far->only != found;
	so_far->only = found;
	service = env_service(found);
	so_far->pinned |= service && piece_is_pinned(service);
	return 0;
}

/*
 * Whose is a later piece? Of the service that the datagram's entry names (0: none), if it listens
 * there; else of the only one that does. Sets pkt->service, or ends with a verdict.
 */
PKT_STAGE int piece_find_later(struct pkt *pkt, struct abi_vip *vip, __u32 named)
{
	struct piece_services held = {.named = named};

	if (!pkt || !vip)
		return VERDICT_FRAGMENT;
	for (__u32 i = 0; i < ABI_VIP_LISTENS; i++) {
		__u64 listen = *(volatile const __u64 *)&vip->listens[i];

		if (!listen)
			break;
		piece_consider(pkt, &held, listen);
	}
	if (!held.only)
		return VERDICT_NOT_LISTENED;
	if (!held.several)
		pkt->service = held.only;
	if (pkt->service)
		return PKT_ON;
	pkt->why = WHY_FRAGMENT;
	return held.pinned ? VERDICT_FRAGMENT_EARLY : VERDICT_FRAGMENT;
}

/* --- where it goes without an entry --- */

/*
 * Does the policy ask for nothing but what every piece has? Of IPv6 a protocol behind more headers
 * is only in the first one.
 */
PKT_INLINE int piece_has_key(const struct abi_service *service, const struct pkt *pkt)
{
	if (!(service->flags & ABI_SERVICE_POLICY))
		return 0;
	if (service->policy == ABI_POLICY_3TUPLE)
		return pkt->proto == pkt->piece_proto && !pkt_chain_is_extension(pkt->proto);
	return !policy_needs_ports(service->policy);
}

/* By the policy, else by source, destination and protocol. */
PKT_INLINE __u64 piece_hash(const struct abi_service *service, const struct pkt *pkt)
{
	if (piece_has_key(service, pkt))
		return policy_hash(service, pkt);
	return pkt_hash_tuple(&pkt->src, &pkt->dst, 0, 0, pkt->piece_proto, env_node()->slot_seed);
}

/* Is all that decides for the piece its slot's word? */
PKT_INLINE int piece_is_settled(const struct abi_service *service, struct pkt *pkt)
{
	int settled;

	if (!(service->flags & ABI_SERVICE_TRANSITION))
		return 1;
	pkt->slot = policy_slot(service, piece_hash(service, pkt));
	settled = choose_is_settled(pkt);
	pkt->backend = 0;
	return settled;
}

/*
 * Where the policy asks for nothing that only the first piece has, the slot alone decides, but
 * where a flow's entry may.
 */
PKT_INLINE int piece_needs_entry(const struct abi_service *service, struct pkt *pkt)
{
	return !piece_has_key(service, pkt) ||
	       service->flags & (ABI_SERVICE_TRACK | ABI_SERVICE_FLIP | ABI_SERVICE_SERVER_ID) ||
	       !piece_is_settled(service, pkt);
}

/*
 * The slot that any piece has, and its word's backend. TCP's flags are not asked for, as only the
 * first piece has them. Ends as choose_untracked.
 */
PKT_INLINE int piece_by_slot(struct pkt_ctx *ctx, struct pkt *pkt,
			     const struct abi_service *service)
{
	__u8 flags = pkt->tcp_flags;
	int verdict;

	pkt->hash = piece_hash(service, pkt);
	pkt->slot = policy_slot(service, pkt->hash);
	pkt->tcp_flags = 0;
	verdict = choose_unrecorded(ctx, pkt, service, TRANSITION_ALIKE);
	pkt->tcp_flags = flags;
	return verdict;
}
