/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells routers, or a routing table, which VIPs are served here: brings together what pools have
 * (balancer), the policy (weir/announce), what operators withdrew, and who is told (weir/routing,
 * net/kernel_route). A node whose file has neither bgp nor announce.via: kernel-route has none, and
 * all of this does nothing. The loop's thread.
 */
#pragma once

#include "weir/node/app_state.h"

/* When packets for the VIPs are taken here: the last thing of a start. 0, or -errno and err. */
int announcer_open(struct app *app, struct err *err);
/* Something changed that may matter: it is decided anew in this turn of the loop. */
void announcer_look(struct app *app);
/* Whether this configuration could be announced: its passwords can be read. */
int announcer_check(const struct conf *conf, struct err *err);
/*
 * app->conf and app->balancer are others, checked before: what is the same goes on, sessions as
 * well; what the new one lacks is withdrawn. The configuration before has to be there until it
 * returns. What fails all the same is in the log.
 */
void announcer_take(struct app *app);

/*
 * The end, of which the rest is daemon_end_now: a stop withdraws every route, waits until routers
 * were told and announce.stop_wait longer; a restart leaves routes as they are. (daemon_ending)
 */
void announcer_end(void *app, enum daemon_end end);
/* The loop has to run until what this closes is closed. */
void announcer_close(struct app *app);

/* Requests: withdraw, announce, node-drain, node-undrain; of a struct app. (withdraw.c) */
extern const struct daemon_op withdraw_ops[];
/* For status: null, or all of it. (announcer_report.c) */
json_t *announcer_report(const struct app *app);
