/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Questions that an agent's host must leave unanswered: who on this link has a VIP? Only the
 * balancers speak for VIPs. Linux keeps silent by itself about addresses of the loopback (with
 * arp_ignore for ARP, always for IPv6); this is for the host that has the VIP on the interface
 * too. The includer supplies env_vip as decap.h describes it.
 */
#pragma once

#include <linux/icmpv6.h>

#include "pkt/parse.h"

enum {
	SILENCE_ARP_REQUEST = 1,    /* RFC 826 */
	SILENCE_SOLICITATION = 135, /* RFC 4861, section 4.3 */
};

/* ARP for IPv4 on Ethernet. */
struct silence_arp {
	__be16 hardware, protocol;
	__u8 hardware_length, protocol_length;
	__be16 operation;
	__u8 sender_mac[ETH_ALEN], sender_ip[4], target_mac[ETH_ALEN], target_ip[4];
};
_Static_assert(sizeof(struct silence_arp) == 28, "ARP for IPv4 has 28 bytes");

struct silence_solicitation {
	struct icmp6hdr icmp;
	struct in6_addr target;
};

/* A request for a VIP's MAC address gets no answer, though the host may have the VIP elsewhere. */
PKT_INLINE int silence_arp(const struct pkt_ctx *ctx)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, 0);
	pkt_eth *eth = pkt_take(&cursor, pkt_eth);
	struct pkt_addr target;
	struct silence_arp *arp;
	__be32 target_ip;

	if (!eth || eth->h_proto != PKT_BE16(ETH_P_ARP))
		return 0;
	arp = pkt_take(&cursor, struct silence_arp);
	if (!arp || arp->operation != PKT_BE16(SILENCE_ARP_REQUEST) ||
	    arp->protocol != PKT_BE16(ETH_P_IP) || arp->hardware_length != ETH_ALEN ||
	    arp->protocol_length != sizeof(target_ip))
		return 0;
	pkt_copy(&target_ip, arp->target_ip, sizeof(target_ip));
	target = pkt_addr4(target_ip);
	return env_vip(&target) == 4;
}

PKT_INLINE int silence_solicitation(const struct pkt_ctx *ctx, const struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	struct silence_solicitation *asked = pkt_take(&cursor, struct silence_solicitation);
	struct pkt_addr target;

	if (!asked || asked->icmp.icmp6_type != SILENCE_SOLICITATION)
		return 0;
	pkt_copy(target.word, &asked->target, sizeof(target));
	return env_vip(&target) == 6;
}
