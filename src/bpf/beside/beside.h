/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set of pinned maps that takes another's place. The new one is pinned in DIR/new, beside the one
 * in DIR; then what is attached is exchanged; then the new pins are moved over the old ones. A
 * process may be killed at any point: who comes next finishes or forgets it (beside_settle), by
 * whether what is attached uses the new set. Any thread, one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct beside_map {
	const char *name;
	int fd;
};

/* Pins all of them beside. 0, or -errno with nothing pinned there. */
int beside_pin(const char *dir, const struct beside_map *maps, size_t count, struct err *err);
/* Moves what is pinned beside into the old ones' place. */
void beside_move(const char *dir);
/* Takes away what is pinned beside. */
void beside_forget(const char *dir);
/* Finishes or forgets what an earlier process began. Links are those pinned as `prefix`-... */
void beside_settle(const char *dir, const char *prefix);
