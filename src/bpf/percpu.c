/* SPDX-License-Identifier: BSD-2-Clause */
#include "bpf/percpu.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { AT_A_TIME = 256 }; /* records of a call */

int percpu_init(struct percpu *percpu)
{
	int cores = libbpf_num_possible_cpus();

	if (cores < 0)
		return cores;
	percpu->room = calloc((size_t)cores * PERCPU_WORDS_MAX, sizeof(*percpu->room));
	percpu->cores = (size_t)cores;
	return percpu->room ? 0 : -ENOMEM;
}

void percpu_fini(struct percpu *percpu)
{
	free(percpu->room);
	*percpu = (struct percpu){0};
}

void percpu_sum(const struct percpu *percpu, const struct bpf_map *map, uint32_t index,
		uint64_t *sum, size_t words)
{
	memset(sum, 0, words * sizeof(*sum));
	if (bpf_map_lookup_elem(bpf_map__fd(map), &index, percpu->room))
		return;
	for (size_t i = 0; i < percpu->cores * words; i++)
		sum[i % words] += percpu->room[i];
}

int percpu_sum_all(const struct percpu *percpu, const struct bpf_map *map, uint64_t *sums,
		   size_t words, uint32_t count)
{
	size_t width = percpu->cores * words;
	uint64_t *values = malloc(AT_A_TIME * width * sizeof(*values));
	uint32_t keys[AT_A_TIME], last = 0, done = 0;
	int error = values ? 0 : -ENOMEM;

	memset(sums, 0, count * words * sizeof(*sums));
	while (!error && done < count) {
		uint32_t got = count - done < AT_A_TIME ? count - done : AT_A_TIME;

		error = bpf_map_lookup_batch(bpf_map__fd(map), done ? &last : NULL, &last, keys,
					     values, &got, NULL);
		if (error == -ENOENT) /* these were the last */
			count = done + got, error = 0;
		for (size_t i = 0; !error && i < got * width; i++)
			sums[(done + i / width) * words + i % words] += values[i];
		done += got;
	}
	free(values);
	return error;
}

void percpu_add(const struct percpu *percpu, const struct bpf_map *map, uint32_t index,
		const uint64_t *more, size_t words)
{
	if (bpf_map_lookup_elem(bpf_map__fd(map), &index, percpu->room))
		return;
	for (size_t i = 0; i < words; i++)
		percpu->room[i] += more[i];
	bpf_map_update_elem(bpf_map__fd(map), &index, percpu->room, BPF_ANY);
}

void percpu_reset(const struct percpu *percpu, const struct bpf_map *map, uint32_t index)
{
	memset(percpu->room, 0, percpu->cores * PERCPU_WORDS_MAX * sizeof(*percpu->room));
	bpf_map_update_elem(bpf_map__fd(map), &index, percpu->room, BPF_ANY);
}
