/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arithmetic of a service's packet sizes, as `weir check` prints it: what the path to the
 * backends carries, less what the mode adds, and what is left for a packet and for a segment of
 * it. The packet path's sums, for each family of a VIP to each family of a backend. An agent, which
 * does not know the mode, counts with the largest tunnel, so it may clamp to less.
 */
#pragma once

#include <jansson.h>

#include "conf/conf.h"

/* From VIPs of one family to backends of one. */
struct sizes_way {
	bool vip4, backend4;
	uint32_t overhead; /* what the mode adds */
	uint32_t inner;    /* the largest packet that fits */
	uint32_t mss;      /* the largest TCP segment in it */
};

struct sizes {
	uint32_t mtu;      /* the largest packet on the way to the backends */
	char mtu_from[16]; /* an interface, "path_mtu", or "assumed" */
	uint32_t tags;     /* bytes of VLAN tags that go off it */
	struct sizes_way ways[4];
	size_t way_count;
};

/* Asks this host for its interfaces' MTU; where it lacks them and no path_mtu is given, 1500. */
struct sizes sizes_of(const struct conf_node *node, const struct conf_service *service);

/* A line of text for each way, with its end. */
void sizes_print(const struct conf_service *service, const struct sizes *sizes);
json_t *sizes_json(const struct sizes *sizes);
