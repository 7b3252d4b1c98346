/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One configuration in place of another over the same tables, while flows go on: what stays, what
 * is known further on, and that no flow goes elsewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "../lib/frame/frame.h"
#include "../lib/run/reloading.h"
#include "base/time.h"

enum {
	SIZE = 251,
	TEXT_MAX = 16 * 1024,
	IDLE_MS = 60 * 1000,
	FLOWS = 300,
	BACKENDS = 8,
};

/* --- files --- */

#define NODE                                                            \
	"node: {name: n, interfaces: [eth0], flows: {established: 1m, " \
	"insert_limit: 4G}}\n"

/* Two pools, of which the first is as given. */
static const char *seeded_pools(const char *seed, const char *first)
{
	static char text[TEXT_MAX];

	snprintf(text, sizeof(text),
		 NODE "seed: %s\npools:\n"
		      "- {name: web, table_size: 251, check: {port: 80}, %s}\n"
		      "- {name: other, table_size: 251, check: {port: 80}, backends: [{name: o1, "
		      "address: 10.1.0.1}, {name: o2, address: 10.1.0.2}]}\n"
		      "services:\n"
		      "- {name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web}\n"
		      "- {name: more, vips: [192.0.2.2], listen: [tcp/80], pool: other}\n",
		 seed, first);
	return text;
}

static const char *two_pools(const char *first)
{
	return seeded_pools("one", first);
}

#define THREE                                                                                  \
	"backends: [{name: b1, address: 10.0.0.1}, {name: b2, address: 10.0.0.2}, {name: b3, " \
	"address: 10.0.0.3}]"
#define HEAVIER                                                                                  \
	"backends: [{name: b1, address: 10.0.0.1, weight: 300}, {name: b2, address: 10.0.0.2}, " \
	"{name: b3, address: 10.0.0.3}]"

/* --- what stays --- */

static void test_stays(void **state)
{
	const struct pool *web, *other;
	uint64_t slots[SIZE];
	uint32_t record;

	(void)state;
	reloading_begin(two_pools(THREE));
	web = balancer_pool(reloading.balancer, 0);
	other = balancer_pool(reloading.balancer, 1);
	record = balancer_backend_record(reloading.balancer, 0, 1);
	memcpy(slots, reloading.tables->slots + balancer_first_slot(reloading.balancer, 1),
	       sizeof(slots));
	reloading_reload(two_pools(HEAVIER));
	assert_int_equal(reloading.fresh, 0);
	assert_false(balancer_pool_stays(reloading.balancer, 0));
	assert_ptr_not_equal(balancer_pool(reloading.balancer, 0), web);
	assert_int_equal(balancer_backend_record(reloading.balancer, 0, 1), record);
	assert_true(pool_moving_slots(balancer_pool(reloading.balancer, 0)) > 0);
	assert_true(balancer_pool_stays(reloading.balancer, 1));
	assert_ptr_equal(balancer_pool(reloading.balancer, 1), other);
	assert_memory_equal(slots,
			    reloading.tables->slots + balancer_first_slot(reloading.balancer, 1),
			    sizeof(slots));
	assert_int_equal(pool_moving_slots(other), 0);
	/* The state that is wanted of a backend is told, and makes no other pool. */
	web = balancer_pool(reloading.balancer, 0);
	reloading_reload(
		two_pools("backends: [{name: b1, address: 10.0.0.1, weight: 300, state: drain}, "
			  "{name: b2, address: 10.0.0.2}, {name: b3, address: 10.0.0.3}]"));
	assert_ptr_equal(balancer_pool(reloading.balancer, 0), web);
}

/* One that is new as a whole, one that stays, and one whose backends are others. */
#define OTHERS                                                                                  \
	NODE "seed: one\npools:\n"                                                              \
	     "- {name: new, table_size: 251, backends: [{name: n1, address: 10.2.0.1}, {name: " \
	     "n2, "                                                                             \
	     "address: 10.2.0.2}]}\n"                                                           \
	     "- {name: web, table_size: 251, check: {port: 80}, " HEAVIER "}\n"                 \
	     "- {name: other, table_size: 251, check: {port: 80}, backends: [{name: o1, "       \
	     "address: 10.1.0.1}, {name: o2, address: 10.1.0.2}]}\n"                            \
	     "services:\n"                                                                      \
	     "- {name: fresh, vips: [192.0.2.3], listen: [tcp/80], pool: new}\n"                \
	     "- {name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web}\n"                 \
	     "- {name: more, vips: [192.0.2.2], listen: [tcp/80], pool: other}\n"

/* Pools that were built before the reload come to the same words as those that are built in it. */
static void test_built_before(void **state)
{
	uint64_t words[2][3][SIZE];

	for (int late = 0; late < 2; late++) {
		if (late) {
			reloading_tear_down(state);
			assert_int_equal(reloading_set_up(state), 0);
		}
		reloading.builds_late = late;
		reloading_begin(two_pools(THREE));
		reloading_reload(OTHERS);
		reloading_all_well();
		for (size_t p = 0; p < 3; p++)
			memcpy(words[late][p],
			       reloading.tables->slots + balancer_first_slot(reloading.balancer, p),
			       sizeof(words[late][p]));
	}
	assert_memory_equal(words[0], words[1], sizeof(words[0]));
	assert_int_not_equal(words[0][0][0], 0);
}

/* Pools stand in another order, and services too. */
static void test_other_order(void **state)
{
	const struct pool *web;
	uint32_t service;

	(void)state;
	reloading_begin(two_pools(THREE));
	web = balancer_pool(reloading.balancer, 0);
	service = balancer_service_record(reloading.balancer, 0);
	reloading_reload(
		NODE "seed: one\npools:\n"
		     "- {name: other, table_size: 251, check: {port: 80}, backends: [{name: o1, "
		     "address: 10.1.0.1}]}\n"
		     "- {name: web, table_size: 251, check: {port: 80}, " THREE "}\n"
		     "services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web}]\n");
	assert_ptr_equal(balancer_pool(reloading.balancer, 1), web);
	assert_int_equal(balancer_service_record(reloading.balancer, 0), service);
	assert_int_equal(reloading.fresh, 0);
}

/* Of a pool that is built anew each member's health goes on, and since when. */
static void test_health_goes_on(void **state)
{
	const uint32_t well = ABI_BACKEND_UP | ABI_BACKEND_KEEP | ABI_BACKEND_HEALTHY;
	const struct abi_backend *failed;

	(void)state;
	reloading_begin(two_pools("on_down_keep: 10s, " THREE));
	failed = &reloading.tables->backends[balancer_backend_record(reloading.balancer, 0, 1)];
	balancer_set_health(reloading.balancer, 0, 1, POOL_UNHEALTHY, reloading.now_ms);
	balancer_settle(reloading.balancer, reloading.now_ms);
	reloading.now_ms += 6000;
	reloading_reload(two_pools("on_down_keep: 10s, " HEAVIER));
	assert_int_equal(pool_member_health(balancer_pool(reloading.balancer, 0), 1),
			 POOL_UNHEALTHY);
	assert_int_equal(failed->flags, ABI_BACKEND_KEEP);
	assert_int_equal(
		reloading.tables->backends[balancer_backend_record(reloading.balancer, 0, 0)].flags,
		well);
	reloading.now_ms += 3999;
	balancer_tick(reloading.balancer, reloading.now_ms);
	assert_int_equal(failed->flags, ABI_BACKEND_KEEP);
	reloading.now_ms += 1;
	balancer_tick(reloading.balancer, reloading.now_ms);
	assert_int_equal(failed->flags, 0);
}

/* Who is new takes over when it is known to be well; who is gone has no flag and no name. */
static void test_added_and_removed(void **state)
{
	uint32_t gone;

	(void)state;
	reloading_begin(two_pools(THREE));
	gone = balancer_backend_record(reloading.balancer, 0, 0);
	reloading_reload(two_pools("backends: [{name: b2, address: 10.0.0.2}, {name: b3, address: "
				   "10.0.0.3}, {name: b4, address: 10.0.0.4}]"));
	assert_int_equal(reloading.fresh, 1);
	assert_int_equal(reloading.tables->backends[gone].identity, 0);
	assert_int_equal(reloading.tables->backends[gone].flags, 0);
	for (uint32_t slot = 0; slot < SIZE; slot++) {
		uint64_t word =
			reloading.tables->slots[balancer_first_slot(reloading.balancer, 0) + slot];
		uint32_t current = abi_slot_current(word);

		assert_true(current == balancer_backend_record(reloading.balancer, 0, 0) ||
			    current == balancer_backend_record(reloading.balancer, 0, 1));
	}
	assert_int_equal(pool_member_slots(balancer_pool(reloading.balancer, 0), 2), 0);
	reloading_all_well();
	assert_true(pool_member_slots(balancer_pool(reloading.balancer, 0), 2) > SIZE / 5);
}

static bool survey_ends(void)
{
	uint64_t pause = 0;

	for (int i = 0; i < 10000 && pause != UINT64_MAX; i++)
		pause = balancer_survey(reloading.balancer, reloading.now_ms);
	return pause == UINT64_MAX;
}

/* Twenty in a row make nothing last longer: what is in transition ends when it would have. */
static void test_transitions_end(void **state)
{
	(void)state;
	reloading_begin(two_pools(THREE));
	reloading_reload(two_pools(HEAVIER));
	for (int i = 0; i < 20; i++) {
		char text[1024];

		reloading.now_ms += 2500;
		snprintf(text, sizeof(text), "on_down_keep: %ds, " HEAVIER, 10 + i);
		reloading_reload(two_pools(text));
		balancer_survey(reloading.balancer, reloading.now_ms);
	}
	reloading.now_ms += 9999; /* 59.999 s */
	balancer_tick(reloading.balancer, reloading.now_ms);
	survey_ends();
	assert_true(pool_moving_slots(balancer_pool(reloading.balancer, 0)) > 0);
	reloading.now_ms += 2000;
	balancer_tick(reloading.balancer, reloading.now_ms);
	assert_true(survey_ends());
	assert_int_equal(pool_moving_slots(balancer_pool(reloading.balancer, 0)), 0);
}

/* The same of what another seed began. */
static void test_flips_end(void **state)
{
	(void)state;
	reloading_begin(two_pools(THREE));
	reloading_reload(seeded_pools("another", THREE));
	for (int i = 0; i < 20; i++) {
		assert_true(balancer_service_flips(reloading.balancer, 0));
		reloading.now_ms += 2500;
		reloading_reload(seeded_pools("another", i % 2 ? THREE : HEAVIER));
	}
	reloading.now_ms += 9999;
	balancer_tick(reloading.balancer, reloading.now_ms);
	assert_true(balancer_service_flips(reloading.balancer, 0));
	reloading.now_ms += 1;
	balancer_tick(reloading.balancer, reloading.now_ms);
	assert_false(balancer_service_flips(reloading.balancer, 0));
}

/* --- flows --- */

static struct flow {
	bool lives;
	uint32_t number;  /* its source */
	uint32_t backend; /* the record's place in the file, 1 and up */
} flows[FLOWS];
static uint32_t flow_number;

static uint32_t run_segment(uint32_t number, uint8_t tcp_flags)
{
	struct frame_spec spec = {.src = "203.0.113.5", .dst = "192.0.2.1", .dport = 80};
	uint8_t buffer[2 + FRAME_MAX + NATIVE_HEADROOM];
	struct dp_result result;
	struct frame frame;

	spec.sport = (uint16_t)(1 + number % 50000);
	spec.tcp_flags = tcp_flags;
	frame_build(&spec, &frame);
	frame.bytes[FRAME_ETH + 14] = (uint8_t)(number / 50000);
	memcpy(buffer + 2, frame.bytes, frame.length);
	assert_int_equal(native_run(reloading.native, buffer + 2, frame.length,
				    frame.length + NATIVE_HEADROOM,
				    reloading.now_ms * TIME_MILLI_NS, &result),
			 0);
	return result.trace.backend;
}

/* Who of the file has the record, 1 to BACKENDS. */
static uint32_t whose(uint32_t record)
{
	for (size_t m = 0; m < reloading.conf->pools[0].backend_count; m++) {
		if (balancer_backend_record(reloading.balancer, 0, m) == record)
			return reloading.conf->pools[0].backends[m].address.bytes[15];
	}
	fail_msg("a packet goes to a record that no backend has");
	return 0;
}

static void open_flow(struct flow *flow)
{
	flow->lives = true;
	flow->number = flow_number++;
	flow->backend = whose(run_segment(flow->number, FRAME_SYN));
	assert_int_equal(whose(run_segment(flow->number, FRAME_ACK)), flow->backend);
}

static unsigned below(unsigned limit)
{
	return (unsigned)(frame_random() % limit);
}

/* A file by chance; `listed` has a bit for each backend. The first of them takes flows. */
static const char *any_file(unsigned *listed)
{
	static const unsigned sizes[] = {251, 509};
	static char text[TEXT_MAX];
	bool is_first = true;
	size_t used = 0;

	do {
		*listed ^= 1U << below(BACKENDS);
	} while (__builtin_popcount(*listed) < 2);
#define PUT(...) used += (size_t)snprintf(text + used, sizeof(text) - used, __VA_ARGS__)
	PUT(NODE "seed: s%u\n", !below(8));
	PUT("pools:\n- name: web\n  check: {port: 80}\n  table_size: %u\n  backends:\n",
	    sizes[!below(8)]);
	for (unsigned i = 0; i < BACKENDS; i++) {
		if (!(*listed >> i & 1))
			continue;
		PUT("  - {name: b%u, address: 10.0.0.%u, weight: %u, state: %s}\n", i + 1, i + 1,
		    below(3) * 50 + 50, is_first || below(6) ? "active" : "drain");
		is_first = false;
	}
	PUT("services:\n- {name: shop, vips: [192.0.2.1%s], listen: [tcp/80], pool: web}\n",
	    below(2) ? ", 192.0.2.0/24" : "");
	if (below(2))
		PUT("- {name: more, vips: [192.0.2.7], listen: [tcp/80], pool: web}\n");
#undef PUT
	return text;
}

/* What operators and the file want of each is told after the balancer has been built. */
static void tell_states(void)
{
	for (size_t m = 0; m < reloading.conf->pools[0].backend_count; m++)
		balancer_set_admin(reloading.balancer, 0, m,
				   reloading.conf->pools[0].backends[m].state == CONF_STATE_DRAIN
					   ? POOL_DRAIN
					   : POOL_ACTIVE,
				   reloading.now_ms);
}

static void end_some_flows(unsigned listed)
{
	for (size_t i = 0; i < FLOWS; i++) {
		if (!(listed >> (flows[i].backend - 1) & 1) || !below(50))
			flows[i].lives = false;
	}
}

static void all_stay(void)
{
	for (size_t i = 0; i < FLOWS; i++) {
		if (flows[i].lives)
			assert_int_equal(whose(run_segment(flows[i].number, FRAME_ACK)),
					 flows[i].backend);
	}
}

/*
 * Files by chance, one after the other, and everybody says something after each: of two changes of
 * what slots mean tables remember one (flips.c).
 */
static void test_flows_stay(void **state)
{
	unsigned listed = 0x1f;

	(void)state;
	memset(flows, 0, sizeof(flows));
	reloading_begin(any_file(&listed));
	tell_states();
	reloading_all_well();
	for (size_t i = 0; i < FLOWS; i++)
		open_flow(&flows[i]);
	for (int round = 0; round < 400; round++) {
		reloading.now_ms += below(2000);
		balancer_tick(reloading.balancer, reloading.now_ms);
		balancer_survey(reloading.balancer, reloading.now_ms);
		reloading_reload(any_file(&listed));
		end_some_flows(listed);
		all_stay();
		tell_states();
		if (below(2))
			reloading_all_well();
		all_stay();
		reloading_all_well();
		for (size_t i = 0; i < FLOWS; i++) {
			if (!flows[i].lives)
				open_flow(&flows[i]);
		}
		all_stay();
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stays, reloading_set_up, reloading_tear_down),
		cmocka_unit_test_setup_teardown(test_built_before, reloading_set_up,
						reloading_tear_down),
		cmocka_unit_test_setup_teardown(test_other_order, reloading_set_up,
						reloading_tear_down),
		cmocka_unit_test_setup_teardown(test_health_goes_on, reloading_set_up,
						reloading_tear_down),
		cmocka_unit_test_setup_teardown(test_added_and_removed, reloading_set_up,
						reloading_tear_down),
		cmocka_unit_test_setup_teardown(test_transitions_end, reloading_set_up,
						reloading_tear_down),
		cmocka_unit_test_setup_teardown(test_flips_end, reloading_set_up,
						reloading_tear_down),
		cmocka_unit_test_setup_teardown(test_flows_stay, reloading_set_up,
						reloading_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
