/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clock, which only goes forward, for every interval and timer. Nanoseconds in 64 bits. And
 * the wall's, which may be set, for what must outlive a boot. Any thread.
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

/* CLOCK_MONOTONIC_COARSE, which goes on with the kernel's ticks: the clock of flow entries. */
static inline uint64_t time_coarse_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * TIME_SECOND_NS + (uint64_t)now.tv_nsec;
}

static inline uint64_t time_now_ms(void)
{
	return time_now_ns() / TIME_MILLI_NS;
}

/* CLOCK_REALTIME. */
static inline uint64_t time_wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / TIME_MILLI_NS;
}

/* So much later, or UINT64_MAX: never. */
static inline uint64_t time_later_ms(uint64_t from_ms, uint64_t by_ms)
{
	return from_ms + by_ms < from_ms ? UINT64_MAX : from_ms + by_ms;
}

/* Seconds since then. */
static inline double time_since_s(uint64_t then_ns)
{
	return (double)(time_now_ns() - then_ns) / (double)TIME_SECOND_NS;
}
