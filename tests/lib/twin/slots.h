/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who serves each slot of a Maglev pool, by the rules of docs/design/02-slots.md and by the tests'
 * own hand: slowly, without any list that is kept, and nothing of src/hash is used.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TWIN_NOBODY UINT32_MAX

struct twin_member {
	uint64_t identity;
	uint32_t weight;
	uint8_t share; /* 0 to 100 % of its own slots */
};

/* The owner of each slot while all have all of theirs. Somebody has weight; the size is prime. */
void twin_base(const struct twin_member *members, size_t count, uint64_t seed, uint32_t size,
	       uint32_t *base);
/* Who serves, and the slot's other owner. `base` has an owner in each slot. */
void twin_serve(const struct twin_member *members, const uint32_t *base, uint32_t size,
		uint32_t *owners, uint32_t *others);
