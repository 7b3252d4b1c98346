/* SPDX-License-Identifier: BSD-2-Clause */
/* How many of what, in words. Pure; any thread. */
#pragma once

#include <stdint.h>

/* The word that goes with the count: plural(n, "queue", "queues"). */
static inline const char *plural(uint64_t count, const char *one, const char *more)
{
	return count == 1 ? one : more;
}
