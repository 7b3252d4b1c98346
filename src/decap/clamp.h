/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the MSS option of a SYN-ACK that a VIP sends (RFC 9293, section 3.7.1). What the client
 * reads there bounds the segments it sends, and these, unlike the answers, travel in the tunnel.
 * Reads only; the includer changes the packet, for it alone knows how its world keeps checksums.
 *
 * The includer supplies, before it includes this, env_vip as decap.h describes it.
 */
#pragma once

#include "decap/abi_agent.h"
#include "l4/mss.h"
#include "pkt/parse.h"

enum {
	CLAMP_ROOM = 64, /* for options: a power of two, so that a masked index is inside */
	CLAMP_FLAGS = PKT_TCP_FIN | PKT_TCP_SYN | PKT_TCP_RST | PKT_TCP_ACK,
};

_Static_assert((int)AGENT_CLAMP_CLAMPED == (int)L4_MSS_LARGE &&
		       (int)AGENT_CLAMP_FITTING == (int)L4_MSS_FITTING &&
		       (int)AGENT_CLAMP_ABSENT == (int)L4_MSS_ABSENT &&
		       (int)AGENT_CLAMP_UNREADABLE == (int)L4_MSS_UNREADABLE,
	       "what is counted is what l4/mss.h finds");

struct clamp {
	struct l4_mss mss;
	__u8 options[CLAMP_ROOM];
	__u32 checksum_at; /* offsets from the frame's start */
	__u32 options_at;
};

/* Where the option's value stands in the frame, once it is found. */
PKT_INLINE __u32 clamp_mss_at(const struct clamp *clamp)
{
	return clamp->options_at + clamp->mss.at + 2;
}

/* The sender of a TCP segment, or 0. The host's own SYN-ACKs have no IP options. */
PKT_INLINE int clamp_source4(struct pkt_cursor *cursor, struct pkt_addr *ret)
{
	pkt_ip4 *ip = pkt_take(cursor, pkt_ip4);

	if (!ip || ip->ihl != 5 || ip->protocol != IPPROTO_TCP)
		return 0;
	*ret = pkt_addr4(ip->saddr);
	return 1;
}

PKT_INLINE int clamp_source6(struct pkt_cursor *cursor, struct pkt_addr *ret)
{
	pkt_ip6 *ip = pkt_take(cursor, pkt_ip6);

	if (!ip || ip->nexthdr != IPPROTO_TCP)
		return 0;
	pkt_copy(ret->word, &ip->saddr, sizeof(*ret));
	return 1;
}

/* One option. A stage, so that the verifier reads it once and not once a way through forty. */
PKT_STAGE int clamp_step(struct clamp *clamp)
{
	__u8 bytes[L4_MSS_LENGTH];

	if (!clamp)
		return AGENT_CLAMP_ABSENT;
	for (__u32 i = 0; i < L4_MSS_LENGTH; i++)
		bytes[i] = clamp->options[(clamp->mss.at + i) & (CLAMP_ROOM - 1)];
	return l4_mss_step(&clamp->mss, bytes);
}

/* enum agent_clamp. With AGENT_CLAMP_CLAMPED all that is needed to write stands in *clamp. */
PKT_INLINE int clamp_walk(struct clamp *clamp)
{
	for (__u32 i = 0; i < PKT_TCP_OPTIONS_MAX; i++) {
		int found = clamp_step(clamp);

		if (found != PKT_ON)
			return found;
	}
	return AGENT_CLAMP_ABSENT;
}

/*
 * Whether this is a VIP's SYN-ACK; then *ret says where its options are, for the includer to read
 * them (ret->mss.size bytes, PKT_TCP_OPTIONS_MAX at most) before clamp_walk.
 */
PKT_INLINE int clamp_wanted(struct pkt_cursor cursor, const struct agent_limits *limits,
			    struct clamp *ret)
{
	pkt_eth *eth = pkt_take(&cursor, pkt_eth);
	struct pkt_addr source;
	__u32 l4, header;
	__u8 *tcp;
	int is4;

	if (!eth || (eth->h_proto != PKT_BE16(ETH_P_IP) && eth->h_proto != PKT_BE16(ETH_P_IPV6)))
		return 0;
	is4 = eth->h_proto == PKT_BE16(ETH_P_IP);
	if (!(is4 ? clamp_source4(&cursor, &source) : clamp_source6(&cursor, &source)))
		return 0;
	tcp = pkt_take_bytes(&cursor, sizeof(pkt_tcp));
	/* The cheap question first: every packet that the host sends comes by here. */
	if (!tcp || (tcp[13] & CLAMP_FLAGS) != (PKT_TCP_SYN | PKT_TCP_ACK) ||
	    env_vip(&source) != (is4 ? 4 : 6))
		return 0;
	header = (tcp[12] >> 4) * 4U;
	if (header < sizeof(pkt_tcp))
		header = sizeof(pkt_tcp);
	l4 = sizeof(*eth) + (is4 ? sizeof(pkt_ip4) : sizeof(pkt_ip6));
	ret->mss.size = header - (__u32)sizeof(pkt_tcp);
	ret->mss.at = 0;
	ret->options_at = l4 + (__u32)sizeof(pkt_tcp);
	ret->checksum_at = l4 + (__u32) __builtin_offsetof(pkt_tcp, check);
	ret->mss.limit = is4 ? limits->mss4 : limits->mss6;
	return 1;
}
