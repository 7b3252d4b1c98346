/* SPDX-License-Identifier: BSD-2-Clause */
/* What the XDP data plane holds, shared by dp.c and dp_next.c. */
#pragma once

#include "bpf/percpu.h"
#include "engine/carry/carry.h"
#include "engine/carry/former.h"
#include "engine/dp.h"
#include "lb.skel.h"

struct dp {
	struct lb_bpf *skel; /* with the maps */
	struct lb_bpf *next; /* with the program, where it was exchanged; else NULL */
	uint32_t features;   /* that the program has */
	struct dp_tables tables;
	struct links links;
	struct percpu percpu;
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
