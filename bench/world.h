/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Weir at work as a node has it: the daemon's program, with the features that a configuration
 * needs, over tables that the daemon's own code has filled from that configuration. What fails ends
 * the program. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/dp.h"

struct world_spec {
	uint32_t flows;    /* entries of the flow table */
	uint32_t services; /* each with a VIP and a pool of its own: 198.18.0.0 and on, or
				2001:db8:b:: and on; port 80 of TCP and UDP */
	uint32_t backends; /* of a pool */
	uint32_t slots;    /* of its table; 0: as many as is usual */
	const char *forward;
	const char *tracking;
	bool ipv6, quic;
	bool all;         /* every feature in the program, needed or not */
	uint32_t ifindex; /* where packets leave; 0: the loopback */
	bool steers;      /* engine af_xdp's program */
};

struct world;

struct world *world_open(const struct world_spec *spec);
void world_close(struct world *world);
struct dp *world_dp(const struct world *world);
