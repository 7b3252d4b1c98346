/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A configuration's files as such: read whole, and how they end. A file that was cut off between
 * two lines may be a valid shorter one, so whoever wants it known that a file is whole ends it with
 * the mark that YAML has for that, "..." as its last line. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct conf;

struct conf_ended {
	int lines;
	bool marked;
};

/*
 * Reads a file whole. *ret is for free(), ends with a zero beyond *ret_length, and is NULL when it
 * fails. "-" is standard input. Anything else than a regular file of CONF_FILE_MAX bytes at most
 * is refused, and a FIFO is not waited for.
 */
int conf_read(const char *path, char **ret, size_t *ret_length, struct err *err);
struct conf_ended conf_ended_of(const char *text, size_t length);
/*
 * Where one of the files that run has the mark, the same file without it is refused. 0, or -EINVAL
 * and an error each.
 */
int conf_check_marks(const struct conf *running, const struct conf *next, struct err_list *errors);
