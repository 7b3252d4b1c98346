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
#include "weir/node/balancer.h"

static struct native *native;
static struct dp_tables *tables;
static struct conf *conf;
static struct balancer *balancer;

static void new_record(void *arg, uint32_t record)
{
	(void)arg;
	assert_int_not_equal(record, 0);
}

static void parse(const char *pools)
{
	struct err_list errors = {0};
	char text[2048];

	snprintf(text, sizeof(text),
		 "node: {name: n, interfaces: [eth0]}\n"
		 "pools: [%s]\n"
		 "services:\n"
		 "  - {name: one, vips: [192.0.2.1], listen: [udp/443], pool: web}\n"
		 "  - {name: two, vips: [192.0.2.2], listen: [udp/443], pool: dns}\n",
		 pools);
	if (conf_parse(text, strlen(text), &conf, &errors))
		fail_msg("line %d: %s", errors.errors[0].line, errors.errors[0].text);
	for (size_t s = 0; s < conf->service_count; s++)
		conf->services[s].policy = CONF_POLICY_5TUPLE;
}

static void begin(void)
{
	static const struct balancer_start start = {
		.health = POOL_HEALTHY,
		.now_ms = 1000,
		.new_backend = new_record,
		.new_service = new_record,
	};
	struct err err = {0};

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

#define B1       "{name: b1, address: 10.0.0.1}"
#define B2       "{name: b2, address: 10.0.0.2}"
#define POOL_WEB "{name: web, table_size: 251, check: {type: none}, backends: [" B1 ", " B2 "]}"
#define POOL_DNS "{name: dns, table_size: 251, check: {type: none}, backends: [" B1 "]}"

/* The same id in two pools is two ids. */
static void test_filled(void **state)
{
	(void)state;
	parse(POOL_WEB ", " POOL_DNS);
	conf->pools[0].backends[0].server_id = 7;
	conf->pools[0].backends[1].server_id = UINT32_MAX;
	conf->pools[1].backends[0].server_id = 7;
	begin();
	assert_int_equal(count_ids(), 3);
	assert_int_equal(find(0, 7), balancer_backend_record(balancer, 0, 0));
	assert_int_equal(find(0, UINT32_MAX), balancer_backend_record(balancer, 0, 1));
	assert_int_equal(find(1, 7), balancer_backend_record(balancer, 1, 0));
	assert_int_not_equal(find(0, 7), find(1, 7));
	assert_int_equal(find(1, UINT32_MAX), 0);
}

/* A successor's file: one id moves, one goes, one comes, one stays. */
static void test_successor(void **state)
{
	(void)state;
	parse(POOL_WEB ", " POOL_DNS);
	conf->pools[0].backends[0].server_id = 1;
	conf->pools[0].backends[1].server_id = 2;
	conf->pools[1].backends[0].server_id = 9;
	begin();
	killed();
	parse(POOL_WEB ", " POOL_DNS);
	conf->pools[0].backends[1].server_id = 1;
	conf->pools[0].backends[0].server_id = 3;
	conf->pools[1].backends[0].server_id = 9;
	begin();
	assert_int_equal(count_ids(), 3);
	assert_int_equal(find(0, 1), balancer_backend_record(balancer, 0, 1));
	assert_int_equal(find(0, 3), balancer_backend_record(balancer, 0, 0));
	assert_int_equal(find(1, 9), balancer_backend_record(balancer, 1, 0));
	killed();
	parse(POOL_WEB ", " POOL_DNS);
	begin();
	assert_int_equal(count_ids(), 0);
}

/* A pool with a table of another size has other slots, and its ids go along. */
static void test_slots_move(void **state)
{
	uint32_t before;

	(void)state;
	parse(POOL_WEB ", " POOL_DNS);
	conf->pools[0].backends[0].server_id = 5;
	begin();
	before = balancer_first_slot(balancer, 0);
	killed();
	parse("{name: web, table_size: 509, check: {type: none}, backends: [" B1 "]}, " POOL_DNS);
	conf->pools[0].backends[0].server_id = 5;
	begin();
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
	parse(POOL_WEB ", " POOL_DNS);
	assert_int_equal(balancer_features(conf) & ABI_HAS_SPECIAL, 0);
	conf->services[0].policy = CONF_POLICY_QUIC_CID;
	conf->services[0].quic =
		(struct conf_quic){.cid = CONF_CID_KATRAN, .config = 6, .length = 3};
	conf->services[1].tcp_server_id = true;
	begin();
	one = &tables->services[balancer_service_record(balancer, 0)];
	two = &tables->services[balancer_service_record(balancer, 1)];
	assert_int_equal(one->policy, ABI_POLICY_QUIC_CID);
	assert_int_equal(one->flags & by_policy, ABI_SERVICE_POLICY);
	assert_int_equal(one->cid, ABI_CID_KATRAN);
	assert_int_equal(one->cid_config, 6);
	assert_int_equal(one->cid_length, 3);
	assert_int_equal(two->policy, ABI_POLICY_5TUPLE);
	assert_int_equal(two->flags & by_policy, ABI_SERVICE_SERVER_ID);
	assert_int_not_equal(balancer_features(conf) & ABI_HAS_SPECIAL, 0);
	killed();
	parse(POOL_WEB ", " POOL_DNS);
	conf->services[0].policy = CONF_POLICY_SOURCE_PREFIX;
	conf->services[0].source_prefix4 = 24;
	conf->services[0].source_prefix6 = 56;
	begin();
	assert_int_equal(one->policy, ABI_POLICY_SOURCE_PREFIX);
	assert_int_equal(one->source_prefix4, 24);
	assert_int_equal(one->source_prefix6, 56);
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
