/* SPDX-License-Identifier: BSD-2-Clause */
/* engine/carry/carry.h: tables of one size carried over to another's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/carry/carry.h"
#include "flow/flow.h"

static const uint64_t NOW_NS = 5000ULL << ABI_TICK_SHIFT;

/* A flow table of some size, with its node. */
struct side {
	struct abi_node node;
	struct abi_bucket *flows;
	uint32_t buckets;
};

static struct side side_new(uint32_t buckets)
{
	struct side side = {
		.node = {.flow_buckets_mask = buckets - 1,
			 .established_ticks = 1000,
			 .handshake_ticks = 30,
			 .closing_ticks = 15},
		.flows = aligned_alloc(64, buckets * sizeof(struct abi_bucket)),
		.buckets = buckets,
	};

	assert_non_null(side.flows);
	memset(side.flows, 0, buckets * sizeof(struct abi_bucket));
	return side;
}

static struct carry_old old_of(const struct side *side)
{
	return (struct carry_old){
		.node = &side->node, .flows = side->flows, .flow_buckets = side->buckets};
}

/* A flow known by its hash. */
struct known {
	uint64_t hash;
	uint32_t slot;
	uint64_t pin;
};

static uint64_t draw(uint64_t *seed)
{
	*seed += 0x9e3779b97f4a7c15ULL;
	return pkt_hash_end(*seed);
}

static struct flow prepared(const struct side *side, const struct known *known)
{
	struct flow flow = {.slot = known->slot};

	flow_prepare_hash(&flow, &side->node, known->hash, NOW_NS);
	return flow;
}

/* Into its first or second bucket, as there is room. Returns whether. */
static bool add(const struct side *side, struct known *known, uint64_t *seed)
{
	struct flow flow = prepared(side, known);
	uint32_t first = draw(seed) & 1;

	for (uint32_t turn = 0; turn < 2; turn++) {
		struct abi_bucket *bucket = &side->flows[flow.buckets[(first + turn) & 1]];

		for (uint32_t i = 0; i < ABI_BUCKET_FLOWS; i++) {
			if (bucket->flows[i].pin)
				continue;
			bucket->flows[i] = (struct abi_flow){flow.key, known->pin};
			return true;
		}
	}
	return false;
}

/* The pin that packets of the flow find. 0: none. */
static uint64_t found(const struct side *side, const struct known *known)
{
	struct flow flow = prepared(side, known);

	if (!flow_find_in(&flow, &side->flows[flow.buckets[0]], flow.buckets[0]))
		flow_find_in(&flow, &side->flows[flow.buckets[1]], flow.buckets[1]);
	return flow.pin;
}

static struct known *make_flows(const struct side *side, size_t count, uint64_t *seed)
{
	struct known *list = calloc(count, sizeof(*list));

	assert_non_null(list);
	for (size_t i = 0; i < count; i++) {
		do {
			uint32_t slot = draw(seed) % ABI_SLOTS;

			list[i] = (struct known){.hash = draw(seed), .slot = slot};
			list[i].pin = flow_pin(slot, 1 + (uint32_t)(i % 100), 3, FLOW_ESTABLISHED,
					       4990 + (uint32_t)(i % 10));
		} while (!add(side, &list[i], seed));
	}
	return list;
}

static const struct size_case {
	uint32_t from, to; /* buckets */
	size_t flows;
	size_t lost_max;
} size_cases[] = {
	{4096, 16384, 4000, 0},   {16384, 4096, 2000, 0}, {4096, 4096, 4000, 0},
	{256, 16384, 150, 0},     {16384, 256, 300, 3},   {1024, 2048, 1000, 20},
	{131072, 65536, 9000, 0},
};

static void test_flows_are_found_again(void **state)
{
	uint64_t seed = 42;

	(void)state;
	for (size_t i = 0; i < sizeof(size_cases) / sizeof(size_cases[0]); i++) {
		const struct size_case *row = &size_cases[i];
		struct side from = side_new(row->from), to = side_new(row->to);
		struct known *list = make_flows(&from, row->flows, &seed);
		struct carry_old old = old_of(&from);
		struct dp_tables tables = {
			.node = &to.node, .flows = to.flows, .flow_buckets = row->to};
		struct carry_flows flows;
		size_t lost = 0;

		assert_int_equal(carry_flows_init(&flows, &old, &tables), 0);
		carry_flows_pass(&flows, NOW_NS);
		for (size_t f = 0; f < row->flows; f++) {
			uint64_t pin = found(&to, &list[f]);

			assert_true(!pin || pin == list[f].pin);
			lost += !pin;
		}
		print_message("# %u to %u buckets: %zu flows, %zu lost\n", row->from, row->to,
			      row->flows, lost);
		assert_in_range(lost, 0, row->lost_max);
		assert_true(flows.carried <= row->flows &&
			    flows.carried + flows.lost >= row->flows);
		assert_true(flows.lost >= lost);
		carry_flows_fini(&flows);
		free(list);
		free(from.flows);
		free(to.flows);
	}
}

static uint64_t touched(const struct known *known, uint32_t tick)
{
	return flow_pin(known->slot, flow_pin_backend(known->pin), 3, FLOW_ESTABLISHED, tick);
}

/* Sets a flow's pin where it stands. */
static void touch(const struct side *side, const struct known *known, uint64_t pin)
{
	struct flow flow = prepared(side, known);

	if (!flow_find_in(&flow, &side->flows[flow.buckets[0]], flow.buckets[0]))
		assert_true(flow_find_in(&flow, &side->flows[flow.buckets[1]], flow.buckets[1]));
	side->flows[flow.bucket].flows[flow.place].pin = pin;
}

static void test_later_passes(void **state)
{
	enum { FLOWS = 2000 };
	struct side from = side_new(4096), to = side_new(16384);
	struct dp_tables tables = {.node = &to.node, .flows = to.flows, .flow_buckets = 16384};
	struct carry_old old = old_of(&from);
	struct carry_flows flows;
	uint64_t seed = 7;
	struct known *list = make_flows(&from, FLOWS, &seed), *later;

	(void)state;
	assert_int_equal(carry_flows_init(&flows, &old, &tables), 0);
	carry_flows_pass(&flows, NOW_NS);
	/* The old program sees some again, and begins others; the new one sees some, too. */
	for (size_t i = 0; i < 100; i++)
		touch(&from, &list[i], touched(&list[i], 5001));
	for (size_t i = 50; i < 150; i++)
		touch(&to, &list[i], touched(&list[i], 5002));
	later = make_flows(&from, 500, &seed);
	carry_flows_pass(&flows, NOW_NS);
	for (size_t i = 0; i < FLOWS; i++) {
		uint64_t wanted = i < 50    ? touched(&list[i], 5001)
				  : i < 150 ? touched(&list[i], 5002)
					    : list[i].pin;

		assert_true(found(&to, &list[i]) == wanted);
	}
	for (size_t i = 0; i < 500; i++)
		assert_true(found(&to, &later[i]) == later[i].pin);
	assert_true(flows.carried == FLOWS + 500);
	carry_flows_fini(&flows);
	free(list);
	free(later);
	free(from.flows);
	free(to.flows);
}

/* What is dead, being written, or worth less than what is there, is not carried. */
static void test_what_is_left(void **state)
{
	struct side from = side_new(256), to = side_new(256);
	struct dp_tables tables = {.node = &to.node, .flows = to.flows, .flow_buckets = 256};
	struct carry_old old = old_of(&from);
	struct carry_flows flows;

	(void)state;
	from.flows[1].flows[0] = (struct abi_flow){1 << 12, FLOW_BUSY};
	from.flows[1].flows[1] =
		(struct abi_flow){2 << 12, flow_pin(0, 1, 0, FLOW_HANDSHAKE, 4000)};
	from.flows[2].flows[0] = (struct abi_flow){3 << 12, flow_pin(0, 1, 0, FLOW_FIN, 5000)};
	for (uint32_t i = 0; i < ABI_BUCKET_FLOWS; i++)
		to.flows[2].flows[i] = (struct abi_flow){(100 + i) << 12,
							 flow_pin(0, 1, 0, FLOW_ESTABLISHED, 5000)};
	assert_int_equal(carry_flows_init(&flows, &old, &tables), 0);
	carry_flows_pass(&flows, NOW_NS);
	carry_flows_pass(&flows, NOW_NS);
	assert_int_equal(flows.carried, 0);
	assert_int_equal(flows.lost, 1);
	for (uint32_t i = 0; i < ABI_BUCKET_FLOWS; i++) {
		assert_int_equal(to.flows[1].flows[i].pin, 0);
		assert_int_equal(to.flows[2].flows[i].key >> 12, 100 + i);
	}
	carry_flows_fini(&flows);
	free(from.flows);
	free(to.flows);
}

/*
 * A flow stands in its second bucket, and those that filled the first one have expired: there it is
 * looked for only while the first one has no empty place, so that is full again.
 */
static void test_full_buckets_stay_full(void **state)
{
	struct side from = side_new(256), to = side_new(256);
	struct dp_tables tables = {.node = &to.node, .flows = to.flows, .flow_buckets = 256};
	struct carry_old old = old_of(&from);
	struct known known = {.hash = 0x123456789abcdef0, .slot = 5};
	struct flow flow = prepared(&from, &known);
	struct carry_flows flows;

	(void)state;
	assert_int_not_equal(flow.buckets[0], flow.buckets[1]);
	for (uint32_t i = 0; i < ABI_BUCKET_FLOWS; i++)
		from.flows[flow.buckets[0]].flows[i] = (struct abi_flow){
			(i + 1) << 12, flow_pin(0, 1, 0, FLOW_HANDSHAKE, 4000 + i)};
	known.pin = flow_pin(5, 2, 0, FLOW_ESTABLISHED, 5000);
	from.flows[flow.buckets[1]].flows[0] = (struct abi_flow){flow.key, known.pin};
	assert_int_equal(flow_empty_in(&from.flows[flow.buckets[1]]), 1);
	assert_int_equal(carry_flows_init(&flows, &old, &tables), 0);
	carry_flows_pass(&flows, NOW_NS);
	carry_flows_pass(&flows, NOW_NS);
	assert_int_equal(flows.carried, 1);
	assert_int_equal(flows.lost, 0);
	assert_int_equal(flow_empty_in(&to.flows[flow.buckets[0]]), ABI_BUCKET_FLOWS);
	assert_true(found(&to, &known) == known.pin);
	carry_flows_fini(&flows);
	free(from.flows);
	free(to.flows);
}

/* --- records --- */

struct records_of {
	struct abi_node node;
	struct abi_service *services;
	struct abi_backend *backends;
	uint64_t *slots;
};

static struct records_of records_new(uint32_t services, uint32_t backends, uint32_t slots)
{
	struct records_of records = {
		.services = calloc(services, sizeof(*records.services)),
		.backends = calloc(backends, sizeof(*records.backends)),
		.slots = calloc(slots, sizeof(*records.slots)),
	};

	assert_true(records.services && records.backends && records.slots);
	return records;
}

static void records_free(struct records_of *records)
{
	free(records->services);
	free(records->backends);
	free(records->slots);
}

static void test_records(void **state)
{
	enum { MORE = 10 };
	struct records_of from = records_new(ABI_SERVICES + MORE, ABI_BACKENDS + MORE, 1000);
	struct records_of to = records_new(ABI_SERVICES, ABI_BACKENDS, ABI_SLOTS);
	struct dp_tables tables = {.node = &to.node,
				   .services = to.services,
				   .backends = to.backends,
				   .slots = to.slots};
	struct carry_old old = {.node = &from.node,
				.services = from.services,
				.backends = from.backends,
				.slots = from.slots,
				.service_count = ABI_SERVICES + MORE,
				.backend_count = ABI_BACKENDS + MORE,
				.slot_count = 1000};
	struct err err;

	(void)state;
	from.node.flow_secret = 77;
	from.services[5] = (struct abi_service){.identity = 5,
						.table = abi_table(100, 900),
						.flags = ABI_SERVICE_ACCESS | ABI_SERVICE_TRACK,
						.access = 12};
	from.backends[9].identity = 9;
	from.backends[9].generation = 4;
	from.backends[10].generation = 200; /* free, but used before */
	from.slots[999] = 0x1234;
	assert_int_equal(carry_records(&old, &tables, &err), 0);
	assert_int_equal(to.node.flow_secret, 77);
	assert_int_equal(to.services[5].identity, 5);
	assert_int_equal(to.services[5].flags, ABI_SERVICE_TRACK);
	assert_int_equal(to.services[5].access, 0);
	assert_int_equal(to.backends[9].generation, 4);
	assert_int_equal(to.backends[10].generation, 200);
	assert_int_equal(to.slots[999], 0x1234);

	from.backends[ABI_BACKENDS].identity = 1;
	assert_int_equal(carry_records(&old, &tables, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "more backends than the 16384"));
	from.backends[ABI_BACKENDS].identity = 0;
	from.services[ABI_SERVICES + MORE - 1].identity = 1;
	assert_int_equal(carry_records(&old, &tables, &err), -ENOSPC);
	from.services[ABI_SERVICES + MORE - 1].identity = 0;
	from.services[7].old_table = abi_table(ABI_SLOTS - 1, 2);
	assert_int_equal(carry_records(&old, &tables, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "slots"));
	records_free(&from);
	records_free(&to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flows_are_found_again),
		cmocka_unit_test(test_later_passes),
		cmocka_unit_test(test_what_is_left),
		cmocka_unit_test(test_full_buckets_stay_full),
		cmocka_unit_test(test_records),
	};

	return cmocka_run_group_tests_name("carry", tests, NULL, NULL);
}
