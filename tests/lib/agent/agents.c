/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/agent/agents.h"
#include "tests/lib/agent/tunnels.h"

enum { PATH_MTU = 1500, OVERHEAD = 40, VIPS = 4, PORTS = 4, PEERS = 2 };

static const char *const vips[VIPS] = {TUNNEL_VIP4, TUNNEL_VIP6, TUNNEL_VIPS4, TUNNEL_VIPS6};
static struct prefix vip_list[VIPS];
static struct prefix balancer_list[TUNNEL_BALANCERS];
static const char *const peers[PEERS] = {TUNNEL_PEERS4, TUNNEL_PEERS6};
static struct prefix peer_list[PEERS];

/* Of both VIPs. */
static const struct agent_dp_port given[PORTS / 2] = {
	{.proto = IPPROTO_TCP, .port = AGENTS_PORT, .to = AGENTS_TO},
	{.proto = IPPROTO_UDP, .port = AGENTS_PORT, .to = AGENTS_TO},
};
static struct agent_dp_port port_list[PORTS];

struct known_port {
	struct agent_port key;
	struct agent_other_port other;
};
static struct known_port known[AGENT_PORTS];
static size_t known_count;

struct agent_dp *agents_kernel;
enum agent_takes agents_takes = AGENT_TAKES_ALL;
struct accept_socket agents_socket;

static struct addr address(const struct pkt_addr *addr)
{
	struct addr ret;

	memcpy(ret.bytes, addr->bytes, sizeof(ret.bytes));
	return ret;
}

int agents_vip(const struct pkt_addr *addr)
{
	struct addr looked_up = address(addr);

	for (size_t i = 0; i < VIPS; i++) {
		if (prefix_has(&vip_list[i], &looked_up))
			return addr_is4(&looked_up) ? 4 : 6;
	}
	return 0;
}

int agents_balancer(const struct pkt_addr *addr)
{
	struct addr looked_up = address(addr);

	for (size_t i = 0; i < TUNNEL_BALANCERS; i++) {
		if (prefix_has(&balancer_list[i], &looked_up))
			return addr_is4(&looked_up) ? 4 : 6;
	}
	return 0;
}

int agents_peer(const struct pkt_addr *addr)
{
	struct addr looked_up = address(addr);

	for (size_t i = 0; i < PEERS; i++) {
		if (prefix_has(&peer_list[i], &looked_up))
			return addr_is4(&looked_up) ? 4 : 6;
	}
	return 0;
}

struct agent_limits agents_limits(void)
{
	return agent_dp_limits(PATH_MTU, OVERHEAD, OVERHEAD);
}

struct agent_other_port *agents_port(const struct agent_port *key)
{
	for (size_t i = 0; i < known_count; i++) {
		if (memcmp(&known[i].key, key, sizeof(*key)) == 0)
			return &known[i].other;
	}
	return NULL;
}

static int know(const struct agent_port *key, __be16 port, bool by_file)
{
	struct agent_other_port *other = agents_port(key);

	if (!other && known_count == AGENT_PORTS)
		return -1;
	if (!other) {
		other = &known[known_count].other;
		known[known_count++].key = *key;
	}
	*other = (struct agent_other_port){.port = port, .given = by_file};
	return 0;
}

int agents_learn_port(const struct agent_port *key, __be16 port)
{
	return know(key, port, false);
}

size_t agents_ports_known(void)
{
	return known_count;
}

static void fill_ports(void)
{
	known_count = 0;
	for (size_t i = 0; i < PORTS; i++) {
		struct agent_port key = {.proto = given[i / 2].proto, .port = htons(AGENTS_TO)};

		port_list[i] = given[i / 2];
		port_list[i].vip = vip_list[i % 2].addr;
		memcpy(key.vip.bytes, port_list[i].vip.bytes, sizeof(key.vip.bytes));
		know(&key, htons(AGENTS_PORT), true);
		key.port = htons(AGENTS_PORT);
		key.way = AGENT_WAY_IN;
		know(&key, htons(AGENTS_TO), true);
	}
}

int agents_fill(void)
{
	for (size_t i = 0; i < VIPS; i++) {
		if (prefix_parse(vips[i], &vip_list[i]))
			return -1;
	}
	for (size_t i = 0; i < TUNNEL_BALANCERS; i++) {
		if (prefix_parse(tunnel_balancers[i], &balancer_list[i]))
			return -1;
	}
	for (size_t i = 0; i < PEERS; i++) {
		if (prefix_parse(peers[i], &peer_list[i]))
			return -1;
	}
	fill_ports();
	return 0;
}

struct agent_dp *agents_new(enum agent_takes takes)
{
	const struct agent_dp_options options = {
		.vips = vip_list,
		.vip_count = VIPS,
		.balancers = balancer_list,
		.balancer_count = TUNNEL_BALANCERS,
		.peers = peer_list,
		.peer_count = PEERS,
		.limits = agents_limits(),
		.takes = takes,
		.ports = port_list,
		.port_count = PORTS,
	};
	struct agent_dp *agent;
	struct err err;

	if (agent_dp_open(&options, &agent, &err) == 0)
		return agent;
	print_error("%s\n", err.text);
	return NULL;
}

int agents_open(void **state)
{
	(void)state;
	if (agents_fill())
		return -1;
	if (geteuid() != 0)
		return 0;
	agents_kernel = agents_new(AGENT_TAKES_ALL);
	return agents_kernel ? 0 : -1;
}

int agents_close(void **state)
{
	(void)state;
	if (agents_kernel)
		agent_dp_close(agents_kernel);
	return 0;
}

void agents_test_kernel_ran(void **state)
{
	(void)state;
	if (!agents_kernel) {
		print_message("no BPF_PROG_TEST_RUN: needs root\n");
		skip();
	}
}
