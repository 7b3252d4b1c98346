/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an agent changes on its host for a configuration: planned into an agent_state first, then
 * done, in the end undone. The XDP program is not among it (engine/agent/agent_dp.h); the qdisc of
 * its tc program is. One thread.
 */
#pragma once

#include "base/err.h"
#include "conf/conf.h"
#include "weir/agent/state.h"

/* Adds to the state what the configuration needs and the host has not. Changes nothing else. */
int agent_host_plan(const struct conf_agent *conf, struct agent_state *state, struct err *err);
/* Sysctls as planned. Before the VIPs come: ARP must be silent by then. */
int agent_host_apply_settings(const struct agent_state *state, struct err *err);
int agent_host_apply_vips(const struct agent_state *state, struct err *err);
/* Undoes, and takes out of the state, what an earlier configuration needed and this one does not:
 * VIPs, and tc programs on other interfaces. */
void agent_host_release_others(const struct conf_agent *conf, struct agent_state *state);
/* Takes the tc program off an interface, and the qdisc if it was made for it. */
void agent_host_release(const struct agent_interface *interface);
/* Undoes all that the state holds. A sysctl that somebody else has changed since is left. */
void agent_host_undo(const struct agent_state *state);
