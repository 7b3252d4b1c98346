/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Weighted Maglev tables (Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load
 * Balancer", NSDI'16, section 3.4). Pure functions over arrays that the caller owns.
 *
 * The table depends on the members' identities and weights, the seed and the size alone: not on
 * the order of the list, the machine, or anything before. A member's share is within one slot of
 * size * weight / total. Members of weight 0 own nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_NOBODY UINT32_MAX /* in a table: the slot has no owner */

enum { MAGLEV_SIZE_MAX = 131071 };

struct maglev_member {
	uint64_t identity; /* distinct in a table */
	uint32_t weight;   /* relative */
};

/* One of the allowed primes? (251 ... 131071) */
bool maglev_size_allowed(uint32_t size);
/* The allowed primes in rising order, ended by 0. */
const uint32_t *maglev_sizes(void);
/* What `table_size: auto` means for so many configured members. */
uint32_t maglev_size_auto(size_t members);

/* A member's preference list is offset, offset + skip, ... modulo size; skip is 1 to size - 1. */
struct maglev_walk {
	uint32_t offset;
	uint32_t skip;
};
struct maglev_walk maglev_walk(uint64_t identity, uint64_t seed, uint32_t size);
/* The position after `at`. */
uint32_t maglev_walk_next(uint32_t at, uint32_t skip, uint32_t size);

/*
 * Writes the owner of each of `size` slots, an index into `members`, or HASH_NOBODY in all of
 * them when no member has weight. `size` must be prime. 0, -EINVAL (two equal identities, size
 * not prime) or -ENOMEM.
 */
int maglev_build(const struct maglev_member *members, size_t count, uint64_t seed, uint32_t size,
		 uint32_t *slots);
