// SPDX-License-Identifier: BSD-2-Clause
#include "bench/ring.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/setting.h"

enum { RING_PAGES = 64 }; /* as the daemon's */

static int open_ring(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.watermark = 1,
		.wakeup_watermark = INT_MAX,
		.write_backward = 1,
	};
	size_t size = (size_t)(RING_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);

	/* Mapped for reading alone: that is how the kernel is told to write over it. */
	if (fd < 0 || mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
		bench_die("a ring", errno);
	return fd;
}

void bench_ring_open(int slow_map_fd)
{
	int count = libbpf_num_possible_cpus();

	for (int cpu = 0; cpu < count; cpu++) {
		int fd = open_ring(cpu);
		int error = bpf_map_update_elem(slow_map_fd, &cpu, &fd, BPF_ANY);

		if (error)
			bench_die("a ring in its map", error);
	}
}
