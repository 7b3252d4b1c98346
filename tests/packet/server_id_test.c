// SPDX-License-Identifier: BSD-2-Clause
/*
 * Backends that packets name themselves, in both engines, against the twins of
 * tests/lib/expect/policy.h: QUIC connection ids of each layout, cut at every byte, on other tuples
 * than before, naming nobody; TCP's option at each place and among options that lie.
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
#include <stdio.h>
#include <string.h>

#include "../lib/expect/policy.h"
#include "../lib/frame/frame.h"
#include "../lib/run/engines.h"
#include "../lib/world/policy.h"
#include "../lib/world/world.h"
#include "dp/verdict.h"
#include "engine/servers.h"

enum { PAYLOAD = 40, OPTIONS = 40, UDP_HEADER = 8, TCP_HEADER = 20, TAIL = 6, PORT = 443 };

static struct abi_trace run(const char *name, const struct frame *frame)
{
	static struct engine_outcome outcome;

	engines_run(name, frame, &outcome);
	return outcome.result.trace;
}

static void set_id(uint32_t service, uint32_t id, uint32_t backend)
{
	for (size_t e = 0; e < engine_count; e++) {
		struct dp_tables *tables = engines[e].tables;
		uint32_t first = (uint32_t)tables->services[service].table;

		if (backend)
			assert_int_equal(dp_servers_set(tables, first, id, backend), 0);
		else
			dp_servers_remove(tables, first, id);
	}
}

static void set_layout(uint32_t service, enum abi_cid cid, unsigned int config, unsigned int length)
{
	for (size_t e = 0; e < engine_count; e++) {
		struct abi_service *record = &engines[e].tables->services[service];

		record->policy = ABI_POLICY_QUIC_CID;
		record->flags |= ABI_SERVICE_POLICY;
		record->cid = (uint8_t)cid;
		record->cid_config = (uint8_t)config;
		record->cid_length = (uint8_t)length;
	}
}

static uint64_t events(enum abi_event event)
{
	return engine_event_count(&engines[engine_count - 1], event);
}

static void expect_backend(const char *name, const struct abi_trace *trace, enum why why,
			   uint32_t backend)
{
	if (trace->verdict != VERDICT_FORWARDED || trace->why != why || trace->backend != backend)
		fail_msg("%s: verdict %u why %u to %s, expected why %u to %s", name, trace->verdict,
			 trace->why, world_backend_name(trace->backend), why,
			 world_backend_name(backend));
}

/* --- QUIC --- */

/* A datagram of `length` bytes of the payload; `rest` more stand behind the packet's end. */
static void build_datagram(const char *src, const char *dst, const uint8_t *payload, size_t length,
			   struct frame *ret)
{
	struct frame_spec spec = {
		.src = src,
		.dst = dst,
		.proto = IPPROTO_UDP,
		.dport = PORT,
		.payload = (uint16_t)length,
	};

	frame_build(&spec, ret);
	memcpy(ret->bytes + ret->l4 + UDP_HEADER, payload, length);
}

struct shape {
	const char *name;
	uint32_t service;
	uint8_t payload[PAYLOAD];
};

static const struct shape shapes[] = {
	{"quic-lb short", WORLD_CID, {0x40, 0x61, 0x12, 0x34}},
	{"quic-lb long", WORLD_CID, {0xe0, 0, 0, 0, 1, 8, 0x61, 0x12, 0x34}},
	{"katran 1 short", WORLD_KATRAN, {0x40, 0x44, 0x8d, 0x3f}},
	{"katran 2 short", WORLD_KATRAN, {0x40, 0x80, 0x34, 0x56, 0x78}},
	{"katran 3 short", WORLD_KATRAN, {0x40, 0xc0, 0x89, 0xab, 0xcd, 0xef}},
	{"katran 1 long", WORLD_KATRAN, {0xe0, 0, 0, 0, 1, 9, 0x44, 0x8d, 0x3f}},
	{"katran 2 long", WORLD_KATRAN, {0xe0, 0, 0, 0, 1, 9, 0x80, 0x34, 0x56, 0x78}},
	{"katran 3 long", WORLD_KATRAN, {0xe0, 0, 0, 0, 1, 9, 0xc0, 0x89, 0xab, 0xcd, 0xef}},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static const char *vip_of(uint32_t service, bool ipv6)
{
	if (service == WORLD_CID)
		return ipv6 ? WORLD_CID_VIP6 : WORLD_CID_VIP4;
	return ipv6 ? WORLD_KATRAN_VIP6 : WORLD_KATRAN_VIP4;
}

/*
 * Cut to a length: with the frame's end, with the rest as the frame's padding, and with UDP's
 * length alone. What is behind the datagram's end names nobody.
 */
static void check_cut(const struct shape *shape, bool ipv6, size_t length)
{
	enum abi_cid cid = shape->service == WORLD_CID ? ABI_CID_QUIC_LB : ABI_CID_KATRAN;
	uint32_t id = expect_quic(shape->payload, length, cid, WORLD_CID_CONFIG, WORLD_CID_LENGTH);
	uint32_t owner = shape->service == WORLD_CID ? WORLD_CID1 : WORLD_KATRAN1;
	const char *src = ipv6 ? WORLD_CLIENT6 : WORLD_CLIENT4;
	struct frame frame;

	assert_int_equal(id != 0, length >= (shape->payload[0] & 0x80 ? 14 : 9));
	for (int way = 0; way < 3; way++) {
		struct abi_trace trace;

		build_datagram(src, vip_of(shape->service, ipv6), shape->payload,
			       way == 2 ? PAYLOAD : length, &frame);
		if (way == 1) {
			memcpy(frame.bytes + frame.length, shape->payload + length,
			       PAYLOAD - length);
			frame.length += PAYLOAD - length;
		} else if (way == 2) {
			frame_put(frame.bytes + frame.l4 + 4, 2, (uint32_t)(UDP_HEADER + length));
		}
		trace = run(shape->name, &frame);
		expect_backend(shape->name, &trace, id ? WHY_CID : WHY_SLOT,
			       id ? WORLD_CID2 : owner);
	}
}

static void test_quic_cut_at_every_byte(void **state)
{
	(void)state;
	engines_refill();
	for (size_t s = 0; s < SHAPES; s++) {
		for (size_t length = 0; length <= PAYLOAD; length++) {
			check_cut(&shapes[s], false, length);
			check_cut(&shapes[s], true, length);
		}
	}
}

/* Bytes of a kind that often says something. */
static void randomise(uint8_t *payload)
{
	static const uint32_t versions[] = {1, 1, 0x6b3343cf, 0xff00001d, 0x0a0a0a0a, 0};
	uint64_t random = frame_random();

	for (size_t i = 0; i < PAYLOAD; i++)
		payload[i] = (uint8_t)(frame_random() >> 17);
	if (!(payload[0] & 0x80))
		return;
	if (random & 1)
		frame_put(payload + 1, 4, versions[random / 2 % 6]);
	payload[5] = (uint8_t)(random >> 16) % 21;
}

/* Any datagram, in any layout; half of the ids that it may name are known. */
static void test_quic_at_random(void **state)
{
	uint8_t payload[PAYLOAD];
	unsigned int named = 0;

	(void)state;
	engines_refill();
	for (unsigned int i = 0; i < 6000; i++) {
		enum abi_cid cid = i % 2 ? ABI_CID_KATRAN : ABI_CID_QUIC_LB;
		unsigned int config = i / 2 % 7, id_length = 1 + i / 14 % 4;
		struct abi_trace trace;
		struct frame frame;
		uint32_t id;
		bool known;

		randomise(payload);
		if (i % 3)
			payload[payload[0] & 0x80 ? 6 : 1] = (uint8_t)(config << 5 | i % 32);
		set_layout(WORLD_KATRAN, cid, config, id_length);
		id = expect_quic(payload, PAYLOAD, cid, config, id_length);
		known = id && i % 5 < 3;
		if (id)
			set_id(WORLD_KATRAN, id, known ? WORLD_CID2 : 0);
		build_datagram(WORLD_CLIENT4, WORLD_KATRAN_VIP4, payload, PAYLOAD, &frame);
		trace = run("any datagram", &frame);
		expect_backend("any datagram", &trace, known ? WHY_CID : WHY_SLOT,
			       known ? WORLD_CID2 : WORLD_KATRAN1);
		if (known)
			set_id(WORLD_KATRAN, id, 0);
		named += known;
	}
	assert_in_range(named, 500, 5500);
	engines_refill();
}

/* The unencrypted example of draft-ietf-quic-load-balancers with an id of three bytes. */
static void test_quic_lb_vector(void **state)
{
	const uint8_t payload[PAYLOAD] = {0x40, 0x07, 0xc4, 0x60, 0x5e, 0x45, 0x04, 0xcc, 0x4f};
	struct abi_trace trace;
	struct frame frame;

	(void)state;
	engines_refill();
	set_layout(WORLD_CID, ABI_CID_QUIC_LB, 0, 3);
	set_id(WORLD_CID, 0xc4605e, WORLD_CID2);
	build_datagram(WORLD_CLIENT4, WORLD_CID_VIP4, payload, PAYLOAD, &frame);
	trace = run("vector", &frame);
	expect_backend("vector", &trace, WHY_CID, WORLD_CID2);
	set_id(WORLD_CID, 0xc4605e, 0);
	engines_refill();
}

/* A datagram to WORLD_MANY with the nth tuple, whose connection id names `id`. */
static struct abi_trace run_many(bool ipv6, unsigned int n, uint16_t id)
{
	uint8_t payload[PAYLOAD] = {0x40, WORLD_CID_CONFIG << 5, (uint8_t)(id >> 8), (uint8_t)id};
	struct frame frame;
	char src[64];

	snprintf(src, sizeof(src), ipv6 ? "2001:db8:c::%x" : "203.0.113.%u", 1 + n % 200);
	build_datagram(src, ipv6 ? WORLD_MANY_VIP6 : WORLD_MANY_VIP4, payload, PAYLOAD, &frame);
	frame_put(frame.bytes + frame.l4, 2, 1024 + 13 * n);
	return run("to many", &frame);
}

/* On a node without state. */
static void test_migration(void **state)
{
	uint64_t before;

	(void)state;
	engines_refill();
	set_layout(WORLD_MANY, ABI_CID_QUIC_LB, WORLD_CID_CONFIG, WORLD_CID_LENGTH);
	for (uint32_t b = WORLD_M1; b <= WORLD_M4; b++)
		set_id(WORLD_MANY, 100 + b, b);
	before = events(ABI_EVENT_CID);
	for (unsigned int n = 0; n < 200; n++) {
		for (uint32_t b = WORLD_M1; b <= WORLD_M4; b++) {
			struct abi_trace trace;

			engines_forget_flows();
			trace = run_many(n % 2, n, (uint16_t)(100 + b));
			expect_backend("migrated", &trace, WHY_CID, b);
		}
	}
	assert_int_equal(events(ABI_EVENT_CID) - before, 200 * 4);
}

/* Of nobody, and of a backend that may keep no flows: the 5-tuple's slot, then its entry. */
static void test_fallback(void **state)
{
	uint64_t before;

	(void)state;
	engines_refill();
	set_layout(WORLD_MANY, ABI_CID_QUIC_LB, WORLD_CID_CONFIG, WORLD_CID_LENGTH);
	set_id(WORLD_MANY, 200, WORLD_M2);
	for (size_t e = 0; e < engine_count; e++)
		engines[e].tables->backends[WORLD_M2].flags = ABI_BACKEND_UP | ABI_BACKEND_NEIGH;
	before = events(ABI_EVENT_CID);
	for (unsigned int n = 0; n < 200; n++) {
		struct expect_flow flow = {
			.ipv6 = n % 2,
			.sport = (uint16_t)(1024 + 13 * n),
			.dport = PORT,
			.proto = IPPROTO_UDP,
		};
		char src[64];
		struct abi_trace first, second;

		snprintf(src, sizeof(src), flow.ipv6 ? "2001:db8:c::%x" : "203.0.113.%u",
			 1 + n % 200);
		inet_pton(flow.ipv6 ? AF_INET6 : AF_INET, src, flow.src);
		inet_pton(flow.ipv6 ? AF_INET6 : AF_INET,
			  flow.ipv6 ? WORLD_MANY_VIP6 : WORLD_MANY_VIP4, flow.dst);
		first = run_many(n % 2, n, n % 3 ? 199 : 200);
		assert_int_equal(first.why, WHY_SLOT);
		assert_int_equal(first.slot,
				 expect_slot(&flow, ABI_POLICY_5TUPLE, 0,
					     engines[0].tables->node->slot_seed, WORLD_MANY_SLOTS));
		second = run_many(n % 2, n, 199);
		if (first.backend != WORLD_M2)
			expect_backend("entry", &second, WHY_FLOW, first.backend);
	}
	assert_int_equal(events(ABI_EVENT_CID), before);
}

/*
 * Where flows have entries, a named one gets one, so that an error about it finds its backend. But
 * a name moves no entry: anybody can write one.
 */
static void test_named_flow_has_an_entry(void **state)
{
	struct frame_spec quoted = {.src = WORLD_MANY_VIP4,
				    .dst = "203.0.113.1",
				    .sport = PORT,
				    .dport = 1024,
				    .proto = IPPROTO_UDP};
	struct frame_spec error = {.src = WORLD_ROUTER4,
				   .dst = WORLD_MANY_VIP4,
				   .proto = IPPROTO_ICMP,
				   .icmp_type = 3,
				   .quote = &quoted};
	struct abi_trace trace;
	struct frame frame;
	uint64_t made;

	(void)state;
	engines_refill();
	set_layout(WORLD_MANY, ABI_CID_QUIC_LB, WORLD_CID_CONFIG, WORLD_CID_LENGTH);
	set_id(WORLD_MANY, 101, WORLD_M3);
	set_id(WORLD_MANY, 102, WORLD_M4);
	frame_build(&error, &frame);
	trace = run("error", &frame);
	assert_int_equal(trace.verdict, VERDICT_UNQUOTED);
	made = events(ABI_EVENT_FLOW_NEW);
	trace = run_many(false, 0, 101);
	expect_backend("named", &trace, WHY_CID, WORLD_M3);
	assert_int_equal(events(ABI_EVENT_FLOW_NEW), made + 1);
	trace = run("error", &frame);
	expect_backend("error", &trace, WHY_ICMP, WORLD_M3);
	trace = run_many(false, 0, 102);
	expect_backend("named otherwise", &trace, WHY_CID, WORLD_M4);
	trace = run_many(false, 0, 199);
	expect_backend("not named", &trace, WHY_FLOW, WORLD_M3);
	/* It is a sign of life. */
	engines_now_ns += 50ULL * ENGINES_TICK_NS;
	run_many(false, 0, 101);
	engines_now_ns += 50ULL * ENGINES_TICK_NS;
	trace = run_many(false, 0, 199);
	expect_backend("kept alive", &trace, WHY_FLOW, WORLD_M3);
	assert_int_equal(events(ABI_EVENT_FLOW_NEW), made + 1);
	engines_refill();
}

/* --- TCP --- */

/*
 * A segment with these options to WORLD_CID, whose id WORLD_ID32 leads to WORLD_CID2. Behind them
 * `options` has what the payload begins with.
 */
static struct abi_trace run_options(const char *name, bool ipv6, const uint8_t *options,
				    size_t length)
{
	struct frame_spec spec = {
		.src = ipv6 ? WORLD_CLIENT6 : WORLD_CLIENT4,
		.dst = ipv6 ? WORLD_CID_VIP6 : WORLD_CID_VIP4,
		.dport = PORT,
		.tcp_options = (uint8_t)length,
		.tcp_flags = FRAME_ACK | FRAME_PSH,
		.payload = TAIL,
	};
	struct frame frame;

	frame_build(&spec, &frame);
	memcpy(frame.bytes + frame.l4 + TCP_HEADER, options, length + TAIL);
	return run(name, &frame);
}

static const uint8_t server_option[6] = {0xb7, 6, 0xef, 0xcd, 0xab, 0x89};

static void check_place(size_t at, size_t before)
{
	uint8_t options[OPTIONS + TAIL];
	struct abi_trace trace;
	bool whole = at + sizeof(server_option) <= OPTIONS;

	/* Behind no-operations, and behind one option that is as long as all of them. */
	memset(options, 1, sizeof(options));
	if (before) {
		options[0] = 8;
		options[1] = (uint8_t)before;
	}
	memcpy(options + at, server_option, sizeof(server_option));
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		trace = run_options("place", ipv6, options, OPTIONS);
		expect_backend("place", &trace, whole ? WHY_OPTION : WHY_SLOT,
			       whole ? WORLD_CID2 : WORLD_CID1);
	}
}

static void test_option_at_each_place(void **state)
{
	(void)state;
	engines_refill();
	for (size_t at = 0; at < OPTIONS; at++) {
		check_place(at, 0);
		if (at >= 2)
			check_place(at, at);
	}
}

/* An id without its kind and length, behind as many no-operations as the header holds. */
static void test_id_alone(void **state)
{
	uint8_t options[OPTIONS + TAIL];

	(void)state;
	engines_refill();
	for (size_t at = 20; at <= OPTIONS; at++) {
		struct abi_trace trace;

		memset(options, 1, sizeof(options));
		memcpy(options + at, server_option + 2, 4);
		trace = run_options("id alone", false, options, OPTIONS);
		expect_backend("id alone", &trace, WHY_SLOT, WORLD_CID1);
	}
}

/* Every length that it may say, and a header of every size, which may end within it. */
static void test_option_lengths(void **state)
{
	uint8_t options[OPTIONS + TAIL];
	struct abi_trace trace;

	(void)state;
	engines_refill();
	for (unsigned int length = 0; length < 256; length++) {
		memset(options, 1, sizeof(options));
		memcpy(options, server_option, sizeof(server_option));
		options[1] = (uint8_t)length;
		trace = run_options("length", false, options, OPTIONS);
		expect_backend("length", &trace, length == 6 ? WHY_OPTION : WHY_SLOT,
			       length == 6 ? WORLD_CID2 : WORLD_CID1);
	}
	for (size_t size = 0; size <= OPTIONS; size += 4) {
		memset(options, 1, sizeof(options));
		memcpy(options + 10, server_option, sizeof(server_option));
		trace = run_options("size", true, options, size);
		expect_backend("size", &trace, size >= 16 ? WHY_OPTION : WHY_SLOT,
			       size >= 16 ? WORLD_CID2 : WORLD_CID1);
	}
}

/* Options that are often near to being right. */
static void test_options_at_random(void **state)
{
	static const uint8_t time_stamp[] = {1, 1, 8, 10};
	static const uint8_t often[] = {0, 1, 1, 2, 3, 4, 5, 6, 6, 8, 10, 0xb7, 0xb7};
	uint8_t options[OPTIONS + TAIL];
	unsigned int named = 0;

	(void)state;
	engines_refill();
	for (unsigned int i = 0; i < 10000; i++) {
		size_t length = 4 * (frame_random() >> 20) % (OPTIONS + 4);
		struct abi_trace trace;
		uint32_t id;

		length -= length % 4;
		for (size_t b = 0; b < length + TAIL; b++)
			options[b] = often[(frame_random() >> 20) % sizeof(often)];
		/* Also half behind the end, and all of it but its first bytes. */
		if (i % 2)
			memcpy(options + (frame_random() >> 20) % (length + 1), server_option, 6);
		if (i % 8 == 3)
			memset(options, 1, length);
		else if (i % 8 < 3)
			memcpy(options, time_stamp, sizeof(time_stamp));
		id = expect_tcp_option(options, length);
		trace = run_options("any options", i % 4 < 2, options, length);
		expect_backend("any options", &trace, id == WORLD_ID32 ? WHY_OPTION : WHY_SLOT,
			       id == WORLD_ID32 ? WORLD_CID2 : WORLD_CID1);
		named += id == WORLD_ID32;
	}
	assert_in_range(named, 100, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		cmocka_unit_test(test_quic_cut_at_every_byte),
		cmocka_unit_test(test_quic_at_random),
		cmocka_unit_test(test_quic_lb_vector),
		cmocka_unit_test(test_migration),
		cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_named_flow_has_an_entry),
		cmocka_unit_test(test_option_at_each_place),
		cmocka_unit_test(test_id_alone),
		cmocka_unit_test(test_option_lengths),
		cmocka_unit_test(test_options_at_random),
	};

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
