/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each pool's base table is made of, now and before it last changed. A node that comes up with
 * empty tables cannot see that, and flows from before the change may come to it. Kept in a file
 * of its own (weir/operate/store.h). Times are of the wall clock, in milliseconds. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/addr.h"
#include "base/err.h"
#include "conf/conf.h"
#include "pool/pool.h"

struct generation_member {
	struct addr address;
	uint16_t port;
	uint32_t weight;
};

/* Equal ones make equal tables. */
struct generation {
	uint64_t seed;
	uint32_t tokens; /* of a ring; 0: Maglev */
	uint32_t table_size;
	struct generation_member *members; /* by address and port, all distinct */
	size_t count;
};

struct generation_pool {
	char name[CONF_NAME_MAX + 1];
	struct generation now, before; /* before without members: it never changed */
	uint64_t switched_ms;
	bool is_done; /* while it turns: taken over, or taken care of */
};

/* Zero-initialise. */
struct generations {
	struct generation_pool *pools;
	size_t count;
};

void generations_fini(struct generations *generations);
/*
 * Brings it to what the configuration says: what a pool was, if that is something else, it was
 * before. Returns 1 if anything changed, 0, or -ENOMEM and nothing has.
 */
int generations_turn(struct generations *generations, const struct conf *conf, uint64_t wall_ms);
/*
 * For the pool of that place, built and not begun, in empty tables: if it was switched within so
 * many idle times of flows, it begins after what it was. 1 if so; 0; or -errno: it is as if it were
 * new. One would do for flows that nobody heard of; those of other nodes are in use beyond it.
 */
enum { GENERATION_WAITS = 4 };
int generations_begin(const struct generations *generations, const struct conf *conf, size_t at,
		      struct pool *pool, uint64_t wall_ms, uint64_t now_ms);

/* --- text.c --- */

/* A new reference; NULL: out of memory. */
json_t *generations_to_json(const struct generations *generations);
/* Into empty ones. -EINVAL: something in it is not as written by us, and nothing of it is taken. */
int generations_parse(const char *text, size_t length, struct generations *ret, struct err *err);
/* Sorts; false: two are the same. */
bool generation_sort(struct generation *generation);
