/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP's options (RFC 9293, section 3.1), in a frame that a cursor reaches: finds the first of a
 * kind. Options that lie about their length end the search.
 */
#pragma once

#include "pkt/parse.h"

enum {
	L4_OPTION_LEAST = 4, /* bytes of the shortest that is looked for */
	L4_OPTION_STEPS = PKT_TCP_OPTIONS_MAX - L4_OPTION_LEAST + 1,
	L4_TIME_STAMP = 12, /* RFC 7323, appendix A: two no-operations, kind 8, length 10, times */
};
#define L4_TIME_STAMP_WORD PKT_BE32(0x0101080a)

/*
 * One option, `at` from the frame's start, of a header that ends at `end`. Returns where the next
 * one begins; `at` itself: this is it, of `wanted` kind and so long; 0: there is none. A stage of
 * its own, so that the verifier goes through it once, and not once a way through the options.
 */
PKT_STAGE int l4_option_step(struct pkt_ctx *ctx, __u32 at, __u32 end, __u8 wanted, __u32 size)
{
	struct pkt_cursor cursor;
	__u8 *kind, *length;

	if (!ctx || at >= end)
		return 0;
	cursor = pkt_cursor(ctx, at);
	kind = pkt_take_bytes(&cursor, 1);
	if (!kind || *kind == PKT_TCP_OPTION_END)
		return 0;
	if (*kind == PKT_TCP_OPTION_NOP)
		return (int)at + 1;
	length = pkt_take_bytes(&cursor, 1);
	if (!length || *length < 2 || *length > end - at)
		return 0;
	if (*kind == wanted)
		return *length == size ? (int)at : 0;
	return (int)(at + *length);
}

/*
 * For a parsed TCP segment, whose header is at pkt->l4: where the option of `wanted` kind and
 * `size` bytes begins, from the frame's start; 0: it has none.
 */
PKT_INLINE __u32 l4_option_find(struct pkt_ctx *ctx, const struct pkt *pkt, __u8 wanted, __u32 size)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	pkt_tcp *tcp = pkt_take(&cursor, pkt_tcp);
	__u32 at = pkt->l4 + (__u32)sizeof(*tcp), next, end;
	pkt_word *first;

	if (!tcp || pkt->l4 > PKT_OFFSET_MAX - sizeof(*tcp) - PKT_TCP_OPTIONS_MAX)
		return 0;
	end = pkt->l4 + tcp->doff * 4U;
	first = pkt_take(&cursor, pkt_word);
	/* What most segments begin with: one step in place of three. */
	if (first && *first == L4_TIME_STAMP_WORD && end >= at + L4_TIME_STAMP)
		at += L4_TIME_STAMP;
	for (int i = 0; i < L4_OPTION_STEPS; i++) {
		next = (__u32)l4_option_step(ctx, at, end, wanted, size);
		if (next == at || !next)
			return next;
		at = next;
	}
	return 0;
}
