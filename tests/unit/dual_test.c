// SPDX-License-Identifier: BSD-2-Clause
/*
 * `lookup: dual` from a file on: what it does to the shares of backends, that transitions end
 * though entries stand under slots of others, and that flows stay when it comes and goes.
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
#include "dp/verdict.h"
#include "pkt/parse.h"

enum { MEMBERS_MAX = 100, DRAWS = 400000 };
#define DUAL "pool: web, lookup: dual"

static void begin(const uint32_t *weights, size_t count, const char *size, const char *service)
{
	static char pool[8192];
	size_t length = (size_t)snprintf(pool, sizeof(pool), "table_size: %s, backends: [", size);
	struct story_file file = {.pool = pool, .service = service, .tracking = "always"};

	for (size_t i = 0; i < count; i++)
		length += (size_t)snprintf(pool + length, sizeof(pool) - length,
					   "%s{name: b%zu, address: 10.0.0.%zu, weight: %u}",
					   i ? ", " : "", i + 1, i + 1, weights[i]);
	snprintf(pool + length, sizeof(pool) - length, "]");
	story_begin(&file);
	story_all_healthy();
}

static struct pkt packet_of(uint32_t flow, uint8_t flags)
{
	struct pkt pkt = {
		.sport = PKT_BE16((uint16_t)(flow % 60000 + 1)),
		.dport = PKT_BE16(80),
		.proto = IPPROTO_TCP,
		.version = 4,
		.tcp_flags = flags,
		.service = balancer_service_record(story.balancer, 0),
	};
	struct addr addr;

	addr_parse("192.0.2.1", &addr);
	pkt.dst = dp_addr(&addr);
	addr_parse("198.18.0.0", &addr);
	pkt.src = dp_addr(&addr);
	pkt.src.bytes[14] = (uint8_t)(flow / 60000);
	return pkt;
}

/* The part of all flows that each member gets, in percent. */
static void draw(size_t count, double *shares)
{
	uint32_t flows[MEMBERS_MAX] = {0}, second;

	/* What is not recorded is chosen alike. */
	story.tables->node->insert_limit = 0;
	for (uint32_t flow = 0; flow < DRAWS; flow++) {
		struct pkt pkt = packet_of(flow, PKT_TCP_SYN);
		uint32_t backend =
			native_choose(story.native, &pkt, story.now_ms * TIME_MILLI_NS, &second);

		for (size_t m = 0; m < count; m++)
			flows[m] += backend == story_record(m);
	}
	for (size_t m = 0; m < count; m++)
		shares[m] = 100.0 * flows[m] / DRAWS;
}

/* What two draws by weight give, of which the heavier counts, and the first of two alike. */
static double expected_share(const uint32_t *weights, size_t count, size_t member)
{
	double total = 0, lighter = 0, alike = 0;

	for (size_t i = 0; i < count; i++) {
		total += weights[i];
		lighter += weights[i] < weights[member] ? weights[i] : 0;
		alike += weights[i] == weights[member] ? weights[i] : 0;
	}
	return 100 * weights[member] / total * (2 * lighter + alike) / total;
}

static void test_shares(void **state)
{
	static const struct {
		const char *name;
		size_t count;
		uint32_t first, rest;
	} pools[] = {
		{"10 alike", 10, 1, 1},
		{"2, weights 2 and 1", 2, 2, 1},
		{"2, weights 10 and 1", 2, 10, 1},
		{"10, one of weight 2", 10, 2, 1},
		{"100, one of weight 2", 100, 2, 1},
		{"100, one of weight 10", 100, 10, 1},
		{"100, one of half the weight", 100, 1, 2},
	};

	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
		uint32_t weights[MEMBERS_MAX];
		double shares[2][MEMBERS_MAX], rest = 0, worst = 0;
		size_t count = pools[i].count;

		for (size_t m = 0; m < count; m++)
			weights[m] = m ? pools[i].rest : pools[i].first;
		for (int dual = 0; dual < 2; dual++) {
			if (story.balancer) {
				story_tear_down(state);
				story_set_up(state);
			}
			begin(weights, count, "auto", dual ? DUAL : NULL);
			draw(count, shares[dual]);
		}
		for (size_t m = 0; m < count; m++) {
			double expected = expected_share(weights, count, m);

			double error = shares[1][m] - expected;

			error = error < 0 ? -error : error;
			rest += m ? shares[1][m] : 0;
			worst = error > worst ? error : worst;
			/* Slots are not endless, and neither are flows. */
			assert_true(error < 0.08 * expected + 0.02);
		}
		print_message("# %s: the first %.3f %%, not %.3f; the rest %.3f each, not %.3f; "
			      "within %.2f; the first should %.3f\n",
			      pools[i].name, shares[1][0], shares[0][0], rest / (double)(count - 1),
			      (100 - shares[0][0]) / (double)(count - 1), worst,
			      expected_share(weights, count, 0));
	}
}

static void test_weights(void **state)
{
	static const uint32_t weights[] = {1000, 500, 3, 1, 1000};
	static const uint8_t bytes[] = {255, 127, 1, 1, 255};

	(void)state;
	begin(weights, 5, "509", DUAL);
	for (size_t m = 0; m < 5; m++)
		assert_int_equal(story.tables->backends[story_record(m)].weight, bytes[m]);
	story_tear_down(state);
	story_set_up(state);
	begin((const uint32_t[]){7, 7, 0}, 3, "509", DUAL);
	assert_int_equal(story.tables->backends[story_record(0)].weight, 255);
	assert_int_equal(story.tables->backends[story_record(1)].weight, 255);
	assert_int_equal(story.tables->backends[story_record(2)].weight, 1);
}

/* Numbers of two slots that differ in their high bits alone do not cost a flow its entry. */
static void test_every_flow_has_its_entry(void **state)
{
	enum { FLOWS = 40000 };
	static const uint8_t flags[] = {PKT_TCP_SYN, PKT_TCP_ACK, PKT_TCP_ACK};
	uint32_t second;

	native_free(story.native);
	assert_int_equal(native_new(1024 * 1024, &story.native), 0);
	story.tables = native_tables(story.native);
	(void)state;
	begin((const uint32_t[]){1, 2, 3, 4, 5}, 5, "65537", DUAL);
	for (size_t i = 0; i < sizeof(flags); i++) {
		for (uint32_t flow = 0; flow < FLOWS; flow++) {
			struct pkt pkt = packet_of(flow, flags[i]);

			native_choose(story.native, &pkt, story.now_ms * TIME_MILLI_NS, &second);
			assert_int_equal(pkt.why, i ? WHY_FLOW : WHY_SLOT);
		}
	}
}

/* --- over changes --- */

static const uint32_t uneven[] = {3, 1, 1, 2};

/*
 * A backend is drained, and returns. Its slots' transitions end after the idle time, though under
 * many of them flows stand that are at others for ever; and backups are nobody's flows.
 */
static void test_survey(void **state)
{
	(void)state;
	begin(uneven, 4, "509", DUAL);
	story_connect_all();
	balancer_set_admin(story.balancer, 0, 3, POOL_DRAIN, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	story_survey();
	for (size_t m = 0; m < 4; m++)
		assert_int_equal(balancer_flows(story.balancer, 0, m),
				 story_flows_of(story_record(m)));
	assert_true(story_flows_of(story_record(3)) > 0);
	assert_true(story_moving() > 0);
	story_pass(1000);
	story_all_stay();
	balancer_set_admin(story.balancer, 0, 3, POOL_ACTIVE, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	story_live_on();
	assert_int_equal(story_moving(), 0);
	story_all_stay();
	story_all_end();
}

/* A backend goes at once: whose it was go to their backups, and stay there. */
static void test_maint(void **state)
{
	uint32_t gone, moved = 0;

	(void)state;
	begin(uneven, 4, "509", DUAL);
	story_connect_all();
	gone = story_record(0);
	balancer_set_admin(story.balancer, 0, 0, POOL_MAINT, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow++) {
		if (story.owners[flow] != gone)
			continue;
		story.owners[flow] = story_segment(flow, FRAME_ACK);
		assert_int_not_equal(story.owners[flow], gone);
		moved++;
	}
	assert_true(moved > 0);
	balancer_set_admin(story.balancer, 0, 0, POOL_ACTIVE, story.now_ms);
	balancer_settle(story.balancer, story.now_ms);
	story_live_on();
	story_all_end();
}

/* Flows of slots without entries, and entries under slots of others: nobody moves. */
static void test_comes_and_goes(void **state)
{
	static const struct story_file single = {
		.pool = "table_size: 509, backends: [{name: b1, address: 10.0.0.1, weight: 3}, "
			"{name: b2, address: 10.0.0.2}]"};
	struct story_file dual = single, always = single;

	(void)state;
	dual.service = DUAL;
	dual.tracking = always.tracking = "always";
	story_begin(&single);
	story_all_healthy();
	story_connect_all();
	story_restart(&dual);
	story_all_healthy();
	assert_true(balancer_service_flips(story.balancer, 0));
	story_all_stay();
	story_live_on();
	assert_false(balancer_service_flips(story.balancer, 0));
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow += 2)
		story_segment(flow, FRAME_ACK | FRAME_FIN);
	story_pass(2 * STORY_CLOSING_MS + 5000);
	story_connect_half(0);
	story_all_stay();
	/* Another start with the same file is no change. */
	story_restart(&dual);
	story_all_healthy();
	assert_false(balancer_service_flips(story.balancer, 0));
	story_restart(&always);
	story_all_healthy();
	story_all_stay();
	story_restart(&dual);
	story_restart(&single);
	story_all_healthy();
	assert_true(balancer_service_flips(story.balancer, 0));
	story_live_on();
	story_all_end();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, story_set_up, story_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(shares), TEST(weights), TEST(every_flow_has_its_entry),
		TEST(survey), TEST(maint),   TEST(comes_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
