/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "agents.h"
#include "tunnels.h"

enum { PATH_MTU = 1500, OVERHEAD = 40, VIPS = 2 };

static const char *const vips[VIPS] = {TUNNEL_VIP4, TUNNEL_VIP6};
static struct prefix vip_list[VIPS];
static struct prefix balancer_list[TUNNEL_BALANCERS];

struct agent_dp *agents_kernel;

static struct addr address(const struct pkt_addr *addr)
{
	struct addr ret;

	memcpy(ret.bytes, addr->bytes, sizeof(ret.bytes));
	return ret;
}

int agents_vip(const struct pkt_addr *addr)
{
	struct addr given = address(addr);

	for (size_t i = 0; i < VIPS; i++) {
		if (addr_equal(&vip_list[i].addr, &given))
			return addr_is4(&given) ? 4 : 6;
	}
	return 0;
}

int agents_balancer(const struct pkt_addr *addr)
{
	struct addr given = address(addr);

	for (size_t i = 0; i < TUNNEL_BALANCERS; i++) {
		if (prefix_has(&balancer_list[i], &given))
			return addr_is4(&given) ? 4 : 6;
	}
	return 0;
}

struct agent_limits agents_limits(void)
{
	return agent_dp_limits(PATH_MTU, OVERHEAD);
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
	return 0;
}

int agents_open(void **state)
{
	const struct agent_dp_options options = {
		.vips = vip_list,
		.vip_count = VIPS,
		.balancers = balancer_list,
		.balancer_count = TUNNEL_BALANCERS,
		.limits = agents_limits(),
	};
	struct err err;

	(void)state;
	if (agents_fill())
		return -1;
	if (geteuid() == 0 && agent_dp_open(&options, &agents_kernel, &err) != 0) {
		print_error("%s\n", err.text);
		return -1;
	}
	return 0;
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
