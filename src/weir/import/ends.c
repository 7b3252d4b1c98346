/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A service of a file listens on the same ports at all of its addresses. Another's group of
 * addresses and ports may have any: it becomes as many services as there are sets of ports.
 */
#include <stdlib.h>
#include <string.h>

#include "weir/import/settle.h"

/* The listens of an address, one after the other in a sorted list. */
struct run {
	const struct import_end *const *ends;
	size_t count;
	bool taken;
};

static int compare_listens(const struct conf_listen *x, const struct conf_listen *y)
{
	if (x->proto != y->proto)
		return x->proto - y->proto;
	return x->first != y->first ? x->first - y->first : x->last - y->last;
}

static int compare_ends(const void *a, const void *b)
{
	const struct import_end *x = *(struct import_end *const *)a;
	const struct import_end *y = *(struct import_end *const *)b;
	int order = memcmp(&x->vip, &y->vip, sizeof(x->vip));

	return order ? order : compare_listens(&x->listen, &y->listen);
}

/* Sorted, each once; returns how many. */
static size_t collect(struct import *import, const struct import_service *service,
		      const struct import_end ***ret)
{
	size_t count = 0, kept = 0;
	const struct import_end **list;

	for (const struct import_end *at = service->ends; at; at = at->next)
		count++;
	list = arena_array(import->arena, count, sizeof(*list));
	count = 0;
	for (const struct import_end *at = service->ends; at; at = at->next)
		list[count++] = at;
	qsort(list, count, sizeof(*list), compare_ends);
	for (size_t i = 0; i < count; i++) {
		if (!kept || compare_ends(&list[kept - 1], &list[i]) != 0)
			list[kept++] = list[i];
	}
	*ret = list;
	return kept;
}

static bool is_same(const struct run *x, const struct run *y)
{
	if (x->count != y->count)
		return false;
	for (size_t i = 0; i < x->count; i++) {
		if (compare_listens(&x->ends[i]->listen, &y->ends[i]->listen) != 0)
			return false;
	}
	return true;
}

static size_t make_runs(const struct import_end **list, size_t count, bool alone, struct run *runs)
{
	size_t made = 0;

	for (size_t i = 0; i < count; i++) {
		struct run *last = made ? &runs[made - 1] : NULL;

		if (last && !alone && addr_equal(&last->ends[0]->vip, &list[i]->vip))
			last->count++;
		else
			runs[made++] = (struct run){.ends = &list[i], .count = 1};
	}
	return made;
}

static void take_run(struct import *import, struct import_service *service, struct run *run)
{
	for (size_t i = 0; i < run->count; i++) {
		struct import_end *end = arena_alloc(import->arena, sizeof(*end));

		*end = *run->ends[i];
		end->next = NULL;
		*service->ends_tail = end;
		service->ends_tail = &end->next;
	}
	run->taken = true;
}

void settle_ends(struct import *import, struct import_service *service)
{
	/* Where ports change, no two of a protocol go to one. */
	bool alone = service->forward == CONF_FORWARD_GENEVE;
	const struct import_end **list;
	size_t count = collect(import, service, &list), made;
	struct run *runs = arena_array(import->arena, count, sizeof(*runs));
	struct import_service *now = service;

	made = make_runs(list, count, alone, runs);
	service->ends = NULL;
	service->ends_tail = &service->ends;
	for (size_t i = 0; i < made; i++) {
		if (runs[i].taken)
			continue;
		if (now->ends) {
			struct import_service *more = arena_alloc(import->arena, sizeof(*more));

			*more = *service;
			more->ends = NULL;
			more->ends_tail = &more->ends;
			more->next = now->next;
			now->next = more;
			now = more;
		}
		for (size_t j = i; j < made; j++) {
			if (!runs[j].taken && is_same(&runs[i], &runs[j]))
				take_run(import, now, &runs[j]);
		}
	}
}
