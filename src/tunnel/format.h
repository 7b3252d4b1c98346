/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What stands between the link header and the packet in those modes that tell the other end more
 * than where to go: headers as they are on the wire, for who writes them (encap.h,
 * send/wrap_option.h) and who takes them off. Ports are the VIP's and the one to deliver to, which
 * differ where the backend has a port of its own; a packet without ports has 0 in both. An ICMP
 * error has those of the flow that it quotes, so that the quote can be brought to the backend's
 * port too.
 */
#pragma once

#include "pkt/cursor.h"

enum {
	TUNNEL_GUE_PORT = 6080,
	TUNNEL_GENEVE_PORT = 6081,
};

/* --- Geneve (RFC 8926) --- */

enum {
	TUNNEL_GENEVE_CLASS = 0xff57, /* of those for experiments */
	TUNNEL_GENEVE_VIP = 0x01,     /* the option's type: not critical */
	TUNNEL_GENEVE_WORD = 4,       /* lengths are in words */
};

/* Version 0, no OAM, nothing critical, network 0. */
struct tunnel_geneve_header {
	__u8 words; /* of options; the version above them is 0 */
	__u8 flags;
	__be16 proto; /* an Ethernet type: the IP packet follows directly */
	__u8 vni[3];
	__u8 reserved;
};

/* The one option, and after it the VIP: 4 or 16 bytes, as the inner packet's family. */
struct tunnel_geneve_option {
	__be16 class;
	__u8 type;
	__u8 words; /* of data: 2 words of ports and address for IPv4, 5 for IPv6 */
	__be16 vip_port;
	__be16 port;
};

/* --- GUE, variant 0 (draft-ietf-intarea-gue), with private data for the second chance --- */

enum {
	TUNNEL_GUE0_KIND = 1,   /* what the private data are: the slot's other owner */
	TUNNEL_GUE0_WORDS4 = 2, /* hlen: the private data's words, by the outer family */
	TUNNEL_GUE0_WORDS6 = 5,
	TUNNEL_GUE0_WEAK = 1, /* private_flags: the owner before refused it */
};

/* And after it the other owner's address: 4 or 16 bytes, as the outer family; zeros without one. */
struct tunnel_gue0_header {
	__u8 words;   /* of what follows the first four bytes; version 0 and C 0 above them */
	__u8 proto;   /* 4 or 41 */
	__be16 flags; /* 0 */
	__u8 kind;
	__u8 hops; /* that it made from owner to owner: 0 as it leaves the balancer */
	__u8 private_flags;
	__u8 family; /* of the other owner: 4 or 6; 0: there is none */
};

/* --- ipopt: no tunnel; the VIP that the destination was stands in an option --- */

enum {
	TUNNEL_OPTION4_TYPE = 0x9a, /* copied into fragments; number 26 of class control */
	TUNNEL_OPTION6_TYPE =
		0x1b, /* who does not know it skips it; it does not change on the way */
	TUNNEL_OPTION6_DATA = 18,
	TUNNEL_OPTION6_UNITS = 2, /* of eight bytes, beyond the first */
};

/* Directly after the 20 bytes of the IPv4 header, before its other options. */
struct tunnel_option4_header {
	__u8 type;
	__u8 length;
	__be16 port; /* the VIP's */
	__be32 vip;
};

/* A destination options header, directly after the IPv6 header. */
struct tunnel_option6_header {
	__u8 next;
	__u8 units;
	__u8 type;
	__u8 data_length;
	__be16 port; /* the VIP's */
	__u8 vip[16];
	__u8 pad_type; /* PadN, without data */
	__u8 pad_length;
};

typedef struct tunnel_geneve_header tunnel_geneve PKT_LOOSE;
typedef struct tunnel_geneve_option tunnel_geneve_vip PKT_LOOSE;
typedef struct tunnel_gue0_header tunnel_gue0 PKT_LOOSE;
typedef struct tunnel_option4_header tunnel_option4 PKT_LOOSE;
typedef struct tunnel_option6_header tunnel_option6 PKT_LOOSE;

_Static_assert(sizeof(tunnel_geneve) == 8, "Geneve's header");
_Static_assert(sizeof(tunnel_geneve_vip) == 8, "Geneve's option, without the address");
_Static_assert(sizeof(tunnel_gue0) == 8, "GUE's header and private data, without the address");
_Static_assert(sizeof(tunnel_option4) == 8, "an IPv4 option");
_Static_assert(sizeof(tunnel_option6) == 24, "a destination options header");
