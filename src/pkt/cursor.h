/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only way to a header: a position that moves forward and never past the frame's end. What it
 * hands out is valid until the frame's start is moved or the stage ends.
 */
#pragma once

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include "pkt/ctx.h"

/* The headers as they stand in a frame, at any alignment. */
typedef struct ethhdr pkt_eth PKT_LOOSE;
typedef struct iphdr pkt_ip4 PKT_LOOSE;
typedef struct ipv6hdr pkt_ip6 PKT_LOOSE;
typedef struct tcphdr pkt_tcp PKT_LOOSE;
typedef struct udphdr pkt_udp PKT_LOOSE;
typedef __be32 pkt_word PKT_LOOSE;
typedef __u64 pkt_half PKT_LOOSE;

/*
 * Copies a constant number of bytes by words of four, the first one first: so `to` may overlap what
 * is after it, and what the compiler knows as single bytes does not go over the stack, of which the
 * longest way through the stages leaves little.
 */
PKT_INLINE void pkt_copy_words(void *to, const void *from, __u32 size)
{
	const pkt_word *source = from;
	pkt_word *words = to;

	for (__u32 i = 0; i < size / sizeof(*words); i++)
		words[i] = source[i];
}

enum { PKT_OFFSET_MAX = 1023 }; /* headers begin within so many bytes; keeps the verifier calm */

struct pkt_cursor {
	__u8 *at;
	__u8 *end;
};

/*
 * `offset` from the frame's start, PKT_OFFSET_MAX at most (a power of two less one: masked). Where
 * the caller has compared it with that, the compiler would leave the mask out; but the verifier of
 * 6.1 forgets such bounds when the number comes back from the stack.
 */
PKT_INLINE struct pkt_cursor pkt_cursor(const struct pkt_ctx *ctx, __u32 offset)
{
	struct pkt_cursor cursor = {pkt_data(ctx), pkt_data_end(ctx)};

	if (!__builtin_constant_p(offset))
		pkt_hide(offset);
	cursor.at += offset & PKT_OFFSET_MAX;
	return cursor;
}

/* `size` bytes, or NULL when the frame is shorter; `size` is a constant. */
PKT_INLINE void *pkt_take_bytes(struct pkt_cursor *cursor, __u32 size)
{
	__u8 *at = cursor->at;

	if (at + size > cursor->end)
		return 0;
	cursor->at = at + size;
	return at;
}

#define pkt_take(cursor, type) ((type *)pkt_take_bytes(cursor, sizeof(type)))
