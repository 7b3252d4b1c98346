/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What stands before the nodes: a router that spreads flows over those that announce the VIP, by a
 * hash of its own. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_NODES_MAX = 1024, SIM_NO_NODE = 0xffff };

enum sim_routing {
	SIM_ROUTING_MODULO, /* the hash modulo the nodes there are: nearly all flows move */
	SIM_ROUTING_HRW,    /* the node of highest random weight: only whom it must move */
};

struct sim_router {
	enum sim_routing routing;
	uint64_t seed;  /* of its hash */
	uint32_t nodes; /* 1 to SIM_NODES_MAX */
	bool up[SIM_NODES_MAX];
};

/* enum sim_routing by its name, "modulo" or "hrw"; -1: neither. */
int sim_routing_find(const char *name);

/* Which node each of the flows comes to now; returns how many came to another one before. */
uint64_t sim_router_spread(const struct sim_router *router, uint16_t *nodes, uint32_t flows);
