/* SPDX-License-Identifier: BSD-2-Clause */
/* What the agent holds; shared by app.c, which changes it, and report.c. */
#pragma once

#include "conf/conf.h"
#include "engine/agent/agent_dp.h"
#include "host/spaces.h"
#include "weir/agent/state.h"
#include "weir/daemon.h"

struct exporter;
struct agent_connections;

struct agent_app {
	const struct conf_agent *conf;
	struct daemon daemon;
	struct instance namespace; /* held: what an agent changes is the namespace's */
	char state_path[INSTANCE_PATH_MAX];
	struct agent_state state;
	bool adopted; /* an earlier agent's work was found, and must outlive a failed start */
	uint32_t path_mtu;
	struct agent_limits limits;
	struct agent_dp *dp;
	struct host_space spaces[CONF_NETNS_MAX]; /* of conf->netns */
	uv_timer_t hint;
	uv_timer_t onwards;
	struct exporter *exporter;             /* NULL: not yet */
	struct agent_connections *connections; /* the same */
	uint64_t modes_off;                    /* packets, when last looked at */
	uint64_t hint_quiet_ms;                /* no word about them before */
};
