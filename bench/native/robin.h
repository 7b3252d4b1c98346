/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Robin Hood hash table (Celis, Larson, Munro, 1985) to compare the flow table with: entries of
 * 16 bytes in a row, linear probing; who is further from home takes the place of who is nearer, and
 * a search ends where it would have done so. A key is a hash already, from whose high half its home
 * follows, so how far an entry has come needs no room. It serves one thread: an insert moves other
 * entries, which no reader may see amid it.
 */
#pragma once

#include <stdint.h>

struct robin_entry {
	uint64_t key; /* 0: none */
	uint64_t value;
};

struct robin {
	struct robin_entry *entries;
	uint32_t mask; /* entries - 1, a power of two less one */
};

/* How far an entry that stands at `at` is from its home. */
static inline uint32_t robin_distance(const struct robin *robin, uint64_t key, uint32_t at)
{
	return (at - (uint32_t)(key >> 32)) & robin->mask;
}

/* The key's value; 0: it is not there. */
static inline uint64_t robin_find(const struct robin *robin, uint64_t key)
{
	uint32_t at = (uint32_t)(key >> 32) & robin->mask;

	for (uint32_t distance = 0;; distance++, at = (at + 1) & robin->mask) {
		const struct robin_entry *entry = &robin->entries[at];

		if (entry->key == key)
			return entry->value;
		if (!entry->key || robin_distance(robin, entry->key, at) < distance)
			return 0;
	}
}

/* A key that is not there, while there is room. */
static inline void robin_insert(struct robin *robin, uint64_t key, uint64_t value)
{
	struct robin_entry own = {key, value};
	uint32_t at = (uint32_t)(key >> 32) & robin->mask, distance = 0;

	for (;; distance++, at = (at + 1) & robin->mask) {
		struct robin_entry *entry = &robin->entries[at], was = *entry;

		if (was.key && robin_distance(robin, was.key, at) >= distance)
			continue;
		*entry = own;
		if (!was.key)
			return;
		own = was;
		distance = robin_distance(robin, was.key, at);
	}
}
