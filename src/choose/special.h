/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What most services have not (ABI_SERVICE_SPECIAL): an access list, a rate limit, another policy
 * than the 5-tuple, ids of servers, a clamped MSS. Behind one question, so that others pay one
 * branch for all of it. A part of dp/forward.h, which says what the includer supplies.
 */
#pragma once

#include "dp/abi.h"
#include "dp/verdict.h"
#include "pkt/parse.h"

/* How far a service may run ahead of its rate: a burst of a tenth of a second. */
enum { SPECIAL_BURST_NS = 100 * 1000 * 1000 };

/* The longest prefix of the service's list that holds the source decides. */
PKT_INLINE int special_is_allowed(const struct abi_service *service, const struct pkt *pkt)
{
	return env_prefix(service->access, pkt->version, &pkt->src) == ABI_ACCESS_ALLOW;
}

/*
 * A token bucket, kept as the time at which it is full again (in 2^-8 ns): each packet moves that
 * time on by the gap between packets, and is refused while it is a burst ahead. The core's own.
 *
 * Times wrap after two years, so only their difference counts. No packet of this service and this
 * clock can have left one further ahead than a burst and a gap: such a time is another's (an
 * earlier owner of the record, a slower rate, a clock that was set back), and the bucket is full.
 */
PKT_INLINE int special_is_within_rate(const struct abi_service *service, const struct pkt *pkt)
{
	const __u64 burst = (__u64)SPECIAL_BURST_NS << 8;
	__u64 *full = env_rate(pkt->service);
	__u64 now = env_now_ns() << 8;
	__u64 gap = service->rate_gap;
	__u64 ahead;

	if (!full)
		return 1;
	ahead = *full - now;
	if (ahead > burst + gap)
		ahead = 0;
	if (ahead > burst)
		return 0;
	*full = now + ahead + gap;
	return 1;
}

/* Before the MSS of a segment can be clamped the packet must be known to fit: see wrap_seldom. */
PKT_INLINE int special_begins(const struct pkt *pkt)
{
	return pkt->proto == IPPROTO_TCP && pkt->tcp_flags & PKT_TCP_SYN;
}

/* Before the choice: PKT_ON or a verdict. */
PKT_INLINE int special_may(const struct abi_service *service, struct pkt *pkt)
{
	if (service->flags & ABI_SERVICE_ACCESS && !special_is_allowed(service, pkt)) {
		pkt->why = WHY_ACL;
		return VERDICT_DENIED;
	}
	if (service->flags & ABI_SERVICE_RATE && !special_is_within_rate(service, pkt)) {
		pkt->why = WHY_RATE;
		return VERDICT_RATE_LIMITED;
	}
	if (service->flags & ABI_SERVICE_MSS && special_begins(pkt))
		pkt->seldom |= PKT_SELDOM_MSS;
	return PKT_ON;
}

/* The same as a stage, for those off the usual way. */
PKT_STAGE int special(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service = pkt ? env_service(pkt->service) : 0;

	return service && ctx ? special_may(service, pkt) : VERDICT_EMPTY;
}
