/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of milliseconds, one value a round each, of the calling thread's own time: that counts,
 * whatever else the machine does. A row may name another as its base, which it is compared with
 * round by round, for what slows one slows both. One thread.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

enum { TIMING_ROUNDS = 9 };

/* Of this thread, with no meaning but by differences. */
uint64_t timing_spent_ns(void);
/* What was spent since then is the row's next value. A row begins with the first; names stay the
 * caller's. */
void timing_note(const char *row, uint64_t since_ns);
/* Any value for the row, of whatever its name says. */
void timing_add(const char *row, double value);
/* The row's ratio is `base` through this one; both have noted values of the same rounds. */
void timing_compare(const char *row, const char *base);
/* Prints least, middle and most of each row, and its ratio's middle; the same as JSON, for
 * json_decref. */
json_t *timing_report(void);
