// SPDX-License-Identifier: BSD-2-Clause
/*
 * ICMP errors and the flows that they quote, in both engines: the error must reach the backend
 * that the flow has, by its entry or, on a node that never saw the flow, by its slot; and it must
 * leave no trace in the flow table. Cases 4 and 32 of the behaviours that must hold: an error
 * that arrives at another balancer than its flow, and every type of error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/frame/frame.h"
#include "../lib/rows/packets.h"
#include "../lib/run/engines.h"
#include "../lib/world/world.h"

enum { FLOWS = 400, FIRST_PORT = 20000 };

/* An error about a big segment from WORLD_MANY to the client's `port`. */
static void build_error(bool ipv6, uint8_t type, uint16_t port, struct frame *ret)
{
	struct frame_spec quoted = {
		.src = ipv6 ? WORLD_MANY_VIP6 : WORLD_MANY_VIP4,
		.dst = ipv6 ? WORLD_CLIENT6 : WORLD_CLIENT4,
		.sport = 443,
		.dport = port,
		.frag = ipv6 ? 0 : 0x4000,
		.payload = 600,
	};
	struct frame_spec error = {
		.src = ipv6 ? WORLD_ROUTER6 : WORLD_ROUTER4,
		.dst = quoted.src,
		.proto = ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
		.icmp_type = type,
		.quote = &quoted,
		.quote_length = ipv6 ? 0 : 28,
	};

	frame_build(&error, ret);
}

static uint32_t backend_of(const char *name, const struct frame *frame, enum why why)
{
	static struct engine_outcome outcome;

	engines_run(name, frame, &outcome);
	if (outcome.result.trace.verdict != VERDICT_FORWARDED || outcome.result.trace.why != why)
		fail_msg("%s: verdict %u why %u", name, outcome.result.trace.verdict,
			 outcome.result.trace.why);
	return outcome.result.trace.backend;
}

/* Every type of error, each about many flows, at a node that has none of their entries. */
static void test_error_of_unseen_flow(void **state)
{
	static const uint8_t types[2][4] = {{3, 11, 12, 3}, {1, 2, 3, 4}};
	uint32_t seen[WORLD_BACKENDS] = {0};
	struct frame segment, error;

	(void)state;
	for (uint16_t i = 0; i < FLOWS; i++) {
		bool ipv6 = i % 2;
		uint32_t expected;

		engines_forget_flows();
		packets_build_many(ipv6, FIRST_PORT + i, FRAME_ACK, &segment);
		expected = backend_of("segment", &segment, WHY_SLOT);
		engines_forget_flows();
		build_error(ipv6, types[ipv6][i / 2 % 4], FIRST_PORT + i, &error);
		assert_int_equal(backend_of("error", &error, WHY_ICMP), expected);
		seen[expected]++;
	}
	for (uint32_t b = WORLD_M1; b <= WORLD_M4; b++)
		assert_true(seen[b] > FLOWS / 8);
}

/* Where the slots point elsewhere by now, the entry says where the flow is. */
static void test_entry_wins(void **state)
{
	struct frame segment, error;
	uint32_t expected[FLOWS], elsewhere = 0;

	(void)state;
	engines_refill();
	for (uint16_t i = 0; i < FLOWS; i++) {
		packets_build_many(i % 2, FIRST_PORT + i, FRAME_ACK, &segment);
		expected[i] = backend_of("segment", &segment, WHY_SLOT);
	}
	for (size_t e = 0; e < engine_count; e++)
		world_many_to(engines[e].tables, WORLD_M1);
	for (uint16_t i = 0; i < FLOWS; i++) {
		build_error(i % 2, i % 2 ? 2 : 3, FIRST_PORT + i, &error);
		assert_int_equal(backend_of("error", &error, WHY_ICMP), expected[i]);
		elsewhere += expected[i] != WORLD_M1;
	}
	assert_true(elsewhere > FLOWS / 2);
	/* Once its time is over the entry says nothing any more. */
	engines_now_ns += 8000ULL * ENGINES_TICK_NS;
	build_error(false, 3, FIRST_PORT, &error);
	assert_int_equal(backend_of("late error", &error, WHY_ICMP), WORLD_M1);
	engines_refill();
}

/* Neither made nor touched, however late the error comes. */
static void test_table_untouched(void **state)
{
	size_t size = engines[0].tables->flow_buckets * sizeof(struct abi_bucket);
	struct frame segment, error;
	uint64_t made[2];
	uint8_t *before;

	(void)state;
	engines_refill();
	packets_build_many(false, FIRST_PORT, FRAME_SYN, &segment);
	backend_of("segment", &segment, WHY_SLOT);
	before = malloc(size);
	assert_non_null(before);
	for (size_t e = 0; e < engine_count; e++)
		made[e] = engine_event_count(&engines[e], ABI_EVENT_FLOW_NEW);
	memcpy(before, engines[0].tables->flows, size);
	engines_now_ns += 5ULL * ENGINES_TICK_NS;
	build_error(false, 3, FIRST_PORT, &error);
	backend_of("error", &error, WHY_ICMP);
	build_error(true, 2, FIRST_PORT + 1, &error);
	backend_of("error about an unseen flow", &error, WHY_ICMP);
	for (size_t e = 0; e < engine_count; e++) {
		assert_memory_equal(engines[e].tables->flows, before, size);
		assert_int_equal(engine_event_count(&engines[e], ABI_EVENT_FLOW_NEW), made[e]);
	}
	/* What a segment would have changed, so that the comparison is worth something. */
	packets_build_many(false, FIRST_PORT, FRAME_ACK, &segment);
	backend_of("segment", &segment, WHY_FLOW);
	for (size_t e = 0; e < engine_count; e++)
		assert_memory_not_equal(engines[e].tables->flows, before, size);
	free(before);
}

/* A quote of every length, in a packet that is honest about its own. */
static void test_short_quotes(void **state)
{
	static struct engine_outcome outcome;

	(void)state;
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		struct frame_spec quoted = {
			.src = ipv6 ? WORLD_ONE6_VIP6 : WORLD_ONE4_VIP4,
			.dst = ipv6 ? WORLD_CLIENT6 : WORLD_CLIENT4,
			.sport = 80,
		};
		struct frame_spec error = {
			.src = ipv6 ? WORLD_ROUTER6 : WORLD_ROUTER4,
			.dst = quoted.src,
			.proto = ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
			.icmp_type = 3,
			.quote = &quoted,
		};
		uint16_t ports = ipv6 ? 44 : 24;

		for (uint16_t length = 1; length <= ports + 16; length++) {
			bool enough = length >= ports;
			struct frame frame;

			error.quote_length = length;
			frame_build(&error, &frame);
			engines_run("quote", &frame, &outcome);
			assert_int_equal(outcome.result.trace.why, WHY_ICMP);
			if (outcome.result.trace.verdict !=
			    (enough ? VERDICT_FORWARDED : VERDICT_OTHER_PROTOCOL))
				fail_msg("IPv%d, %u bytes quoted: verdict %u", ipv6 ? 6 : 4, length,
					 outcome.result.trace.verdict);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		cmocka_unit_test(test_error_of_unseen_flow),
		cmocka_unit_test(test_entry_wins),
		cmocka_unit_test(test_table_untouched),
		cmocka_unit_test(test_short_quotes),
	};

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
