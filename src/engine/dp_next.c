/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program is loaded with what a configuration needs (enum abi_feature). Where another one needs
 * more, a second program is loaded over the same maps, and takes the first one's place.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "bpf/links.h"
#include "bpf/pins.h"
#include "engine/capture/capture.h"
#include "engine/dp_state.h"

struct lb_bpf *dp_skel_open(enum dp_program program)
{
	bool captures = program == DP_PROGRAM_CAPTURE, steers = program == DP_PROGRAM_STEER;
	struct lb_bpf *skel = lb_bpf__open();

	if (!skel)
		return NULL;
	bpf_program__set_autoload(skel->progs.weir_lb, program == DP_PROGRAM_LB);
	bpf_program__set_autoload(skel->progs.weir_capture, captures);
	bpf_program__set_autoload(skel->progs.weir_steer, steers);
	bpf_map__set_autocreate(skel->maps.capture_filter, captures);
	bpf_map__set_autocreate(skel->maps.capture_held, captures);
	bpf_map__set_autocreate(skel->maps.capture_counts, captures);
	bpf_map__set_autocreate(skel->maps.capture_ring, captures);
	bpf_map__set_autocreate(skel->maps.steering, steers);
	bpf_map__set_autocreate(skel->maps.sockets, steers);
	return skel;
}

int dp_program_of(const struct lb_bpf *skel, enum dp_program program)
{
	switch (program) {
	case DP_PROGRAM_CAPTURE: return bpf_program__fd(skel->progs.weir_capture);
	case DP_PROGRAM_STEER: return bpf_program__fd(skel->progs.weir_steer);
	default: return bpf_program__fd(skel->progs.weir_lb);
	}
}

int dp_program_fd(const struct dp *dp)
{
	if (dp->capture)
		return dp_program_of(dp->capture, DP_PROGRAM_CAPTURE);
	return dp_program_of(dp->next ? dp->next : dp->skel, dp->own);
}

/* All maps but what is read-only in it: the switches. */
static int share_maps(const struct dp *dp, struct lb_bpf *next)
{
	struct bpf_map *map;
	int ret = 0;

	bpf_object__for_each_map(map, next->obj)
	{
		const struct bpf_map *old =
			bpf_object__find_map_by_name(dp->skel->obj, bpf_map__name(map));

		if (!ret && old && bpf_map__fd(old) >= 0 && map != next->maps.rodata)
			ret = bpf_map__reuse_fd(map, bpf_map__fd(old));
	}
	return ret;
}

int dp_load_beside(const struct dp *dp, uint32_t features, enum dp_program program,
		   struct lb_bpf **ret, struct err *err)
{
	struct lb_bpf *next = dp_skel_open(program);
	int error;

	if (!next)
		return err_set(err, -ENOMEM, "cannot open the program: %s", strerror(errno));
	next->rodata->features = features;
	error = share_maps(dp, next);
	error = error ? err_set(err, error, "cannot share the tables: %s", strerror(-error))
		      : pins_load(next->skeleton, err);
	if (error)
		lb_bpf__destroy(next);
	else
		*ret = next;
	return error;
}

int dp_need(struct dp *dp, uint32_t features, struct err *err)
{
	struct lb_bpf *next = NULL;
	int ret;

	if (!(features & ~dp->features))
		return 0;
	capture_stop(dp);
	ret = dp_load_beside(dp, dp->features | features, dp->own, &next, err);
	if (ret)
		return ret;
	ret = links_exchange(&dp->links, dp_program_fd(dp), dp_program_of(next, dp->own), err);
	if (ret) {
		lb_bpf__destroy(next);
		return ret;
	}
	if (dp->next)
		lb_bpf__destroy(dp->next);
	dp->next = next;
	dp->features |= features;
	dp->tables.node->features |= features;
	/* Packets that the former has begun are through before they could meet what it lacks. */
	dp_tables_wait(&dp->tables);
	return 0;
}
