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
		.words = calloc(conf->pool_count + 1, sizeof(uint64_t *)),
		.checks_same = calloc(conf->pool_count + 1, sizeof(bool)),
		.running = running,
	};
	if (!ret->pools || !ret->words || !ret->checks_same ||
	    lineage_of_conf(running, conf, &ret->lineage))
		return;
	ret->count = conf->pool_count;
	for (size_t i = 0; i < ret->count; i++) {
		const struct conf_pool *pool = &conf->pools[i], *before = find(ret, i);

		ret->checks_same[i] = before && conf_check_same(before, pool);
		if (before && assemble_pool_same(running, before, conf, pool))
			continue;
		if (assemble_pool(conf, pool, NULL, POOL_UNKNOWN, &ret->pools[i]))
			return;
		if (before)
			continue;
		ret->words[i] = calloc(pool_table_size(ret->pools[i]), sizeof(uint64_t));
		pool_write_slots(ret->pools[i], ret->words[i], now_ms);
	}
}

struct pool *built_take(struct built *built, size_t at, const uint32_t *records,
			uint64_t **ret_words)
{
	struct pool *pool = built && at < built->count ? built->pools[at] : NULL;

	if (!pool)
		return NULL;
	built->pools[at] = NULL;
	*ret_words = built->words[at];
	built->words[at] = NULL;
	for (size_t i = 0; i < pool_member_count(pool); i++)
		pool_set_index(pool, i, records[i]);
	return pool;
}

static uint32_t record_of(uint32_t place, const uint32_t *records)
{
	return place ? records[place - 1] : 0;
}

uint64_t built_word(uint64_t word, const uint32_t *records)
{
	return (word & ~abi_slot(ABI_INDEX_MASK, ABI_INDEX_MASK, ABI_INDEX_MASK)) |
	       abi_slot(record_of(abi_slot_current(word), records),
			record_of(abi_slot_previous(word), records),
			record_of(abi_slot_other(word), records));
}

void built_free(struct built *built)
{
	for (size_t i = 0; i < built->count; i++) {
		pool_free(built->pools[i]);
		free(built->words[i]);
	}
	free(built->pools);
	free(built->words);
	free(built->checks_same);
	lineage_fini(&built->lineage);
	*built = (struct built){0};
}
