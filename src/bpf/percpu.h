/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters that each core keeps for itself (arrays by core), read as sums. One thread. */
#pragma once

#include <bpf/libbpf.h>
#include <stdint.h>

enum { PERCPU_WORDS_MAX = 2 };

/* Room for one record of every core. */
struct percpu {
	size_t cores;
	uint64_t *room;
};

/* 0, or -errno. */
int percpu_init(struct percpu *percpu);
void percpu_fini(struct percpu *percpu);
/* Adds up a record of `words` (PERCPU_WORDS_MAX at most) 64-bit counters; zero if unreadable. */
void percpu_sum(const struct percpu *percpu, const struct bpf_map *map, uint32_t index,
		uint64_t *sum, size_t words);
/* The same for records 0 to count - 1, many at a time. 0 or -errno. */
int percpu_sum_all(const struct percpu *percpu, const struct bpf_map *map, uint64_t *sums,
		   size_t words, uint32_t count);
/*
 * Adds `more`, of `words` words, to a record's sum. All cores' words are read and written back, so
 * what any of them counts in between, some microseconds, is lost. Nothing where the map has no such
 * record.
 */
void percpu_add(const struct percpu *percpu, const struct bpf_map *map, uint32_t index,
		const uint64_t *more, size_t words);
void percpu_reset(const struct percpu *percpu, const struct bpf_map *map, uint32_t index);
