/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The world that tests of the agent's programs play in: the VIPs and balancers of tunnels.h. The
 * programs in the kernel where the test is root, and what a native run asks of its world (the test
 * defines env_vip and env_balancer as these before it includes decap/decap.h or decap/clamp.h).
 */
#pragma once

#include <stdbool.h>

#include "engine/agent/agent_dp.h"
#include "pkt/addr.h"
#include "second/accept.h"

enum {
	AGENTS_ACTION_NONE = 0xffff, /* no program gives it */
	AGENTS_PORT = 443,           /* of both single VIPs, by TCP and UDP; the file says it ... */
	AGENTS_TO = 8443,            /* ... and where its server listens */
};

extern struct agent_dp *agents_kernel;     /* NULL: not root */
extern enum agent_takes agents_takes;      /* by native runs */
extern struct accept_socket agents_socket; /* what native runs find, whatever the tuple */

/* Reads the addresses: before the functions below are asked; agents_open does it too. */
int agents_fill(void);
/* What SYN-ACKs are clamped to: a path of 1500 bytes, with balancers of both families. */
struct agent_limits agents_limits(void);
int agents_vip(const struct pkt_addr *addr);
int agents_balancer(const struct pkt_addr *addr);
int agents_peer(const struct pkt_addr *addr);
struct agent_other_port *agents_port(const struct agent_port *key);
int agents_learn_port(const struct agent_port *key, __be16 port);
size_t agents_ports_known(void);
/* The programs in the kernel once more, for these modes; NULL, and it is said why. */
struct agent_dp *agents_new(enum agent_takes takes);

/* cmocka's group set-up and tear-down. */
int agents_open(void **state);
int agents_close(void **state);
/* A test that says so, as a skip, where the programs in the kernel are missing. */
void agents_test_kernel_ran(void **state);
