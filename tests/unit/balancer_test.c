/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A configuration in tables that an earlier daemon has filled: what is known again, what is kept
 * and what goes. The tables are the native engine's; a successor is a second balancer over them.
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
#include "engine/native.h"
#include "tunnel/mode.h"
#include "weir/balancer/balancer.h"

enum {
	UP = ABI_BACKEND_UP,
	KEEP = ABI_BACKEND_KEEP,
	WELL = ABI_BACKEND_HEALTHY,
	FULL = UP | KEEP | WELL,
};

static struct native *native;
static struct dp_tables *tables;
static struct conf *conf;
static struct balancer *balancer;
static const char *name_of_pool = "web";
static unsigned fresh; /* records that got a new owner with the last start */

static void count_record(void *arg, uint32_t record)
{
	(void)arg;
	assert_int_not_equal(record, 0);
	fresh++;
}

/* As a start of the daemon over what is in the tables; `pool` and `services` are the file's. */
static void begin(const char *pool, const char *services)
{
	static const struct balancer_start start = {
		.health = POOL_UNKNOWN,
		.unchecked = POOL_HEALTHY,
		.now_ms = 1000,
		.new_backend = count_record,
		.new_service = count_record,
	};
	struct err_list errors = {0};
	struct err err = {0};
	char text[2048];

	snprintf(text, sizeof(text),
		 "node: {name: n, interfaces: [eth0]}\n"
		 "pools: [{name: %s, table_size: 251, %s%s}]\n"
		 "services: [%s]\n",
		 name_of_pool, strstr(pool, "check:") ? "" : "check: {port: 80}, ", pool, services);
	fresh = 0;
	if (conf_parse(text, strlen(text), &conf, &errors))
		fail_msg("line %d: %s", errors.errors[0].line, errors.errors[0].text);
	if (balancer_new(conf, tables, &start, &balancer, &err))
		fail_msg("%s", err.text);
}

/* As SIGKILL: the tables stay. */
static void killed(void)
{
	balancer_free(balancer);
	conf_free(conf);
	balancer = NULL;
	conf = NULL;
}

static struct abi_backend *backend(size_t member)
{
	return &tables->backends[balancer_backend_record(balancer, 0, member)];
}

static uint32_t flags(size_t member)
{
	return backend(member)->flags;
}

static void all_healthy(void)
{
	for (size_t m = 0; m < conf->pools[0].backend_count; m++)
		balancer_set_health(balancer, 0, m, POOL_HEALTHY, 1000);
	balancer_settle(balancer, 1000);
}

static int set_up(void **state)
{
	(void)state;
	if (native_new(ABI_FLOWS_MIN, &native))
		return -1;
	tables = native_tables(native);
	tables->node->vip_secret = 7;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	name_of_pool = "web";
	killed();
	native_free(native);
	return 0;
}

#define B1   "{name: b1, address: 10.0.0.1}"
#define B2   "{name: b2, address: 10.0.0.2}"
#define B3   "{name: b3, address: 10.0.0.3}"
#define SHOP "{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web}"

static void test_same_file(void **state)
{
	uint64_t slots[251];
	struct abi_backend before;

	(void)state;
	begin("backends: [" B1 ", " B2 "]", SHOP);
	assert_int_equal(fresh, 3);
	all_healthy();
	before = *backend(1);
	memcpy(slots, tables->slots, sizeof(slots));
	killed();
	begin("backends: [" B1 ", " B2 "]", SHOP);
	assert_int_equal(fresh, 0);
	assert_memory_equal(backend(1), &before, sizeof(before));
	assert_memory_equal(tables->slots, slots, sizeof(slots));
	assert_int_equal(pool_member_health(balancer_pool(balancer, 0), 1), POOL_HEALTHY);
}

/* A record goes with its backend's address, wherever that stands in the list. */
static void test_other_file(void **state)
{
	uint32_t records[2], generation;
	struct addr vip;

	(void)state;
	begin("backends: [" B1 ", " B2 "]", SHOP);
	all_healthy();
	records[0] = balancer_backend_record(balancer, 0, 0);
	records[1] = balancer_backend_record(balancer, 0, 1);
	generation = tables->backends[records[0]].generation;
	killed();
	begin("backends: [" B3 ", " B2 "]",
	      "{name: shop, vips: [192.0.2.2], listen: [tcp/80], pool: web}");
	assert_int_equal(fresh, 1);
	assert_int_equal(balancer_backend_record(balancer, 0, 1), records[1]);
	assert_int_not_equal(balancer_backend_record(balancer, 0, 0), records[0]);
	assert_int_equal(tables->backends[records[0]].flags, 0);
	assert_int_equal(addr_parse("192.0.2.1", &vip), 0);
	assert_null(dp_tables_vip(tables, &vip));
	assert_int_equal(addr_parse("192.0.2.2", &vip), 0);
	assert_non_null(dp_tables_vip(tables, &vip));
	killed();
	/* A backend that comes back gets a record of another generation: old pins match nothing. */
	begin("backends: [" B1 ", " B3 ", " B2 "]", SHOP);
	assert_int_equal(balancer_backend_record(balancer, 0, 0), records[0]);
	assert_int_not_equal(backend(0)->generation, generation);
}

/* Nobody is waited for who is never checked, or a pool that is new would refuse what comes. */
static void test_unchecked(void **state)
{
	const uint32_t up = ABI_BACKEND_UP | ABI_BACKEND_HEALTHY;

	(void)state;
	begin("check: {type: none}, backends: [" B1 ", " B2 "]", SHOP);
	for (size_t m = 0; m < 2; m++)
		assert_int_equal(flags(m) & up, up);
	for (uint32_t slot = 0; slot < 251; slot++)
		assert_int_not_equal(abi_slot_current(tables->slots[slot]), 0);
}

/* Until its first check has a result a backend keeps the flows that it had. */
static void test_flows_stay(void **state)
{
	static const char pool[] = "on_down: reset, backends: "
				   "[{name: b1, address: 10.0.0.1, state: drain}, " B2 ", " B3 "]";
	uint32_t generation;

	(void)state;
	begin(pool, SHOP);
	all_healthy();
	balancer_set_health(balancer, 0, 2, POOL_UNHEALTHY, 1000);
	assert_int_equal(flags(0), KEEP | WELL);
	assert_int_equal(flags(1), FULL);
	assert_int_equal(flags(2), 0);
	generation = backend(0)->generation;
	killed();
	begin(pool, SHOP);
	assert_int_equal(flags(0), KEEP | WELL);
	assert_int_equal(flags(1), FULL);
	assert_int_equal(flags(2) & UP, 0);
	assert_int_equal(backend(0)->generation, generation);
	balancer_set_health(balancer, 0, 0, POOL_UNHEALTHY, 2000);
	assert_int_equal(flags(0), 0);
}

/* A SYN (or another segment) for 192.0.2.1 port 80; returns the backend's record. */
static uint32_t run_segment(uint32_t flow, uint8_t tcp_flags)
{
	struct frame_spec spec = {.src = "203.0.113.5", .dst = "192.0.2.1", .dport = 80};
	uint8_t buffer[2 + FRAME_MAX + NATIVE_HEADROOM];
	struct dp_result result;
	struct frame frame;

	spec.sport = (uint16_t)(1 + flow % 50000);
	spec.tcp_flags = tcp_flags;
	frame_build(&spec, &frame);
	frame.bytes[FRAME_ETH + 14] = (uint8_t)(flow / 50000); /* of the source address */
	memcpy(buffer + 2, frame.bytes, frame.length);
	assert_int_equal(native_run(native, buffer + 2, frame.length,
				    frame.length + NATIVE_HEADROOM, 1, &result),
			 0);
	return result.trace.backend;
}

/* Weight 0 in a new file: no new flow, and the old ones stay. */
static void test_case_10_in_a_file(void **state)
{
	enum { OLD = 200, NEW = 100000 };
	static uint32_t owners[OLD];
	uint32_t record, kept = 0;

	(void)state;
	tables->node->insert_limit = UINT32_MAX;
	begin("backends: [" B1 ", " B2 ", " B3 "]", SHOP);
	all_healthy();
	record = balancer_backend_record(balancer, 0, 1);
	for (uint32_t flow = 0; flow < OLD; flow++) {
		owners[flow] = run_segment(flow, FRAME_SYN);
		assert_int_equal(run_segment(flow, FRAME_ACK), owners[flow]);
	}
	killed();
	begin("backends: [" B1 ", {name: b2, address: 10.0.0.2, weight: 0}, " B3 "]", SHOP);
	all_healthy();
	assert_int_equal(balancer_backend_record(balancer, 0, 1), record);
	for (uint32_t flow = 0; flow < OLD; flow++) {
		assert_int_equal(run_segment(flow, FRAME_ACK), owners[flow]);
		kept += owners[flow] == record;
	}
	assert_in_range(kept, OLD / 6, OLD / 2);
	for (uint32_t flow = OLD; flow < OLD + NEW; flow++) {
		uint32_t owner = run_segment(flow, FRAME_SYN);

		assert_true(owner && owner != record);
	}
}

/* The record says at once that a backend is down; its slots go to others when all is settled. */
static void test_settle(void **state)
{
	uint32_t down, up;
	uint64_t slot;

	(void)state;
	begin("backends: [" B1 ", " B2 "]", SHOP);
	all_healthy();
	down = abi_slot_current(tables->slots[0]);
	up = abi_slot_other(tables->slots[0]);
	assert_int_not_equal(up, 0);
	balancer_set_health(balancer, 0, backend(1) == &tables->backends[down], POOL_UNHEALTHY,
			    1000);
	assert_int_equal(tables->backends[down].flags, KEEP);
	assert_int_equal(abi_slot_current(tables->slots[0]), down);
	balancer_settle(balancer, 1000);
	slot = tables->slots[0];
	assert_int_equal(abi_slot_current(slot), up);
	assert_int_equal(abi_slot_other(slot), down);
}

/* Maintenance cuts flows for good. */
static void test_maint(void **state)
{
	uint32_t generation;

	(void)state;
	begin("backends: [" B1 ", " B2 "]", SHOP);
	all_healthy();
	generation = backend(0)->generation;
	balancer_set_admin(balancer, 0, 0, POOL_MAINT, 1000);
	assert_int_equal(flags(0), WELL);
	balancer_set_admin(balancer, 0, 0, POOL_ACTIVE, 2000);
	assert_int_equal(flags(0), FULL);
	assert_int_not_equal(backend(0)->generation, generation);
}

/* on_down: keep ends by time alone. */
static void test_deadline(void **state)
{
	(void)state;
	begin("on_down: keep, on_down_keep: 5s, backends: [" B1 ", " B2 "]", SHOP);
	all_healthy();
	balancer_set_health(balancer, 0, 0, POOL_UNHEALTHY, 1000);
	assert_int_equal(balancer_deadline_ms(balancer, 1000), 6000);
	balancer_tick(balancer, 5999);
	assert_int_equal(flags(0), KEEP);
	balancer_tick(balancer, 6000);
	assert_int_equal(flags(0), 0);
	assert_true(balancer_deadline_ms(balancer, 6000) > 6000 + 1000);
}

/* Each service has its own way of forwarding, and a new file may change it. */
static void test_forward(void **state)
{
	(void)state;
	begin("backends: [" B1 "]",
	      "{name: a, vips: [192.0.2.1], listen: [tcp/80], pool: web, forward: gre}, "
	      "{name: b, vips: [192.0.2.1], listen: [tcp/81], pool: web, forward: gue}, "
	      "{name: c, vips: [192.0.2.1], listen: [tcp/82], pool: web}");
	assert_int_equal(tables->services[balancer_service_record(balancer, 0)].mode, TUNNEL_GRE);
	assert_int_equal(tables->services[balancer_service_record(balancer, 1)].mode, TUNNEL_GUE);
	assert_int_equal(tables->services[balancer_service_record(balancer, 2)].mode, TUNNEL_IPIP);
	killed();
	begin("backends: [" B1 "]",
	      "{name: a, vips: [192.0.2.1], listen: [tcp/80], pool: web, forward: l2dsr}");
	assert_int_equal(tables->services[balancer_service_record(balancer, 0)].mode, TUNNEL_L2DSR);
}

/* Pieces of datagrams are pinned if nothing else is said, and the program is to have the code. */
static void test_fragments(void **state)
{
	const uint32_t code = ABI_HAS_FRAGMENT | ABI_HAS_TRACK;

	(void)state;
	begin("backends: [" B1 "]",
	      "{name: a, vips: [192.0.2.1], listen: [tcp/80], pool: web, tracking: none}, "
	      "{name: b, vips: [192.0.2.1], listen: [tcp/81], pool: web, tracking: none, "
	      "fragments: drop}");
	assert_true(tables->services[balancer_service_record(balancer, 0)].flags &
		    ABI_SERVICE_FRAGMENTS);
	assert_false(tables->services[balancer_service_record(balancer, 1)].flags &
		     ABI_SERVICE_FRAGMENTS);
	assert_int_equal(balancer_features(conf) & code, code);
	/* 30 s in ticks of 2^30 ns, and one. */
	assert_int_equal(tables->node->fragment_ticks, 29);
	killed();
	begin("backends: [" B1 "]",
	      "{name: b, vips: [192.0.2.1], listen: [tcp/81], pool: web, tracking: none, "
	      "fragments: drop}");
	assert_int_equal(balancer_features(conf) & code, 0);
}

/* Whether a next hop is the backend itself each change says, and changes of health keep. */
static void test_link(void **state)
{
	struct dp_nexthop hop = {.ifindex = 3, .mtu = 1500, .on_link = true};
	const uint32_t found = ABI_BACKEND_NEIGH | ABI_BACKEND_LINK;

	(void)state;
	begin("backends: [" B1 ", " B2 "]", SHOP);
	all_healthy();
	balancer_set_nexthop(balancer, 0, 0, &hop);
	assert_int_equal(flags(0), FULL | found);
	balancer_set_health(balancer, 0, 0, POOL_UNHEALTHY, 1000);
	assert_int_equal(flags(0), KEEP | found);
	hop.on_link = false;
	balancer_set_nexthop(balancer, 0, 0, &hop);
	assert_int_equal(flags(0), KEEP | ABI_BACKEND_NEIGH);
	hop.on_link = true;
	balancer_set_nexthop(balancer, 0, 0, &hop);
	assert_int_equal(flags(0), KEEP | found);
	balancer_set_nexthop(balancer, 0, 0, NULL);
	assert_int_equal(flags(0), KEEP);
	hop.tags[0] = 0x81000064;
	balancer_set_nexthop(balancer, 0, 0, &hop);
	balancer_set_health(balancer, 0, 0, POOL_HEALTHY, 2000);
	balancer_settle(balancer, 2000);
	assert_int_equal(flags(0), FULL | found | ABI_BACKEND_TAGGED);
}

/* A pool gets another name: its backends are the same. */
static void test_other_name(void **state)
{
	static const char other[] = "{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: www}";
	struct dp_nexthop hop = {.ifindex = 3, .mtu = 1500};
	uint32_t first, second;

	(void)state;
	begin("backends: [" B1 ", " B2 "]", SHOP);
	balancer_set_nexthop(balancer, 0, 0, &hop);
	balancer_set_health(balancer, 0, 0, POOL_HEALTHY, 1000);
	balancer_set_health(balancer, 0, 1, POOL_UNHEALTHY, 1000);
	balancer_settle(balancer, 1000);
	first = balancer_backend_record(balancer, 0, 0);
	second = balancer_backend_record(balancer, 0, 1);
	killed();
	name_of_pool = "www";
	begin("backends: [" B3 ", " B2 ", " B1 "]", other);
	assert_int_equal(fresh, 1);
	assert_int_equal(balancer_backend_record(balancer, 0, 2), first);
	assert_int_equal(balancer_backend_record(balancer, 0, 1), second);
	assert_int_equal(flags(2), FULL | ABI_BACKEND_NEIGH);
	assert_int_equal(flags(1) & UP, 0);
	assert_int_equal(flags(0) & UP, 0);
	killed();
	/* One of another port is another backend; and so is one of a pool that is there still. */
	name_of_pool = "web";
	begin("backends: [{name: b1, address: 10.0.0.1, port: 81}, " B2 "]",
	      "{name: shop, vips: [192.0.2.1], listen: [tcp/81], pool: web}");
	assert_int_equal(fresh, 1);
	assert_int_equal(balancer_backend_record(balancer, 0, 1), second);
	assert_int_equal(flags(0) & UP, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_same_file), TEST(test_other_file),
		TEST(test_unchecked), TEST(test_flows_stay),
		TEST(test_settle),    TEST(test_maint),
		TEST(test_deadline),  TEST(test_case_10_in_a_file),
		TEST(test_forward),   TEST(test_link),
		TEST(test_fragments), TEST(test_other_name),
	};

	return cmocka_run_group_tests_name("balancer", tests, NULL, NULL);
}
