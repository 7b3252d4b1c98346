/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/prefixes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_BITS = 32, LENGTHS = 128 + 1 };

struct entry {
	struct abi_prefix prefix;
	uint32_t value;
};

struct prefixes {
	struct entry *entries; /* sorted */
	size_t count, room;
	uint32_t by_length[LENGTHS]; /* how many there are: lengths that nobody has are not tried */
};

int prefixes_new(struct prefixes **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void prefixes_free(struct prefixes *prefixes)
{
	if (prefixes)
		free(prefixes->entries);
	free(prefixes);
}

static int compare(const struct abi_prefix *a, const struct abi_prefix *b)
{
	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return memcmp(&a->addr, &b->addr, sizeof(a->addr));
}

/* Where the prefix stands, or would. */
static size_t place_of(const struct prefixes *prefixes, const struct abi_prefix *prefix)
{
	size_t low = 0, high = prefixes->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (compare(&prefixes->entries[middle].prefix, prefix) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool stands_at(const struct prefixes *prefixes, size_t place,
		      const struct abi_prefix *prefix)
{
	return place < prefixes->count && !compare(&prefixes->entries[place].prefix, prefix);
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

static int insert(struct prefixes *prefixes, size_t place, const struct entry *entry)
{
	if (prefixes->count >= ABI_PREFIXES)
		return -ENOSPC;
	if (prefixes->count == prefixes->room) {
		size_t room = prefixes->room ? prefixes->room * 2 : 16;
		struct entry *more = realloc(prefixes->entries, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		prefixes->entries = more;
		prefixes->room = room;
	}
	memmove(&prefixes->entries[place + 1], &prefixes->entries[place],
		(prefixes->count - place) * sizeof(*entry));
	prefixes->entries[place] = *entry;
	prefixes->count++;
	prefixes->by_length[entry->prefix.length - TABLE_BITS]++;
	return 0;
}

int prefixes_set(void *owner, const struct abi_prefix *prefix, uint32_t value)
{
	struct prefixes *prefixes = owner;
	struct entry entry = {.value = value};
	size_t place;

	if (prefix->length < TABLE_BITS || prefix->length >= TABLE_BITS + LENGTHS)
		return -EINVAL;
	entry.prefix = masked(prefix->table, &prefix->addr, prefix->length - TABLE_BITS);
	place = place_of(prefixes, &entry.prefix);
	if (!stands_at(prefixes, place, &entry.prefix))
		return value ? insert(prefixes, place, &entry) : 0;
	if (value) {
		prefixes->entries[place].value = value;
		return 0;
	}
	prefixes->count--;
	memmove(&prefixes->entries[place], &prefixes->entries[place + 1],
		(prefixes->count - place) * sizeof(entry));
	prefixes->by_length[entry.prefix.length - TABLE_BITS]--;
	return 0;
}

int prefixes_next(const void *owner, const struct abi_prefix *after, struct abi_prefix *ret,
		  uint32_t *ret_value)
{
	const struct prefixes *prefixes = owner;
	size_t place = after ? place_of(prefixes, after) : 0;

	if (after)
		place = stands_at(prefixes, place, after) ? place + 1 : 0;
	if (place >= prefixes->count)
		return -ENOENT;
	*ret = prefixes->entries[place].prefix;
	*ret_value = prefixes->entries[place].value;
	return 0;
}

uint32_t prefixes_find(const struct prefixes *prefixes, uint32_t table, const struct pkt_addr *addr)
{
	for (uint32_t bits = LENGTHS; bits-- > 0;) {
		struct abi_prefix prefix;
		size_t place;

		if (!prefixes->by_length[bits])
			continue;
		prefix = masked(table, addr, bits);
		place = place_of(prefixes, &prefix);
		if (stands_at(prefixes, place, &prefix))
			return prefixes->entries[place].value;
	}
	return 0;
}
