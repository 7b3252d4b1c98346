/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The backends of all pools watched: their checks and their next hops, each brought into the
 * balancer as it changes. The loop's thread.
 */
#pragma once

#include "weir/node/app_state.h"

/* After the tables are filled. 0, or -errno and err. */
int watch_start(struct app *app, struct err *err);

/* A backend of a configuration that is to run next. */
struct watch_item {
	size_t pool, member;
	struct app_backend *backend; /* the one that runs, if its record is the same */
	bool other_check;            /* it is checked in another way: by this, if by any */
	struct health_check *check;
};

struct watch_next {
	struct app *app;
	const struct conf *conf;
	const struct balancer *balancer; /* prepared */
	const struct built *built;       /* with it; NULL: nothing is */
	bool awaits; /* who is new is told to be healthy when its next hop is known */
	struct watch_item *items;
	struct app_backend **list;
	size_t count;
};

/*
 * Begins to watch what is new in it; all that runs goes on. 0, or -errno, err and nothing of it is
 * left. Then either commit, after the balancer's, with app->conf the new one; or abandon.
 */
int watch_prepare(struct watch_next *next, struct err *err);
void watch_commit(struct watch_next *next);
void watch_abandon(struct watch_next *next);
/* The loop has to run until what this closes is closed. */
void watch_close(struct app *app);
/* Every check has had a result. */
bool watch_is_ready(const struct app *app);
