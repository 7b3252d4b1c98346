/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A turn of the pace is a turn of the loop: what it begins, and what became of those begun before.
 * How long that takes depends on the kind of probe (a connection is 50 microseconds, a TLS
 * handshake two milliseconds), so the number is found out: half as many after a turn that took this
 * thread longer than TURN_NS, more after one that took a small part of it. It is the thread's own
 * time that counts: on a machine that has other work each turn comes late, and then may begin as
 * many as are due by then.
 *
 * Those of a pool come one after the other, so that its slots are written once or twice for all of
 * its backends and not once for each.
 */
#include "health/pace.h"

#include <time.h>

#include "base/time.h"
#include "health/target.h"

enum {
	RATE_MS = 10, /* begun in a millisecond */
	BATCH_MIN = 2,
	BATCH_MAX = 500,
	TURN_NS = 8 * 1000 * 1000,
};

static uint64_t thread_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * TIME_SECOND_NS + (uint64_t)now.tv_nsec;
}

static void adapt(struct pace *pace, uint64_t took_ns)
{
	if (took_ns > TURN_NS && pace->batch > BATCH_MIN)
		pace->batch /= 2;
	else if (took_ns < TURN_NS / 2 && pace->batch < BATCH_MAX)
		pace->batch += pace->batch / 2;
}

/* How many this turn may begin. */
static uint64_t allowance(struct pace *pace)
{
	uint64_t now_ns = time_now_ns(), spent_ns = thread_ns();
	uint64_t due = (now_ns - pace->last_ns) * RATE_MS / TIME_MILLI_NS;

	adapt(pace, spent_ns - pace->spent_ns);
	pace->last_ns = now_ns;
	pace->spent_ns = spent_ns;
	return due < pace->batch ? due + 1 : pace->batch;
}

static void on_turn(uv_timer_t *timer)
{
	struct pace *pace = timer->data;
	uint64_t left = allowance(pace);
	struct target *target;

	while (left-- && (target = TAILQ_FIRST(&pace->waiting))) {
		pace_remove(pace, target);
		pace->begin(target);
	}
	if (!TAILQ_EMPTY(&pace->waiting))
		uv_timer_start(timer, on_turn, 1, 0);
}

void pace_init(struct pace *pace, uv_loop_t *loop, pace_begin *begin)
{
	uv_timer_init(loop, &pace->timer);
	pace->timer.data = pace;
	pace->begin = begin;
	pace->batch = BATCH_MIN;
	TAILQ_INIT(&pace->waiting);
}

void pace_add(struct pace *pace, struct target *target)
{
	if (target->paced)
		return;
	target->paced = true;
	TAILQ_INSERT_TAIL(&pace->waiting, target, paced_link);
	if (uv_is_active((uv_handle_t *)&pace->timer))
		return;
	pace->last_ns = time_now_ns();
	pace->spent_ns = thread_ns();
	uv_timer_start(&pace->timer, on_turn, 0, 0);
}

void pace_remove(struct pace *pace, struct target *target)
{
	if (!target->paced)
		return;
	target->paced = false;
	TAILQ_REMOVE(&pace->waiting, target, paced_link);
}
