/* SPDX-License-Identifier: BSD-2-Clause */
/* One question to the kernel, on a socket of its own: for this room alone. Any thread. */
#pragma once

#include <libmnl/libmnl.h>
#include <linux/netlink.h>

enum { NETLINK_REQUEST_MAX = 256 }; /* bytes of what is asked here */

/*
 * Sends `request` on a bus (NETLINK_ROUTE ...) and feeds each answer to `each` (or NULL) until the
 * end; so it has to ask for a dump or an acknowledgement. 0, or -errno: the kernel's, or ours.
 */
int netlink_ask(int bus, struct nlmsghdr *request, mnl_cb_t each, void *arg);
