/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The TCP option by which a server lets its clients name it in every segment, as Katran has it:
 * kind 183 (not assigned by IANA), length 6, the server's id in the byte order of the machines
 * that write it (all are little-endian). Options that lie about their length end the search.
 */
#pragma once

#include "pkt/parse.h"

enum {
	L4_OPTION_END,
	L4_OPTION_NOP,
	L4_OPTION_SERVER_ID = 0xb7,
	L4_SERVER_ID_LENGTH = 6,
	L4_TCP_HEADER_MAX = 60,
	L4_TIME_STAMP = 12, /* RFC 7323, appendix A: two no-operations, kind 8, length 10, times */
	L4_SERVER_ID_STEPS = L4_TCP_HEADER_MAX - 20 - L4_SERVER_ID_LENGTH + 1,
};
#define L4_TIME_STAMP_WORD PKT_BE32(0x0101080a)
typedef __u32 l4_server_number PKT_LOOSE;

/*
 * One option, `at` from the frame's start, of a header that ends at `end`. Returns where the next
 * one begins; `at` itself: this is a server's id; 0: there is none. A stage of its own, so that
 * the verifier goes through it once.
 */
PKT_STAGE int l4_server_id_step(struct pkt_ctx *ctx, __u32 at, __u32 end)
{
	struct pkt_cursor cursor;
	__u8 *kind, *length;

	if (!ctx || at >= end)
		return 0;
	cursor = pkt_cursor(ctx, at);
	kind = pkt_take_bytes(&cursor, 1);
	if (!kind || *kind == L4_OPTION_END)
		return 0;
	if (*kind == L4_OPTION_NOP)
		return (int)at + 1;
	length = pkt_take_bytes(&cursor, 1);
	if (!length || *length < 2 || *length > end - at)
		return 0;
	if (*kind == L4_OPTION_SERVER_ID)
		return *length == L4_SERVER_ID_LENGTH ? (int)at : 0;
	return (int)(at + *length);
}

PKT_INLINE __u32 l4_server_id_at(const struct pkt_ctx *ctx, __u32 at)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, at + 2);
	l4_server_number *id = pkt_take(&cursor, l4_server_number);

	return id ? *id : 0;
}

/* For TCP, whose header is at pkt->l4. The server's id; 0: none. */
PKT_INLINE __u32 l4_server_id(struct pkt_ctx *ctx, const struct pkt *pkt)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	pkt_tcp *tcp = pkt_take(&cursor, pkt_tcp);
	__u32 at = pkt->l4 + (__u32)sizeof(*tcp), next, end;
	pkt_word *first;

	if (!tcp || pkt->l4 > PKT_OFFSET_MAX - L4_TCP_HEADER_MAX)
		return 0;
	end = pkt->l4 + tcp->doff * 4U;
	first = pkt_take(&cursor, pkt_word);
	/* What most segments begin with: one step in place of three. */
	if (first && *first == L4_TIME_STAMP_WORD && end >= at + L4_TIME_STAMP)
		at += L4_TIME_STAMP;
	for (int i = 0; i < L4_SERVER_ID_STEPS; i++) {
		next = (__u32)l4_server_id_step(ctx, at, end);
		if (next == at)
			return l4_server_id_at(ctx, at);
		if (!next)
			return 0;
		at = next;
	}
	return 0;
}
