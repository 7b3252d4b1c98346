/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/native.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "dp/verdict.h"
#include "engine/live/own_flows.h"
#include "engine/prefixes.h"
#include "pkt/parse.h"

enum { INGRESS = 1 }; /* as BPF_PROG_TEST_RUN: the loopback's index */

struct native {
	struct dp_tables tables;
	struct abi_trace trace;
	struct native_counts *counts; /* own_counts, or another's memory */
	uint64_t now_ns;
	uint32_t features;
	struct window {
		uint32_t tick;
		uint32_t done;
	} inserts, pins, replies, slows; /* in the current tick */
	uint64_t rates[ABI_SERVICES];
	struct prefixes *prefixes;
	struct abi_slow slow; /* the last frame for the daemon */
	uint8_t slow_frame[NATIVE_SLOW_MAX];
	bool borrowed; /* the tables are another's */
	/* Of one that watches: */
	struct abi_node node; /* as it was when the last run began, with its clock */
	const struct abi_node *others_node;
	struct own_flows *flows;
	bool looks_back; /* flows are those before the last run */
	native_find_prefix *find_prefix;
	const void *find_arg;
	uint32_t ingress;
	struct pkt pkt; /* of the last run */
	struct native_counts own_counts;
};

/* The engine that runs: forward.h asks for its world without a handle, as in BPF. */
static _Thread_local struct native *world;

static struct abi_node *env_node(void)
{
	return world->tables.node;
}

static struct abi_vip *env_vip(uint32_t index)
{
	return index < ABI_VIPS + ABI_VIP_RANGES ? &world->tables.vips[index] : NULL;
}

static struct abi_service *env_service(uint32_t index)
{
	return index < ABI_SERVICES ? &world->tables.services[index] : NULL;
}

static struct abi_backend *env_backend(uint32_t index)
{
	return index < ABI_BACKENDS ? &world->tables.backends[index] : NULL;
}

static uint64_t *env_slot_at(uint32_t index)
{
	return index < ABI_SLOTS ? &world->tables.slots[index] : NULL;
}
#define env_slot(index) ((__u64 *)env_slot_at(index))

static struct abi_bucket *env_bucket(uint32_t index)
{
	if (world->flows)
		return world->looks_back ? own_flows_before(world->flows, index)
					 : own_flows_bucket(world->flows, index);
	return index < world->tables.flow_buckets ? &world->tables.flows[index] : NULL;
}

static struct abi_server *env_server(uint32_t index)
{
	return index < ABI_SERVERS ? &world->tables.servers[index] : NULL;
}

static __u64 *env_rate_of(uint32_t service)
{
	return service < ABI_SERVICES ? (__u64 *)&world->rates[service] : NULL;
}
#define env_rate(service) env_rate_of(service)
#define env_has(what)     ((world->features & (uint32_t)(what)) != 0)

static uint32_t env_prefix(uint32_t list, uint8_t version, const struct pkt_addr *addr)
{
	uint32_t table = abi_prefix_table(list, version == 4);

	if (world->find_prefix)
		return world->find_prefix(world->find_arg, table, addr);
	return prefixes_find(world->prefixes, table, addr);
}

static uint64_t env_now_ns(void)
{
	return world->now_ns;
}

static int env_swap(__u64 *at, __u64 old, __u64 new)
{
	return __atomic_compare_exchange_n(at, &old, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void env_store(__u64 *at, __u64 value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static int may(struct window *window, uint32_t limit, uint32_t tick)
{
	if (window->tick != tick) {
		window->tick = tick;
		window->done = 0;
	}
	if (window->done >= limit)
		return 0;
	window->done++;
	return 1;
}

#define env_may_insert(limit, tick) may(&world->inserts, limit, tick)
#define env_may_pin(limit, tick)    may(&world->pins, limit, tick)
#define env_may_reply(limit, tick)  may(&world->replies, limit, tick)
#define env_may_slow(limit, tick)   may(&world->slows, limit, tick)

static void env_event(enum abi_event event)
{
	world->counts->events[event]++;
}

static int env_slow(const struct pkt_ctx *ctx, const struct abi_slow *record)
{
	if (record->length > sizeof(world->slow_frame))
		return -1;
	world->slow = *record;
	memcpy(world->slow_frame, ctx->data, record->length);
	return 0;
}

static void env_count(const struct pkt *pkt, uint32_t verdict);
static void env_trace(const struct pkt *pkt, uint32_t verdict);

#include "dp/forward.h"
#include "dp/steer.h"

static void count(struct abi_count *record, uint32_t bytes)
{
	record->packets++;
	record->bytes += bytes;
}

static void env_count(const struct pkt *pkt, uint32_t verdict)
{
	struct native_counts *counts = world->counts;

	count(&counts->verdicts[verdict], pkt->frame_length);
	if (pkt->service)
		count(&counts->services[pkt->service], pkt->frame_length);
	if (verdict == VERDICT_FORWARDED || verdict == VERDICT_REDIRECTED)
		count(&counts->backends[pkt->backend], pkt->frame_length);
}

static void env_trace(const struct pkt *pkt, uint32_t verdict)
{
	world->trace = (struct abi_trace){
		.verdict = verdict,
		.why = pkt->why,
		.service = pkt->service,
		.backend = pkt->backend,
		.slot = pkt->slot - pkt->table_first,
	};
	world->pkt = *pkt;
}

static void *zeroed(size_t count, size_t size)
{
	void *memory = NULL;

	if (posix_memalign(&memory, 64, count * size))
		return NULL;
	return memset(memory, 0, count * size);
}

int native_borrow(const struct dp_tables *tables, struct native **ret)
{
	struct native *native = calloc(1, sizeof(*native));

	if (!native)
		return -ENOMEM;
	native->tables = *tables;
	native->borrowed = true;
	native->counts = &native->own_counts;
	native->features = UINT32_MAX;
	*ret = native;
	return 0;
}

int native_watch(const struct dp_tables *tables, native_find_prefix *find, const void *arg,
		 struct native **ret)
{
	struct native *native;
	int error = native_borrow(tables, &native);

	if (error)
		return error;
	error = own_flows_new(tables->flows, tables->flow_buckets, &native->flows);
	if (error) {
		native_free(native);
		return error;
	}
	native->others_node = tables->node;
	native->tables.node = &native->node;
	native->node = *tables->node;
	native->features = tables->node->features | ABI_HAS_TRACE;
	native_set_prefixes(native, find, arg);
	*ret = native;
	return 0;
}

int native_new(uint32_t flow_entries, struct native **ret)
{
	uint32_t buckets = dp_flow_buckets(flow_entries);
	struct native *native;
	struct dp_tables *tables;

	if (!buckets)
		return -EINVAL;
	native = calloc(1, sizeof(*native));
	if (!native)
		return -ENOMEM;
	tables = &native->tables;
	tables->node = zeroed(1, sizeof(*tables->node));
	tables->vips = zeroed(ABI_VIPS + ABI_VIP_RANGES, sizeof(*tables->vips));
	tables->servers = zeroed(ABI_SERVERS, sizeof(*tables->servers));
	tables->services = zeroed(ABI_SERVICES, sizeof(*tables->services));
	tables->backends = zeroed(ABI_BACKENDS, sizeof(*tables->backends));
	tables->slots = zeroed(ABI_SLOTS, sizeof(*tables->slots));
	tables->flows = zeroed(buckets, sizeof(*tables->flows));
	tables->flow_buckets = buckets;
	if (!tables->node || !tables->vips || !tables->services || !tables->backends ||
	    !tables->slots || !tables->flows || !tables->servers ||
	    prefixes_new(&native->prefixes)) {
		native_free(native);
		return -ENOMEM;
	}
	tables->prefixes = native->prefixes;
	tables->set_prefix = prefixes_set;
	tables->list_prefixes = prefixes_list;
	tables->node->flow_buckets_mask = buckets - 1;
	native->counts = &native->own_counts;
	native->features = UINT32_MAX;
	*ret = native;
	return 0;
}

void native_free(struct native *native)
{
	if (!native)
		return;
	if (!native->borrowed) {
		free(native->tables.node);
		free(native->tables.vips);
		free(native->tables.services);
		free(native->tables.backends);
		free(native->tables.slots);
		free(native->tables.servers);
		free(native->tables.flows);
	}
	prefixes_free(native->prefixes);
	own_flows_free(native->flows);
	free(native);
}

void native_set_features(struct native *native, uint32_t features)
{
	native->features = features;
}

void native_set_prefixes(struct native *native, native_find_prefix *find, const void *arg)
{
	native->find_prefix = find;
	native->find_arg = arg;
}

void native_set_counts(struct native *native, struct native_counts *counts)
{
	native->counts = counts;
}

struct dp_tables *native_tables(struct native *native)
{
	return &native->tables;
}

/* Others write their own one while it runs. */
static void watch_begin(struct native *native)
{
	native->node = *native->others_node;
	own_flows_begin(native->flows);
}

enum verdict native_forward(struct native *native, struct pkt_ctx *ctx, uint64_t now_ns,
			    uint32_t *ret_backend)
{
	struct pkt pkt = {0};
	int verdict;

	world = native;
	native->now_ns = now_ns;
	verdict = forward(ctx, &pkt);
	*ret_backend = pkt.backend;
	return (enum verdict)verdict;
}

int native_run(struct native *native, uint8_t *frame, size_t length, size_t capacity,
	       uint64_t now_ns, struct dp_result *ret)
{
	static const uint32_t actions[VERDICT_COUNT] = {
#define ACTION(name, action, help) XDP_##action,
		VERDICTS(ACTION)
#undef ACTION
	};
	struct pkt_ctx ctx;
	uint32_t backend;

	if (capacity < length + NATIVE_HEADROOM)
		return -EINVAL;
	/* The frame is run at the end of its buffer, so that it has its headroom before it. */
	ctx.head = frame;
	ctx.data_end = frame + capacity;
	ctx.data = ctx.data_end - length;
	ctx.ingress_ifindex = native->ingress ? native->ingress : INGRESS;
	memmove(ctx.data, frame, length);
	if (native->flows)
		watch_begin(native);
	ret->action = actions[native_forward(native, &ctx, now_ns, &backend)];
	ret->length = (size_t)(ctx.data_end - ctx.data);
	ret->trace = native->trace;
	memmove(frame, ctx.data, ret->length);
	return 0;
}

/* --- what the last run knew --- */

_Static_assert((int)SPECIAL_BURST_NS == (int)NATIVE_BURST_NS, "the burst of choose/special.h");

void native_set_ingress(struct native *native, uint32_t ifindex)
{
	native->ingress = ifindex;
}

void native_set_rate(struct native *native, uint32_t service, uint64_t value)
{
	native->rates[service] = value;
}

const struct pkt *native_packet(const struct native *native)
{
	return &native->pkt;
}

const struct abi_vip *native_vip(struct native *native, const struct pkt *pkt)
{
	world = native;
	return find_vip(pkt);
}

uint32_t native_access(struct native *native, const struct pkt *pkt)
{
	world = native;
	return env_prefix(native->tables.services[pkt->service].access, pkt->version, &pkt->src);
}

uint64_t native_policy_hash(struct native *native, const struct pkt *pkt)
{
	const struct abi_service *service = &native->tables.services[pkt->service];

	world = native;
	return policy_is_tuple(service->policy) && service->flags & ABI_SERVICE_POLICY
		       ? policy_hash(service, pkt)
		       : pkt->hash;
}

bool native_is_steered(struct native *native, const struct pkt_ctx *ctx,
		       const struct abi_steer *steer)
{
	world = native;
	return steer_is_plain(ctx, steer);
}

bool native_flow(struct native *native, const struct pkt *pkt, struct flow *ret)
{
	bool holds;

	world = native;
	native->looks_back = true;
	holds = entry_find(&native->node, ret, pkt);
	native->looks_back = false;
	return holds;
}

/* As wrap_second decides it. */
static uint32_t second_of(struct pkt_ctx *ctx, struct pkt *pkt)
{
	if (pkt->mode != TUNNEL_GUE0 || !wrap_in_doubt(pkt) || !wrap_find_other(ctx, pkt))
		return 0;
	return pkt->other;
}

uint32_t native_choose(struct native *native, struct pkt *pkt, uint64_t now_ns,
		       uint32_t *ret_second)
{
	struct pkt_ctx ctx = {.ingress_ifindex = INGRESS};

	world = native;
	native->now_ns = now_ns;
	if (choose_backend(&ctx, pkt) != PKT_ON)
		pkt->backend = 0;
	*ret_second = pkt->backend ? second_of(&ctx, pkt) : 0;
	return pkt->backend;
}

const struct abi_slow *native_slow(const struct native *native, const uint8_t **ret_frame)
{
	*ret_frame = native->slow_frame;
	return &native->slow;
}

int native_wrap(struct native *native, const struct abi_slow *slow, struct native_frame *frame)
{
	struct pkt_ctx ctx = {
		.head = frame->buffer,
		.data = frame->buffer + frame->at,
		.data_end = frame->buffer + frame->at + frame->length,
		.ingress_ifindex = slow->ifindex,
	};
	struct pkt pkt = {
		.frame_length = (uint32_t)frame->length,
		.service = slow->service,
		.backend = slow->backend,
		.mode = slow->mode,
		.hash = slow->hash,
		.sport = slow->sport,
		.dport = slow->dport,
		.vlan = {slow->tags[0], slow->tags[1], (slow->tags[0] != 0) + (slow->tags[1] != 0)},
		.seldom = (slow->tags[0] ? PKT_SELDOM_TAGS : 0) |
			  (slow->hops ? PKT_SELDOM_HOPS : 0),
		.hops = slow->hops,
	};
	int verdict;

	if (slow->service >= ABI_SERVICES || slow->backend >= ABI_BACKENDS ||
	    pkt_parse_ip(&ctx, &pkt) != PKT_PARSED)
		return -EINVAL;
	world = native;
	verdict = wrap(&ctx, &pkt);
	if (verdict != VERDICT_FORWARDED && verdict != VERDICT_REDIRECTED)
		return -ENETUNREACH;
	/* Back go the tags that it came with, where a packet's would. */
	if (pkt.vlan.count && pkt_vlan_on(&ctx, &pkt.vlan))
		return -ENETUNREACH;
	frame->at = (size_t)(ctx.data - frame->buffer);
	frame->length = (size_t)(ctx.data_end - ctx.data);
	return 0;
}

struct abi_count native_verdict_count(const struct native *native, uint32_t verdict)
{
	return native->counts->verdicts[verdict];
}

struct abi_count native_service_count(const struct native *native, uint32_t service)
{
	return native->counts->services[service];
}

struct abi_count native_backend_count(const struct native *native, uint32_t backend)
{
	return native->counts->backends[backend];
}

uint64_t native_event_count(const struct native *native, enum abi_event event)
{
	return native->counts->events[event];
}
