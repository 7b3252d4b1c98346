/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/capture/ring.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A core's: a few hundred whole packets of the usual size, in and out. */
enum { RING_PAGES = 256 };

struct capture_ring {
	struct perf_buffer *perf;
	struct abi_capture_counts *room; /* a record of each core */
	size_t cores;
	int ring_fd; /* whose end takes the cores' rings out of the map */
	int counts_fd;
	uint32_t program;
	capture_take *take;
	void *arg;
};

/* The kernel rounds a record's size up, and does not align it. */
static void on_record(void *arg, int cpu, void *data, uint32_t size)
{
	const struct capture_ring *ring = arg;
	struct abi_capture record;

	(void)cpu;
	if (size < sizeof(record))
		return;
	memcpy(&record, data, sizeof(record));
	if (record.captured <= size - sizeof(record) && record.captured <= ABI_CAPTURE_BYTES)
		ring->take(ring->arg, &record, (const uint8_t *)data + sizeof(record));
}

/* The program counted them one by one. */
static void on_lost(void *arg, int cpu, __u64 count)
{
	(void)arg;
	(void)cpu;
	(void)count;
}

static int open_parts(struct capture_ring *ring, const struct capture_ids *ids)
{
	int cores = libbpf_num_possible_cpus();

	if (cores < 0)
		return cores;
	ring->cores = (size_t)cores;
	ring->room = calloc(ring->cores, sizeof(*ring->room));
	if (!ring->room)
		return -ENOMEM;
	ring->counts_fd = bpf_map_get_fd_by_id(ids->counts);
	if (ring->counts_fd < 0)
		return -errno;
	ring->ring_fd = bpf_map_get_fd_by_id(ids->ring);
	if (ring->ring_fd < 0)
		return -errno;
	ring->perf = perf_buffer__new(ring->ring_fd, RING_PAGES, on_record, on_lost, ring, NULL);
	if (ring->perf)
		return 0;
	return errno ? -errno : -EIO;
}

int capture_ring_open(const struct capture_ids *ids, capture_take *take, void *arg,
		      struct capture_ring **ret, struct err *err)
{
	struct capture_ring *ring = calloc(1, sizeof(*ring));
	int error;

	if (!ring)
		return err_set(err, -ENOMEM, "out of memory");
	ring->ring_fd = ring->counts_fd = -1;
	ring->program = ids->program;
	ring->take = take;
	ring->arg = arg;
	error = open_parts(ring, ids);
	if (!error) {
		*ret = ring;
		return 0;
	}
	capture_ring_close(ring);
	return err_set(err, error, "cannot read what is captured: %s", strerror(-error));
}

void capture_ring_close(struct capture_ring *ring)
{
	if (!ring)
		return;
	perf_buffer__free(ring->perf);
	if (ring->ring_fd >= 0)
		close(ring->ring_fd);
	if (ring->counts_fd >= 0)
		close(ring->counts_fd);
	free(ring->room);
	free(ring);
}

int capture_ring_poll(struct capture_ring *ring, int timeout_ms)
{
	int ret = perf_buffer__poll(ring->perf, timeout_ms);

	return ret < 0 ? ret : 0;
}

struct abi_capture_counts capture_ring_counts(const struct capture_ring *ring)
{
	struct abi_capture_counts sum = {0};
	const uint32_t first = 0;

	if (bpf_map_lookup_elem(ring->counts_fd, &first, ring->room))
		return sum;
	for (size_t i = 0; i < ring->cores; i++) {
		sum.captured += ring->room[i].captured;
		sum.limited += ring->room[i].limited;
		sum.lost += ring->room[i].lost;
	}
	return sum;
}

bool capture_ring_is_fed(const struct capture_ring *ring)
{
	int fd = bpf_prog_get_fd_by_id(ring->program);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != ENOENT;
}
