/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What operators ask of a running node: its backends' states and shares beside what the file says,
 * kept over any end of the daemon (weir/operate/store.h). A request is checked whole before
 * anything changes, and answered when packets meet what it asked for. The loop's thread.
 */
#pragma once

#include <jansson.h>

#include "weir/node/app_state.h"

/*
 * Reads what is kept, says in the log what of it does not hold, and goes on without. Before the
 * tables are written.
 */
void requests_load(struct app *app);
/* Brings what is kept into a pool that was just built. (balancer_start) */
void requests_prepare(void *app, const struct conf *conf, size_t at, struct pool *pool);
/* What is kept as it will be with the configuration that a reload brings, whose pools may have
 * other names: before it is prepared. `built` is what was found of it. 0 or -ENOMEM. */
int requests_follow(const struct app *app, const struct conf *conf, const struct built *built,
		    struct overrides *ret);
/* It is what is kept from now on; the file is written by requests_reload. */
void requests_take(struct app *app, struct overrides *overrides);
/* Once another configuration runs: what is set goes on, but for backends that are gone. */
void requests_reload(struct app *app);
/* Requests: drain, maint, ready, weight, clear; of a struct app. */
extern const struct daemon_op requests_ops[];

/* Adds to an object a backend's state and share, what the file says, what is overridden and since
 * when. For status, too. */
void requests_show(struct app *app, size_t pool, size_t member, json_t *object);
