/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole runs of sim/ with Weir's own nodes: what must not break does not, what cannot be helped
 * is excused, and what others break shows that the run can see it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/run.h"
#include "weir/sim/nodes.h"

enum { FLOWS = 20000, BACKENDS = 10, ROWS = 32, GAP_MS = 60000, PARTS = 10000 };

static struct sim_row rows[ROWS];
static size_t row_count;

static void keep_row(void *arg, const struct sim_row *row)
{
	(void)arg;
	assert_true(row_count < ROWS);
	rows[row_count++] = *row;
}

static struct conf *parse_conf(const char *service, const char *pool)
{
	char text[4096], backends[1024] = "";
	struct err_list errors = {0};
	struct conf *conf;

	for (int i = 1; i <= BACKENDS; i++) {
		char one[64];

		snprintf(one, sizeof(one), "%s{name: b%d, address: 10.0.0.%d}", i > 1 ? ", " : "",
			 i, i);
		strcat(backends, one);
	}
	snprintf(text, sizeof(text),
		 "node: {name: n, interfaces: [eth0], flows: {entries: 64k}}\n"
		 "pools: [{name: web, table_size: 2039, check: {port: 80}, %s\n"
		 "  backends: [%s]}]\n"
		 "services: [{name: shop, vips: [192.0.2.1], pool: web, %s}]\n",
		 pool, backends, service);
	if (conf_parse(text, strlen(text), &conf, &errors))
		fail_msg("line %d: %s", errors.errors[0].line, errors.errors[0].text);
	return conf;
}

struct setting {
	const char *service, *pool; /* of the configuration; NULL: plain TCP */
	enum sim_routing routing;
	uint64_t seed, lifetime_ms;
};

/* Plays the events; the rows are what came of them. */
static void play(const struct setting *setting, const char *text)
{
	struct conf *conf = parse_conf(setting->service ? setting->service
							: "listen: [tcp/80], tracking: transition",
				       setting->pool ? setting->pool : "");
	static struct sim_router router;
	struct sim_fleet fleet;
	struct sim_events events;
	struct err_list errors = {0};
	struct sim_nodes_spec nodes_spec = {
		.conf = conf,
		.service = &conf->services[0],
		.proto = conf->services[0].listens[0].proto,
		.cores = 4,
		.seed = setting->seed + 1,
	};
	struct sim_spec spec = {
		.flows = FLOWS,
		.seed = setting->seed + 1,
		.interval_ms = 10000,
		.settle_ms = 50,
		.idle_ms = conf->node.flows.established_ms,
		.lifetime_ms = setting->lifetime_ms,
		.fill_ms = 10000,
		.fleet = &fleet,
		.router = &router,
		.events = &events,
		.row = keep_row,
	};
	struct sim_nodes *nodes;
	struct sim_weir weir;
	struct err err = {0};

	if (nodes_spec.proto != IPPROTO_TCP)
		spec.idle_ms = conf->node.flows.udp_ms;
	sim_fleet_init(&fleet);
	assert_true(sim_nodes_fleet(conf, &conf->services[0], &fleet));
	if (sim_events_parse(text, &(struct sim_reading){&fleet, 2, GAP_MS}, &events, &errors))
		fail_msg("%d:%d: %s", errors.errors[0].line, errors.errors[0].column,
			 errors.errors[0].text);
	sim_nodes_identify(&fleet);
	nodes_spec.nodes = events.nodes;
	assert_int_equal(sim_nodes_new(&nodes_spec, &fleet, &nodes), 0);
	weir = sim_nodes_weir(nodes);
	spec.weir = &weir;
	router = (struct sim_router){.routing = setting->routing, .seed = 5, .up = {true, true}};
	row_count = 0;
	if (sim_run(&spec, &err))
		fail_msg("%s: %s", err.text, sim_nodes_error(nodes));
	sim_nodes_free(nodes);
	sim_events_fini(&events);
	sim_fleet_fini(&fleet);
	conf_free(conf);
}

static const struct sim_counts *of(size_t row, enum sim_scheme_number scheme)
{
	assert_true(row < row_count);
	return &rows[row].schemes[scheme];
}

/* In ten-thousandths of the flows. */
static uint64_t parts(uint64_t flows)
{
	return flows * PARTS / FLOWS;
}

static uint64_t broken(size_t row, enum sim_scheme_number scheme)
{
	return parts(of(row, scheme)->broken);
}

static void no_weir_flow_breaks(void)
{
	for (size_t i = 0; i < row_count; i++) {
		if (of(i, SIM_SCHEME_WEIR)->broken)
			fail_msg("%s: %llu of %d flows broke",
				 rows[i].step ? rows[i].step->text : "beginning",
				 (unsigned long long)of(i, SIM_SCHEME_WEIR)->broken, FLOWS);
		assert_int_equal(of(i, SIM_SCHEME_WEIR)->refused, 0);
	}
}

static void test_events_one_by_one(void **state)
{
	/* Which of them excuse the tenth of the flows that was there. */
	static const bool excused[] = {false, true,  false, false, false, false, false,
				       false, false, true,  false, true,  false};

	(void)state;
	play(&(struct setting){0}, "fail b3\nreturn b3\ndrain b4\nready b4\nunhealthy b5\n"
				   "return b5\nweight b6 30%\nadd b11\nremove b2\nweight b6 100%\n"
				   "maint b7\nready b7\n");
	assert_int_equal(row_count, 13);
	no_weir_flow_breaks();
	for (size_t i = 0; i < row_count; i++) {
		uint64_t part = parts(of(i, SIM_SCHEME_WEIR)->excused);

		assert_in_range(part, excused[i] ? 500 : 0, excused[i] ? 1700 : 0);
		assert_int_equal(of(i, SIM_SCHEME_WEIR)->moved, of(i, SIM_SCHEME_WEIR)->excused);
	}
	/* Foreign flows move when one fails; all of one's own too when it drains. */
	assert_in_range(broken(1, SIM_SCHEME_MAGLEV), 50, 400);
	assert_in_range(broken(3, SIM_SCHEME_MAGLEV), 900, 1600);
	assert_in_range(broken(1, SIM_SCHEME_MODULO), 7500, 8500);
	assert_int_equal(broken(1, SIM_SCHEME_RING), 0);
	assert_in_range(broken(3, SIM_SCHEME_RING), 500, 1600);
	for (int i = 1; i < 5; i++)
		assert_int_equal(broken((size_t)i, SIM_SCHEME_MAGLEV_PINNED), 0);
	/* A connection table alone does not keep the flows of who fails its checks. */
	assert_in_range(broken(5, SIM_SCHEME_MAGLEV_PINNED), 500, 1600);
}

static void test_changes_on_changes(void **state)
{
	(void)state;
	play(&(struct setting){0},
	     "drain b1\n+1s fail b2\n+1s return b2\n+1s ready b1\n+100ms drain b1\n"
	     "+3s add b11\n+0s weight b3 10%\n+1s remove b4\n+0s add b4\n+1s unhealthy b5\n"
	     "+20ms return b5\n+5s drain b6,b7,b8,b9\n+0s unhealthy b10\n+1s ready b6,b8\n"
	     "+2s return b10\n+1s ready b7,b9,b1\n+30m wait\n");
	no_weir_flow_breaks();
	assert_true(broken(1, SIM_SCHEME_MAGLEV) > 0);
}

static void test_nodes(void **state)
{
	(void)state;
	play(&(struct setting){.routing = SIM_ROUTING_MODULO},
	     "node-down 2\nnode-up 2,3\nrehash\nnode-out 1\nnode-in 1\nrouter hrw\nfail b1\n"
	     "rehash\n");
	/* Nothing was under way until a backend failed; and its flows were all that there were. */
	no_weir_flow_breaks();
	assert_in_range(parts(rows[1].node_moved), 4800, 5200);
	assert_int_equal(rows[1].nodes, 1);
	assert_int_equal(rows[2].nodes, 3);
	for (size_t i = 1; i < 7; i++)
		assert_int_equal(of(i, SIM_SCHEME_MAGLEV)->moved, 0);
	/* A rebuilt table, and nodes that do not know who came before: no pins help. */
	assert_true(of(8, SIM_SCHEME_MAGLEV_PINNED)->broken > 0);
	play(&(struct setting){0}, "node-down 1,2\nnode-up 1\n");
	assert_int_equal(of(1, SIM_SCHEME_WEIR)->broken, FLOWS);
	assert_int_equal(of(1, SIM_SCHEME_MODULO)->broken, FLOWS);
	assert_int_equal(of(2, SIM_SCHEME_WEIR)->refused, 0);
}

/* A node goes, and with it what it knew, while a backend drains, fails, returns or is added. */
static const char *const double_faults[] = {
	"drain b1\n+5s node-down 2\n",
	"drain b1\n+0s node-down 2\n+5s node-up 2\n+5s rehash\n",
	"drain b1\n+20s ready b1\n+5s node-down 2\n",
	"unhealthy b1\n+5s return b1\n+5s node-down 2\n",
	"fail b1\n+70s return b1\n+5s node-down 2\n",
	"add b11\n+5s node-down 2\n",
	"add b11\n+0s unchecked b11\n+4s return b11\n+5s node-down 2\n",
	"remove b1\n+5s node-down 2\n",
	"weight b3 20%\n+5s node-down 2\n",
	"node-down 2\n+5s node-up 2\n+5s drain b1\n+5s rehash\n",
};
enum { DOUBLE_FAULTS = sizeof(double_faults) / sizeof(double_faults[0]) };

static uint64_t sum(enum sim_scheme_number scheme, size_t offset)
{
	uint64_t all = 0;

	for (size_t i = 0; i < row_count; i++)
		all += *(const uint64_t *)(const void *)((const char *)of(i, scheme) + offset);
	return all;
}

/* Connections that began since the change are then known to nobody. */
static void test_double_faults(void **state)
{
	uint64_t broken_ones = 0, pinned = 0;

	(void)state;
	for (size_t i = 0; i < DOUBLE_FAULTS; i++) {
		play(&(struct setting){.lifetime_ms = 100000}, double_faults[i]);
		broken_ones += sum(SIM_SCHEME_WEIR, offsetof(struct sim_counts, broken));
		pinned += sum(SIM_SCHEME_MAGLEV_PINNED, offsetof(struct sim_counts, broken));
		assert_int_equal(sum(SIM_SCHEME_WEIR, offsetof(struct sim_counts, handed)), 0);
	}
	assert_true(broken_ones > 0);
	assert_true(pinned > broken_ones);
}

/*
 * All of it late, when no slot is in doubt any more. Of a backend that was added nothing is known
 * until its first check: its slots stay where they are, or there would be a third owner.
 */
static void test_second_chance(void **state)
{
	(void)state;
	for (size_t i = 0; i < DOUBLE_FAULTS; i++) {
		uint64_t handed;
		char text[256];

		snprintf(text, sizeof(text), "3h %s", double_faults[i]);
		play(
			&(struct setting){
				.service = "listen: [tcp/80], tracking: transition, forward: gue, "
					   "second_chance: true",
				.lifetime_ms = 100000,
			},
			text);
		handed = sum(SIM_SCHEME_WEIR, offsetof(struct sim_counts, handed));
		assert_true(handed > 0 || strstr(text, "+0s"));
		no_weir_flow_breaks();
	}
}

/*
 * A dead backend is asked first, for as long as its checks may be wrong; but where it can be asked
 * second, who began since it died and whose node died too does not wait.
 */
static void test_stalled(void **state)
{
	(void)state;
	for (int second = 0; second < 2; second++) {
		play(&(struct setting){.service = second ? "listen: [tcp/80], forward: gue, "
							   "second_chance: true"
							 : "listen: [tcp/80]",
				       .pool = "on_down_keep: 60s,"},
		     "fail b1\n+5s node-down 2\n+60s wait\n+1s wait\n");
		if (second)
			no_weir_flow_breaks();
		assert_true((of(2, SIM_SCHEME_WEIR)->stalled > 0) == !second);
		assert_int_equal(of(4, SIM_SCHEME_WEIR)->stalled, 0);
	}
}

/*
 * A node that comes up with nothing but its file, soon after the pool has changed: it knows who had
 * each slot, whether it was there then or not.
 */
static void test_fresh_nodes(void **state)
{
	static const char *const changes[] = {
		"3h add b11\n+60s node-down 2\n+5s node-up 2\n",
		"3h node-down 2\n+5s add b11\n+60s node-up 2\n",
		"3h add b11 weight=300\n+60s node-down 2\n+5s node-up 2\n",
		"3h remove b4\n+60s node-down 2\n+5s node-up 2\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		for (uint64_t lifetime_ms = 0; lifetime_ms <= 60000; lifetime_ms += 60000) {
			play(
				&(struct setting){
					.service = "listen: [tcp/80], forward: gue, "
						   "second_chance: true",
					.lifetime_ms = lifetime_ms,
				},
				changes[i]);
			no_weir_flow_breaks();
		}
	}
}

static void test_limits(void **state)
{
	(void)state;
	play(&(struct setting){.pool = "drain_limit: 5m, on_down_keep: 2m,"},
	     "drain b1\n+4m wait\n+2m wait\nunhealthy b2\n+1m wait\n+2m wait\n");
	no_weir_flow_breaks();
	for (size_t i = 1; i < row_count; i++) {
		bool over = i == 2 || i == 5;
		uint64_t part = parts(of(i, SIM_SCHEME_WEIR)->excused);

		assert_in_range(part, over ? 500 : 0, over ? 1700 : 0);
	}
}

static void test_flows_end(void **state)
{
	struct sim_row first[ROWS];
	static const struct setting setting = {.lifetime_ms = 60000, .seed = 4};

	(void)state;
	play(&setting, "drain b1\nadd b11\nfail b2\nreturn b2\n10m wait\nready b1\n");
	no_weir_flow_breaks();
	memcpy(first, rows, sizeof(first));
	play(&setting, "drain b1\nadd b11\nfail b2\nreturn b2\n10m wait\nready b1\n");
	for (size_t i = 0; i < row_count; i++)
		assert_memory_equal(first[i].schemes, rows[i].schemes, sizeof(rows[i].schemes));
}

static void test_always(void **state)
{
	(void)state;
	play(&(struct setting){.service = "listen: [tcp/80], tracking: always"},
	     "drain b1\nadd b11\n+1s fail b2\n+1s return b2\n+1s weight b3 20%\n");
	no_weir_flow_breaks();
}

static void test_datagrams(void **state)
{
	(void)state;
	play(&(struct setting){.service = "listen: [udp/53], tracking: transition"},
	     "drain b1\nadd b11\n+1s fail b2\n+1s return b2\n");
	no_weir_flow_breaks();
}

static void test_tracking_none(void **state)
{
	(void)state;
	play(&(struct setting){.service = "listen: [tcp/80], tracking: none"}, "drain b1\n");
	assert_in_range(broken(1, SIM_SCHEME_WEIR), 500, 1700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_one_by_one),
		cmocka_unit_test(test_changes_on_changes),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_double_faults),
		cmocka_unit_test(test_stalled),
		cmocka_unit_test(test_fresh_nodes),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_flows_end),
		cmocka_unit_test(test_always),
		cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_tracking_none),
		cmocka_unit_test(test_second_chance),
	};

	return cmocka_run_group_tests_name("sim_run", tests, NULL, NULL);
}
