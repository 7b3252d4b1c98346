/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tables that the control plane writes and the packet path reads: their shapes, their limits,
 * and how a writer changes them under running packets. The same shapes are BPF maps (each a
 * mappable array, so page-aligned: a 64-byte record is one cache line) and plain arrays in the
 * native engine. One writer, the daemon; flows are written by the packet path.
 *
 * Changes that a reader must never see half of are one aligned 64-bit store: a slot, a listen, a
 * service's table, the first eight bytes of a backend's MAC addresses.
 *
 * Addresses are 16 bytes in network order, IPv4 as ::ffff:a.b.c.d. Numbers are the host's unless
 * the type is __be16 or __be32. An index of 0 in services and backends means "none".
 */
#pragma once

#include <linux/types.h>

#include "dp/abi_service.h"
#include "dp/abi_slot.h"
#include "pkt/addr.h"

enum {
	/*
	 * Of what is carried over to tables of another version or other sizes: the node,
	 * services, backends, slots and flows, each record as it is. What changes any of these
	 * gives it another number, and what a node held before is forgotten by the next.
	 */
	ABI_SHAPE = 0,
	ABI_SHAPE_SHIFT = 16,
	ABI_VERSION = ABI_SHAPE << ABI_SHAPE_SHIFT | 4, /* of all here; another is not adopted */
	ABI_VIPS = 16384,            /* places of the VIP table; a power of two */
	ABI_VIP_RANGES = 1024,       /* VIPs that are prefixes: their records follow the places */
	ABI_VIPS_USED = 4096,        /* addresses at most, so that probes stay short */
	ABI_VIP_PROBES = 32,         /* places that a look-up tries at most */
	ABI_VIP_LISTENS = 14,        /* listens of one address */
	ABI_SERVICES = 4096,         /* records, the first is "none" */
	ABI_BACKENDS = 16384,        /* records, the first is "none" */
	ABI_SLOTS = 2 * 1024 * 1024, /* of all pools together */
	ABI_PREFIXES = 256 * 1024,   /* of VIPs, balancers and access lists together */
	ABI_SERVERS = 65536,         /* places of the table of server ids; a power of two */
	ABI_SERVERS_USED = 16384,    /* ids at most, so that probes stay short */
	ABI_SERVER_PROBES = 32,      /* places that a look-up tries at most */
	ABI_BUCKET_FLOWS = 4,        /* flow entries of a bucket */
	ABI_FLOWS_MIN = 1024,
	ABI_FLOWS_MAX = 64 * 1024 * 1024,
	ABI_FLOWS_DEFAULT = 1024 * 1024,
	ABI_TICK_SHIFT = 30, /* a flow's time counts ticks of 2^30 ns, about 1.07 s */
};

/*
 * What the packet path can do; a program is loaded with what the configuration needs, and the code
 * of the rest is not there. The native engine has all.
 */
enum abi_feature {
	ABI_HAS_IPV6 = 1 << 0,     /* some VIP is IPv6 */
	ABI_HAS_TRACK = 1 << 1,    /* flows, or the pieces of datagrams, have entries */
	ABI_HAS_TRACE = 1 << 2,    /* single frames, by a given clock; abi_trace is written */
	ABI_HAS_RANGES = 1 << 3,   /* some VIP is a prefix */
	ABI_HAS_SPECIAL = 1 << 4,  /* some service is of ABI_SERVICE_SPECIAL */
	ABI_HAS_DECAP = 1 << 5,    /* tunnels of other balancers are taken off */
	ABI_HAS_FRAGMENT = 1 << 6, /* some service pins fragments */
	ABI_HAS_SECOND = 1 << 7,   /* some service has a second chance */
	ABI_HAS_DUAL = 1 << 8,     /* some service chooses between two slots */
	ABI_HAS_ALL = ~ABI_HAS_TRACE,
};

/* --- the node: one record --- */

struct abi_node {
	__u64 slot_seed;         /* the fleet's: which slot a flow has */
	__u64 flow_secret;       /* this node's: signatures, buckets */
	__u64 vip_secret;        /* this node's: places of VIPs and of server ids */
	__u64 clock_ns;          /* the time, where the engine runs by a given clock (trace) */
	struct pkt_addr source4; /* outer sources: the prefix ... */
	struct pkt_addr source6;
	__be32 source4_vary; /* ... and which of the last 32 bits vary with the flow */
	__be32 source6_vary;
	__u32 flow_buckets_mask; /* buckets - 1, a power of two less one */
	__u32 insert_limit;      /* new entries a core and second; 0: none are made */
	__u32 established_ticks; /* ages (flow_pin_age) above it are void, by an entry's state */
	__u32 handshake_ticks;
	__u32 closing_ticks;
	__u32 udp_ticks;
	__u32 version;     /* ABI_VERSION once the record is filled */
	__u32 reply_limit; /* answers of its own a core and second; 0: none are sent */
	__u32 slow_limit;  /* frames given to the daemon a core and second */
	__u32 fragment_ticks;
	__u32 features; /* enum abi_feature: what a program needs for all that tables hold */
	__u32 began_s;  /* when the tables were empty, by the clock since the machine started */
	__u64 old_slot_seed; /* of the tables that services had before (abi_service.old_table) */
};
_Static_assert(sizeof(struct abi_node) == 128, "abi_node is two cache lines");

/* --- VIPs: an open-addressed table, found by address --- */

/*
 * A listen: bits 0-15 first port, 16-31 last port, 32-39 protocol (IPPROTO_*, or
 * ABI_PROTO_ANY: every protocol and port), 40-63 service. Ports in host order. 0: unused.
 */
enum { ABI_PROTO_ANY = 0xff };
static inline __u64 abi_listen(__u16 first, __u16 last, __u8 proto, __u32 service)
{
	return (__u64)first | (__u64)last << 16 | (__u64)proto << 32 | (__u64)service << 40;
}

/*
 * An unused place has address ::, and ends a search. A VIP taken away keeps its place and address
 * with no listens while a search may have to pass it, until another address needs it. Writers fill
 * the address before the listens: one without any is no VIP. Listens stand at the front, and the
 * first that fits decides, so the narrower stands before the wider. With 32 probes all addresses
 * that are allowed find a place, whatever the secret (of a million tables none had one without;
 * with 8 probes every fifth had). VIPs that are prefixes follow the places, found by the prefix.
 */
struct abi_vip {
	struct pkt_addr addr;
	__u64 listens[ABI_VIP_LISTENS];
};
_Static_assert(sizeof(struct abi_vip) == 128, "abi_vip is two cache lines");

/* --- backends --- */

_Static_assert(ABI_BACKENDS <= 1 << ABI_INDEX_BITS, "a backend's index fits a slot's field");

enum abi_backend_flags {
	ABI_BACKEND_UP = 1 << 0,      /* new flows may come: healthy and active */
	ABI_BACKEND_KEEP = 1 << 1,    /* flows that are there may go on */
	ABI_BACKEND_NEIGH = 1 << 2,   /* ifindex and MAC addresses are known */
	ABI_BACKEND_LINK = 1 << 3,    /* and the MAC address is the backend's own, no router's */
	ABI_BACKEND_TAGGED = 1 << 4,  /* its packets leave with `tags` */
	ABI_BACKEND_HEALTHY = 1 << 5, /* its checks succeed, whether or not new flows may come */
};

struct abi_backend {
	struct pkt_addr addr; /* where the tunnel ends */
	__u8 dst_mac[6];      /* next hop; one 64-bit store with the two bytes that follow */
	__u8 src_mac[6];
	__u32 ifindex;  /* where its packets leave */
	__u64 identity; /* of pool, and address and port: how a restart knows it again */
	__u32 flags;
	__u16 mtu;       /* largest outer IP packet; room for the tags is taken off */
	__u16 outer_sum; /* sum of the outer IPv4 header's constant words (tunnel/encap.h) */
	__be16 port;     /* its own, in modes that may change it; 0: the VIP's */
	__u8 generation; /* counts the index's reuse: an old pin matches nothing */
	__u8 weight;     /* beside the pool's heaviest, which has 255; 0 in no pool */
	__u8 pad[4];
	__be32 tags[2]; /* VLAN tags as in a frame (type, control), outer first; 0: none */
};
_Static_assert(sizeof(struct abi_backend) == 64, "abi_backend is a cache line");

/* --- server ids: which backend a connection id or a TCP option names --- */

/*
 * Open-addressed; an unused place has key 0 and ends a search, one taken away has backend 0. Ids
 * are not even: a pool's may be 1, 2, 3; with 32 probes all that are allowed find a place.
 */
struct abi_server {
	__u64 key; /* abi_server_key */
	__u32 backend;
	__u32 pad;
};

/* Ids are a pool's own, which is known by its first slot. */
static inline __u64 abi_server_key(__u32 first_slot, __u32 id)
{
	return 1ULL << 63 | (__u64)first_slot << 32 | id;
}

static inline __u32 abi_server_first_slot(__u64 key)
{
	return (__u32)(key >> 32) & 0x7fffffff;
}

/* --- flows --- */

/* key and pin: see flow/flow.h. 16 bytes a flow, 64 a bucket. */
struct abi_flow {
	__u64 key;
	__u64 pin;
};

struct abi_bucket {
	struct abi_flow flows[ABI_BUCKET_FLOWS];
};
_Static_assert(sizeof(struct abi_bucket) == 64, "abi_bucket is a cache line");

/* --- what comes back --- */

/* What is counted under a verdict, by each core for itself. */
struct abi_count {
	__u64 packets;
	__u64 bytes; /* of the frame as it came */
};

/* Events beside verdicts; a counter of each core. */
enum abi_event {
	ABI_EVENT_FLOW_NEW,     /* entries made */
	ABI_EVENT_FLOW_SKIPPED, /* not made: table full of live flows, or the insert limit */
	ABI_EVENT_FLOW_EVICTED, /* a live entry gave way to a new one */
	ABI_EVENT_FLOW_RELIES,  /* one without an entry goes on by its slot's previous owner */
	ABI_EVENT_CID,          /* a connection id or a TCP option named the backend */
	ABI_EVENT_SLOW_LOST,    /* a frame for the daemon that it did not get: busy, or not there */
	ABI_EVENTS,
};

/*
 * What goes before a frame that is given to the daemon: a record of the ring that it reads. The
 * frame follows as it came, without its VLAN tags.
 */
struct abi_slow {
	__u32 length; /* of the frame */
	__u32 service;
	__u32 backend;
	__u32 mtu; /* largest IP packet that fits with the mode's overhead */
	__u64 hash;
	__be32 tags[2]; /* VLAN tags that it came with, outer first, as in a frame; 0: none */
	__u32 ifindex;  /* where it came in */
	__be16 sport;
	__be16 dport;
	__u8 mode;
	__u8 hops; /* the TTL that its tunnels begin with; 0: the usual */
	__u8 pad[6];
};
_Static_assert(sizeof(struct abi_slow) == 48, "abi_slow has no holes");

/* What became of the last packet, written only where the engine traces. */
struct abi_trace {
	__u32 verdict; /* enum verdict */
	__u32 why;     /* enum why */
	__u32 service;
	__u32 backend;
	__u32 slot; /* in its pool's table */
	__u32 pad;
};
