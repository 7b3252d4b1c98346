/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the capturing program is asked for, and what it tells: a part of dp/abi.h. It takes the
 * balancer's place while somebody captures (engine/capture/); the balancer's own knows nothing of
 * it.
 */
#pragma once

#include <linux/types.h>

#include "pkt/addr.h"

enum {
	ABI_CAPTURE_BYTES = 9216, /* of a frame at most */
	ABI_CAPTURE_LEAST = 14,   /* no frame is shorter than its Ethernet header */
	ABI_CAPTURE_BURST = 64,   /* packets of a core at once, beyond its rate */
};

/* What a packet must be; 0 or all zero: any. Written before the program is attached. */
struct abi_capture_filter {
	struct pkt_addr src;
	struct pkt_addr dst;
	__be16 sport;
	__be16 dport;
	__u8 proto;
	__u8 pad[3];
	__u32 service;
	__u32 snaplen;  /* bytes of a frame, ABI_CAPTURE_LEAST to _BYTES */
	__u64 verdicts; /* a bit each */
	__u64 gap_ns;   /* of each core, from one packet to the next at the rate */
	__u64 end_ns;   /* nothing is captured after it; by CLOCK_MONOTONIC */
	__u32 limit;    /* packets of each core, in all */
	__u32 pad2;
};
_Static_assert(sizeof(struct abi_capture_filter) == 80, "abi_capture_filter has no holes");

enum abi_capture_way { ABI_CAPTURE_IN, ABI_CAPTURE_OUT };

/* A record of the ring: this, and `captured` bytes of the frame. */
struct abi_capture {
	__u64 time_ns; /* CLOCK_MONOTONIC, when the frame came in */
	__u32 length;  /* of the frame */
	__u32 captured;
	__u32 ifindex; /* where it came in, or leaves */
	__u32 service; /* 0: none */
	__u32 backend; /* 0: none */
	__u32 slot;    /* in its pool's table */
	__u8 way;      /* enum abi_capture_way */
	__u8 verdict;  /* enum verdict */
	__u8 why;      /* enum why */
	__u8 pad[5];
};
_Static_assert(sizeof(struct abi_capture) == 40, "abi_capture has no holes");

/* Of one core, by what happened to what was asked for. */
struct abi_capture_counts {
	__u64 captured; /* packets */
	__u64 limited;  /* packets: the rate, or the limit, was reached */
	__u64 lost;     /* records: the ring was full, or nobody reads it */
	__u64 next_ns;  /* the time up to which the rate is used up */
};
