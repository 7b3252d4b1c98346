// SPDX-License-Identifier: BSD-2-Clause
/*
 * Slots by policy and backends by the ids that packets name, in both engines, against the twins of
 * tests/lib/expect/policy.h. WORLD_MANY gets a policy for a test: it has 251 slots and four
 * backends. Cases 4 and 32 of the behaviours that must hold, for each policy: an error that
 * arrives at another balancer than its flow, and every type of error.
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

enum { VARIANTS = 60, PREFIX4 = 20, PREFIX6 = 52, PORT = 443, POLICIES = ABI_POLICY_QUIC_CID + 1 };
enum field { SRC_LOW, SRC_HIGH, DST, SPORT, DPORT, PROTO, LABEL, FIELDS };

static const char *const field_names[FIELDS] = {
	"source's end", "source's beginning", "destination", "source port",
	"port",         "protocol",           "label"};

/* What is in the key: a bit a field. */
static uint32_t key_of(enum abi_policy policy, bool ipv6)
{
	const uint32_t src = 1 << SRC_LOW | 1 << SRC_HIGH, pair = src | 1 << DST;
	const uint32_t tuple = pair | 1 << SPORT | 1 << DPORT | 1 << PROTO;

	switch (policy) {
	case ABI_POLICY_SOURCE: return src;
	case ABI_POLICY_SOURCE_PREFIX: return 1 << SRC_HIGH;
	case ABI_POLICY_2TUPLE: return pair;
	case ABI_POLICY_3TUPLE: return pair | 1 << PROTO;
	case ABI_POLICY_4TUPLE: return pair | 1 << PROTO | 1 << DPORT;
	case ABI_POLICY_FLOW_LABEL: return ipv6 ? pair | 1 << LABEL : tuple;
	default: return tuple;
	}
}

/* --- the world --- */

/* WORLD_MANY listens on every port of 16 addresses a family, the last byte 0x60 to 0x6f. */
static void widen(struct dp_tables *tables)
{
	const uint64_t listens[] = {
		abi_listen(1, 65535, IPPROTO_TCP, WORLD_MANY),
		abi_listen(1, 65535, IPPROTO_UDP, WORLD_MANY),
	};

	for (unsigned int i = 0; i < 32; i++) {
		struct addr vip;
		char text[64];

		snprintf(text, sizeof(text), i < 16 ? "198.51.101.%u" : "2001:db8:11::%x",
			 0x60 + i % 16);
		assert_int_equal(addr_parse(text, &vip), 0);
		assert_int_equal(dp_tables_set_vip(tables, &vip, listens, 2), 0);
	}
}

static void set_policy(enum abi_policy policy, bool tracked)
{
	engines_refill();
	for (size_t e = 0; e < engine_count; e++) {
		struct abi_service *service = &engines[e].tables->services[WORLD_MANY];

		widen(engines[e].tables);
		service->policy = (uint8_t)policy;
		service->source_prefix4 = PREFIX4;
		service->source_prefix6 = PREFIX6;
		service->cid = ABI_CID_QUIC_LB;
		service->cid_config = WORLD_CID_CONFIG;
		service->cid_length = WORLD_CID_LENGTH;
		service->flags = ABI_SERVICE_TOO_BIG | (tracked ? ABI_SERVICE_TRACK : 0) |
				 (policy == ABI_POLICY_5TUPLE ? 0 : ABI_SERVICE_POLICY);
	}
}

static struct expect_flow base_flow(bool ipv6)
{
	struct expect_flow flow = {
		.ipv6 = ipv6,
		.sport = 40000,
		.dport = PORT,
		.proto = IPPROTO_TCP,
		.label = 0x12345,
	};

	inet_pton(ipv6 ? AF_INET6 : AF_INET, ipv6 ? WORLD_CLIENT6 : WORLD_CLIENT4, flow.src);
	inet_pton(ipv6 ? AF_INET6 : AF_INET, ipv6 ? "2001:db8:11::60" : "198.51.101.96", flow.dst);
	return flow;
}

/* One field set to the nth of its values; there are 2 protocols, 16 destinations. */
static void vary(struct expect_flow *flow, enum field field, unsigned int n)
{
	size_t size = flow->ipv6 ? 16 : 4;

	switch (field) {
	case SRC_LOW: flow->src[size - 1] = (uint8_t)(n + 1); break;
	case SRC_HIGH: flow->src[flow->ipv6 ? 5 : 1] = (uint8_t)(n + 1); break;
	case DST: flow->dst[size - 1] = (uint8_t)(0x60 + n % 16); break;
	case SPORT: flow->sport = (uint16_t)(1024 + 7 * n); break;
	case DPORT: flow->dport = (uint16_t)(1 + n); break;
	case PROTO: flow->proto = n % 2 ? IPPROTO_UDP : IPPROTO_TCP; break;
	default: flow->label = 1 + n * 0x4321 % 0xfffff; break;
	}
}

static void put_label(uint8_t *ip, uint32_t label)
{
	ip[1] = (uint8_t)((ip[1] & 0xf0) | label >> 16);
	frame_put(ip + 2, 2, label & 0xffff);
}

static const char *text_of(const uint8_t *addr, bool ipv6, char *text)
{
	return inet_ntop(ipv6 ? AF_INET6 : AF_INET, addr, text, INET6_ADDRSTRLEN);
}

/* A segment without SYN, or a datagram. */
static void build_packet(const struct expect_flow *flow, uint16_t payload, struct frame *ret)
{
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	struct frame_spec spec = {
		.src = text_of(flow->src, flow->ipv6, src),
		.dst = text_of(flow->dst, flow->ipv6, dst),
		.sport = flow->sport,
		.dport = flow->dport,
		.proto = flow->proto,
		.payload = payload,
	};

	frame_build(&spec, ret);
	if (flow->ipv6)
		put_label(ret->bytes + ret->ip, flow->label);
}

/* An error about what the server sends to the flow's client, with a label of its own. */
static void build_error(const struct expect_flow *flow, uint8_t type, struct frame *ret)
{
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	struct frame_spec quoted = {
		.src = text_of(flow->dst, flow->ipv6, dst),
		.dst = text_of(flow->src, flow->ipv6, src),
		.sport = flow->dport,
		.dport = flow->sport,
		.proto = flow->proto,
		.payload = 30,
	};
	struct frame_spec error = {
		.src = flow->ipv6 ? WORLD_ROUTER6 : WORLD_ROUTER4,
		.dst = quoted.src,
		.proto = flow->ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
		.icmp_type = type,
		.quote = &quoted,
	};

	frame_build(&error, ret);
}

static struct abi_trace run(const char *name, const struct frame *frame)
{
	static struct engine_outcome outcome;

	engines_run(name, frame, &outcome);
	return outcome.result.trace;
}

static struct abi_trace run_packet(const struct expect_flow *flow)
{
	struct frame frame;
	struct abi_trace trace;

	build_packet(flow, 0, &frame);
	trace = run("packet", &frame);
	assert_int_equal(trace.verdict, VERDICT_FORWARDED);
	return trace;
}

static uint32_t twin_slot(const struct expect_flow *flow, enum abi_policy policy)
{
	return expect_slot(flow, policy, flow->ipv6 ? PREFIX6 : PREFIX4,
			   engines[0].tables->node->slot_seed, WORLD_MANY_SLOTS);
}

/* --- slots --- */

/* One field in turn: what is in the key spreads, what is not changes nothing. */
static void check_field(enum abi_policy policy, bool ipv6, enum field field)
{
	bool in_key = key_of(policy, ipv6) >> field & 1;
	uint8_t seen[WORLD_MANY_SLOTS] = {0};
	unsigned int distinct = 0, values = field == PROTO ? 2 : field == DST ? 16 : VARIANTS;

	for (unsigned int n = 0; n < values; n++) {
		struct expect_flow flow = base_flow(ipv6);
		struct abi_trace trace;

		vary(&flow, field, n);
		trace = run_packet(&flow);
		assert_int_equal(trace.why, WHY_SLOT);
		if (trace.slot != twin_slot(&flow, policy))
			fail_msg("policy %u, IPv%d, %s: slot %u, expected %u", policy, ipv6 ? 6 : 4,
				 field_names[field], trace.slot, twin_slot(&flow, policy));
		distinct += seen[trace.slot]++ == 0;
	}
	/* 60 draws of 251 leave 53 slots on average, with a deviation of 2.4. */
	if (in_key ? distinct < values * 7 / 10 : distinct != 1)
		fail_msg("policy %u, IPv%d, %s: %u slots of %u values", policy, ipv6 ? 6 : 4,
			 field_names[field], distinct, values);
}

static void test_keys(void **state)
{
	(void)state;
	for (int policy = 0; policy < POLICIES; policy++) {
		set_policy((enum abi_policy)policy, false);
		for (int field = 0; field < FIELDS; field++) {
			check_field((enum abi_policy)policy, false, (enum field)field);
			check_field((enum abi_policy)policy, true, (enum field)field);
		}
	}
}

/* Every length of a prefix, against the twin, with sources that share half of it or none. */
static void test_prefix_lengths(void **state)
{
	(void)state;
	set_policy(ABI_POLICY_SOURCE_PREFIX, false);
	for (unsigned int bits = 0; bits <= 128; bits++) {
		bool ipv6 = bits > 32 || bits % 2;

		for (size_t e = 0; e < engine_count; e++) {
			struct abi_service *service = &engines[e].tables->services[WORLD_MANY];

			service->source_prefix4 = (uint8_t)(bits > 32 ? 32 : bits);
			service->source_prefix6 = (uint8_t)bits;
		}
		for (int n = 0; n < 8; n++) {
			struct expect_flow flow = base_flow(ipv6);

			for (size_t i = 2; i < (ipv6 ? 16 : 4); i++)
				flow.src[i] = (uint8_t)(frame_random() >> 24);
			assert_int_equal(run_packet(&flow).slot,
					 expect_slot(&flow, ABI_POLICY_SOURCE_PREFIX, bits,
						     engines[0].tables->node->slot_seed,
						     WORLD_MANY_SLOTS));
		}
	}
}

/* What the tunnel's entropy comes from is the 5-tuple whatever the policy. */
static void test_entropy_stays(void **state)
{
	static struct engine_outcome plain, other;
	struct expect_flow flow = base_flow(false);
	struct frame frame;

	(void)state;
	for (int policy = 0; policy < POLICIES; policy++) {
		for (unsigned int n = 0; n < 20; n++) {
			vary(&flow, SPORT, n);
			build_packet(&flow, 0, &frame);
			set_policy(ABI_POLICY_5TUPLE, false);
			for (size_t e = 0; e < engine_count; e++)
				world_many_to(engines[e].tables, WORLD_M1);
			engines_run("by the tuple", &frame, &plain);
			set_policy((enum abi_policy)policy, false);
			for (size_t e = 0; e < engine_count; e++)
				world_many_to(engines[e].tables, WORLD_M1);
			engines_run("by policy", &frame, &other);
			assert_int_equal(plain.result.length, other.result.length);
			assert_memory_equal(plain.bytes, other.bytes, plain.result.length);
		}
	}
}

/* Label 0 says nothing, so the 5-tuple does. */
static void test_label_0(void **state)
{
	struct expect_flow flow = base_flow(true);

	(void)state;
	set_policy(ABI_POLICY_FLOW_LABEL, false);
	for (unsigned int n = 0; n < VARIANTS; n++) {
		vary(&flow, SPORT, n);
		flow.label = 0;
		assert_int_equal(run_packet(&flow).slot, twin_slot(&flow, ABI_POLICY_5TUPLE));
	}
}

/* Linux changes a connection's label when it times out; its entry is found all the same. */
static void test_label_changes(void **state)
{
	struct expect_flow flow = base_flow(true);
	unsigned int moved = 0;

	(void)state;
	set_policy(ABI_POLICY_FLOW_LABEL, true);
	for (unsigned int n = 0; n < VARIANTS; n++) {
		struct abi_trace first, later;

		vary(&flow, SPORT, n);
		vary(&flow, LABEL, n);
		first = run_packet(&flow);
		assert_int_equal(first.why, WHY_SLOT);
		assert_int_equal(first.slot, twin_slot(&flow, ABI_POLICY_FLOW_LABEL));
		vary(&flow, LABEL, n + 1);
		later = run_packet(&flow);
		assert_int_equal(later.why, WHY_FLOW);
		assert_int_equal(later.backend, first.backend);
		flow.label = 0;
		assert_int_equal(run_packet(&flow).backend, first.backend);
		vary(&flow, LABEL, n + 1);
		engines_forget_flows();
		moved += run_packet(&flow).backend != first.backend;
	}
	assert_true(moved > VARIANTS / 2);
}

/* --- errors --- */

static bool is_unquoted(enum abi_policy policy, const struct expect_flow *flow)
{
	return (policy == ABI_POLICY_FLOW_LABEL && flow->ipv6) ||
	       (policy == ABI_POLICY_QUIC_CID && flow->proto == IPPROTO_UDP);
}

static void check_error(enum abi_policy policy, const struct expect_flow *flow, uint8_t type,
			uint32_t backend)
{
	struct abi_trace trace;
	struct frame error;

	build_error(flow, type, &error);
	trace = run("error", &error);
	assert_int_equal(trace.why, WHY_ICMP);
	if (trace.verdict != (backend ? VERDICT_FORWARDED : VERDICT_UNQUOTED) ||
	    trace.backend != backend)
		fail_msg("policy %u, IPv%d, error %u: verdict %u to %s, expected %s", policy,
			 flow->ipv6 ? 6 : 4, type, trace.verdict, world_backend_name(trace.backend),
			 world_backend_name(backend));
}

/* At the flow's node, where its entry is, and at one that never saw it. */
static void check_errors(enum abi_policy policy, bool tracked, unsigned int n)
{
	static const uint8_t types[2][4] = {{3, 11, 12, 3}, {1, 2, 3, 4}};
	struct expect_flow flow = base_flow(n % 2);
	uint32_t expected;

	vary(&flow, SRC_HIGH, n);
	vary(&flow, SPORT, n);
	vary(&flow, PROTO, n / 2);
	engines_forget_flows();
	expected = run_packet(&flow).backend;
	if (tracked)
		check_error(policy, &flow, types[n % 2][n / 4 % 4], expected);
	engines_forget_flows();
	check_error(policy, &flow, types[n % 2][n / 4 % 4],
		    is_unquoted(policy, &flow) ? 0 : expected);
}

static void test_case_4_error_at_another_node(void **state)
{
	(void)state;
	for (int policy = 0; policy < POLICIES; policy++) {
		for (int tracked = 0; tracked < 2; tracked++) {
			set_policy((enum abi_policy)policy, tracked);
			for (unsigned int n = 0; n < VARIANTS; n++)
				check_errors((enum abi_policy)policy, tracked, n);
		}
	}
}

/* All types of errors about one flow, and where the slots say something else by now. */
static void test_case_32_every_error(void **state)
{
	static const uint8_t types[2][4] = {{3, 11, 12, 3}, {1, 2, 3, 4}};

	(void)state;
	for (int policy = 0; policy < POLICIES; policy++) {
		for (int family = 0; family < 2; family++) {
			struct expect_flow flow = base_flow(family);
			uint32_t expected;

			set_policy((enum abi_policy)policy, true);
			flow.proto = policy == ABI_POLICY_QUIC_CID ? IPPROTO_UDP : IPPROTO_TCP;
			expected = run_packet(&flow).backend;
			for (size_t e = 0; e < engine_count; e++)
				world_many_to(engines[e].tables,
					      expected == WORLD_M1 ? WORLD_M2 : WORLD_M1);
			for (int t = 0; t < 4; t++)
				check_error((enum abi_policy)policy, &flow, types[family][t],
					    expected);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_prefix_lengths),
		cmocka_unit_test(test_entropy_stays),
		cmocka_unit_test(test_label_0),
		cmocka_unit_test(test_label_changes),
		cmocka_unit_test(test_case_4_error_at_another_node),
		cmocka_unit_test(test_case_32_every_error),
	};

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
