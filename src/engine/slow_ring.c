/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/slow_ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A core's ring: what a few tenths of a second of full-size packets need at the usual limit. */
enum { RING_PAGES = 64 };

struct slow_ring {
	struct perf_buffer *perf;
	slow_ring_take *take;
	void *arg;
};

/* The kernel rounds a record's size up, and does not align it. */
static void on_record(void *arg, int cpu, void *data, uint32_t size)
{
	const struct slow_ring *ring = arg;
	struct abi_slow slow;

	(void)cpu;
	if (size < sizeof(slow))
		return;
	memcpy(&slow, data, sizeof(slow));
	if (slow.length <= size - sizeof(slow))
		ring->take(ring->arg, &slow, (const uint8_t *)data + sizeof(slow));
}

/* The program counted them one by one. */
static void on_lost(void *arg, int cpu, __u64 count)
{
	(void)arg;
	(void)cpu;
	(void)count;
}

int slow_ring_open(struct dp *dp, slow_ring_take *take, void *arg, struct slow_ring **ret,
		   struct err *err)
{
	struct slow_ring *ring = calloc(1, sizeof(*ring));
	int error;

	if (!ring)
		return err_set(err, -ENOMEM, "out of memory");
	ring->take = take;
	ring->arg = arg;
	ring->perf = perf_buffer__new(dp_slow_map(dp), RING_PAGES, on_record, on_lost, ring, NULL);
	if (!ring->perf) {
		error = errno ? -errno : -EIO;
		free(ring);
		return err_set(err, error, "cannot make the ring of a core: %s", strerror(-error));
	}
	*ret = ring;
	return 0;
}

void slow_ring_close(struct slow_ring *ring)
{
	if (!ring)
		return;
	perf_buffer__free(ring->perf);
	free(ring);
}

int slow_ring_fd(const struct slow_ring *ring)
{
	return perf_buffer__epoll_fd(ring->perf);
}

void slow_ring_read(struct slow_ring *ring)
{
	perf_buffer__consume(ring->perf);
}
