/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting in tests: the loop runs until a condition holds, with an upper bound that only a failed
 * test meets. For one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* Generous, for a machine under load; no passing test comes near it. */
enum { LOOP_WAIT_MS = 30000 };

typedef bool loop_condition(void *arg);

static inline void loop_wake(uv_timer_t *timer)
{
	(void)timer;
}

/* Returns whether the condition came true. It is looked at every 10 ms, and after every event. */
static inline bool loop_until(uv_loop_t *loop, loop_condition *condition, void *arg)
{
	uint64_t end_ms = uv_hrtime() / 1000000 + LOOP_WAIT_MS;
	uv_timer_t timer;
	bool held;

	uv_timer_init(loop, &timer);
	uv_timer_start(&timer, loop_wake, 10, 10);
	while (!(held = condition(arg)) && uv_hrtime() / 1000000 < end_ms)
		uv_run(loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(loop, UV_RUN_NOWAIT);
	return held;
}
