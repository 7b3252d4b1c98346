/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an agent changed on its host, and what was there before: kept in a file that is written
 * before each change is made, so that an agent which was killed can be undone by the next one.
 * The file counts only in the boot and the network namespace that it was written in. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "base/err.h"
#include "host/host.h"
#include "weir/instance.h"

enum { AGENT_STATE_NAME_MAX = 16 };

struct agent_setting {
	char name[HOST_SYSCTL_NAME_MAX];
	int before, ours;
};

struct agent_interface {
	char name[AGENT_STATE_NAME_MAX];
	bool made_clsact;
};

/* Zero is an empty state. The lists hold what is ours to undo; agent_state_fini frees them. */
struct agent_state {
	struct prefix *vips; /* put on the loopback, or given a local route */
	size_t vip_count;
	struct agent_setting *settings;
	size_t setting_count;
	struct agent_interface *interfaces;
	size_t interface_count;
};

/* The file's path, into INSTANCE_PATH_MAX bytes. */
void agent_state_path(const struct instance *instance, char *path);
/* 0 with an empty state where there is no file, or one of another boot or namespace. */
int agent_state_read(const char *path, struct agent_state *ret, struct err *err);
/* Whole or not at all. */
int agent_state_write(const char *path, const struct agent_state *state, struct err *err);
void agent_state_fini(struct agent_state *state);

/* NULL: not in it. */
const struct prefix *agent_state_vip(const struct agent_state *state, const struct prefix *vip);
const struct agent_setting *agent_state_setting(const struct agent_state *state, const char *name);
const struct agent_interface *agent_state_interface(const struct agent_state *state,
						    const char *name);

/* 0 or -ENOMEM. What is in already is not added twice: the first word on what was before holds. */
int agent_state_add_vip(struct agent_state *state, const struct prefix *vip);
int agent_state_add_setting(struct agent_state *state, const struct agent_setting *setting);
int agent_state_add_interface(struct agent_state *state, const struct agent_interface *interface);
/* By place in the list; the order changes. */
void agent_state_drop_vip(struct agent_state *state, size_t at);
void agent_state_drop_interface(struct agent_state *state, size_t at);
