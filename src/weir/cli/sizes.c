/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/cli/sizes.h"

#include <stdio.h>

#include "engine/agent_dp.h"
#include "host/host.h"
#include "tunnel/mode.h"
#include "weir/node/assemble.h"

enum { MTU_ASSUMED = 1500, IP6_MIN = 1280 };

/* The smallest of them all: which one a backend is behind is known only when routes are. */
static void find_mtu(const struct conf_node *node, struct sizes *sizes)
{
	sizes->mtu = node->path_mtu;
	sizes->mtu_from = "path_mtu";
	for (size_t i = 0; i < node->interface_count; i++) {
		struct err err;
		uint32_t mtu;

		if (host_interface_mtu(node->interfaces[i], &mtu, &err))
			continue;
		if (sizes->mtu && sizes->mtu <= mtu)
			continue;
		sizes->mtu = mtu;
		sizes->mtu_from = node->interfaces[i];
	}
	if (sizes->mtu)
		return;
	sizes->mtu = MTU_ASSUMED;
	sizes->mtu_from = "assumed";
}

/* The most that any backend's tunnel adds, so that a path's size does not depend on the flow. */
static uint32_t overhead_of(const struct conf_service *service)
{
	uint8_t mode = assemble_mode(service->forward);

	for (size_t i = 0; i < service->pool->backend_count; i++) {
		if (!addr_is4(&service->pool->backends[i].address))
			return tunnel_mode_overhead(mode, 0, 1);
	}
	return tunnel_mode_overhead(mode, 1, 1);
}

struct sizes sizes_of(const struct conf_node *node, const struct conf_service *service)
{
	struct sizes sizes = {.overhead = overhead_of(service)};
	struct agent_limits limits;

	find_mtu(node, &sizes);
	sizes.inner = sizes.mtu > sizes.overhead ? sizes.mtu - sizes.overhead : 0;
	limits = agent_dp_limits(sizes.mtu, sizes.overhead);
	for (size_t i = 0; i < service->vip_count; i++) {
		if (addr_is4(&service->vips[i].addr))
			sizes.mss4 = limits.mss4;
		else
			sizes.mss6 = limits.mss6;
	}
	return sizes;
}

void sizes_print(const struct conf_service *service, const struct sizes *sizes)
{
	printf("  sizes of %s: %u bytes (%s) less %u for the tunnel leave %u for a packet; MSS",
	       service->name, sizes->mtu, sizes->mtu_from, sizes->overhead, sizes->inner);
	if (sizes->mss4)
		printf(" %u by IPv4", sizes->mss4);
	if (sizes->mss6)
		printf("%s %u by IPv6", sizes->mss4 ? "," : "", sizes->mss6);
	/* No sender goes below IPv6's least size (RFC 8200, section 5), so nobody can be told. */
	if (sizes->mss6 && sizes->inner < IP6_MIN)
		printf("; IPv6 wants %u, so what is between is dropped", IP6_MIN);
	putchar('\n');
}

json_t *sizes_json(const struct sizes *sizes)
{
	json_t *object = json_pack("{s:i, s:s, s:i, s:i}", "mtu", (int)sizes->mtu, "mtu_from",
				   sizes->mtu_from, "overhead", (int)sizes->overhead, "inner",
				   (int)sizes->inner);

	if (sizes->mss4)
		json_object_set_new(object, "mss4", json_integer(sizes->mss4));
	if (sizes->mss6)
		json_object_set_new(object, "mss6", json_integer(sizes->mss6));
	return object;
}
