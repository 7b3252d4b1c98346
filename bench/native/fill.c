/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking flows up, in Weir's table and in a Robin Hood one of the same size, as full as the row
 * says. Both are asked for the same hashes, so what a hash costs is in neither; each look-up begins
 * when the one before it is done, as a packet has other things to do in between. Tables are larger
 * than the caches unless the row says otherwise, and of ordinary pages.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/native/native.h"
#include "bench/native/robin.h"
#include "bench/native/world.h"
#include "bench/setting.h"

enum {
	SMALL_ENTRIES = 16 * 1024,
	SLOT = 5,
	BACKEND = 1,
	ASKED = 256 * 1024, /* hashes to ask for, at most; a power of two */
	FILLS_MAX = 8,
	SAMPLE = 8192,
};

struct fill {
	uint32_t entries, percent;
	struct abi_node node;
	struct dp_tables tables;
	struct robin robin;
	double lost;
	uint64_t *hits, *misses;
	uint32_t asked; /* a power of two */
	uint32_t at[4]; /* of each row, the next to ask for */
};

static struct fill fills[FILLS_MAX];
static size_t fill_count;
static uint32_t usual_entries = 1024 * 1024;

/* Nothing after it begins before what is read before it is there. */
static inline void wait_for_loads(void)
{
#if defined(__x86_64__)
	__asm__ volatile("lfence" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dsb ld\n\tisb" : : : "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

void fill_set_size(uint32_t entries)
{
	usual_entries = entries;
}

/* SplitMix64: the n-th hash. */
static uint64_t nth(uint64_t n)
{
	return pkt_hash_end(n * 0x9e3779b97f4a7c15ULL);
}

static void *zeroed(size_t size)
{
	void *memory = aligned_alloc(4096, size);

	if (!memory)
		bench_die("a flow table", ENOMEM);
	return memset(memory, 0, size);
}

static inline uint64_t find(const struct abi_node *node, uint64_t hash)
{
	struct flow flow = {.slot = SLOT};

	flow_prepare_hash(&flow, node, hash, env_now_ns());
	entry_look_both(&flow);
	return flow.pin;
}

/* Whether it has taken no other flow's place. */
static bool insert(const struct abi_node *node, uint64_t hash)
{
	uint64_t evicted = world.events[ABI_EVENT_FLOW_EVICTED];
	struct flow flow = {.slot = SLOT};

	flow_prepare_hash(&flow, node, hash, env_now_ns());
	if (!entry_find_place(&flow, 0) || !entry_write(&flow, BACKEND, FLOW_ESTABLISHED))
		bench_die("an entry", EINVAL);
	return world.events[ABI_EVENT_FLOW_EVICTED] == evicted;
}

/* As many flows as make it that full; of those that are still there some are asked for. */
static void fill_up(struct fill *fill)
{
	uint64_t wanted = (uint64_t)fill->entries * fill->percent / 100, n = 0;

	for (uint64_t there = 0; there < wanted; n++)
		there += insert(&fill->node, nth(n));
	for (uint64_t i = 0; i < wanted; i++)
		robin_insert(&fill->robin, nth(i), 1);
	fill->lost = 100.0 * (double)(n - wanted) / (double)n;
	fill->asked = ASKED;
	while (fill->asked > wanted / 2)
		fill->asked /= 2;
	fill->hits = zeroed(fill->asked * sizeof(*fill->hits));
	fill->misses = zeroed(fill->asked * sizeof(*fill->misses));
	for (uint64_t i = 0, found = 0; found < fill->asked; i++) {
		/* The Robin Hood table has the first ones alone. */
		if (i == wanted)
			bench_die("flows to ask for", ENOENT);
		if (find(&fill->node, nth(i)))
			fill->hits[found++] = nth(i);
	}
	for (uint64_t i = 0; i < fill->asked; i++)
		fill->misses[i] = nth(n + i);
}

static struct fill *fill_of(uint32_t entries, uint32_t percent)
{
	struct fill *fill = fills;

	while (fill->entries && (fill->entries != entries || fill->percent != percent))
		fill++;
	if (!fill->entries) {
		fill_count++;
		fill->entries = entries;
		fill->percent = percent;
		fill->tables = *path_tables();
		fill->node = *fill->tables.node;
		fill->node.flow_buckets_mask = entries / ABI_BUCKET_FLOWS - 1;
		fill->tables.node = &fill->node;
		fill->tables.flow_buckets = entries / ABI_BUCKET_FLOWS;
		fill->tables.flows = zeroed(entries * sizeof(struct abi_flow));
		fill->robin.entries = zeroed(entries * sizeof(struct robin_entry));
		fill->robin.mask = entries - 1;
		world.tables = &fill->tables;
		fill_up(fill);
	}
	return fill;
}

double fill_lost(uint32_t percent)
{
	return fill_of(usual_entries, percent)->lost;
}

static void *prepare(const struct native_row *row)
{
	return fill_of(row->setting ? SMALL_ENTRIES : usual_entries, row->fill);
}

enum which { OURS_HIT, OURS_MISS, ROBIN_HIT, ROBIN_MISS };

/* Looks for so many of `asked`, each once the one before is known. */
#define LOOK(name, which, list, look)                                       \
	static void name(void *data, uint32_t count)                        \
	{                                                                   \
		struct fill *fill = data;                                   \
		uint32_t at = fill->at[which];                              \
                                                                            \
		world.tables = &fill->tables;                               \
		for (uint32_t i = 0; i < count; i++, at++) {                \
			uint64_t hash = fill->list[at & (fill->asked - 1)]; \
                                                                            \
			keep(look);                                         \
			wait_for_loads();                                   \
		}                                                           \
		fill->at[which] = at;                                       \
	}
LOOK(run_hit, OURS_HIT, hits, find(&fill->node, hash))
LOOK(run_miss, OURS_MISS, misses, find(&fill->node, hash))
LOOK(run_robin_hit, ROBIN_HIT, hits, robin_find(&fill->robin, hash))
LOOK(run_robin_miss, ROBIN_MISS, misses, robin_find(&fill->robin, hash))

#define ROW(row_name, to, function, percent, small, use)                           \
	{                                                                          \
		.name = row_name, .base = to, .prepare = prepare, .run = function, \
		.fill = percent, .setting = small, .count = SAMPLE, .when = use    \
	}
#define BOTH(title, theirs, function, other, percent, small)    \
	ROW(theirs, NULL, other, percent, small, NATIVE_TIMED), \
		ROW(title, theirs, function, percent, small, NATIVE_BOTH)
#define ROWS(title, percent, small)                                                             \
	BOTH(title ", hit", title ", robin hood, hit", run_hit, run_robin_hit, percent, small), \
		BOTH(title ", miss", title ", robin hood, miss", run_miss, run_robin_miss,      \
		     percent, small)

const struct native_row fill_rows[] = {
	ROWS("flow table 15 % full", 15, NULL),
	ROWS("flow table 70 % full", 70, NULL),
	ROWS("flow table 90 % full", 90, NULL),
	ROWS("flow table 95 % full", 95, NULL),
	ROWS("flow table in the cache, 70 % full", 70, "small"),
	{0},
};
