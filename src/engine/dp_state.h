/* SPDX-License-Identifier: BSD-2-Clause */
/* What the XDP data plane holds, shared by dp.c, dp_next.c and capture/. */
#pragma once

#include "bpf/percpu.h"
#include "engine/carry/carry.h"
#include "engine/carry/former.h"
#include "engine/dp.h"
#include "engine/mirror.h"
#include "lb.skel.h"

struct dp {
	struct lb_bpf *skel;    /* with the maps */
	struct lb_bpf *next;    /* with the program, where it was exchanged; else NULL */
	struct lb_bpf *capture; /* with the one in its place while somebody captures; else NULL */
	uint32_t features;      /* that the program has */
	struct dp_tables tables;
	struct mirror mirror; /* their prefixes */
	struct links links;
	struct percpu percpu;
	size_t memory; /* of the tables, in bytes */
	bool adopted;
	bool is_beside; /* not yet attached, beside an earlier daemon's tables that are at work */
	bool is_pinned; /* what is beside has its pins */
	/* A bit a record that may have counted: others need no call of the kernel each. */
	uint64_t counted_services[ABI_SERVICES / 64], counted_backends[ABI_BACKENDS / 64];
	struct err why;  /* pinned tables were not adopted; "": they were, or there were none */
	struct err lost; /* what they held was not carried over; "": it was */
	struct former *former; /* what is carried over; NULL: nothing */
	struct carry_flows carry;
};

/* Which of the object's two programs is loaded; the other one, and its maps, are not there. */
enum dp_program { DP_PROGRAM_LB, DP_PROGRAM_CAPTURE };

/* The object before it is loaded; NULL and errno. */
struct lb_bpf *dp_skel_open(enum dp_program program);
/* Loads one over the same tables. */
int dp_load_beside(const struct dp *dp, uint32_t features, enum dp_program program,
		   struct lb_bpf **ret, struct err *err);
