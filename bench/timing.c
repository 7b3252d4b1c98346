/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/timing.h"

#include <sched.h>
#include <time.h>

#include "base/time.h"
#include "bench/report.h"

uint64_t timing_spent_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * TIME_SECOND_NS + (uint64_t)now.tv_nsec;
}

void timing_note(const char *row, uint64_t since_ns)
{
	report_value(row, "ms", (double)(timing_spent_ns() - since_ns) / TIME_MILLI_NS);
}

void timing_go_first(void)
{
	const struct sched_param first = {.sched_priority = 1};

	sched_setscheduler(0, SCHED_FIFO, &first);
}
