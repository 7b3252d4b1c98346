/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections over starts with another file: other members, and slots that mean something else
 * (weir/balancer/flips.c), with the packet path's own flow table.
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

static const struct story_file usual = {.pool = STORY_SIZED(509)};

/* Adds, removes, weights: the same slots by another table. */
static void test_members_change(void **state)
{
	static const struct story_file files[] = {
		{.pool = "table_size: 509, backends: [" STORY_B(1) ", " STORY_B(2) ", " STORY_B(
			 3) ", " STORY_B(4) ", " STORY_B(5) "]"},
		{.pool = "table_size: 509, backends: [{name: b1, address: 10.0.0.1, weight: "
			 "3}, " STORY_B(5) ", " STORY_B(3) ", " STORY_B(4) ", " STORY_B(2) "]"},
		{.pool = "table_size: 509, hash: ring, " STORY_BACKENDS},
		{.pool = STORY_SIZED(509)},
	};

	(void)state;
	story_begin(&usual);
	story_all_healthy();
	story_connect_all();
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		story.now_ms += STORY_STEP_MS;
		story_restart(&files[i]);
		assert_false(balancer_service_flips(story.balancer, 0));
		assert_true(story_moving() > 0);
		story_all_stay();
		story_all_healthy();
		story_all_stay();
	}
	story_live_on();
	story_all_end();
}

/* A daemon that died before it wrote the slots for what the flags said. */
static void test_death_before_settling(void **state)
{
	(void)state;
	story_begin(&usual);
	story_all_healthy();
	story_connect_half(0);
	balancer_set_admin(story.balancer, 0, 2, POOL_DRAIN, story.now_ms);
	story_connect_half(1);
	assert_int_equal(story_moving(), 0);
	story_restart(&usual);
	assert_true(story_moving() > 0);
	story_all_stay();
	story_all_healthy();
	story_live_on();
	story_all_end();
}

static void test_removed(void **state)
{
	static const struct story_file fewer = {.pool = "table_size: 509, backends: [" STORY_B(
							1) ", " STORY_B(2) ", " STORY_B(4) "]"};
	uint32_t removed;

	(void)state;
	story_begin(&usual);
	story_all_healthy();
	story_connect_all();
	removed = story_record(2);
	story_restart(&fewer);
	story_all_healthy();
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow++) {
		if (story.owners[flow] == removed)
			story_connect(flow);
	}
	assert_int_equal(story_flows_of(removed), 0);
	story_live_on();
	story_all_end();
}

struct flip {
	struct story_file from, to;
};

/* Slots that mean something else: the old table says where flows are that have no entry. */
static void test_flips(void **state)
{
	static const struct flip flips[] = {
		{{.pool = STORY_SIZED(509)}, {.pool = STORY_SIZED(1021)}},
		{{.pool = STORY_SIZED(509)}, {.pool = STORY_SIZED(509), .seed = "two"}},
		{{.pool = STORY_SIZED(509)}, {.pool = STORY_SIZED(251), .seed = "two"}},
		{{.pool = STORY_SIZED(509)},
		 {.pool = STORY_SIZED(509), .service = "pool: web, policy: 2-tuple"}},
		{{.pool = STORY_SIZED(509), .service = "pool: web, policy: source"},
		 {.pool = STORY_SIZED(509), .service = "pool: web, policy: 4-tuple"}},
		{{.pool = STORY_SIZED(509), .service = "pool: web, policy: source-prefix"},
		 {.pool = STORY_SIZED(509),
		  .service = "pool: web, policy: source-prefix, "
			     "source_prefix4: 12"}},
		{{.pool = STORY_SIZED(509), .tracking = "always"},
		 {.pool = STORY_SIZED(1021), .tracking = "always"}},
		{{.pool = STORY_SIZED(509),
		  .more = ", {name: two, check: {port: 80}, backends: [" STORY_B(7) ", " STORY_B(
			  8) "]}"},
		 {.pool = STORY_SIZED(509),
		  .more = ", {name: two, check: {port: 80}, backends: [" STORY_B(7) ", " STORY_B(
			  8) "]}",
		  .service = "pool: two"}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(flips) / sizeof(flips[0]); i++) {
		uint64_t old;

		if (i > 0) {
			story_tear_down(state);
			story_set_up(state);
		}
		story_begin(&flips[i].from);
		story_all_healthy();
		story_connect_all();
		old = story.tables->services[balancer_service_record(story.balancer, 0)].table;
		story_restart(&flips[i].to);
		story_all_healthy();
		assert_true(balancer_service_flips(story.balancer, 0));
		assert_int_equal(story.tables->services[balancer_service_record(story.balancer, 0)]
					 .old_table,
				 old);
		story_all_stay();
		/* Another start amid it changes nothing. */
		story.now_ms += STORY_STEP_MS;
		story_restart(&flips[i].to);
		assert_true(balancer_service_flips(story.balancer, 0));
		assert_int_equal(story.tables->services[balancer_service_record(story.balancer, 0)]
					 .old_table,
				 old);
		story_all_healthy();
		for (uint32_t flow = 0; flow < STORY_FLOWS; flow += 4) {
			story_segment(flow, FRAME_ACK | FRAME_RST);
			story.now_ms += 2 * STORY_CLOSING_MS / 20;
		}
		story.now_ms += 2 * STORY_CLOSING_MS;
		for (uint32_t flow = 0; flow < STORY_FLOWS; flow += 4)
			story_connect(flow);
		story_all_stay();
		story_live_on();
		assert_false(balancer_service_flips(story.balancer, 0));
		assert_false(
			story.tables->services[balancer_service_record(story.balancer, 0)].flags &
			ABI_SERVICE_FLIP);
		story_all_end();
	}
}

/* Flows that say nothing at first: the old table answers for them as long as it must. */
static void test_flip_of_silent_flows(void **state)
{
	static const struct story_file bigger = {.pool = STORY_SIZED(1021)};

	(void)state;
	story_begin(&usual);
	story_all_healthy();
	story_connect_all();
	story_restart(&bigger);
	story_all_healthy();
	story_pass(STORY_IDLE_MS - 1);
	assert_true(balancer_service_flips(story.balancer, 0));
	story_all_stay();
	story_live_on();
	story_all_end();
}

/* A slot that was in transition for long is not through with the flip sooner than others. */
static void test_flip_of_an_old_transition(void **state)
{
	static const struct story_file other = {.pool = STORY_SIZED(509),
						.service = "pool: web, policy: 2-tuple"};

	(void)state;
	story_begin(&usual);
	story_all_healthy();
	story_connect_half(0);
	balancer_set_health(story.balancer, 0, 2, POOL_UNHEALTHY, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	story_connect_half(1);
	balancer_set_health(story.balancer, 0, 2, POOL_HEALTHY, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	for (int i = 0; i < 6; i++)
		story_live_on();
	assert_true(story_moving() > 0);
	story_restart(&other);
	for (uint32_t flow = 1; flow < STORY_FLOWS; flow += 2)
		assert_int_equal(story_segment(flow, FRAME_ACK), story.owners[flow]);
	story_pass(3000);
	assert_int_equal(story_moving(), 509);
	story_all_stay();
	story_live_on();
	story_all_end();
}

/* One flip after the other; the later one counts. */
static void test_two_flips(void **state)
{
	static const struct story_file two = {.pool = STORY_SIZED(1021)};
	static const struct story_file three = {.pool = STORY_SIZED(509), .seed = "two"};
	static const struct story_file four = {
		.pool = STORY_SIZED(509), .seed = "two", .service = "pool: web, policy: source"};
	struct abi_service *service;

	(void)state;
	story_begin(&usual);
	story_all_healthy();
	story_connect_all();
	story_restart(&two);
	story_all_healthy();
	story_all_stay();
	story.now_ms += STORY_STEP_MS;
	story_restart(&three);
	story_all_healthy();
	story_all_stay();
	story.now_ms += STORY_STEP_MS;
	story_restart(&four);
	story_all_healthy();
	service = &story.tables->services[balancer_service_record(story.balancer, 0)];
	assert_int_equal(service->old_table, service->table);
	assert_int_equal(story.tables->node->old_slot_seed, story.tables->node->slot_seed);
	story_all_stay();
	story_live_on();
	story_all_end();
}

/* The old range is nobody's until the flip is through. */
static void test_old_range(void **state)
{
	static const struct story_file two = {.pool = STORY_SIZED(1021)};
	static const struct story_file three = {
		.pool = STORY_SIZED(1021),
		.more = ", {name: two, table_size: 509, check: {port: 80}, backends: [" STORY_B(
			7) "]}"};

	(void)state;
	story_begin(&usual);
	story_all_healthy();
	assert_int_equal(balancer_first_slot(story.balancer, 0), 0);
	story_restart(&two);
	assert_int_equal(balancer_first_slot(story.balancer, 0), 509);
	story_restart(&three);
	assert_int_equal(balancer_first_slot(story.balancer, 0), 509);
	assert_int_equal(balancer_first_slot(story.balancer, 1), 509 + 1021);
	story_pass(STORY_IDLE_MS);
	story_restart(&two);
	story_restart(&three);
	assert_int_equal(balancer_first_slot(story.balancer, 1), 0);
}

/* From all flows to those of moving slots, while some are not with their slot's owner. */
static void test_tracking_changes(void **state)
{
	static const struct story_file always = {.pool = STORY_SIZED(509), .tracking = "always"};

	(void)state;
	story_begin(&always);
	story_all_healthy();
	balancer_set_admin(story.balancer, 0, 2, POOL_DRAIN, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	story_connect_all();
	balancer_set_admin(story.balancer, 0, 2, POOL_ACTIVE, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	story_live_on();
	assert_int_equal(story_moving(), 0); /* entries elsewhere hold nothing there */
	story_restart(&usual);
	assert_int_equal(story_moving(), 509);
	story_all_healthy();
	story_all_stay();
	story_live_on();
	assert_in_range(story_moving(), 1, 509 / 2);
	story_all_end();
}

/* Without tracking nothing is looked up, and nothing flips. */
static void test_untracked(void **state)
{
	static const struct story_file none = {.pool = STORY_SIZED(509), .tracking = "none"};
	static const struct story_file other = {.pool = STORY_SIZED(1021), .tracking = "none"};

	(void)state;
	story_begin(&none);
	story_all_healthy();
	story_restart(&other);
	assert_false(balancer_service_flips(story.balancer, 0));
	assert_int_equal(story_moving(), 0);
}

/* `pools` more, each of 131071 slots and with a service. */
static void begin_big(unsigned pools, const char *seed, bool is_first)
{
	char more[4096] = "", services[4096] = "", *end = more, *end_services = services;
	struct story_file file = {.pool = "table_size: 131071, backends: [" STORY_B(1) "]",
				  .seed = seed,
				  .more = more,
				  .services = services};

	for (unsigned i = 0; i < pools; i++) {
		end += sprintf(end,
			       ", {name: p%u, table_size: 131071, check: {port: 80}, backends: "
			       "[{name: a, address: 10.1.0.1}]}",
			       i);
		end_services += sprintf(end_services,
					", {name: s%u, vips: [192.0.2.%u], listen: [tcp/80], "
					"pool: p%u, tracking: transition}",
					i, i + 10, i);
	}
	if (is_first)
		story_begin(&file);
	else
		story_restart(&file);
}

/* Where there is no room for another table, first those go that are there for flips alone ... */
static void test_room_of_old_tables(void **state)
{
	(void)state;
	begin_big(5, "one", true);
	begin_big(5, "two", false);
	assert_int_equal(balancer_first_slot(story.balancer, 0), 6 * 131071);
	assert_true(balancer_service_flips(story.balancer, 3));
	begin_big(5, "three", false);
	assert_int_equal(balancer_first_slot(story.balancer, 0), 0);
	assert_true(balancer_service_flips(story.balancer, 3));
	assert_int_equal(
		story.tables->services[balancer_service_record(story.balancer, 0)].old_table,
		abi_table(6 * 131071, 131071));
}

/* ... then the new one is written over the old. */
static void test_no_room(void **state)
{
	(void)state;
	begin_big(8, "one", true);
	begin_big(8, "two", false);
	assert_int_equal(balancer_first_slot(story.balancer, 0), 0);
	for (size_t i = 0; i < 9; i++)
		assert_false(balancer_service_flips(story.balancer, i));
	assert_int_equal(story_moving(), 0);
	story_all_healthy();
	story_connect_all();
	story_all_stay();
}

/* --- all of it together --- */

/* The file of test_random: what of it changes. */
struct choice {
	uint32_t size, seed, policy, members;
};

static void begin_choice(const struct choice *choice, bool is_first)
{
	static const char *const sizes[] = {"251", "509", "1021"};
	static const char *const policies[] = {"5-tuple", "4-tuple", "2-tuple"};
	char pool[1024], service[128];
	struct story_file file = {.pool = pool, .service = service};

	snprintf(pool, sizeof(pool),
		 "on_down_keep: 24h, table_size: %s, backends: [" STORY_B(1) ", " STORY_B(
			 2) ", " STORY_B(3) ", " STORY_B(4) ", " STORY_B(5) "%s]",
		 sizes[choice->size],
		 choice->members == 6 ? ", {name: b6, address: 10.0.0.6, weight: 200}" : "");
	snprintf(service, sizeof(service), "pool: web, policy: %s", policies[choice->policy]);
	file.seed = choice->seed ? "two" : "one";
	if (is_first)
		story_begin(&file);
	else
		story_restart(&file);
	story_all_healthy();
}

static void random_state(uint64_t what, size_t member)
{
	if (what < 7)
		balancer_set_health(story.balancer, 0, member,
				    story_draw() % 2 ? POOL_HEALTHY : POOL_UNHEALTHY, story.now_ms);
	else if (what < 8)
		balancer_set_admin(story.balancer, 0, member,
				   story_draw() % 3 ? POOL_ACTIVE : POOL_DRAIN, story.now_ms);
	else if (what < 10)
		balancer_set_share(story.balancer, 0, member, story_draw() % 5 * 25, story.now_ms);
	if (story_draw() % 2)
		balancer_settle(story.balancer, story.now_ms);
}

/* Whether it had to leave its backend. */
static bool random_packet(uint32_t flow, uint32_t sixth)
{
	uint32_t got;

	if (story.owners[flow] && story_draw() % 30 == 0) {
		story_segment(flow, FRAME_ACK | FRAME_RST);
		story.owners[flow] = 0;
	}
	if (!story.owners[flow])
		story.owners[flow] = story_segment(flow, FRAME_SYN);
	if (!story.owners[flow])
		return false;
	got = story_segment(flow, FRAME_ACK);
	if (got == story.owners[flow])
		return false;
	if (story.tables->backends[story.owners[flow]].flags & ABI_BACKEND_KEEP &&
	    story.owners[flow] != sixth)
		fail_msg("flow %u went from %u to %u", flow, story.owners[flow], got);
	story_segment(flow, FRAME_ACK | FRAME_RST);
	story.owners[flow] = 0;
	return true;
}

/*
 * Events at random, with every flow heard in each three or six steps, and eight between flips; a
 * flow may leave its backend only where its flows were cut.
 */
static void test_random(void **state)
{
	struct choice choice = {.members = 5};
	uint32_t last_flip = 0, sixth = 0, moved = 0;
	static uint32_t heard[STORY_FLOWS];

	(void)state;
	for (uint32_t step = 0; step < 400; step++) {
		bool flips = step - last_flip > 7;
		size_t member = story_draw() % 6;
		uint64_t what = story_draw() % 12;

		if (step == 0 || what == 3 || (what < 3 && flips)) {
			choice.size = what == 0 ? story_draw() % 3 : choice.size;
			choice.seed = what == 1 ? story_draw() % 2 : choice.seed;
			choice.policy = what == 2 ? story_draw() % 3 : choice.policy;
			choice.members = what == 3 ? 5 + story_draw() % 2 : choice.members;
			last_flip = what < 3 ? step : last_flip;
			begin_choice(&choice, step == 0);
			sixth = choice.members == 6 ? story_record(5) : sixth;
		} else if (member < choice.members) {
			random_state(what, member);
		}
		for (uint32_t flow = step % 3; flow < STORY_FLOWS; flow += 3) {
			if (step - heard[flow] <= 3 && story_draw() % 16 == 0)
				continue;
			heard[flow] = step;
			moved += random_packet(flow, sixth);
		}
		story_pass(STORY_STEP_MS / 3);
	}
	assert_in_range(moved, 1, 10 * STORY_FLOWS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, story_set_up, story_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_members_change),
		TEST(test_death_before_settling),
		TEST(test_removed),
		TEST(test_flips),
		TEST(test_flip_of_silent_flows),
		TEST(test_flip_of_an_old_transition),
		TEST(test_two_flips),
		TEST(test_old_range),
		TEST(test_tracking_changes),
		TEST(test_untracked),
		TEST(test_room_of_old_tables),
		TEST(test_no_room),
		TEST(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
