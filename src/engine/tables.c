/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engines: what runs the packet path. Its decisions are headers in src/dp that are compiled
 * twice, over the tables of dp/abi.h. In the kernel lb.bpf.c and agent.bpf.c give them their world;
 * dp.c and agent_dp.c open, load, pin, attach and count these. In a process native.c does. This
 * file writes the balancer's tables, the same way in both worlds.
 *
 * A packet may read a table at any moment, so a writer works in the order that abi.h names: what
 * is pointed at before what points to it, each step one aligned 64-bit store. There is one writer
 * and no lock.
 */
#include "engine/tables.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "pkt/hash.h"
#include "tunnel/encap.h"

uint32_t dp_flow_buckets(uint32_t flow_entries)
{
	uint32_t buckets = 1;

	if (flow_entries < ABI_FLOWS_MIN || flow_entries > ABI_FLOWS_MAX)
		return 0;
	while (buckets * ABI_BUCKET_FLOWS < flow_entries)
		buckets *= 2;
	return buckets;
}

const char *dp_action_name(uint32_t action)
{
	switch (action) {
	case XDP_PASS: return "pass";
	case XDP_DROP: return "drop";
	case XDP_TX: return "tx";
	case XDP_REDIRECT: return "redirect";
	default: return "aborted";
	}
}

bool dp_action_leaves(uint32_t action)
{
	return action == XDP_TX || action == XDP_REDIRECT;
}

struct pkt_addr dp_addr(const struct addr *addr)
{
	struct pkt_addr copy;

	memcpy(copy.bytes, addr->bytes, sizeof(copy.bytes));
	return copy;
}

struct addr dp_addr_back(const struct pkt_addr *addr)
{
	struct addr copy;

	memcpy(copy.bytes, addr->bytes, sizeof(copy.bytes));
	return copy;
}

static void store(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELEASE);
}

static bool is_unused(const struct abi_vip *vip)
{
	return !(vip->addr.half[0] | vip->addr.half[1]);
}

/* The address's place, else the first one that nobody has; NULL: none in reach. */
static struct abi_vip *find_vip(const struct dp_tables *tables, const struct pkt_addr *addr)
{
	uint32_t place = (uint32_t)pkt_hash_addr(addr, tables->node->vip_secret);
	struct abi_vip *free_place = NULL;

	for (uint32_t i = 0; i < ABI_VIP_PROBES; i++) {
		struct abi_vip *vip = &tables->vips[(place + i) & (ABI_VIPS - 1)];

		if (pkt_addr_equal(&vip->addr, addr))
			return vip;
		if (!free_place && !vip->listens[0])
			free_place = vip;
		if (is_unused(vip))
			break;
	}
	return free_place;
}

/* The listen of the same protocol and ports, whatever its service. */
static const uint64_t *find_listen(const uint64_t *listens, size_t count, uint64_t listen)
{
	for (size_t i = 0; i < count; i++) {
		if ((listens[i] ^ listen) << 24 == 0)
			return &listens[i];
	}
	return NULL;
}

/*
 * A reader stops at the first empty word. So a listen that stays keeps its word, or goes towards
 * the front to where one was taken away, and is there twice for a moment and never missing.
 */
static void set_listens(uint64_t *words, const uint64_t *listens, size_t count)
{
	size_t used = 0;

	while (used < ABI_VIP_LISTENS && words[used])
		used++;
	for (size_t i = used; i-- > 0;) {
		const uint64_t *wanted = find_listen(listens, count, words[i]);

		if (!wanted) {
			store(&words[i], words[--used]);
			store(&words[used], 0);
		} else if (*wanted != words[i]) {
			store(&words[i], *wanted);
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (!find_listen(words, used, listens[i]))
			store(&words[used++], listens[i]);
	}
}

/* Addresses without listens at the end of a run: a search ends before them as well. */
static void release_places(const struct dp_tables *tables, size_t at)
{
	while (is_unused(&tables->vips[(at + 1) & (ABI_VIPS - 1)])) {
		struct abi_vip *vip = &tables->vips[at];

		if (is_unused(vip) || vip->listens[0])
			return;
		store((uint64_t *)&vip->addr.half[1], 0);
		store((uint64_t *)&vip->addr.half[0], 0);
		at = (at - 1) & (ABI_VIPS - 1);
	}
}

int dp_tables_set_vip(struct dp_tables *tables, const struct addr *vip, const uint64_t *listens,
		      size_t count)
{
	struct pkt_addr addr = dp_addr(vip);
	struct abi_vip *place = find_vip(tables, &addr);

	if (count > ABI_VIP_LISTENS)
		return -ENOSPC;
	if (!place || !pkt_addr_equal(&place->addr, &addr)) {
		if (!count)
			return 0;
		if (!place)
			return -ENOSPC;
		store((uint64_t *)&place->addr.half[0], addr.half[0]);
		store((uint64_t *)&place->addr.half[1], addr.half[1]);
	}
	set_listens((uint64_t *)place->listens, listens, count);
	if (!count)
		release_places(tables, (size_t)(place - tables->vips));
	return 0;
}

const uint64_t *dp_tables_vip(const struct dp_tables *tables, const struct addr *vip)
{
	struct pkt_addr addr = dp_addr(vip);
	struct abi_vip *place = find_vip(tables, &addr);

	return place && pkt_addr_equal(&place->addr, &addr) ? (const uint64_t *)place->listens
							    : NULL;
}

void dp_tables_set_tunnel(struct abi_backend *backend, const struct addr *addr)
{
	backend->addr = dp_addr(addr);
	backend->outer_sum = addr_is4(addr) ? tunnel_sum4(addr_be32(addr)) : 0;
}

void dp_tables_set_nexthop(struct abi_backend *backend, const struct dp_nexthop *hop)
{
	uint32_t found = ABI_BACKEND_NEIGH | ABI_BACKEND_LINK;
	uint64_t first;

	if (!hop) {
		__atomic_and_fetch(&backend->flags, ~found, __ATOMIC_RELEASE);
		return;
	}
	if (!hop->on_link)
		found = ABI_BACKEND_NEIGH;
	/* A router's MAC address never stands where the flag says that it is the backend's. */
	if (!hop->on_link)
		__atomic_and_fetch(&backend->flags, ~(uint32_t)ABI_BACKEND_LINK, __ATOMIC_SEQ_CST);
	memcpy(&first, hop->dst_mac, 6);
	memcpy((uint8_t *)&first + 6, hop->src_mac, 2);
	memcpy(backend->src_mac + 2, hop->src_mac + 2, 4);
	store((uint64_t *)(void *)backend->dst_mac, first);
	backend->ifindex = hop->ifindex;
	backend->mtu = (uint16_t)(hop->mtu > UINT16_MAX ? UINT16_MAX : hop->mtu);
	__atomic_or_fetch(&backend->flags, found, __ATOMIC_RELEASE);
}
