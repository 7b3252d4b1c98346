/* SPDX-License-Identifier: BSD-2-Clause */
/* What the packet path counts, as sums over the cores. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>

#include "engine/dp_state.h"

static struct abi_count sum_count(const struct dp *dp, const struct bpf_map *map, uint32_t index)
{
	struct abi_count sum;

	percpu_sum(&dp->percpu, map, index, (uint64_t *)&sum, sizeof(sum) / sizeof(uint64_t));
	return sum;
}

static struct abi_count plus(struct abi_count one, struct abi_count other)
{
	return (struct abi_count){one.packets + other.packets, one.bytes + other.bytes};
}

struct abi_count dp_verdict_count(const struct dp *dp, uint32_t verdict)
{
	return plus(sum_count(dp, dp->skel->maps.verdict_counts, verdict),
		    xsk_verdict_count(dp->xsk, verdict));
}

struct abi_count dp_service_count(const struct dp *dp, uint32_t service)
{
	return plus(sum_count(dp, dp->skel->maps.service_counts, service),
		    xsk_service_count(dp->xsk, service));
}

struct abi_count dp_backend_count(const struct dp *dp, uint32_t backend)
{
	return plus(sum_count(dp, dp->skel->maps.backend_counts, backend),
		    xsk_backend_count(dp->xsk, backend));
}

static int sum_counts(const struct dp *dp, const struct bpf_map *map, struct abi_count *ret,
		      uint32_t count)
{
	return percpu_sum_all(&dp->percpu, map, (uint64_t *)ret, sizeof(*ret) / sizeof(uint64_t),
			      count);
}

int dp_service_counts(const struct dp *dp, struct abi_count *ret, uint32_t count)
{
	int error = sum_counts(dp, dp->skel->maps.service_counts, ret, count);

	for (uint32_t i = 0; !error && dp->xsk && i < count; i++)
		ret[i] = plus(ret[i], xsk_service_count(dp->xsk, i));
	return error;
}

int dp_backend_counts(const struct dp *dp, struct abi_count *ret, uint32_t count)
{
	int error = sum_counts(dp, dp->skel->maps.backend_counts, ret, count);

	for (uint32_t i = 0; !error && dp->xsk && i < count; i++)
		ret[i] = plus(ret[i], xsk_backend_count(dp->xsk, i));
	return error;
}

int dp_run_time(const struct dp *dp, struct dp_run_time *ret)
{
	struct bpf_prog_info info = {0};
	uint32_t length = sizeof(info);

	if (bpf_obj_get_info_by_fd(dp_program_fd(dp), &info, &length))
		return -errno;
	*ret = (struct dp_run_time){.runs = info.run_cnt, .ns = info.run_time_ns};
	return 0;
}

uint64_t dp_event_count(const struct dp *dp, enum abi_event event)
{
	uint64_t sum;

	percpu_sum(&dp->percpu, dp->skel->maps.event_counts, event, &sum, 1);
	return sum + xsk_event_count(dp->xsk, event);
}

/* It does from now on. An earlier daemon's may all have. */
static bool has_counted(const struct dp *dp, uint64_t *counted, uint32_t index)
{
	uint64_t bit = 1ULL << index % 64;
	bool had = counted[index / 64] & bit;

	counted[index / 64] |= bit;
	return had || dp->adopted;
}

void dp_reset_service(struct dp *dp, uint32_t service)
{
	if (!has_counted(dp, dp->counted_services, service))
		return;
	percpu_reset(&dp->percpu, dp->skel->maps.service_counts, service);
	percpu_reset(&dp->percpu, dp->skel->maps.rates, service);
	xsk_reset_service(dp->xsk, service);
}

void dp_reset_backend(struct dp *dp, uint32_t backend)
{
	if (!has_counted(dp, dp->counted_backends, backend))
		return;
	percpu_reset(&dp->percpu, dp->skel->maps.backend_counts, backend);
	xsk_reset_backend(dp->xsk, backend);
}
