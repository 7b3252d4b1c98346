/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A daemon at work for a benchmark: `weir run` in a network namespace of its own, with a file that
 * is written here, a veth to another namespace in which every address of 10.0.0.0/8 accepts
 * connections on port 80, and what the daemon says, line by line. One at a time, one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stage {
	char name[32]; /* the node's, for the file */
	char file[96];
	pid_t hosts, daemon;
	int log; /* what the daemon says */
	char line[1024];
	size_t held; /* bytes of the next line */
	char rest[8192];
};

/* Namespaces and hosts, until the process ends. What fails here ends it, with a reason. */
void stage_open(struct stage *stage);

/* Another file takes the place of the one that is there. */
void stage_write(const struct stage *stage, const char *text);
void stage_start(struct stage *stage);
void stage_stop(struct stage *stage);

/* The next line that holds `what`, in `line`; 0: there is none within the time. Else when it came,
 * in ns. Others are skipped. */
uint64_t stage_hear(struct stage *stage, const char *what, unsigned timeout_ms);
/* The number behind `key` in the last line; -1: it is not there. */
double stage_number(const struct stage *stage, const char *key);

/* Does the host of the address answer? If not, who connects is told at once. */
void stage_answer(const struct stage *stage, const char *address, bool answers);
/* The daemon's pinned table, read only. */
const void *stage_table(const struct stage *stage, const char *name, size_t size);
/* VmRSS and the like, in MiB. */
double stage_memory(const struct stage *stage, const char *key);
/* How long the daemon takes to answer a question that asks for nothing, in ms. */
double stage_ask(const struct stage *stage);
