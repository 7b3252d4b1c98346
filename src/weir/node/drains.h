/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Backends that drain, and when each has: by the packets that go to it, and by what its agent
 * counts where the pool says at which port that is (weir/draining/). Agents are asked one after the
 * other, some at once, and nobody waits for them. The loop's thread.
 */
#pragma once

#include <jansson.h>

#include "weir/node/app_state.h"

struct drains_counts {
	uint64_t asked, failed; /* agents */
};

/* 0, or -errno and err. */
int drains_open(struct app *app, struct err *err);
/* The loop has to run until what this closes is closed. NULL in app->drains is none. */
void drains_close(struct app *app);
/* Who drains may be another now, or the tables are. */
void drains_look(struct app *app);
/* The backend goes. */
void drains_forget(struct app_backend *backend);

/* {"ended", "by", "quiet_s", "agent", "words"}, or null: it does not drain. A new reference. */
json_t *drains_report(const struct app_backend *backend);
/* Whether it drains, and then whether that has ended. */
bool drains_has(const struct app_backend *backend, bool *ret_ended);
/* Connections by its agent; false: that does not tell. */
bool drains_connections(const struct app_backend *backend, uint64_t *ret);
struct drains_counts drains_counts(const struct app *app);
