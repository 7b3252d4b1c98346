/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the rows of the configuration's table are written, and where they stand: a file for each
 * part of it. A new key is a row there, a field in conf.h, and the manual made anew.
 *
 * Choices are stored as their place in `works` (in `choices` where all work), which is the order
 * of the enum in conf.h; so a bool's choices are "false|true".
 */
#pragma once

#include <stddef.h>

#include "conf/conf.h"
#include "conf/keys/schema.h"

/* Lists are bounded so that a check over all of them stays short; the sums over all services and
 * pools, which the tables hold, are checked in verify/. */
enum {
	INTERFACES_MAX = 16,
	POOLS_MAX = CONF_BACKENDS_MAX,
	SEED_MAX = 1024,
	SOURCE_FILE_MAX = 1024,
	MTU_MIN = 576,
	MTU_MAX = 9216,
	SECOND_MS = 1000,
	HOUR_MS = 3600 * SECOND_MS,
	DAY_MS = 24 * HOUR_MS,
};

#define SIZE_OF(type, field) sizeof(((struct type *)0)->field)
#define AT(type, field)      .offset = offsetof(struct type, field), .width = SIZE_OF(type, field)
#define LIST_AT(type, field, count)                                                             \
	.list = true, .offset = offsetof(struct type, field), .width = SIZE_OF(type, field[0]), \
	.count_offset = offsetof(struct type, count)
#define NOT_YET .works = ""

struct rows {
	const struct conf_key *keys;
	size_t count;
};
extern const struct rows rows_node, rows_pools, rows_bgp, rows_services, rows_agent;
