/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For a VIP, and neither TCP nor UDP after its IP header: what stands behind IPv6 extension
 * headers, ICMP errors, echo requests, and other protocols, which a service may listen on. A part
 * of forward.h, which says what the includer supplies.
 */
#pragma once

#include "choose/choose.h"
#include "choose/find.h"
#include "choose/fragment.h"
#include "dp/abi.h"
#include "dp/verdict.h"
#include "l4/quote.h"
#include "pkt/chain.h"
#include "pkt/parse.h"
#include "send/reply.h"

/* Looks through the extension headers of an IPv6 packet for a VIP. */
PKT_STAGE int other_extensions(struct pkt_ctx *ctx, struct pkt *pkt)
{
	struct pkt_chain chain = {};
	enum pkt_chained chained;

	if (!pkt)
		return VERDICT_MALFORMED;
	chain.proto = pkt->proto;
	chain.at = pkt->l4;
	chain.end = pkt->length + (__u32)sizeof(pkt_eth);
	chained = pkt_chain_walk(ctx, &chain);
	if (chained == PKT_CHAIN_CUT) {
		pkt->why = WHY_MALFORMED;
		return VERDICT_TRUNCATED;
	}
	pkt->fragment = chain.fragment;
	pkt->later = chain.later;
	pkt->fragment_id = chain.fragment_id;
	pkt->piece_proto = chain.piece_proto;
	if (chained == PKT_CHAIN_BEYOND) {
		pkt->why = WHY_LIMIT;
		return VERDICT_EXTENSIONS;
	}
	pkt->proto = chain.proto;
	pkt->l4 = (__u16)chain.at;
	return PKT_ON;
}

/* As find_listener. */
PKT_INLINE int other_listener(const struct pkt_ctx *ctx, struct pkt *pkt, struct abi_vip *vip)
{
	if (pkt_parse_l4(ctx, pkt) != PKT_PARSED) {
		pkt->why = WHY_MALFORMED;
		return VERDICT_TRUNCATED;
	}
	pkt->service = (__u32)find_service_rare(vip, pkt);
	return pkt->service ? PKT_ON : VERDICT_NOT_LISTENED;
}

/* A packet without ports, for a listen that takes all. Ends with pkt->service set, or a verdict. */
PKT_STAGE int other_any(struct pkt_ctx *ctx, struct pkt *pkt, struct abi_vip *vip)
{
	if (!pkt || !vip || l4_icmp_is_hosts(ctx, pkt))
		return VERDICT_OTHER_PROTOCOL;
	pkt->sport = 0;
	pkt->dport = 0;
	pkt->service = (__u32)find_service_rare(vip, pkt);
	return pkt->service ? PKT_ON : VERDICT_OTHER_PROTOCOL;
}

/* Does it quote a packet of the VIP's? A stage, so that it is verified once and for itself. */
PKT_STAGE int other_quotes(struct pkt_ctx *ctx, struct pkt *pkt)
{
	return ctx && pkt ? l4_quote_parse(ctx, pkt) : 0;
}

/*
 * An ICMP error goes, as it came, to the backend of the flow that it quotes; any node finds that
 * one, for the quote holds the whole key. PKT_CHOSEN, or a verdict.
 */
PKT_INLINE int other_error(struct pkt_ctx *ctx, struct pkt *pkt, struct abi_vip *vip)
{
	int verdict;

	if (!pkt || !vip)
		return VERDICT_OTHER_PROTOCOL;
	if (pkt->proto != IPPROTO_ICMP && pkt->proto != IPPROTO_ICMPV6)
		return VERDICT_OTHER_PROTOCOL;
	pkt->why = WHY_ICMP;
	if (!other_quotes(ctx, pkt))
		return VERDICT_OTHER_PROTOCOL;
	pkt->service = (__u32)find_service_rare(vip, pkt);
	if (!pkt->service)
		return find_has_ports(pkt) ? VERDICT_NOT_LISTENED : VERDICT_OTHER_PROTOCOL;
	verdict = choose_quoted(ctx, pkt);
	if (verdict != PKT_ON)
		return verdict;
	pkt->why = WHY_ICMP;
	return PKT_CHOSEN;
}

/*
 * What has neither TCP nor UDP after its IP header. A stage of its own behind a question that is
 * asked of every packet anyway, so that the usual one is asked no more. Ends as forward_classify.
 */
PKT_STAGE int other(struct pkt_ctx *ctx, struct pkt *pkt, struct abi_vip *vip)
{
	int verdict;

	if (!pkt || !vip)
		return VERDICT_OTHER_PROTOCOL;
	if (pkt->version == 6 && pkt_chain_is_extension(pkt->proto)) {
		verdict = other_extensions(ctx, pkt);
		if (verdict != PKT_ON)
			return verdict;
		if (pkt->fragment)
			return fragment(ctx, pkt, vip);
		if (find_has_ports(pkt))
			return other_listener(ctx, pkt, vip);
	}
	verdict = other_error(ctx, pkt, vip);
	/* No error: it may be a question for the VIP itself. */
	if (verdict == VERDICT_OTHER_PROTOCOL && !pkt->quoted)
		verdict = reply_echo(ctx, pkt);
	if (verdict == VERDICT_OTHER_PROTOCOL && !pkt->quoted)
		verdict = other_any(ctx, pkt, vip);
	return verdict;
}
