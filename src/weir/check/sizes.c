/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/check/sizes.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <stdio.h>

#include "host/host.h"
#include "tunnel/mode.h"
#include "weir/balancer/assemble.h"

enum { MTU_ASSUMED = 1500, IP6_MIN = 1280, TAGS_MAX = 2, TAG_BYTES = 4 };

static void offer_mtu(struct sizes *sizes, uint32_t mtu, uint32_t tags, const char *from)
{
	if (sizes->mtu && sizes->mtu - sizes->tags <= mtu - tags)
		return;
	sizes->mtu = mtu;
	sizes->tags = tags;
	snprintf(sizes->mtu_from, sizeof(sizes->mtu_from), "%s", from);
}

/* What sends for a VLAN's device is the interface below it, which has the tags to carry too. */
static void offer_interface(struct sizes *sizes, const char *interface)
{
	char name[IF_NAMESIZE];
	struct err err;
	uint32_t mtu;

	snprintf(name, sizeof(name), "%s", interface);
	for (uint32_t tags = 0; tags <= TAGS_MAX * TAG_BYTES; tags += TAG_BYTES) {
		if (host_interface_mtu(name, &mtu, &err))
			return;
		if (mtu > tags)
			offer_mtu(sizes, mtu, tags, name);
		if (host_interface_below(name, name))
			return;
	}
}

/* The smallest of them all: which one a backend is behind is known only when routes are. */
static void find_mtu(const struct conf_node *node, struct sizes *sizes)
{
	if (node->path_mtu)
		offer_mtu(sizes, node->path_mtu, 0, "path_mtu");
	for (size_t i = 0; i < node->interface_count; i++)
		offer_interface(sizes, node->interfaces[i]);
	if (!sizes->mtu)
		offer_mtu(sizes, MTU_ASSUMED, 0, "assumed");
}

static bool has_vip(const struct conf_service *service, bool is4)
{
	for (size_t i = 0; i < service->vip_count; i++) {
		if (addr_is4(&service->vips[i].addr) == is4)
			return true;
	}
	return false;
}

static bool has_backend(const struct conf_service *service, bool is4)
{
	for (size_t i = 0; i < service->pool->backend_count; i++) {
		if (addr_is4(&service->pool->backends[i].address) == is4)
			return true;
	}
	return false;
}

static void add_way(const struct conf_service *service, bool vip4, bool backend4,
		    struct sizes *sizes)
{
	struct sizes_way *way = &sizes->ways[sizes->way_count];
	uint32_t room = sizes->mtu - sizes->tags;
	uint32_t headers = sizeof(struct tcphdr);

	if (!has_vip(service, vip4) || !has_backend(service, backend4))
		return;
	way->vip4 = vip4;
	way->backend4 = backend4;
	way->overhead = tunnel_mode_overhead(assemble_mode(service), backend4, vip4);
	way->inner = room > way->overhead ? room - way->overhead : 0;
	headers += vip4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	way->mss = way->inner > headers ? way->inner - headers : 0;
	sizes->way_count++;
}

struct sizes sizes_of(const struct conf_node *node, const struct conf_service *service)
{
	struct sizes sizes = {0};

	find_mtu(node, &sizes);
	for (int way = 0; way < 4; way++)
		add_way(service, way < 2, way % 2 == 0, &sizes);
	return sizes;
}

static const char *family(bool is4)
{
	return is4 ? "IPv4" : "IPv6";
}

static void print_way(const struct conf_service *service, const struct sizes *sizes,
		      const struct sizes_way *way)
{
	printf("  sizes of %s, %s to %s: %u bytes (%s) less ", service->name, family(way->vip4),
	       family(way->backend4), sizes->mtu, sizes->mtu_from);
	if (sizes->tags)
		printf("%u for VLAN tags and ", sizes->tags);
	printf("%u for %s leave %u for a packet, MSS %u", way->overhead,
	       service->second_chance ? "gue and its second chance"
				      : conf_forward_name(service->forward),
	       way->inner, way->mss);
	/* No sender goes below IPv6's least size (RFC 8200, section 5), so nobody can be told. */
	if (!way->vip4 && way->inner < IP6_MIN)
		printf("; IPv6 wants %u, so what is between is dropped", IP6_MIN);
	putchar('\n');
}

void sizes_print(const struct conf_service *service, const struct sizes *sizes)
{
	for (size_t i = 0; i < sizes->way_count; i++)
		print_way(service, sizes, &sizes->ways[i]);
}

json_t *sizes_json(const struct sizes *sizes)
{
	json_t *ways = json_array();

	for (size_t i = 0; i < sizes->way_count; i++) {
		const struct sizes_way *way = &sizes->ways[i];

		json_array_append_new(ways, json_pack("{s:s, s:s, s:i, s:i, s:i}", "vip",
						      way->vip4 ? "ipv4" : "ipv6", "backend",
						      way->backend4 ? "ipv4" : "ipv6", "overhead",
						      (int)way->overhead, "inner", (int)way->inner,
						      "mss", (int)way->mss));
	}
	return json_pack("{s:i, s:s, s:i, s:o}", "mtu", (int)sizes->mtu, "mtu_from",
			 sizes->mtu_from, "tags", (int)sizes->tags, "ways", ways);
}
