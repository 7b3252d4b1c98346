/* SPDX-License-Identifier: BSD-2-Clause */
#include "measure/measure.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "whole.skel.h"

enum { MEASURE_ONCE_MAX = 4096 };

struct measure {
	struct whole_bpf *skel;
	int whole_fd, nothing_fd, move_fd, frames_fd, target_fd, tap_fd;
	bool quick;
};

/* The tables that are each core's own are then one core's. And before others there, as far as that
 * may be had: a sample during which another one ran is lost. */
static int stay_on_core(void)
{
	int core = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core < 0 ? 0 : (unsigned)core, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return -errno;
	setpriority(PRIO_PROCESS, 0, PRIO_MIN);
	return 0;
}

/*
 * While a program is attached to some driver, a test run of it begins at once; else the kernel
 * first waits, for tens of milliseconds, until nobody is in the code that calls such programs. So
 * it gets a driver: a tap of a namespace that ends with this process. Without one all takes longer.
 */
static bool attach(struct measure *measure)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int socket_fd, index = -1;

	if (unshare(CLONE_NEWNET))
		return false;
	measure->tap_fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (measure->tap_fd < 0)
		return false;
	strcpy(request.ifr_name, "measure0");
	if (ioctl(measure->tap_fd, TUNSETIFF, &request))
		return false;
	socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (socket_fd >= 0 && ioctl(socket_fd, SIOCGIFINDEX, &request) == 0)
		index = request.ifr_ifindex;
	if (socket_fd >= 0)
		close(socket_fd);
	return index > 0 && bpf_xdp_attach(index, measure->whole_fd, XDP_FLAGS_DRV_MODE, NULL) == 0;
}

int measure_open(struct measure **ret, struct err *err)
{
	struct measure *measure = calloc(1, sizeof(*measure));
	int error;

	if (!measure)
		return err_set(err, -ENOMEM, "out of memory");
	measure->tap_fd = -1;
	error = stay_on_core();
	measure->skel = error ? NULL : whole_bpf__open_and_load();
	if (!measure->skel) {
		error = error ? error : -errno;
		free(measure);
		return err_set(err, error ? error : -EINVAL,
			       "the kernel does not take the program that measures (%s): run it as "
			       "root",
			       strerror(-error));
	}
	measure->whole_fd = bpf_program__fd(measure->skel->progs.measure_frame);
	measure->nothing_fd = bpf_program__fd(measure->skel->progs.measure_nothing);
	measure->move_fd = bpf_program__fd(measure->skel->progs.measure_move);
	measure->frames_fd = bpf_map__fd(measure->skel->maps.frames);
	measure->target_fd = bpf_map__fd(measure->skel->maps.target);
	measure->quick = attach(measure);
	*ret = measure;
	return 0;
}

void measure_close(struct measure *measure)
{
	if (!measure)
		return;
	if (measure->tap_fd >= 0)
		close(measure->tap_fd);
	whole_bpf__destroy(measure->skel);
	free(measure);
}

bool measure_is_quick(const struct measure *measure)
{
	return measure->quick;
}

uint32_t measure_rounds(uint32_t repeat)
{
	return repeat + repeat / 2;
}

int measure_run(struct measure *measure, struct measure_run *run)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = run->bytes,
		    .data_size_in = (uint32_t)run->length,
		    .repeat = (int)measure_rounds(run->repeat));
	struct measure_whole whole = run->whole;
	uint32_t zero = 0;
	int error = bpf_map_update_elem(measure->target_fd, &zero, &run->program_fd, BPF_ANY);

	whole.begin = measure_rounds(run->repeat) - run->repeat;
	whole.last = measure_rounds(run->repeat) - 1;
	if (!error)
		error = bpf_map_update_elem(measure->frames_fd, &zero, &whole, BPF_ANY);
	if (!error)
		error = bpf_prog_test_run_opts(measure->whole_fd, &opts);
	if (!error)
		error = bpf_map_lookup_elem(measure->frames_fd, &zero, &whole);
	if (error)
		return error;
	run->action = opts.retval;
	run->ns = (double)(whole.end_ns - whole.begin_ns) / (run->repeat - 1);
	return 0;
}

int measure_once(const struct measure_run *run, size_t *ret_length)
{
	static uint8_t out[MEASURE_ONCE_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = run->bytes,
		    .data_size_in = (uint32_t)run->length, .data_out = out,
		    .data_size_out = sizeof(out), .repeat = 1);
	int error = bpf_prog_test_run_opts(run->program_fd, &opts);

	if (!error)
		*ret_length = opts.data_size_out;
	return error;
}

int measure_base(struct measure *measure, const struct measure_run *like, double *ret_nothing_ns,
		 double *ret_move_ns)
{
	struct measure_run run = *like;
	int error;

	run.whole.head = MEASURE_MOVE;
	run.program_fd = measure->nothing_fd;
	error = measure_run(measure, &run);
	*ret_nothing_ns = run.ns;
	run.program_fd = measure->move_fd;
	if (!error)
		error = measure_run(measure, &run);
	*ret_move_ns = run.ns;
	if (!error && run.action != XDP_PASS)
		error = -EIO;
	return error;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct measure_spread measure_spread(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return (struct measure_spread){values[0], values[count / 2], values[count - 1]};
}
