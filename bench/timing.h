/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Milliseconds of the calling thread's own time, as values of a report's rows: that counts,
 * whatever else the machine does. One thread.
 */
#pragma once

#include <stdint.h>

enum { TIMING_ROUNDS = 9 };

/* Of this thread, with no meaning but by differences. */
uint64_t timing_spent_ns(void);
/* What was spent since then is the row's next value. */
void timing_note(const char *row, uint64_t since_ns);
/* Samples of this thread come before all others on its core, as far as that may be had: they are
 * short, and one during which another one ran is lost. */
void timing_go_first(void);
