/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/: the file of events, routers, and what is known of the schemes Weir is compared with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/events.h"
#include "sim/router.h"
#include "sim/scheme.h"

enum { FLOWS = 200000, GAP_MS = 60000 };

static struct sim_fleet fleet;
static struct sim_events events;
static struct err_list errors;

static void add_backends(size_t count, uint32_t table_size)
{
	sim_fleet_init(&fleet);
	fleet.seed = 7;
	fleet.table_size = table_size;
	for (size_t i = 0; i < count; i++) {
		char name[16], text[32];
		struct sim_backend backend = {
			.name = name,
			.identity = 1000 + i,
			.weight = 100,
			.share = 100,
			.present = true,
			.conf = i,
		};

		snprintf(name, sizeof(name), "b%zu", i + 1);
		snprintf(text, sizeof(text), "10.0.%zu.%zu", i / 250, i % 250 + 1);
		assert_int_equal(addr_parse(text, &backend.address), 0);
		assert_int_equal(sim_fleet_add(&fleet, &backend), i);
	}
}

static int set_up(void **state)
{
	(void)state;
	errors = (struct err_list){0};
	events = (struct sim_events){0};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sim_events_fini(&events);
	sim_fleet_fini(&fleet);
	err_list_fini(&errors);
	return 0;
}

static int parse(const char *text)
{
	const struct sim_reading reading = {&fleet, 2, GAP_MS};

	return sim_events_parse(text, &reading, &events, &errors);
}

/* --- the file of events --- */

static void test_events(void **state)
{
	static const struct sim_event wanted[] = {
		{SIM_FAIL, 0, 0},
		{SIM_FAIL, 2, 0},
		{SIM_NODE_DOWN, 1, 0},
		{SIM_WEIGHT, 1, 50},
		{SIM_ADD, 3, 0},
		{SIM_REMOVE, 3, 0},
		{SIM_ADD, 3, 0},
		{SIM_UNHEALTHY, 3, 0},
		{SIM_RETURN, 0, 0},
		{SIM_DRAIN, 0, 0},
		{SIM_MAINT, 0, 0},
		{SIM_READY, 0, 0},
		{SIM_NODE_UP, 4, 0},
		{SIM_NODE_OUT, 4, 0},
		{SIM_NODE_IN, 4, 0},
		{SIM_REHASH, 0, 0},
		{SIM_ROUTER, SIM_ROUTING_HRW, 0},
		{SIM_WAIT, 0, 0},
	};
	static const uint64_t times[] = {60000, 90000, 90500, 150500};

	(void)state;
	add_backends(3, 251);
	assert_int_equal(parse("# none\n\n  fail b1,b3 # two\n+0s node-down 2\n90s weight b2 50%\n"
			       "+500ms\tadd new weight=7 address=192.0.2.9\r\n"
			       "remove new\n+0s add new\n+0s unhealthy new\n+0s return b1\n"
			       "+0s drain b1\n+0s maint b1\n+0s ready b1\n+0s node-up 5\n"
			       "+0s node-out 5\n+0s node-in 5\n+0s rehash\n+0s router hrw\n"
			       "+0s wait"),
			 0);
	assert_int_equal(events.event_count, sizeof(wanted) / sizeof(wanted[0]));
	assert_memory_equal(events.events, wanted, sizeof(wanted));
	assert_int_equal(events.step_count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(events.steps[i].at_ms, times[i]);
	assert_int_equal(events.steps[0].count, 3);
	assert_string_equal(events.steps[0].text, "fail b1,b3, node-down 2");
	assert_int_equal(events.nodes, 5);
	assert_int_equal(fleet.count, 4);
	assert_int_equal(fleet.backends[3].weight, 7);
	assert_false(fleet.backends[3].present);
}

static void test_refused_events(void **state)
{
	static const struct {
		const char *text;
		int line, column;
		const char *what;
	} rows[] = {
		{"explode b1", 1, 1, "no such event"},
		{"\nfail b1,b9", 2, 9, "no such backend is in the pool at this time; there are b1"},
		{"fail", 1, 1, "names are missing"},
		{"fail b1 b2", 1, 9, "nothing may follow"},
		{"fail b1,,b2", 1, 9, "no such backend"},
		{"remove b1\nfail b1", 2, 6, "no such backend"},
		{"add b1", 1, 5, "in the pool already"},
		{"add -x", 1, 5, "a name has"},
		{"add x weight=", 1, 7, "expected weight=N"},
		{"add x weight=1000001", 1, 7, "expected weight=N"},
		{"add x weight=5x", 1, 7, "expected weight=N"},
		{"add x address=10.0.0.256", 1, 7, "expected weight=N"},
		{"add x colour=1", 1, 7, "expected weight=N"},
		{"add x\nremove x\nadd x weight=3", 3, 7, "comes back as it was"},
		{"weight b1", 1, 8, "expected N%"},
		{"weight b1 101%", 1, 11, "expected 0% to 100%"},
		{"weight b1 50", 1, 11, "expected 0% to 100%"},
		{"weight b1 -1%", 1, 11, "expected 0% to 100%"},
		{"node-down 0", 1, 11, "expected a node's number"},
		{"node-down 3", 1, 11, "no node has had this number"},
		{"node-up 1025", 1, 9, "expected a node's number"},
		{"node-up x", 1, 9, "expected a node's number"},
		{"router ecmp", 1, 8, "expected modulo or hrw"},
		{"router", 1, 1, "expected modulo or hrw"},
		{"90 fail b1", 1, 1, "expected a time"},
		{"90sec fail b1", 1, 1, "expected a time"},
		{"9999999999s fail b1", 1, 1, "expected a time"},
		{"+ fail b1", 1, 1, "expected a time"},
		{"90s fail b1\n80s return b1", 2, 1, "before the time of the line before"},
		{"90s", 1, 1, "no event after it"},
		{"wait 1 2 3 4 5 6 7 8", 1, 20, "more words"},
		{"wait for it", 1, 6, "nothing may follow"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct err *err;

		add_backends(3, 251);
		assert_int_not_equal(parse(rows[i].text), 0);
		err = &errors.errors[0];
		if (errors.count != 1 || err->line != rows[i].line ||
		    err->column != rows[i].column || !strstr(err->text, rows[i].what))
			fail_msg("%s: %zu errors, the first %d:%d: %s", rows[i].text, errors.count,
				 err->line, err->column, err->text);
		tear_down(NULL);
		set_up(NULL);
	}
	sim_fleet_init(&fleet);
}

static void test_all_errors_are_said(void **state)
{
	(void)state;
	add_backends(1, 251);
	assert_int_not_equal(parse("fail x\nreturn b1\nfall b1\nadd b1"), 0);
	assert_int_equal(errors.count, 3);
}

/* Whatever stands there, it is read to its end, under sanitizers in one of the builds. */
static void test_damaged_events(void **state)
{
	static const char whole[] = "+500ms add new weight=7 address=192.0.2.9\n90s weight b2 50%\n"
				    "remove b1,b3 # two\nnode-up 5\nrouter hrw\nfail b2,new\n";
	static const char letters[] = "0123456789+,.=% #\n\tabns-\xff";
	char text[sizeof(whole)];
	size_t right = 0;

	(void)state;
	for (uint64_t i = 0; i < 5000; i++) {
		memcpy(text, whole, sizeof(whole));
		for (uint64_t hit = 0; hit < i % 5; hit++)
			text[sim_mix(i, hit) % (sizeof(whole) - 1)] =
				letters[sim_mix(i + 7, hit) % (sizeof(letters) - 1)];
		add_backends(3, 251);
		right += parse(text) == 0;
		tear_down(NULL);
		set_up(NULL);
	}
	sim_fleet_init(&fleet);
	assert_in_range(right, 1000, 4000);
}

/* --- flows and routers --- */

static int by_number(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

static void test_clients_differ(void **state)
{
	uint32_t *clients = malloc(FLOWS * sizeof(*clients));

	(void)state;
	sim_fleet_init(&fleet);
	for (uint32_t i = 0; i < FLOWS; i++)
		clients[i] = sim_client(5, i);
	qsort(clients, FLOWS, sizeof(*clients), by_number);
	for (uint32_t i = 1; i < FLOWS; i++)
		assert_int_not_equal(clients[i - 1], clients[i]);
	free(clients);
	assert_int_not_equal(sim_tuple(5, 1, 0).port, sim_tuple(5, 1, 1).port);
}

/* What part of the flows moves when one of four nodes goes. */
static double moved_by_router(enum sim_routing routing)
{
	static struct sim_router router = {.seed = 3, .nodes = 4, .up = {true, true, true, true}};
	uint16_t *nodes = calloc(FLOWS, sizeof(*nodes));
	uint64_t moved, on_last = 0;

	router.routing = routing;
	router.up[3] = true;
	sim_router_spread(&router, nodes, FLOWS);
	for (uint32_t i = 0; i < FLOWS; i++)
		on_last += nodes[i] == 3;
	assert_in_range(on_last, FLOWS / 4 - FLOWS / 100, FLOWS / 4 + FLOWS / 100);
	assert_int_equal(sim_router_spread(&router, nodes, FLOWS), 0);
	router.up[3] = false;
	moved = sim_router_spread(&router, nodes, FLOWS);
	if (routing == SIM_ROUTING_HRW)
		assert_int_equal(moved, on_last);
	free(nodes);
	return (double)moved / FLOWS;
}

static void test_routers(void **state)
{
	double modulo, hrw;

	(void)state;
	sim_fleet_init(&fleet);
	modulo = moved_by_router(SIM_ROUTING_MODULO);
	hrw = moved_by_router(SIM_ROUTING_HRW);
	assert_true(modulo > 0.74 && modulo < 0.76);
	assert_true(hrw > 0.24 && hrw < 0.26);
	assert_int_equal(sim_routing_find("hrw"), SIM_ROUTING_HRW);
	assert_int_equal(sim_routing_find("ecmp"), -1);
}

/* --- schemes --- */

struct change {
	double own;     /* part of the flows that were on the one that fails */
	double foreign; /* of the others', those that move too */
};

/* One of the backends fails. */
static struct change fail_one(enum sim_kind kind)
{
	struct sim_scheme scheme = {.kind = kind};
	uint16_t *before = malloc(FLOWS * sizeof(*before));
	uint64_t own = 0, foreign = 0;

	assert_int_equal(sim_scheme_build(&scheme, &fleet), 0);
	for (uint32_t i = 0; i < FLOWS; i++)
		before[i] = sim_scheme_choose(&scheme, sim_mix(1, i));
	fleet.backends[2].unhealthy = true;
	assert_int_equal(sim_scheme_build(&scheme, &fleet), 0);
	fleet.backends[2].unhealthy = false;
	for (uint32_t i = 0; i < FLOWS; i++) {
		uint16_t now = sim_scheme_choose(&scheme, sim_mix(1, i));

		assert_int_not_equal(now, 2);
		own += before[i] == 2;
		foreign += before[i] != 2 && now != before[i];
	}
	free(before);
	free(scheme.table);
	return (struct change){(double)own / FLOWS, (double)foreign / (double)(FLOWS - own)};
}

static void test_modulo_moves_nearly_all(void **state)
{
	struct change change;

	(void)state;
	add_backends(10, 2039);
	change = fail_one(SIM_MODULO);
	assert_true(change.own > 0.095 && change.own < 0.105);
	/* Nine of ten residues modulo 90 give another answer modulo 9, whoever is asked. */
	assert_true(change.foreign > 0.87 && change.foreign < 0.91);
}

/* docs/design/02-slots.md: one of 100 moved 0.55 % of the others' slots at 65537. */
static void test_maglev_moves_some(void **state)
{
	struct change change;

	(void)state;
	add_backends(100, 65537);
	change = fail_one(SIM_MAGLEV);
	assert_true(change.own > 0.008 && change.own < 0.012);
	assert_true(change.foreign > 0.003 && change.foreign < 0.009);
}

static void test_ring_moves_none(void **state)
{
	struct change change;

	(void)state;
	add_backends(10, 65537);
	change = fail_one(SIM_RING);
	assert_true(change.own > 0.06 && change.own < 0.14);
	assert_true(change.foreign == 0);
}

static double part_of(const struct sim_scheme *scheme, uint16_t backend)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < FLOWS; i++)
		count += sim_scheme_choose(scheme, sim_mix(1, i)) == backend;
	return (double)count / FLOWS;
}

/* 300 % : 100 % : 50 % of 100. */
static void test_shares(void **state)
{
	(void)state;
	add_backends(3, 2039);
	fleet.backends[0].weight = 300;
	fleet.backends[2].share = 50;
	for (int kind = SIM_MAGLEV; kind <= SIM_MODULO; kind++) {
		struct sim_scheme scheme = {.kind = (enum sim_kind)kind};
		double slack = kind == SIM_RING ? 0.1 : 0.01;

		assert_int_equal(sim_scheme_build(&scheme, &fleet), 0);
		assert_float_equal(part_of(&scheme, 0), 3 / 4.5, (float)slack);
		assert_float_equal(part_of(&scheme, 2), 0.5 / 4.5, (float)slack);
		free(scheme.table);
	}
}

/* A share of one moves that one's part of the ring, not the others' tokens. */
static void test_share_on_a_ring(void **state)
{
	struct sim_scheme scheme = {.kind = SIM_RING};
	uint16_t *before = malloc(FLOWS * sizeof(*before));

	(void)state;
	add_backends(10, 65537);
	assert_int_equal(sim_scheme_build(&scheme, &fleet), 0);
	for (uint32_t i = 0; i < FLOWS; i++)
		before[i] = sim_scheme_choose(&scheme, sim_mix(1, i));
	fleet.backends[4].share = 50;
	assert_int_equal(sim_scheme_build(&scheme, &fleet), 0);
	for (uint32_t i = 0; i < FLOWS; i++) {
		if (sim_scheme_choose(&scheme, sim_mix(1, i)) != before[i])
			assert_int_equal(before[i], 4);
	}
	free(before);
	free(scheme.table);
}

static void test_nobody_and_backups(void **state)
{
	struct sim_scheme scheme = {.kind = SIM_MAGLEV};

	(void)state;
	add_backends(2, 251);
	fleet.backends[1].backup = true;
	fleet.backup_below = 1;
	assert_int_equal(sim_scheme_build(&scheme, &fleet), 0);
	assert_true(part_of(&scheme, 0) == 1);
	fleet.backends[0].drain = true;
	assert_int_equal(sim_scheme_build(&scheme, &fleet), 0);
	assert_true(part_of(&scheme, 1) == 1);
	fleet.backends[1].maint = true;
	assert_int_equal(sim_scheme_build(&scheme, &fleet), 0);
	assert_int_equal(sim_scheme_choose(&scheme, 5), SIM_NOBODY);
	free(scheme.table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_events, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused_events, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_all_errors_are_said, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged_events, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_clients_differ, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_routers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_modulo_moves_nearly_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_maglev_moves_some, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ring_moves_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_shares, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_share_on_a_ring, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nobody_and_backups, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("sim", tests, NULL, NULL);
}
