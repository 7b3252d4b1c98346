/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The TCP option by which a server lets its clients name it in every segment, as Katran has it:
 * kind 183 (not assigned by IANA), length 6, the server's id in the byte order of the machines
 * that write it (all are little-endian).
 */
#pragma once

#include "l4/option.h"
#include "pkt/parse.h"

enum { L4_SERVER_ID_KIND = 0xb7, L4_SERVER_ID_LENGTH = 6 };
typedef __u32 l4_server_number PKT_LOOSE;

/* For TCP, whose header is at pkt->l4. The server's id; 0: none. */
PKT_INLINE __u32 l4_server_id(struct pkt_ctx *ctx, const struct pkt *pkt)
{
	__u32 at = l4_option_find(ctx, pkt, L4_SERVER_ID_KIND, L4_SERVER_ID_LENGTH);
	struct pkt_cursor cursor = pkt_cursor(ctx, at + 2);
	l4_server_number *id = pkt_take(&cursor, l4_server_number);

	return at && id ? *id : 0;
}
