/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * First probes, of targets of which nothing is known: as soon as may be and in the order in which
 * they were added, but so many a millisecond at most, and no more in a turn of the loop than keeps
 * it in time. The loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

struct target;

typedef void pace_begin(struct target *target);

struct pace {
	uv_timer_t timer;
	TAILQ_HEAD(, target) waiting;
	pace_begin *begin;
	uint64_t last_ns; /* the turn before; and the time of this thread then */
	uint64_t spent_ns;
	uint32_t batch; /* how many a turn may begin */
};

/* The timer is the caller's to close. */
void pace_init(struct pace *pace, uv_loop_t *loop, pace_begin *begin);
/* `target->paced` is true while it waits; the callback comes later, never from within. */
void pace_add(struct pace *pace, struct target *target);
void pace_remove(struct pace *pace, struct target *target);
