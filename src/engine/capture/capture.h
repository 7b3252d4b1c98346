/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets told of as they go in and out: another program over the same tables takes the balancer's
 * place at every interface, between two packets, and gives it back. What it tells goes into a ring
 * that another process may read, by the ids of its maps (ring.h). The one thread of the dp.
 */
#pragma once

#include "dp/abi_capture.h"
#include "engine/dp.h"

/* Numbers that the kernel gave, by which a process with CAP_SYS_ADMIN opens them. */
struct capture_ids {
	uint32_t program;
	uint32_t ring;
	uint32_t counts;
};

/*
 * Whatever the filter says, nothing is told before capture_begin: so the ring can be opened, and no
 * packet is lost before. 0, or -errno and the program is the one it was. -EBUSY: somebody captures
 * already.
 */
int capture_start(struct dp *dp, const struct abi_capture_filter *filter, struct capture_ids *ret,
		  struct err *err);
/* From now on, until then (CLOCK_MONOTONIC). 0 or -errno. */
int capture_begin(struct dp *dp, uint64_t end_ns);
bool capture_is_on(const struct dp *dp);
/* The balancer's own program is at work again. Nothing to do where nobody captures. */
void capture_stop(struct dp *dp);
