/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A flow's entry does not hold all of the hash that says in which buckets it may stand: 12 bits of
 * it are lost (flow/flow.h). Where there are as many buckets as before it goes where it was. Else
 * each of the 4096 hashes that it can have is tried: those that agree with the bucket that it was
 * found in say where it may stand now. Mostly there is one; where there are more, it gets a place
 * for each, since an entry that no packet looks for does no harm, and is evicted as others are.
 */
#include "engine/carry/carry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/flow.h"

/* --- records --- */

static int refuse(struct err *err, const char *what, uint32_t count)
{
	return err_set(err, -ENOSPC, "the tables of before have more %s than the %u that fit now",
		       what, count);
}

static bool fits(uint64_t table)
{
	return (uint64_t)(uint32_t)table + (table >> 32) <= ABI_SLOTS;
}

static int check_fit(const struct carry_old *old, struct err *err)
{
	for (uint32_t i = ABI_SERVICES; i < old->service_count; i++) {
		if (old->services[i].identity)
			return refuse(err, "services", ABI_SERVICES);
	}
	for (uint32_t i = ABI_BACKENDS; i < old->backend_count; i++) {
		if (old->backends[i].identity)
			return refuse(err, "backends", ABI_BACKENDS);
	}
	for (uint32_t i = 1; i < old->service_count; i++) {
		if (!fits(old->services[i].table) || !fits(old->services[i].old_table))
			return refuse(err, "slots", ABI_SLOTS);
	}
	return 0;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

int carry_records(const struct carry_old *old, struct dp_tables *tables, struct err *err)
{
	uint32_t services = smaller(old->service_count, ABI_SERVICES);
	int error = check_fit(old, err);

	if (error)
		return error;
	*tables->node = *old->node;
	memcpy(tables->services, old->services, services * sizeof(*old->services));
	memcpy(tables->backends, old->backends,
	       smaller(old->backend_count, ABI_BACKENDS) * sizeof(*old->backends));
	memcpy(tables->slots, old->slots,
	       smaller(old->slot_count, ABI_SLOTS) * sizeof(*old->slots));
	for (uint32_t i = 0; i < services; i++) {
		tables->services[i].flags &= ~(uint32_t)ABI_SERVICE_ACCESS;
		tables->services[i].access = 0;
	}
	return 0;
}

/* --- flows --- */

int carry_flows_init(struct carry_flows *flows, const struct carry_old *old,
		     struct dp_tables *tables)
{
	*flows = (struct carry_flows){
		.old = old,
		.tables = tables,
		.seen = calloc((size_t)old->flow_buckets * ABI_BUCKET_FLOWS, sizeof(*flows->seen)),
	};
	return flows->seen ? 0 : -ENOMEM;
}

void carry_flows_fini(struct carry_flows *flows)
{
	free(flows->seen);
	flows->seen = NULL;
}

/* Never 0, which is of an entry that was not seen. */
static uint32_t digest(const struct abi_flow *entry)
{
	return (uint32_t)(pkt_hash_end(pkt_hash_add(entry->key, entry->pin)) >> 32) | 1;
}

/* As it is found in a bucket: the new table's, which packets may be using. */
static bool swap(struct abi_flow *place, __u64 before, const struct abi_flow *entry)
{
	if (!__atomic_compare_exchange_n(&place->pin, &before, FLOW_BUSY, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&place->key, entry->key, __ATOMIC_RELEASE);
	__atomic_store_n(&place->pin, entry->pin, __ATOMIC_RELEASE);
	return true;
}

/* What is being carried: an entry, and what was carried of it before (0: nothing). */
struct parcel {
	struct abi_flow entry;
	uint32_t before;
	uint32_t tick;
};

/*
 * The same flow's entry there, if there is one: replaced if it is still what was carried before,
 * else a packet has met it since, and knows better. Returns whether it is there.
 */
static bool renew(struct abi_bucket *bucket, const struct parcel *parcel)
{
	for (uint32_t i = 0; i < ABI_BUCKET_FLOWS; i++) {
		struct abi_flow *place = &bucket->flows[i];
		struct abi_flow there = {place->key,
					 __atomic_load_n(&place->pin, __ATOMIC_ACQUIRE)};

		if (!there.pin || there.pin == FLOW_BUSY || there.key != parcel->entry.key ||
		    (there.pin ^ parcel->entry.pin) >> FLOW_SLOT_SHIFT)
			continue;
		if (parcel->before && digest(&there) == parcel->before)
			swap(place, there.pin, &parcel->entry);
		return true;
	}
	return false;
}

/* Where the entry may stand with one of its hashes. */
struct places {
	uint32_t buckets[2];
};

/* In the place that it costs least to give, if that is less than the entry is worth. */
static bool insert(struct carry_flows *flows, const struct places *places,
		   const struct parcel *parcel)
{
	struct dp_tables *tables = flows->tables;
	const struct abi_node *node = tables->node;
	struct flow flow = {.key = parcel->entry.key, .tick = parcel->tick};
	struct flow nobody = {.tick = parcel->tick};
	uint32_t worth = flow_worth(node, &nobody, &parcel->entry);

	for (int i = 0; i < 2; i++)
		flow_victim_in(node, &flow, &tables->flows[places->buckets[i]], places->buckets[i],
			       &worth);
	if (worth == flow_worth(node, &nobody, &parcel->entry))
		return false;
	flows->lost += worth > FLOW_WORTH_EXPIRED;
	return swap(&tables->flows[flow.bucket].flows[flow.place], flow.pin, &parcel->entry);
}

static bool put(struct carry_flows *flows, const struct places *places, const struct parcel *parcel)
{
	struct dp_tables *tables = flows->tables;

	return renew(&tables->flows[places->buckets[0]], parcel) ||
	       renew(&tables->flows[places->buckets[1]], parcel) || insert(flows, places, parcel);
}

static bool put_by_hash(struct carry_flows *flows, uint64_t hash, const struct parcel *parcel)
{
	uint32_t mask = flows->tables->flow_buckets - 1;
	struct places places = {{(uint32_t)hash & mask, (uint32_t)pkt_hash_end(hash) & mask}};

	return put(flows, &places, parcel);
}

/*
 * pkt_hash_end of a hash whose low bits are `guess`, for many guesses: its first product is the sum
 * of that of the bits that are known, and of that of the guess.
 */
#define END_FIRST  0xbf58476d1ce4e5b9ULL
#define END_SECOND 0x94d049bb133111ebULL

/*
 * Returns whether it stands in the new table wherever its flow may look for it. The loop is what it
 * costs: some thousand times for an entry.
 */
static bool put_anywhere(struct carry_flows *flows, uint32_t bucket, const struct parcel *parcel)
{
	const uint64_t known = parcel->entry.key & ~(uint64_t)FLOW_KEY_SLOT_MASK;
	const uint64_t folded = known ^ known >> 29, low = folded & FLOW_KEY_SLOT_MASK;
	const uint32_t old_mask = flows->old->flow_buckets - 1;
	uint64_t product = (folded & ~(uint64_t)FLOW_KEY_SLOT_MASK) * END_FIRST;
	bool all = true;

	for (uint64_t folded_guess = 0; folded_guess <= FLOW_KEY_SLOT_MASK; folded_guess++) {
		uint64_t hash = known | (folded_guess ^ low);
		uint64_t end = (product ^ product >> 32) * END_SECOND;

		end ^= end >> 31;
		product += END_FIRST;
		if ((((uint32_t)hash ^ bucket) & old_mask) && (((uint32_t)end ^ bucket) & old_mask))
			continue;
		all &= put_by_hash(flows, hash, parcel);
	}
	return all;
}

/* The entry as packets would believe it (flow/flow.h). */
static bool read_entry(const struct abi_flow *place, struct abi_flow *ret)
{
	ret->pin = __atomic_load_n(&place->pin, __ATOMIC_ACQUIRE);
	ret->key = __atomic_load_n(&place->key, __ATOMIC_ACQUIRE);
	return ret->pin && ret->pin != FLOW_BUSY &&
	       __atomic_load_n(&place->pin, __ATOMIC_ACQUIRE) == ret->pin;
}

/* Has it no empty place? */
static bool is_full(const struct abi_bucket *bucket)
{
	for (uint32_t i = 0; i < ABI_BUCKET_FLOWS; i++) {
		if (!__atomic_load_n(&bucket->flows[i].pin, __ATOMIC_RELAXED))
			return false;
	}
	return true;
}

/*
 * Where entries go where they were, a full bucket is to be full again, with those that have
 * expired: a flow in its second bucket is looked for there only if the first one is full.
 */
static void carry(struct carry_flows *flows, uint32_t bucket, uint32_t place, uint32_t tick)
{
	const bool is_same = flows->old->flow_buckets == flows->tables->flow_buckets;
	uint32_t *seen = &flows->seen[(size_t)bucket * ABI_BUCKET_FLOWS + place];
	struct parcel parcel = {.before = *seen, .tick = tick};
	struct places same = {{bucket, bucket}};
	uint32_t now;
	bool done;

	if (!read_entry(&flows->old->flows[bucket].flows[place], &parcel.entry))
		return;
	if (!flow_pin_live(flows->tables->node, parcel.entry.pin, tick)) {
		if (is_same && is_full(&flows->old->flows[bucket]))
			put(flows, &same, &parcel);
		return;
	}
	now = digest(&parcel.entry);
	if (now == *seen)
		return;
	done = is_same ? put(flows, &same, &parcel) : put_anywhere(flows, bucket, &parcel);
	flows->lost += !done;
	flows->carried += done && !*seen;
	*seen = now;
}

void carry_flows_pass(struct carry_flows *flows, uint64_t now_ns)
{
	uint32_t tick = (uint32_t)(now_ns >> ABI_TICK_SHIFT);

	for (uint32_t bucket = 0; bucket < flows->old->flow_buckets; bucket++) {
		for (uint32_t place = 0; place < ABI_BUCKET_FLOWS; place++)
			carry(flows, bucket, place, tick);
	}
}
