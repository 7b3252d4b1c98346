/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The XDP data plane: opens and loads the program, creates or adopts the pinned maps, attaches,
 * gives the writer its tables, reads counters, and runs single frames in the kernel
 * (BPF_PROG_TEST_RUN) for tests and `weir trace`. One thread.
 *
 * With a pin directory the maps and the links outlive the process: the next dp_open adopts them
 * if their layout is the same (dp_adopted), else makes others beside (dp_is_beside) and carries
 * over what they hold, where it can. Without one everything ends with dp_close.
 */
#pragma once

#include <stdbool.h>

#include "bpf/links.h"
#include "engine/tables.h"

struct dp;

struct dp_options {
	const char *pin_dir;   /* on bpffs; NULL: nothing is pinned */
	uint32_t flow_entries; /* rounded up to a power of two of buckets */
	uint32_t features;     /* enum abi_feature: the code of others is left out */
	bool steers;           /* engine af_xdp: the program has workers beside it (xsk/xsk.h) */
};

int dp_open(const struct dp_options *options, struct dp **ret, struct err *err);
/* The maps were there already, with what an earlier daemon wrote. */
bool dp_adopted(const struct dp *dp);
/*
 * The tables are new ones beside an earlier daemon's, with which its program is at work until
 * dp_attach exchanges it: fill them first. With dp_adopted they hold what those held.
 */
bool dp_is_beside(const struct dp *dp);
/* Why pinned tables were not taken over as they are; "": they were, or there were none. */
const char *dp_not_adopted_why(const struct dp *dp);
/* Beside others: why what those hold is not in the new ones; "": it is. */
const char *dp_not_carried_why(const struct dp *dp);
/* How many flows were carried over from other tables, and found no place, so far. */
struct dp_carried {
	uint64_t flows, lost;
};
struct dp_carried dp_carried(const struct dp *dp);
struct dp_tables *dp_tables(struct dp *dp);
/* What all tables take of the kernel's memory, in bytes. None is taken later. */
size_t dp_memory(const struct dp *dp);

/*
 * Before the tables hold something that needs these features: where the program lacks one, another
 * that has all takes its place at every interface, between two packets. 0, or -errno and the
 * program is the one it was.
 */
int dp_need(struct dp *dp, uint32_t features, struct err *err);

/* The program, for a test run. */
int dp_program_fd(const struct dp *dp);

/* Attaches to one more interface; see link_attach. */
int dp_attach(struct dp *dp, const char *interface, enum link_xdp wanted, struct err *err);
/* See links_reattach. */
int dp_reattach(struct dp *dp, size_t at, struct err *err);
/* After the last dp_attach of a start: what was beside others takes their place. */
void dp_settle(struct dp *dp);
/* A start fails that was beside others: these are at work again, or still. */
void dp_put_back(struct dp *dp);
struct links *dp_links(struct dp *dp);

/* The descriptor of the map that gives frames to the daemon (slow_ring.h). */
int dp_slow_map(const struct dp *dp);

/* Sums over the cores, and the workers if there are any. */
struct abi_count dp_verdict_count(const struct dp *dp, uint32_t verdict);
struct abi_count dp_service_count(const struct dp *dp, uint32_t service);
struct abi_count dp_backend_count(const struct dp *dp, uint32_t backend);
/* Those of records 0 to count - 1 at once. 0 or -errno. */
int dp_service_counts(const struct dp *dp, struct abi_count *ret, uint32_t count);
int dp_backend_counts(const struct dp *dp, struct abi_count *ret, uint32_t count);
uint64_t dp_event_count(const struct dp *dp, enum abi_event event);
/* Sets a record's counters to zero, for an index that gets a new owner. */
void dp_reset_service(struct dp *dp, uint32_t service);
void dp_reset_backend(struct dp *dp, uint32_t backend);

/* What BPF_PROG_TEST_RUN takes in one piece: a page less headroom and the room behind the frame. */
enum { DP_RUN_LENGTH_MAX = 3520 };
/*
 * As native_run, in the kernel; only with ABI_HAS_TRACE. -E2BIG: longer than DP_RUN_LENGTH_MAX.
 * The kernel runs no frame shorter than an Ethernet header: such a one is malformed, uncounted.
 */
int dp_run(struct dp *dp, uint8_t *frame, size_t length, size_t capacity, uint64_t now_ns,
	   struct dp_result *ret);

/* What the kernel says of the program: how often it ran, and for how long, while statistics are on
 * (kernel.bpf_stats_enabled). 0 or -errno. */
struct dp_run_time {
	uint64_t runs, ns;
};
int dp_run_time(const struct dp *dp, struct dp_run_time *ret);

/* Detaches and unpins: the end of forwarding. */
void dp_teardown(struct dp *dp);
/* Lets go; what is pinned goes on. */
void dp_close(struct dp *dp);
