/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's data plane: opens and loads its two programs, fills their tables, attaches them to
 * interfaces and reads their counters. The tables belong to the programs and are made anew by each
 * start, complete before the first packet meets them; what outlives the process is the pinned XDP
 * link and the tc filter, and the next start exchanges their program in place. So no packet meets
 * half a table, and a table's shape may change from one version to the next. Ports that an earlier
 * agent learned are copied (agent_ports.h). Counters begin at 0 with each start. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"
#include "bpf/links.h"
#include "decap/abi_agent.h"

enum { AGENT_DP_SPACES_MAX = 8 };

struct agent_dp;

struct agent_dp_options {
	const char *pin_dir; /* on bpffs; NULL: nothing outlives agent_dp_close */
	const struct prefix *vips;
	size_t vip_count;
	const struct prefix *balancers;
	size_t balancer_count;
	const struct prefix *peers; /* without any AGENT_TAKES_SECOND must not be among `takes` */
	size_t peer_count;
	const int32_t *spaces; /* ids of network namespaces with sockets of the VIPs' servers */
	size_t space_count;    /* AGENT_DP_SPACES_MAX at most */
	struct agent_limits limits;
	enum agent_takes takes;
	const struct agent_dp_port *ports;
	size_t port_count;
};

/* What clients send to `port` of the VIP, its server hears at `to`. Ports in host order. */
struct agent_dp_port {
	struct addr vip;
	uint8_t proto; /* IPPROTO_TCP or IPPROTO_UDP */
	uint16_t port, to;
};

/* Bytes that these balancers add at most to a packet of a family, by the modes that are taken. */
uint32_t agent_dp_overhead(enum agent_takes takes, const struct prefix *balancers, size_t count,
			   bool inner4);
/* The MSS of segments that fit `path_mtu` together with the overhead of their family. */
struct agent_limits agent_dp_limits(uint32_t path_mtu, uint32_t overhead4, uint32_t overhead6);

int agent_dp_open(const struct agent_dp_options *options, struct agent_dp **ret, struct err *err);

/* Is there a clsact qdisc, which the tc program needs? agent_dp_attach makes it where there is
 * none, and leaves it to the caller to remember that. */
int agent_dp_has_clsact(const char *interface, bool *ret, struct err *err);
/* Is there an XDP program that is not an agent's with these pins? Then attaching is refused. */
int agent_dp_is_taken(const char *interface, const char *pin_dir, bool *ret, struct err *err);
/* Attaches both programs to one more interface. On failure nothing new is left attached. */
int agent_dp_attach(struct agent_dp *agent, const char *interface, enum link_xdp wanted,
		    struct err *err);
/* See links_reattach. */
int agent_dp_reattach(struct agent_dp *agent, size_t at, struct err *err);
/* When all are attached: takes over what the earlier programs learned until they were exchanged,
 * and keeps what is learned from now on for the next agent. */
int agent_dp_keep_ports(struct agent_dp *agent, const struct prefix *vips, size_t vip_count,
			struct err *err);
struct links *agent_dp_links(struct agent_dp *agent);
/* Takes the tc program off, this process's or an earlier one's, and the clsact qdisc too if
 * asked. Nothing to do is no error. */
void agent_dp_detach_clamp(const char *interface, bool remove_clsact);

/*
 * The other owners that packets were handed on to since the last call, into `list` of `room`;
 * returns how many. What there is no room for is told by the next call.
 */
size_t agent_dp_others(struct agent_dp *agent, struct addr *list, size_t room);

/* Sums over the cores. */
struct abi_count agent_dp_verdict_count(const struct agent_dp *agent, enum agent_verdict verdict);
struct abi_count agent_dp_clamp_count(const struct agent_dp *agent, enum agent_clamp clamp);
/* Packets that left from a VIP's port in place of the server's own. */
struct abi_count agent_dp_port_count(const struct agent_dp *agent);

enum agent_dp_program { AGENT_DP_DECAP, AGENT_DP_CLAMP };
/*
 * One frame through a program in the kernel, for tests: `frame` has room for `capacity` bytes and
 * comes back as it leaves. *ret_action is XDP's or tc's. -E2BIG: longer than the kernel takes.
 */
int agent_dp_run(struct agent_dp *agent, enum agent_dp_program program, uint8_t *frame,
		 size_t *length, size_t capacity, uint32_t *ret_action);

/* Detaches XDP everywhere and removes the pins; agent_dp_detach_clamp is the caller's to do. */
void agent_dp_teardown(struct agent_dp *agent);
/* Lets go; what is pinned goes on, and so do the tc programs. */
void agent_dp_close(struct agent_dp *agent);
