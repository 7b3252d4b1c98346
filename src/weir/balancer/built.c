/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/balancer/built.h"

#include <stdlib.h>

#include "conf/diff.h"
#include "weir/balancer/assemble.h"

/* NULL: it is new. */
static const struct conf_pool *find(const struct built *built, size_t at)
{
	size_t before = built->lineage.pools[at];

	return before == LINEAGE_NONE ? NULL : &built->running->pools[before];
}

void built_make(const struct conf *conf, const struct conf *running, uint64_t now_ms,
		struct built *ret)
{
	*ret = (struct built){
		.pools = calloc(conf->pool_count + 1, sizeof(struct pool *)),
		.checks_same = calloc(conf->pool_count + 1, sizeof(bool)),
		.running = running,
	};
	if (!ret->pools || !ret->checks_same || lineage_of_conf(running, conf, &ret->lineage))
		return;
	ret->count = conf->pool_count;
	for (size_t i = 0; i < ret->count; i++) {
		const struct conf_pool *pool = &conf->pools[i], *before = find(ret, i);

		ret->checks_same[i] = before && conf_check_same(before, pool);
		if (before && assemble_pool_same(running, before, conf, pool))
			continue;
		if (assemble_pool(conf, pool, NULL, POOL_UNKNOWN, &ret->pools[i]))
			return;
		if (!before)
			pool_write_slots(ret->pools[i], NULL, now_ms);
	}
}

struct pool *built_take(struct built *built, size_t at, const uint32_t *records)
{
	struct pool *pool = built && at < built->count ? built->pools[at] : NULL;

	if (!pool)
		return NULL;
	built->pools[at] = NULL;
	for (size_t i = 0; i < pool_member_count(pool); i++)
		pool_set_index(pool, i, records[i]);
	return pool;
}

void built_free(struct built *built)
{
	for (size_t i = 0; i < built->count; i++)
		pool_free(built->pools[i]);
	free(built->pools);
	free(built->checks_same);
	lineage_fini(&built->lineage);
	*built = (struct built){0};
}
