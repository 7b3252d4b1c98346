/* SPDX-License-Identifier: BSD-2-Clause */
/* What the daemon holds; shared by the files of this room. */
#pragma once

#include <uv.h>

#include "base/log.h"
#include "conf/conf.h"
#include "engine/dp.h"
#include "health/health.h"
#include "net/nexthop.h"
#include "weir/balancer/balancer.h"
#include "weir/daemon.h"
#include "weir/generation/generation.h"
#include "weir/metrics/text.h"
#include "weir/node/splitter.h"
#include "weir/operate/store.h"
#include "weir/probing/tunnel.h"

/* One a backend of a pool: what its health and next hop callbacks get. It stays where it is for as
 * long as the backend does, whatever its place in the configuration. */
struct app_backend {
	struct app *app;
	size_t pool;
	size_t member;
	bool is_next;               /* of a configuration that does not run yet */
	bool is_kept;               /* while one takes another's place */
	bool is_known;              /* its check has had a result */
	bool had_hop;               /* something was told of its next hop */
	bool awaits;                /* its next hop, before it is told to be healthy */
	struct health_check *check; /* NULL: the pool has no check */
	struct nexthop_watch *nexthop;
	struct draining *draining; /* NULL: it does not drain (drains.c) */
	struct log_limit log;      /* a backend that flaps must not fill the log */
};

struct workers;
struct announcer;
struct drains;
struct draining;
struct exporter;
struct capturer;

struct app {
	const struct conf *conf;
	struct daemon daemon;
	uv_timer_t deadline; /* of what changes by time alone */
	uv_timer_t settle;   /* runs while slots are behind health */
	uv_timer_t survey;   /* runs while the flow table is looked through */
	struct log_limit pools_log;
	struct dp *dp;
	struct balancer *balancer;
	struct splitter *splitter; /* NULL: no service fragments, or it cannot be done */
	struct workers *workers;   /* NULL: engine xdp, or not yet */
	struct health *health;
	struct tunnel *tunnel; /* NULL: no check goes through one */
	struct nexthops *nexthops;
	struct app_backend **backends; /* of all pools, in the configuration's order */
	size_t backend_count;
	struct capturer *capturer;   /* NULL: nobody captures */
	struct announcer *announcer; /* NULL: this node announces nothing */
	struct overrides overrides;  /* what operators have set, and the file that keeps it */
	char store[STORE_PATH_MAX];
	bool unsaved;                   /* the file is behind */
	struct generations generations; /* what tables are and were made of, and its file */
	bool generations_unsaved;
	struct exporter *exporter;        /* what the admin port shows; NULL: not yet */
	struct metrics_histogram updates; /* of slots: app_settle */
	struct drains *drains;            /* of backends; NULL: not yet */
	struct reload *reload;            /* which file is followed, and what became of it */
};

/* How a balancer of this node begins. */
struct balancer_start app_balancer_start(struct app *app);
/* Packets that are too big are fragmented from now on, if the configuration asks for it. */
void app_open_splitter(struct app *app);
/* Slots are as the backends' states want them, when it returns. */
void app_settle(struct app *app);
/* The same a moment from now, for whatever else changes by then. */
void app_settle_soon(struct app *app);
