/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/dp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "bpf/links.h"
#include "bpf/percpu.h"
#include "bpf/pins.h"
#include "dp/verdict.h"
#include "lb.skel.h"

struct dp {
	struct lb_bpf *skel;
	struct dp_tables tables;
	struct links links;
	struct percpu percpu;
	bool adopted;
	bool incomplete; /* of the pins some were missing */
	bool is_late;    /* the node is pinned once the tables are written */
};

/*
 * Each of the tables means something only beside the others: numbers that are kept in one of them
 * are another's of today where that one is new. So of a set with gaps (somebody removed a pin, or a
 * start or an end was killed amid them) nothing is believed. What is attached keeps its tables,
 * pinned or not, until it is exchanged for the program with new ones.
 */
static void drop_incomplete(struct dp *dp, const char *const *names, size_t count)
{
	char path[PINS_PATH_MAX];

	for (size_t i = 0; i < count; i++) {
		if (pins_path(path, dp->links.dir, names[i], NULL) == 0)
			unlink(path);
	}
	dp->adopted = false;
	dp->incomplete = true;
}

static int set_pins(struct dp *dp, struct err *err)
{
	enum { COUNTS = 4 }; /* the last ones, which nothing depends on */
	const struct {
		const char *name;
		struct bpf_map *map;
	} pins[] = {
		{"node", dp->skel->maps.data_node},
		{"vips", dp->skel->maps.vips},
		{"services", dp->skel->maps.services},
		{"backends", dp->skel->maps.backends},
		{"slots", dp->skel->maps.slots},
		{"servers", dp->skel->maps.servers},
		{"prefixes", dp->skel->maps.prefixes},
		{"flows", dp->skel->maps.flows},
		{"verdict_counts", dp->skel->maps.verdict_counts},
		{"service_counts", dp->skel->maps.service_counts},
		{"backend_counts", dp->skel->maps.backend_counts},
		{"event_counts", dp->skel->maps.event_counts},
	};

	const size_t count = sizeof(pins) / sizeof(pins[0]);
	const char *names[sizeof(pins) / sizeof(pins[0])];
	bool has_all = true;

	for (size_t i = 0; i < count; i++) {
		int ret = pins_reuse(dp->links.dir, pins[i].name, pins[i].map, err);

		if (ret < 0)
			return ret;
		names[i] = pins[i].name;
		dp->adopted |= ret > 0;
		has_all &= ret > 0 || i + COUNTS >= count;
	}
	if (dp->adopted && !has_all)
		drop_incomplete(dp, names, count);
	return 0;
}

static void note_link(void *arg, const char *name)
{
	(void)name;
	*(bool *)arg = true;
}

/*
 * New tables beside a link from before: a start that is killed before they are written must not
 * look as if that link's program had them, or the next one would attach with nothing in them.
 * Without the node the set is incomplete.
 */
static int hold_node(struct dp *dp, struct err *err)
{
	bool has_links = false;
	int ret;

	if (dp->adopted || !dp->links.dir[0])
		return 0;
	pins_each(dp->links.dir, "link-", note_link, &has_links);
	if (!has_links)
		return 0;
	ret = bpf_map__unpin(dp->skel->maps.data_node, NULL);
	dp->is_late = !ret;
	return ret ? err_set(err, ret, "cannot hold a pin back: %s", strerror(-ret)) : 0;
}

static int set_switches(struct dp *dp, const struct dp_options *options, struct err *err)
{
	uint32_t buckets = dp_flow_buckets(options->flow_entries);

	if (!buckets)
		return err_set(err, -EINVAL, "flow entries: %u, expected %u to %u",
			       options->flow_entries, ABI_FLOWS_MIN, ABI_FLOWS_MAX);
	dp->skel->rodata->features = options->features;
	dp->tables.flow_buckets = buckets;
	return bpf_map__set_max_entries(dp->skel->maps.flows, buckets);
}

/*
 * What the pinned tables hold is served by this program until the new configuration is in them, so
 * it has to know all of that, too. What it does not have the next start leaves out.
 */
static int add_features(struct dp *dp, struct err *err)
{
	char path[PINS_PATH_MAX];
	struct abi_node node = {0};
	const uint32_t first = 0;
	int fd, ret = pins_path(path, dp->links.dir, "node", err);

	if (ret)
		return ret;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (bpf_map__value_size(dp->skel->maps.data_node) != sizeof(node) ||
	    bpf_map_lookup_elem(fd, &first, &node))
		ret = err_set(err, -EPROTO, "%s: cannot be read", path);
	close(fd);
	if (!ret)
		dp->skel->rodata->features |= node.features & ABI_HAS_ALL;
	return ret;
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

static int set_prefix(void *prefixes, const struct abi_prefix *prefix, uint32_t value)
{
	int error;

	if (value)
		return bpf_map__update_elem(prefixes, prefix, sizeof(*prefix), &value,
					    sizeof(value), BPF_ANY);
	error = bpf_map__delete_elem(prefixes, prefix, sizeof(*prefix), 0);
	return error == -ENOENT ? 0 : error;
}

static int next_prefix(const void *prefixes, const struct abi_prefix *after, struct abi_prefix *ret,
		       uint32_t *ret_value)
{
	int error = bpf_map__get_next_key(prefixes, after, ret, sizeof(*ret));

	return error ? error
		     : bpf_map__lookup_elem(prefixes, ret, sizeof(*ret), ret_value,
					    sizeof(*ret_value), 0);
}

/*
 * XDP programs run with bottom halves off, in the kernel's words as readers of RCU, and this
 * barrier waits for all of those. Where it is refused (nohz_full) a pause that is long against a
 * packet must do.
 */
static void wait_readers(void *prefixes)
{
	const struct timespec pause = {.tv_nsec = 10 * TIME_MILLI_NS};

	(void)prefixes;
	if (syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&pause, NULL);
}

static int map_tables(struct dp *dp, struct err *err)
{
	struct dp_tables *tables = &dp->tables;

	tables->node = &dp->skel->data_node->this_node;
	tables->vips = map_memory(dp->skel->maps.vips);
	tables->services = map_memory(dp->skel->maps.services);
	tables->backends = map_memory(dp->skel->maps.backends);
	tables->slots = map_memory(dp->skel->maps.slots);
	tables->servers = map_memory(dp->skel->maps.servers);
	tables->flows = map_memory(dp->skel->maps.flows);
	if (!tables->vips || !tables->services || !tables->backends || !tables->slots ||
	    !tables->flows || !tables->servers)
		return err_set(err, -ENOMEM, "cannot map the tables: %s", strerror(errno));
	tables->prefixes = dp->skel->maps.prefixes;
	tables->set_prefix = set_prefix;
	tables->next_prefix = next_prefix;
	tables->wait_readers = wait_readers;
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
			"the tables pinned in %s are of layout %u, this weir's is %u: end the node "
			"that made them with SIGTERM, or remove the directory, and start anew",
			dp->links.dir, node->version, ABI_VERSION);
	node->flow_buckets_mask = dp->tables.flow_buckets - 1;
	node->features = dp->skel->rodata->features;
	if (node->version)
		return 0;
	if (getrandom(secrets, sizeof(secrets), 0) != sizeof(secrets))
		return err_set(err, -EIO, "no random numbers: %s", strerror(errno));
	node->flow_secret = secrets[0];
	node->vip_secret = secrets[1];
	node->began_s = (uint32_t)(time_now_ms() / 1000);
	node->version = ABI_VERSION;
	return 0;
}

/* What a start that failed leaves of its own; what it found there stays. */
static void unpin_fresh(struct dp *dp, bool fresh)
{
	if (fresh)
		links_teardown(&dp->links);
	else if (dp->links.dir[0])
		rmdir(dp->links.dir);
}

static int open_pinned(struct dp *dp, const char *pin_dir, struct err *err)
{
	bool fresh = false;
	int error = links_init(&dp->links, pin_dir, err);

	if (!error && pin_dir)
		error = set_pins(dp, err);
	if (!error && dp->adopted)
		error = add_features(dp, err);
	if (!error) {
		fresh = !dp->adopted;
		error = pins_load(dp->skel->skeleton, err);
	}
	if (!error)
		error = hold_node(dp, err);
	if (!error)
		error = map_tables(dp, err);
	if (!error)
		error = init_node(dp, err);
	if (error)
		unpin_fresh(dp, fresh);
	return error;
}

int dp_open(const struct dp_options *options, struct dp **ret, struct err *err)
{
	struct dp *dp = calloc(1, sizeof(*dp));
	int error;

	if (!dp)
		return err_set(err, -ENOMEM, "out of memory");
	dp->skel = lb_bpf__open();
	if (!dp->skel || percpu_init(&dp->percpu))
		error = err_set(err, -ENOMEM, "cannot open the program: %s", strerror(errno));
	else
		error = set_switches(dp, options, err);
	if (!error)
		error = open_pinned(dp, options->pin_dir, err);
	if (error)
		dp_close(dp);
	else
		*ret = dp;
	return error;
}

void dp_close(struct dp *dp)
{
	if (!dp)
		return;
	links_close(&dp->links);
	if (dp->skel) {
		unmap(dp->tables.vips, dp->skel->maps.vips);
		unmap(dp->tables.services, dp->skel->maps.services);
		unmap(dp->tables.backends, dp->skel->maps.backends);
		unmap(dp->tables.slots, dp->skel->maps.slots);
		unmap(dp->tables.servers, dp->skel->maps.servers);
		unmap(dp->tables.flows, dp->skel->maps.flows);
		lb_bpf__destroy(dp->skel);
	}
	percpu_fini(&dp->percpu);
	free(dp);
}

void dp_teardown(struct dp *dp)
{
	links_teardown(&dp->links);
}

bool dp_adopted(const struct dp *dp)
{
	return dp->adopted;
}

bool dp_incomplete(const struct dp *dp)
{
	return dp->incomplete;
}

struct dp_tables *dp_tables(struct dp *dp)
{
	return &dp->tables;
}

int dp_program_fd(const struct dp *dp)
{
	return bpf_program__fd(dp->skel->progs.weir_lb);
}

int dp_attach(struct dp *dp, const char *interface, enum link_xdp wanted, struct err *err)
{
	int ret = dp->is_late ? bpf_map__pin(dp->skel->maps.data_node, NULL) : 0;

	if (ret)
		return err_set(err, ret, "cannot pin the node: %s", strerror(-ret));
	dp->is_late = false;
	return links_attach(&dp->links, bpf_program__fd(dp->skel->progs.weir_lb), interface, wanted,
			    err);
}

int dp_reattach(struct dp *dp, size_t at, struct err *err)
{
	return links_reattach(&dp->links, at, bpf_program__fd(dp->skel->progs.weir_lb), err);
}

struct links *dp_links(struct dp *dp)
{
	return &dp->links;
}

int dp_slow_map(const struct dp *dp)
{
	return bpf_map__fd(dp->skel->maps.slow);
}

/* --- counters --- */

static struct abi_count sum_count(const struct dp *dp, const struct bpf_map *map, uint32_t index)
{
	struct abi_count sum;

	percpu_sum(&dp->percpu, map, index, (uint64_t *)&sum, sizeof(sum) / sizeof(uint64_t));
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
	uint64_t sum;

	percpu_sum(&dp->percpu, dp->skel->maps.event_counts, event, &sum, 1);
	return sum;
}

void dp_reset_service(struct dp *dp, uint32_t service)
{
	percpu_reset(&dp->percpu, dp->skel->maps.service_counts, service);
	percpu_reset(&dp->percpu, dp->skel->maps.rates, service);
}

void dp_reset_backend(struct dp *dp, uint32_t backend)
{
	percpu_reset(&dp->percpu, dp->skel->maps.backend_counts, backend);
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
