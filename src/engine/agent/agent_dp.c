/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/agent/agent_dp.h"

#include <arpa/inet.h>
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

#include "agent.skel.h"
#include "bpf/links.h"
#include "bpf/percpu.h"
#include "bpf/pins.h"
#include "engine/agent/agent_ports.h"
#include "engine/dp.h"
#include "second/packet.h"
#include "tunnel/mode.h"

_Static_assert(AGENT_DP_SPACES_MAX == (int)SECOND_SPACES, "what the program has room for");
_Static_assert(sizeof(struct addr) == sizeof(struct pkt_addr), "keys of others");

enum {
	RUN_LENGTH_MIN = 14,
	/* Ours among an interface's filters, in all versions, so that a later one finds it. */
	FILTER_HANDLE = 0x77656972,
	FILTER_PRIORITY = 0x7765,
	MSS_MIN = 88, /* of any MTU that IPv4 allows (RFC 791: 68) there is something left */
};

struct agent_dp {
	struct agent_bpf *skel;
	struct links links;
	struct percpu percpu;
};

/* --- sizes --- */

uint32_t agent_dp_overhead(enum agent_takes takes, const struct prefix *balancers, size_t count,
			   bool inner4)
{
	uint32_t most = 0;
	bool outer4 = true;

	for (size_t i = 0; i < count; i++)
		outer4 = outer4 && addr_is4(&balancers[i].addr);
	for (uint8_t mode = 0; mode < TUNNEL_MODES; mode++) {
		uint32_t overhead = tunnel_mode_overhead(mode, outer4, inner4);

		if (takes & 1U << mode && overhead > most)
			most = overhead;
	}
	return most;
}

static uint16_t mss_of(uint32_t path_mtu, uint32_t headers)
{
	uint32_t mss = path_mtu > headers + MSS_MIN ? path_mtu - headers : MSS_MIN;

	return mss < UINT16_MAX ? (uint16_t)mss : UINT16_MAX;
}

struct agent_limits agent_dp_limits(uint32_t path_mtu, uint32_t overhead4, uint32_t overhead6)
{
	uint32_t headers4 = overhead4 + sizeof(struct iphdr) + sizeof(struct tcphdr);
	uint32_t headers6 = overhead6 + sizeof(struct ipv6hdr) + sizeof(struct tcphdr);

	return (struct agent_limits){
		.mss4 = mss_of(path_mtu, headers4),
		.mss6 = mss_of(path_mtu, headers6),
	};
}

/* --- open --- */

static int fill_prefixes(struct bpf_map *map, const struct prefix *list, size_t count,
			 struct err *err)
{
	const char *name = bpf_map__name(map);

	if (count > bpf_map__max_entries(map))
		return err_set(err, -ENOSPC, "%s: %zu, %u at most", name, count,
			       bpf_map__max_entries(map));
	for (size_t i = 0; i < count; i++) {
		uint8_t version = addr_is4(&list[i].addr) ? 4 : 6;
		struct agent_prefix key = {
			.length = list[i].length + (version == 4 ? 96U : 0),
			.addr = dp_addr(&list[i].addr),
		};
		int ret = bpf_map__update_elem(map, &key, sizeof(key), &version, sizeof(version),
					       BPF_ANY);

		if (ret)
			return err_set(err, ret, "%s: cannot write: %s", name, strerror(-ret));
	}
	return 0;
}

static void inherit_ports(struct agent_dp *agent, const struct prefix *vips, size_t count)
{
	/* None but Geneve's packets taught them. */
	if (!agent->links.dir[0] || !(agent->skel->rodata->takes & AGENT_TAKES_GENEVE))
		return;
	if (agent_ports_inherit(agent->skel->maps.other_ports, agent->links.dir, vips, count))
		agent->skel->data_ports->ports_known = 1;
}

int agent_dp_open(const struct agent_dp_options *options, struct agent_dp **ret, struct err *err)
{
	struct agent_dp *agent = calloc(1, sizeof(*agent));
	int error;

	if (!agent)
		return err_set(err, -ENOMEM, "out of memory");
	agent->skel = agent_bpf__open();
	if (!agent->skel || percpu_init(&agent->percpu))
		error = err_set(err, -ENOMEM, "cannot open the programs: %s", strerror(errno));
	else
		error = links_init(&agent->links, options->pin_dir, err);
	if (!error) {
		agent->skel->rodata->mss_limits = options->limits;
		agent->skel->rodata->takes = options->takes;
		agent->skel->rodata->space_count = (__u32)options->space_count;
		for (size_t i = 0; i < options->space_count; i++)
			agent->skel->rodata->spaces[i] = options->spaces[i];
		agent->skel->data_ports->ports_known = options->port_count > 0;
		error = pins_load(agent->skel->skeleton, err);
	}
	if (!error)
		error = fill_prefixes(agent->skel->maps.agent_vips, options->vips,
				      options->vip_count, err);
	if (!error)
		error = fill_prefixes(agent->skel->maps.balancers, options->balancers,
				      options->balancer_count, err);
	if (!error)
		error = fill_prefixes(agent->skel->maps.peers, options->peers, options->peer_count,
				      err);
	if (!error)
		error = agent_ports_fill(agent->skel->maps.other_ports, options, err);
	if (!error) {
		inherit_ports(agent, options->vips, options->vip_count);
		*ret = agent;
		return 0;
	}
	if (agent->links.dir[0])
		rmdir(agent->links.dir); /* unless an earlier agent's links are in it */
	agent_dp_close(agent);
	return error;
}

/* --- tc --- */

static struct bpf_tc_hook egress_of(const char *interface)
{
	struct bpf_tc_hook hook;

	/* The library refuses one whose padding is not zero; an initialiser may not make it so. */
	memset(&hook, 0, sizeof(hook));
	hook.sz = sizeof(hook);
	hook.ifindex = (int)if_nametoindex(interface);
	hook.attach_point = BPF_TC_EGRESS;
	return hook;
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

int agent_dp_is_taken(const char *interface, const char *pin_dir, bool *ret, struct err *err)
{
	int ifindex = (int)if_nametoindex(interface), error;
	__u32 program = 0;
	bool ours;

	if (!ifindex)
		return err_set(err, -ENODEV, "%s: there is no such interface", interface);
	error = bpf_xdp_query_id(ifindex, 0, &program);
	if (error)
		return err_set(err, error, "%s: cannot ask for its XDP program: %s", interface,
			       strerror(-error));
	error = links_is_pinned(pin_dir, interface, &ours, err);
	if (!error)
		*ret = program && !ours;
	return error;
}

int agent_dp_attach(struct agent_dp *agent, const char *interface, enum link_xdp wanted,
		    struct err *err)
{
	int ret = links_attach(&agent->links, bpf_program__fd(agent->skel->progs.weir_decap),
			       interface, wanted, err);

	if (ret)
		return ret;
	ret = attach_clamp(agent, interface, err);
	if (ret)
		links_take_back(&agent->links);
	return ret;
}

int agent_dp_reattach(struct agent_dp *agent, size_t at, struct err *err)
{
	int ret = links_reattach(&agent->links, at, bpf_program__fd(agent->skel->progs.weir_decap),
				 err);

	return ret ? ret : attach_clamp(agent, agent->links.attached[at].interface, err);
}

int agent_dp_keep_ports(struct agent_dp *agent, const struct prefix *vips, size_t vip_count,
			struct err *err)
{
	if (!agent->links.dir[0])
		return 0;
	inherit_ports(agent, vips, vip_count);
	return agent_ports_pin(agent->skel->maps.other_ports, agent->links.dir, err);
}

size_t agent_dp_others(struct agent_dp *agent, struct addr *list, size_t room)
{
	struct bpf_map *map = agent->skel->maps.others;
	size_t count = 0;

	while (count < room &&
	       bpf_map__get_next_key(map, NULL, &list[count], sizeof(list[count])) == 0) {
		bpf_map__delete_elem(map, &list[count], sizeof(list[count]), 0);
		count++;
	}
	return count;
}

struct links *agent_dp_links(struct agent_dp *agent)
{
	return &agent->links;
}

/* --- counters and test runs --- */

static struct abi_count sum_count(const struct agent_dp *agent, const struct bpf_map *map,
				  uint32_t index)
{
	struct abi_count sum;

	percpu_sum(&agent->percpu, map, index, (uint64_t *)&sum, sizeof(sum) / sizeof(uint64_t));
	return sum;
}

struct abi_count agent_dp_verdict_count(const struct agent_dp *agent, enum agent_verdict verdict)
{
	return sum_count(agent, agent->skel->maps.verdict_counts, verdict);
}

struct abi_count agent_dp_clamp_count(const struct agent_dp *agent, enum agent_clamp clamp)
{
	return sum_count(agent, agent->skel->maps.clamp_counts, clamp);
}

struct abi_count agent_dp_port_count(const struct agent_dp *agent)
{
	return sum_count(agent, agent->skel->maps.port_counts, 0);
}

int agent_dp_run(struct agent_dp *agent, enum agent_dp_program program, uint8_t *frame,
		 size_t *length, size_t capacity, uint32_t *ret_action)
{
	const struct bpf_program *run = program == AGENT_DP_DECAP ? agent->skel->progs.weir_decap
								  : agent->skel->progs.weir_clamp;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (__u32)*length,
		    .data_out = frame, .data_size_out = (__u32)capacity, .repeat = 1);
	int ret;

	if (*length > DP_RUN_LENGTH_MAX)
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
	links_teardown(&agent->links);
}

void agent_dp_close(struct agent_dp *agent)
{
	links_close(&agent->links);
	if (agent->skel)
		agent_bpf__destroy(agent->skel);
	percpu_fini(&agent->percpu);
	free(agent);
}
