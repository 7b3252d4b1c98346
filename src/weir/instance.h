/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One running daemon on this machine: where its lock, its control socket and its pins are. A
 * node's instance is its name, an agent's "agent-NAME". One thread.
 */
#pragma once

#include "base/err.h"

#define INSTANCE_RUN_DIR "/run/weir"
#define INSTANCE_PIN_DIR "/sys/fs/bpf/weir"

enum {
	INSTANCE_PATH_MAX = 100, /* a Unix socket's path is shorter than 108 */
	INSTANCE_SEEN_MAX = 160,
};

struct instance {
	char name[72];
	char socket[INSTANCE_PATH_MAX];
	char pins[INSTANCE_PATH_MAX];
	char lock[INSTANCE_PATH_MAX];
	int lock_fd; /* -1: not held */
};

/* Fills the paths; touches nothing. `prefix` is "" or "agent-". */
void instance_init(struct instance *instance, const char *prefix, const char *name);
/* The network namespace that we are in, as something that there may be one agent of. */
int instance_init_namespace(struct instance *instance, struct err *err);
/* Takes the lock for as long as the process lives, also one that was handed over. -EBUSY: another
 * process holds it. */
int instance_lock(struct instance *instance, struct err *err);
/* Lets go and removes the lock's file. */
void instance_unlock(struct instance *instance);
/*
 * The lock stays held while this process is called again (weir/again): nobody else gets it in
 * between. The next program finds the descriptor by its environment, takes it with instance_lock,
 * and lets go of others than it has taken, as those of another name, with instance_take_no_more.
 */
void instance_hand_over(struct instance *instance);
void instance_take_no_more(void);

/*
 * Where to open what a daemon pinned. Not always at its path: `ip netns exec` mounts a /sys of its
 * own, without what is mounted there, and so do containers; then it is seen by way of the daemon's
 * process, or of those that this one comes from. The path itself where nothing is pinned. Returns
 * `ret`.
 */
const char *instance_see_pins(const struct instance *instance, char ret[INSTANCE_SEEN_MAX]);
/* The same of the directory in which all of them are. */
const char *instance_see_pin_dir(char ret[INSTANCE_SEEN_MAX]);

/* The socket of the daemon that is process `pid`, by what its lock says, or for those who may not
 * read that by who listens. -ENOENT: none. */
int instance_find_process(long pid, char path[INSTANCE_PATH_MAX], struct err *err);
/* The socket of the only running node here, or without one of the only agent. -ENOENT: none;
 * -EEXIST: several (the error lists them). */
int instance_find_socket(char path[INSTANCE_PATH_MAX], struct err *err);
/* The same of the only agent. */
int instance_find_agent(char path[INSTANCE_PATH_MAX], struct err *err);
