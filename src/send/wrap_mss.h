/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lowers the MSS of a SYN to its service's, where it is larger. What has none is left alone. A part
 * of dp/forward.h, which says what the includer supplies.
 */
#pragma once

#include "dp/abi.h"
#include "l4/mss.h"
#include "l4/option.h"
#include "pkt/csum.h"
#include "pkt/parse.h"

/* The option `at` from the frame's start. */
PKT_INLINE void wrap_mss(const struct pkt_ctx *ctx, const struct pkt *pkt, __u32 at, __u16 limit)
{
	struct pkt_cursor head = pkt_cursor(ctx, pkt->l4), place = pkt_cursor(ctx, at + 2);
	pkt_tcp *tcp = pkt_take(&head, pkt_tcp);
	__u8 *value = pkt_take_bytes(&place, sizeof(limit));
	__u16 mss;

	if (!tcp || !value)
		return;
	mss = (__u16)(value[0] << 8 | value[1]);
	if (mss <= limit)
		return;
	at -= pkt->l4;
	tcp->check = pkt_csum_mend(tcp->check, l4_mss_csum(mss, at), l4_mss_csum(limit, at));
	value[0] = (__u8)(limit >> 8);
	value[1] = (__u8)limit;
}

/* Always PKT_ON. */
PKT_STAGE int wrap_clamp(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct abi_service *service = pkt ? env_service(pkt->service) : 0;
	__u32 at;

	if (!service || !ctx)
		return PKT_ON;
	at = l4_option_find(ctx, pkt, PKT_TCP_OPTION_MSS, L4_MSS_LENGTH);
	if (at)
		wrap_mss(ctx, pkt, at, service->mss);
	return PKT_ON;
}
