/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/tables/access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Each service's record has two numbers for its list, that it takes in turns. */
static uint32_t list_number(uint32_t record, uint32_t turn)
{
	return ABI_LIST_ACCESS + 2 * record + turn;
}

static bool is_everybody(const struct conf_service *service, bool is4)
{
	if (!service->allow_count)
		return true;
	for (size_t i = 0; i < service->allow_count; i++) {
		if (!service->allow[i].length && addr_is4(&service->allow[i].addr) == is4)
			return true;
	}
	return false;
}

bool access_is_limited(const struct conf_service *service)
{
	return service->deny_count || !is_everybody(service, true) || !is_everybody(service, false);
}

static bool same_prefixes(const struct prefix *one, const struct prefix *two, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!prefix_equal(&one[i], &two[i]))
			return false;
	}
	return true;
}

bool access_same(const struct conf_service *one, const struct conf_service *two)
{
	return one->allow_count == two->allow_count && one->deny_count == two->deny_count &&
	       same_prefixes(one->allow, two->allow, one->allow_count) &&
	       same_prefixes(one->deny, two->deny, one->deny_count);
}

/* --- what is there --- */

/* Does a service's record point at the list? */
static bool is_used(const struct access *access, uint32_t list)
{
	uint32_t record = (list - ABI_LIST_ACCESS) / 2;
	const struct abi_service *service;

	if (record >= ABI_SERVICES)
		return false;
	service = &access->tables->services[record];
	return service->flags & ABI_SERVICE_ACCESS && service->access == list;
}

static uint32_t list_of(const struct dp_held *held)
{
	return held->prefix.table >> 1;
}

bool access_is_left(const struct access *access)
{
	for (size_t i = 0; i < access->old_count; i++) {
		if (access->old[i].value && !is_used(access, list_of(&access->old[i])))
			return true;
	}
	return false;
}

/* From the end, which leaves the shorter way to go in what is sorted. */
void access_drop(struct access *access)
{
	for (size_t i = access->old_count; i-- > 0;) {
		struct dp_held *old = &access->old[i];

		if (!old->value || is_used(access, list_of(old)))
			continue;
		access->tables->set_prefix(access->tables->prefixes, &old->prefix, 0);
		old->value = 0;
	}
}

int access_init(struct access *access, struct dp_tables *tables, struct err *err)
{
	int ret;

	*access = (struct access){.tables = tables};
	ret = dp_tables_hold(tables, ABI_LIST_ACCESS, list_number(ABI_SERVICES, 0), &access->old,
			     &access->old_count);
	if (ret)
		return err_set(err, ret, "the access lists that were there cannot be read: %s",
			       strerror(-ret));
	/* A daemon that ended amid a change left the list that it was building, or the old one. */
	access_drop(access);
	return 0;
}

void access_fini(struct access *access)
{
	free(access->old);
	access->old = NULL;
}

/* --- writing --- */

static size_t add(struct dp_held *entries, size_t count, uint32_t list, const struct prefix *prefix,
		  enum abi_access value)
{
	entries[count] = (struct dp_held){dp_prefix(list, prefix), value};
	return count + 1;
}

/* By prefix; of two for the same one, deny is the one that counts and comes first. */
static int by_prefix(const void *a, const void *b)
{
	const struct dp_held *one = a, *two = b;
	int order = dp_held_compare(a, b);

	return order ? order : (one->value < two->value) - (one->value > two->value);
}

/* The list as it should be, sorted, each prefix once. NULL: out of memory. */
static struct dp_held *make_list(const struct conf_service *service, uint32_t list,
				 size_t *ret_count)
{
	static const struct prefix all4 = {.addr = {.bytes = {[10] = 0xff, [11] = 0xff}}}, all6;
	size_t count = 0, kept = 0;
	struct dp_held *entries =
		calloc(service->allow_count + service->deny_count + 2, sizeof(*entries));

	if (!entries)
		return NULL;
	if (!service->allow_count) {
		count = add(entries, count, list, &all4, ABI_ACCESS_ALLOW);
		count = add(entries, count, list, &all6, ABI_ACCESS_ALLOW);
	}
	for (size_t i = 0; i < service->allow_count; i++)
		count = add(entries, count, list, &service->allow[i], ABI_ACCESS_ALLOW);
	for (size_t i = 0; i < service->deny_count; i++)
		count = add(entries, count, list, &service->deny[i], ABI_ACCESS_DENY);
	qsort(entries, count, sizeof(*entries), by_prefix);
	for (size_t i = 0; i < count; i++) {
		if (!kept || dp_held_compare(&entries[kept - 1], &entries[i]))
			entries[kept++] = entries[i];
	}
	*ret_count = kept;
	return entries;
}

/* Where the old entries of this list or a later one begin. */
static size_t find_old(const struct access *access, uint32_t list)
{
	size_t low = 0, high = access->old_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (list_of(&access->old[middle]) < list)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Does the list in use hold just this? The entries name the same list. */
static bool is_as_before(const struct access *access, uint32_t list, const struct dp_held *entries,
			 size_t count)
{
	size_t first = find_old(access, list);

	if (!is_used(access, list) || find_old(access, list + 1) - first != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct dp_held *old = &access->old[first + i];

		if (dp_held_compare(old, &entries[i]) || old->value != entries[i].value)
			return false;
	}
	return true;
}

static int build(struct access *access, const struct dp_held *entries, size_t count)
{
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++)
		ret = access->tables->set_prefix(access->tables->prefixes, &entries[i].prefix,
						 entries[i].value);
	return ret;
}

int access_build(struct access *access, const struct conf_service *service, uint32_t record,
		 uint32_t *ret_list, struct err *err)
{
	uint32_t list = list_number(record, 0);
	struct dp_held *entries;
	size_t count;
	int ret = 0;

	*ret_list = 0;
	if (!access_is_limited(service))
		return 0;
	if (is_used(access, list_number(record, 1)))
		list = list_number(record, 1);
	entries = make_list(service, list, &count);
	if (!entries)
		return err_set(err, -ENOMEM, "out of memory");
	if (!is_as_before(access, list, entries, count)) {
		/* The number that no packet goes by. */
		if (is_used(access, list))
			list = list_number(record, list == list_number(record, 0));
		for (size_t i = 0; i < count; i++)
			entries[i].prefix.table = list << 1 | (entries[i].prefix.table & 1);
		ret = build(access, entries, count);
	}
	free(entries);
	if (ret)
		return err_set(err, ret,
			       "service %s: its access list does not fit: all lists and VIPs "
			       "together have %d prefixes",
			       service->name, ABI_PREFIXES);
	*ret_list = list;
	return 0;
}
