/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The run: flows are connections that live on, or end and are followed by others; after each step
 * of events each sends, and what becomes of it under each scheme is counted. A flow whose
 * connection ends begins another at once. Everything follows from the seed. One thread.
 *
 * Weir is behind struct sim_weir, so that this room knows nothing of how it decides.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/events.h"
#include "sim/fleet.h"
#include "sim/router.h"

enum sim_segment { SIM_SYN, SIM_DATA, SIM_FIN };

struct sim_answer {
	uint16_t backend; /* SIM_NOBODY: none, the packet ends at the node */
	uint16_t second;  /* who gets it if that one knows no such flow; SIM_NOBODY: nobody */
};

/* Weir's nodes. Calls that return int: 0, or -errno, which ends the run. */
struct sim_weir {
	void *arg;
	/* A node begins, with nothing but what is configured and what the fleet's checks say. */
	int (*node_up)(void *arg, uint32_t node, uint64_t now_ms);
	void (*node_down)(void *arg, uint32_t node);
	/* A backend's state has changed. */
	void (*backend)(void *arg, size_t backend, uint64_t now_ms);
	/* Who is in the pool has changed. */
	int (*members)(void *arg, uint64_t now_ms);
	/* Slots follow what has changed; until then records alone do. */
	void (*settle)(void *arg, uint64_t now_ms);
	/* When something changes by time alone, of any node; UINT64_MAX: never. */
	uint64_t (*deadline_ms)(void *arg, uint64_t now_ms);
	void (*tick)(void *arg, uint64_t now_ms);
	/* Does any node's answer depend on more than the table and the packet? */
	bool (*has_state)(void *arg);
	struct sim_answer (*packet)(void *arg, uint32_t node, struct sim_tuple tuple,
				    enum sim_segment segment, uint64_t now_ns);
};

enum sim_scheme_number {
	SIM_SCHEME_WEIR,
	SIM_SCHEME_MAGLEV_PINNED,
	SIM_SCHEME_MAGLEV,
	SIM_SCHEME_RING,
	SIM_SCHEME_MODULO,
	SIM_SCHEMES,
};
extern const char *const sim_scheme_names[SIM_SCHEMES];

struct sim_counts {
	/* Packets went to another backend than the connection's: the sum of the next four. */
	uint64_t moved;
	uint64_t broken;  /* which does not know it, and the connection's own is there */
	uint64_t handed;  /* which handed it on to the right one */
	uint64_t stalled; /* which is dead, so nothing is answered: the client tries again */
	uint64_t excused; /* the connection's own is gone, or given up as configured */
	uint64_t refused; /* connections that could not begin: nobody serves, or no node is there */
};

struct sim_row {
	const struct sim_step *step; /* NULL: how it began */
	uint32_t nodes;              /* that flows come to */
	uint64_t node_moved;         /* flows that come to another node than before */
	struct sim_counts schemes[SIM_SCHEMES];
};

struct sim_spec {
	uint32_t flows;
	uint64_t seed;
	uint64_t interval_ms; /* in which every flow sends, at least */
	uint64_t settle_ms;   /* from a change to when slots follow it */
	uint64_t idle_ms;     /* no flow is silent for longer than half of it */
	uint64_t lifetime_ms; /* mean of a connection; 0: it never ends by itself */
	uint64_t fill_ms;     /* in which the flows begin */
	struct sim_fleet *fleet;
	struct sim_router *router;
	const struct sim_events *events;
	const struct sim_weir *weir;
	/* A row is done. */
	void (*row)(void *arg, const struct sim_row *row);
	/* From time to time; `share` of the run's steps is done. */
	void (*progress)(void *arg, double share);
	void *arg;
};

/* What a run takes besides Weir's nodes, in bytes. */
uint64_t sim_run_memory(uint32_t flows, uint32_t nodes);
/* 0, -ENOMEM or another -errno, and then `err` says what. */
int sim_run(const struct sim_spec *spec, struct err *err);
