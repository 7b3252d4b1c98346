/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file that keeps overrides over a restart, a kill, an upgrade and a boot. It is there only
 * while there are any, and at any moment it is either the old one or the new one, whole. The caller
 * is its only writer (the instance's lock). It blocks until the disk has it.
 */
#pragma once

#include "weir/operate/overrides.h"

#define STORE_DIR "/var/lib/weir"

enum { STORE_PATH_MAX = 160 };

/* The file of a daemon of that name. Returns `path`. */
const char *store_path(const char *name, char path[STORE_PATH_MAX]);
/* The same of another file that is kept as this one is. */
const char *store_path_of(const char *name, const char *what, char path[STORE_PATH_MAX]);
/* Into an empty set; no file is no overrides. -errno: it cannot be read, or not be believed. */
int store_load(const char *path, struct overrides *ret, struct err *err);
/* Makes the directory too. */
int store_save(const char *path, const struct overrides *overrides, struct err *err);
/* Moves a file that could not be loaded out of the way, to PATH.damaged. 0 or -errno. */
int store_set_aside(const char *path);

/* The file's text, for free(); NULL where there is no file. -errno: it cannot be read. */
int store_read(const char *path, char **ret, size_t *ret_size, struct err *err);
/* Takes the reference; NULL is -ENOMEM. */
int store_write(const char *path, json_t *json, struct err *err);
