/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The destination connection id of a QUIC packet, and the server that it names. Of what a version
 * of QUIC may change (RFC 8999) only the types of long headers are looked at, and only of versions
 * that are known (RFC 9000, RFC 9369, and the drafts before them): Initial and 0-RTT packets have
 * an id that the client made up. Nothing is decrypted: ids name their server in clear.
 */
#pragma once

#include "pkt/parse.h"

enum {
	L4_QUIC_LONG = 0x80,  /* header form, in the first byte */
	L4_QUIC_SERVERS = 2,  /* of version 1's types: Handshake and up have the server's id */
	L4_QUIC_CID_HEAD = 8, /* bytes of the id that are read; a packet goes on for longer */
	L4_QUIC_NONCE = 4,    /* what QUIC-LB asks for behind the server's id, at least */
	L4_QUIC_UNTOLD = 255, /* how long the id of a short header may be, which does not say */
};
#define L4_QUIC_VERSION_1 0x00000001U
#define L4_QUIC_VERSION_2 0x6b3343cfU
#define L4_QUIC_DRAFTS    0xff0000U /* of drafts: the version's first three bytes */

struct l4_quic_long {
	__u8 first;
	__u8 version[4];
	__u8 cid_length;
};
typedef __u64 l4_quic_head PKT_LOOSE;

struct l4_quic_cid {
	__u64 head;   /* its first bytes, the first one in the highest bits */
	__u32 length; /* as a long header says it */
};

/* Has this long header's packet an id that the server gave? */
PKT_INLINE int l4_quic_is_servers(const struct l4_quic_long *header)
{
	__u32 version = (__u32)header->version[0] << 24 | (__u32)header->version[1] << 16 |
			(__u32)header->version[2] << 8 | header->version[3];
	__u32 type = header->first >> 4 & 3;

	/* RFC 9369, section 3.2: version 2 counts its types from another one. */
	if (version == L4_QUIC_VERSION_2)
		return ((type - 1) & 3) >= L4_QUIC_SERVERS;
	return (version == L4_QUIC_VERSION_1 || version >> 8 == L4_QUIC_DRAFTS) &&
	       type >= L4_QUIC_SERVERS;
}

/* For UDP, whose header is at pkt->l4. Returns whether there is an id that the server gave. */
PKT_INLINE int l4_quic_find_cid(const struct pkt_ctx *ctx, const struct pkt *pkt,
				struct l4_quic_cid *ret)
{
	struct pkt_cursor cursor = pkt_cursor(ctx, pkt->l4);
	pkt_udp *udp = pkt_take(&cursor, pkt_udp);
	__u8 *first = cursor.at;
	struct l4_quic_long *header;
	l4_quic_head *head;
	__u32 before = 1;

	if (!udp || !pkt_take_bytes(&cursor, 1))
		return 0;
	ret->length = L4_QUIC_UNTOLD;
	if (*first & L4_QUIC_LONG) {
		cursor.at = first;
		header = pkt_take(&cursor, struct l4_quic_long);
		if (!header || !l4_quic_is_servers(header))
			return 0;
		before = sizeof(*header);
		ret->length = header->cid_length;
	}
	head = pkt_take(&cursor, l4_quic_head);
	/* What stands behind the datagram's end is no part of it. */
	if (!head || PKT_HOST16(udp->len) < sizeof(*udp) + before + sizeof(*head))
		return 0;
	ret->head = __builtin_bswap64(*head);
	return 1;
}

/*
 * draft-ietf-quic-load-balancers: three bits of configuration id, then, behind the first byte, the
 * server's id of `length` bytes, 1 to 4. Both return the server's id, 0 for none.
 */
PKT_INLINE __u32 l4_quic_server(const struct l4_quic_cid *cid, __u32 config, __u32 length)
{
	if (cid->head >> 61 != config || length - 1 > 3 || cid->length < 1 + length + L4_QUIC_NONCE)
		return 0;
	return (__u32)(cid->head << 8 >> (64 - 8 * length));
}

/*
 * Katran's layouts, told apart by the first two bits: 1 has 16 bits of server id after them, 2 and
 * 3 have 24 and 32 bits behind the first byte. An id has 8 bytes at least.
 */
PKT_INLINE __u32 l4_quic_server_katran(const struct l4_quic_cid *cid)
{
	if (cid->length < L4_QUIC_CID_HEAD)
		return 0;
	switch (cid->head >> 62) {
	case 1: return (__u32)(cid->head << 2 >> 48);
	case 2: return (__u32)(cid->head << 8 >> 40);
	case 3: return (__u32)(cid->head << 8 >> 32);
	default: return 0;
	}
}
