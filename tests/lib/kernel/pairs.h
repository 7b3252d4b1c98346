/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two network namespaces joined by veth pairs, for tests of what the kernel knows of its
 * neighbours. The test process enters the one, a child holds the other; all vanish with the two.
 * Pair 0 and pair 2 are
 *
 *        here                peer
 *   v0 10.0.0.1/24   --   v1 10.0.0.2/24
 *   v2 10.0.1.1/24   --   v3 10.0.1.2/24
 *
 * and the last byte of a MAC address is the interface's number: v1 has 02:00:00:00:00:01. For one
 * thread; what fails fails the test.
 */
#pragma once

#include <stdbool.h>

#include "net/rtnl.h"

/* Group fixtures of cmocka. */
int pairs_open(void **state);
int pairs_close(void **state);
/* The pair of v`number` and the next, up. An unanswered probe is repeated after 100 ms. */
void pairs_add(int number);
/* This thread, and what it starts, is in the peer's namespace from now on, or here again. */
void pairs_enter(bool there);
/* Runs a shell command, which must succeed. "PEER " in front runs it in the peer's namespace. */
void pairs_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Sends a packet from the peer to the address, for which its kernel asks who has that. */
void pairs_send_from_peer(const char *to);
/* Our kernel's entry for the address, all zero if there is none. */
struct rtnl_neigh pairs_neighbour(const char *link, const char *address);
