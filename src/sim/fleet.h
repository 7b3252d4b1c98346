/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The backends of the one pool that is simulated, as they truly are: whether their machine lives,
 * what their checks say, what the operator wants. A backend keeps its number from when the events'
 * file first names it until the end, in the pool or not. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

enum {
	SIM_BACKENDS_MAX = 16383,
	SIM_NOBODY = 0xffff, /* no backend */
};

struct sim_backend {
	const char *name;  /* in the fleet's arena */
	uint64_t identity; /* in tables */
	struct addr address;
	uint16_t port;
	uint32_t weight;
	uint8_t share;     /* of it, percent */
	bool backup;       /* serves while fewer than backup_below others can */
	bool present;      /* in the pool */
	bool dead;         /* its machine: who is sent there gets no answer */
	bool unhealthy;    /* its checks fail, or */
	bool unchecked;    /* have no result yet */
	bool drain, maint; /* what the operator wants */
	bool lost;         /* its connections ended, and nobody has noticed yet */
	uint64_t ends_ms;  /* its flows have this long to go: drain_limit, on_down_keep */
	size_t conf;       /* its place in the configuration; beyond all: added later */
};

struct sim_fleet {
	struct arena *arena;
	struct sim_backend *backends;
	size_t count, room;
	uint64_t seed; /* of tables and of the hash that finds a flow's slot */
	uint32_t table_size;
	uint32_t backup_below;
	uint64_t drain_limit_ms, on_down_keep_ms; /* when flows are given up */
};

/* An empty one. */
void sim_fleet_init(struct sim_fleet *fleet);
void sim_fleet_fini(struct sim_fleet *fleet);
/* The copy of a backend, under a number; SIM_NOBODY: there is no room for more. */
size_t sim_fleet_add(struct sim_fleet *fleet, const struct sim_backend *backend);
/* SIM_NOBODY: none has the name. */
size_t sim_fleet_find(const struct sim_fleet *fleet, const char *name, size_t length);

/* Can take new flows, as any balancer would have it. */
bool sim_backend_usable(const struct sim_backend *backend);
/* Do those that are backups now? */
bool sim_fleet_needs_backups(const struct sim_fleet *fleet);
/* Are its flows beyond help, or given up by what is configured? Nobody is to blame for those. */
bool sim_backend_gone(const struct sim_backend *backend, uint64_t now_ms);
