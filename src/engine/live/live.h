/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables that a node's packets meet right now, as they are pinned, opened for reading alone: a
 * write to them is a fault of this process. And the packet path over them, natively, so that
 * nothing there changes: no flow is entered, no counter moves. Works whether or not the daemon
 * runs. One thread.
 */
#pragma once

#include "engine/native.h"

struct live;

/* -ENOENT: nothing is pinned there. -EPROTO: it is another version's, or not all there. */
int live_open(const char *pin_dir, struct live **ret, struct err *err);
void live_close(struct live *live);

const struct dp_tables *live_tables(const struct live *live);
struct native *live_native(struct live *live);

/* Where a program is attached that meets them. */
struct live_link {
	char interface[16]; /* as the pin is called */
	uint32_t ifindex;   /* 0: none is attached, or its interface has gone */
};
const struct live_link *live_link(const struct live *live);

/* How the rate limit of a service stands on the cores, each of which counts for itself. */
struct live_rate {
	size_t cores; /* 0: not known */
	size_t refusing;
};
struct live_rate live_rate(const struct live *live, uint32_t service, uint64_t now_ns);
/* For what runs from now on the limit stands as on the core where there is most room. */
void live_set_rates(struct live *live, uint64_t now_ns);
