/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How large a fleet is to be: cores, nodes, tables, flow memory, by arithmetic from a rate, a
 * packet's size and what a packet takes, and by building the tables that it is about. Pure but for
 * memory. docs/design/27-migrate-and-plan.md has the reasons.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	PLAN_WIRE_BYTES = 20, /* of preamble and gap, beside a frame on the wire */
	PLAN_FRAME_MIN = 64,  /* bytes of a frame with its checksum, as they are counted here */
	PLAN_FRAME_MAX = 9216,
	PLAN_BUSY_PERCENT = 90, /* of a core's time, at most */
	PLAN_FLOW_BYTES = 16,
};

struct plan_asked {
	double rate_bps;
	uint32_t frame; /* bytes, with the checksum */
	uint64_t flows;
	uint32_t backends, services;
	double ns; /* a packet, all in */
	uint32_t cores_a_node;
};

struct plan {
	double mpps, core_mpps;
	double cores_exact;         /* all of their time */
	uint32_t cores_bare, cores; /* nearest to that; with PLAN_BUSY_PERCENT of each */
	uint32_t nodes;             /* without one that may fail */
	uint32_t table_size;
	uint64_t table_bytes;      /* of all services, each with a pool of its own */
	double share_error;        /* the worst backend's, in percent of its ideal share */
	double share_error_failed; /* the same, one of them down */
	double moved_failed;       /* percent of flows that go elsewhere when one fails: its own */
	double moved_other;        /* and of others among them */
	double moved_added;        /* when one more is added */
	uint64_t flow_entries;     /* node.flows.entries where all are tracked, */
	uint64_t flow_entries_moving; /* and where only those of a backend that fails are */
};

/* 0, -EINVAL: no table is large enough, or -ENOMEM. */
int plan_make(const struct plan_asked *asked, struct plan *ret);
