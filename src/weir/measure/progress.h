/* SPDX-License-Identifier: BSD-2-Clause */
/* A line on standard error while something takes longer than two seconds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
	uint64_t began_ms; /* 0: not yet */
	bool shown;
};

/* `arg` is a struct progress. */
void progress_show(void *arg, uint32_t done, uint32_t all);
