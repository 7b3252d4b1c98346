/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The workers of a balancer: the kernel's program (weir_steer) gives them what is plainly a packet
 * for a service, and does all the rest itself, over the same tables. Where a worker is missing,
 * for whatever reason, the kernel forwards, too; so they come and go between two packets. The one
 * thread of the dp.
 */
#pragma once

#include "dp/abi_steer.h"
#include "engine/dp.h"
#include "engine/xsk/worker.h"

enum { XSK_WORKERS_MAX = ABI_STEER_WORKERS };

/* What an earlier daemon's workers have counted goes on as the kernel's: once this one's program is
 * attached, whatever its engine is. */
void xsk_fold(struct dp *dp);

/* Room for `count` workers, of which none runs. For a dp that was opened with engine af_xdp, after
 * its program is attached. */
int xsk_open(struct dp *dp, uint32_t count, struct err *err);
/* Ends them, after what they have begun; the kernel forwards. */
void xsk_close(struct dp *dp);

/*
 * Starts workers at the interfaces' queues that lack one, and ends those whose interface is gone.
 * Returns how many are missing; *err says why the first is.
 */
uint32_t xsk_look(struct dp *dp, struct err *err);

/* The interface is gone, and its sockets take nothing any more: one of its name is another, though
 * it may have its number. Ends its workers; the next look makes others. */
void xsk_forget_link(struct dp *dp, const char *interface);

/* Packets above this length are the kernel's, for some path may not take them: 0 at first. */
void xsk_set_packet_max(struct dp *dp, uint32_t length);
uint32_t xsk_packet_max(const struct dp *dp);

/* A worker, by its place below xsk_count; false: none runs there. */
struct xsk_seen {
	const char *interface;
	uint32_t queue;
	bool zero_copy;
	struct xsk_figures figures; /* since it was started */
};
uint32_t xsk_count(const struct dp *dp);
bool xsk_see(const struct dp *dp, uint32_t at, struct xsk_seen *ret);

/* --- for the dp: what its own figures leave out; nothing where there are no workers --- */

struct xsk;
void xsk_wait(const struct xsk *xsk);
struct abi_count xsk_verdict_count(const struct xsk *xsk, uint32_t verdict);
struct abi_count xsk_service_count(const struct xsk *xsk, uint32_t service);
struct abi_count xsk_backend_count(const struct xsk *xsk, uint32_t backend);
uint64_t xsk_event_count(const struct xsk *xsk, uint32_t event);
void xsk_reset_service(const struct xsk *xsk, uint32_t service);
void xsk_reset_backend(const struct xsk *xsk, uint32_t backend);
