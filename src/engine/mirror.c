/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/mirror.h"

#include <bpf/libbpf.h>
#include <errno.h>

/* The one after `after` in the kernel's own order, NULL: the first. */
static int next(const struct bpf_map *map, const struct abi_prefix *after, struct dp_held *ret)
{
	int error = bpf_map__get_next_key(map, after, &ret->prefix, sizeof(ret->prefix));

	return error ? error
		     : bpf_map__lookup_elem(map, &ret->prefix, sizeof(ret->prefix), &ret->value,
					    sizeof(ret->value), 0);
}

int mirror_open(struct mirror *mirror, struct bpf_map *map)
{
	struct abi_prefix after;
	struct dp_held held;
	int error;

	*mirror = (struct mirror){.map = map};
	error = prefixes_new(&mirror->known);
	if (error)
		return error;
	error = next(map, NULL, &held);
	while (!error) {
		error = prefixes_set(mirror->known, &held.prefix, held.value);
		after = held.prefix;
		if (!error)
			error = next(map, &after, &held);
	}
	return error == -ENOENT ? 0 : error;
}

void mirror_close(struct mirror *mirror)
{
	prefixes_free(mirror->known);
	*mirror = (struct mirror){0};
}

static int set_in_kernel(const struct bpf_map *map, const struct abi_prefix *prefix, uint32_t value)
{
	int error;

	if (value)
		return bpf_map__update_elem(map, prefix, sizeof(*prefix), &value, sizeof(value),
					    BPF_ANY);
	error = bpf_map__delete_elem(map, prefix, sizeof(*prefix), 0);
	return error == -ENOENT ? 0 : error;
}

int mirror_set(void *owner, const struct abi_prefix *prefix, uint32_t value)
{
	struct mirror *mirror = owner;
	uint32_t before = prefixes_value(mirror->known, prefix);
	int error = prefixes_set(mirror->known, prefix, value);

	if (error)
		return error;
	error = set_in_kernel(mirror->map, prefix, value);
	/* There is room for what was there before. */
	if (error)
		prefixes_set(mirror->known, prefix, before);
	return error;
}

int mirror_list(const void *owner, uint32_t first, uint32_t last, struct dp_held **ret,
		size_t *ret_count)
{
	const struct mirror *mirror = owner;

	return prefixes_list(mirror->known, first, last, ret, ret_count);
}
