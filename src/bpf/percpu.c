/* SPDX-License-Identifier: BSD-2-Clause */
#include "bpf/percpu.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

void percpu_reset(const struct percpu *percpu, const struct bpf_map *map, uint32_t index)
{
	memset(percpu->room, 0, percpu->cores * PERCPU_WORDS_MAX * sizeof(*percpu->room));
	bpf_map_update_elem(bpf_map__fd(map), &index, percpu->room, BPF_ANY);
}
