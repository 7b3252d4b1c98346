/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's table of prefixes, with all that is in it in memory besides: reading 100,000 of them
 * out of the kernel takes two calls each, at every reload. Who writes does so through here. One
 * thread.
 */
#pragma once

#include "engine/prefixes.h"

struct bpf_map;

struct mirror {
	struct bpf_map *map;
	struct prefixes *known;
};

/* Reads what is there. 0 or -errno. */
int mirror_open(struct mirror *mirror, struct bpf_map *map);
void mirror_close(struct mirror *mirror);
/* As dp_tables' functions of these names (engine/tables.h); `mirror` is a struct mirror. */
int mirror_set(void *mirror, const struct abi_prefix *prefix, uint32_t value);
int mirror_list(const void *mirror, uint32_t first, uint32_t last, struct dp_held **ret,
		size_t *ret_count);
