/* SPDX-License-Identifier: BSD-2-Clause */
/* A password from a file of its own, never in the configuration, an error or a log. Any thread. */
#pragma once

#include "base/err.h"

enum { SECRET_MAX = 80 }; /* what TCP-MD5 takes */

/*
 * The file's only line, without its end, into `ret`. Refused: what is no regular file, any user may
 * read, is empty, longer, or more than a line. A FIFO is not waited for. Errors tell of the file
 * and nothing of what is in it.
 */
int secret_read(const char *path, char ret[SECRET_MAX + 1], struct err *err);
/* Overwrites it. */
void secret_wipe(char secret[SECRET_MAX + 1]);
