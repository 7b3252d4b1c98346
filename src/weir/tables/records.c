/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/tables/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_identity(const void *a, const void *b)
{
	const struct record_known *one = a, *two = b;

	return one->identity < two->identity ? -1 : one->identity > two->identity;
}

int records_init(struct records *records, const void *table, uint32_t count,
		 uint64_t (*identity)(const void *table, uint32_t index))
{
	*records = (struct records){
		.identity = identity,
		.table = table,
		.count = count,
		.known = calloc(count, sizeof(*records->known)),
		.taken = calloc(count, sizeof(*records->taken)),
		.next_free = 1,
	};
	if (!records->known || !records->taken) {
		records_fini(records);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < count; i++) {
		struct record_known known = {identity(table, i), i};

		if (known.identity)
			records->known[records->known_count++] = known;
	}
	qsort(records->known, records->known_count, sizeof(*records->known), by_identity);
	return 0;
}

void records_fini(struct records *records)
{
	free(records->known);
	free(records->taken);
	*records = (struct records){0};
}

static const struct record_known *find(const struct records *records, uint64_t identity)
{
	const struct record_known key = {.identity = identity};

	if (!records->known_count)
		return NULL;
	return bsearch(&key, records->known, records->known_count, sizeof(key), by_identity);
}

uint32_t records_known(const struct records *records, uint64_t identity)
{
	const struct record_known *found = find(records, identity);

	return found && !records->taken[found->index] ? found->index : 0;
}

void records_take(struct records *records, uint32_t index)
{
	records->taken[index] = 1;
}

uint32_t records_claim_free(struct records *records)
{
	/* Records that others had stay theirs until the end, for flows may be pinned to them. */
	for (; records->next_free < records->count; records->next_free++) {
		uint32_t index = records->next_free;

		if (records->taken[index] || records->identity(records->table, index))
			continue;
		records->taken[index] = 1;
		return index;
	}
	return 0;
}

static int by_first(const void *a, const void *b)
{
	const struct range *one = a, *two = b;

	return one->first < two->first ? -1 : one->first > two->first;
}

void ranges_sort(struct ranges *ranges)
{
	qsort(ranges->used, ranges->count, sizeof(*ranges->used), by_first);
}

int ranges_take(struct ranges *ranges, uint32_t size, uint32_t end, uint32_t *ret)
{
	struct range *used = ranges->used;
	size_t i = 0;
	uint32_t at = 0;

	/* Before where the last one went there was no room for as many. */
	if (size >= ranges->last_size && ranges->last_size) {
		i = ranges->last;
		at = ranges->last_first;
	}
	for (; i < ranges->count; i++) {
		if (used[i].first >= at && used[i].first - at >= size)
			break;
		if (used[i].first + used[i].size > at)
			at = used[i].first + used[i].size;
	}
	if (at > end || end - at < size)
		return -ENOSPC;
	memmove(&used[i + 1], &used[i], (ranges->count - i) * sizeof(*used));
	used[i] = (struct range){at, size};
	ranges->count++;
	ranges->last = i;
	ranges->last_first = at;
	ranges->last_size = size;
	*ret = at;
	return 0;
}
