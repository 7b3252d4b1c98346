/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an entry of the flow table (flow.h) says of its flow: the pin, one word. */
#pragma once

#include "dp/abi.h"
#include "pkt/ctx.h"

enum flow_state {
	FLOW_NONE,        /* of an empty place */
	FLOW_HANDSHAKE,   /* a SYN was seen, nothing after it */
	FLOW_ESTABLISHED, /* TCP under way */
	FLOW_FIN,         /* the client has sent FIN: only a SYN leads out */
	FLOW_RST,         /* RST was seen: it may be forged, any other segment restores */
	FLOW_UDP,
	FLOW_FRAGMENT, /* no flow: a datagram in pieces */
	FLOW_BACKUP,   /* not where a flow is, but where it may go (choose/dual.h) */
};

enum {
	FLOW_TIME_BITS = 24,
	FLOW_STATE_SHIFT = 24,
	FLOW_GENERATION_SHIFT = 27,
	FLOW_BACKEND_SHIFT = 35,
	FLOW_SLOT_SHIFT = 55,
	FLOW_KEY_SLOT_BITS = 12,
};
#define FLOW_BUSY          (7ULL << FLOW_STATE_SHIFT) /* being written: matches nothing */
#define FLOW_TIME_MASK     ((1U << FLOW_TIME_BITS) - 1)
#define FLOW_KEY_SLOT_MASK ((1U << FLOW_KEY_SLOT_BITS) - 1)
_Static_assert(ABI_SLOTS <= 1 << (FLOW_KEY_SLOT_BITS + 64 - FLOW_SLOT_SHIFT), "a slot fits");
_Static_assert(ABI_SERVICES <= 1 << FLOW_KEY_SLOT_BITS, "a piece's entry has room for its service");

PKT_INLINE __u64 flow_pin(__u32 slot, __u32 backend, __u8 generation, __u32 state, __u32 tick)
{
	return (__u64)(slot >> FLOW_KEY_SLOT_BITS) << FLOW_SLOT_SHIFT |
	       (__u64)backend << FLOW_BACKEND_SHIFT | (__u64)generation << FLOW_GENERATION_SHIFT |
	       (__u64)state << FLOW_STATE_SHIFT | (tick & FLOW_TIME_MASK);
}

PKT_INLINE __u32 flow_pin_backend(__u64 pin)
{
	return (__u32)(pin >> FLOW_BACKEND_SHIFT) & ABI_INDEX_MASK;
}

PKT_INLINE __u8 flow_pin_generation(__u64 pin)
{
	return (__u8)(pin >> FLOW_GENERATION_SHIFT);
}

PKT_INLINE __u32 flow_pin_state(__u64 pin)
{
	return (__u32)(pin >> FLOW_STATE_SHIFT) & 7;
}

/*
 * Ticks since the entry was last seen, and one: a core that read its clock just before a tick
 * may meet an entry that another core touched just after it, which must not look ages old.
 */
PKT_INLINE __u32 flow_pin_age(__u64 pin, __u32 tick)
{
	return (tick + 1 - (__u32)pin) & FLOW_TIME_MASK;
}

PKT_INLINE __u32 flow_limit_ticks(const struct abi_node *node, __u32 state)
{
	if (state == FLOW_ESTABLISHED)
		return node->established_ticks;
	if (state == FLOW_HANDSHAKE)
		return node->handshake_ticks;
	if (state == FLOW_UDP)
		return node->udp_ticks;
	return state == FLOW_FRAGMENT ? node->fragment_ticks : node->closing_ticks;
}

PKT_INLINE int flow_pin_live(const struct abi_node *node, __u64 pin, __u32 tick)
{
	return flow_pin_age(pin, tick) <= flow_limit_ticks(node, flow_pin_state(pin));
}
