/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The neighbours that next hops lead through, for this room alone: found by interface and
 * address, shared by counting, asked of the kernel while somebody holds them and given back
 * afterwards. What the kernel tells of them is fed in (neighbours_event); who must look again is
 * told through the callback, once a neighbour's MAC came, changed, or was lost for good.
 */
#pragma once

#include <sys/queue.h>
#include <uv.h>

#include "net/rtnl.h"

enum { NEIGHBOUR_BUCKETS = 4096 };

struct entry; /* a watched address, see nexthop.c */

struct neighbour {
	LIST_ENTRY(neighbour) bucket;
	TAILQ_ENTRY(neighbour) failing_link;
	LIST_HEAD(, entry) users;
	struct neighbours *table;
	struct rtnl_neigh kernel; /* the key, and the kernel's state of it as last heard */
	uint64_t failed_ns;       /* when `failing` began */
	unsigned quick;           /* asked out of turn since the last turn */
	int refused;              /* -errno of the kernel to our last request, or 0 */
	uint8_t mac[6];           /* what we go by, while has_mac */
	bool has_mac;
	bool failing; /* the kernel says so; believed after a moment */
	bool failed;  /* it did not answer, since it last had a MAC */
	bool stale;   /* to be read anew */
	bool made;    /* the entry in the kernel is our work */
	bool marked;  /* MANAGED was set by us */
};

typedef void neighbour_changed(void *arg, struct neighbour *neighbour);

struct neighbours {
	struct rtnl *rtnl;
	uv_timer_t settle; /* runs while something is failing */
	LIST_HEAD(, neighbour) buckets[NEIGHBOUR_BUCKETS];
	TAILQ_HEAD(, neighbour) failing;
	unsigned reclaims;
	bool reclaimed; /* what a killed run left, if any, was given back */
	bool unmanaged; /* the kernel knows no NTF_EXT_MANAGED */
	neighbour_changed *changed;
	void *arg;
};

void neighbours_init(struct neighbours *neighbours, uv_loop_t *loop, struct rtnl *rtnl);
/* NULL when out of memory. The new one is stale: neighbour_look asks. */
struct neighbour *neighbour_hold(struct neighbours *neighbours, uint32_t ifindex,
				 const struct addr *addr);
/* When the last user has left the list. */
void neighbour_drop(struct neighbour *neighbour);
/* Reads and asks, if there is cause to; calls back if that brought news. */
void neighbour_look(struct neighbour *neighbour);
/* Once a second: lifts the limit on requests. Returns whether neighbour_look now has cause that
 * it had not before. */
bool neighbour_turn(struct neighbour *neighbour);
void neighbours_event(struct neighbours *neighbours, const struct rtnl_neigh *neigh, bool gone);
/*
 * Gives back, once, what a run that was killed still has of the kernel and nobody here holds. To be
 * called when all that is to be held has been looked up.
 */
void neighbours_reclaim(struct neighbours *neighbours);
/* All, or those of one interface, are to be read anew. */
void neighbours_expire(struct neighbours *neighbours, uint32_t ifindex);
