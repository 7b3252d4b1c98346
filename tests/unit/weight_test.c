/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shares that an operator sets at run time, as packets meet them: a configuration in the tables of
 * the native engine, and segments through it.
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
#include "dp/verdict.h"
#include "engine/native.h"
#include "tunnel/mode.h"
#include "weir/balancer/balancer.h"

enum { BACKENDS = 3, OLD = 600, NEW = 100000, STEP = 2000 };

static struct native *native;
static struct dp_tables *tables;
static struct conf *conf;
static struct balancer *balancer;
static uint32_t owners[OLD];

static void ignore(void *arg, uint32_t record)
{
	(void)arg;
	(void)record;
}

/* `last` is more of the last backend. */
static void begin(const char *pool_keys, const char *last, const char *service_keys)
{
	static const struct balancer_start start = {
		.health = POOL_HEALTHY,
		.unchecked = POOL_HEALTHY,
		.now_ms = 1000,
		.new_backend = ignore,
		.new_service = ignore,
	};
	struct err_list errors = {0};
	struct err err = {0};
	char text[1024];

	snprintf(text, sizeof(text),
		 "node: {name: n, interfaces: [eth0]}\n"
		 "pools: [{name: web, table_size: 2039, check: {port: 80}, %s backends: [\n"
		 "  {name: b1, address: 10.0.0.1}, {name: b2, address: 10.0.0.2},\n"
		 "  {name: b3, address: 10.0.0.3%s}]}]\n"
		 "services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web%s}]\n",
		 pool_keys, last, service_keys);
	assert_int_equal(native_new(1 << 18, &native), 0);
	tables = native_tables(native);
	tables->node->vip_secret = 7;
	if (conf_parse(text, strlen(text), &conf, &errors))
		fail_msg("line %d: %s", errors.errors[0].line, errors.errors[0].text);
	if (balancer_new(conf, tables, &start, &balancer, &err))
		fail_msg("%s", err.text);
	tables->node->insert_limit = UINT32_MAX;
}

static void finish(void)
{
	balancer_free(balancer);
	conf_free(conf);
	native_free(native);
}

/* A segment of a flow to 192.0.2.1 port 80; returns the member that gets it, or BACKENDS. */
static uint32_t run_segment(uint32_t flow, uint8_t flags)
{
	struct frame_spec spec = {.src = "203.0.113.5", .dst = "192.0.2.1", .dport = 80};
	uint8_t buffer[2 + FRAME_MAX + NATIVE_HEADROOM];
	struct dp_result result;
	struct frame frame;
	uint32_t member = 0;

	spec.sport = (uint16_t)(1 + flow % 50000);
	spec.tcp_flags = flags;
	frame_build(&spec, &frame);
	frame.bytes[FRAME_ETH + 14] = (uint8_t)(flow / 50000); /* of the source address */
	memcpy(buffer + 2, frame.bytes, frame.length);
	assert_int_equal(native_run(native, buffer + 2, frame.length,
				    frame.length + NATIVE_HEADROOM, 1, &result),
			 0);
	while (member < BACKENDS &&
	       balancer_backend_record(balancer, 0, member) != result.trace.backend)
		member++;
	return member;
}

/* Flows from before a change, each of which has sent something since. */
static void open_old_flows(void)
{
	for (uint32_t flow = 0; flow < OLD; flow++) {
		owners[flow] = run_segment(flow, FRAME_SYN);
		assert_true(owners[flow] < BACKENDS);
		assert_int_equal(run_segment(flow, FRAME_ACK), owners[flow]);
	}
}

static void assert_old_flows_stay(void)
{
	for (uint32_t flow = 0; flow < OLD; flow++)
		assert_int_equal(run_segment(flow, FRAME_ACK), owners[flow]);
}

/* How many of so many new flows each member gets; all of them get somewhere. */
static void count_new_flows(uint32_t first, uint32_t count, uint32_t *ret_counts)
{
	memset(ret_counts, 0, BACKENDS * sizeof(*ret_counts));
	for (uint32_t flow = first; flow < first + count; flow++) {
		uint32_t member = run_segment(flow, FRAME_SYN);

		assert_true(member < BACKENDS);
		ret_counts[member]++;
	}
}

/* From the instant of the change on, before its slots are written and after. */
static void weight_0(const char *service_keys)
{
	uint32_t counts[BACKENDS];

	begin("", "", service_keys);
	open_old_flows();
	balancer_set_share(balancer, 0, 1, 0, 2000);
	assert_old_flows_stay();
	count_new_flows(OLD, NEW / 10, counts);
	assert_int_equal(counts[1], 0);
	balancer_settle(balancer, 2050);
	assert_old_flows_stay();
	count_new_flows(OLD + NEW / 10, NEW, counts);
	assert_int_equal(counts[1], 0);
	assert_in_range(counts[0], NEW * 48 / 100, NEW * 52 / 100);
	for (uint32_t slot = 0; slot < 2039; slot++) {
		uint32_t current = abi_slot_current(tables->slots[slot]);

		assert_int_not_equal(current, 0);
		assert_int_not_equal(current, balancer_backend_record(balancer, 0, 1));
	}
	finish();
}

static void test_case_10_weight_0_at_run_time(void **state)
{
	(void)state;
	weight_0(", tracking: always");
	weight_0("");
}

/* With all of them at 0 % there is no destination, and a clear verdict. */
static void test_case_10_all_at_0_is_empty(void **state)
{
	uint64_t empty;

	(void)state;
	begin("", "", ", on_empty: drop");
	for (uint32_t member = 0; member < BACKENDS; member++)
		balancer_set_share(balancer, 0, member, 0, 2000);
	balancer_settle(balancer, 2050);
	empty = native_verdict_count(native, VERDICT_EMPTY).packets;
	assert_int_equal(run_segment(2, FRAME_SYN), BACKENDS);
	assert_int_equal(native_verdict_count(native, VERDICT_EMPTY).packets, empty + 1);
	balancer_set_share(balancer, 0, 2, 1, 3000);
	balancer_settle(balancer, 3050);
	assert_int_equal(run_segment(3, FRAME_SYN), 2);
	finish();
}

/* A backend that is back gets its new flows by tenths, each at its time; the others' flows stay. */
static void slow_start(const char *service_keys)
{
	uint32_t counts[BACKENDS], first = OLD;
	uint64_t now = 3000;

	begin("slow_start: 9s,", "", service_keys);
	balancer_set_health(balancer, 0, 1, POOL_UNHEALTHY, 2000);
	balancer_settle(balancer, 2050);
	open_old_flows();
	balancer_set_health(balancer, 0, 1, POOL_HEALTHY, now);
	balancer_settle(balancer, now);
	for (uint32_t tenth = 1; tenth <= 10; tenth++) {
		uint32_t ideal = STEP * tenth / 30;

		count_new_flows(first, STEP, counts);
		first += STEP;
		assert_in_range(counts[1], ideal * 6 / 10, ideal * 14 / 10);
		assert_old_flows_stay();
		now = balancer_deadline_ms(balancer, now);
		if (tenth < 10)
			assert_int_equal(now, 3000 + 1000 * tenth);
		balancer_tick(balancer, now);
	}
	finish();
}

static void test_slow_start(void **state)
{
	(void)state;
	slow_start(", tracking: always");
	slow_start("");
}

/* Backups get new flows when too few others are there, and keep them when these are back. */
static void backups_take_over(const char *service_keys)
{
	uint32_t counts[BACKENDS];

	begin("backup_below: 2,", ", backup: true", service_keys);
	count_new_flows(OLD, STEP, counts);
	assert_int_equal(counts[2], 0);
	balancer_set_health(balancer, 0, 0, POOL_UNHEALTHY, 2000);
	balancer_settle(balancer, 2050);
	open_old_flows();
	count_new_flows(OLD + STEP, STEP, counts);
	assert_int_equal(counts[0], 0);
	assert_in_range(counts[2], STEP * 45 / 100, STEP * 55 / 100);
	balancer_set_health(balancer, 0, 0, POOL_HEALTHY, 3000);
	balancer_settle(balancer, 3050);
	assert_old_flows_stay();
	count_new_flows(OLD + 2 * STEP, STEP, counts);
	assert_int_equal(counts[2], 0);
	finish();
}

static void test_backups_take_over(void **state)
{
	(void)state;
	backups_take_over(", tracking: always");
	backups_take_over("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_case_10_weight_0_at_run_time),
		cmocka_unit_test(test_case_10_all_at_0_is_empty),
		cmocka_unit_test(test_slow_start),
		cmocka_unit_test(test_backups_take_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
