/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The routers of a configuration: the BGP speaker with a session each, and BFD beside those that
 * have it, whose word ends a session at once. Says in the log what becomes of them. The loop's
 * thread.
 */
#pragma once

#include <jansson.h>
#include <uv.h>

#include "base/err.h"
#include "bgp/speaker.h"
#include "conf/conf.h"

struct routers;

/* Reads every password, and keeps none: whether routers_open and routers_take would succeed. */
int routers_check(const struct conf_bgp *conf, struct err *err);
/* `restarting`: an earlier daemon's tables forward on, so routers may keep its routes. */
int routers_open(uv_loop_t *loop, const struct conf_bgp *conf, bool restarting,
		 struct routers **ret, struct err *err);
/*
 * Goes over to another configuration: sessions to routers that are in both as they are stay, as do
 * all routes. False: what holds for all sessions is another (ASN, router id, times), and that takes
 * routers_open.
 */
bool routers_take(struct routers *routers, const struct conf_bgp *conf);
/* The speaker, for routes. */
struct bgp *routers_bgp(const struct routers *routers);
/* Each has a session. */
bool routers_are_met(const struct routers *routers);
/* Routes that some router has been told of: what a stop has to wait for. */
bool routers_know_any(const struct routers *routers);
/* Tells every router that it is none any more, and forgets it: its routes go, none is kept. */
void routers_leave(struct routers *routers);
/* Says to the routers' BFD that it ends by our will; frees when the loop has closed its handles. */
void routers_close(struct routers *routers);

/* For status: {"asn": ..., "peers": [...]}; a new reference. */
json_t *routers_report(const struct routers *routers);
