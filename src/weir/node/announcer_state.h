/* SPDX-License-Identifier: BSD-2-Clause */
/* What the announcer is; shared by announcer.c, by_hand.c (requests) and announcer_report.c. */
#pragma once

#include "weir/announce/by_hand.h"
#include "weir/announce/drain.h"
#include "weir/announce/policy.h"
#include "weir/node/announcer.h"
#include "weir/routing/routers.h"

enum { ANNOUNCER_TIMERS = 4 };

/* A VIP's route, as it was last told; in the policy's order. */
struct told {
	struct prefix prefix;
	bool there;
	bool failed; /* the last change did, and is tried again */
	char error[ERR_TEXT_MAX];
};

struct announcer {
	struct app *app;
	enum conf_via via;
	uint32_t table;          /* of kernel routes */
	struct routers *routers; /* NULL: kernel routes */
	struct policy *policy;
	struct told *told;
	size_t told_count;
	bool ready; /* every check had a result, so the first set of routes is complete */
	uint64_t
		kept_until_ms; /* routers keep routes of the daemon before this one; 0: none does */
	uint64_t meet_until_ms; /* how long the end waits for them */
	bool ending;            /* nothing is announced any more */
	uv_timer_t soon, deadline, step, wait;
	unsigned handles; /* that are open */
	struct by_hand by_hand;
	char store[STORE_PATH_MAX];
	bool unsaved;
	struct drain drain;
	struct log_limit log;
};

/* Packets for VIPs so far. */
uint64_t announcer_packets(const struct app *app);
/* Brings what was set by hand into the policy, and routes to what that wants, at once. */
void announcer_apply(struct announcer *announcer);
/* Each second while there is something to count, or to try again. */
void announcer_step_on(struct announcer *announcer);

/* Parts of announcer_report. (announcer_report.c) */
json_t *announcer_report_node(const struct app *app);
json_t *announcer_report_vip(const struct announcer *announcer, size_t at);

/* What the file keeps; in the log where it is damaged. (withdraw.c) */
void withdraw_load(struct announcer *announcer);
