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
#include "bpf/beside/beside.h"
#include "bpf/links.h"
#include "bpf/percpu.h"
#include "bpf/pins.h"
#include "dp/verdict.h"
#include "engine/capture/capture.h"
#include "engine/dp_state.h"

enum { PINS = 12, PINS_COUNTS = 4 /* the last ones, which nothing depends on */ };

/* --- what is pinned --- */

struct pin {
	const char *name;
	struct bpf_map *map;
};

static void list_pins(const struct dp *dp, struct pin ret[PINS])
{
	const struct pin pins[PINS] = {
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

	memcpy(ret, pins, sizeof(pins));
}

/* What an earlier daemon left. */
struct found {
	size_t count;
	bool all;       /* but for counters */
	bool has_links; /* a program is attached */
};

static void note_link(void *arg, const char *name)
{
	(void)name;
	((struct found *)arg)->has_links = true;
}

static int look_at_pins(struct dp *dp, const struct pin pins[PINS], struct found *ret,
			struct err *err)
{
	*ret = (struct found){.all = true};
	for (size_t i = 0; i < PINS; i++) {
		struct err why;
		int found = pins_reuse(dp->links.dir, pins[i].name, pins[i].map, &why);

		if (found == -EPROTO && !dp->why.text[0])
			dp->why = why;
		else if (found < 0 && found != -EPROTO)
			return err_set(err, found, "%s", why.text);
		ret->count += found != 0;
		ret->all &= found != 0 || i + PINS_COUNTS >= PINS;
	}
	pins_each(dp->links.dir, "link-", note_link, ret);
	return 0;
}

/*
 * What the pinned tables hold is served by this program until the new configuration is in them, so
 * it has to know all of that, too. What it does not have the next start leaves out. 0, or -EPROTO:
 * they are of another version.
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
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (bpf_map_lookup_elem(fd, &first, &node))
		ret = err_set(err, -errno, "%s cannot be read: %s", path, strerror(errno));
	else if (node.version && node.version != ABI_VERSION)
		ret = err_set(err, -EPROTO,
			      "the pinned tables are of version %u, this weir's is %u",
			      node.version, ABI_VERSION);
	else
		dp->skel->rodata->features |= node.features & ABI_HAS_ALL;
	close(fd);
	return ret;
}

/* Nothing is attached that would meet them, or they mean nothing without each other. */
static void drop_pins(struct dp *dp, const struct pin pins[PINS])
{
	char path[PINS_PATH_MAX];

	for (size_t i = 0; i < PINS; i++) {
		if (pins_path(path, dp->links.dir, pins[i].name, NULL) == 0)
			unlink(path);
	}
}

/*
 * Each of the tables means something only beside the others: numbers that are kept in one of them
 * are another's of today where that one is new. So of a set with gaps (somebody removed a pin, or a
 * start or an end was killed amid them) nothing is believed, nor of one of another layout. What is
 * attached goes on with its tables, pinned or not, until it is exchanged for the program with new
 * ones, which are made beside.
 */
static int set_pins(struct dp *dp, struct err *err)
{
	struct pin pins[PINS];
	struct found found;
	int error;

	list_pins(dp, pins);
	beside_settle(dp->links.dir, "link-");
	error = look_at_pins(dp, pins, &found, err);
	if (error || (!found.count && !found.has_links))
		return error;
	if (!dp->why.text[0] && !found.all)
		err_set(&dp->why, -ENOENT, "some pins are missing");
	if (!dp->why.text[0])
		error = add_features(dp, &dp->why);
	if (error && error != -EPROTO)
		return err_set(err, error, "%s", dp->why.text);
	dp->adopted = !dp->why.text[0];
	if (dp->adopted)
		return 0;
	dp->is_beside = found.has_links;
	if (!dp->is_beside)
		drop_pins(dp, pins);
	for (size_t i = 0; i < PINS && dp->is_beside; i++)
		bpf_map__set_pin_path(pins[i].map, NULL);
	return 0;
}

/* --- tables that take the place of others --- */

/* Before the program is loaded: it has to know what the tables will hold. */
static void open_former(struct dp *dp)
{
	if (!dp->is_beside || former_open(dp->links.dir, &dp->former, &dp->lost))
		return;
	dp->skel->rodata->features |= former_tables(dp->former)->node->features & ABI_HAS_ALL;
}

static void carry_over(struct dp *dp)
{
	const struct carry_old *old;

	if (!dp->former)
		return;
	old = former_tables(dp->former);
	if (carry_records(old, &dp->tables, &dp->lost)) {
		former_close(dp->former);
		dp->former = NULL;
		return;
	}
	dp->adopted = true;
	dp->tables.node->version = ABI_VERSION;
	if (carry_flows_init(&dp->carry, old, &dp->tables))
		err_set(&dp->lost, -ENOMEM, "out of memory for flows");
	else
		carry_flows_pass(&dp->carry, time_now_ns());
}

/* The last things before the first exchange. */
static int pin_beside(struct dp *dp, struct err *err)
{
	struct beside_map maps[PINS];
	struct pin pins[PINS];
	int error;

	list_pins(dp, pins);
	for (size_t i = 0; i < PINS; i++)
		maps[i] = (struct beside_map){pins[i].name, bpf_map__fd(pins[i].map)};
	error = beside_pin(dp->links.dir, maps, PINS, err);
	if (error)
		return error;
	dp->is_pinned = true;
	if (!dp->former)
		return 0;
	if (dp->carry.seen)
		carry_flows_pass(&dp->carry, time_now_ns());
	for (size_t i = PINS - PINS_COUNTS; i < PINS; i++)
		former_copy_counts(dp->former, pins[i].name, pins[i].map);
	return 0;
}

static void forget_former(struct dp *dp)
{
	carry_flows_fini(&dp->carry);
	former_close(dp->former);
	dp->former = NULL;
}

void dp_settle(struct dp *dp)
{
	if (!dp->is_beside)
		return;
	/* Who met the old program is through. */
	dp_tables_wait(&dp->tables);
	if (dp->carry.seen)
		carry_flows_pass(&dp->carry, time_now_ns());
	beside_move(dp->links.dir);
	links_forget_former(&dp->links);
	forget_former(dp);
	dp->is_beside = dp->is_pinned = false;
}

void dp_put_back(struct dp *dp)
{
	links_put_back(&dp->links);
	links_detach_new(&dp->links);
	if (dp->is_pinned)
		beside_forget(dp->links.dir);
	dp->is_beside = dp->is_pinned = false;
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

/*
 * XDP programs run with bottom halves off, in the kernel's words as readers of RCU, and this
 * barrier waits for all of those. Where it is refused (nohz_full) a pause that is long against a
 * packet must do.
 */
void dp_wait_kernel(void)
{
	const struct timespec pause = {.tv_nsec = 10 * TIME_MILLI_NS};

	if (syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&pause, NULL);
}

/* First the barrier: xsk_worker_wait counts on one that all cores have passed. */
static void wait_readers(void *readers)
{
	const struct dp *dp = readers;

	dp_wait_kernel();
	xsk_wait(dp->xsk);
}

static int map_tables(struct dp *dp, struct err *err)
{
	struct dp_tables *tables = &dp->tables;
	int error;

	tables->node = &dp->skel->data_node->this_node;
	tables->vips = map_memory(dp->skel->maps.vips);
	tables->services = map_memory(dp->skel->maps.services);
	tables->backends = map_memory(dp->skel->maps.backends);
	tables->slots = map_memory(dp->skel->maps.slots);
	tables->servers = map_memory(dp->skel->maps.servers);
	if (dp->own == DP_PROGRAM_STEER) {
		dp->steering = map_memory(dp->skel->maps.steering);
		if (!dp->steering)
			return err_set(err, -ENOMEM, "cannot map the tables: %s", strerror(errno));
	}
	tables->flows = map_memory(dp->skel->maps.flows);
	if (!tables->vips || !tables->services || !tables->backends || !tables->slots ||
	    !tables->flows || !tables->servers)
		return err_set(err, -ENOMEM, "cannot map the tables: %s", strerror(errno));
	error = mirror_open(&dp->mirror, dp->skel->maps.prefixes);
	if (error)
		return err_set(err, error, "the prefixes cannot be read: %s", strerror(-error));
	tables->prefixes = &dp->mirror;
	tables->set_prefix = mirror_set;
	tables->list_prefixes = mirror_list;
	tables->readers = dp;
	tables->wait_readers = wait_readers;
	return 0;
}

/* A fresh node record gets its version and secrets. */
static int init_node(struct dp *dp, struct err *err)
{
	struct abi_node *node = dp->tables.node;
	uint64_t secrets[2];

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

/* The kernel takes memory for all of the tables at once, or for none. */
static int load(struct dp *dp, struct err *err)
{
	const size_t mib = 1024 * 1024, flow = sizeof(struct abi_flow);
	size_t flows = (size_t)dp->tables.flow_buckets * sizeof(struct abi_bucket);
	int error;

	dp->memory = pins_memory(dp->skel->obj);
	error = pins_load(dp->skel->skeleton, err);
	if (error != -ENOMEM)
		return error;
	return err_set(
		err, error,
		"the tables need %zu MiB of the kernel's memory, which cannot be had: %zu MiB "
		"are for %zu flows (node.flows.entries)",
		(dp->memory + mib - 1) / mib, (flows + mib - 1) / mib, flows / flow);
}

static int open_pinned(struct dp *dp, const char *pin_dir, struct err *err)
{
	bool fresh = false;
	int error = links_init(&dp->links, pin_dir, err);

	if (!error && pin_dir)
		error = set_pins(dp, err);
	if (!error) {
		open_former(dp);
		fresh = !dp->adopted && !dp->is_beside;
		error = load(dp, err);
	}
	if (!error)
		error = map_tables(dp, err);
	if (!error)
		carry_over(dp);
	if (!error)
		error = init_node(dp, err);
	dp->features = dp->skel->rodata->features;
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
	dp->own = options->steers ? DP_PROGRAM_STEER : DP_PROGRAM_LB;
	dp->skel = dp_skel_open(dp->own);
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
	capture_stop(dp);
	xsk_close(dp);
	links_close(&dp->links);
	forget_former(dp);
	if (dp->skel) {
		unmap(dp->tables.vips, dp->skel->maps.vips);
		unmap(dp->tables.services, dp->skel->maps.services);
		unmap(dp->tables.backends, dp->skel->maps.backends);
		unmap(dp->tables.slots, dp->skel->maps.slots);
		unmap(dp->tables.servers, dp->skel->maps.servers);
		unmap(dp->tables.flows, dp->skel->maps.flows);
		unmap(dp->steering, dp->skel->maps.steering);
		lb_bpf__destroy(dp->next);
		lb_bpf__destroy(dp->skel);
	}
	mirror_close(&dp->mirror);
	percpu_fini(&dp->percpu);
	free(dp);
}

void dp_teardown(struct dp *dp)
{
	if (dp->links.dir[0])
		beside_forget(dp->links.dir);
	links_teardown(&dp->links);
}

bool dp_adopted(const struct dp *dp)
{
	return dp->adopted;
}

bool dp_is_beside(const struct dp *dp)
{
	return dp->is_beside;
}

const char *dp_not_adopted_why(const struct dp *dp)
{
	return dp->why.text;
}

const char *dp_not_carried_why(const struct dp *dp)
{
	return dp->lost.text;
}

struct dp_carried dp_carried(const struct dp *dp)
{
	return (struct dp_carried){.flows = dp->carry.carried, .lost = dp->carry.lost};
}

size_t dp_memory(const struct dp *dp)
{
	return dp->memory;
}

struct dp_tables *dp_tables(struct dp *dp)
{
	return &dp->tables;
}

int dp_attach(struct dp *dp, const char *interface, enum link_xdp wanted, struct err *err)
{
	int ret = dp->is_beside && !dp->is_pinned ? pin_beside(dp, err) : 0;

	if (ret)
		return ret;
	return links_attach(&dp->links, dp_program_fd(dp), interface, wanted, err);
}

int dp_reattach(struct dp *dp, size_t at, struct err *err)
{
	xsk_forget_link(dp, dp->links.attached[at].interface);
	return links_reattach(&dp->links, at, dp_program_fd(dp), err);
}

struct links *dp_links(struct dp *dp)
{
	return &dp->links;
}

int dp_slow_map(const struct dp *dp)
{
	return bpf_map__fd(dp->skel->maps.slow);
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
	error = bpf_prog_test_run_opts(dp_program_fd(dp), &opts);
	if (error)
		return error;
	ret->action = opts.retval;
	ret->length = opts.data_size_out;
	ret->trace = dp->skel->data_trace->last_trace;
	return 0;
}
