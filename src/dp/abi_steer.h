/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which packets the kernel's program gives to the workers of the process, and to whom: a part of
 * dp/abi.h. All zero: none. The daemon writes it, under a running program: a link is one aligned
 * store, and its `first` stays, so who reads it word by word meets no worker of another link.
 */
#pragma once

#include <linux/types.h>

enum {
	ABI_STEER_LINKS = 16,   /* interfaces: as many as node.interfaces may name */
	ABI_STEER_WORKERS = 64, /* places for their sockets; one a receive queue */
	/* Of 2^20 ns: a worker that has frames, and has taken none for so long, gets no more. */
	ABI_STEER_PATIENCE = 500,
};

/* An interface's queues 0 to queues - 1 are those of workers `first` and up. ifindex 0: none. */
struct abi_steer_link {
	__u32 ifindex;
	__u16 first;
	__u16 queues;
} __attribute__((aligned(8)));

/* What the program has given a worker, and what that has taken: a line of each one's own. */
struct abi_steer_ring {
	__u32 given;
	__u32 seen;  /* `taken` when it last moved, */
	__u32 since; /* and when that was; or when the first of these frames was given */
	__u32 unused[13];
	__u32 taken; /* the worker's; as `given` whenever it finds nothing */
	__u32 unused_too[15];
};

struct abi_steer {
	struct abi_steer_ring rings[ABI_STEER_WORKERS];
	__u32 packet_max; /* bytes of the longest IP packet that, wrapped, fits every path */
	__u32 frame_max; /* bytes of the longest frame, Ethernet header included, with room there */
	struct abi_steer_link links[ABI_STEER_LINKS];
};
_Static_assert(sizeof(struct abi_steer) == 64 * 128 + 136, "abi_steer has no holes");
