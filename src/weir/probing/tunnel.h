/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes through a service's own encapsulation (via: tunnel). Their sockets carry a mark, by which
 * the host's routing sends their packets to a device whose other end is here; each is wrapped as
 * the packet path would wrap a client's for that service and backend, and leaves. The answers come
 * from the VIP to this host like any packet. The loop's thread.
 */
#pragma once

#include <uv.h>

#include "base/err.h"
#include "engine/tables.h"

struct tunnel;

struct tunnel_counts {
	uint64_t packets; /* sent */
	uint64_t foreign; /* of no probe */
	uint64_t failed;  /* no next hop, too big, or the interface is behind */
};

/* `tables` outlive it. 0, or -errno with nothing left. */
int tunnel_open(uv_loop_t *loop, const struct dp_tables *tables, struct tunnel **ret,
		struct err *err);
/* NULL is fine. */
void tunnel_close(struct tunnel *tunnel);
struct tunnel_counts tunnel_counts(const struct tunnel *tunnel);

/* The way (health.h) of one backend's record by one service's. */
uint32_t tunnel_way(uint32_t service, uint32_t backend);
/* A health_prepare; `arg` is the tunnel. */
int tunnel_prepare(void *arg, uint32_t way, int fd, const struct addr *to);
