/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a benchmark found, in the one shape that tools/bench reads (bench/README.md): a row a
 * figure, with a value a run. Rows stand in the order of their first values. What goes wrong ends
 * the program. One thread.
 */
#pragma once

#include <stdint.h>

/* One more value of the row, which begins with its first one. The texts are copied. */
void report_value(const char *row, const char *unit, double value);
/* The row is to be seen as a multiple of another one: run by run where both have as many. */
void report_compare(const char *row, const char *base);
/* That multiple, or the value where the row has no base, is meant to be at most this. */
void report_at_most(const char *row, double limit);
void report_at_least(const char *row, double limit);
/* The value itself is meant to be at most this, base or not. */
void report_limit(const char *row, double limit);
/* A word on the row, for who reads the table. */
void report_note(const char *row, const char *note);
/* The name of how a packet ended (dp/verdict.h), for rows. */
const char *report_verdict(uint32_t verdict);
/* All rows on the standard output, where nothing else may be; they are forgotten then. */
void report_print(void);
