// SPDX-License-Identifier: BSD-2-Clause
/*
 * Policies and server ids of a configuration in the tables: filled, known again by a successor,
 * taken away when the file no longer names them. The tables are the native engine's; a successor
 * is a second balancer over them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "engine/native.h"
#include "engine/servers.h"
#include "weir/balancer/balancer.h"

static struct native *native;
static struct dp_tables *tables;
static struct conf *conf;
static struct balancer *balancer;

static void new_record(void *arg, uint32_t record)
{
	(void)arg;
	assert_int_not_equal(record, 0);
}

/* As a start of the daemon; `web` and `dns` are the pools, `one` and `two` what services add. */
static void begin(const char *web, const char *dns, const char *one, const char *two)
{
	static const struct balancer_start start = {
		.health = POOL_HEALTHY,
		.unchecked = POOL_HEALTHY,
		.now_ms = 1000,
		.new_backend = new_record,
		.new_service = new_record,
	};
	struct err_list errors = {0};
	struct err err = {0};
	char text[2048];

	snprintf(text, sizeof(text),
		 "node: {name: n, interfaces: [eth0]}\n"
		 "pools:\n"
		 "  - {name: web, check: {type: none}, %s}\n"
		 "  - {name: dns, check: {type: none}, table_size: 251, %s}\n"
		 "services:\n"
		 "  - {name: one, vips: [192.0.2.1], listen: [udp/443], pool: web%s}\n"
		 "  - {name: two, vips: [192.0.2.2], listen: [tcp/443], pool: dns%s}\n",
		 web, dns, one, two);
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
	killed();
	native_free(native);
	return 0;
}

static uint32_t find(size_t pool, uint32_t id)
{
	return dp_servers_find(tables, balancer_first_slot(balancer, pool), id);
}

static size_t count_ids(void)
{
	struct dp_server server;
	uint32_t place = 0;
	size_t count = 0;

	while (dp_servers_next(tables, &place, &server))
		count++;
	return count;
}

#define B1(id)       "{name: b1, address: 10.0.0.1" id "}"
#define B2(id)       "{name: b2, address: 10.0.0.2" id "}"
#define ID(number)   ", server_id: " #number
#define SIZE(number) "table_size: " #number ", "
#define OF(backends) "backends: [" backends "]"
#define BY_CID       ", policy: quic-cid"
#define BY_OPTION    ", tcp_server_id: true"

/* The same id in two pools is two ids. */
static void test_filled(void **state)
{
	(void)state;
	begin(SIZE(251) OF(B1(ID(7)) "," B2(ID(65535))), OF(B1(ID(7))), BY_CID, BY_OPTION);
	assert_int_equal(count_ids(), 3);
	assert_int_equal(find(0, 7), balancer_backend_record(balancer, 0, 0));
	assert_int_equal(find(0, 65535), balancer_backend_record(balancer, 0, 1));
	assert_int_equal(find(1, 7), balancer_backend_record(balancer, 1, 0));
	assert_int_not_equal(find(0, 7), find(1, 7));
	assert_int_equal(find(1, 65535), 0);
}

/* A successor's file: one id moves, one goes, one comes, one stays; then none is left. */
static void test_successor(void **state)
{
	(void)state;
	begin(SIZE(251) OF(B1(ID(1)) "," B2(ID(2))), OF(B1(ID(9))), BY_CID, BY_OPTION);
	killed();
	begin(SIZE(251) OF(B1(ID(3)) "," B2(ID(1))), OF(B1(ID(9))), BY_CID, BY_OPTION);
	assert_int_equal(count_ids(), 3);
	assert_int_equal(find(0, 1), balancer_backend_record(balancer, 0, 1));
	assert_int_equal(find(0, 3), balancer_backend_record(balancer, 0, 0));
	assert_int_equal(find(1, 9), balancer_backend_record(balancer, 1, 0));
	killed();
	begin(SIZE(251) OF(B1("") "," B2("")), OF(B1("")), "", "");
	assert_int_equal(count_ids(), 0);
}

/* A pool with a table of another size has other slots, and its ids go along. */
static void test_slots_move(void **state)
{
	uint32_t before;

	(void)state;
	begin(SIZE(251) OF(B1(ID(5))), OF(B1("")), BY_CID, "");
	before = balancer_first_slot(balancer, 0);
	killed();
	begin(SIZE(509) OF(B1(ID(5))), OF(B1("")), BY_CID, "");
	assert_int_not_equal(balancer_first_slot(balancer, 0), before);
	assert_int_equal(find(0, 5), balancer_backend_record(balancer, 0, 0));
	assert_int_equal(dp_servers_find(tables, before, 5), 0);
	assert_int_equal(count_ids(), 1);
}

static void test_policies(void **state)
{
	const uint32_t by_policy = ABI_SERVICE_POLICY | ABI_SERVICE_SERVER_ID;
	const struct abi_service *one, *two;

	(void)state;
	begin(OF(B1("")), OF(B1(ID(1))), BY_CID ", quic: {cid: quic-lb, config: 6, length: 3}",
	      BY_OPTION);
	assert_int_not_equal(balancer_features(conf) & ABI_HAS_SPECIAL, 0);
	one = &tables->services[balancer_service_record(balancer, 0)];
	two = &tables->services[balancer_service_record(balancer, 1)];
	assert_int_equal(one->policy, ABI_POLICY_QUIC_CID);
	assert_int_equal(one->flags & by_policy, ABI_SERVICE_POLICY);
	assert_int_equal(one->cid, ABI_CID_QUIC_LB);
	assert_int_equal(one->cid_config, 6);
	assert_int_equal(one->cid_length, 3);
	assert_int_equal(two->policy, ABI_POLICY_5TUPLE);
	assert_int_equal(two->flags & by_policy, ABI_SERVICE_SERVER_ID);
	killed();
	begin(OF(B1("")), OF(B1("")), ", policy: source-prefix, source_prefix4: 20",
	      ", policy: source");
	assert_int_equal(one->policy, ABI_POLICY_SOURCE_PREFIX);
	assert_int_equal(one->source_prefix4, 20);
	assert_int_equal(one->source_prefix6, 56);
	assert_int_equal(two->policy, ABI_POLICY_SOURCE);
	assert_int_equal(two->flags & by_policy, ABI_SERVICE_POLICY);
	killed();
	begin(OF(B1("")), OF(B1("")), BY_CID ", quic: {cid: katran}", "");
	assert_int_equal(one->cid, ABI_CID_KATRAN);
	assert_int_equal(two->flags & by_policy, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_filled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_successor, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_slots_move, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_policies, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
