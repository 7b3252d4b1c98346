/* SPDX-License-Identifier: BSD-2-Clause */
/* What the XDP data plane holds, shared by dp.c, dp_next.c and capture/. */
#pragma once

#include "bpf/percpu.h"
#include "engine/carry/carry.h"
#include "engine/carry/former.h"
#include "engine/dp.h"
#include "engine/mirror.h"
#include "engine/xsk/xsk.h"
#include "lb.skel.h"

/* Which of the object's programs is loaded; the others, and their maps, are not there. */
enum dp_program { DP_PROGRAM_LB, DP_PROGRAM_CAPTURE, DP_PROGRAM_STEER };

struct dp {
	struct lb_bpf *skel;    /* with the maps */
	struct lb_bpf *next;    /* with the program, where it was exchanged; else NULL */
	struct lb_bpf *capture; /* with the one in its place while somebody captures; else NULL */
	uint32_t features;      /* that the program has */
	enum dp_program own;    /* which one that is, while nobody captures */
	struct abi_steer *steering; /* NULL: engine xdp */
	struct xsk *xsk;            /* its workers; NULL: none */
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

/* The object before it is loaded; NULL and errno. */
struct lb_bpf *dp_skel_open(enum dp_program program);
/* The one that was loaded. */
int dp_program_of(const struct lb_bpf *skel, enum dp_program program);
/* No packet is in the kernel's program any more that was when it was called. */
void dp_wait_kernel(void);
/* Loads one over the same tables. */
int dp_load_beside(const struct dp *dp, uint32_t features, enum dp_program program,
		   struct lb_bpf **ret, struct err *err);
