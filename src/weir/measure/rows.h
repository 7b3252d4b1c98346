/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `weir bench` and `weir plan` measure: the daemon's own program with the tables that a
 * configuration of one service makes, for each mode and family, with settled slots and with
 * tracking: always. Needs root; touches nothing of the host (measure/measure.h). One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "measure/measure.h"

enum {
	ROWS_MAX = 64,
	ROWS_ROUNDS_MAX = 1000,
	ROWS_BACKENDS_MAX = 1000,
	ROWS_FRAME_MIN = 110, /* bytes, without the checksum that ends a frame on the wire */
	ROWS_FRAME_MAX = 1500,
};

struct rows_options {
	const char *mode;  /* as in the file, and "gue-second-chance"; NULL: all */
	bool plain4;       /* IPv4 in IPv4 without tracking: always alone */
	uint32_t rounds;   /* samples of each row */
	uint32_t repeat;   /* packets of a sample */
	uint32_t backends; /* of the pool */
	uint32_t frame;    /* bytes of a packet, with its Ethernet header */
	void (*progress)(void *arg, uint32_t done, uint32_t all); /* NULL: none */
	void *arg;
};

struct row {
	const char *mode;
	bool ipv6, always;
	struct measure_spread ns; /* a packet */
};

struct rows {
	struct row rows[ROWS_MAX];
	size_t count;
	double overhead_ns; /* that was taken off */
	bool quick;
};

bool rows_is_mode(const char *mode);
/* 0 or -errno. */
int rows_measure(const struct rows_options *options, struct rows *ret, struct err *err);
