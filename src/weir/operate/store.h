/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that a daemon keeps over a restart, a kill, an upgrade and a boot. At any moment there is
 * either the old one or the new one, whole. The caller is their only writer (the instance's lock).
 * Calls block until the disk has what is written.
 */
#pragma once

#include "weir/operate/overrides.h"

#define STORE_DIR "/var/lib/weir"

enum { STORE_PATH_MAX = 160 };

/* The file `what` of a daemon of that name. Returns `path`. */
const char *store_path_of(const char *name, const char *what, char path[STORE_PATH_MAX]);
/* What is in a file, into `ret`. */
typedef int store_parse(const char *text, size_t length, void *ret, struct err *err);
/* 0 where there is no file, and then nothing is parsed. -errno: it cannot be read, or parsed. */
int store_read(const char *path, store_parse *parse, void *ret, struct err *err);
/* Makes the directory too. Takes the reference; NULL is -ENOMEM. */
int store_write(const char *path, json_t *json, struct err *err);
/* Moves a file that could not be read out of the way, to PATH.damaged. 0 or -errno. */
int store_set_aside(const char *path);

/* --- the overrides, whose file is there only while there are any --- */

const char *store_path(const char *name, char path[STORE_PATH_MAX]);
/* Into an empty set. */
int store_load(const char *path, struct overrides *ret, struct err *err);
int store_save(const char *path, const struct overrides *overrides, struct err *err);
