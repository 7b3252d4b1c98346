/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Health checks. A check is somebody's interest in a target: its own counting of results and its
 * own state. What is probed, when, and by which kind of probe is the target's (target.c); how to
 * probe is a row of target_types, and a new kind of check is a struct probe_type (probe/probe.h).
 *
 * So a backend in many pools with the same check is probed once, and each pool still counts for
 * itself: one that joined later, or began with another state, comes to its own conclusion.
 */
#include "health/health.h"

#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "health/target.h"

const struct probe_type *const target_types[HEALTH_TYPES] = {
	[HEALTH_TCP] = &probe_tcp,   [HEALTH_HTTP] = &probe_http, [HEALTH_HTTPS] = &probe_https,
	[HEALTH_UDP] = &probe_udp,   [HEALTH_DNS] = &probe_dns,   [HEALTH_ICMP] = &probe_icmp,
	[HEALTH_EXEC] = &probe_exec,
};

/* Which types take a text. */
static const uint32_t texts_of[HEALTH_TYPES] = {
	[HEALTH_HTTP] = 1U << HEALTH_PATH | 1U << HEALTH_HOST | 1U << HEALTH_BODY,
	[HEALTH_HTTPS] = 1U << HEALTH_PATH | 1U << HEALTH_HOST | 1U << HEALTH_BODY |
			 1U << HEALTH_SNI | 1U << HEALTH_CA_FILE | 1U << HEALTH_CERT_FILE |
			 1U << HEALTH_KEY_FILE,
	[HEALTH_UDP] = 1U << HEALTH_SEND | 1U << HEALTH_RECEIVE,
	[HEALTH_DNS] = 1U << HEALTH_QUERY,
	[HEALTH_EXEC] = 1U << HEALTH_COMMAND,
};

int health_open(uv_loop_t *loop, struct health **ret)
{
	struct health *health = calloc(1, sizeof(*health));

	if (!health)
		return -ENOMEM;
	health->loop = loop;
	pace_init(&health->pace, loop, target_begin);
	health->held = 1;
	health->random = time_now_ns() | 1;
	*ret = health;
	return 0;
}

void health_set_way(struct health *health, health_prepare *prepare, void *arg)
{
	health->prepare = prepare;
	health->prepare_arg = arg;
}

int health_expect(struct health_spec *spec, unsigned status)
{
	unsigned bit = status - HEALTH_STATUS_MIN;

	if (status < HEALTH_STATUS_MIN || status > HEALTH_STATUS_MAX)
		return -EINVAL;
	spec->statuses[bit / 64] |= 1ULL << bit % 64;
	return 0;
}

static bool has_right_texts(const struct health_spec *spec)
{
	for (int i = 0; i < HEALTH_TEXTS; i++) {
		size_t length = spec->texts[i].length;

		if (length > HEALTH_TEXT_MAX || (length && !(texts_of[spec->type] >> i & 1)))
			return false;
	}
	return true;
}

static bool has_right_numbers(const struct health_spec *spec)
{
	return spec->interval_ms && spec->timeout_ms && spec->rise && spec->fall &&
	       spec->jitter <= HEALTH_JITTER_MAX && !addr_is_none(&spec->address);
}

static bool is_valid(const struct health *health, const struct health_spec *spec)
{
	const struct probe_type *type;

	if ((unsigned)spec->type >= HEALTH_TYPES || !target_types[spec->type] ||
	    !has_right_numbers(spec) || !has_right_texts(spec))
		return false;
	type = target_types[spec->type];
	if (spec->way && (!health->prepare || !type->has_ways))
		return false;
	return (spec->port || !type->has_port) && (!type->is_valid || type->is_valid(spec));
}

int health_add(struct health *health, const struct health_spec *spec, health_changed *changed,
	       void *arg, struct health_check **ret)
{
	struct health_check *check;
	struct spec *kept;

	if (!is_valid(health, spec))
		return -EINVAL;
	kept = spec_new(spec);
	check = calloc(1, sizeof(*check));
	if (kept && check)
		check->target = target_get(health, kept);
	if (!check || !check->target) {
		if (!check)
			free(kept);
		free(check);
		return -ENOMEM;
	}
	check->changed = changed;
	check->arg = arg;
	check->counts = (struct rise_fall){spec->rise, spec->fall, spec->initial, 0};
	check->status.state = spec->initial;
	check->status.since_ns = time_now_ns();
	LIST_INSERT_HEAD(&check->target->checks, check, link);
	health->sums.checks++;
	target_hurry(check->target, spec->initial);
	*ret = check;
	return 0;
}

void health_remove(struct health_check *check)
{
	struct target *target = check->target;

	if (target->next == check)
		target->next = LIST_NEXT(check, link);
	LIST_REMOVE(check, link);
	free(check);
	target->health->sums.checks--;
	target_put(target);
}

const struct health_status *health_status(const struct health_check *check)
{
	return &check->status;
}

struct health_sums health_sums(const struct health *health)
{
	return health->sums;
}

const char *health_reason_name(enum health_reason reason)
{
	static const char *const names[HEALTH_REASONS] = {"timeout", "connect", "answer"};

	return names[reason];
}

const char *health_type_name(enum health_type type)
{
	return target_types[type]->name;
}

void health_let_go(struct health *health)
{
	if (--health->held == 0)
		free(health);
}

static void on_closed(uv_handle_t *handle)
{
	health_let_go(handle->data);
}

static void remove_all(struct targets *bucket)
{
	struct target *target;

	while ((target = LIST_FIRST(bucket)))
		health_remove(LIST_FIRST(&target->checks));
}

void health_close(struct health *health)
{
	for (int i = 0; i < TARGET_BUCKETS; i++)
		remove_all(&health->buckets[i]);
	for (int i = 0; i < HEALTH_TYPES; i++) {
		if (health->shared[i])
			target_types[i]->close(health->shared[i]);
	}
	health->pace.timer.data = health;
	uv_close((uv_handle_t *)&health->pace.timer, on_closed);
}
