/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tests of health checks share: a network namespace of the test's own, in which every port is
 * free, a loop, and checks whose callbacks are remembered. Fails the running test. One thread.
 */
#pragma once

#include "../loop.h"
#include "health/health.h"

enum { HEALTH_PORT = 8080, HEALTH_SILENT_PORT = 8081 };

extern uv_loop_t health_loop;
extern struct health *health_all; /* NULL after health_end */

/* For cmocka: of the whole group, and of each test. */
int health_open_world(void **state);
int health_set_up(void **state);
int health_tear_down(void **state);
/* Closes all checks, and runs the loop until nothing is left on it. */
void health_end(void);

struct addr health_addr(const char *text);
/* A TCP listener's descriptor. */
int health_listen(const char *address, uint16_t port, int backlog);

/* What one check was told. */
struct health_seen {
	struct health_check *check;
	enum health_state state;
	unsigned changes;
	enum health_state wanted;
	bool remove; /* in the callback */
	uint64_t probes;
	struct health_status then; /* at the last change; more probes may follow it */
};

/* A TCP check: every 10 ms, for 5 s, decided by one result. */
struct health_spec health_spec_of(const char *address, uint16_t port);
void health_on_changed(void *arg, struct health_check *check, enum health_state state);
void health_add_seen(struct health_seen *seen, const struct health_spec *spec);
bool health_has_state(void *seen);
void health_wait_state(struct health_seen *seen, enum health_state state);
bool health_has_probes(void *seen);
/* For so many results more. */
void health_wait_probes(struct health_seen *seen, uint64_t more);
