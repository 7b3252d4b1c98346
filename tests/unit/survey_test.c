/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir/balancer/survey.h and the backends' states: connections stay through these, with the packet
 * path's own flow table, and what is in transition ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../lib/frame/frame.h"
#include "../lib/run/story.h"
#include "base/time.h"
#include "flow/flow.h"

static const struct story_file usual = {.pool = "on_down_keep: 24h, " STORY_SIZED(509)};

/* --- surveys --- */

static void test_counts(void **state)
{
	static const struct story_file always = {.pool = STORY_SIZED(509), .tracking = "always"};
	uint32_t left = 0;

	(void)state;
	story_begin(&always);
	story_all_healthy();
	story_connect_all();
	assert_int_equal(balancer_survey(story.balancer, story.now_ms),
			 UINT64_MAX); /* nobody asks */
	assert_int_equal(balancer_flows(story.balancer, 0, 0), 0);
	balancer_set_admin(story.balancer, 0, 0, POOL_DRAIN, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	story_survey();
	for (size_t m = 0; m < 4; m++)
		assert_int_equal(balancer_flows(story.balancer, 0, m),
				 story_flows_of(story_record(m)));
	/* Some end, and are forgotten after their time; pieces of datagrams never count. */
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow += 2)
		story_segment(flow, FRAME_ACK | FRAME_FIN);
	for (uint32_t flow = 1; flow < STORY_FLOWS; flow += 2)
		left += story.owners[flow] == story_record(0);
	story_pass(2 * STORY_CLOSING_MS + 5000);
	assert_int_equal(balancer_flows(story.balancer, 0, 0), left);
	/* Cut for good: none is left at once. */
	balancer_set_admin(story.balancer, 0, 0, POOL_MAINT, story.now_ms);
	balancer_set_admin(story.balancer, 0, 1, POOL_DRAIN, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	story_pass(3000);
	assert_int_equal(balancer_flows(story.balancer, 0, 0), 0);
	assert_true(balancer_flows(story.balancer, 0, 1) > 0);
}

static void put(uint32_t bucket, uint64_t key, uint64_t pin)
{
	story.tables->flows[bucket].flows[bucket % ABI_BUCKET_FLOWS] = (struct abi_flow){key, pin};
}

/* Entries by hand: what counts, and what does not. */
static void test_entries(void **state)
{
	uint32_t tick = (uint32_t)(story.now_ms * TIME_MILLI_NS >> ABI_TICK_SHIFT), slot = 0,
		 backend;
	uint64_t pin;
	uint8_t generation;

	(void)state;
	story_begin(&usual);
	story_all_healthy();
	balancer_set_admin(story.balancer, 0, 0, POOL_DRAIN, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	while (abi_slot_current(story.tables->slots[slot]) == story_record(1) ||
	       !(story.tables->slots[slot] & ABI_SLOT_TRANSITION))
		slot++;
	backend = story_record(1);
	generation = story.tables->backends[backend].generation;
	slot += balancer_first_slot(story.balancer, 0);
	pin = flow_pin(slot, backend, generation, FLOW_ESTABLISHED, tick);
	put(0, slot, pin);
	put(1, slot, FLOW_BUSY);
	put(2, slot, flow_pin(slot, backend, generation, FLOW_FRAGMENT, tick));
	put(3, slot, flow_pin(slot, backend, generation, FLOW_ESTABLISHED, tick - 1000));
	put(4, slot, flow_pin(slot, backend, generation + 1, FLOW_ESTABLISHED, tick));
	put(5, slot, flow_pin(slot, ABI_INDEX_MASK, 0, FLOW_ESTABLISHED, tick));
	put(6, slot, flow_pin(slot, 99, 0, FLOW_ESTABLISHED, tick)); /* nobody's record */
	put(story.tables->flow_buckets - 1, FLOW_KEY_SLOT_MASK,
	    flow_pin(UINT32_MAX, backend, generation, FLOW_UDP, tick)); /* no such slot */
	story_survey();
	assert_int_equal(balancer_flows(story.balancer, 0, 1), 2);
	assert_int_equal(balancer_flows(story.balancer, 0, 2), 0);
	/* The one that counts keeps its slot alone from ending. */
	balancer_set_admin(story.balancer, 0, 0, POOL_MAINT, story.now_ms);
	balancer_tick(story.balancer, story.now_ms);
	story_pass(3000);
	assert_int_equal(story_moving(), 1);
	assert_true(story.tables->slots[slot] & ABI_SLOT_TRANSITION);
	put(0, 0, 0);
	story_pass(3000);
	assert_int_equal(story_moving(), 0);
}

/* A big table is looked at in pieces, and so are many slots. */
static void test_pieces(void **state)
{
	unsigned pieces = 0;

	(void)state;
	native_free(story.native);
	assert_int_equal(native_new(64 * 1024, &story.native), 0);
	story.tables = native_tables(story.native);
	story_begin(&usual);
	story_all_healthy();
	balancer_set_admin(story.balancer, 0, 0, POOL_MAINT, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	while (balancer_survey(story.balancer, story.now_ms) != UINT64_MAX)
		pieces++;
	assert_in_range(pieces, 8, 20);
	assert_int_equal(story_moving(), 0);
}

/* --- states --- */

static void test_down_and_up(void **state)
{
	(void)state;
	story_begin(&usual);
	story_all_healthy();
	story_connect_all();
	balancer_set_health(story.balancer, 0, 2, POOL_UNHEALTHY, story.now_ms);
	story_all_stay();
	balancer_settle(story.balancer, story.now_ms);
	story_all_stay();
	for (uint32_t flow = 0; flow < 30; flow++)
		story_segment(flow, FRAME_ACK | FRAME_RST);
	story_pass(2 * STORY_CLOSING_MS);
	for (uint32_t flow = 0; flow < 30; flow++) {
		story_connect(flow);
		assert_int_not_equal(story.owners[flow], story_record(2));
	}
	balancer_set_health(story.balancer, 0, 2, POOL_HEALTHY, story.now_ms);
	story_all_stay();
	balancer_settle(story.balancer, story.now_ms);
	story_live_on();
	/* Those that began while it was away go on elsewhere, and hold their slots. */
	assert_in_range(story_moving(), 1, 15);
	story_all_end();
}

/* Gone and back within the time that slots wait for company. */
static void test_flap(void **state)
{
	(void)state;
	story_begin(&usual);
	story_all_healthy();
	story_connect_half(0);
	balancer_set_health(story.balancer, 0, 2, POOL_UNHEALTHY, story.now_ms);
	for (uint32_t flow = 1; flow < STORY_FLOWS; flow += 2) {
		story_connect(flow);
		assert_int_not_equal(story.owners[flow], story_record(2));
	}
	story.now_ms += 20;
	balancer_set_health(story.balancer, 0, 2, POOL_HEALTHY, story.now_ms);
	story_all_stay();
	story.now_ms += 30;
	balancer_settle(story.balancer, story.now_ms);
	story_all_stay();
	story_survey();
	story_all_stay();
	story_live_on();
	story_all_end();
}

/* The same of two at once: who serves at last is not who served first. */
static void test_two_fail(void **state)
{
	(void)state;
	story_begin(&usual);
	story_all_healthy();
	story_connect_half(0);
	balancer_set_admin(story.balancer, 0, 2, POOL_DRAIN, story.now_ms);
	story_connect_half(1);
	balancer_set_admin(story.balancer, 0, 1, POOL_DRAIN, story.now_ms);
	story_all_stay();
	balancer_settle(story.balancer, story.now_ms);
	story_all_stay();
	story_pass(50000);
	story_all_stay();
}

/* Where nobody serves, one comes and goes within that time, and another comes for good. */
static void test_nobody_serves(void **state)
{
	uint32_t began = 0;

	(void)state;
	story_begin(&usual);
	story_all_healthy();
	for (size_t m = 0; m < 4; m++)
		balancer_set_health(story.balancer, 0, m, POOL_UNHEALTHY, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	story_pass(2 * STORY_IDLE_MS);
	assert_int_equal(story_moving(), 0);
	balancer_set_health(story.balancer, 0, 2, POOL_HEALTHY, story.now_ms);
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow++) {
		story.owners[flow] = story_segment(flow, FRAME_SYN);
		story_segment(flow, FRAME_ACK);
		began += story.owners[flow] == story_record(2);
	}
	assert_true(began > 0);
	balancer_set_health(story.balancer, 0, 2, POOL_UNHEALTHY, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	balancer_set_health(story.balancer, 0, 1, POOL_HEALTHY, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow++) {
		if (story.owners[flow] == story_record(2))
			assert_int_equal(story_segment(flow, FRAME_ACK), story_record(2));
	}
}

static void test_drain_limit(void **state)
{
	uint32_t drained, generation;

	(void)state;
	story_begin(&usual);
	story_all_healthy();
	story_connect_all();
	drained = story_record(1);
	generation = story.tables->backends[drained].generation;
	balancer_set_admin(story.balancer, 0, 1, POOL_DRAIN, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	for (int i = 0; i < 5; i++) {
		story_pass(11000);
		story_all_stay();
		assert_int_equal(balancer_flows(story.balancer, 0, 1),
				 i ? story_flows_of(drained) : 0);
	}
	assert_int_equal(balancer_deadline_ms(story.balancer, story.now_ms), story.now_ms + 5000);
	story_pass(5000);
	assert_false(story.tables->backends[drained].flags & ABI_BACKEND_KEEP);
	assert_int_not_equal(story.tables->backends[drained].generation, generation);
	assert_int_equal(story_moving(), 0);
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow++) {
		if (story.owners[flow] == drained)
			assert_int_not_equal(story_segment(flow, FRAME_ACK), drained);
		else
			assert_int_equal(story_segment(flow, FRAME_ACK), story.owners[flow]);
	}
	/* It serves again, and what it had is not taken up. */
	balancer_set_admin(story.balancer, 0, 1, POOL_ACTIVE, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow++)
		assert_true(story.owners[flow] != drained ||
			    story_segment(flow, FRAME_ACK) != drained);
}

static void test_share(void **state)
{
	(void)state;
	story_begin(&usual);
	story_all_healthy();
	story_connect_all();
	balancer_set_share(story.balancer, 0, 1, 30, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	story_all_stay();
	balancer_set_share(story.balancer, 0, 1, 0, story.now_ms);
	assert_false(story.tables->backends[story_record(1)].flags & ABI_BACKEND_UP);
	story_all_stay();
	balancer_settle(story.balancer, story.now_ms);
	assert_int_equal(pool_member_slots(balancer_pool(story.balancer, 0), 1), 0);
	story_live_on();
	story_all_end();
}

/*
 * A table full of others: flows from before find no place, and go on by their slots' previous owner
 * alone. So the slots wait, until there was room for an idle time.
 */
static void test_full_table(void **state)
{
	(void)state;
	native_free(story.native);
	assert_int_equal(native_new(ABI_FLOWS_MIN, &story.native), 0);
	story.tables = native_tables(story.native);
	story_begin(&usual);
	story_all_healthy();
	story_connect_all();
	balancer_set_health(story.balancer, 0, 2, POOL_UNHEALTHY, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	for (uint32_t step = 0; step < 2 * STORY_IDLE_MS / STORY_STEP_MS; step++) {
		for (uint32_t flow = 0; flow < 8000; flow++)
			story_segment(STORY_FLOWS + flow, FRAME_SYN);
		story_all_stay();
		story_pass(STORY_STEP_MS);
	}
	assert_true(native_event_count(story.native, ABI_EVENT_FLOW_RELIES) > 1000);
	assert_true(story_moving() > 0);
	assert_true(balancer_deadline_ms(story.balancer, story.now_ms) <=
		    story.now_ms + STORY_IDLE_MS / 16 + 1);
	story_pass(STORY_STEP_MS * 4); /* the flood is forgotten */
	story_all_stay();
	balancer_set_health(story.balancer, 0, 2, POOL_HEALTHY, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	story_live_on();
	story_all_end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, story_set_up, story_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_counts),        TEST(test_entries),     TEST(test_pieces),
		TEST(test_down_and_up),   TEST(test_flap),        TEST(test_two_fail),
		TEST(test_nobody_serves), TEST(test_drain_limit), TEST(test_share),
		TEST(test_full_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
