/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of reference.bpf.c, as the program and what fills them both see them. */
#pragma once

#include <linux/types.h>

enum {
	REFERENCE_VIPS = 4096,
	REFERENCE_BACKENDS = 100,
	REFERENCE_SLOTS = 65537, /* of each VIP */
	REFERENCE_SERVERS = 65536,
	REFERENCE_LINES = 512 * 1024,
};

enum reference_vip_flags {
	REFERENCE_QUIC = 1, /* a connection id names the server */
	REFERENCE_GUE = 2,  /* in UDP; else IP in IP */
};

/* IPv4 in the first word alone. */
struct reference_addr {
	__be32 word[4];
};

struct reference_vip_key {
	struct reference_addr addr;
	__be16 port; /* 0: every port */
	__u8 proto;
	__u8 pad;
};

struct reference_vip {
	__u32 number;
	__u32 flags;
};

/* 40 bytes, as is usual. */
struct reference_tuple {
	struct reference_addr src;
	struct reference_addr dst;
	__be16 sport;
	__be16 dport;
	__u8 proto;
	__u8 pad[3];
};

struct reference_flow {
	__u64 seen_ns; /* UDP */
	__u32 backend;
	__u32 pad;
};

struct reference_backend {
	struct reference_addr addr;
	__u32 is6;
};

struct reference_node {
	__u8 dst_mac[6];
	__u8 src_mac[6];
	__be32 source4;
	struct reference_addr source6;
};

struct reference_count {
	__u64 packets;
	__u64 bytes;
};
