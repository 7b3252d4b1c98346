/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target's life is a timer and, at times, a probe:
 *
 *            timer                    done, or timeout
 *   WAITING -------> probe.start ----------------------> each check's rise_fall_step -> WAITING
 *
 * The timer is one of the loop's (a heap), so that thousands of targets cost a logarithm each and
 * nothing walks over all of them. Where nothing is known yet a decision is wanted soon: such first
 * probes follow each other as fast as may be (pace.c), and the second ones come at random times
 * within the interval. Other beginnings are spread at random over the interval. Each later probe
 * comes an interval after the one before, give or take the jitter, so that targets do not fall into
 * step, with each other or with those of other nodes.
 *
 * What the backend did counts, and only that. So a probe that could not be run for want of
 * descriptors or ports changes nothing but a counter; and a loop that was held up by other work
 * looks at the sockets again before it calls a probe too late (GRACE), for the answer may have
 * waited there in time: once more where the loop is in time, and as long as a few steps of a
 * conversation take where it is behind, for two timeouts at most.
 */
#include "health/target.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/time.h"

enum {
	GRACE_MS = 1,
	STEPS = 4, /* of a probe: how often it waits for the loop */
	LATE_WINDOW_MS = 1000,
};

/* xorshift64*, for spreading only. Below `limit`, which is 1 or more. */
static uint64_t random_below(struct health *health, uint64_t limit)
{
	health->random ^= health->random >> 12;
	health->random ^= health->random << 25;
	health->random ^= health->random >> 27;
	return (health->random * 0x2545f4914f6cdd1dULL >> 32) % limit;
}

static void on_timer(uv_timer_t *timer);

static void wait_ms(struct target *target, uint64_t ms)
{
	target->due_ms = time_now_ms() + ms;
	uv_timer_start(&target->timer, on_timer, ms, 0);
}

static void wait_interval(struct target *target, bool undecided)
{
	const struct health_spec *spec = &target->spec->spec;
	uint64_t interval_ms = undecided && spec->fast_interval_ms ? spec->fast_interval_ms
								   : spec->interval_ms;
	uint64_t jitter_ms = interval_ms * spec->jitter / 100;
	uint64_t due_ms = interval_ms - jitter_ms + random_below(target->health, 2 * jitter_ms + 1);
	uint64_t elapsed_ms = (time_now_ns() - target->started_ns) / TIME_MILLI_NS;

	if (target->fresh && !undecided)
		due_ms = random_below(target->health, interval_ms) + 1;
	target->fresh = target->fresh && undecided;
	wait_ms(target, due_ms > elapsed_ms ? due_ms - elapsed_ms : 1);
}

static void note(struct health_status *status, enum probe_result result, const char *error,
		 uint64_t latency_ns)
{
	snprintf(status->last_error, sizeof(status->last_error), "%s%s",
		 result == PROBE_NOT_RUN ? "probe not run: " : "", error);
	/* A server's words are in it, such as the names in its certificate. */
	escape_controls(status->last_error);
	if (result == PROBE_NOT_RUN) {
		status->not_run++;
	} else if (result == PROBE_SUCCEEDED) {
		status->successes++;
		status->latency_ns = latency_ns;
	} else {
		status->failures++;
	}
}

/* The callback comes last: it may remove the check. Returns whether its state is in doubt. */
static bool tell(struct health_check *check, enum probe_result result, const char *error)
{
	uint64_t now_ns = time_now_ns();
	bool changed = false, undecided;

	note(&check->status, result, error, now_ns - check->target->started_ns);
	if (result != PROBE_NOT_RUN)
		changed = rise_fall_step(&check->counts, result == PROBE_SUCCEEDED);
	undecided = check->counts.state == HEALTH_UNKNOWN || check->counts.run;
	if (changed) {
		check->status.state = check->counts.state;
		check->status.since_ns = now_ns;
		check->changed(check->arg, check, check->status.state);
	}
	return undecided;
}

static void end(struct target *target);

static void count_result(struct health_sums *sums, enum probe_result result)
{
	sums->not_run += result == PROBE_NOT_RUN;
	sums->failed[HEALTH_REASON_ANSWER] += result == PROBE_FAILED;
	sums->failed[HEALTH_REASON_CONNECT] += result == PROBE_REFUSED;
	sums->failed[HEALTH_REASON_TIMEOUT] += result == PROBE_LATE;
}

static void finish(void *arg, enum probe_result result, const char *error)
{
	struct target *target = arg;
	struct health_check *check = LIST_FIRST(&target->checks);
	bool undecided = false;

	count_result(&target->health->sums, result);
	target->probe = NULL;
	target->phase = WAITING;
	target->telling = true;
	for (; check; check = target->next) {
		target->next = LIST_NEXT(check, link);
		undecided |= tell(check, result, error);
	}
	target->telling = false;
	if (LIST_EMPTY(&target->checks))
		end(target);
	else
		wait_interval(target, undecided);
}

static void start_probe(struct target *target)
{
	struct health *health = target->health;
	const struct health_spec *spec = &target->spec->spec;
	struct probe_order order = {
		.loop = health->loop,
		.spec = spec,
		.shared = &health->shared[spec->type],
		.prepare = health->prepare,
		.prepare_arg = health->prepare_arg,
		.done = finish,
		.arg = target,
	};
	const char *error = "";
	enum probe_result result;

	/* The loop's time is that of its last wait: a timeout must not begin in the past. */
	uv_update_time(health->loop);
	target->started_ns = time_now_ns();
	health->sums.started++;
	result = target_types[spec->type]->start(&order, &target->probe, &error);
	if (result != PROBE_RUNNING) {
		finish(target, result, error);
		return;
	}
	target->phase = PROBING;
	wait_ms(target, spec->timeout_ms);
}

static void time_out(struct target *target)
{
	const struct health_spec *spec = &target->spec->spec;
	char error[64];

	target_types[spec->type]->cancel(target->probe);
	snprintf(error, sizeof(error), "no answer within %u ms", spec->timeout_ms);
	finish(target, PROBE_LATE, error);
}

/* How far the loop is behind. */
static uint64_t note_late(struct health *health, uint64_t due_ms)
{
	uint64_t now_ms = time_now_ms(), late_ms = now_ms > due_ms ? now_ms - due_ms : 0;

	if (now_ms - health->late_since_ms > LATE_WINDOW_MS) {
		health->late_ms[1] = health->late_ms[0];
		health->late_ms[0] = 0;
		health->late_since_ms = now_ms;
	}
	if (late_ms > health->late_ms[0])
		health->late_ms[0] = late_ms;
	return health->late_ms[0] > health->late_ms[1] ? health->late_ms[0] : health->late_ms[1];
}

static uint64_t grace_ms(const struct target *target, uint64_t late_ms)
{
	uint64_t most_ms = 2 * (uint64_t)target->spec->spec.timeout_ms;
	uint64_t grace = GRACE_MS + STEPS * (late_ms > GRACE_MS ? late_ms - GRACE_MS : 0);

	return grace < most_ms ? grace : most_ms;
}

static void on_timer(uv_timer_t *timer)
{
	struct target *target = timer->data;
	uint64_t late_ms = note_late(target->health, target->due_ms);

	switch (target->phase) {
	case WAITING: start_probe(target); break;
	case PROBING:
		target->phase = GRACE;
		wait_ms(target, grace_ms(target, late_ms));
		break;
	case GRACE: time_out(target); break;
	}
}

void target_begin(struct target *target)
{
	start_probe(target);
}

static struct targets *bucket_of(struct health *health, const struct spec *spec)
{
	return &health->buckets[(spec->hash ^ spec->hash >> 32) % TARGET_BUCKETS];
}

struct target *target_get(struct health *health, struct spec *spec)
{
	struct targets *bucket = bucket_of(health, spec);
	struct target *target;

	LIST_FOREACH(target, bucket, link)
	{
		if (spec_equal(target->spec, spec)) {
			free(spec);
			return target;
		}
	}
	target = calloc(1, sizeof(*target));
	if (!target) {
		free(spec);
		return NULL;
	}
	target->health = health;
	target->spec = spec;
	uv_timer_init(health->loop, &target->timer);
	target->timer.data = target;
	LIST_INSERT_HEAD(bucket, target, link);
	health->held++;
	health->sums.probes++;
	return target;
}

void target_hurry(struct target *target, enum health_state initial)
{
	struct health *health = target->health;
	uint64_t wait;

	if (target->phase != WAITING || target->paced)
		return;
	if (initial == HEALTH_UNKNOWN) {
		uv_timer_stop(&target->timer);
		target->fresh = !target->started_ns;
		pace_add(&health->pace, target);
		return;
	}
	wait = random_below(health, target->spec->spec.interval_ms);
	if (!uv_is_active((uv_handle_t *)&target->timer) ||
	    wait < uv_timer_get_due_in(&target->timer))
		wait_ms(target, wait);
}

static void on_closed(uv_handle_t *handle)
{
	struct target *target = handle->data;
	struct health *health = target->health;

	free(target->spec);
	free(target);
	health_let_go(health);
}

static void end(struct target *target)
{
	if (target->phase != WAITING)
		target_types[target->spec->spec.type]->cancel(target->probe);
	pace_remove(&target->health->pace, target);
	LIST_REMOVE(target, link);
	target->health->sums.probes--;
	uv_close((uv_handle_t *)&target->timer, on_closed);
}

void target_put(struct target *target)
{
	if (LIST_EMPTY(&target->checks) && !target->telling)
		end(target);
}
