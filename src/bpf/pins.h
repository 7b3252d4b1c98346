/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What outlives the daemon: maps pinned in a directory on bpffs, found again and checked by the
 * next start. And loading a program so that libbpf's words about a failure end up in an error
 * instead of on standard error. Any thread, one at a time.
 */
#pragma once

#include <bpf/libbpf.h>

#include "base/err.h"

enum { PINS_PATH_MAX = 256 };

/* DIR/NAME into `path` of PINS_PATH_MAX, each dot of NAME as a colon. -ENAMETOOLONG. */
int pins_path(char *path, const char *dir, const char *name, struct err *err);

/*
 * Before load: the map will be pinned at DIR/NAME, or is the one pinned there. Returns 1 if one
 * is there and has the same layout, 0 if none is, -EPROTO if it has another layout (the error
 * says which), or another -errno.
 */
int pins_reuse(const char *dir, const char *name, struct bpf_map *map, struct err *err);

/* Loads by the skeleton. On failure the error holds libbpf's first complaint. */
int pins_load(struct bpf_object_skeleton *skeleton, struct err *err);

/*
 * What the object's tables take of the kernel's memory, in bytes: known before they are made.
 * Those whose records are made one by one do not count.
 */
size_t pins_memory(const struct bpf_object *object);

/* Calls `each` with the name of every pin in DIR that begins with `prefix`. */
void pins_each(const char *dir, const char *prefix, void (*each)(void *arg, const char *name),
	       void *arg);

/* Unlinks every pin in DIR, then DIR itself. Links among them detach when nobody holds them. */
void pins_remove_all(const char *dir);
