/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/carry/former.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/pins.h"

struct table {
	void *memory;
	size_t size;
	uint32_t count;
};

struct former {
	char dir[PINS_PATH_MAX];
	struct table node, services, backends, slots, flows;
	struct carry_old old;
};

static int open_pin(const char *dir, const char *name, struct bpf_map_info *ret)
{
	uint32_t length = sizeof(*ret);
	char path[PINS_PATH_MAX];
	int fd = -ENAMETOOLONG;

	if (pins_path(path, dir, name, NULL) == 0)
		fd = bpf_obj_get(path);
	memset(ret, 0, sizeof(*ret));
	if (fd >= 0 && bpf_obj_get_info_by_fd(fd, ret, &length)) {
		close(fd);
		return -errno;
	}
	return fd;
}

static int map_table(const struct former *former, const char *name, size_t record,
		     struct table *ret, struct err *err)
{
	struct bpf_map_info info;
	int fd = open_pin(former->dir, name, &info);

	if (fd < 0)
		return err_set(err, -ENOENT, "%s is not there", name);
	if (info.value_size != record || !(info.map_flags & BPF_F_MMAPABLE)) {
		close(fd);
		return err_set(err, -EPROTO, "%s has records of %u bytes, not of %zu", name,
			       info.value_size, record);
	}
	ret->count = info.max_entries;
	ret->size = record * info.max_entries;
	ret->memory = mmap(NULL, ret->size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (ret->memory != MAP_FAILED)
		return 0;
	ret->memory = NULL;
	return err_set(err, -ENOMEM, "%s cannot be mapped: %s", name, strerror(errno));
}

static int map_all(struct former *former, struct err *err)
{
	const struct {
		const char *name;
		size_t record;
		struct table *table;
	} tables[] = {
		{"node", sizeof(struct abi_node), &former->node},
		{"services", sizeof(struct abi_service), &former->services},
		{"backends", sizeof(struct abi_backend), &former->backends},
		{"slots", sizeof(uint64_t), &former->slots},
		{"flows", sizeof(struct abi_bucket), &former->flows},
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		int error =
			map_table(former, tables[i].name, tables[i].record, tables[i].table, err);

		if (error)
			return error;
	}
	return 0;
}

static int check(const struct former *former, struct err *err)
{
	const struct abi_node *node = former->node.memory;
	uint32_t buckets = former->flows.count;

	if (!node->version)
		return err_set(err, -EPROTO, "they were never filled");
	if (node->version >> ABI_SHAPE_SHIFT != ABI_SHAPE)
		return err_set(err, -EPROTO, "their records are of shape %u, not %u",
			       node->version >> ABI_SHAPE_SHIFT, ABI_SHAPE);
	if (!buckets || buckets & (buckets - 1) || node->flow_buckets_mask != buckets - 1)
		return err_set(err, -EPROTO, "%u buckets of flows cannot be", buckets);
	return 0;
}

int former_open(const char *dir, struct former **ret, struct err *err)
{
	struct former *former = calloc(1, sizeof(*former));
	int error;

	if (!former)
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(former->dir, sizeof(former->dir), "%s", dir);
	error = map_all(former, err);
	if (!error)
		error = check(former, err);
	if (error) {
		former_close(former);
		return error;
	}
	former->old = (struct carry_old){
		.node = former->node.memory,
		.services = former->services.memory,
		.backends = former->backends.memory,
		.slots = former->slots.memory,
		.flows = former->flows.memory,
		.service_count = former->services.count,
		.backend_count = former->backends.count,
		.slot_count = former->slots.count,
		.flow_buckets = former->flows.count,
	};
	*ret = former;
	return 0;
}

static void unmap(const struct table *table)
{
	if (table->memory)
		munmap(table->memory, table->size);
}

void former_close(struct former *former)
{
	if (!former)
		return;
	unmap(&former->node);
	unmap(&former->services);
	unmap(&former->backends);
	unmap(&former->slots);
	unmap(&former->flows);
	free(former);
}

const struct carry_old *former_tables(const struct former *former)
{
	return &former->old;
}

void former_copy_counts(const struct former *former, const char *name, const struct bpf_map *map)
{
	int cores = libbpf_num_possible_cpus();
	struct bpf_map_info info;
	int fd = open_pin(former->dir, name, &info);
	size_t size = cores > 0 ? (size_t)cores * bpf_map__value_size(map) : 0;
	uint8_t *counts = fd >= 0 && size ? calloc(2, size) : NULL;

	if (counts && info.type == bpf_map__type(map) &&
	    info.value_size == bpf_map__value_size(map) &&
	    info.max_entries == bpf_map__max_entries(map)) {
		for (uint32_t i = 0; i < info.max_entries; i++) {
			/* What counted nothing, as most, costs one call. */
			if (bpf_map_lookup_elem(fd, &i, counts) == 0 &&
			    memcmp(counts, counts + size, size) != 0)
				bpf_map_update_elem(bpf_map__fd(map), &i, counts, BPF_ANY);
		}
	}
	free(counts);
	if (fd >= 0)
		close(fd);
}
