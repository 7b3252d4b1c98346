/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a program of the packet path takes for a packet, by BPF_PROG_TEST_RUN: whole.bpf.c makes
 * the frame whole before each round and goes on into the program that is measured. Nothing is sent,
 * and no interface of the host is touched. For `weir bench`, `weir plan` and `make bench`. One
 * thread, which stays on its core and in a network namespace of its own from measure_open on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "measure/whole.h"

struct measure;

/* 0 or -errno; needs root. */
int measure_open(struct measure **ret, struct err *err);
void measure_close(struct measure *measure);
/* Test runs begin at once; else the kernel waits for tens of milliseconds before each. */
bool measure_is_quick(const struct measure *measure);

/* One sample. `whole` says how the frame is made; its begin and last are set here. */
struct measure_run {
	int program_fd;
	const uint8_t *bytes;
	size_t length;
	struct measure_whole whole;
	uint32_t repeat; /* rounds whose time is taken; half as many come first */
	uint32_t action; /* the last round's, of XDP */
	double ns;       /* a round, all that is done in it */
};

uint32_t measure_rounds(uint32_t repeat);
int measure_run(struct measure *measure, struct measure_run *run);
/* The program alone, once: how long the frame is afterwards. */
int measure_once(const struct measure_run *run, size_t *ret_length);
/* What a round takes without a program to measure, and with a move of the frame's start and back
 * beside: of the frame of such a run. */
int measure_base(struct measure *measure, const struct measure_run *like, double *ret_nothing_ns,
		 double *ret_move_ns);

struct measure_spread {
	double min, median, max;
};
/* Sorts them. */
struct measure_spread measure_spread(double *values, size_t count);
