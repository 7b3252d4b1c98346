/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a VIP's server sends from a port that clients do not know: ports.h brought their packets
 * there, and here the includer learns where the source port stands and which checksum has it.
 * Reads only; the includer changes the packet, for it alone knows how its world keeps checksums.
 */
#pragma once

#include "decap/abi_agent.h"
#include "decap/ports.h"
#include "pkt/parse.h"

enum { LEAVING_OPTIONS_MASK = 63 };

struct leaving {
	struct agent_port key; /* for env_port */
	__u32 port_at;         /* offsets from the frame's start */
	__u32 checksum_at;
};

/* Both take the source; whether a header with ports follows, be it of the first piece only. */
PKT_INLINE int leaving_ip4(struct pkt_cursor *cursor, struct leaving *ret)
{
	pkt_ip4 *ip = pkt_take(cursor, pkt_ip4);

	if (!ip || ip->ihl < 5 || ip->frag_off & PKT_BE16(L4_QUOTED_FRAGMENT))
		return 0;
	ret->key.vip = pkt_addr4(ip->saddr);
	ret->key.proto = ip->protocol;
	ret->port_at = sizeof(pkt_eth) + ip->ihl * 4U;
	/* Of a difference the verifier knows no bounds; options are 40 bytes at most. */
	cursor->at += (ip->ihl * 4U - (__u32)sizeof(*ip)) & LEAVING_OPTIONS_MASK;
	return 1;
}

/* The host's own packets have no other extension header than a fragment's. */
PKT_INLINE int leaving_ip6(struct pkt_cursor *cursor, struct leaving *ret)
{
	pkt_ip6 *ip = pkt_take(cursor, pkt_ip6);
	struct pkt_extension *fragment;

	if (!ip)
		return 0;
	pkt_copy(ret->key.vip.bytes, &ip->saddr, sizeof(ret->key.vip));
	ret->key.proto = ip->nexthdr;
	ret->port_at = sizeof(pkt_eth) + sizeof(*ip);
	if (ip->nexthdr != IPPROTO_FRAGMENT)
		return !pkt_addr_is4(&ret->key.vip);
	fragment = pkt_take(cursor, struct pkt_extension);
	if (!fragment || fragment->rest[0] || fragment->rest[1] & 0xf8)
		return 0;
	ret->key.proto = fragment->next;
	ret->port_at += (__u32)sizeof(*fragment);
	return !pkt_addr_is4(&ret->key.vip);
}

/* Whether the packet has a source port that env_port may know: *ret must be zero. */
PKT_INLINE int leaving_read(struct pkt_cursor cursor, struct leaving *ret)
{
	pkt_eth *eth = pkt_take(&cursor, pkt_eth);
	l4_ports *ports;

	if (!eth || (eth->h_proto != PKT_BE16(ETH_P_IP) && eth->h_proto != PKT_BE16(ETH_P_IPV6)))
		return 0;
	if (!(eth->h_proto == PKT_BE16(ETH_P_IP) ? leaving_ip4(&cursor, ret)
						 : leaving_ip6(&cursor, ret)))
		return 0;
	if (ret->key.proto != IPPROTO_TCP && ret->key.proto != IPPROTO_UDP)
		return 0;
	ports = pkt_take(&cursor, l4_ports);
	if (!ports)
		return 0;
	ret->key.port = ports->source;
	ret->checksum_at = ret->port_at + (ret->key.proto == IPPROTO_TCP ? PORTS_TCP_CHECK_AT
									 : PORTS_UDP_CHECK_AT);
	return 1;
}
