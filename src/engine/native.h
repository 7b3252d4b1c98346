/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packet path compiled natively, over tables in plain memory: what tests, fuzzers, `weir trace`
 * and AF_XDP workers (xsk/) run. The same decisions as the XDP program, byte for byte. One thread
 * an engine.
 */
#pragma once

#include "dp/verdict.h"
#include "engine/tables.h"

struct native;
struct pkt;

/* Flow entries are rounded up to a power of two of buckets. 0, -EINVAL or -ENOMEM. */
int native_new(uint32_t flow_entries, struct native **ret);
void native_free(struct native *native);
/* What the XDP program would be loaded with (enum abi_feature); all of it at first. */
void native_set_features(struct native *native, uint32_t features);
struct dp_tables *native_tables(struct native *native);

/*
 * Runs one frame at `now_ns` (any clock that does not go back). `frame` has room for `capacity`
 * bytes, of which at least NATIVE_HEADROOM must be beyond `length`; on return it holds the frame
 * as it leaves. Result as of the XDP program.
 */
enum { NATIVE_HEADROOM = 128 };
int native_run(struct native *native, uint8_t *frame, size_t length, size_t capacity,
	       uint64_t now_ns, struct dp_result *ret);
struct pkt_ctx;
/*
 * The same in place, for a frame that has NATIVE_HEADROOM in front of it, from ctx->head on: where
 * it begins and ends afterwards is ctx's. `now_ns` is CLOCK_MONOTONIC's, as the kernel's program
 * has it where both write the same flows. *ret_backend is a record, 0: none.
 */
enum verdict native_forward(struct native *native, struct pkt_ctx *ctx, uint64_t now_ns,
			    uint32_t *ret_backend);
/* Would the kernel's program give the frame to a worker (dp/steer.h)? */
struct abi_steer;
bool native_is_steered(struct native *native, const struct pkt_ctx *ctx,
		       const struct abi_steer *steer);
/*
 * The step in which a packet gets its backend, alone, for a packet that needs no frame: `pkt` is
 * as parsed (pkt/parse.h), with its service, zero beyond. Returns pkt->backend, 0: none;
 * *ret_second is whom its tunnel would name beside that one, 0: nobody.
 */
uint32_t native_choose(struct native *native, struct pkt *pkt, uint64_t now_ns,
		       uint32_t *ret_second);
/*
 * The last frame that the daemon would have been given (verdict too_big_split): what goes before
 * it, and the frame.
 */
enum { NATIVE_SLOW_MAX = 65535 + 14 };
const struct abi_slow *native_slow(const struct native *native, const uint8_t **ret_frame);

/*
 * An engine over another's tables, which must outlive it. It finds no prefixes until it is told
 * how (native_set_prefixes).
 */
int native_borrow(const struct dp_tables *tables, struct native **ret);

/*
 * An engine over tables that others write, and that it changes nothing in: its node's clock, its
 * flows and its counters are its own. Prefixes are found by `find`: a table's (abi_prefix_table)
 * longest prefix that holds the address; 0: none.
 */
typedef uint32_t native_find_prefix(const void *arg, uint32_t table, const struct pkt_addr *addr);
int native_watch(const struct dp_tables *tables, native_find_prefix *find, const void *arg,
		 struct native **ret);
void native_set_prefixes(struct native *native, native_find_prefix *find, const void *arg);
/* The interface where frames come in; 1 if not said. */
void native_set_ingress(struct native *native, uint32_t ifindex);
/* The time up to which a service's rate is used up (choose/special.h). */
void native_set_rate(struct native *native, uint32_t service, uint64_t value);
enum { NATIVE_BURST_NS = 100 * 1000 * 1000 };

/* What the last run knew of its packet in the end; a pointer into the engine. */
const struct pkt *native_packet(const struct native *native);
/* The VIP that a packet is for; NULL: none. */
const struct abi_vip *native_vip(struct native *native, const struct pkt *pkt);
/* What a service's access list says of the packet's source: enum abi_access; 0: nothing. */
uint32_t native_access(struct native *native, const struct pkt *pkt);
/* The hash that gave the packet its slot, where its policy is of the tuple. */
uint64_t native_policy_hash(struct native *native, const struct pkt *pkt);
/*
 * The entry that the packet's flow had before the last run, for an engine of native_watch. Returns
 * whether it decides for the packet; ret->pin is 0 where there is none.
 */
struct flow;
bool native_flow(struct native *native, const struct pkt *pkt, struct flow *ret);

/* A frame amid a buffer. */
struct native_frame {
	uint8_t *buffer;
	size_t at; /* NATIVE_HEADROOM at least before it is wrapped */
	size_t length;
};

/*
 * Wraps an Ethernet frame with an IP packet, or a piece of one, as the packet path would for what
 * `slow` names, VLAN tags included; the frame leaves at the backend record's interface. 0,
 * -EINVAL: no IP packet; -ENETUNREACH: the backend is gone, has no next hop, or the packet does
 * not fit.
 */
int native_wrap(struct native *native, const struct abi_slow *slow, struct native_frame *frame);

/*
 * What an engine counts, in memory of its own until another is said; plain additions by the
 * engine's thread, so another thread may read a word (with an atomic load), and writes none while
 * the engine runs. Its size and order are pinned by AF_XDP workers (xsk/counts.h).
 */
struct native_counts {
	struct abi_count verdicts[VERDICT_COUNT];
	struct abi_count services[ABI_SERVICES];
	struct abi_count backends[ABI_BACKENDS];
	uint64_t events[ABI_EVENTS];
};
void native_set_counts(struct native *native, struct native_counts *counts);

/* Counters since native_new. */
struct abi_count native_verdict_count(const struct native *native, uint32_t verdict);
struct abi_count native_service_count(const struct native *native, uint32_t service);
struct abi_count native_backend_count(const struct native *native, uint32_t backend);
uint64_t native_event_count(const struct native *native, enum abi_event event);
