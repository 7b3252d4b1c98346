/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a daemon may do beside what everybody may: it keeps the capabilities that its work and its
 * successor's start need, for `weir restart` calls the same process again, and gives up all others
 * for good, for itself and for what it starts. Only while there is one thread: others would keep
 * theirs.
 */
#pragma once

#include "base/err.h"

enum privileges { PRIVILEGES_NODE, PRIVILEGES_WORKERS, PRIVILEGES_AGENT };

/* The configuration, and what that names as a second file, or NULL. */
struct privileges_files {
	const char *first, *second;
};

/*
 * The files are read again later: where that takes CAP_DAC_READ_SEARCH (one of somebody else's, in
 * a closed directory) this is kept, too. What this process has not is
 * not missed here, but by what needs it. -errno: nothing was given up.
 */
int privileges_drop(enum privileges which, const struct privileges_files *files, struct err *err);
