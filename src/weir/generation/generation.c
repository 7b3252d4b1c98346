/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A base table follows from what is configured and nothing else, so that keeping what that was is
 * keeping the table, in a few bytes a backend. One change back is kept: the other owner that a
 * packet names is one, and who was away for longer than flows may be silent has none to look for.
 */
#include "weir/generation/generation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash/maglev.h"
#include "weir/balancer/assemble.h"

static void fini(struct generation *generation)
{
	free(generation->members);
	*generation = (struct generation){0};
}

static void fini_pool(struct generation_pool *pool)
{
	fini(&pool->now);
	fini(&pool->before);
}

void generations_fini(struct generations *generations)
{
	for (size_t i = 0; i < generations->count; i++)
		fini_pool(&generations->pools[i]);
	free(generations->pools);
	*generations = (struct generations){0};
}

static int compare(const void *a, const void *b)
{
	const struct generation_member *one = a, *two = b;
	int order = memcmp(&one->address, &two->address, sizeof(one->address));

	return order ? order : (int)one->port - two->port;
}

bool generation_sort(struct generation *generation)
{
	qsort(generation->members, generation->count, sizeof(*generation->members), compare);
	for (size_t i = 1; i < generation->count; i++) {
		if (compare(&generation->members[i - 1], &generation->members[i]) == 0)
			return false;
	}
	return true;
}

static bool is_same(const struct generation *a, const struct generation *b)
{
	if (a->seed != b->seed || a->tokens != b->tokens || a->table_size != b->table_size ||
	    a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (compare(&a->members[i], &b->members[i]) != 0 ||
		    a->members[i].weight != b->members[i].weight)
			return false;
	}
	return true;
}

/* --- turning --- */

static int configure(const struct conf *conf, const struct conf_pool *pool, struct generation *ret)
{
	*ret = (struct generation){
		.seed = assemble_seed(conf->seed),
		.tokens = pool->hash == CONF_HASH_RING ? pool->tokens : 0,
		.table_size = pool->table_size,
		.members = calloc(pool->backend_count + 1, sizeof(*ret->members)),
		.count = pool->backend_count,
	};
	if (!ret->members)
		return -ENOMEM;
	for (size_t i = 0; i < ret->count; i++)
		ret->members[i] = (struct generation_member){pool->backends[i].address,
							     pool->backends[i].port,
							     pool->backends[i].weight};
	generation_sort(ret);
	return 0;
}

/* Mostly a pool stands where it stood: at `near`. */
static struct generation_pool *find(const struct generations *generations, const char *name,
				    size_t near)
{
	if (near < generations->count && strcmp(generations->pools[near].name, name) == 0)
		return &generations->pools[near];
	for (size_t i = 0; i < generations->count; i++) {
		if (strcmp(generations->pools[i].name, name) == 0)
			return &generations->pools[i];
	}
	return NULL;
}

/* What was known of it goes over to `pool`, which has its present one. */
static bool take_over(struct generation_pool *known, struct generation_pool *pool, uint64_t wall_ms)
{
	bool turned = !known || !is_same(&known->now, &pool->now);

	pool->is_done = true;
	if (!known)
		return true;
	if (turned) {
		pool->before = known->now;
		pool->switched_ms = wall_ms;
		known->now = (struct generation){0};
	} else {
		pool->before = known->before;
		pool->switched_ms = known->switched_ms;
		known->before = (struct generation){0};
	}
	known->is_done = true;
	return turned || strcmp(known->name, pool->name) != 0;
}

/* Nobody's yet; by its name, or by what it is made of. */
static struct generation_pool *find_named(const struct generations *generations,
					  const struct generation_pool *pool, size_t near)
{
	struct generation_pool *found = find(generations, pool->name, near);

	return found && !found->is_done ? found : NULL;
}

static struct generation_pool *find_same(const struct generations *generations,
					 const struct generation_pool *pool, size_t near)
{
	struct generation_pool *named = find_named(generations, pool, near);

	if (named && is_same(&named->now, &pool->now))
		return named;
	for (size_t i = 0; i < generations->count; i++) {
		if (!generations->pools[i].is_done &&
		    is_same(&generations->pools[i].now, &pool->now))
			return &generations->pools[i];
	}
	return NULL;
}

/* Names may have been swapped. So first those that are the same under the same name, then those
 * that are the same, and the others are what their names say. */
static bool take_all(struct generations *generations, struct generations *fresh, uint64_t wall_ms)
{
	bool changed = generations->count != fresh->count;

	for (size_t i = 0; i < generations->count; i++)
		generations->pools[i].is_done = false;
	for (int pass = 0; pass < 3; pass++) {
		for (size_t i = 0; i < fresh->count; i++) {
			struct generation_pool *pool = &fresh->pools[i], *known;

			if (pool->is_done)
				continue;
			known = pass == 1 ? find_same(generations, pool, i)
					  : find_named(generations, pool, i);
			if (pass == 2 || (known && is_same(&known->now, &pool->now)))
				changed |= take_over(known, pool, wall_ms);
		}
	}
	return changed;
}

int generations_turn(struct generations *generations, const struct conf *conf, uint64_t wall_ms)
{
	struct generations fresh = {calloc(conf->pool_count + 1, sizeof(*fresh.pools)), 0};
	bool changed;
	int error = fresh.pools ? 0 : -ENOMEM;

	for (; !error && fresh.count < conf->pool_count; fresh.count++) {
		struct generation_pool *pool = &fresh.pools[fresh.count];

		error = configure(conf, &conf->pools[fresh.count], &pool->now);
		strncpy(pool->name, conf->pools[fresh.count].name, CONF_NAME_MAX);
	}
	if (error) {
		generations_fini(&fresh);
		return error;
	}
	changed = take_all(generations, &fresh, wall_ms);
	generations_fini(generations);
	*generations = fresh;
	return changed;
}

/* --- a fresh table --- */

/* Where each member of `before` is in the pool, or SIZE_MAX: for free(), or NULL. */
static size_t *places(const struct generation *before, const struct conf_pool *conf)
{
	size_t *now = calloc(before->count, sizeof(*now));

	if (!now)
		return NULL;
	memset(now, 0xff, before->count * sizeof(*now));
	for (size_t i = 0; i < conf->backend_count; i++) {
		const struct generation_member key = {conf->backends[i].address,
						      conf->backends[i].port, 0};
		const struct generation_member *found =
			bsearch(&key, before->members, before->count, sizeof(key), compare);

		if (found)
			now[found - before->members] = i;
	}
	return now;
}

static int begin_after(struct pool *pool, const struct conf_pool *conf,
		       const struct generation *before, uint64_t now_ms)
{
	struct maglev_member *members = calloc(before->count, sizeof(*members));
	size_t *now = places(before, conf);
	int error = members && now ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < before->count; i++) {
		const struct conf_backend as = {.address = before->members[i].address,
						.port = before->members[i].port};

		members[i] = (struct maglev_member){assemble_backend_identity(&as),
						    before->members[i].weight};
	}
	if (!error)
		error = pool_begin_after(pool,
					 &(struct pool_before){
						 .seed = before->seed,
						 .tokens = before->tokens,
						 .table_size = before->table_size,
						 .members = members,
						 .now = now,
						 .member_count = before->count,
					 },
					 now_ms);
	free(members);
	free(now);
	return error ? error : 1;
}

int generations_begin(const struct generations *generations, const struct conf *conf, size_t at,
		      struct pool *pool, uint64_t wall_ms, uint64_t now_ms)
{
	const struct generation_pool *known = find(generations, conf->pools[at].name, at);

	if (!known || !known->before.count)
		return 0;
	/* A clock that was set back says that it has just been. */
	if (wall_ms > known->switched_ms &&
	    wall_ms - known->switched_ms >= GENERATION_WAITS * conf->node.flows.established_ms)
		return 0;
	return begin_after(pool, &conf->pools[at], &known->before, now_ms);
}
