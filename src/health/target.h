/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of this room share. A target is something that is probed, for one check or for
 * many: the timer, the probe under way, and whom to tell. It lives while it has a check.
 */
#pragma once

#include <sys/queue.h>

#include "health/pace.h"
#include "health/probe/probe.h"
#include "health/rise_fall.h"
#include "health/spec.h"

enum { TARGET_BUCKETS = 16384 };

enum phase { WAITING, PROBING, GRACE };

struct health_check {
	LIST_ENTRY(health_check) link; /* of its target */
	struct target *target;
	struct health_status status;
	struct rise_fall counts;
	health_changed *changed;
	void *arg;
};

struct target {
	LIST_ENTRY(target) link; /* of its bucket */
	TAILQ_ENTRY(target) paced_link;
	struct health *health;
	struct spec *spec;
	LIST_HEAD(, health_check) checks;
	struct health_check *next; /* whom to tell next; a check that is removed is stepped over */
	bool telling;
	bool paced; /* it waits for its turn, and not for the timer */
	bool fresh; /* it has not been probed, or once and in its turn */
	uv_timer_t timer;
	enum phase phase;
	struct probe *probe; /* while not WAITING */
	uint64_t started_ns; /* the last probe */
	uint64_t due_ms;     /* of the timer */
};

struct health {
	uv_loop_t *loop;
	LIST_HEAD(targets, target) buckets[TARGET_BUCKETS];
	void *shared[HEALTH_TYPES]; /* each type's own */
	health_prepare *prepare;    /* NULL: there are no ways */
	void *prepare_arg;
	struct pace pace;
	uint64_t random;
	uint64_t late_ms[2]; /* the latest that a timer was, in this second and the one before */
	uint64_t late_since_ms;
	size_t held; /* targets whose memory is not free yet, and our own timer */
	struct health_sums sums;
};

/* Something of it is closed; the last one frees it. */
void health_let_go(struct health *health);

extern const struct probe_type *const target_types[HEALTH_TYPES];

/* The first probe of one whose turn has come. */
void target_begin(struct target *target);
/* The target of what `spec` says, a new one if there is none; takes `spec` in any case. NULL: out
 * of memory. */
struct target *target_get(struct health *health, struct spec *spec);
/* A check has joined that begins with this state: the next probe is not far. */
void target_hurry(struct target *target, enum health_state initial);
/* A check has left. */
void target_put(struct target *target);
