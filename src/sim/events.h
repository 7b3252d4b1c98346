/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of events: one a line, in the order of time.
 *
 *	[TIME] EVENT [ARGUMENT ...]      # a comment
 *
 * Events of the same time are one step: they happen together, and then flows send. Names are looked
 * up while reading, so that a backend must be added before anything happens to it. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sim/fleet.h"
#include "sim/router.h"

enum sim_what {
	SIM_FAIL,      /* a backend's machine dies */
	SIM_UNHEALTHY, /* its checks fail, but it serves */
	SIM_UNCHECKED, /* they have no result yet */
	SIM_RETURN,    /* neither any more */
	SIM_DRAIN,
	SIM_MAINT,
	SIM_READY, /* neither any more */
	SIM_WEIGHT,
	SIM_ADD,
	SIM_REMOVE,
	SIM_NODE_DOWN, /* a node dies, with all that it knew */
	SIM_NODE_UP,
	SIM_NODE_OUT, /* routers no longer send to it; it goes on */
	SIM_NODE_IN,
	SIM_REHASH, /* the routers' hash has another seed */
	SIM_ROUTER,
	SIM_WAIT,
};

struct sim_event {
	enum sim_what what;
	uint32_t which; /* a backend's number, a node's, or enum sim_routing */
	uint32_t share; /* SIM_WEIGHT: percent */
};

struct sim_step {
	uint64_t at_ms;
	const char *text; /* of the lines, in the fleet's arena */
	size_t first;     /* of its events */
	size_t count;
};

struct sim_events {
	struct sim_event *events;
	struct sim_step *steps;
	size_t event_count, step_count;
	uint32_t nodes; /* that there are or will be: the highest number named, at least as given */
};

enum {
	SIM_LINES_MAX = 100000,
	SIM_EVENTS_MAX = 1000000, /* a line names many backends */
};

struct sim_reading {
	struct sim_fleet *fleet; /* those in the pool at first; gets those that are added */
	uint32_t nodes;          /* at first: numbers 1 and up */
	uint64_t gap_ms;         /* before an event without a time */
};

/* 0, or -EINVAL and errors with lines and columns; -ENOMEM. sim_events_fini frees either way. */
int sim_events_parse(const char *text, const struct sim_reading *reading, struct sim_events *ret,
		     struct err_list *errors);
void sim_events_fini(struct sim_events *events);
/* What may be written, for --help; ends in a newline. */
extern const char sim_events_help[];
