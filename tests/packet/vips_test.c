// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a row of the packet table cannot show, in both engines: rate limits over time, access lists
 * of many prefixes, the kernel's own longest match against a list searched from end to end, and a
 * flood of flows that the table cannot hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/frame/frame.h"
#include "../lib/run/engines.h"
#include "../lib/world/world.h"
#include "base/time.h"
#include "dp/verdict.h"
#include "weir/balancer/assemble.h"
#include "weir/tables/access.h"

/* --- rate limits --- */

static void limit_loose(uint32_t packets_per_second)
{
	for (size_t i = 0; i < engine_count; i++) {
		struct abi_service *service = &engines[i].tables->services[WORLD_LOOSE];

		service->rate_gap = assemble_rate_gap(packets_per_second);
		service->flags |= ABI_SERVICE_RATE;
	}
	/* Whatever was before, the bucket is full by now. */
	engines_now_ns += 10 * TIME_SECOND_NS;
}

static bool is_forwarded(void)
{
	struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4, .dport = 9000};
	static struct engine_outcome outcome;
	const struct abi_trace *trace = &outcome.result.trace;
	struct frame frame;

	frame_build(&spec, &frame);
	engines_run("rate", &frame, &outcome);
	if (trace->verdict == VERDICT_FORWARDED)
		return true;
	assert_int_equal(trace->verdict, VERDICT_RATE_LIMITED);
	assert_int_equal(trace->why, WHY_RATE);
	assert_int_equal(trace->service, WORLD_LOOSE);
	return false;
}

/* Of so many at once. */
static uint32_t pass(uint32_t packets)
{
	uint32_t passed = 0;

	for (uint32_t i = 0; i < packets; i++)
		passed += is_forwarded();
	return passed;
}

/* A burst is a tenth of a second's packets, and the one that the next gap begins with. */
static void test_burst_and_rate(void **state)
{
	enum { RATE = 1000, BURST = RATE / 10 + 1, SECONDS = 3 };
	uint32_t passed = 0;

	(void)state;
	limit_loose(RATE);
	assert_int_equal(pass(2 * BURST), BURST);
	engines_now_ns += TIME_MILLI_NS;
	assert_int_equal(pass(10), 1);
	engines_now_ns += 7 * TIME_MILLI_NS;
	assert_int_equal(pass(20), 7);
	/* Idle for long gives no more than a burst. */
	engines_now_ns += 3600 * TIME_SECOND_NS;
	assert_int_equal(pass(2 * BURST), BURST);
	/* Twice as many as may, by a clock of 4 ms: half of them pass, to the packet. */
	for (uint32_t i = 0; i < SECONDS * 250; i++) {
		engines_now_ns += 4 * TIME_MILLI_NS;
		passed += pass(8);
	}
	assert_int_equal(passed, SECONDS * RATE);
	engines_refill();
}

static void test_extreme_rates(void **state)
{
	(void)state;
	/* Less than one in a burst. */
	limit_loose(1);
	assert_int_equal(pass(10), 1);
	engines_now_ns += 800 * TIME_MILLI_NS;
	assert_int_equal(pass(10), 0);
	engines_now_ns += 101 * TIME_MILLI_NS;
	assert_int_equal(pass(10), 1);
	engines_now_ns += 901 * TIME_MILLI_NS;
	assert_int_equal(pass(10), 0);
	/* More than any core sends. */
	limit_loose(UINT32_MAX);
	assert_int_equal(pass(2000), 2000);
	assert_int_equal(assemble_rate_gap(0), 0);
	assert_int_equal(assemble_rate_gap(UINT32_MAX), 60);
	assert_int_equal(assemble_rate_gap(1), TIME_SECOND_NS * 256);
	engines_refill();
}

/* A clock that is set back, and one whose time in 2^-8 ns does not fit a word any more. */
static void test_clock(void **state)
{
	uint64_t before = engines_now_ns;

	(void)state;
	limit_loose(10);
	assert_int_equal(pass(5), 2);
	engines_now_ns -= 5 * TIME_SECOND_NS;
	assert_int_equal(pass(5), 2);
	engines_now_ns = (1ULL << 56) - 50 * TIME_MILLI_NS;
	assert_int_equal(pass(5), 2);
	engines_now_ns += 100 * TIME_MILLI_NS;
	assert_int_equal(pass(5), 1);
	engines_now_ns += TIME_SECOND_NS;
	assert_int_equal(pass(5), 2);
	/* A record whose owner before had a slower rate. */
	limit_loose(1);
	assert_int_equal(pass(5), 1);
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->services[WORLD_LOOSE].rate_gap = assemble_rate_gap(100);
	assert_int_equal(pass(50), 11);
	engines_now_ns = before;
	engines_refill();
}

/* An error about its flow counts as a packet of the service. */
static void test_errors_are_limited(void **state)
{
	const struct frame_spec quoted = {
		.src = WORLD_ONE4_VIP4, .dst = WORLD_CLIENT4, .sport = 9000};
	struct frame_spec spec = {.src = WORLD_ROUTER4,
				  .dst = WORLD_ONE4_VIP4,
				  .proto = IPPROTO_ICMP,
				  .icmp_type = 3,
				  .quote = &quoted};
	static struct engine_outcome outcome;
	struct frame frame;

	(void)state;
	limit_loose(10);
	frame_build(&spec, &frame);
	engines_run("error", &frame, &outcome);
	assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
	assert_int_equal(pass(5), 1);
	engines_run("error", &frame, &outcome);
	assert_int_equal(outcome.result.trace.verdict, VERDICT_RATE_LIMITED);
	engines_refill();
}

/* --- access lists --- */

enum { PREFIXES = 4000, LOOKUPS = 2000 };

static struct entry {
	struct prefix prefix;
	uint32_t value;
} entries[PREFIXES];

/* Near each other, so that many hold many others. */
static struct addr random_addr(bool ipv6)
{
	struct addr addr = addr_from4(htonl(0xcb000000U | (uint32_t)(frame_random() & 0x7ffff)));

	if (ipv6) {
		addr = (struct addr){{0x20, 0x01, 0x0d, 0xb8}};
		frame_put(addr.bytes + 4, 4, (uint32_t)frame_random() & 0x0303ffff);
		frame_put(addr.bytes + 12, 4, (uint32_t)frame_random() & 0x80000003);
	}
	return addr;
}

static void cut(struct prefix *prefix)
{
	uint32_t bits = prefix->length + (addr_is4(&prefix->addr) ? 96U : 0);

	for (uint32_t i = bits; i < 128; i++)
		prefix->addr.bytes[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
}

static void fill_lists(void)
{
	for (size_t i = 0; i < PREFIXES; i++) {
		bool ipv6 = i % 2;
		struct entry *entry = &entries[i];
		struct abi_prefix key;

		entry->prefix.addr = random_addr(ipv6);
		entry->prefix.length =
			(uint8_t)(ipv6 ? 20 + frame_random() % 109 : 8 + frame_random() % 25);
		cut(&entry->prefix);
		entry->value = frame_random() % 2 ? ABI_ACCESS_ALLOW : ABI_ACCESS_DENY;
		key = dp_prefix(ABI_LIST_ACCESS + WORLD_GUARD, &entry->prefix);
		for (size_t e = 0; e < engine_count; e++) {
			struct dp_tables *tables = engines[e].tables;

			assert_int_equal(tables->set_prefix(tables->prefixes, &key, entry->value),
					 0);
		}
	}
}

static void empty_lists(void)
{
	for (size_t e = 0; e < engine_count; e++) {
		struct dp_tables *tables = engines[e].tables;
		uint32_t list = ABI_LIST_ACCESS + WORLD_GUARD;
		struct dp_held *held;
		size_t count;

		assert_int_equal(dp_tables_hold(tables, list, list, &held, &count), 0);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(tables->set_prefix(tables->prefixes, &held[i].prefix, 0),
					 0);
		free(held);
		assert_int_equal(dp_tables_hold(tables, list, list, &held, &count), 0);
		assert_int_equal(count, 0);
		free(held);
	}
	engines_refill();
}

/* Of the same prefix twice the later one counts, as in the tables. */
static bool twin_allows(const struct addr *source)
{
	const struct entry *best = NULL;

	for (size_t i = 0; i < PREFIXES; i++) {
		if (addr_is4(&entries[i].prefix.addr) == addr_is4(source) &&
		    prefix_has(&entries[i].prefix, source) &&
		    (!best || entries[i].prefix.length >= best->prefix.length))
			best = &entries[i];
	}
	return best && best->value == ABI_ACCESS_ALLOW;
}

static void test_many_prefixes(void **state)
{
	static struct engine_outcome outcome;
	uint32_t allowed = 0;

	(void)state;
	empty_lists();
	fill_lists();
	for (int i = 0; i < LOOKUPS; i++) {
		struct addr source = random_addr(i % 2);
		char text[ADDR_TEXT_MAX];
		struct frame_spec spec = {
			.src = addr_format(&source, text),
			.dst = i % 2 ? WORLD_GUARD_VIP6 : WORLD_GUARD_VIP4,
		};
		bool allows = twin_allows(&source);
		struct frame frame;

		frame_build(&spec, &frame);
		engines_run("access", &frame, &outcome);
		if (outcome.result.trace.verdict != (allows ? VERDICT_FORWARDED : VERDICT_DENIED))
			fail_msg("%s: verdict %u", text, outcome.result.trace.verdict);
		allowed += allows;
	}
	assert_in_range(allowed, LOOKUPS / 10, LOOKUPS * 9 / 10);
	empty_lists();
}

/* --- tables that change under running packets --- */

/* What packets of a thread meet, while another one changes lists and listens. */
static struct runner {
	pthread_t thread;
	bool stop;
	uint64_t runs;
	char problem[128];
} runner;

/* Those that every list allows or denies, and a port that a range has always had. */
static const struct constant {
	struct frame_spec spec;
	enum verdict verdict;
	uint32_t service;
} constants[] = {
	{{.src = "203.0.113.5", .dst = WORLD_GUARD_VIP4}, VERDICT_FORWARDED, WORLD_GUARD},
	{{.src = "203.0.114.5", .dst = WORLD_GUARD_VIP4}, VERDICT_DENIED, WORLD_GUARD},
	{{.src = "2001:db8:c::5", .dst = WORLD_GUARD_VIP6}, VERDICT_FORWARDED, WORLD_GUARD},
	{{.src = "2001:db8:d::5", .dst = WORLD_GUARD_VIP6}, VERDICT_DENIED, WORLD_GUARD},
	{{.src = WORLD_CLIENT4, .dst = WORLD_ANY_VIP4, .dport = 1777},
	 VERDICT_FORWARDED,
	 WORLD_RANGE},
	{{.src = WORLD_CLIENT4, .dst = WORLD_ANY_VIP4, .proto = IPPROTO_ESP},
	 VERDICT_FORWARDED,
	 WORLD_ANY},
	{{.src = WORLD_CLIENT4, .dst = "198.18.200.1"}, VERDICT_FORWARDED, WORLD_WIDE},
};
enum { CONSTANTS = sizeof(constants) / sizeof(constants[0]) };

static void *run_constants(void *arg)
{
	static uint8_t buffer[2 + FRAME_MAX + NATIVE_HEADROOM];
	struct dp *dp = arg;
	struct frame frame;

	while (!__atomic_load_n(&runner.stop, __ATOMIC_ACQUIRE) && !runner.problem[0]) {
		size_t at = runner.runs++ % CONSTANTS;
		struct dp_result result = {0};
		int error;

		frame_build(&constants[at].spec, &frame);
		memcpy(buffer + 2, frame.bytes, frame.length);
		error = dp_run(dp, buffer + 2, frame.length, frame.length + NATIVE_HEADROOM,
			       engines_now_ns, &result);
		if (error || result.trace.verdict != constants[at].verdict ||
		    result.trace.service != constants[at].service)
			snprintf(runner.problem, sizeof(runner.problem),
				 "run %llu, packet %zu: error %d, verdict %u, service %u",
				 (unsigned long long)runner.runs, at, error, result.trace.verdict,
				 result.trace.service);
	}
	return NULL;
}

/* The one that packets look for amid others that come and go, before and behind it. */
static void change_listens(struct dp_tables *tables)
{
	uint64_t listens[ABI_VIP_LISTENS];
	size_t count = 0, others = frame_random() % (ABI_VIP_LISTENS - 1);
	struct addr vip;

	listens[count++] = abi_listen(0, 65535, ABI_PROTO_ANY, WORLD_ANY);
	for (size_t i = 0; i < others; i++) {
		uint16_t at = (uint16_t)(frame_random() % 50), wide = frame_random() % 2;

		listens[count++] = abi_listen((uint16_t)(i * 100), (uint16_t)(i * 100 + at),
					      IPPROTO_TCP, WORLD_PORTS);
		if (wide)
			listens[count - 1] =
				abi_listen((uint16_t)(i * 10), 60000 + at, IPPROTO_TCP, WORLD_ALL);
	}
	listens[count++] = abi_listen(1700, 1799, IPPROTO_TCP, WORLD_RANGE);
	assert_int_equal(addr_parse(WORLD_ANY_VIP4, &vip), 0);
	assert_int_equal(dp_tables_set_vip(tables, &vip, listens, count), 0);
}

/* As a daemon does that takes over with another file. */
static void change_list(struct dp_tables *tables)
{
	struct prefix allow[3], deny[40];
	struct conf_service conf = {
		.name = "guard",
		.allow = allow,
		.allow_count = 3,
		.deny = deny,
		.deny_count = frame_random() % 40,
	};
	struct access access;
	struct err err = {0};
	uint32_t list;

	assert_int_equal(prefix_parse("203.0.113.0/24", &allow[0]), 0);
	assert_int_equal(prefix_parse("2001:db8:c::/48", &allow[1]), 0);
	allow[2] = (struct prefix){addr_from4(htonl(0x0a000000 | (frame_random() & 0xff00))), 24};
	for (size_t i = 0; i < conf.deny_count; i++)
		deny[i] = (struct prefix){addr_from4(htonl(0x0b000000U + (uint32_t)i)), 32};
	assert_int_equal(access_init(&access, tables, &err), 0);
	assert_int_equal(access_build(&access, &conf, WORLD_GUARD, &list, &err), 0);
	assert_int_not_equal(list, 0);
	__atomic_store_n(&tables->services[WORLD_GUARD].access, list, __ATOMIC_RELEASE);
	__atomic_or_fetch(&tables->services[WORLD_GUARD].flags, ABI_SERVICE_ACCESS,
			  __ATOMIC_RELEASE);
	dp_tables_wait(tables);
	access_drop(&access);
	access_fini(&access);
}

/* A longer prefix comes and goes around what a shorter one has. */
static void change_range(struct dp_tables *tables, bool there)
{
	const uint64_t listen = abi_listen(80, 80, IPPROTO_TCP, WORLD_WIDE);
	struct prefix vip;
	struct abi_prefix key;

	assert_int_equal(prefix_parse("198.18.200.0/24", &vip), 0);
	key = dp_prefix(ABI_LIST_VIPS, &vip);
	if (there)
		assert_int_equal(dp_tables_set_range(tables, ABI_VIPS + ABI_VIP_RANGES - 1, &vip,
						     &listen, 1),
				 0);
	else
		assert_int_equal(dp_tables_drop_range(tables, &key), 0);
}

static void test_changes_under_packets(void **state)
{
	enum { CHANGES = 40, LISTENS = 10 };
	struct dp_tables *tables = engines[1].tables;

	if (engine_count < 2)
		return engines_test_kernel_ran(state);
	empty_lists();
	tables->services[WORLD_GUARD].flags &= ~(uint32_t)ABI_SERVICE_ACCESS;
	change_list(tables);
	change_listens(tables);
	memset(&runner, 0, sizeof(runner));
	assert_int_equal(pthread_create(&runner.thread, NULL, run_constants, engines[1].dp), 0);
	for (int i = 0; i < CHANGES; i++) {
		change_list(tables);
		for (int l = 0; l < LISTENS; l++)
			change_listens(tables);
		change_range(tables, i % 2 == 0);
	}
	__atomic_store_n(&runner.stop, true, __ATOMIC_RELEASE);
	pthread_join(runner.thread, NULL);
	change_range(tables, false);
	if (runner.problem[0])
		fail_msg("%s", runner.problem);
	assert_true(runner.runs > CHANGES);
	empty_lists();
}

/* --- floods --- */

/*
 * Case 19: unique tuples, ten times the table. All are forwarded, and what was not recorded, or
 * gave way, is counted. With a limit for new entries the rest of the table stays.
 */
static void flood(uint32_t insert_limit)
{
	enum { TUPLES = 10 * WORLD_FLOWS };
	static struct engine_outcome outcome;
	uint64_t lost[2] = {0}, made[2] = {0};

	for (size_t e = 0; e < engine_count; e++) {
		engines[e].tables->node->insert_limit = insert_limit;
		made[e] -= engine_event_count(&engines[e], ABI_EVENT_FLOW_NEW);
		lost[e] -= engine_event_count(&engines[e], ABI_EVENT_FLOW_SKIPPED) +
			   engine_event_count(&engines[e], ABI_EVENT_FLOW_EVICTED);
	}
	for (uint32_t i = 0; i < TUPLES; i++) {
		struct addr source = addr_from4(htonl(0x0a000000 + i));
		char text[ADDR_TEXT_MAX];
		struct frame_spec spec = {
			.src = addr_format(&source, text),
			.dst = WORLD_MANY_VIP4,
			.proto = IPPROTO_UDP,
			.dport = 443,
			.sport = (uint16_t)(1 + i),
		};
		struct frame frame;

		frame_build(&spec, &frame);
		engines_run("case 19", &frame, &outcome);
		assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
		assert_int_not_equal(outcome.result.trace.backend, 0);
	}
	for (size_t e = 0; e < engine_count; e++) {
		made[e] += engine_event_count(&engines[e], ABI_EVENT_FLOW_NEW);
		lost[e] += engine_event_count(&engines[e], ABI_EVENT_FLOW_SKIPPED) +
			   engine_event_count(&engines[e], ABI_EVENT_FLOW_EVICTED);
		assert_true(lost[e] >= TUPLES - WORLD_FLOWS);
		if (insert_limit < TUPLES)
			assert_int_equal(made[e], insert_limit);
	}
	engines_refill();
}

/* --- a service without slots --- */

static void expect_end(const struct frame_spec *spec, enum verdict verdict, enum why why)
{
	static struct engine_outcome outcome;
	struct frame frame;

	frame_build(spec, &frame);
	engines_run("without slots", &frame, &outcome);
	assert_int_equal(outcome.result.trace.verdict, verdict);
	assert_int_equal(outcome.result.trace.why, why);
}

/* Its access list and rate hold all the same, for packets, pieces and errors about flows. */
static void test_without_slots(void **state)
{
	enum { LATER = 0x0010, UNREACHABLE = 3 };
	const struct frame_spec flow = {
		.src = WORLD_GUARD_VIP4, .dst = "203.0.114.5", .sport = 80, .dport = 40000};
	const struct frame_spec denied[] = {
		{.src = "203.0.114.5", .dst = WORLD_GUARD_VIP4},
		{.src = "2001:db8:d::5", .dst = WORLD_GUARD_VIP6},
		{.src = "203.0.114.5", .dst = WORLD_GUARD_VIP4, .frag = LATER, .payload = 8},
		{.src = WORLD_ROUTER4,
		 .dst = WORLD_GUARD_VIP4,
		 .proto = IPPROTO_ICMP,
		 .icmp_type = UNREACHABLE,
		 .quote = &flow},
	};
	const struct frame_spec allowed = {.src = "203.0.113.5", .dst = WORLD_GUARD_VIP4};

	(void)state;
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->services[WORLD_GUARD].table = 0;
	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
		expect_end(&denied[i], VERDICT_DENIED, WHY_ACL);
	expect_end(&allowed, VERDICT_EMPTY, WHY_EMPTY);
	for (size_t i = 0; i < engine_count; i++) {
		engines[i].tables->services[WORLD_GUARD].rate_gap = assemble_rate_gap(1);
		engines[i].tables->services[WORLD_GUARD].flags |= ABI_SERVICE_RATE;
	}
	engines_now_ns += 10 * TIME_SECOND_NS;
	expect_end(&allowed, VERDICT_EMPTY, WHY_EMPTY);
	expect_end(&allowed, VERDICT_RATE_LIMITED, WHY_RATE);
	engines_refill();
}

static void test_case_19_flood(void **state)
{
	(void)state;
	engines_refill();
	engines_now_ns += 10 * TIME_SECOND_NS;
	flood(UINT32_MAX);
	engines_now_ns += 10 * TIME_SECOND_NS;
	flood(100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),    cmocka_unit_test(test_burst_and_rate),
		cmocka_unit_test(test_extreme_rates),         cmocka_unit_test(test_clock),
		cmocka_unit_test(test_errors_are_limited),    cmocka_unit_test(test_many_prefixes),
		cmocka_unit_test(test_changes_under_packets), cmocka_unit_test(test_without_slots),
		cmocka_unit_test(test_case_19_flood),
	};

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
