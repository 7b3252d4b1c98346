/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What came by `forward: ipopt`: the balancer has put the backend's address and port in the place
 * of the VIP's, and these into an option directly after the IP header (tunnel/format.h). Here the
 * option goes and the VIP comes back. The port stays the server's, as with Geneve (ports.h).
 *
 * No outer source says that a balancer sent it: who reaches the host can send it, from any address.
 * So it is taken in only where the file says so, for the VIPs alone, and nothing is learned from
 * it: the two ports must be equal, or be so named by the file or by a balancer's Geneve.
 */
#pragma once

#include "decap/ports.h"
#include "tunnel/format.h"

enum {
	RESTORE_BASE4 = sizeof(pkt_eth) + sizeof(pkt_ip4), /* where the option begins */
	RESTORE_BASE6 = sizeof(pkt_eth) + sizeof(pkt_ip6),
};

/* Reads the option into *told if it is there; `to` is left. */
PKT_INLINE int restore_find4(const struct pkt_ctx *ctx, struct tunnel_told *told)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, RESTORE_BASE4);
	tunnel_option4 *option = pkt_take(&cursor, tunnel_option4);

	if (!option || option->type != TUNNEL_OPTION4_TYPE || option->length != sizeof(*option))
		return 0;
	told->version = 4;
	told->vip = pkt_addr4(option->vip);
	told->vip_port = option->port;
	return 1;
}

PKT_INLINE int restore_find6(const struct pkt_ctx *ctx, const struct pkt *pkt,
			     struct tunnel_told *told)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, RESTORE_BASE6);
	tunnel_option6 *option = pkt_take(&cursor, tunnel_option6);

	if (!option || pkt->length < sizeof(pkt_ip6) + sizeof(*option) ||
	    option->units != TUNNEL_OPTION6_UNITS || option->type != TUNNEL_OPTION6_TYPE ||
	    option->data_length != TUNNEL_OPTION6_DATA)
		return 0;
	told->version = 6;
	told->next = option->next;
	pkt_copy(told->vip.bytes, option->vip, sizeof(told->vip));
	told->vip_port = option->port;
	return 1;
}

/* After pkt_parse_ip: is there an option of ours, where a balancer puts it? */
PKT_INLINE int restore_find(const struct pkt_ctx *ctx, const struct pkt *pkt,
			    struct tunnel_told *told)
{
	if (pkt->version == 4)
		return pkt->l4 >= RESTORE_BASE4 + sizeof(tunnel_option4) &&
		       restore_find4(ctx, told);
	return pkt->proto == IPPROTO_DSTOPTS && restore_find6(ctx, pkt, told);
}

/* The sum of an address as the checksums have it: 4 bytes of IPv4, 16 of IPv6. */
PKT_INLINE __u32 restore_sum(const struct pkt_addr *addr, __u8 version)
{
	if (version == 4)
		return pkt_csum_word(addr->word[3]);
	return pkt_csum_word(addr->word[0]) + pkt_csum_word(addr->word[1]) +
	       pkt_csum_word(addr->word[2]) + pkt_csum_word(addr->word[3]);
}

/* TCP and UDP: the port must be one that answers know, and the pseudo-header has the VIP again. */
PKT_INLINE int restore_packet(const struct pkt_ctx *ctx, struct pkt *pkt, struct tunnel_told *told)
{
	struct agent_port key = {.vip = told->vip, .proto = pkt->proto};
	struct agent_other_port *known;
	ports_word *check;
	__u8 *header;

	check = ports_check(ctx, pkt, &header);
	if (!check)
		return AGENT_TRUNCATED;
	key.port = *(ports_word *)(header + PORTS_DEST_AT);
	known = env_port(&key);
	if ((known ? known->port : key.port) != told->vip_port)
		return AGENT_BAD_PORT;
	ports_mend(check, pkt->proto, restore_sum(&pkt->dst, pkt->version),
		   restore_sum(&told->vip, pkt->version));
	return PKT_ON;
}

/* ICMPv6 has a pseudo-header, ICMP has none. */
PKT_INLINE int restore_icmp(const struct pkt_ctx *ctx, struct pkt *pkt, struct tunnel_told *told)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	__u8 *icmp = pkt_take_bytes(&cursor, PORTS_ICMP_CHECK_AT + sizeof(__be16));
	__u32 room = pkt->length + (__u32)sizeof(pkt_eth) - pkt->l4;
	ports_word *check;

	if (!icmp || room < PORTS_ICMP_CHECK_AT + sizeof(__be16))
		return AGENT_TRUNCATED;
	if (pkt->proto == IPPROTO_ICMP)
		return PKT_ON;
	check = (ports_word *)(icmp + PORTS_ICMP_CHECK_AT);
	*check = pkt_csum_mend(*check, restore_sum(&pkt->dst, 6), restore_sum(&told->vip, 6));
	return PKT_ON;
}

/* The quote of an ICMP error names the VIP's port; its server knows the file's. */
PKT_INLINE int restore_quote(const struct pkt_ctx *ctx, struct pkt *pkt, struct tunnel_told *told)
{
	struct agent_port key = {.vip = told->vip, .way = AGENT_WAY_IN};
	struct agent_other_port *known;
	struct pkt quoting = *pkt;
	__u32 quoted_at;

	quoting.dst = told->vip;
	if (!ports_find_quote(ctx, &quoting, &quoted_at))
		return PKT_ON;
	if (quoting.dport != told->vip_port)
		return AGENT_BAD_OPTION;
	key.proto = quoting.proto;
	key.port = quoting.dport;
	known = env_port(&key);
	return known ? ports_change_quote(ctx, pkt, quoted_at, known->port) : PKT_ON;
}

/*
 * What stands behind the IP header. Only the pieces that have a transport header are changed;
 * other protocols than these know nothing of addresses.
 */
PKT_STAGE int restore_l4(struct pkt_ctx *ctx, struct pkt *pkt, struct tunnel_told *told)
{
	int done;

	if (!ctx || !pkt || !told)
		return AGENT_MALFORMED;
	if (!ports_find_l4(ctx, pkt))
		return pkt->later ? PKT_ON : AGENT_TRUNCATED;
	if (pkt->proto == IPPROTO_TCP || pkt->proto == IPPROTO_UDP)
		return restore_packet(ctx, pkt, told);
	if (pkt->proto != (pkt->version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6))
		return PKT_ON;
	done = restore_quote(ctx, pkt, told);
	return done == PKT_ON ? restore_icmp(ctx, pkt, told) : done;
}

/* The header of IPv4 without the option; what its words summed up to is taken from the checksum. */
PKT_INLINE void restore_header4(pkt_ip4 *ip, const tunnel_option4 *option)
{
	__be16 first[3], length = PKT_BE16(PKT_HOST16(ip->tot_len) - sizeof(*option));
	__u32 old = ip->tot_len + pkt_csum_word(ip->daddr), new = length;

	pkt_copy(first, option, 2);
	old += first[0] + option->port + pkt_csum_word(option->vip) + PKT_BE16(2 << 8);
	new += pkt_csum_word(option->vip);
	ip->check = pkt_csum_mend(ip->check, old, new);
	ip->ihl -= sizeof(*option) / 4;
	ip->tot_len = length;
	ip->daddr = option->vip;
}

PKT_STAGE int restore_strip4(struct pkt_ctx *ctx)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, 0);
	__u8 kept[RESTORE_BASE4], *head = pkt_take_bytes(&cursor, RESTORE_BASE4);
	tunnel_option4 *option = pkt_take(&cursor, tunnel_option4);

	if (!head || !option)
		return AGENT_MALFORMED;
	restore_header4((pkt_ip4 *)(head + sizeof(pkt_eth)), option);
	pkt_copy(kept, head, sizeof(kept));
	if (pkt_adjust_head(ctx, sizeof(*option)))
		return AGENT_NO_ROOM;
	cursor = pkt_cursor(ctx, 0);
	head = pkt_take_bytes(&cursor, RESTORE_BASE4);
	if (!head)
		return AGENT_NO_ROOM;
	pkt_copy(head, kept, sizeof(kept));
	return AGENT_RESTORED;
}

PKT_STAGE int restore_strip6(struct pkt_ctx *ctx)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, 0);
	__u8 kept[RESTORE_BASE6], *head = pkt_take_bytes(&cursor, RESTORE_BASE6);
	tunnel_option6 *option = pkt_take(&cursor, tunnel_option6);
	pkt_ip6 *ip;

	if (!head || !option)
		return AGENT_MALFORMED;
	ip = (pkt_ip6 *)(head + sizeof(pkt_eth));
	ip->payload_len = PKT_BE16(PKT_HOST16(ip->payload_len) - sizeof(*option));
	ip->nexthdr = option->next;
	pkt_copy(&ip->daddr, option->vip, sizeof(ip->daddr));
	pkt_copy(kept, head, sizeof(kept));
	if (pkt_adjust_head(ctx, sizeof(*option)))
		return AGENT_NO_ROOM;
	cursor = pkt_cursor(ctx, 0);
	head = pkt_take_bytes(&cursor, RESTORE_BASE6);
	if (!head)
		return AGENT_NO_ROOM;
	pkt_copy(head, kept, sizeof(kept));
	return AGENT_RESTORED;
}

/* A packet in which restore_find found the option. Always a verdict. */
PKT_INLINE int restore(struct pkt_ctx *ctx, struct pkt *pkt, struct tunnel_told *told)
{
	int done;

	if (env_vip(&told->vip) != told->version)
		return AGENT_NOT_VIP;
	if (!env_takes(TUNNEL_IPOPT))
		return AGENT_MODE_OFF;
	if (told->version == 6) {
		pkt->proto = told->next;
		pkt->l4 = RESTORE_BASE6 + sizeof(tunnel_option6);
	}
	done = restore_l4(ctx, pkt, told);
	if (done != PKT_ON)
		return done;
	return told->version == 4 ? restore_strip4(ctx) : restore_strip6(ctx);
}
