/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * VLAN tags (IEEE 802.1Q, and 802.1ad around it) off a frame and on again. A tagged frame is
 * handled as the frame that it is without its tags, so nothing else knows of them.
 */
#pragma once

#include "pkt/cursor.h"

enum { PKT_VLAN_TAG = 4, PKT_VLAN_MACS = 2 * ETH_ALEN };

/* As they stood after the MAC addresses, the outer one first. */
struct pkt_vlan {
	__be32 outer;
	__be32 inner;
	__u32 count;
};

/* The rest of a tag, whose own type stands before it, and the type that comes after it. */
struct pkt_tag_rest {
	__be16 control;
	__be16 next;
};
typedef struct pkt_tag_rest pkt_tag PKT_LOOSE;

PKT_INLINE int pkt_vlan_is_ip(__be16 type)
{
	return type == PKT_BE16(ETH_P_IP) || type == PKT_BE16(ETH_P_IPV6);
}

/* The tags before an IP packet: 1 (802.1Q), or 2 (802.1Q within 802.1ad or 802.1Q); else 0. */
PKT_INLINE __u32 pkt_vlan_count(const struct pkt_ctx *ctx)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, 0);
	pkt_eth *eth = pkt_take(&cursor, pkt_eth);
	pkt_tag *outer = pkt_take(&cursor, pkt_tag), *inner;

	if (!eth || !outer)
		return 0;
	if (eth->h_proto == PKT_BE16(ETH_P_8021Q) && pkt_vlan_is_ip(outer->next))
		return 1;
	if (eth->h_proto != PKT_BE16(ETH_P_8021Q) && eth->h_proto != PKT_BE16(ETH_P_8021AD))
		return 0;
	inner = pkt_take(&cursor, pkt_tag);
	return inner && outer->next == PKT_BE16(ETH_P_8021Q) && pkt_vlan_is_ip(inner->next) ? 2 : 0;
}

/* Takes the outermost tag off. 0, or a negative number. */
PKT_STAGE int pkt_vlan_pull(struct pkt_ctx *ctx, __be32 *ret_tag)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, 0);
	__u8 *macs = pkt_take_bytes(&cursor, PKT_VLAN_MACS);
	__u8 *tag = pkt_take_bytes(&cursor, PKT_VLAN_TAG);
	__u8 kept[PKT_VLAN_MACS];

	if (!macs || !tag || !ret_tag)
		return -1;
	pkt_copy(kept, macs, PKT_VLAN_MACS);
	pkt_copy(ret_tag, tag, PKT_VLAN_TAG);
	if (pkt_adjust_head(ctx, PKT_VLAN_TAG))
		return -1;
	cursor = pkt_cursor(ctx, 0);
	macs = pkt_take_bytes(&cursor, PKT_VLAN_MACS);
	if (!macs)
		return -1;
	pkt_copy(macs, kept, PKT_VLAN_MACS);
	return 0;
}

/* Puts a tag after the MAC addresses. 0, or a negative number. */
PKT_STAGE int pkt_vlan_push(struct pkt_ctx *ctx, __be32 tag)
{
	__u8 kept[PKT_VLAN_MACS], *macs, *place;
	struct pkt_cursor cursor;

	if (pkt_adjust_head(ctx, -PKT_VLAN_TAG))
		return -1;
	cursor = pkt_cursor(ctx, PKT_VLAN_TAG);
	macs = pkt_take_bytes(&cursor, PKT_VLAN_MACS);
	if (!macs)
		return -1;
	pkt_copy(kept, macs, PKT_VLAN_MACS);
	cursor = pkt_cursor(ctx, 0);
	macs = pkt_take_bytes(&cursor, PKT_VLAN_MACS);
	place = pkt_take_bytes(&cursor, PKT_VLAN_TAG);
	if (!macs || !place)
		return -1;
	pkt_copy(macs, kept, PKT_VLAN_MACS);
	pkt_copy(place, &tag, PKT_VLAN_TAG);
	return 0;
}

/* Takes all tags off, ret->count of them. 0, or a negative number. */
PKT_INLINE int pkt_vlan_off(struct pkt_ctx *ctx, struct pkt_vlan *ret)
{
	ret->count = pkt_vlan_count(ctx);
	if (ret->count && pkt_vlan_pull(ctx, &ret->outer))
		return -1;
	return ret->count == 2 ? pkt_vlan_pull(ctx, &ret->inner) : 0;
}

PKT_INLINE int pkt_vlan_on(struct pkt_ctx *ctx, const struct pkt_vlan *vlan)
{
	if (vlan->count == 2 && pkt_vlan_push(ctx, vlan->inner))
		return -1;
	return vlan->count ? pkt_vlan_push(ctx, vlan->outer) : 0;
}
