/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Health checks: probes of backends on the event loop, with `rise` and `fall` counting
 * consecutive results. A check begins UNKNOWN (or as the caller says) and its first result
 * decides at once; from then on `fall` failures in a row take it down and `rise` successes bring
 * it up. Probes are spread over the interval, a probe that outlasts its timeout failed, and
 * one check has one probe under way. All calls and callbacks on the loop's thread.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

#include "base/addr.h"
#include "base/err.h"

enum health_state { HEALTH_UNKNOWN, HEALTH_HEALTHY, HEALTH_UNHEALTHY };

enum health_type { HEALTH_TCP };

struct health_spec {
	enum health_type type;
	struct addr address;
	uint16_t port;                    /* host order */
	uint32_t interval_ms, timeout_ms; /* 1 or more */
	uint32_t rise, fall;              /* 1 or more */
	enum health_state initial;
};

struct health_status {
	enum health_state state;
	uint64_t since_ns;   /* of the last change, monotonic */
	uint64_t latency_ns; /* of the last success */
	uint64_t successes, failures;
	uint64_t not_run;     /* this host lacked what a probe needs; changes no state */
	char last_error[128]; /* "" after a success; what failed, in words */
};

struct health; /* all checks of a daemon */
struct health_check;

/* Called after a change of state; the check's status is the new one. It may remove any check. */
typedef void health_changed(void *arg, struct health_check *check, enum health_state state);

int health_open(uv_loop_t *loop, struct health **ret);
/* Starts probing at once. 0 or -errno; *ret stays valid until health_remove or health_close. */
int health_add(struct health *health, const struct health_spec *spec, health_changed *changed,
	       void *arg, struct health_check **ret);
void health_remove(struct health_check *check);
const struct health_status *health_status(const struct health_check *check);
/* Ends every probe and frees; the loop must run once more for its handles to close. */
void health_close(struct health *health);
