/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread for one receive queue, each frame from its ring to its end: the packet path runs on it
 * where it lies, and it leaves by the same socket, or by a packet socket at another interface. It
 * sleeps while nothing comes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "dp/verdict.h"

struct abi_steer_ring;
struct pkt_ctx;
struct xsk_worker;

/*
 * What becomes of a frame (enum verdict), which is changed in place; redirected: *ret_ifindex says
 * where it leaves. On the worker's thread.
 */
typedef int xsk_path(void *arg, struct pkt_ctx *ctx, uint64_t now_ns, uint32_t *ret_ifindex);

struct xsk_worker_options {
	const char *interface;
	uint32_t ifindex;
	uint32_t queue;
	struct abi_steer_ring *ring; /* the program's, of this worker */
	xsk_path *path;
	void *arg;
};

/* Frames. */
struct xsk_figures {
	uint64_t received;
	uint64_t sent;       /* given to the interface where they came in */
	uint64_t redirected; /* given to another interface */
	uint64_t refused;    /* that no interface took */
	uint64_t late;       /* that the host should get, or have cut, by a table just changed */
	uint64_t ring_full;  /* that came while the worker was behind */
	uint64_t other;      /* that the kernel could not give to the socket, or not send from it */
};

/* Opens the socket. Nothing runs before xsk_worker_start. */
int xsk_worker_open(const struct xsk_worker_options *options, struct xsk_worker **ret,
		    struct err *err);
int xsk_worker_start(struct xsk_worker *worker, struct err *err);
/* Ends the thread, after what is in its ring: nothing more must come. NULL is fine. */
void xsk_worker_close(struct xsk_worker *worker);

/* The socket's descriptor, for the kernel's table of sockets. */
int xsk_worker_fd(const struct xsk_worker *worker);
/* See xsk_port_is_bound: else another has to take its place. */
bool xsk_worker_is_bound(const struct xsk_worker *worker);
bool xsk_worker_is_zero_copy(const struct xsk_worker *worker);
/* From any thread. */
struct xsk_figures xsk_worker_figures(const struct xsk_worker *worker);
/*
 * Returns once the worker is through with what it was at. To be called after a barrier that all
 * cores have passed (membarrier).
 */
void xsk_worker_wait(const struct xsk_worker *worker);
