/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose packet is it? The VIP by its address first, ports after, so that one miss passes a foreign
 * packet on; VIPs that are prefixes only where no address fits. A part of dp/forward.h, which says
 * what the includer supplies.
 */
#pragma once

#include "dp/abi.h"
#include "dp/verdict.h"
#include "pkt/hash.h"
#include "pkt/parse.h"

PKT_INLINE struct abi_vip *find_address(const struct pkt *pkt)
{
	__u32 place = pkt_hash_addr(&pkt->dst, env_node()->vip_secret);

	for (__u32 i = 0; i < ABI_VIP_PROBES; i++) {
		struct abi_vip *vip = env_vip((place + i) & (ABI_VIPS - 1));

		if (!vip)
			return 0;
		if (pkt_addr_equal(&vip->addr, &pkt->dst))
			return vip;
		if (!(vip->addr.half[0] | vip->addr.half[1]))
			return 0;
	}
	return 0;
}

/* The VIP that the packet is for, or NULL. What it does not listen on no wider prefix gets. */
PKT_INLINE struct abi_vip *find_vip(const struct pkt *pkt)
{
	struct abi_vip *vip = find_address(pkt);
	__u32 place;

	if ((vip && vip->listens[0]) || !env_has(ABI_HAS_RANGES))
		return vip;
	place = env_prefix(ABI_LIST_VIPS, pkt->version, &pkt->dst);
	return place ? env_vip(place) : 0;
}

/* By protocol and port, which is 0 where there are none; 0: no service listens there. */
PKT_INLINE __u32 find_service(const struct abi_vip *vip, const struct pkt *pkt)
{
	__u32 port = PKT_HOST16(pkt->dport);

	for (__u32 i = 0; i < ABI_VIP_LISTENS; i++) {
		__u64 listen = *(volatile const __u64 *)&vip->listens[i];

		__u8 proto = (__u8)(listen >> 32);

		if (!listen)
			return 0;
		if (proto != pkt->proto && proto != ABI_PROTO_ANY)
			continue;
		if (proto == ABI_PROTO_ANY ||
		    (port >= (__u16)listen && port <= (__u16)(listen >> 16)))
			return (__u32)(listen >> 40);
	}
	return 0;
}

/* The same as a stage, for those off the usual way: the verifier goes through it once for them. */
PKT_STAGE int find_service_rare(struct abi_vip *vip, struct pkt *pkt)
{
	return vip && pkt ? (int)find_service(vip, pkt) : 0;
}

PKT_INLINE int find_has_ports(const struct pkt *pkt)
{
	return pkt->proto == IPPROTO_TCP || pkt->proto == IPPROTO_UDP;
}

/* TCP or UDP, and the service that listens there: ends with pkt->service set, or a verdict. */
PKT_INLINE int find_listener(const struct pkt_ctx *ctx, struct pkt *pkt, const struct abi_vip *vip)
{
	if (pkt_parse_l4(ctx, pkt) != PKT_PARSED) {
		pkt->why = WHY_MALFORMED;
		return VERDICT_TRUNCATED;
	}
	pkt->service = find_service(vip, pkt);
	return pkt->service ? PKT_ON : VERDICT_NOT_LISTENED;
}
