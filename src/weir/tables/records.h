/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which record belongs to whom: in a table of records with an identity each (0: free), finds the
 * record of an identity or takes a free one. And the like for ranges of slots. Used while a
 * configuration is brought into the tables; belongs to the balancer. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct records {
	uint64_t (*identity)(const void *table, uint32_t index);
	const void *table;
	uint32_t count; /* records of the table, the first is never given */
	struct record_known {
		uint64_t identity;
		uint32_t index;
	} * known; /* what was there at the start, by identity */
	size_t known_count;
	uint8_t *taken; /* of each record: claimed since the start */
	uint32_t next_free;
};

/* Reads the table as it is. 0 or -ENOMEM. */
int records_init(struct records *records, const void *table, uint32_t count,
		 uint64_t (*identity)(const void *table, uint32_t index));
void records_fini(struct records *records);
/* The record of this identity, if nobody has claimed it yet. 0: there is none. */
uint32_t records_known(const struct records *records, uint64_t identity);
/* A free one. 0: none is left. */
uint32_t records_claim_free(struct records *records);
/* Claims that very record, whosever it was. Each can be claimed once. */
void records_take(struct records *records, uint32_t index);

/* Ranges of slots, [first, first + size). */
struct range {
	uint32_t first;
	uint32_t size;
};

/* Those in use; the array has room for all that is taken. */
struct ranges {
	struct range *used; /* sorted */
	size_t count;
	size_t last; /* of the last that was taken: where it stands, what was asked for */
	uint32_t last_first, last_size;
};

void ranges_sort(struct ranges *ranges);
/* Takes the first `size` slots that are free below `end`. 0 or -ENOSPC. */
int ranges_take(struct ranges *ranges, uint32_t size, uint32_t end, uint32_t *ret);
