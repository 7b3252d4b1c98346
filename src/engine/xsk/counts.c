/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/xsk/counts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/pins.h"
#include "engine/dp_state.h"

#define PIN "worker_counts"

static size_t size_of(uint32_t count)
{
	return (size_t)count * sizeof(struct native_counts);
}

static int map_counts(struct xsk_counts *counts)
{
	void *memory = mmap(NULL, size_of(counts->count), PROT_READ | PROT_WRITE, MAP_SHARED,
			    counts->fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	counts->of = memory;
	return 0;
}

/* Those of another version are of no use. */
static int open_former(const char *path, struct xsk_counts *ret)
{
	struct bpf_map_info info = {0};
	uint32_t length = sizeof(info);

	*ret = (struct xsk_counts){.fd = bpf_obj_get(path)};
	if (ret->fd < 0)
		return -errno;
	if (bpf_obj_get_info_by_fd(ret->fd, &info, &length) ||
	    info.value_size != sizeof(struct native_counts))
		return -EPROTO;
	ret->count = info.max_entries;
	return map_counts(ret);
}

static void fold(const struct dp *dp, struct bpf_map *map, const uint64_t *words, uint32_t count,
		 size_t width)
{
	for (uint32_t i = 0; i < count; i++) {
		if (words[i * width])
			percpu_add(&dp->percpu, map, i, words + i * width, width);
	}
}

static void fold_one(struct dp *dp, const struct native_counts *of)
{
	const size_t pair = sizeof(struct abi_count) / sizeof(uint64_t);

	fold(dp, dp->skel->maps.verdict_counts, (const uint64_t *)of->verdicts, VERDICT_COUNT,
	     pair);
	fold(dp, dp->skel->maps.service_counts, (const uint64_t *)of->services, ABI_SERVICES, pair);
	fold(dp, dp->skel->maps.backend_counts, (const uint64_t *)of->backends, ABI_BACKENDS, pair);
	fold(dp, dp->skel->maps.event_counts, of->events, ABI_EVENTS, 1);
}

void xsk_counts_fold(struct dp *dp)
{
	struct xsk_counts former;
	char path[PINS_PATH_MAX];

	if (!dp->links.dir[0] || pins_path(path, dp->links.dir, PIN, NULL))
		return;
	/* Of tables that are not these its services and backends are others. */
	if (!open_former(path, &former) && dp->adopted) {
		for (uint32_t i = 0; i < former.count; i++)
			fold_one(dp, &former.of[i]);
	}
	if (former.fd >= 0)
		unlink(path);
	xsk_counts_close(&former);
}

int xsk_counts_open(struct dp *dp, uint32_t count, struct xsk_counts *ret, struct err *err)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	char path[PINS_PATH_MAX];
	int error;

	*ret = (struct xsk_counts){
		.fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, PIN, sizeof(uint32_t),
				     sizeof(struct native_counts), count, &opts),
		.count = count,
	};
	if (ret->fd < 0) {
		error = -errno;
		return err_set(err, error, "no memory for the workers' counters: %s",
			       strerror(-error));
	}
	error = map_counts(ret);
	if (!error && dp->links.dir[0])
		error = pins_path(path, dp->links.dir, PIN, err);
	if (!error && dp->links.dir[0] && bpf_obj_pin(ret->fd, path))
		error = -errno;
	if (!error)
		return 0;
	xsk_counts_close(ret);
	return err_set(err, error, "the workers' counters: %s", strerror(-error));
}

void xsk_counts_close(struct xsk_counts *counts)
{
	if (counts->of)
		munmap(counts->of, size_of(counts->count));
	if (counts->fd >= 0)
		close(counts->fd);
	*counts = (struct xsk_counts){.fd = -1};
}
