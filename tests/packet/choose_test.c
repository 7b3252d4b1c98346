/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * native_choose, which weir sim asks, says of a packet what a whole frame gets: thousands of random
 * flows and events, on two engines that are told the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "../lib/frame/frame.h"
#include "engine/native.h"
#include "pkt/parse.h"
#include "weir/balancer/balancer.h"

enum { BACKENDS = 5, FLOWS = 400, ROUNDS = 60, PACKETS = 200, SECOND_MS = 1000 };

/* The same twice: [0] is given frames, [1] is asked for the choice alone. */
static struct world {
	struct native *native;
	struct balancer *balancer;
} worlds[2];
static struct conf *conf;
static bool second_chance;
static uint64_t named; /* packets that named a second backend */

static uint32_t below(uint32_t end)
{
	return (uint32_t)(frame_random() % end);
}

static void ignore_record(void *arg, uint32_t record)
{
	(void)arg;
	(void)record;
}

static void begin(const char *service, const char *vip)
{
	static const struct balancer_start start = {
		.health = POOL_HEALTHY,
		.unchecked = POOL_HEALTHY,
		.now_ms = SECOND_MS,
		.new_backend = ignore_record,
		.new_service = ignore_record,
	};
	static const struct dp_nexthop hop = {.ifindex = 1, .mtu = 1500, .on_link = true};
	struct err_list errors = {0};
	struct addr source;
	struct err err = {0};
	char text[2048];

	snprintf(text, sizeof(text),
		 "node: {name: n, interfaces: [eth0], flows: {entries: 1024, established: 1m}}\n"
		 "pools: [{name: web, table_size: 251, check: {port: 80}, on_down_keep: 30s,\n"
		 "  backends: [{name: b1, address: 10.0.0.1}, {name: b2, address: 10.0.0.2},\n"
		 "    {name: b3, address: 10.0.0.3}, {name: b4, address: 10.0.0.4},\n"
		 "    {name: b5, address: 10.0.0.5}]}]\n"
		 "services: [{name: shop, vips: [\"%s\"], listen: [tcp/80], pool: web,\n"
		 "  %s}]\n",
		 vip, service);
	if (conf_parse(text, strlen(text), &conf, &errors))
		fail_msg("line %d: %s", errors.errors[0].line, errors.errors[0].text);
	assert_int_equal(addr_parse("192.0.2.7", &source), 0);
	for (int i = 0; i < 2; i++) {
		struct world *world = &worlds[i];

		assert_int_equal(native_new(1024, &world->native), 0);
		native_tables(world->native)->node->flow_secret = 11;
		native_tables(world->native)->node->vip_secret = 12;
		if (balancer_new(conf, native_tables(world->native), &start, &world->balancer,
				 &err))
			fail_msg("%s", err.text);
		balancer_set_source(world->balancer, &source);
		for (size_t m = 0; m < BACKENDS; m++)
			balancer_set_nexthop(world->balancer, 0, m, &hop);
	}
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		balancer_free(worlds[i].balancer);
		native_free(worlds[i].native);
	}
	conf_free(conf);
	return 0;
}

static void happen(uint64_t now_ms)
{
	uint32_t what = below(8), member = below(BACKENDS), more = below(3);

	for (int i = 0; i < 2; i++) {
		struct balancer *balancer = worlds[i].balancer;

		if (what < 3)
			balancer_set_health(balancer, 0, member, (enum pool_health)(1 + what % 2),
					    now_ms);
		else if (what < 5)
			balancer_set_admin(balancer, 0, member, (enum pool_admin)more, now_ms);
		else if (what < 7)
			balancer_settle(balancer, now_ms);
		balancer_tick(balancer, now_ms);
	}
}

/* The record of whom GUE's private data name, of a frame over IPv4; 0: nobody. */
static uint32_t named_in(const uint8_t *bytes)
{
	const uint8_t *gue = bytes + FRAME_ETH + 20 + 8, *private = gue + 4;

	/* Variant 1 begins with the packet. */
	if (gue[0] >> 4 == 4 || private[3] != 4)
		return 0;
	for (size_t m = 0; m < BACKENDS; m++) {
		if (memcmp(private + 4, conf->pools[0].backends[m].address.bytes + 12, 4) == 0)
			return balancer_backend_record(worlds[0].balancer, 0, m);
	}
	fail_msg("names a stranger");
	return 0;
}

struct choice {
	uint32_t backend, second; /* records */
};

/* The same packet both ways. */
static struct choice by_frame(uint32_t flow, uint8_t flags, bool is4, uint64_t now_ns)
{
	uint8_t bytes[512 + NATIVE_HEADROOM];
	struct dp_result result;
	struct frame frame;
	char src[64];

	if (is4)
		snprintf(src, sizeof(src), "10.9.%u.%u", flow / 250, flow % 250 + 1);
	else
		snprintf(src, sizeof(src), "2001:db8::%x", flow + 1);
	frame_build(&(struct frame_spec){.src = src,
					 .dst = is4 ? "192.0.2.1" : "2001:db8::1:1",
					 .sport = (uint16_t)(2000 + flow),
					 .tcp_flags = flags},
		    &frame);
	memcpy(bytes, frame.bytes, frame.length);
	assert_int_equal(native_run(worlds[0].native, bytes, frame.length,
				    frame.length + NATIVE_HEADROOM, now_ns, &result),
			 0);
	return (struct choice){
		result.trace.backend,
		second_chance && dp_action_leaves(result.action) ? named_in(bytes) : 0,
	};
}

static struct choice by_choice(uint32_t flow, uint8_t flags, bool is4, uint64_t now_ns)
{
	struct choice choice;
	struct pkt pkt = {
		.sport = PKT_BE16((uint16_t)(2000 + flow)),
		.dport = PKT_BE16(80),
		.proto = IPPROTO_TCP,
		.version = is4 ? 4 : 6,
		.tcp_flags = flags,
		.service = balancer_service_record(worlds[1].balancer, 0),
	};
	struct addr vip;

	assert_int_equal(addr_parse(is4 ? "192.0.2.1" : "2001:db8::1:1", &vip), 0);
	pkt.dst = dp_addr(&vip);
	if (is4)
		addr_parse("10.9.0.0", &vip);
	else
		addr_parse("2001:db8::", &vip);
	pkt.src = dp_addr(&vip);
	pkt.src.bytes[14] = (uint8_t)(is4 ? flow / 250 : (flow + 1) >> 8);
	pkt.src.bytes[15] = (uint8_t)(is4 ? flow % 250 + 1 : flow + 1);
	choice.backend = native_choose(worlds[1].native, &pkt, now_ns, &choice.second);
	return choice;
}

static void compare(const char *service, bool is4)
{
	static const uint8_t flags[] = {PKT_TCP_SYN, PKT_TCP_ACK, PKT_TCP_ACK,
					PKT_TCP_FIN | PKT_TCP_ACK, PKT_TCP_RST};
	uint64_t now_ms = SECOND_MS, by[BACKENDS + 1] = {0};

	begin(service, is4 ? "192.0.2.1" : "2001:db8::1:1");
	for (int round = 0; round < ROUNDS; round++) {
		for (int packet = 0; packet < PACKETS; packet++) {
			uint32_t flow = below(FLOWS);
			struct choice expected, got;
			uint8_t flag = flags[below(sizeof(flags))];
			uint64_t now_ns = (now_ms += below(100)) * 1000000;

			expected = by_frame(flow, flag, is4, now_ns);
			got = by_choice(flow, flag, is4, now_ns);
			if (got.backend != expected.backend || got.second != expected.second)
				fail_msg("round %d, flow %u, flags %x: %u and %u, not %u and %u",
					 round, flow, flag, got.backend, got.second,
					 expected.backend, expected.second);
			by[got.backend < BACKENDS ? got.backend : BACKENDS]++;
			named += got.second != 0;
		}
		happen(now_ms);
	}
	for (int i = 0; i < 2; i++)
		assert_true(native_event_count(worlds[i].native, ABI_EVENT_FLOW_NEW) ==
			    native_event_count(worlds[0].native, ABI_EVENT_FLOW_NEW));
	for (int i = 1; i <= BACKENDS; i++)
		assert_true(by[i] > 0);
}

static void test_always(void **state)
{
	(void)state;
	compare("tracking: always", true);
	assert_true(native_event_count(worlds[1].native, ABI_EVENT_FLOW_NEW) > FLOWS);
}

static void test_transition(void **state)
{
	(void)state;
	compare("tracking: transition", true);
}

static void test_second_chance(void **state)
{
	(void)state;
	second_chance = true;
	compare("tracking: transition, forward: gue, second_chance: true", true);
	second_chance = false;
	assert_true(named > ROUNDS * PACKETS / 10 && named < ROUNDS * PACKETS);
}

static void test_none_ipv6(void **state)
{
	(void)state;
	compare("tracking: none", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_always, tear_down),
		cmocka_unit_test_teardown(test_transition, tear_down),
		cmocka_unit_test_teardown(test_second_chance, tear_down),
		cmocka_unit_test_teardown(test_none_ipv6, tear_down),
	};

	return cmocka_run_group_tests_name("choose", tests, NULL, NULL);
}
