/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Services first, for whom they point at says which pools have to do with each other.
 */
#include "weir/lineage/lineage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/lineage/room.h"

static int by_place(const void *a, const void *b)
{
	const struct lineage_pair *one = a, *two = b;

	if (one->before != two->before)
		return one->before < two->before ? -1 : 1;
	return (one->now > two->now) - (one->now < two->now);
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct lineage_pool *pools = arg;
	uint64_t one = pools[*(const size_t *)a].name, two = pools[*(const size_t *)b].name;

	return (one > two) - (one < two);
}

static void pair_services(struct lineage *lineage)
{
	for (size_t i = 0; i < lineage->now.service_count; i++) {
		size_t source = lineage->sources[i], pool;

		if (source == LINEAGE_NONE)
			continue;
		pool = lineage->before.services[source].pool;
		if (pool != LINEAGE_NONE)
			lineage->pairs[lineage->pair_count++] =
				(struct lineage_pair){pool, lineage->now.services[i].pool};
	}
}

/* `order` has room for all earlier pools. */
static void pair_names(struct lineage *lineage, size_t *order)
{
	const struct lineage_side *before = &lineage->before, *now = &lineage->now;

	for (size_t i = 0; i < before->pool_count; i++)
		order[i] = i;
	qsort_r(order, before->pool_count, sizeof(*order), by_name, before->pools);
	for (size_t i = 0; i < now->pool_count; i++) {
		size_t low = 0, high = before->pool_count;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (before->pools[order[middle]].name < now->pools[i].name)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < before->pool_count &&
		    before->pools[order[low]].name == now->pools[i].name)
			lineage->pairs[lineage->pair_count++] =
				(struct lineage_pair){order[low], i};
	}
}

static void sort_pairs(struct lineage *lineage)
{
	size_t kept = 0;

	qsort(lineage->pairs, lineage->pair_count, sizeof(*lineage->pairs), by_place);
	for (size_t i = 0; i < lineage->pair_count; i++) {
		if (!kept || by_place(&lineage->pairs[kept - 1], &lineage->pairs[i]) != 0)
			lineage->pairs[kept++] = lineage->pairs[i];
	}
	lineage->pair_count = kept;
}

static size_t *none(size_t count)
{
	size_t *ret = malloc((count + 1) * sizeof(*ret));

	if (ret)
		memset(ret, 0xff, (count + 1) * sizeof(*ret));
	return ret;
}

static int find(struct lineage *lineage)
{
	const struct lineage_side *before = &lineage->before, *now = &lineage->now;
	size_t *order = none(before->pool_count);
	int ret = -ENOMEM;

	lineage->pools = none(now->pool_count);
	lineage->heirs = none(before->pool_count);
	lineage->services = none(now->service_count);
	lineage->sources = none(now->service_count);
	lineage->pairs = calloc(now->service_count + now->pool_count + 1, sizeof(*lineage->pairs));
	if (order && lineage->pools && lineage->heirs && lineage->services && lineage->sources &&
	    lineage->pairs)
		ret = lineage_find_services(lineage);
	if (!ret) {
		pair_services(lineage);
		pair_names(lineage, order);
		sort_pairs(lineage);
		ret = lineage_find_pools(lineage);
	}
	free(order);
	return ret;
}

/* `before` is there. */
static int go_on(struct lineage *lineage, const struct conf *now)
{
	int error = lineage_side_of(now, &lineage->now);

	if (!error)
		error = find(lineage);
	if (error)
		lineage_fini(lineage);
	return error;
}

int lineage_of_conf(const struct conf *before, const struct conf *now, struct lineage *ret)
{
	int error;

	*ret = (struct lineage){0};
	error = lineage_side_of(before, &ret->before);
	return error ? error : go_on(ret, now);
}

int lineage_of_tables(const struct dp_tables *before, const struct conf *now, struct lineage *ret)
{
	int error;

	*ret = (struct lineage){0};
	error = lineage_side_of_tables(before, &ret->before);
	return error ? error : go_on(ret, now);
}

void lineage_fini(struct lineage *lineage)
{
	lineage_side_fini(&lineage->before);
	lineage_side_fini(&lineage->now);
	free(lineage->pools);
	free(lineage->heirs);
	free(lineage->services);
	free(lineage->sources);
	free(lineage->pairs);
	*lineage = (struct lineage){0};
}

bool lineage_is_pair(const struct lineage *lineage, size_t before, size_t now)
{
	const struct lineage_pair key = {before, now};

	return lineage->pair_count &&
	       bsearch(&key, lineage->pairs, lineage->pair_count, sizeof(key), by_place);
}

const struct lineage_member *lineage_member(const struct lineage_pool *pool,
					    const struct addr *addr, uint16_t port)
{
	const struct lineage_member key = {.addr = *addr, .port = port};

	return pool->count ? bsearch(&key, pool->members, pool->count, sizeof(key),
				     lineage_member_order)
			   : NULL;
}
