/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ways to choose a backend that Weir is compared with. Each is a table that is built anew from
 * whoever can take new flows, whenever that changes, and the same on every node; and, if `pinned`,
 * a connection table on each node: a flow's packet goes where the node has seen it go before, as
 * long as that backend is there and its checks succeed. That table is better than a real one: it
 * is never full and forgets nothing. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/fleet.h"

enum sim_kind { SIM_MAGLEV, SIM_RING, SIM_MODULO };

enum { SIM_MODULO_MAX = 1 << 20 }; /* turns of all backends together */

struct sim_scheme {
	const char *name;
	enum sim_kind kind;
	bool pinned;
	uint16_t *table; /* backends' numbers */
	uint32_t size;   /* 0: nobody can serve */
	/* of each flow: */
	uint16_t *own;  /* whom its connection is at */
	uint8_t *turn;  /* how many it has had, for its tuple */
	uint16_t *pins; /* by node and flow, where `pinned` */
};

/* 0, -ENOMEM, -EINVAL: two backends are one, or -ERANGE: more turns than SIM_MODULO_MAX. */
int sim_scheme_build(struct sim_scheme *scheme, const struct sim_fleet *fleet);
/* The table's answer for a flow's hash. */
uint16_t sim_scheme_choose(const struct sim_scheme *scheme, uint64_t hash);
