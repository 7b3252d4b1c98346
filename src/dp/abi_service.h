/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A service's record and the prefixes that services, VIPs and balancers have: a part of dp/abi.h,
 * which says how tables are written under running packets.
 */
#pragma once

#include <linux/types.h>

#include "pkt/addr.h"

/* --- prefixes: of VIPs, of balancers that are believed, of services' access lists --- */

/*
 * The key of a longest-prefix match. The 32 bits of `table` are a part of the prefix, and count in
 * its length. IPv4 is below ::ffff:0:0/96 of a table of its own, so that ::/0 says nothing of it.
 */
struct abi_prefix {
	__u32 length; /* 32 to 160 */
	__u32 table;  /* abi_prefix_table */
	struct pkt_addr addr;
};
_Static_assert(sizeof(struct abi_prefix) == 24, "an LPM key has no holes");

enum {
	ABI_LIST_VIPS,      /* value: the record's place among the VIPs */
	ABI_LIST_BALANCERS, /* value: 1 */
	ABI_LIST_ACCESS,    /* and up: a service's access list; value: enum abi_access */
};
enum abi_access { ABI_ACCESS_ALLOW = 1, ABI_ACCESS_DENY };

static inline __u32 abi_prefix_table(__u32 list, int is4)
{
	return list << 1 | (is4 ? 0 : 1);
}

/* --- services --- */

enum abi_service_flags {
	ABI_SERVICE_TRACK = 1 << 0,      /* every flow has an entry (`tracking: always`) */
	ABI_SERVICE_TRANSITION = 1 << 1, /* those in slots in transition (`tracking: transition`) */
	ABI_SERVICE_FLIP = 1 << 2,       /* old_table says where flows without an entry are */
	ABI_SERVICE_SECOND = 1 << 3,     /* packets in doubt name a second backend */
	ABI_SERVICE_TOO_BIG = 1 << 4,    /* `oversize_df: icmp`: who sends too big is told */
	ABI_SERVICE_NODF_ICMP = 1 << 5,  /* `oversize_nodf: icmp` */
	ABI_SERVICE_NODF_FRAGMENT = 1 << 6, /* `oversize_nodf: fragment` */
	ABI_SERVICE_FRAGMENTS = 1 << 7,     /* `fragments: pin`; else they are dropped */
	ABI_SERVICE_REJECT = 1 << 8,        /* `on_empty: reject` */
	ABI_SERVICE_PASS = 1 << 9,          /* `on_empty: pass` */
	ABI_SERVICE_ACCESS = 1 << 10,       /* has an access list */
	ABI_SERVICE_RATE = 1 << 11,         /* has a packet rate limit */
	ABI_SERVICE_POLICY = 1 << 12,       /* another policy than 5-tuple */
	ABI_SERVICE_SERVER_ID = 1 << 13,    /* TCP's server-id option is looked for */
	ABI_SERVICE_MSS = 1 << 14,          /* the MSS of a SYN is clamped */
	ABI_SERVICE_DUAL = 1 << 15,         /* `lookup: dual`; has ABI_SERVICE_TRACK too */
};
/* What may give a packet another slot or backend than its 5-tuple. */
#define ABI_SERVICE_BY_POLICY (ABI_SERVICE_POLICY | ABI_SERVICE_SERVER_ID)
/* What most services have not: one question asks for all of it. */
#define ABI_SERVICE_SPECIAL                                                                   \
	(ABI_SERVICE_ACCESS | ABI_SERVICE_RATE | ABI_SERVICE_POLICY | ABI_SERVICE_SERVER_ID | \
	 ABI_SERVICE_MSS)

/* What of a packet decides its slot. In the order of conf.h's enum conf_policy. */
enum abi_policy {
	ABI_POLICY_SOURCE,
	ABI_POLICY_2TUPLE, /* source and destination */
	ABI_POLICY_3TUPLE, /* and protocol */
	ABI_POLICY_4TUPLE, /* source, destination and its port, protocol */
	ABI_POLICY_5TUPLE,
	ABI_POLICY_SOURCE_PREFIX,
	ABI_POLICY_FLOW_LABEL, /* source, destination, IPv6's flow label; if it is 0 the 5-tuple */
	ABI_POLICY_QUIC_CID,   /* the server that the connection id names; else the 5-tuple */
};

/* How a QUIC connection id names its server (l4/quic.h). */
enum abi_cid { ABI_CID_QUIC_LB, ABI_CID_KATRAN };

struct abi_service {
	__u64 table; /* bits 0-31 the first slot, 32-63 how many; 0 slots: empty */
	__u32 flags;
	__u8 mode;           /* enum tunnel_mode (tunnel/mode.h) */
	__u8 policy;         /* enum abi_policy */
	__u8 source_prefix4; /* bits of the source that count, for policy source-prefix: 0-32 */
	__u8 source_prefix6; /* 0-128 */
	__u32 access;        /* number of its access list (ABI_LIST_ACCESS and up) */
	__u16 mss;           /* the largest in a SYN */
	__u8 cid;            /* enum abi_cid */
	__u8 cid_length;     /* bytes of the server id, for ABI_CID_QUIC_LB: 1-4 */
	__u64 rate_gap;      /* from one packet to the next at the limit, in 2^-8 ns */
	__u64 identity;      /* of the service's name: how a restarted daemon knows it again */
	__u64 pool_identity; /* of the pool whose slots these are */
	__u8 cid_config;     /* the config id that connection ids begin with, for ABI_CID_QUIC_LB */
	__u8 old_policy; /* what gave a flow its slot in old_table, with the node's old_slot_seed */
	__u8 old_source_prefix4;
	__u8 old_source_prefix6;
	__u8 pad[4];
	__u64 old_table; /* as `table`: the one before it, while flows from then may be under way */
};
_Static_assert(sizeof(struct abi_service) == 64, "abi_service is a cache line");

static inline __u64 abi_table(__u32 first, __u32 size)
{
	return (__u64)first | (__u64)size << 32;
}
