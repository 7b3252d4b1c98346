// SPDX-License-Identifier: BSD-2-Clause
/*
 * The writer of server ids, against a twin that is a plain list; and packets that look ids up
 * while they come and go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/frame/frame.h"
#include "../lib/world/policy.h"
#include "../lib/world/world.h"
#include "dp/verdict.h"
#include "engine/native.h"
#include "engine/servers.h"

static struct native *native;
static struct dp_tables *tables;

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
	native_free(native);
	return 0;
}

static size_t count_used(void)
{
	size_t used = 0;

	for (size_t i = 0; i < ABI_SERVERS; i++)
		used += tables->servers[i].key != 0;
	return used;
}

/* --- the twin: the backend of id i % IDS of the pool i / IDS --- */

enum { POOLS = 3, IDS = 400, TWINS = POOLS * IDS };
static uint32_t twin[TWINS];

static uint32_t slot_of(size_t i)
{
	return (uint32_t)(i / IDS) * 65537;
}

static uint32_t id_of(size_t i)
{
	return 1 + (uint32_t)(i % IDS) * (i % 2 ? 1 : 0x1000001);
}

static void compare(void)
{
	uint32_t place = 0;
	size_t listed = 0, expected = 0;
	struct dp_server server;

	for (size_t i = 0; i < TWINS; i++) {
		assert_int_equal(dp_servers_find(tables, slot_of(i), id_of(i)), twin[i]);
		expected += twin[i] != 0;
	}
	while (dp_servers_next(tables, &place, &server)) {
		assert_int_equal(dp_servers_find(tables, server.first_slot, server.id),
				 server.backend);
		listed++;
	}
	assert_int_equal(listed, expected);
}

static void test_random_changes(void **state)
{
	enum { CHANGES = 60000 };

	(void)state;
	for (unsigned int n = 0; n < CHANGES; n++) {
		size_t i = frame_random() % TWINS;

		if (frame_random() % 2) {
			twin[i] = 1 + (uint32_t)(frame_random() % (ABI_BACKENDS - 1));
			assert_int_equal(dp_servers_set(tables, slot_of(i), id_of(i), twin[i]), 0);
		} else {
			twin[i] = 0;
			dp_servers_remove(tables, slot_of(i), id_of(i));
		}
		if (n % 5000 == 0)
			compare();
	}
	compare();
	for (size_t i = 0; i < TWINS; i++)
		dp_servers_remove(tables, slot_of(i), id_of(i));
	assert_int_equal(count_used(), 0);
}

/* Whatever the secret, all that are allowed find a place: in one pool's row, or in many's. */
static void test_full(void **state)
{
	(void)state;
	for (uint64_t secret = 1; secret <= 40; secret++) {
		uint32_t ids = secret % 2 ? ABI_SERVERS_USED : 4;

		tables->node->vip_secret = secret * 0x9e3779b97f4a7c15ULL;
		for (uint32_t i = 0; i < ABI_SERVERS_USED; i++)
			assert_int_equal(dp_servers_set(tables, i / ids, 1 + i % ids, 1), 0);
		for (uint32_t i = 0; i < ABI_SERVERS_USED; i++)
			assert_int_equal(dp_servers_find(tables, i / ids, 1 + i % ids), 1);
		memset(tables->servers, 0, ABI_SERVERS * sizeof(*tables->servers));
	}
}

/* A table with no place in reach refuses, and nothing is changed. */
static void test_no_place(void **state)
{
	struct abi_server *before = malloc(ABI_SERVERS * sizeof(*before));
	uint32_t id = 1;
	int ret = 0;

	(void)state;
	assert_non_null(before);
	while (!ret && id < ABI_SERVERS)
		ret = dp_servers_set(tables, 5, id++, 9);
	assert_int_equal(ret, -ENOSPC);
	assert_int_equal(dp_servers_find(tables, 5, id - 1), 0);
	memcpy(before, tables->servers, ABI_SERVERS * sizeof(*before));
	assert_int_equal(dp_servers_set(tables, 5, id - 1, 9), -ENOSPC);
	assert_memory_equal(before, tables->servers, ABI_SERVERS * sizeof(*before));
	free(before);
}

/* --- under running packets --- */

enum { STAYS = WORLD_ID16, COMES_AND_GOES = 0x3000, OTHERS = 0x4000 };
enum { ROUNDS = 20000, RUNS_MIN = 2000, ROW = 24, NEAR = 300 };
static atomic_bool stop;
static atomic_uint runs;

static struct dp_result run_id(uint32_t id)
{
	static const struct frame_spec spec = {
		.src = WORLD_CLIENT4,
		.dst = WORLD_CID_VIP4,
		.proto = IPPROTO_UDP,
		.dport = 443,
		.payload = 30,
	};
	static uint8_t bytes[FRAME_MAX];
	struct dp_result result;
	struct frame frame;

	frame_build(&spec, &frame);
	frame_put(frame.bytes + frame.l4 + 8, 4, 0x40600000 | id);
	memcpy(bytes, frame.bytes, frame.length);
	assert_int_equal(
		native_run(native, bytes, frame.length, frame.length + NATIVE_HEADROOM, 1, &result),
		0);
	return result;
}

/* Wrong outcomes; a thread may not fail a test. */
static void *run_packets(void *arg)
{
	size_t *wrong = arg;

	while (!atomic_load(&stop)) {
		struct abi_trace stays = run_id(STAYS).trace, comes = run_id(COMES_AND_GOES).trace;

		*wrong += stays.why != WHY_CID || stays.backend != WORLD_CID2;
		*wrong += comes.backend != (comes.why == WHY_CID ? WORLD_CID2 : WORLD_CID1);
		atomic_fetch_add(&runs, 1);
	}
	return NULL;
}

/* Where an id would go that is not there. */
static size_t place_of(uint32_t first, uint32_t id)
{
	size_t place = 0;

	assert_int_equal(dp_servers_set(tables, first, id, WORLD_KATRAN1), 0);
	while (tables->servers[place].key != abi_server_key(first, id))
		place++;
	dp_servers_remove(tables, first, id);
	return place;
}

/* Ids that go near to where COMES_AND_GOES does, and so take its place, or move it. */
static void find_row(uint32_t first, uint32_t row[ROW])
{
	size_t middle = place_of(first, COMES_AND_GOES);
	uint32_t found = 0;

	for (uint32_t id = OTHERS; found < ROW && id < 0x10000; id++) {
		size_t place = place_of(first, id);

		if (place + NEAR > middle && place < middle + NEAR)
			row[found++] = id;
	}
	assert_int_equal(found, ROW);
}

static void test_under_running_packets(void **state)
{
	uint32_t first, row[ROW];
	size_t wrong = 0;
	pthread_t thread;

	(void)state;
	world_fill(tables);
	first = (uint32_t)tables->services[WORLD_CID].table;
	find_row(first, row);
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&thread, NULL, run_packets, &wrong), 0);
	for (unsigned int n = 0; n < ROUNDS || atomic_load(&runs) < RUNS_MIN; n++) {
		dp_servers_set(tables, first, COMES_AND_GOES, WORLD_CID2);
		dp_servers_set(tables, first, row[n % ROW], WORLD_KATRAN1);
		dp_servers_remove(tables, first, COMES_AND_GOES);
		dp_servers_remove(tables, first, row[(n + 7) % ROW]);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random_changes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_place, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_under_running_packets, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
