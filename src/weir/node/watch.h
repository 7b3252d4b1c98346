/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The backends of all pools watched: their checks and their next hops, each brought into the
 * balancer as it changes. The loop's thread.
 */
#pragma once

#include "weir/node/app_state.h"

/* After the tables are filled. 0, or -errno and err. */
int watch_start(struct app *app, struct err *err);
/* The loop has to run until what this closes is closed. */
void watch_close(struct app *app);
/* Every check has had a result. */
bool watch_is_ready(const struct app *app);
