/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pieces of datagrams (RFC 791, RFC 8200 section 4.5): all of one datagram reach one backend, in
 * any order of arrival on a node. A part of forward.h, which says what the includer supplies.
 */
#pragma once

#include "dp/abi.h"
#include "dp/choose.h"
#include "dp/find.h"
#include "dp/verdict.h"
#include "pkt/parse.h"

/* Whose piece is it, and whose backend? Ends as forward_classify. */
PKT_STAGE int fragment(struct pkt_ctx *ctx, struct pkt *pkt, struct abi_vip *vip)
{
	if (!ctx || !pkt || !vip)
		return VERDICT_FRAGMENT;
	pkt->why = WHY_FRAGMENT;
	return VERDICT_FRAGMENT;
}
