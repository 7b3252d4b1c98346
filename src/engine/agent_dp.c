/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/agent_dp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/pins.h"

#include "agent.skel.h"

#define LINK_PREFIX "link-"

enum {
	INTERFACES_MAX = 16,
	RUN_LENGTH_MAX =
		3520, /* what BPF_PROG_TEST_RUN takes: a page less what surrounds the frame */
	RUN_LENGTH_MIN = 14,
	/* Ours among an interface's filters, in all versions, so that a later one finds it. */
	FILTER_HANDLE = 0x77656972,
	FILTER_PRIORITY = 0x7765,
	MSS_MIN = 88, /* of any MTU that IPv4 allows (RFC 791: 68) there is something left */
};

struct agent_dp {
	struct agent_bpf *skel;
	char pin_dir[PINS_PATH_MAX]; /* "": nothing is pinned */
	int cores;
	struct agent_count *per_core; /* room for one record of every core */
	struct link_attached attached[INTERFACES_MAX];
	size_t attached_count;
};

/* --- sizes --- */

uint32_t agent_dp_overhead(const struct prefix *balancers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!addr_is4(&balancers[i].addr))
			return sizeof(struct ipv6hdr);
	}
	return sizeof(struct iphdr);
}

static uint16_t mss_of(uint32_t path_mtu, uint32_t headers)
{
	uint32_t mss = path_mtu > headers + MSS_MIN ? path_mtu - headers : MSS_MIN;

	return mss < UINT16_MAX ? (uint16_t)mss : UINT16_MAX;
}

struct agent_limits agent_dp_limits(uint32_t path_mtu, uint32_t overhead)
{
	return (struct agent_limits){
		.mss4 = mss_of(path_mtu, overhead + sizeof(struct iphdr) + sizeof(struct tcphdr)),
		.mss6 = mss_of(path_mtu, overhead + sizeof(struct ipv6hdr) + sizeof(struct tcphdr)),
	};
}

/* --- open --- */

static struct pkt_addr table_addr(const struct addr *addr)
{
	struct pkt_addr ret;

	memcpy(ret.bytes, addr->bytes, sizeof(ret.bytes));
	return ret;
}

static int fill_vips(struct agent_dp *agent, const struct agent_dp_options *options,
		     struct err *err)
{
	if (options->vip_count > AGENT_VIPS)
		return err_set(err, -ENOSPC, "%zu VIPs, %d at most", options->vip_count,
			       AGENT_VIPS);
	for (size_t i = 0; i < options->vip_count; i++) {
		uint8_t version = addr_is4(&options->vips[i]) ? 4 : 6;
		struct pkt_addr key = table_addr(&options->vips[i]);
		int ret = bpf_map__update_elem(agent->skel->maps.agent_vips, &key, sizeof(key),
					       &version, sizeof(version), BPF_ANY);

		if (ret)
			return err_set(err, ret, "cannot write a VIP: %s", strerror(-ret));
	}
	return 0;
}

static int fill_balancers(struct agent_dp *agent, const struct agent_dp_options *options,
			  struct err *err)
{
	if (options->balancer_count > AGENT_BALANCERS)
		return err_set(err, -ENOSPC, "%zu balancers, %d at most", options->balancer_count,
			       AGENT_BALANCERS);
	for (size_t i = 0; i < options->balancer_count; i++) {
		const struct prefix *prefix = &options->balancers[i];
		uint8_t version = addr_is4(&prefix->addr) ? 4 : 6;
		struct agent_prefix key = {
			.length = prefix->length + (version == 4 ? 96U : 0),
			.addr = table_addr(&prefix->addr),
		};
		int ret = bpf_map__update_elem(agent->skel->maps.balancers, &key, sizeof(key),
					       &version, sizeof(version), BPF_ANY);

		if (ret)
			return err_set(err, ret, "cannot write a balancer: %s", strerror(-ret));
	}
	return 0;
}

int agent_dp_open(const struct agent_dp_options *options, struct agent_dp **ret, struct err *err)
{
	struct agent_dp *agent = calloc(1, sizeof(*agent));
	int error;

	if (!agent)
		return err_set(err, -ENOMEM, "out of memory");
	agent->cores = libbpf_num_possible_cpus();
	if (agent->cores > 0)
		agent->per_core = calloc((size_t)agent->cores, sizeof(*agent->per_core));
	agent->skel = agent_bpf__open();
	error = -ENOMEM;
	if (!agent->per_core || !agent->skel) {
		err_set(err, error, "cannot open the agent's programs");
		goto out;
	}
	error = 0;
	if (options->pin_dir && (size_t)snprintf(agent->pin_dir, sizeof(agent->pin_dir), "%s",
						 options->pin_dir) >= sizeof(agent->pin_dir))
		error = err_set(err, -ENAMETOOLONG, "%s: the path is too long", options->pin_dir);
	if (error)
		goto out;
	agent->skel->rodata->mss_limits = options->limits;
	error = pins_load(agent->skel->skeleton, err);
	if (!error)
		error = fill_vips(agent, options, err);
	if (!error)
		error = fill_balancers(agent, options, err);
	if (error)
		goto out;
	*ret = agent;
	return 0;
out:
	agent_dp_close(agent);
	return error;
}

/* --- tc --- */

static struct bpf_tc_hook egress_of(const char *interface)
{
	return (struct bpf_tc_hook){
		.sz = sizeof(struct bpf_tc_hook),
		.ifindex = (int)if_nametoindex(interface),
		.attach_point = BPF_TC_EGRESS,
	};
}

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

/* libbpf reports on standard error what is an answer here. */
static int query_clsact(struct bpf_tc_hook *hook)
{
	LIBBPF_OPTS(bpf_tc_opts, filter, .handle = FILTER_HANDLE, .priority = FILTER_PRIORITY);
	libbpf_print_fn_t before = libbpf_set_print(silent);
	int ret = bpf_tc_query(hook, &filter);

	libbpf_set_print(before);
	return ret;
}

int agent_dp_has_clsact(const char *interface, bool *ret, struct err *err)
{
	struct bpf_tc_hook hook = egress_of(interface);
	int found;

	if (!hook.ifindex)
		return err_set(err, -ENODEV, "%s: there is no such interface", interface);
	/* -ENOENT: no such filter; -EINVAL: no qdisc that could have one. */
	found = query_clsact(&hook);
	if (found && found != -ENOENT && found != -EINVAL)
		return err_set(err, found, "%s: cannot look for a clsact qdisc: %s", interface,
			       strerror(-found));
	*ret = found != -EINVAL;
	return 0;
}

static int attach_clamp(struct agent_dp *agent, const char *interface, struct err *err)
{
	LIBBPF_OPTS(bpf_tc_opts, filter, .handle = FILTER_HANDLE, .priority = FILTER_PRIORITY,
		    .prog_fd = bpf_program__fd(agent->skel->progs.weir_clamp),
		    .flags = BPF_TC_F_REPLACE);
	struct bpf_tc_hook hook = egress_of(interface);
	bool there;
	int ret = agent_dp_has_clsact(interface, &there, err);

	if (ret)
		return ret;
	if (!there)
		ret = bpf_tc_hook_create(&hook);
	if (ret && ret != -EEXIST)
		return err_set(err, ret, "%s: cannot make a clsact qdisc: %s", interface,
			       strerror(-ret));
	ret = bpf_tc_attach(&hook, &filter);
	if (ret && !there)
		agent_dp_detach_clamp(interface, true);
	return ret ? err_set(err, ret, "%s: cannot attach the tc program: %s", interface,
			     strerror(-ret))
		   : 0;
}

void agent_dp_detach_clamp(const char *interface, bool remove_clsact)
{
	LIBBPF_OPTS(bpf_tc_opts, filter, .handle = FILTER_HANDLE, .priority = FILTER_PRIORITY);
	struct bpf_tc_hook hook = egress_of(interface);
	libbpf_print_fn_t before;

	if (!hook.ifindex)
		return;
	before = libbpf_set_print(silent);
	bpf_tc_detach(&hook, &filter);
	if (remove_clsact) {
		hook.attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS;
		bpf_tc_hook_destroy(&hook);
	}
	libbpf_set_print(before);
}

/* --- attaching --- */

static int link_pin(const char *pin_dir, const char *interface, char *path, struct err *err)
{
	char name[sizeof(LINK_PREFIX) + IF_NAMESIZE];

	snprintf(name, sizeof(name), LINK_PREFIX "%s", interface);
	return pins_path(path, pin_dir, name, err);
}

int agent_dp_is_taken(const char *interface, const char *pin_dir, bool *ret, struct err *err)
{
	int ifindex = (int)if_nametoindex(interface), error;
	char path[PINS_PATH_MAX];
	__u32 program = 0;

	if (!ifindex)
		return err_set(err, -ENODEV, "%s: there is no such interface", interface);
	error = bpf_xdp_query_id(ifindex, 0, &program);
	if (error)
		return err_set(err, error, "%s: cannot ask for its XDP program: %s", interface,
			       strerror(-error));
	error = link_pin(pin_dir, interface, path, err);
	if (!error)
		*ret = program && access(path, F_OK);
	return error;
}

int agent_dp_attach(struct agent_dp *agent, const char *interface, enum link_xdp wanted,
		    struct err *err)
{
	int program = bpf_program__fd(agent->skel->progs.weir_decap);
	struct link_attached *attached = &agent->attached[agent->attached_count];
	char path[PINS_PATH_MAX], *pin = agent->pin_dir[0] ? path : NULL;
	int ret;

	if (agent->attached_count == INTERFACES_MAX)
		return err_set(err, -ENOSPC, "more than %d interfaces", INTERFACES_MAX);
	ret = pin ? link_pin(agent->pin_dir, interface, path, err) : 0;
	if (ret)
		return ret;
	ret = link_attach(program, interface, wanted, pin, attached, err);
	if (ret)
		return ret;
	ret = attach_clamp(agent, interface, err);
	if (ret) {
		/* An adopted link served before this start, and goes on. */
		if (attached->adopted)
			link_close(attached);
		else
			link_detach(attached, pin);
		return ret;
	}
	agent->attached_count++;
	return 0;
}

size_t agent_dp_attached_count(const struct agent_dp *agent)
{
	return agent->attached_count;
}

const struct link_attached *agent_dp_attached(const struct agent_dp *agent, size_t i)
{
	return &agent->attached[i];
}

static bool is_attached(const struct agent_dp *agent, const char *pin)
{
	for (size_t i = 0; i < agent->attached_count; i++) {
		char path[PINS_PATH_MAX];

		if (link_pin(agent->pin_dir, agent->attached[i].interface, path, NULL) == 0 &&
		    strcmp(path, pin) == 0)
			return true;
	}
	return false;
}

static void detach_other(void *arg, const char *name)
{
	struct agent_dp *agent = arg;
	struct link_attached other = {0};
	char path[PINS_PATH_MAX];

	if (pins_path(path, agent->pin_dir, name, NULL) || is_attached(agent, path))
		return;
	other.link_fd = bpf_obj_get(path);
	link_detach(&other, path);
}

void agent_dp_detach_others(struct agent_dp *agent)
{
	if (agent->pin_dir[0])
		pins_each(agent->pin_dir, LINK_PREFIX, detach_other, agent);
}

/* --- counters and test runs --- */

static struct agent_count sum(const struct agent_dp *agent, const struct bpf_map *map,
			      uint32_t index)
{
	size_t size = (size_t)agent->cores * sizeof(*agent->per_core);
	struct agent_count ret = {0};

	if (bpf_map__lookup_elem(map, &index, sizeof(index), agent->per_core, size, 0))
		return ret;
	for (int i = 0; i < agent->cores; i++) {
		ret.packets += agent->per_core[i].packets;
		ret.bytes += agent->per_core[i].bytes;
	}
	return ret;
}

struct agent_count agent_dp_verdict_count(const struct agent_dp *agent, enum agent_verdict verdict)
{
	return sum(agent, agent->skel->maps.verdict_counts, verdict);
}

struct agent_count agent_dp_clamp_count(const struct agent_dp *agent, enum agent_clamp clamp)
{
	return sum(agent, agent->skel->maps.clamp_counts, clamp);
}

int agent_dp_run(struct agent_dp *agent, enum agent_dp_program program, uint8_t *frame,
		 size_t *length, size_t capacity, uint32_t *ret_action)
{
	const struct bpf_program *run = program == AGENT_DP_DECAP ? agent->skel->progs.weir_decap
								  : agent->skel->progs.weir_clamp;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (__u32)*length,
		    .data_out = frame, .data_size_out = (__u32)capacity, .repeat = 1);
	int ret;

	if (*length > RUN_LENGTH_MAX)
		return -E2BIG;
	if (*length < RUN_LENGTH_MIN)
		return -EINVAL;
	ret = bpf_prog_test_run_opts(bpf_program__fd(run), &opts);
	if (ret)
		return ret;
	*length = opts.data_size_out;
	*ret_action = opts.retval;
	return 0;
}

/* --- end --- */

void agent_dp_teardown(struct agent_dp *agent)
{
	for (size_t i = 0; i < agent->attached_count; i++) {
		char path[PINS_PATH_MAX], *pin = NULL;

		if (agent->pin_dir[0] &&
		    link_pin(agent->pin_dir, agent->attached[i].interface, path, NULL) == 0)
			pin = path;
		link_detach(&agent->attached[i], pin);
	}
	agent->attached_count = 0;
	if (agent->pin_dir[0]) {
		agent_dp_detach_others(agent);
		pins_remove_all(agent->pin_dir);
	}
}

void agent_dp_close(struct agent_dp *agent)
{
	for (size_t i = 0; i < agent->attached_count; i++)
		link_close(&agent->attached[i]);
	if (agent->skel)
		agent_bpf__destroy(agent->skel);
	free(agent->per_core);
	free(agent);
}
