/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What operators have set on this node beside what its file says: a set by pool and backend, which
 * the file of store.h keeps over any end of the daemon. Only values: nothing is done with them
 * here. Times are of the wall clock, in milliseconds, since they outlive a boot. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "conf/conf.h"
#include "pool/pool.h"
#include "weir/lineage/lineage.h"

enum { OVERRIDE_WHOLE = 100 }; /* percent: nothing is taken away */

struct override {
	char pool[CONF_NAME_MAX + 1];
	char backend[CONF_NAME_MAX + 1];
	bool has_state, has_percent;
	enum pool_admin state;
	uint8_t percent; /* of its slots, below OVERRIDE_WHOLE */
	uint64_t state_since_ms, percent_since_ms;
	/* Since when it drains, also where only the file says so: the limit goes on over a restart.
	 * 0: it does not. */
	uint64_t drain_since_ms;
};

/* By pool and backend; zero-initialise. */
struct overrides {
	struct override *list;
	size_t count, room;
};

void overrides_fini(struct overrides *overrides);
/* NULL: there is none. Valid until the set changes. */
struct override *overrides_find(const struct overrides *overrides, const char *pool,
				const char *backend);
/* The same, added if need be; NULL: out of memory. Names are CONF_NAME_MAX bytes at most. */
struct override *overrides_add(struct overrides *overrides, const char *pool, const char *backend);
/* Takes one out. */
void overrides_remove(struct overrides *overrides, struct override *override);
/* Is anything set by hand? False of what is there for its drain alone, or NULL. */
bool override_is_set(const struct override *override);
/* Does it say nothing, so that it can be removed? */
bool override_is_empty(const struct override *override);

/*
 * The set once `conf` takes the place of what `lineage` has as before: a pool's go with the pool,
 * whatever it is called by then. Into an empty one. 0 or -ENOMEM.
 */
int overrides_follow(const struct overrides *overrides, const struct lineage *lineage,
		     const struct conf *conf, struct overrides *ret);

/* The set as JSON, a new reference; NULL: out of memory. */
json_t *overrides_to_json(const struct overrides *overrides);
/* The set of such a text, into an empty one. -EINVAL: something in it is not as written by us, and
 * nothing of it is taken. */
int overrides_parse(const char *text, size_t length, struct overrides *ret, struct err *err);
