/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What of a packet decides its slot, for services of another policy than the 5-tuple; and the
 * backends that packets name themselves, by a QUIC connection id or a TCP option. A part of
 * dp/forward.h, which says what the includer supplies.
 *
 * Only the slot goes by the policy: pkt->hash stays that of the 5-tuple, for tunnels take their
 * entropy from it. A flow's entry has the policy's slot, but by flow label: that may change within
 * a flow, so there it has the 5-tuple's, and only a flow without an entry gets the label's.
 */
#pragma once

#include "dp/abi.h"
#include "dp/verdict.h"
#include "l4/quic.h"
#include "l4/server_id.h"
#include "pkt/hash.h"
#include "pkt/parse.h"

/* Do only ports, or what is behind them, say which slot? A later piece of a datagram lacks them. */
PKT_INLINE int policy_needs_ports(enum abi_policy policy)
{
	return policy != ABI_POLICY_SOURCE && policy != ABI_POLICY_SOURCE_PREFIX &&
	       policy != ABI_POLICY_2TUPLE && policy != ABI_POLICY_3TUPLE;
}

/* The first `bits` of half an address. */
PKT_INLINE __u64 policy_mask(__u32 bits)
{
	return bits ? __builtin_bswap64(~0ULL << (64 - bits)) : 0;
}

/* What gives a slot: a service's policy, or the one that it had before. */
struct policy_by {
	__u64 seed;
	__u8 policy; /* enum abi_policy */
	__u8 source_prefix4;
	__u8 source_prefix6;
};

PKT_INLINE struct pkt_addr policy_prefix(const struct policy_by *by, const struct pkt *pkt)
{
	struct pkt_addr prefix = pkt->src;
	__u32 bits = pkt->version == 4 ? 96U + by->source_prefix4 : by->source_prefix6;

	if (bits > 128)
		bits = 128;
	prefix.half[0] &= policy_mask(bits < 64 ? bits : 64);
	prefix.half[1] &= policy_mask(bits < 64 ? 0 : bits - 64);
	return prefix;
}

/* Is the key within the tuple, and less than all of it? */
PKT_INLINE int policy_is_tuple(enum abi_policy policy)
{
	return policy < ABI_POLICY_5TUPLE || policy == ABI_POLICY_SOURCE_PREFIX;
}

/*
 * The hash that gives the slot (policy_slot), from what struct pkt has; without ports where the
 * policy needs none. What is not in the key is 0 in its place.
 */
PKT_INLINE __u64 policy_hash_by(const struct policy_by *by, const struct pkt *pkt)
{
	struct pkt_addr src = pkt->src, dst = pkt->dst;
	__be16 dport = 0;
	__u8 proto = 0;

	if (by->policy == ABI_POLICY_SOURCE_PREFIX)
		src = policy_prefix(by, pkt);
	if (by->policy == ABI_POLICY_SOURCE || by->policy == ABI_POLICY_SOURCE_PREFIX)
		dst = (struct pkt_addr){};
	if (by->policy == ABI_POLICY_3TUPLE || by->policy == ABI_POLICY_4TUPLE)
		proto = pkt->proto;
	if (by->policy == ABI_POLICY_4TUPLE)
		dport = pkt->dport;
	return pkt_hash_tuple(&src, &dst, 0, dport, proto, by->seed);
}

PKT_INLINE __u64 policy_hash(const struct abi_service *service, const struct pkt *pkt)
{
	struct policy_by by = {env_node()->slot_seed, service->policy, service->source_prefix4,
			       service->source_prefix6};

	return policy_hash_by(&by, pkt);
}

/* The slot of a hash, in all slots; beyond all of them when there is no table. */
PKT_INLINE __u32 policy_slot_in(__u64 table, __u64 hash)
{
	return table >> 32 ? (__u32)table + pkt_hash_below(hash, (__u32)(table >> 32)) : ABI_SLOTS;
}

PKT_INLINE __u32 policy_slot(const struct abi_service *service, __u64 hash)
{
	return policy_slot_in(*(volatile const __u64 *)&service->table, hash);
}

/* --- the backend by its server's id --- */

/* A place may get another key at any moment; without one before and after its backend counts. */
PKT_INLINE int policy_take(struct pkt *pkt, struct abi_server *server, __u64 key)
{
	__u32 index = *(volatile __u32 *)&server->backend;
	struct abi_backend *backend = env_backend(index);

	if (!index || !backend || *(volatile __u64 *)&server->key != key ||
	    !(backend->flags & ABI_BACKEND_KEEP))
		return 0;
	pkt->backend = index;
	env_event(ABI_EVENT_CID);
	return 1;
}

/* Whether the id is that of a backend that may have flows; then pkt->backend is it. */
PKT_INLINE int policy_server(struct pkt *pkt, __u32 id)
{
	__u64 key;
	__u32 place;

	if (!id)
		return 0;
	key = abi_server_key(pkt->table_first, id);
	place = (__u32)pkt_hash_end(pkt_hash_add(env_node()->vip_secret, key));
	for (__u32 i = 0; i < ABI_SERVER_PROBES; i++) {
		struct abi_server *server = env_server((place + i) & (ABI_SERVERS - 1));
		__u64 found;

		if (!server)
			return 0;
		found = *(volatile __u64 *)&server->key;
		if (found == key)
			return policy_take(pkt, server, key);
		if (!found)
			return 0;
	}
	return 0;
}

/* --- policies that look beyond the tuple --- */

/* For IPv6. 0: there is no label (RFC 6437), and the 5-tuple's slot counts. */
PKT_INLINE __u64 policy_label_hash(const struct pkt_ctx *ctx, const struct pkt *pkt, __u64 seed)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, sizeof(pkt_eth));
	pkt_ip6 *ip = pkt_take(&cursor, pkt_ip6);
	__u32 high, low;

	if (!ip)
		return 0;
	high = ip->flow_lbl[0] & 15;
	low = (__u32)ip->flow_lbl[1] << 8 | ip->flow_lbl[2];
	if (!(high | low))
		return 0;
	return pkt_hash_tuple(&pkt->src, &pkt->dst, (__be16)low, (__be16)high, 0, seed);
}

PKT_INLINE void policy_label(const struct pkt_ctx *ctx, struct pkt *pkt,
			     const struct abi_service *service)
{
	__u64 hash = policy_label_hash(ctx, pkt, env_node()->slot_seed);

	if (!hash)
		return;
	pkt->label_slot = policy_slot(service, hash);
	pkt->labelled = (service->flags & ABI_SERVICE_TRACK) != 0;
	if (!pkt->labelled)
		pkt->slot = pkt->label_slot;
}

/* For UDP. An id that names no server leaves the slot, or the flow's entry, to decide. */
PKT_INLINE void policy_cid(struct pkt_ctx *ctx, struct pkt *pkt, const struct abi_service *service)
{
	struct l4_quic_cid cid = {};
	__u32 id;

	if (!l4_quic_find_cid(ctx, pkt, &cid))
		return;
	id = service->cid == ABI_CID_KATRAN
		     ? l4_quic_server_katran(&cid)
		     : l4_quic_server(&cid, service->cid_config, service->cid_length);
	if (policy_server(pkt, id))
		pkt->why = WHY_CID;
}

/* For TCP. */
PKT_STAGE int policy_option(struct pkt_ctx *ctx, struct pkt *pkt)
{
	if (!ctx || !pkt)
		return VERDICT_EMPTY;
	if (policy_server(pkt, l4_server_id(ctx, pkt)))
		pkt->why = WHY_OPTION;
	return PKT_ON;
}

/* Has the packet what a policy goes by that looks beyond the tuple? Else it is the 5-tuple's. */
PKT_INLINE int policy_is_label(const struct abi_service *service, const struct pkt *pkt)
{
	return service->policy == ABI_POLICY_FLOW_LABEL && pkt->version == 6;
}

PKT_INLINE int policy_is_cid(const struct abi_service *service, const struct pkt *pkt)
{
	return service->policy == ABI_POLICY_QUIC_CID && pkt->proto == IPPROTO_UDP;
}

/* Sets pkt->slot by the service's policy, and pkt->backend where an id names it; or a verdict. */
PKT_INLINE int policy(struct pkt_ctx *ctx, struct pkt *pkt, const struct abi_service *service)
{
	/* A SYN has no option yet: its connection's server is still to be chosen. */
	if (service->flags & ABI_SERVICE_SERVER_ID && pkt->proto == IPPROTO_TCP &&
	    !(pkt->tcp_flags & PKT_TCP_SYN)) {
		int verdict = policy_option(ctx, pkt);

		if (verdict != PKT_ON || pkt->backend)
			return verdict;
	}
	if (policy_is_cid(service, pkt))
		policy_cid(ctx, pkt, service);
	else if (policy_is_label(service, pkt))
		policy_label(ctx, pkt, service);
	else if (policy_is_tuple(service->policy))
		pkt->slot = policy_slot(service, policy_hash(service, pkt));
	return PKT_ON;
}

/*
 * The same for what an ICMP error quotes: a packet of the server, read backwards. It has the
 * tuple, but its label is the server's own and its connection id the client's.
 */
PKT_STAGE int policy_quoted(struct pkt *pkt)
{
	struct abi_service *service = pkt ? env_service(pkt->service) : 0;

	if (!service)
		return VERDICT_EMPTY;
	if (policy_is_tuple(service->policy))
		pkt->slot = policy_slot(service, policy_hash(service, pkt));
	pkt->unquoted = policy_is_label(service, pkt) || policy_is_cid(service, pkt);
	return PKT_ON;
}
