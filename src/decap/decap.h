/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent's decision about a frame that comes in: take the tunnel off what a balancer sent for
 * a VIP, keep silent about VIPs, and leave all else to the host. One text for the XDP program and
 * for native tests. Which tunnels these are is in tunnel/open.h; what comes without one, its VIP in
 * an option, is in decap/restore.h.
 *
 * The includer supplies, before it includes this:
 *   int env_vip(const struct pkt_addr *)       the IP version of the longest prefix that matches
 *   int env_balancer(const struct pkt_addr *)  among VIPs, among balancers; 0: there is none
 *   int env_takes(enum tunnel_mode)            as tunnel/open.h says
 *   env_port, env_learn_port                   as decap/ports.h says
 *   int env_peer(const struct pkt_addr *)      as env_balancer, among peers
 *   env_spaces, env_socket, env_route          as second/second.h says; TUNNEL_GUE0 of env_takes
 *                                              is whether there are second chances at all
 *   void env_count(const struct pkt *, __u32 verdict)
 * The version is asked for because an IPv6 packet can bear the address ::ffff:a.b.c.d, which is
 * how tables hold a.b.c.d; and ::/0, as a prefix, is no word about IPv4.
 *
 * The inner destination is looked at before the outer source: tunnels of others on the same host
 * are none of the agent's business. Only what claims to be for a VIP must come from a balancer.
 * Of a mode that is off nobody reads the inner packet: there a balancer's address is what tells
 * that the file lacks a word, and the host gets all of it.
 */
#pragma once

#include "decap/ports.h"
#include "decap/restore.h"
#include "decap/silence.h"
#include "pkt/parse.h"
#include "second/second.h"
#include "tunnel/open.h"
#include "tunnel/strip.h"

/* Ends with pkt as tunnel_open leaves it, or a verdict. `told` must be zero. */
PKT_STAGE int decap_outer(struct pkt_ctx *ctx, struct pkt *pkt, struct tunnel_told *told)
{
	enum pkt_parsed parsed;

	if (!ctx || !pkt || !told)
		return AGENT_MALFORMED;
	pkt->frame_length = (__u32)((__u64)pkt_data_end(ctx) - (__u64)pkt_data(ctx));
	parsed = pkt_parse_ip(ctx, pkt);
	if (parsed == PKT_PARSED_NOT_IP)
		return silence_arp(ctx) ? AGENT_SILENCED : AGENT_NOT_IP;
	if (parsed != PKT_PARSED)
		return AGENT_MALFORMED;
	if (pkt->version == 6 && pkt->proto == IPPROTO_ICMPV6)
		return silence_solicitation(ctx, pkt) ? AGENT_SILENCED : AGENT_NOT_TUNNEL;
	if (restore_find(ctx, pkt, told))
		return restore(ctx, pkt, told);
	switch (tunnel_open(ctx, pkt, told)) {
	case TUNNEL_OPENED: return PKT_ON;
	case TUNNEL_PIECE: return AGENT_FRAGMENT;
	case TUNNEL_BROKEN: return AGENT_MALFORMED;
	case TUNNEL_OFF:
		return env_balancer(&pkt->src) == pkt->version ? AGENT_MODE_OFF : AGENT_NOT_TUNNEL;
	default: return AGENT_NOT_TUNNEL;
	}
}

/* For us, from a balancer (or handed on, from a peer), and whole? */
PKT_STAGE int decap_inner(struct pkt_ctx *ctx, struct pkt *pkt, int handed_on)
{
	struct tunnel_inner inner = {};

	if (!ctx || !pkt || !tunnel_read_inner(ctx, pkt, &inner))
		return AGENT_MALFORMED;
	if (env_vip(&inner.dst) != (int)inner.version)
		return AGENT_NOT_VIP;
	if (handed_on && env_peer(&pkt->src) != pkt->version)
		return AGENT_BAD_PEER;
	if (!handed_on && env_balancer(&pkt->src) != pkt->version)
		return AGENT_BAD_SOURCE;
	return tunnel_inner_is_whole(&inner) ? PKT_ON : AGENT_TRUNCATED;
}

PKT_INLINE int decap_strip(struct pkt_ctx *ctx, struct pkt *pkt)
{
	switch (tunnel_strip(ctx, pkt)) {
	case TUNNEL_STRIPPED: return AGENT_DECAPSULATED;
	case TUNNEL_LOST: return AGENT_NOT_ECT;
	default: return AGENT_NO_ROOM;
	}
}

/* PKT_ON: it is for this host. */
PKT_INLINE int decap_second(struct pkt_ctx *ctx, struct pkt *pkt, struct second *chance)
{
	switch (second_chance(ctx, pkt, chance)) {
	case SECOND_ON: return AGENT_HANDED_ON;
	case SECOND_WEAK: return AGENT_HANDED_WEAK;
	case SECOND_UNCLAIMED: return AGENT_UNCLAIMED;
	default: return PKT_ON;
	}
}

/*
 * The whole way. Counts; the verdict's action is the includer's to carry out, and what is handed on
 * leaves by chance->ifindex. `chance` must be zero.
 */
PKT_INLINE int decap(struct pkt_ctx *ctx, struct pkt *pkt, struct second *chance)
{
	struct tunnel_told told = {};
	int verdict = decap_outer(ctx, pkt, &told);

	if (env_takes(TUNNEL_GUE0) && verdict == PKT_ON && told.gue0) {
		chance->at = told.gue0;
		second_find(ctx, pkt, chance);
	}
	if (verdict == PKT_ON)
		verdict = decap_inner(ctx, pkt, chance->hops);
	if (env_takes(TUNNEL_GENEVE) && verdict == PKT_ON && told.version)
		verdict = ports_deliver(ctx, pkt, &told);
	if (env_takes(TUNNEL_GUE0) && verdict == PKT_ON && (chance->named || chance->hops))
		verdict = decap_second(ctx, pkt, chance);
	if (verdict == PKT_ON)
		verdict = decap_strip(ctx, pkt);
	if (verdict == AGENT_DECAPSULATED && chance->hops)
		verdict = AGENT_TAKEN;
	env_count(pkt, (__u32)verdict);
	return verdict;
}
