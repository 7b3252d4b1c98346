// SPDX-License-Identifier: BSD-2-Clause
/*
 * The flow table in the packet path: what keeps a flow at its backend while slots and records
 * change, and what ends that. Each step runs natively and in the kernel, which must agree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <netinet/in.h>

#include "flow/flow.h"

#include "../lib/rows/packets.h"
#include "../lib/run/engines.h"
#include "../lib/world/world.h"

static uint32_t run_many(uint16_t sport, uint8_t flags, enum why expected)
{
	static struct engine_outcome outcome;
	struct frame frame;

	packets_build_many(false, sport, flags, &frame);
	engines_run("a flow of many", &frame, &outcome);
	if (outcome.result.trace.why != expected)
		fail_msg("port %u: why %u, expected %u", sport, outcome.result.trace.why, expected);
	assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
	return outcome.result.trace.backend;
}

static void many_to(uint32_t backend)
{
	for (size_t i = 0; i < engine_count; i++)
		world_many_to(engines[i].tables, backend);
}

/* Tracked flows stay where they are when their slot gets another owner; new ones follow it. */
static void test_flow_keeps_backend(void **state)
{
	(void)state;
	engines_forget_flows();
	many_to(WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_SYN, WHY_SLOT), WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	many_to(WORLD_M3);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_SYN, WHY_FLOW), WORLD_M1);
	assert_int_equal(run_many(1001, FRAME_SYN, WHY_SLOT), WORLD_M3);
	/* A forged RST cuts nobody: the next segment finds the flow. */
	assert_int_equal(run_many(1000, FRAME_RST, WHY_FLOW), WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_SYN, WHY_FLOW), WORLD_M1);
	/* After FIN the rest of the flow still goes there; a SYN begins anew. */
	assert_int_equal(run_many(1000, FRAME_FIN | FRAME_ACK, WHY_FLOW), WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_SYN, WHY_SLOT), WORLD_M3);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M3);
	/* So it does after RST, if nothing came in between. */
	assert_int_equal(run_many(1000, FRAME_RST, WHY_FLOW), WORLD_M3);
	many_to(WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_SYN, WHY_SLOT), WORLD_M1);
	engines_refill();
}

/* A flow that begins anew from the same port finds its entry's place, also beyond the limit. */
static void test_own_place_is_no_insert(void **state)
{
	(void)state;
	engines_forget_flows();
	many_to(WORLD_M1);
	run_many(1000, FRAME_SYN, WHY_SLOT);
	run_many(1000, FRAME_FIN | FRAME_ACK, WHY_FLOW);
	many_to(WORLD_M3);
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->insert_limit = 0;
	assert_int_equal(run_many(1000, FRAME_SYN, WHY_SLOT), WORLD_M3);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M3);
	assert_int_equal(run_many(1001, FRAME_SYN, WHY_SLOT), WORLD_M3);
	many_to(WORLD_M1);
	assert_int_equal(run_many(1001, FRAME_ACK, WHY_SLOT), WORLD_M1);
	engines_refill();
}

/* Without tracking the slot alone decides, at once. */
static void test_untracked_follows_slot(void **state)
{
	struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4, .dport = 9000};
	static struct engine_outcome outcome;
	struct frame frame;

	(void)state;
	frame_build(&spec, &frame);
	for (uint32_t owner = WORLD_M1; owner <= WORLD_M4; owner++) {
		for (size_t i = 0; i < engine_count; i++) {
			struct dp_tables *tables = engines[i].tables;
			uint32_t first = (uint32_t)tables->services[WORLD_LOOSE].table;

			tables->slots[first] = abi_slot(owner, 0, 0);
		}
		engines_run("untracked", &frame, &outcome);
		assert_int_equal(outcome.result.trace.why, WHY_SLOT);
		assert_int_equal(outcome.result.trace.backend, owner);
	}
	engines_refill();
}

static void set_backend_flags(uint32_t backend, uint32_t flags)
{
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[backend].flags = flags;
}

/* What a backend's record says about the flows that it has. */
static void test_flow_and_record(void **state)
{
	(void)state;
	engines_forget_flows();
	many_to(WORLD_M1);
	run_many(1000, FRAME_SYN, WHY_SLOT);
	run_many(1000, FRAME_ACK, WHY_FLOW);
	many_to(WORLD_M2);
	set_backend_flags(WORLD_M1, ABI_BACKEND_KEEP | ABI_BACKEND_NEIGH);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	set_backend_flags(WORLD_M1, ABI_BACKEND_NEIGH);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_SLOT), WORLD_M2);
	/* A record that got a new owner: the old pin matches nothing. */
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M2);
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[WORLD_M2].generation++;
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_SLOT), WORLD_M2);
	engines_refill();
}

static uint32_t run_datagram(enum why expected)
{
	struct frame_spec spec = {.src = WORLD_CLIENT4,
				  .dst = WORLD_MANY_VIP4,
				  .sport = 1000,
				  .dport = 443,
				  .proto = IPPROTO_UDP};
	static struct engine_outcome outcome;
	struct frame frame;

	frame_build(&spec, &frame);
	engines_run("a datagram of many", &frame, &outcome);
	assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
	assert_int_equal(outcome.result.trace.why, expected);
	return outcome.result.trace.backend;
}

/* Of a backend that was removed no datagram waits for the flow's idle time. */
static void test_datagrams_of_a_removed_backend(void **state)
{
	(void)state;
	engines_forget_flows();
	many_to(WORLD_M1);
	assert_int_equal(run_datagram(WHY_SLOT), WORLD_M1);
	many_to(WORLD_M3);
	assert_int_equal(run_datagram(WHY_FLOW), WORLD_M1);
	set_backend_flags(WORLD_M1, 0);
	assert_int_equal(run_datagram(WHY_SLOT), WORLD_M3);
	assert_int_equal(run_datagram(WHY_FLOW), WORLD_M3);
	engines_refill();
}

/* Down, and the slot not yet rewritten: what begins takes the other owner, the rest stays. */
static void test_other_owner(void **state)
{
	(void)state;
	engines_forget_flows();
	for (size_t i = 0; i < engine_count; i++) {
		struct dp_tables *tables = engines[i].tables;
		uint32_t first = (uint32_t)tables->services[WORLD_MANY].table;

		for (uint32_t s = 0; s < WORLD_MANY_SLOTS; s++)
			tables->slots[first + s] = abi_slot(WORLD_M1, 0, WORLD_M4);
	}
	assert_int_equal(run_many(1000, FRAME_SYN, WHY_SLOT), WORLD_M1);
	set_backend_flags(WORLD_M1, ABI_BACKEND_KEEP | ABI_BACKEND_NEIGH);
	assert_int_equal(run_many(2000, FRAME_SYN, WHY_OTHER), WORLD_M4);
	assert_int_equal(run_many(3000, FRAME_ACK, WHY_SLOT), WORLD_M1);
	engines_refill();
}

static void test_flow_idle(void **state)
{
	uint64_t before = engines_now_ns;

	(void)state;
	engines_forget_flows();
	many_to(WORLD_M1);
	run_many(1000, FRAME_SYN, WHY_SLOT); /* stays half open: 30 ticks */
	run_many(2000, FRAME_SYN, WHY_SLOT);
	run_many(2000, FRAME_ACK, WHY_FLOW); /* established: 7200 */
	many_to(WORLD_M2);
	engines_now_ns += 29ULL * ENGINES_TICK_NS;
	run_many(2000, FRAME_ACK, WHY_FLOW);
	engines_now_ns += 3ULL * ENGINES_TICK_NS;
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_SLOT), WORLD_M2);
	engines_now_ns += 7190ULL * ENGINES_TICK_NS;
	assert_int_equal(run_many(2000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	engines_now_ns += 7202ULL * ENGINES_TICK_NS;
	assert_int_equal(run_many(2000, FRAME_ACK, WHY_SLOT), WORLD_M2);
	engines_now_ns = before;
	engines_refill();
}

/* A core's clock may have been read a moment before the one whose packet touched the entry. */
static void test_tick_ahead(void **state)
{
	(void)state;
	engines_forget_flows();
	many_to(WORLD_M1);
	engines_now_ns += ENGINES_TICK_NS;
	run_many(1000, FRAME_ACK, WHY_SLOT);
	many_to(WORLD_M2);
	engines_now_ns -= ENGINES_TICK_NS;
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	engines_refill();
}

/* The time in an entry has 24 bits, and begins anew after half a year. */
static void test_tick_wraps(void **state)
{
	uint64_t before = engines_now_ns;

	(void)state;
	engines_forget_flows();
	many_to(WORLD_M1);
	engines_now_ns = ((1ULL << FLOW_TIME_BITS) - 1) << ABI_TICK_SHIFT;
	run_many(1000, FRAME_ACK, WHY_SLOT);
	many_to(WORLD_M2);
	engines_now_ns += 2ULL * ENGINES_TICK_NS;
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	engines_now_ns += 7300ULL * ENGINES_TICK_NS;
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_SLOT), WORLD_M2);
	engines_now_ns = before;
	engines_refill();
}

static void expect_kept(const uint16_t *ports, uint8_t flags)
{
	for (; *ports; ports++)
		run_many(*ports, flags, WHY_FLOW);
}

static uint64_t evicted_sum(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < engine_count; i++)
		sum += engine_event_count(&engines[i], ABI_EVENT_FLOW_EVICTED);
	return sum;
}

/*
 * A table of one bucket, four places: a new flow takes the place of an expired one, else of a
 * closing one, else of one half open, else of the one not seen for longest.
 */
static void test_eviction(void **state)
{
	uint64_t evicted = evicted_sum(), before = engines_now_ns;

	(void)state;
	engines_forget_flows();
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->flow_buckets_mask = 0;
	run_many(1000, FRAME_ACK, WHY_SLOT);
	engines_now_ns += ENGINES_TICK_NS;
	run_many(2000, FRAME_SYN, WHY_SLOT);
	engines_now_ns += ENGINES_TICK_NS;
	run_many(3000, FRAME_FIN | FRAME_ACK, WHY_SLOT);
	run_many(4000, FRAME_ACK, WHY_SLOT);

	run_many(5000, FRAME_SYN, WHY_SLOT); /* for the closing one, though older ones are there */
	expect_kept((const uint16_t[]){1000, 2000, 4000, 5000, 0}, FRAME_SYN);
	engines_now_ns += ENGINES_TICK_NS;
	run_many(5000, FRAME_SYN, WHY_FLOW);
	run_many(6000, FRAME_ACK, WHY_SLOT); /* for the older one that is half open */
	expect_kept((const uint16_t[]){1000, 4000, 5000, 6000, 0}, FRAME_ACK);
	engines_now_ns += ENGINES_TICK_NS;
	expect_kept((const uint16_t[]){4000, 5000, 6000, 0}, FRAME_ACK);
	run_many(7000, FRAME_ACK, WHY_SLOT); /* for the oldest */
	expect_kept((const uint16_t[]){4000, 5000, 6000, 7000, 0}, FRAME_ACK);
	assert_int_equal(evicted_sum() - evicted, 3 * engine_count);

	engines_now_ns += 7199ULL * ENGINES_TICK_NS;
	expect_kept((const uint16_t[]){5000, 6000, 0}, FRAME_ACK);
	run_many(7000, FRAME_FIN, WHY_FLOW);
	engines_now_ns += 2ULL * ENGINES_TICK_NS;
	run_many(8000, FRAME_ACK, WHY_SLOT); /* for the expired one, not for the closing one */
	expect_kept((const uint16_t[]){5000, 6000, 7000, 8000, 0}, FRAME_ACK);
	assert_int_equal(evicted_sum() - evicted, 3 * engine_count);
	engines_now_ns = before;
	engines_refill();
}

/* In a table of two buckets; whether the last of these flows stands in the second one then. */
static bool is_second(const uint16_t *ports, size_t count)
{
	engines_forget_flows();
	for (size_t i = 0; i < count; i++)
		run_many(ports[i], FRAME_SYN, WHY_SLOT);
	return engines[0].tables->flows[1].flows[0].pin != 0;
}

/* A flow whose first bucket is full is found in its second one, and only there may it be. */
static void test_second_bucket(void **state)
{
	uint16_t ports[ABI_BUCKET_FLOWS + 1] = {0}, port = 1;

	(void)state;
	many_to(WORLD_M1);
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->flow_buckets_mask = 1;
	/* All of these are of the first bucket; the last one's other bucket is the second. */
	for (size_t i = 0; i < ABI_BUCKET_FLOWS; port++) {
		ports[i] = port;
		i += !is_second(&port, 1);
	}
	do {
		ports[ABI_BUCKET_FLOWS] = port++;
	} while (is_second(&ports[ABI_BUCKET_FLOWS], 1) || !is_second(ports, ABI_BUCKET_FLOWS + 1));
	many_to(WORLD_M3);
	for (size_t i = 0; i <= ABI_BUCKET_FLOWS; i++)
		assert_int_equal(run_many(ports[i], FRAME_ACK, WHY_FLOW), WORLD_M1);
	engines_refill();
}

/* Past the limit flows are served by their slot all the same, and counted. */
static void test_insert_limit(void **state)
{
	enum { LIMIT = 10, FLOWS = 40 };
	uint64_t made[2], skipped[2];

	(void)state;
	engines_forget_flows();
	many_to(WORLD_M1);
	engines_now_ns += 10ULL * ENGINES_TICK_NS;
	for (size_t i = 0; i < engine_count; i++) {
		engines[i].tables->node->insert_limit = LIMIT;
		made[i] = engine_event_count(&engines[i], ABI_EVENT_FLOW_NEW);
		skipped[i] = engine_event_count(&engines[i], ABI_EVENT_FLOW_SKIPPED);
	}
	for (uint16_t port = 1; port <= FLOWS; port++)
		assert_int_equal(run_many(port, FRAME_SYN, WHY_SLOT), WORLD_M1);
	for (size_t i = 0; i < engine_count; i++) {
		assert_int_equal(engine_event_count(&engines[i], ABI_EVENT_FLOW_NEW) - made[i],
				 LIMIT);
		assert_int_equal(engine_event_count(&engines[i], ABI_EVENT_FLOW_SKIPPED) -
					 skipped[i],
				 FLOWS - LIMIT);
	}
	engines_refill();
}

/* Ten times as many flows as there are places: every one is served, none grows the table. */
static void test_flood(void **state)
{
	(void)state;
	engines_forget_flows();
	engines_now_ns += 10ULL * ENGINES_TICK_NS;
	for (uint32_t i = 0; i < 10 * WORLD_FLOWS; i++) {
		struct frame_spec spec = {
			.src = WORLD_CLIENT4,
			.dst = WORLD_MANY_VIP4,
			.dport = 443,
			.proto = IPPROTO_UDP,
			.sport = (uint16_t)(1 + i),
		};
		static struct engine_outcome outcome;
		struct frame frame;

		frame_build(&spec, &frame);
		engines_run("flood", &frame, &outcome);
		assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
	}
	for (size_t i = 0; i < engine_count; i++)
		assert_true(engine_event_count(&engines[i], ABI_EVENT_FLOW_EVICTED) > WORLD_FLOWS);
	engines_refill();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		cmocka_unit_test(test_flow_keeps_backend),
		cmocka_unit_test(test_own_place_is_no_insert),
		cmocka_unit_test(test_untracked_follows_slot),
		cmocka_unit_test(test_flow_and_record),
		cmocka_unit_test(test_datagrams_of_a_removed_backend),
		cmocka_unit_test(test_other_owner),
		cmocka_unit_test(test_flow_idle),
		cmocka_unit_test(test_tick_ahead),
		cmocka_unit_test(test_tick_wraps),
		cmocka_unit_test(test_eviction),
		cmocka_unit_test(test_second_bucket),
		cmocka_unit_test(test_insert_limit),
		cmocka_unit_test(test_flood),
	};

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
