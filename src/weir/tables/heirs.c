/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A record does not say of which pool it is, but services say which pool's slots they have, and the
 * slots name the pool's records: each member that has any, as every member does.
 */
#include "weir/tables/heirs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b)
{
	const uint64_t *one = a, *two = b;

	return *one < *two ? -1 : *one > *two;
}

static int by_address(const void *a, const void *b)
{
	const struct heir *one = a, *two = b;
	int order = memcmp(&one->addr, &two->addr, sizeof(one->addr));

	return order ? order : memcmp(&one->port, &two->port, sizeof(one->port));
}

static void mark_slots(const struct dp_tables *tables, uint64_t table, uint8_t *marks)
{
	uint32_t first = (uint32_t)table, size = (uint32_t)(table >> 32);

	if (first > ABI_SLOTS || size > ABI_SLOTS - first)
		return;
	for (uint32_t i = first; i < first + size; i++) {
		uint64_t word = tables->slots[i];

		marks[abi_slot_current(word) & (ABI_BACKENDS - 1)] = 1;
		marks[abi_slot_other(word) & (ABI_BACKENDS - 1)] = 1;
	}
}

static void collect(struct heirs *heirs, const struct dp_tables *tables, const uint8_t *marks)
{
	for (uint32_t i = 1; i < ABI_BACKENDS; i++) {
		const struct abi_backend *backend = &tables->backends[i];

		if (marks[i] && backend->identity)
			heirs->list[heirs->count++] =
				(struct heir){backend->addr, backend->port, i};
	}
	qsort(heirs->list, heirs->count, sizeof(*heirs->list), by_address);
}

int heirs_init(struct heirs *heirs, const struct dp_tables *tables, uint64_t *pools, size_t count)
{
	uint8_t *marks = calloc(ABI_BACKENDS, 1);
	bool any = false;

	*heirs = (struct heirs){.list = calloc(ABI_BACKENDS, sizeof(*heirs->list))};
	if (!marks || !heirs->list) {
		free(marks);
		heirs_fini(heirs);
		return -ENOMEM;
	}
	qsort(pools, count, sizeof(*pools), by_number);
	for (uint32_t i = 1; i < ABI_SERVICES; i++) {
		const struct abi_service *service = &tables->services[i];

		if (!service->pool_identity ||
		    bsearch(&service->pool_identity, pools, count, sizeof(*pools), by_number))
			continue;
		mark_slots(tables, service->table, marks);
		any = true;
	}
	if (any)
		collect(heirs, tables, marks);
	free(marks);
	return 0;
}

void heirs_fini(struct heirs *heirs)
{
	free(heirs->list);
	*heirs = (struct heirs){0};
}

uint32_t heirs_take(struct heirs *heirs, const struct addr *addr, __be16 port)
{
	struct heir key = {.addr = dp_addr(addr), .port = port}, *found;
	uint32_t record;

	found = heirs->count ? bsearch(&key, heirs->list, heirs->count, sizeof(key), by_address)
			     : NULL;
	if (!found)
		return 0;
	/* Of several, any: two pools that are gone had the same backend. */
	while (found > heirs->list && by_address(found - 1, &key) == 0)
		found--;
	for (; found < heirs->list + heirs->count && by_address(found, &key) == 0; found++) {
		record = found->record;
		found->record = 0;
		if (record)
			return record;
	}
	return 0;
}
