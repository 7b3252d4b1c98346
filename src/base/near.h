/* SPDX-License-Identifier: BSD-2-Clause */
/* How far a word is from one that may be meant by it. Pure; any thread. */
#pragma once

#include <stddef.h>
#include <string.h>

enum { NEAR_MAX = 64 };

/* The number of letters to add, drop, change or swap with their neighbour (optimal string
 * alignment). Words are cut to NEAR_MAX letters. */
static inline size_t near_distance(const char *a, const char *b)
{
	size_t rows[3][NEAR_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];
	size_t length_a = strnlen(a, NEAR_MAX), length_b = strnlen(b, NEAR_MAX);

	for (size_t j = 0; j <= length_b; j++)
		last[j] = j;
	for (size_t i = 1; i <= length_a; i++) {
		size_t *spare = before;

		now[0] = i;
		for (size_t j = 1; j <= length_b; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

			best = last[j] + 1 < best ? last[j] + 1 : best;
			best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[length_b];
}
