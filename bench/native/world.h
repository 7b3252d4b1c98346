/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packet path over plain arrays, for benchmarks to take apart: what dp/forward.h asks for, with
 * every feature there, no limits, and no more than that. engine/native.c does the same for those
 * who want whole frames run; here a part of the way can be called alone. Each file that includes it
 * has a world of its own, over the tables that it sets.
 */
#pragma once

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#include "dp/abi.h"
#include "dp/verdict.h"
#include "engine/tables.h"
#include "pkt/parse.h"

static struct {
	const struct dp_tables *tables;
	struct abi_count verdicts[VERDICT_COUNT];
	struct abi_count services[ABI_SERVICES];
	struct abi_count backends[ABI_BACKENDS];
	uint64_t events[ABI_EVENTS];
	uint64_t rate;
} world;

static inline struct abi_node *env_node(void)
{
	return world.tables->node;
}

static inline struct abi_vip *env_vip(uint32_t index)
{
	return index < ABI_VIPS + ABI_VIP_RANGES ? &world.tables->vips[index] : NULL;
}

static inline struct abi_service *env_service(uint32_t index)
{
	return index < ABI_SERVICES ? &world.tables->services[index] : NULL;
}

static inline struct abi_backend *env_backend(uint32_t index)
{
	return index < ABI_BACKENDS ? &world.tables->backends[index] : NULL;
}

static inline __u64 *env_slot(uint32_t index)
{
	return index < ABI_SLOTS ? (__u64 *)&world.tables->slots[index] : NULL;
}

static inline struct abi_bucket *env_bucket(uint32_t index)
{
	return index < world.tables->flow_buckets ? &world.tables->flows[index] : NULL;
}

static inline struct abi_server *env_server(uint32_t index)
{
	return index < ABI_SERVERS ? &world.tables->servers[index] : NULL;
}

static inline __u64 *env_rate(uint32_t service)
{
	(void)service;
	return (__u64 *)&world.rate;
}

static inline uint32_t env_prefix(uint32_t list, uint8_t version, const struct pkt_addr *addr)
{
	(void)list, (void)version, (void)addr;
	return 0;
}

static inline uint64_t env_now_ns(void)
{
	return world.tables->node->clock_ns;
}

static inline int env_swap(__u64 *at, __u64 old, __u64 new)
{
	return __atomic_compare_exchange_n(at, &old, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline void env_store(__u64 *at, __u64 value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static inline int env_slow(const struct pkt_ctx *ctx, const struct abi_slow *record)
{
	(void)ctx, (void)record;
	return -1;
}

#define env_has(what)               ((ABI_HAS_ALL & (int)(what)) != 0)
#define env_may_insert(limit, tick) ((void)(limit), (void)(tick), 1)
#define env_may_pin(limit, tick)    ((void)(limit), (void)(tick), 1)
#define env_may_reply(limit, tick)  ((void)(limit), (void)(tick), 1)
#define env_may_slow(limit, tick)   ((void)(limit), (void)(tick), 1)
#define env_event(event)            (world.events[event]++)
#define env_trace(pkt, verdict)     ((void)(pkt), (void)(verdict))

static inline void env_count(const struct pkt *pkt, uint32_t verdict)
{
	struct abi_count *counts[] = {&world.verdicts[verdict], &world.services[pkt->service],
				      &world.backends[pkt->backend]};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		counts[i]->packets++;
		counts[i]->bytes += pkt->frame_length;
	}
}

#include "dp/forward.h"

/* The compiler may not leave out what makes a value, nor what was written to memory. */
static inline void keep(uint64_t value)
{
	__asm__ volatile("" : : "r"(value) : "memory");
}
