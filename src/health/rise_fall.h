/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rise and fall: from single results to a state, as a pure function over a caller's struct. Only
 * results in a row count; the first that contradicts them begins anew. An unknown state is decided
 * by the first result.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "health/health.h"

struct rise_fall {
	uint32_t rise, fall; /* 1 or more */
	enum health_state state;
	uint32_t run; /* results in a row that contradict the state */
};

/* Returns whether the state changed. */
static inline bool rise_fall_step(struct rise_fall *counts, bool success)
{
	enum health_state seen = success ? HEALTH_HEALTHY : HEALTH_UNHEALTHY;
	uint32_t needed = success ? counts->rise : counts->fall;

	if (seen == counts->state) {
		counts->run = 0;
		return false;
	}
	counts->run++;
	if (counts->state != HEALTH_UNKNOWN && counts->run < needed)
		return false;
	counts->state = seen;
	counts->run = 0;
	return true;
}
