/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/prefixes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_BITS = 32, LENGTHS = 128 + 1 };

/* A list's prefixes of one family have an array of their own, so that those of the others need not
 * move aside. */
struct table {
	uint32_t number;
	struct dp_held *held; /* sorted */
	size_t count, room;
};

struct prefixes {
	struct table *tables; /* sorted; one that is empty stays */
	size_t table_count, table_room;
	size_t count;
	uint32_t by_length[LENGTHS]; /* how many there are: lengths that nobody has are not tried */
};

int prefixes_new(struct prefixes **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void prefixes_free(struct prefixes *prefixes)
{
	if (!prefixes)
		return;
	for (size_t i = 0; i < prefixes->table_count; i++)
		free(prefixes->tables[i].held);
	free(prefixes->tables);
	free(prefixes);
}

/* The first table of this number or a later one, by its place. */
static size_t table_at(const struct prefixes *prefixes, uint32_t number)
{
	size_t low = 0, high = prefixes->table_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (prefixes->tables[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* NULL: nothing was ever put there. */
static struct table *find_table(const struct prefixes *prefixes, uint32_t number)
{
	size_t at = table_at(prefixes, number);

	return at < prefixes->table_count && prefixes->tables[at].number == number
		       ? &prefixes->tables[at]
		       : NULL;
}

/* Makes room for one more where there is none. */
static bool has_room(void **array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? *room * 2 : 16;
	void *more;

	if (count < *room)
		return true;
	more = realloc(*array, wanted * size);
	if (!more)
		return false;
	*array = more;
	*room = wanted;
	return true;
}

/* A new one if need be; NULL: out of memory. */
static struct table *get_table(struct prefixes *prefixes, uint32_t number)
{
	size_t at = table_at(prefixes, number);
	struct table *found = find_table(prefixes, number);

	if (found)
		return found;
	if (!has_room((void **)&prefixes->tables, prefixes->table_count, &prefixes->table_room,
		      sizeof(*prefixes->tables)))
		return NULL;
	found = &prefixes->tables[at];
	memmove(found + 1, found, (prefixes->table_count - at) * sizeof(*found));
	*found = (struct table){.number = number};
	prefixes->table_count++;
	return found;
}

/* Where the prefix stands, or would. */
static size_t place_of(const struct table *table, const struct abi_prefix *prefix)
{
	const struct dp_held key = {.prefix = *prefix};
	size_t low = 0, high = table->count;

	/* Mostly the next one comes last. */
	if (high && dp_held_compare(&table->held[high - 1], &key) < 0)
		return high;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (dp_held_compare(&table->held[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool stands_at(const struct table *table, size_t place, const struct abi_prefix *prefix)
{
	const struct dp_held key = {.prefix = *prefix};

	return place < table->count && !dp_held_compare(&table->held[place], &key);
}

static struct abi_prefix masked(uint32_t table, const struct pkt_addr *addr, uint32_t bits)
{
	struct abi_prefix ret = {.length = bits + TABLE_BITS, .table = table, .addr = *addr};

	for (uint32_t i = 0; i < sizeof(ret.addr.bytes); i++) {
		uint32_t left = bits > i * 8 ? bits - i * 8 : 0;

		if (left < 8)
			ret.addr.bytes[i] &= (uint8_t)(0xff00 >> left);
	}
	return ret;
}

static int insert(struct prefixes *prefixes, const struct dp_held *held)
{
	struct table *table;
	size_t place;

	if (prefixes->count >= ABI_PREFIXES)
		return -ENOSPC;
	table = get_table(prefixes, held->prefix.table);
	if (!table ||
	    !has_room((void **)&table->held, table->count, &table->room, sizeof(*table->held)))
		return -ENOMEM;
	place = place_of(table, &held->prefix);
	memmove(&table->held[place + 1], &table->held[place],
		(table->count - place) * sizeof(*held));
	table->held[place] = *held;
	table->count++;
	prefixes->count++;
	prefixes->by_length[held->prefix.length - TABLE_BITS]++;
	return 0;
}

static void drop(struct prefixes *prefixes, struct table *table, size_t place)
{
	prefixes->by_length[table->held[place].prefix.length - TABLE_BITS]--;
	prefixes->count--;
	table->count--;
	memmove(&table->held[place], &table->held[place + 1],
		(table->count - place) * sizeof(*table->held));
	if (table->count)
		return;
	free(table->held);
	table->held = NULL;
	table->room = 0;
}

int prefixes_set(void *owner, const struct abi_prefix *prefix, uint32_t value)
{
	struct prefixes *prefixes = owner;
	struct dp_held held = {.value = value};
	struct table *table;
	size_t place;

	if (prefix->length < TABLE_BITS || prefix->length >= TABLE_BITS + LENGTHS)
		return -EINVAL;
	held.prefix = masked(prefix->table, &prefix->addr, prefix->length - TABLE_BITS);
	table = find_table(prefixes, prefix->table);
	place = table ? place_of(table, &held.prefix) : 0;
	if (!table || !stands_at(table, place, &held.prefix))
		return value ? insert(prefixes, &held) : 0;
	if (value)
		table->held[place].value = value;
	else
		drop(prefixes, table, place);
	return 0;
}

int prefixes_list(const void *owner, uint32_t first, uint32_t last, struct dp_held **ret,
		  size_t *ret_count)
{
	const struct prefixes *prefixes = owner;
	size_t begin = table_at(prefixes, first), end = begin, count = 0;
	struct dp_held *all = NULL;

	for (; end < prefixes->table_count && prefixes->tables[end].number <= last; end++)
		count += prefixes->tables[end].count;
	if (count) {
		all = malloc(count * sizeof(*all));
		if (!all)
			return -ENOMEM;
	}
	*ret = all;
	*ret_count = count;
	for (; begin < end; begin++) {
		const struct table *table = &prefixes->tables[begin];

		if (!table->count)
			continue;
		memcpy(all, table->held, table->count * sizeof(*all));
		all += table->count;
	}
	return 0;
}

uint32_t prefixes_value(const struct prefixes *prefixes, const struct abi_prefix *prefix)
{
	const struct table *table = find_table(prefixes, prefix->table);
	size_t place = table ? place_of(table, prefix) : 0;

	return table && stands_at(table, place, prefix) ? table->held[place].value : 0;
}

uint32_t prefixes_find(const struct prefixes *prefixes, uint32_t table, const struct pkt_addr *addr)
{
	for (uint32_t bits = LENGTHS; bits-- > 0;) {
		struct abi_prefix prefix;
		uint32_t value;

		if (!prefixes->by_length[bits])
			continue;
		prefix = masked(table, addr, bits);
		value = prefixes_value(prefixes, &prefix);
		if (value)
			return value;
	}
	return 0;
}
