/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engines: what runs the packet path. Its decisions are headers in src/dp that are compiled
 * twice, over the tables of dp/abi.h. In the kernel lb.bpf.c and agent.bpf.c give them their world;
 * dp.c and agent/ open, load, pin, attach and count these. In a process native.c does. This
 * file and vips.c write the balancer's tables, the same way in both worlds.
 *
 * A packet may read a table at any moment, so a writer works in the order that abi.h names: what
 * is pointed at before what points to it, each step one aligned 64-bit store. There is one writer
 * and no lock.
 */
#include "engine/tables.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

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

/* --- prefixes --- */

struct abi_prefix dp_prefix(uint32_t list, const struct prefix *prefix)
{
	bool is4 = addr_is4(&prefix->addr);

	return (struct abi_prefix){
		.length = DP_PREFIX_TABLE_BITS + prefix->length + (is4 ? DP_PREFIX_MAPPED_BITS : 0),
		.table = abi_prefix_table(list, is4),
		.addr = dp_addr(&prefix->addr),
	};
}

int dp_held_compare(const void *a, const void *b)
{
	const struct abi_prefix *one = &((const struct dp_held *)a)->prefix;
	const struct abi_prefix *two = &((const struct dp_held *)b)->prefix;

	if (one->table != two->table)
		return one->table < two->table ? -1 : 1;
	if (one->length != two->length)
		return one->length < two->length ? -1 : 1;
	return memcmp(&one->addr, &two->addr, sizeof(one->addr));
}

int dp_tables_hold(const struct dp_tables *tables, uint32_t first, uint32_t last,
		   struct dp_held **ret, size_t *ret_count)
{
	return tables->list_prefixes(tables->prefixes, abi_prefix_table(first, 1),
				     abi_prefix_table(last, 0), ret, ret_count);
}

void dp_tables_wait(const struct dp_tables *tables)
{
	if (tables->wait_readers)
		tables->wait_readers(tables->readers);
}

/* --- backends --- */

void dp_tables_set_tunnel(struct abi_backend *backend, const struct addr *addr)
{
	backend->addr = dp_addr(addr);
	backend->outer_sum = addr_is4(addr) ? tunnel_sum4(addr_be32(addr)) : 0;
}

/* Both tags in one store; refused meanwhile. */
static void set_tags(struct abi_backend *backend, const uint32_t *tags)
{
	struct abi_backend new = {.tags = {PKT_BE32(tags[0]), PKT_BE32(tags[1])}};
	uint64_t old_word, new_word;

	memcpy(&old_word, backend->tags, sizeof(old_word));
	memcpy(&new_word, new.tags, sizeof(new_word));
	if (old_word == new_word)
		return;
	__atomic_and_fetch(&backend->flags, ~(uint32_t)(ABI_BACKEND_NEIGH | ABI_BACKEND_TAGGED),
			   __ATOMIC_SEQ_CST);
	__atomic_store_n((uint64_t *)(void *)backend->tags, new_word, __ATOMIC_RELEASE);
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
	set_tags(backend, hop->tags);
	if (hop->tags[0])
		found |= ABI_BACKEND_TAGGED;
	memcpy(&first, hop->dst_mac, 6);
	memcpy((uint8_t *)&first + 6, hop->src_mac, 2);
	memcpy(backend->src_mac + 2, hop->src_mac + 2, 4);
	__atomic_store_n((uint64_t *)(void *)backend->dst_mac, first, __ATOMIC_RELEASE);
	backend->ifindex = hop->ifindex;
	backend->mtu = (uint16_t)(hop->mtu > UINT16_MAX ? UINT16_MAX : hop->mtu);
	__atomic_or_fetch(&backend->flags, found, __ATOMIC_RELEASE);
}
