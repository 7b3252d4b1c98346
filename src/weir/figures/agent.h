/* SPDX-License-Identifier: BSD-2-Clause */
/* What `weir agent` shows on its admin port, and the connections of its VIPs, which only the host
 * knows: balancers that track nothing cannot count them. The loop's thread. */
#pragma once

#include "weir/agent/app_state.h"
#include "weir/metrics/exporter.h"

/* Opens the exporter, which listens where the configuration says. 0, or -ENOMEM and err. */
int agent_metrics_open(struct agent_app *app, struct err *err);
void agent_metrics_close(struct agent_app *app);

/* {"error", "at_least", "netns": [{"name", "error"}], "vips": [{"vip", "established"}]}; a new
 * reference. */
json_t *agent_connections_report(struct agent_app *app);
