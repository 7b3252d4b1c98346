/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writer's view of the packet path's tables (abi.h), the same over BPF maps (dp.h) and over
 * plain memory (native.h), so that the control plane has one way to fill them. Pointers belong to
 * the engine and live as long as it. One writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"
#include "dp/abi.h"

struct dp_held;

struct dp_tables {
	struct abi_node *node;
	struct abi_vip *vips;
	struct abi_service *services;
	struct abi_backend *backends;
	uint64_t *slots;
	struct abi_server *servers;
	struct abi_bucket *flows;
	uint32_t flow_buckets;
	/*
	 * Prefixes are no plain memory. set: value 0 takes the prefix away; 0, or -errno (-ENOSPC:
	 * more than ABI_PREFIXES). list: those of tables `first` to `last` (abi_prefix_table),
	 * sorted, for free(), NULL if there are none; 0 or -ENOMEM.
	 */
	void *prefixes;
	int (*set_prefix)(void *prefixes, const struct abi_prefix *prefix, uint32_t value);
	int (*list_prefixes)(const void *prefixes, uint32_t first, uint32_t last,
			     struct dp_held **ret, size_t *ret_count);
	/* Returns once no packet is under way that began before. NULL: none ever is. */
	void (*wait_readers)(void *readers);
	void *readers; /* whom it waits for */
};

/* What an engine says of one frame. `action` is XDP's (XDP_PASS ...). */
struct dp_result {
	uint32_t action;
	size_t length; /* of the frame afterwards */
	struct abi_trace trace;
};

/* "pass", "drop", "tx", "redirect" or "aborted". */
const char *dp_action_name(uint32_t action);
/* Does the frame leave the node? */
bool dp_action_leaves(uint32_t action);

/* Buckets for so many flow entries: a power of two. 0: outside ABI_FLOWS_MIN to ABI_FLOWS_MAX. */
uint32_t dp_flow_buckets(uint32_t flow_entries);

struct pkt_addr dp_addr(const struct addr *addr);
struct addr dp_addr_back(const struct pkt_addr *addr);

/*
 * Sets the listens of an address, in place where it is known; count 0 takes the address away. They
 * may come in any order and are kept the narrower before the wider (abi.h). A listen that stays is
 * found at any moment, by a packet that is amid its search too. 0, or
 * -ENOSPC: more than ABI_VIP_LISTENS, or no place within ABI_VIP_PROBES.
 */
int dp_tables_set_vip(struct dp_tables *tables, const struct addr *vip, const uint64_t *listens,
		      size_t count);
/*
 * The listens of an address, ABI_VIP_LISTENS words of which unused are 0; NULL if unknown. One that
 * took the place of another may stand there twice.
 */
const uint64_t *dp_tables_vip(const struct dp_tables *tables, const struct addr *vip);
/*
 * The same for a VIP that is a prefix, whose record is at `place`, ABI_VIPS and up: which one it
 * has is the caller's to know (a list's value). Never count 0: dp_tables_drop_range.
 */
int dp_tables_set_range(struct dp_tables *tables, uint32_t place, const struct prefix *vip,
			const uint64_t *listens, size_t count);
/* The same of a prefix that is there, with that place. */
void dp_tables_fill_range(struct dp_tables *tables, uint32_t place, const uint64_t *listens,
			  size_t count);
/* Takes the prefix away. Its place may be given away after dp_tables_wait. */
int dp_tables_drop_range(struct dp_tables *tables, const struct abi_prefix *vip);

/* --- prefixes --- */

enum { DP_PREFIX_TABLE_BITS = 32, DP_PREFIX_MAPPED_BITS = 96 };
struct abi_prefix dp_prefix(uint32_t list, const struct prefix *prefix);

struct dp_held {
	struct abi_prefix prefix;
	uint32_t value;
};

/*
 * All prefixes of lists `first` to `last` as they are now, sorted; *ret is for free(), NULL if
 * there are none. 0, or -errno.
 */
int dp_tables_hold(const struct dp_tables *tables, uint32_t first, uint32_t last,
		   struct dp_held **ret, size_t *ret_count);
/* By list and family, length, address: for qsort and bsearch. */
int dp_held_compare(const void *a, const void *b);
/* What no packet finds any more may be written over afterwards. It can take some milliseconds. */
void dp_tables_wait(const struct dp_tables *tables);

/* A backend's next hop. */
struct dp_nexthop {
	uint32_t ifindex;
	uint32_t mtu;     /* of the outer packet; room for the tags is taken off */
	uint32_t tags[2]; /* VLAN tags, the outer first: TPID << 16 | TCI; 0: none */
	uint8_t src_mac[6];
	uint8_t dst_mac[6];
	bool on_link; /* dst_mac is the backend's own */
};

/*
 * NULL: unknown. The next hop's MAC address is never seen half; while the interface changes with
 * it a packet may take the old way once more. While VLAN tags change, packets are refused
 * (no_neighbor): none goes into a VLAN with the MAC address of another. The tunnel's end must be
 * set.
 */
void dp_tables_set_nexthop(struct abi_backend *backend, const struct dp_nexthop *hop);
/* Writes the tunnel's end and what follows from it. */
void dp_tables_set_tunnel(struct abi_backend *backend, const struct addr *addr);
