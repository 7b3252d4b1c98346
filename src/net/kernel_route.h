/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes in one of the kernel's routing tables that say nothing but that they are there, for a
 * routing daemon on the host to take up. They are blackholes: what the packet path passes for such
 * an address, and no address of the host takes, must not go back to a router that sends it here
 * again. Ours are told apart by their protocol (NETLINK_PROTOCOL), by which others leave them alone
 * too. Calls block until the kernel has answered. Any thread.
 */
#pragma once

#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"

/* 0 also where ours is there already. -EEXIST: somebody else has a route for it. */
int kernel_route_add(uint32_t table, const struct prefix *prefix, struct err *err);
/* 0 also where there is none. Another's stays. */
int kernel_route_remove(uint32_t table, const struct prefix *prefix, struct err *err);
/* Ours in the table, all found before the first is told: `each` may change the table. */
typedef void kernel_route_seen(void *arg, const struct prefix *prefix);
int kernel_route_list(uint32_t table, kernel_route_seen *each, void *arg, struct err *err);
