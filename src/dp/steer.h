/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Is it plainly a packet for one of our services, which a worker of the process can take to its
 * end? What is refused, limited, left to the host, answered for its size or cut in pieces is not,
 * nor what has to be looked at twice: the kernel's program goes the whole way with all of that,
 * over the same tables. Nothing is changed here, and nothing counted. The includer supplies what
 * dp/forward.h asks for.
 */
#pragma once

#include "choose/find.h"
#include "dp/abi.h"
#include "dp/abi_steer.h"
#include "pkt/parse.h"

/*
 * Where nobody serves, some services leave packets to the host, and no socket can hand a frame
 * back. An access list is a table that no worker can read as memory; and what is above a rate or
 * denied is to be dropped before it costs a copy.
 */
#define STEER_NOT (ABI_SERVICE_PASS | ABI_SERVICE_ACCESS | ABI_SERVICE_RATE)

/* The packet's service, 0: it is not plainly for one. VIPs that are prefixes are the kernel's. */
PKT_INLINE __u32 steer_service(const struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_vip *vip;

	if (pkt_parse_ip(ctx, pkt) != PKT_PARSED || pkt->fragment || !find_has_ports(pkt))
		return 0;
	if (pkt->version == 6 && (!env_has(ABI_HAS_IPV6) || pkt_addr_is4(&pkt->dst)))
		return 0;
	vip = find_address(pkt);
	return vip && find_listener(ctx, pkt, vip) == PKT_ON ? pkt->service : 0;
}

PKT_INLINE int steer_is_plain(const struct pkt_ctx *ctx, const struct abi_steer *steer)
{
	__u64 length = (__u64)pkt_data_end(ctx) - (__u64)pkt_data(ctx);
	struct abi_service *service;
	struct pkt pkt = {};
	__u32 index;

	if (length > steer->frame_max)
		return 0;
	index = steer_service(ctx, &pkt);
	if (!index || pkt.length > steer->packet_max)
		return 0;
	service = env_service(index);
	return service && !(service->flags & STEER_NOT);
}

/* Whose queue it is; -1: nobody's. */
PKT_INLINE int steer_worker(const struct abi_steer *steer, __u32 ifindex, __u32 queue)
{
	for (__u32 i = 0; i < ABI_STEER_LINKS; i++) {
		const struct abi_steer_link *link = &steer->links[i];

		if (link->ifindex == ifindex)
			return queue < link->queues ? (int)(link->first + queue) : -1;
	}
	return -1;
}

/*
 * May the worker get one more, which is counted? Not one that takes nothing: a process that is
 * stopped, or leaves its core file behind, has its sockets still. Each queue's frames are one
 * core's, and a count that is lost is made good by the worker.
 */
PKT_INLINE int steer_gives(struct abi_steer_ring *ring, __u32 now)
{
	__u32 taken = *(volatile __u32 *)&ring->taken;

	if (ring->given == taken || ring->seen != taken) {
		ring->seen = taken;
		ring->since = now;
	} else if (now - ring->since >= ABI_STEER_PATIENCE) {
		return 0;
	}
	ring->given++;
	return 1;
}
