/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's table of ports: what the file says is written to it before a packet meets it, and
 * what an earlier agent learned is taken over. Else a server that has something to say to a client
 * who is silent, right after a start, would say it from a port that the client does not know, and
 * again with each repetition. Each start has a table of its own, so a start that fails has changed
 * nothing; pinned is that of the last one that did not. One thread.
 */
#pragma once

#include <bpf/libbpf.h>

#include "base/err.h"
#include "engine/agent/agent_dp.h"

int agent_ports_fill(struct bpf_map *table, const struct agent_dp_options *options,
		     struct err *err);
/*
 * Adds what is in the table that is pinned in `dir`, was learned there, is of these VIPs and not
 * known in this one. Returns how many that were. None where nothing of this layout is pinned: an
 * agent of another version may have been here.
 */
size_t agent_ports_inherit(struct bpf_map *table, const char *dir, const struct prefix *vips,
			   size_t vip_count);
/* In place of the table that is pinned in `dir`. */
int agent_ports_pin(struct bpf_map *table, const char *dir, struct err *err);
