/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A plain packet's whole way in one piece: TCP or UDP for a service that asks for nothing special,
 * whose slot is settled, IP in IP or in GUE, and it fits. What is not plain goes on from what is
 * known by then. No stage: a call costs more than a look-up, and what several stages need is looked
 * up in each. A part of forward.h, which says what the includer supplies.
 */
#pragma once

#include "choose/choose.h"
#include "choose/find.h"
#include "dp/abi.h"
#include "dp/verdict.h"
#include "pkt/parse.h"
#include "send/wrap.h"

/* What finds the VIP: PKT_ON, or a verdict. */
PKT_INLINE int plain_parse(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	enum pkt_parsed parsed;

	pkt->frame_length = (__u32)((__u64)pkt_data_end(ctx) - (__u64)pkt_data(ctx));
	pkt->why = WHY_MALFORMED;
	parsed = pkt_parse_ip(ctx, pkt);
	if (parsed == PKT_PARSED_MALFORMED)
		return VERDICT_MALFORMED;
	pkt->why = WHY_NOT_VIP;
	if (parsed == PKT_PARSED_NOT_IP)
		return VERDICT_NOT_IP;
	/* An IPv6 packet for ::ffff:a.b.c.d must not find the VIP a.b.c.d. */
	if (pkt->version == 6 && (!env_has(ABI_HAS_IPV6) || pkt_addr_is4(&pkt->dst)))
		return VERDICT_NOT_VIP;
	return PKT_ON;
}

/* The packet's VIP, which has listens; NULL: it is for none. */
PKT_INLINE struct abi_vip *plain_vip(const struct pkt *pkt)
{
	struct abi_vip *vip = find_vip(pkt);

	return vip && vip->listens[0] ? vip : 0;
}

/* PKT_CHOSEN if it does not fit. */
PKT_INLINE int plain_wrap(struct pkt_ctx *ctx, const struct pkt *pkt,
			  const struct abi_backend *backend, __u8 mode)
{
	__u32 added = tunnel_mode_overhead(mode, pkt_addr_is4(&backend->addr), pkt->version == 4);

	if (pkt->length + added > backend->mtu)
		return PKT_CHOSEN;
	return wrap_done(ctx, backend, wrap_in(ctx, pkt, backend, mode));
}

/* What asks for more than an entry of the flow's, or none. */
#define PLAIN_FURTHER (ABI_SERVICE_SPECIAL | ABI_SERVICE_DUAL)

/* What of the service's flags this packet meets: an MSS is a SYN's alone. */
PKT_INLINE __u32 plain_flags(const struct abi_service *service, const struct pkt *pkt)
{
	return special_begins(pkt) ? service->flags : service->flags & ~(__u32)ABI_SERVICE_MSS;
}

/*
 * Whom a packet goes to that its slot's word alone does not decide for; else NULL, and `ret` is a
 * verdict, or PKT_CHOSEN where wrapping it is no plain thing.
 */
PKT_INLINE struct abi_backend *plain_choose(struct pkt_ctx *ctx, struct pkt *pkt,
					    const struct abi_service *service, int *ret)
{
	int is_by_flow = choose_tracks(service) && !(plain_flags(service, pkt) & PLAIN_FURTHER);
	int verdict = is_by_flow ? choose_by_entry(ctx, pkt) : choose_further(ctx, pkt);

	if (verdict != PKT_ON)
		*ret = verdict;
	return verdict == PKT_ON && pkt->backend && !pkt->seldom ? env_backend(pkt->backend) : 0;
}

/* Whom the packet goes to; NULL as plain_choose. */
PKT_INLINE struct abi_backend *plain_backend(struct pkt_ctx *ctx, struct pkt *pkt,
					     const struct abi_service *service, int *ret)
{
	const __u32 asks = ABI_SERVICE_SPECIAL | ABI_SERVICE_TRACK | ABI_SERVICE_FLIP;
	struct abi_backend *backend;

	if (!(service->flags & asks) || !(plain_flags(service, pkt) & asks)) {
		backend = choose_settled(pkt);
		if (backend && pkt->backend)
			return backend;
	}
	return plain_choose(ctx, pkt, service, ret);
}

/* Once its service is known. PKT_CHOSEN, PKT_AGAIN, or a verdict. */
PKT_INLINE int plain_send(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service = choose_slot(pkt);
	const __u32 needs = ABI_BACKEND_NEIGH | ABI_BACKEND_TAGGED;
	struct abi_backend *backend;
	int verdict = PKT_CHOSEN;

	if (!service)
		return PKT_AGAIN;
	backend = plain_backend(ctx, pkt, service, &verdict);
	if (!backend)
		return verdict;
	if ((backend->flags & needs) != ABI_BACKEND_NEIGH)
		return PKT_CHOSEN;
	if (pkt->mode == TUNNEL_IPIP)
		return plain_wrap(ctx, pkt, backend, TUNNEL_IPIP);
	return pkt->mode == TUNNEL_GUE ? plain_wrap(ctx, pkt, backend, TUNNEL_GUE) : PKT_CHOSEN;
}

/* A verdict; or PKT_CHOSEN, and PKT_AGAIN, for what is not plain. */
PKT_INLINE int plain(struct pkt_ctx *ctx, struct pkt *pkt)
{
	int verdict = plain_parse(ctx, pkt);
	struct abi_vip *vip;

	if (verdict != PKT_ON)
		return verdict;
	/* Before the VIP is looked for: the verifier goes through that once for each of these. */
	if (pkt->fragment || !find_has_ports(pkt))
		return PKT_AGAIN;
	vip = plain_vip(pkt);
	if (!vip)
		return VERDICT_NOT_VIP;
	verdict = find_listener(ctx, pkt, vip);
	return verdict == PKT_ON ? plain_send(ctx, pkt) : verdict;
}
