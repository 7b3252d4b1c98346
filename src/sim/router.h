/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes to the nodes, and by which way. Synthetic flows: the n-th flow is a client of its own,
 * and each connection that it makes after another has another port. Nothing is kept of it: number,
 * turn and seed say all. And a router that spreads flows over the nodes that announce the VIP, by a
 * hash of its own. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pkt/hash.h"

struct sim_tuple {
	uint32_t client; /* an address of 32 bits, or the last of a longer one */
	uint16_t port;
};

/* Numbers that look random, the same on every machine. */
static inline uint64_t sim_mix(uint64_t seed, uint64_t number)
{
	return pkt_hash_end(pkt_hash_add(seed, number));
}

/* One to one, so that no two flows have the same client. */
static inline uint32_t sim_client(uint64_t seed, uint32_t flow)
{
	uint32_t client = flow ^ (uint32_t)sim_mix(seed, 0);

	client = (client ^ client >> 16) * 0x7feb352dU;
	client = (client ^ client >> 15) * 0x846ca68bU;
	return client ^ client >> 16;
}

static inline struct sim_tuple sim_tuple(uint64_t seed, uint32_t flow, uint8_t turn)
{
	uint32_t client = sim_client(seed, flow);

	return (struct sim_tuple){client, (uint16_t)(1024 + (client * 40503U >> 18) + turn)};
}

/* --- the router --- */

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
