/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From what the kernel told to a next hop, or to the words that say what is missing. For this room
 * alone; pure, no kernel is asked.
 */
#pragma once

#include "net/neighbour.h"
#include "net/nexthop.h"
#include "net/rtnl.h"

struct hop_facts {
	struct addr address;
	int route_error; /* -errno: `route` means nothing */
	struct rtnl_route route;
	const struct rtnl_link *link; /* NULL: there is no such interface */
	/* Where `link` is a VLAN's device, those below it, each over the next; NULL: as above. */
	const struct rtnl_link *below[NEXTHOP_TAGS];
	const struct neighbour *neighbour; /* NULL: not looked for */
};

/* In the order in which things are looked for. */
enum hop_missing { HOP_ROUTE, HOP_LINK, HOP_NEIGHBOUR, HOP_NOTHING };

enum hop_missing hop_compose(const struct hop_facts *facts, struct nexthop *ret);
/* The neighbour was asked for, and has neither answered nor failed. */
bool hop_is_pending(const struct neighbour *neighbour);
/*
 * May what was resolved before stay in use while a new neighbour has yet to answer? Over a link
 * (NULL if gone) that still carries: dropping instead helps nobody.
 */
bool hop_may_stay(const struct rtnl_link *link);
bool hop_same(const struct nexthop *a, const struct nexthop *b);
bool hop_same_link(const struct rtnl_link *a, const struct rtnl_link *b);
