/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/capture/capture.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "bpf/links.h"
#include "bpf/pins.h"
#include "engine/dp_state.h"

static int map_id(const struct bpf_map *map, uint32_t *ret)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_map__fd(map), &info, &size))
		return -errno;
	*ret = info.id;
	return 0;
}

static int find_ids(const struct lb_bpf *skel, struct capture_ids *ret)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int error;

	if (bpf_obj_get_info_by_fd(bpf_program__fd(skel->progs.weir_capture), &info, &size))
		return -errno;
	ret->program = info.id;
	error = map_id(skel->maps.capture_ring, &ret->ring);
	return error ? error : map_id(skel->maps.capture_counts, &ret->counts);
}

static int set_filter(const struct lb_bpf *skel, const struct abi_capture_filter *filter)
{
	const uint32_t first = 0;

	return bpf_map__update_elem(skel->maps.capture_filter, &first, sizeof(first), filter,
				    sizeof(*filter), BPF_ANY);
}

static int prepare(const struct lb_bpf *skel, const struct abi_capture_filter *filter,
		   struct capture_ids *ret, struct err *err)
{
	struct abi_capture_filter closed = *filter;
	int error;

	closed.end_ns = 0;
	error = set_filter(skel, &closed);
	if (!error)
		error = find_ids(skel, ret);
	return error ? err_set(err, error, "cannot prepare to capture: %s", strerror(-error)) : 0;
}

int capture_start(struct dp *dp, const struct abi_capture_filter *filter, struct capture_ids *ret,
		  struct err *err)
{
	struct lb_bpf *skel = NULL;
	int error;

	if (dp->capture)
		return err_set(err, -EBUSY, "somebody captures already");
	if (dp->is_beside)
		return err_set(err, -EBUSY, "another program is being put in its place: try again");
	error = dp_load_beside(dp, dp->features, DP_PROGRAM_CAPTURE, &skel, err);
	if (error)
		return error;
	error = prepare(skel, filter, ret, err);
	if (!error)
		error = links_exchange(&dp->links, dp_program_fd(dp),
				       bpf_program__fd(skel->progs.weir_capture), err);
	if (error)
		lb_bpf__destroy(skel);
	else
		dp->capture = skel;
	return error;
}

int capture_begin(struct dp *dp, uint64_t end_ns)
{
	struct abi_capture_filter filter;
	const uint32_t first = 0;
	int error;

	if (!dp->capture)
		return -ENOENT;
	error = bpf_map__lookup_elem(dp->capture->maps.capture_filter, &first, sizeof(first),
				     &filter, sizeof(filter), 0);
	filter.end_ns = end_ns;
	return error ? error : set_filter(dp->capture, &filter);
}

bool capture_is_on(const struct dp *dp)
{
	return dp->capture != NULL;
}

/* An exchange that fails has left the program that captures, which says nothing after its time. */
void capture_stop(struct dp *dp)
{
	struct lb_bpf *skel = dp->capture;
	struct err err;

	if (!skel)
		return;
	dp->capture = NULL;
	links_exchange(&dp->links, bpf_program__fd(skel->progs.weir_capture), dp_program_fd(dp),
		       &err);
	lb_bpf__destroy(skel);
}
