/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is known of a packet that may have a second chance, and of its way onwards. */
#pragma once

#include <linux/if_ether.h>

#include "pkt/addr.h"
#include "second/accept.h"

enum { SECOND_SPACES = 8 }; /* namespaces beside the program's own, at most */

/* Of a packet that may have a second chance. Zero: it has none. */
struct second {
	struct pkt_addr other; /* the other owner */
	struct accept_segment segment;
	__u32 ifindex; /* where it leaves, of what is handed on */
	__u16 at;      /* where GUE's header stands, as tunnel_open tells; 0: it is not variant 0 */
	__u16 ip;      /* and the inner packet */
	__u8 named;    /* `other` is somebody else than this host */
	__u8 hops;     /* that it made already */
	__u8 weak;     /* on the way somebody refused it */
	__u8 pad;
};

struct second_way {
	__u8 to[ETH_ALEN];
	__u8 from[ETH_ALEN];
	__u32 ifindex;
};
