/* SPDX-License-Identifier: BSD-2-Clause */
/* What the agent holds; shared by agent_app.c, which changes it, and agent_report.c. */
#pragma once

#include <uv.h>

#include "admin/control.h"
#include "conf/conf.h"
#include "engine/agent_dp.h"
#include "weir/agent/state.h"
#include "weir/instance.h"

struct agent_app {
	const struct conf_agent *conf;
	const char *file;
	struct instance instance;
	char state_path[INSTANCE_PATH_MAX];
	struct agent_state state;
	bool adopted; /* an earlier agent's work was found, and must outlive a failed start */
	uint32_t path_mtu;
	struct agent_limits limits;
	struct agent_dp *dp;
	struct control *control;
	uv_loop_t loop;
	uv_signal_t signals[3];
	uint64_t started_ns;
};
