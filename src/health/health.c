/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Health checks. A check is a timer and, at times, a probe:
 *
 *            timer                    done, or timeout
 *   WAITING -------> probe.start ----------------------> rise_fall_step -> WAITING
 *
 * The timer is one of the loop's (a heap), so that thousands of checks cost a logarithm each and
 * nothing walks over all of them. Beginnings are spread at random, over SPREAD_MS where nothing is
 * known yet (a decision is wanted soon) and over the interval otherwise; each later probe comes an
 * interval after the one before, give or take a tenth, so that checks do not fall into step, with
 * each other or with those of other nodes.
 *
 * What the backend did counts, and only that. So a probe that could not be run for want of
 * descriptors or ports changes nothing but a counter; and a loop that was held up by other work
 * looks at the sockets once more before it calls a probe too late (GRACE), for the answer may have
 * waited there in time.
 *
 * How to probe is a row of `types`; a new kind of check is a struct probe_type (probe.h).
 */
#include "health/health.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/time.h"
#include "health/probe.h"
#include "health/rise_fall.h"

enum {
	SPREAD_MS = 100,
	JITTER = 10, /* a tenth of the interval, up and down */
	GRACE_MS = 1,
};

static const struct probe_type *const types[] = {
	[HEALTH_TCP] = &probe_tcp,
};

enum phase { WAITING, PROBING, GRACE };

struct health_check {
	LIST_ENTRY(health_check) link;
	struct health *health;
	struct health_spec spec;
	struct health_status status;
	struct rise_fall counts;
	health_changed *changed;
	void *arg;
	uv_timer_t timer;
	enum phase phase;
	struct probe *probe; /* while not WAITING */
	uint64_t started_ns; /* the last probe */
};

struct health {
	uv_loop_t *loop;
	LIST_HEAD(, health_check) checks;
	uint64_t random;
	size_t held; /* checks whose memory is not free yet */
	bool closing;
};

/* xorshift64*, for spreading only. Below `limit`, which is 1 or more. */
static uint64_t random_below(struct health *health, uint64_t limit)
{
	health->random ^= health->random >> 12;
	health->random ^= health->random << 25;
	health->random ^= health->random >> 27;
	return (health->random * 0x2545f4914f6cdd1dULL >> 32) % limit;
}

int health_open(uv_loop_t *loop, struct health **ret)
{
	struct health *health = calloc(1, sizeof(*health));

	if (!health)
		return -ENOMEM;
	health->loop = loop;
	health->random = time_now_ns() | 1;
	*ret = health;
	return 0;
}

static void on_timer(uv_timer_t *timer);

static void wait_ms(struct health_check *check, uint64_t ms)
{
	uv_timer_start(&check->timer, on_timer, ms, 0);
}

static void wait_interval(struct health_check *check)
{
	uint64_t interval_ms = check->spec.interval_ms;
	uint64_t tenth_ms = interval_ms / JITTER;
	uint64_t due_ms = interval_ms - tenth_ms + random_below(check->health, 2 * tenth_ms + 1);
	uint64_t elapsed_ms = (time_now_ns() - check->started_ns) / TIME_MILLI_NS;

	wait_ms(check, due_ms > elapsed_ms ? due_ms - elapsed_ms : 1);
}

static void note(struct health_check *check, enum probe_result result, const char *error)
{
	struct health_status *status = &check->status;
	const char *prefix = result == PROBE_NOT_RUN ? "probe not run: " : "";

	snprintf(status->last_error, sizeof(status->last_error), "%s%s", prefix, error);
	if (result == PROBE_NOT_RUN) {
		status->not_run++;
	} else if (result == PROBE_FAILED) {
		status->failures++;
	} else {
		status->successes++;
		status->latency_ns = time_now_ns() - check->started_ns;
	}
}

/* The callback comes last: it may remove the check. */
static void finish(void *arg, enum probe_result result, const char *error)
{
	struct health_check *check = arg;

	check->probe = NULL;
	check->phase = WAITING;
	note(check, result, error);
	wait_interval(check);
	if (result == PROBE_NOT_RUN || !rise_fall_step(&check->counts, result == PROBE_SUCCEEDED))
		return;
	check->status.state = check->counts.state;
	check->status.since_ns = time_now_ns();
	check->changed(check->arg, check, check->status.state);
}

static void start_probe(struct health_check *check)
{
	struct probe_order order = {
		.loop = check->health->loop,
		.spec = &check->spec,
		.done = finish,
		.arg = check,
	};
	const char *error = "";
	enum probe_result result;

	/* The loop's time is that of its last wait: a timeout must not begin in the past. */
	uv_update_time(check->health->loop);
	check->started_ns = time_now_ns();
	result = types[check->spec.type]->start(&order, &check->probe, &error);
	if (result != PROBE_RUNNING) {
		finish(check, result, error);
		return;
	}
	check->phase = PROBING;
	wait_ms(check, check->spec.timeout_ms);
}

static void time_out(struct health_check *check)
{
	char error[64];

	types[check->spec.type]->cancel(check->probe);
	snprintf(error, sizeof(error), "no answer within %u ms", check->spec.timeout_ms);
	finish(check, PROBE_FAILED, error);
}

static void on_timer(uv_timer_t *timer)
{
	struct health_check *check = timer->data;

	switch (check->phase) {
	case WAITING: start_probe(check); break;
	case PROBING:
		check->phase = GRACE;
		wait_ms(check, GRACE_MS);
		break;
	case GRACE: time_out(check); break;
	}
}

static bool is_valid(const struct health_spec *spec)
{
	return (unsigned)spec->type < sizeof(types) / sizeof(*types) && types[spec->type] &&
	       spec->interval_ms && spec->timeout_ms && spec->rise && spec->fall &&
	       !addr_is_none(&spec->address) && spec->port;
}

int health_add(struct health *health, const struct health_spec *spec, health_changed *changed,
	       void *arg, struct health_check **ret)
{
	struct health_check *check;
	uint64_t spread_ms = spec->interval_ms;

	if (!is_valid(spec))
		return -EINVAL;
	check = calloc(1, sizeof(*check));
	if (!check)
		return -ENOMEM;
	check->health = health;
	check->spec = *spec;
	check->changed = changed;
	check->arg = arg;
	check->counts = (struct rise_fall){spec->rise, spec->fall, spec->initial, 0};
	check->status.state = spec->initial;
	check->status.since_ns = time_now_ns();
	uv_timer_init(health->loop, &check->timer);
	check->timer.data = check;
	if (spec->initial == HEALTH_UNKNOWN && spread_ms > SPREAD_MS)
		spread_ms = SPREAD_MS;
	wait_ms(check, random_below(health, spread_ms));
	LIST_INSERT_HEAD(&health->checks, check, link);
	health->held++;
	*ret = check;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct health_check *check = handle->data;
	struct health *health = check->health;

	free(check);
	if (--health->held == 0 && health->closing)
		free(health);
}

void health_remove(struct health_check *check)
{
	if (check->phase != WAITING)
		types[check->spec.type]->cancel(check->probe);
	LIST_REMOVE(check, link);
	uv_close((uv_handle_t *)&check->timer, on_closed);
}

const struct health_status *health_status(const struct health_check *check)
{
	return &check->status;
}

void health_close(struct health *health)
{
	struct health_check *check;

	while ((check = LIST_FIRST(&health->checks)))
		health_remove(check);
	health->closing = true;
	if (health->held == 0)
		free(health);
}
