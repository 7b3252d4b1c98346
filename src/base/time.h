/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clocks: one that only goes forward, for every interval and timer, and the wall clock for
 * people. Nanoseconds in 64 bits. Any thread.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#define TIME_SECOND_NS 1000000000ULL
#define TIME_MILLI_NS  1000000ULL

/* CLOCK_MONOTONIC: what BPF's ktime helpers read too. */
static inline uint64_t time_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * TIME_SECOND_NS + (uint64_t)now.tv_nsec;
}

static inline uint64_t time_wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * TIME_SECOND_NS + (uint64_t)now.tv_nsec;
}
