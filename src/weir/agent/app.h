/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's daemon: readies the host for the VIPs, takes the tunnels off, answers on its control
 * socket, and undoes it all at its end. One agent of a name on a machine and one in a network
 * namespace, for the loopback and the sysctls are the namespace's; interfaces that come and go
 * while it runs are out of its scope: it must be started again for a new one.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/err.h"
#include "conf/conf.h"

/* Runs until SIGTERM, SIGINT or a request to stop; or until one to be restarted: then all stays at
 * work, and the process is to be called again. 0, or -errno with the host as it was. */
int agent_app_run(const struct conf_agent *conf, const char *file, bool *ret_again,
		  struct err *err);

/*
 * Prints what on this host would hinder the agent, a line each, changing nothing (check.c).
 * Returns how many of these would keep it from starting or its VIPs from working.
 */
int agent_check(const struct conf_agent *conf, FILE *out);

/* Of a struct agent_app: its state as JSON, documented in weir-agent(8); a new reference.
 * (report.c) */
json_t *agent_app_report(void *arg);
