/* SPDX-License-Identifier: BSD-2-Clause */
/* The data plane opened, and its program at the node's interfaces. The loop's thread. */
#pragma once

#include "weir/node/app_state.h"

/* Opens the data plane, an earlier daemon's if there is one. 0, or -errno and err; so below. */
int attach_open(struct app *app, struct err *err);
/* Where the tables are from: "new", "adopted", "carried" or "forgotten", as weir(8) tells. */
const char *attach_tables(const struct app *app);
/* To all interfaces that are configured, and to no other. */
int attach_all(struct app *app, struct err *err);
/* An interface came back. (daemon_reattach) */
int attach_again(void *app, size_t at, struct err *err);
/* The program runs behind the network stack's receiving everywhere. */
bool attach_all_generic(const struct app *app);
/* Takes all of it away; what was attached before this start stays when that `failed`: an earlier
 * daemon's data plane. */
void attach_stop(struct app *app, bool failed);
/* Lets go of it; it forwards on. */
void attach_leave(struct app *app);
