/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/dp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "bpf/pins.h"
#include "lb.skel.h"
#include "pkt/verdict.h"

#define LINK_PREFIX "link-"

enum { INTERFACES_MAX = 16 };

struct dp {
	struct lb_bpf *skel;
	struct dp_tables tables;
	char pin_dir[PINS_PATH_MAX]; /* "": nothing is pinned */
	bool adopted;
	int cores;
	struct abi_count *per_core; /* room for one record of every core */
	struct link_attached attached[INTERFACES_MAX];
	size_t attached_count;
};

static int set_pins(struct dp *dp, struct err *err)
{
	const struct {
		const char *name;
		struct bpf_map *map;
	} pins[] = {
		{"node", dp->skel->maps.data_node},
		{"vips", dp->skel->maps.vips},
		{"services", dp->skel->maps.services},
		{"backends", dp->skel->maps.backends},
		{"slots", dp->skel->maps.slots},
		{"flows", dp->skel->maps.flows},
		{"verdict_counts", dp->skel->maps.verdict_counts},
		{"service_counts", dp->skel->maps.service_counts},
		{"backend_counts", dp->skel->maps.backend_counts},
		{"event_counts", dp->skel->maps.event_counts},
	};

	for (size_t i = 0; i < sizeof(pins) / sizeof(pins[0]); i++) {
		int ret = pins_reuse(dp->pin_dir, pins[i].name, pins[i].map, err);

		if (ret < 0)
			return ret;
		dp->adopted |= ret > 0;
	}
	return 0;
}

static int set_switches(struct dp *dp, const struct dp_options *options, struct err *err)
{
	uint32_t buckets = dp_flow_buckets(options->flow_entries);

	if (!buckets)
		return err_set(err, -EINVAL, "flow entries: %u, expected %u to %u",
			       options->flow_entries, ABI_FLOWS_MIN, ABI_FLOWS_MAX);
	dp->skel->rodata->has_ipv6 = options->ipv6;
	dp->skel->rodata->has_track = options->track;
	dp->skel->rodata->has_trace = options->trace;
	dp->tables.flow_buckets = buckets;
	return bpf_map__set_max_entries(dp->skel->maps.flows, buckets);
}

static void *map_memory(struct bpf_map *map)
{
	size_t size = (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void unmap(void *memory, const struct bpf_map *map)
{
	if (memory)
		munmap(memory, (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map));
}

static int link_pin(const struct dp *dp, const char *interface, char *pin, struct err *err)
{
	char name[sizeof(LINK_PREFIX) + 16];

	snprintf(name, sizeof(name), LINK_PREFIX "%s", interface);
	return pins_path(pin, dp->pin_dir, name, err);
}

static int map_tables(struct dp *dp, struct err *err)
{
	struct dp_tables *tables = &dp->tables;

	tables->node = &dp->skel->data_node->this_node;
	tables->vips = map_memory(dp->skel->maps.vips);
	tables->services = map_memory(dp->skel->maps.services);
	tables->backends = map_memory(dp->skel->maps.backends);
	tables->slots = map_memory(dp->skel->maps.slots);
	tables->flows = map_memory(dp->skel->maps.flows);
	if (!tables->vips || !tables->services || !tables->backends || !tables->slots ||
	    !tables->flows)
		return err_set(err, -ENOMEM, "cannot map the tables: %s", strerror(errno));
	return 0;
}

/* A fresh node record gets its version and secrets; an adopted one must be of our version. */
static int init_node(struct dp *dp, struct err *err)
{
	struct abi_node *node = dp->tables.node;
	uint64_t secrets[2];

	if (node->version && node->version != ABI_VERSION)
		return err_set(
			err, -EPROTO,
			"the tables pinned in %s are of layout %u, this weir's is %u: stop the "
			"running node (weir stop, or remove the directory) and start anew",
			dp->pin_dir, node->version, ABI_VERSION);
	node->flow_buckets_mask = dp->tables.flow_buckets - 1;
	if (node->version)
		return 0;
	if (getrandom(secrets, sizeof(secrets), 0) != sizeof(secrets))
		return err_set(err, -EIO, "no random numbers: %s", strerror(errno));
	node->flow_secret = secrets[0];
	node->vip_secret = secrets[1];
	node->version = ABI_VERSION;
	return 0;
}

int dp_open(const struct dp_options *options, struct dp **ret, struct err *err)
{
	struct dp *dp = calloc(1, sizeof(*dp));
	int error;

	if (!dp)
		return err_set(err, -ENOMEM, "out of memory");
	dp->cores = libbpf_num_possible_cpus();
	dp->per_core = calloc((size_t)(dp->cores > 0 ? dp->cores : 1), sizeof(*dp->per_core));
	dp->skel = lb_bpf__open();
	if (!dp->skel || !dp->per_core) {
		error = err_set(err, -ENOMEM, "cannot open the program: %s", strerror(errno));
		goto fail;
	}
	error = set_switches(dp, options, err);
	if (error)
		goto fail;
	if (options->pin_dir) {
		snprintf(dp->pin_dir, sizeof(dp->pin_dir), "%s", options->pin_dir);
		error = link_prepare_bpffs(dp->pin_dir, err);
		if (!error)
			error = set_pins(dp, err);
		if (error)
			goto fail;
	}
	error = pins_load(dp->skel->skeleton, err);
	if (!error)
		error = map_tables(dp, err);
	if (!error)
		error = init_node(dp, err);
	if (error)
		goto fail;
	*ret = dp;
	return 0;
fail:
	dp_close(dp);
	return error;
}

void dp_close(struct dp *dp)
{
	if (!dp)
		return;
	for (size_t i = 0; i < dp->attached_count; i++)
		link_close(&dp->attached[i]);
	if (dp->skel) {
		unmap(dp->tables.vips, dp->skel->maps.vips);
		unmap(dp->tables.services, dp->skel->maps.services);
		unmap(dp->tables.backends, dp->skel->maps.backends);
		unmap(dp->tables.slots, dp->skel->maps.slots);
		unmap(dp->tables.flows, dp->skel->maps.flows);
		lb_bpf__destroy(dp->skel);
	}
	free(dp->per_core);
	free(dp);
}

void dp_teardown(struct dp *dp)
{
	for (size_t i = 0; i < dp->attached_count; i++) {
		char pin[PINS_PATH_MAX];

		if (link_pin(dp, dp->attached[i].interface, pin, NULL) == 0)
			link_detach(&dp->attached[i], pin);
	}
	dp->attached_count = 0;
	if (dp->pin_dir[0])
		pins_remove_all(dp->pin_dir);
}

bool dp_adopted(const struct dp *dp)
{
	return dp->adopted;
}

struct dp_tables *dp_tables(struct dp *dp)
{
	return &dp->tables;
}

/* --- interfaces --- */

int dp_attach(struct dp *dp, const char *interface, enum link_xdp wanted, struct err *err)
{
	char pin[PINS_PATH_MAX];
	int ret;

	if (dp->attached_count == INTERFACES_MAX || !dp->pin_dir[0])
		return err_set(err, -EINVAL, "%s: at most %d interfaces", interface,
			       INTERFACES_MAX);
	ret = link_pin(dp, interface, pin, err);
	if (ret)
		return ret;
	ret = link_attach(bpf_program__fd(dp->skel->progs.weir_lb), interface, wanted, pin,
			  &dp->attached[dp->attached_count], err);
	if (!ret)
		dp->attached_count++;
	return ret;
}

size_t dp_attached_count(const struct dp *dp)
{
	return dp->attached_count;
}

const struct link_attached *dp_attached(const struct dp *dp, size_t i)
{
	return &dp->attached[i];
}

static void detach_other(void *arg, const char *name)
{
	struct dp *dp = arg;
	char pin[PINS_PATH_MAX], ours[PINS_PATH_MAX];

	if (pins_path(pin, dp->pin_dir, name, NULL))
		return;
	for (size_t i = 0; i < dp->attached_count; i++) {
		if (link_pin(dp, dp->attached[i].interface, ours, NULL) == 0 &&
		    strcmp(pin, ours) == 0)
			return;
	}
	unlink(pin);
}

void dp_detach_others(struct dp *dp)
{
	pins_each(dp->pin_dir, LINK_PREFIX, detach_other, dp);
}

/* --- counters --- */

static struct abi_count sum_count(const struct dp *dp, const struct bpf_map *map, uint32_t index)
{
	struct abi_count sum = {0};

	if (bpf_map_lookup_elem(bpf_map__fd(map), &index, dp->per_core))
		return sum;
	for (int core = 0; core < dp->cores; core++) {
		sum.packets += dp->per_core[core].packets;
		sum.bytes += dp->per_core[core].bytes;
	}
	return sum;
}

struct abi_count dp_verdict_count(const struct dp *dp, uint32_t verdict)
{
	return sum_count(dp, dp->skel->maps.verdict_counts, verdict);
}

struct abi_count dp_service_count(const struct dp *dp, uint32_t service)
{
	return sum_count(dp, dp->skel->maps.service_counts, service);
}

struct abi_count dp_backend_count(const struct dp *dp, uint32_t backend)
{
	return sum_count(dp, dp->skel->maps.backend_counts, backend);
}

uint64_t dp_event_count(const struct dp *dp, enum abi_event event)
{
	uint64_t *per_core = (uint64_t *)dp->per_core, sum = 0;
	uint32_t index = event;

	if (bpf_map_lookup_elem(bpf_map__fd(dp->skel->maps.event_counts), &index, per_core))
		return 0;
	for (int core = 0; core < dp->cores; core++)
		sum += per_core[core];
	return sum;
}

static void reset_count(struct dp *dp, const struct bpf_map *map, uint32_t index)
{
	memset(dp->per_core, 0, (size_t)dp->cores * sizeof(*dp->per_core));
	bpf_map_update_elem(bpf_map__fd(map), &index, dp->per_core, BPF_ANY);
}

void dp_reset_service(struct dp *dp, uint32_t service)
{
	reset_count(dp, dp->skel->maps.service_counts, service);
}

void dp_reset_backend(struct dp *dp, uint32_t backend)
{
	reset_count(dp, dp->skel->maps.backend_counts, backend);
}

/* --- single frames --- */

int dp_run(struct dp *dp, uint8_t *frame, size_t length, size_t capacity, uint64_t now_ns,
	   struct dp_result *ret)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (uint32_t)length,
		    .data_out = frame, .data_size_out = (uint32_t)capacity, .repeat = 1);
	int error;

	/* A longer frame would come in pieces, of which the program sees the first. */
	if (length > DP_RUN_LENGTH_MAX)
		return -E2BIG;
	if (length < ETH_HLEN) {
		*ret = (struct dp_result){
			.action = XDP_PASS,
			.length = length,
			.trace = {.verdict = VERDICT_MALFORMED, .why = WHY_MALFORMED},
		};
		return 0;
	}
	dp->tables.node->clock_ns = now_ns;
	error = bpf_prog_test_run_opts(bpf_program__fd(dp->skel->progs.weir_lb), &opts);
	if (error)
		return error;
	ret->action = opts.retval;
	ret->length = opts.data_size_out;
	ret->trace = dp->skel->data_trace->last_trace;
	return 0;
}
