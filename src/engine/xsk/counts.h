/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What workers count, each in a record of its own, in a pinned table: a daemon that is killed
 * leaves it, and the next one adds it to what the kernel's program has counted. One thread, but for
 * the workers' own counting.
 */
#pragma once

#include "engine/native.h"

struct dp;

struct xsk_counts {
	int fd;
	struct native_counts *of; /* one a worker */
	uint32_t count;
};

/* What an earlier daemon's workers have counted goes on as the kernel's, if its tables go on, too;
 * to be called once this one's program is attached, whatever its engine. */
void xsk_counts_fold(struct dp *dp);
/* Makes records for so many workers, and pins them where the tables are. */
int xsk_counts_open(struct dp *dp, uint32_t count, struct xsk_counts *ret, struct err *err);
void xsk_counts_close(struct xsk_counts *counts);
