/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Next hops: for each watched address, the interface by which its packets leave, the MAC
 * addresses to write, the MTU of the way and the address to send from, from the kernel's routes
 * and neighbours by rtnetlink, kept fresh. The kernel is asked to resolve and to keep resolved
 * (NTF_MANAGED, Linux 5.16) what is watched, so a lost or changed neighbour comes back by itself.
 * All calls and callbacks on the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/addr.h"
#include "base/err.h"

enum { NEXTHOP_TAGS = 2 }; /* VLAN tags at most */

struct nexthop {
	bool resolved;               /* all below is known */
	bool on_link;                /* dst_mac is the address's own, not a gateway's */
	bool stacked;                /* by a bridge or suchlike: no driver can send there */
	uint32_t ifindex;            /* what sends: the one below a VLAN's device */
	uint32_t tags[NEXTHOP_TAGS]; /* VLAN tags, the outer first: TPID << 16 | TCI; 0: none */
	uint32_t mtu;                /* of the route, or of the interface less room for the tags */
	uint8_t src_mac[6];
	uint8_t dst_mac[6];
	struct addr source; /* what the kernel would send from */
	char why[96];       /* not resolved: what is missing, in words */
};

struct nexthops;
struct nexthop_watch;

/*
 * Called when the next hop differs from what was last reported, and once after the start, when
 * there is an answer: a neighbour never asked before takes up to some seconds to be known dead.
 */
typedef void nexthop_changed(void *arg, const struct nexthop *nexthop);

int nexthops_open(uv_loop_t *loop, struct nexthops **ret, struct err *err);
int nexthops_watch(struct nexthops *nexthops, const struct addr *address, nexthop_changed *changed,
		   void *arg, struct nexthop_watch **ret);
const struct nexthop *nexthop_now(const struct nexthop_watch *watch);
void nexthops_unwatch(struct nexthop_watch *watch);
/* Takes back what was asked of the kernel, and frees. */
void nexthops_close(struct nexthops *nexthops);
