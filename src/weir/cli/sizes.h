/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arithmetic of a service's packet sizes, as `weir check` prints it: what the path to the
 * backends carries, less what the tunnel adds, and what is left for a packet and for a segment of
 * it. The packet path's sums; an agent, which does not know the mode, counts with the largest
 * tunnel (GUE), so it may clamp to less.
 */
#pragma once

#include <jansson.h>

#include "conf/conf.h"

struct sizes {
	uint32_t mtu;         /* the largest packet on the way to the backends */
	const char *mtu_from; /* an interface, "path_mtu", or "assumed" */
	uint32_t overhead;    /* what the tunnel adds at most */
	uint32_t inner;       /* the largest packet that fits */
	uint16_t mss4, mss6;  /* what then fits; 0: no VIP of this family */
};

/* Asks this host for its interfaces' MTU; where it lacks them and no path_mtu is given, 1500. */
struct sizes sizes_of(const struct conf_node *node, const struct conf_service *service);

/* A line of text, with its end. */
void sizes_print(const struct conf_service *service, const struct sizes *sizes);
json_t *sizes_json(const struct sizes *sizes);
