/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One AF_XDP socket at one receive queue, with memory of its own for frames (a UMEM) and the four
 * rings that it shares with the kernel. Each of its chunks is at any time in one of the rings or
 * with the worker, and every ring has room for all of them: none ever overflows. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <xdp/xsk.h>

#include "base/err.h"

enum {
	XSK_CHUNK = 2048,  /* bytes: a frame, and the 256 that the kernel leaves free before it */
	XSK_CHUNKS = 4096, /* 8 MiB */
	XSK_FRAME_MAX = XSK_CHUNK - 256,
};

struct xsk_port {
	struct xsk_umem *umem;
	struct xsk_socket *socket;
	uint8_t *memory;
	struct xsk_ring_prod fill, tx;
	struct xsk_ring_cons rx, completed;
	uint32_t unfinished; /* chunks that were given to be sent, and are not back */
	bool zero_copy;
};

/* What the kernel has dropped before it came into the ring. */
struct xsk_port_drops {
	uint64_t ring_full; /* no chunk was free: the worker is behind */
	uint64_t other;
};

/* Does this kernel have such sockets, and may this process open them? 0, or -errno in words. */
int xsk_port_check(struct err *err);
/* How many receive queues the interface has that can send, too, for a socket sends at the queue of
 * its number; 1 where it does not say. */
uint32_t xsk_port_queues(const char *interface);
/*
 * Opens and binds one, zero-copy where that is to be had. -EBUSY: another socket has the queue,
 * maybe one of a process that has just ended. The struct is the caller's, and does not move.
 */
int xsk_port_open(const char *interface, uint32_t queue, struct xsk_port *ret, struct err *err);
void xsk_port_close(struct xsk_port *port);
int xsk_port_fd(const struct xsk_port *port);
/* No more once its interface was deleted, or has left the network namespace, though only for a
 * moment: then it takes nothing, for ever. Any thread. */
bool xsk_port_is_bound(const struct xsk_port *port);

/* Chunks that were sent are free again. */
void xsk_port_reclaim(struct xsk_port *port);
/* Gives a chunk back, by any address in it; seen by the kernel with the next submission. */
void xsk_port_free(struct xsk_port *port, uint64_t addr);
/*
 * Has the kernel send what is in the ring. 0; -EAGAIN: not all of it now; or another -errno, and
 * it stays in the ring.
 */
int xsk_port_kick(struct xsk_port *port);
struct xsk_port_drops xsk_port_drops(const struct xsk_port *port);
