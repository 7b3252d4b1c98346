/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/router.h"

#include <string.h>

static const char *const names[] = {
	[SIM_ROUTING_MODULO] = "modulo",
	[SIM_ROUTING_HRW] = "hrw",
};

int sim_routing_find(const char *name)
{
	for (int i = SIM_ROUTING_MODULO; i <= SIM_ROUTING_HRW; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return -1;
}

static uint16_t heaviest(const uint16_t *list, uint32_t count, uint64_t hash)
{
	uint64_t most = 0;
	uint16_t node = list[0];

	for (uint32_t i = 0; i < count; i++) {
		uint64_t weight = sim_mix(hash, list[i] + 1U);

		if (weight > most) {
			most = weight;
			node = list[i];
		}
	}
	return node;
}

uint64_t sim_router_spread(const struct sim_router *router, uint16_t *nodes, uint32_t flows)
{
	uint16_t list[SIM_NODES_MAX];
	uint64_t moved = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < router->nodes; i++) {
		if (router->up[i])
			list[count++] = (uint16_t)i;
	}
	for (uint32_t flow = 0; flow < flows; flow++) {
		uint64_t hash = sim_mix(router->seed, flow);
		uint16_t node = SIM_NO_NODE;

		if (count)
			node = router->routing == SIM_ROUTING_HRW ? heaviest(list, count, hash)
								  : list[(hash >> 32) % count];
		moved += node != nodes[flow];
		nodes[flow] = node;
	}
	return moved;
}
