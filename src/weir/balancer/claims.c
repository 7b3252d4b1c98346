/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which record each backend has, for flows are pinned to records. First each member of a pool that
 * goes on keeps its own. What is left then are backends that came or went, and records that nobody
 * has kept: a backend may have one of those of the same address and port, if it was of a pool that
 * is gone, or of one with whose flows its own pool has to do. A backend that moves out of a pool
 * that is there still has been removed from it, and its flows there are cut.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balancer/assemble.h"
#include "weir/balancer/state.h"
#include "weir/tables/records.h"

struct left {
	struct lineage_member member; /* `number` is the record; 0: passed on */
	size_t pool;                  /* of before */
};

struct claims {
	struct balancer *balancer;
	struct records records;
	struct left *left; /* sorted by member */
	size_t left_count;
};

static uint64_t backend_identity(const void *table, uint32_t index)
{
	return ((const struct abi_backend *)table)[index].identity;
}

/* Of a member of a pool of before. */
static uint32_t record_of(const struct balancer *balancer, size_t pool,
			  const struct lineage_member *member)
{
	return balancer->from ? balancer->from->pools[pool].records[member->number]
			      : member->number;
}

/* --- what a pool keeps --- */

static void keep_all(struct balanced_pool *pool, struct claims *claims, size_t count)
{
	memcpy(pool->records, pool->from->records, count * sizeof(*pool->records));
	for (size_t i = 0; i < count; i++)
		records_take(&claims->records, pool->records[i]);
}

static void keep_those(const struct balancer *balancer, struct claims *claims, size_t at)
{
	const struct conf_pool *conf = &balancer->conf->pools[at];
	size_t before = balancer->lineage->pools[at];

	for (size_t i = 0; i < conf->backend_count && before != LINEAGE_NONE; i++) {
		const struct lineage_member *member =
			lineage_member(&balancer->lineage->before.pools[before],
				       &conf->backends[i].address, conf->backends[i].port);

		if (!member)
			continue;
		balancer->pools[at].records[i] = record_of(balancer, before, member);
		records_take(&claims->records, balancer->pools[at].records[i]);
	}
}

/* Returns whether every member has one now. */
static bool keep(struct balancer *balancer, struct claims *claims, size_t at)
{
	const struct conf_pool *conf = &balancer->conf->pools[at];
	struct balanced_pool *pool = &balancer->pools[at];

	if (pool->stays) {
		keep_all(pool, claims, conf->backend_count);
		return true;
	}
	keep_those(balancer, claims, at);
	for (size_t i = 0; i < conf->backend_count; i++) {
		if (!pool->records[i])
			return false;
	}
	return true;
}

/* --- what is left --- */

static int by_member(const void *a, const void *b)
{
	const struct left *one = a, *two = b;

	return lineage_member_order(&one->member, &two->member);
}

static int find_left(struct claims *claims)
{
	const struct balancer *balancer = claims->balancer;
	const struct lineage_side *before = &balancer->lineage->before;
	size_t members = 0;

	for (size_t i = 0; i < before->pool_count; i++)
		members += before->pools[i].count;
	claims->left = calloc(members + 1, sizeof(*claims->left));
	if (!claims->left)
		return -ENOMEM;
	for (size_t i = 0; i < before->pool_count; i++) {
		for (size_t m = 0; m < before->pools[i].count; m++) {
			struct left one = {before->pools[i].members[m], i};

			one.member.number = record_of(balancer, i, &one.member);
			if (!claims->records.taken[one.member.number])
				claims->left[claims->left_count++] = one;
		}
	}
	qsort(claims->left, claims->left_count, sizeof(*claims->left), by_member);
	return 0;
}

/* The pool that goes on as the other's is not to write into its slots, by which flows of this
 * backend still come. */
static void part(struct claims *claims, size_t before)
{
	size_t heir = claims->balancer->lineage->heirs[before];

	if (heir != LINEAGE_NONE)
		claims->balancer->pools[heir].parts = true;
}

/* 0: none. */
static uint32_t take_left(struct claims *claims, size_t at, const struct conf_backend *backend)
{
	const struct lineage *lineage = claims->balancer->lineage;
	const struct left key = {.member = {.addr = backend->address, .port = backend->port}};
	struct left *end = claims->left + claims->left_count, *found;

	found = claims->left_count
			? bsearch(&key, claims->left, claims->left_count, sizeof(key), by_member)
			: NULL;
	if (!found)
		return 0;
	while (found > claims->left && by_member(found - 1, &key) == 0)
		found--;
	/* Of several, any: their pools are one now. */
	for (; found < end && by_member(found, &key) == 0; found++) {
		uint32_t record = found->member.number;

		if (!record || claims->records.taken[record] ||
		    (lineage->heirs[found->pool] != LINEAGE_NONE &&
		     !lineage_is_pair(lineage, found->pool, at)))
			continue;
		found->member.number = 0;
		part(claims, found->pool);
		return record;
	}
	return 0;
}

static uint32_t claim(struct claims *claims, size_t at, const struct conf_backend *backend)
{
	uint64_t identity = assemble_record_identity(&claims->balancer->conf->pools[at], backend);
	uint32_t record = take_left(claims, at, backend);

	/* At a start, of a pool of which only its records are known. */
	if (!record)
		record = records_known(&claims->records, identity);
	if (!record)
		return records_claim_free(&claims->records);
	records_take(&claims->records, record);
	return record;
}

static int claim_rest(struct claims *claims, size_t at, struct err *err)
{
	const struct conf_pool *conf = &claims->balancer->conf->pools[at];
	const struct balanced_pool *pool = &claims->balancer->pools[at];

	for (size_t i = 0; i < conf->backend_count; i++) {
		if (!pool->records[i])
			pool->records[i] = claim(claims, at, &conf->backends[i]);
		if (!pool->records[i])
			return err_set(err, -ENOSPC,
				       "the tables hold %d backends at most, with those that go",
				       ABI_BACKENDS - 1);
	}
	return 0;
}

static int find_all(struct balancer *balancer, struct claims *claims, struct err *err)
{
	const struct conf *conf = balancer->conf;
	bool any = false;
	int ret = 0;

	for (size_t i = 0; i < conf->pool_count; i++) {
		balancer->pools[i].records =
			calloc(conf->pools[i].backend_count + 1, sizeof(uint32_t));
		if (!balancer->pools[i].records)
			return err_set(err, -ENOMEM, "out of memory");
		any |= !keep(balancer, claims, i);
	}
	if (any && find_left(claims))
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < conf->pool_count && any && !ret; i++)
		ret = claim_rest(claims, i, err);
	return ret;
}

int claims_find(struct balancer *balancer, struct err *err)
{
	struct claims claims = {.balancer = balancer};
	int ret = records_init(&claims.records, balancer->tables->backends, ABI_BACKENDS,
			       backend_identity);

	if (ret)
		return err_set(err, ret, "out of memory");
	ret = find_all(balancer, &claims, err);
	records_fini(&claims.records);
	free(claims.left);
	return ret;
}
