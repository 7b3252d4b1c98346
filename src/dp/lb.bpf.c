/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The XDP program of the balancer: the maps, and what dp/forward.h asks of its world. The maps
 * are the tables of dp/abi.h, mappable, so that the daemon writes them as plain memory. Nothing
 * is decided here.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "dp/abi.h"
#include "dp/abi_capture.h"
#include "dp/abi_steer.h"
#include "dp/verdict.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Bits, set before load: what is off is not there. */
const volatile enum abi_feature features = ABI_HAS_ALL;

struct abi_node this_node SEC(".data.node");
struct abi_trace last_trace SEC(".data.trace");

#define TABLE(name, record, entries)               \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);  \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, entries);      \
		__type(key, __u32);                \
		__type(value, record);             \
	} name SEC(".maps")

TABLE(vips, struct abi_vip, ABI_VIPS + ABI_VIP_RANGES);
TABLE(services, struct abi_service, ABI_SERVICES);
TABLE(backends, struct abi_backend, ABI_BACKENDS);
TABLE(slots, __u64, ABI_SLOTS);
TABLE(servers, struct abi_server, ABI_SERVERS);
TABLE(flows, struct abi_bucket, ABI_FLOWS_DEFAULT / ABI_BUCKET_FLOWS);

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ABI_PREFIXES);
	__type(key, struct abi_prefix);
	__type(value, __u32);
} prefixes SEC(".maps");

/* Frames for the daemon, each behind an abi_slow. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} slow SEC(".maps");

#define COUNTERS(name, record, entries)                  \
	struct {                                         \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); \
		__uint(max_entries, entries);            \
		__type(key, __u32);                      \
		__type(value, record);                   \
	} name SEC(".maps")

/* What was done in the current tick, of what is limited. */
struct window {
	__u32 tick;
	__u32 done;
};
enum { WINDOW_INSERT, WINDOW_PIN, WINDOW_REPLY, WINDOW_SLOW, WINDOWS };

COUNTERS(verdict_counts, struct abi_count, VERDICT_COUNT);
COUNTERS(service_counts, struct abi_count, ABI_SERVICES);
COUNTERS(backend_counts, struct abi_count, ABI_BACKENDS);
COUNTERS(event_counts, __u64, ABI_EVENTS);
COUNTERS(windows, struct window, WINDOWS);
COUNTERS(rates, __u64, ABI_SERVICES);

/* The time, and at which of the kernel's ticks it was asked. */
struct clock {
	__u64 ticks;
	__u64 ns;
};
COUNTERS(clocks, struct clock, 1);

static __always_inline void *at(void *map, __u32 index)
{
	return bpf_map_lookup_elem(map, &index);
}

#define env_node()     (&this_node)
#define env_vip(i)     ((struct abi_vip *)at(&vips, i))
#define env_service(i) ((struct abi_service *)at(&services, i))
#define env_backend(i) ((struct abi_backend *)at(&backends, i))
#define env_slot(i)    ((__u64 *)at(&slots, i))
#define env_bucket(i)  ((struct abi_bucket *)at(&flows, i))
#define env_server(i)  ((struct abi_server *)at(&servers, i))
#define env_rate(i)    ((__u64 *)at(&rates, i))
#define env_has(what)  ((features & (what)) != 0)

static __always_inline __u32 env_prefix(__u32 list, __u8 version, const struct pkt_addr *addr)
{
	struct abi_prefix key = {160, abi_prefix_table(list, version == 4), *addr};
	__u32 *value = bpf_map_lookup_elem(&prefixes, &key);

	return value ? *value : 0;
}

/*
 * The kernel's coarse clock goes on with its ticks, and nobody else needs to ask it: two calls, and
 * a return is dear where processors are guarded against forged ones. A core's own.
 */
static __always_inline __u64 now_ns(void)
{
	struct clock *clock = at(&clocks, 0);
	__u64 ticks = bpf_jiffies64();

	if (!clock)
		return 0;
	if (clock->ticks != ticks) {
		clock->ticks = ticks;
		clock->ns = bpf_ktime_get_coarse_ns();
	}
	return clock->ns;
}

static __always_inline __u64 env_now_ns(void)
{
	return env_has(ABI_HAS_TRACE) ? this_node.clock_ns : now_ns();
}

static __always_inline int env_swap(__u64 *to, __u64 old, __u64 new)
{
	return __sync_val_compare_and_swap(to, old, new) == old;
}

/* An exchange is a full barrier in BPF; a plain store is none. */
static __always_inline void env_store(__u64 *to, __u64 value)
{
	__sync_lock_test_and_set(to, value);
}

/* A core's own record, and XDP does not interrupt XDP on a core: plain additions do. */
static __always_inline int may(__u32 what, __u32 limit, __u32 tick)
{
	struct window *window = at(&windows, what);

	if (!window)
		return 0;
	if (window->tick != tick) {
		window->tick = tick;
		window->done = 0;
	}
	if (window->done >= limit)
		return 0;
	window->done++;
	return 1;
}

#define env_may_insert(limit, tick) may(WINDOW_INSERT, limit, tick)
#define env_may_pin(limit, tick)    may(WINDOW_PIN, limit, tick)
#define env_may_reply(limit, tick)  may(WINDOW_REPLY, limit, tick)
#define env_may_slow(limit, tick)   may(WINDOW_SLOW, limit, tick)

static __always_inline void env_event(enum abi_event event)
{
	__u64 *count = at(&event_counts, event);

	if (count)
		*count += 1;
}

static __always_inline void count(void *map, __u32 index, __u32 bytes)
{
	struct abi_count *record = at(map, index);

	if (record) {
		record->packets += 1;
		record->bytes += bytes;
	}
}

/* Fails where nobody reads: the reader's end takes its ring out of the map. */
static __always_inline int env_slow(struct xdp_md *ctx, struct abi_slow *record)
{
	return (int)bpf_perf_event_output(ctx, &slow,
					  BPF_F_CURRENT_CPU | (__u64)record->length << 32, record,
					  sizeof(*record));
}

struct pkt;
static __always_inline void env_count(const struct pkt *pkt, __u32 verdict);
static __always_inline void env_trace(const struct pkt *pkt, __u32 verdict);

#include "dp/forward.h"

static __always_inline void env_count(const struct pkt *pkt, __u32 verdict)
{
	count(&verdict_counts, verdict, pkt->frame_length);
	if (pkt->service)
		count(&service_counts, pkt->service, pkt->frame_length);
	if (verdict == VERDICT_FORWARDED || verdict == VERDICT_REDIRECTED)
		count(&backend_counts, pkt->backend, pkt->frame_length);
}

static __always_inline void env_trace(const struct pkt *pkt, __u32 verdict)
{
	last_trace.verdict = verdict;
	last_trace.why = pkt->why;
	last_trace.service = pkt->service;
	last_trace.backend = pkt->backend;
	last_trace.slot = pkt->slot - pkt->table_first;
}

/* Not static: libbpf places only global symbols in read-only data. */
const __u8 verdict_actions[VERDICT_COUNT] = {
#define ACTION(name, action, help) XDP_##action,
	VERDICTS(ACTION)
#undef ACTION
};

/* --- the capturing program --- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_capture_filter);
} capture_filter SEC(".maps");

/* A frame as it came, until it is known what became of it. A core's own. */
struct held {
	struct abi_capture record;
	__u8 bytes[ABI_CAPTURE_BYTES];
};

COUNTERS(capture_held, struct held, 1);
COUNTERS(capture_counts, struct abi_capture_counts, 1);

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} capture_ring SEC(".maps");

/* May this core tell of one more packet? */
static __always_inline int capture_may(const struct abi_capture_filter *filter,
				       const struct abi_capture_counts *counts, __u64 now)
{
	return counts->captured < filter->limit &&
	       counts->next_ns <= now + ABI_CAPTURE_BURST * filter->gap_ns;
}

/* Keeps the frame as it is before anything is done to it; `captured` is 0 where it does not. */
PKT_STAGE int capture_hold(struct xdp_md *ctx)
{
	struct abi_capture_filter *filter = at(&capture_filter, 0);
	struct held *held = at(&capture_held, 0);
	__u64 length, now;

	if (!filter || !held)
		return 0;
	held->record.captured = 0;
	now = bpf_ktime_get_ns();
	if (now >= filter->end_ns)
		return 0;
	length = (__u64)pkt_data_end(ctx) - (__u64)pkt_data(ctx);
	held->record.time_ns = now;
	held->record.length = (__u32)length;
	held->record.ifindex = ctx->ingress_ifindex;
	if (length > filter->snaplen)
		length = filter->snaplen;
	/* Apart: 6.1's verifier sees no lower bound where the compiler has made one of two. */
	pkt_hide(length);
	if (length > ABI_CAPTURE_BYTES)
		return 0;
	pkt_hide(length);
	if (length < ABI_CAPTURE_LEAST)
		return 0;
	if (!bpf_xdp_load_bytes(ctx, 0, held->bytes, (__u32)length))
		held->record.captured = (__u32)length;
	return 0;
}

static __always_inline int capture_addr_fits(const struct pkt_addr *wanted,
					     const struct pkt_addr *addr)
{
	return !(wanted->half[0] | wanted->half[1]) || pkt_addr_equal(wanted, addr);
}

/* Ports of what is no VIP's are not known here: whoever reads the ring looks at them again. */
static __always_inline int capture_fits(const struct abi_capture_filter *filter,
					const struct pkt *pkt, __u32 verdict)
{
	if (verdict >= VERDICT_COUNT || !(filter->verdicts >> verdict & 1))
		return 0;
	if (filter->service && filter->service != pkt->service)
		return 0;
	if (filter->proto && filter->proto != pkt->proto)
		return 0;
	if (!capture_addr_fits(&filter->src, &pkt->src) ||
	    !capture_addr_fits(&filter->dst, &pkt->dst))
		return 0;
	if (!pkt->sport && !pkt->dport)
		return 1;
	return (!filter->sport || filter->sport == pkt->sport) &&
	       (!filter->dport || filter->dport == pkt->dport);
}

/* The frame as it leaves. */
static __always_inline int capture_tell_out(struct xdp_md *ctx, const struct held *held,
					    const struct pkt *pkt, __u32 snaplen)
{
	struct abi_backend *backend = env_backend(pkt->backend);
	struct abi_capture record = held->record;
	__u64 length = (__u64)pkt_data_end(ctx) - (__u64)pkt_data(ctx);

	record.way = ABI_CAPTURE_OUT;
	record.length = (__u32)length;
	record.captured = (__u32)(length < snaplen ? length : snaplen);
	if (record.verdict == VERDICT_REDIRECTED && backend)
		record.ifindex = backend->ifindex;
	return (int)bpf_perf_event_output(ctx, &capture_ring,
					  BPF_F_CURRENT_CPU | (__u64)record.captured << 32, &record,
					  sizeof(record));
}

/* Tells of the frame that is kept, and of what it has become. */
PKT_STAGE int capture_tell(struct xdp_md *ctx, struct pkt *pkt, int verdict)
{
	struct abi_capture_counts *counts = at(&capture_counts, 0);
	struct abi_capture_filter *filter = at(&capture_filter, 0);
	struct held *held = at(&capture_held, 0);
	__u64 captured;
	__u32 action;

	if (!pkt || !ctx || !filter || !counts || !held || !held->record.captured ||
	    !capture_fits(filter, pkt, verdict))
		return 0;
	if (!capture_may(filter, counts, held->record.time_ns)) {
		counts->limited++;
		return 0;
	}
	if (counts->next_ns < held->record.time_ns)
		counts->next_ns = held->record.time_ns;
	counts->next_ns += filter->gap_ns;
	counts->captured++;
	held->record.service = pkt->service;
	held->record.backend = pkt->backend;
	held->record.slot = pkt->slot - pkt->table_first;
	held->record.way = ABI_CAPTURE_IN;
	held->record.verdict = (__u8)verdict;
	held->record.why = pkt->why;
	captured = held->record.captured;
	pkt_hide(captured);
	if (captured > ABI_CAPTURE_BYTES)
		return 0;
	if (bpf_perf_event_output(ctx, &capture_ring, BPF_F_CURRENT_CPU, held,
				  sizeof(held->record) + captured))
		counts->lost++;
	action = (__u32)verdict < VERDICT_COUNT ? verdict_actions[verdict] : XDP_ABORTED;
	if ((action == XDP_TX || action == XDP_REDIRECT) &&
	    capture_tell_out(ctx, held, pkt, filter->snaplen))
		counts->lost++;
	return 0;
}

SEC("xdp")
int weir_lb(struct xdp_md *ctx)
{
	struct abi_backend *backend;
	struct pkt pkt = {};
	int verdict = forward(ctx, &pkt);

	if (verdict == VERDICT_REDIRECTED) {
		backend = env_backend(pkt.backend);
		return backend ? bpf_redirect(backend->ifindex, 0) : XDP_ABORTED;
	}
	return (__u32)verdict < VERDICT_COUNT ? verdict_actions[verdict] : XDP_ABORTED;
}

/*
 * The same, loaded with its maps only while somebody captures; then it stands in the other's
 * place, which has nothing of it.
 */
SEC("xdp")
int weir_capture(struct xdp_md *ctx)
{
	struct abi_backend *backend;
	struct pkt pkt = {};
	int verdict;

	capture_hold(ctx);
	verdict = forward(ctx, &pkt);
	capture_tell(ctx, &pkt, verdict);
	if (verdict == VERDICT_REDIRECTED) {
		backend = env_backend(pkt.backend);
		return backend ? bpf_redirect(backend->ifindex, 0) : XDP_ABORTED;
	}
	return (__u32)verdict < VERDICT_COUNT ? verdict_actions[verdict] : XDP_ABORTED;
}

/* --- the program that gives what is plain to the workers --- */

TABLE(steering, struct abi_steer, 1);

/* By worker. A socket that is closed, by the end of its process too, has left it. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, ABI_STEER_WORKERS);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

#include "dp/steer.h"

/* The worker whose packet it is, -1: the kernel's own. */
PKT_STAGE int steer(struct xdp_md *ctx)
{
	struct abi_steer *steering_now = at(&steering, 0);
	struct abi_steer_ring *ring;
	int worker;

	if (!steering_now || !steer_is_plain(ctx, steering_now))
		return -1;
	worker = steer_worker(steering_now, ctx->ingress_ifindex, ctx->rx_queue_index);
	if (worker < 0)
		return -1;
	ring = &steering_now->rings[worker & (ABI_STEER_WORKERS - 1)];
	return steer_gives(ring, (__u32)(now_ns() >> 20)) ? worker : -1;
}

/* Loaded with its maps where the engine is af_xdp. Where no socket is, this is the engine. */
SEC("xdp")
int weir_steer(struct xdp_md *ctx)
{
	struct abi_backend *backend;
	struct pkt pkt = {};
	int verdict, worker = steer(ctx);

	if (worker >= 0 && bpf_redirect_map(&sockets, (__u32)worker, 0) == XDP_REDIRECT)
		return XDP_REDIRECT;
	verdict = forward(ctx, &pkt);
	if (verdict == VERDICT_REDIRECTED) {
		backend = env_backend(pkt.backend);
		return backend ? bpf_redirect(backend->ifindex, 0) : XDP_ABORTED;
	}
	return (__u32)verdict < VERDICT_COUNT ? verdict_actions[verdict] : XDP_ABORTED;
}
