/* SPDX-License-Identifier: BSD-2-Clause */
/* What numbers have in common. Pure; any thread. */
#pragma once

#include <stdint.h>

/* The greatest that divides both; the other one where one is 0. */
static inline uint32_t factor_common(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}
