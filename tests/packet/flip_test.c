// SPDX-License-Identifier: BSD-2-Clause
/*
 * A service whose table has been replaced by one of another size, seed or policy: a flow from
 * before goes to whom the old table names, by the old policy and seed, also by an entry that
 * stands under its old slot. Natively and in the kernel; slots by the tests' own hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "dp/verdict.h"

#include "../lib/expect/policy.h"
#include "../lib/run/engines.h"
#include "../lib/world/world.h"

enum { FLOWS = 24, NEW = WORLD_FLIP_B, PREFIX4 = 20, PREFIX6 = 44 };

/* The owners of the old table's slots, by turns. */
static const uint32_t owners[] = {WORLD_MOVED_B, WORLD_MOVE_B, WORLD_LATE_B, WORLD_B4, WORLD_B6};
enum { OWNERS = sizeof(owners) / sizeof(owners[0]) };

static struct abi_service *service_in(const struct engine *engine)
{
	return &engine->tables->services[WORLD_FLIP];
}

static void set_old(enum abi_policy policy)
{
	for (size_t i = 0; i < engine_count; i++) {
		struct abi_service *service = service_in(&engines[i]);

		service->old_policy = policy;
		service->old_source_prefix4 = PREFIX4;
		service->old_source_prefix6 = PREFIX6;
	}
}

static void set_new(enum abi_policy policy)
{
	for (size_t i = 0; i < engine_count; i++) {
		struct abi_service *service = service_in(&engines[i]);

		service->policy = policy;
		service->source_prefix4 = 24;
		service->source_prefix6 = 56;
		if (policy != ABI_POLICY_5TUPLE)
			service->flags |= ABI_SERVICE_POLICY;
	}
}

static void set_slot(uint32_t slot, uint64_t word)
{
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->slots[WORLD_OLD_SLOT + slot] = word;
}

static void set_word(uint64_t word)
{
	for (size_t i = 0; i < engine_count; i++)
		world_set_word(engines[i].tables, WORLD_FLIP, word);
}

static void set_flags(uint32_t backend, uint32_t cleared)
{
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[backend].flags &= ~cleared;
}

static void set_flip(bool on)
{
	for (size_t i = 0; i < engine_count; i++) {
		struct abi_service *service = service_in(&engines[i]);

		service->flags &= ~(uint32_t)ABI_SERVICE_FLIP;
		service->flags |= on ? ABI_SERVICE_FLIP : 0;
	}
}

/* --- flows --- */

static struct expect_flow flow_of(bool ipv6, unsigned int number, uint8_t proto)
{
	struct addr src, dst;
	char text[ADDR_TEXT_MAX];
	struct expect_flow flow = {.ipv6 = ipv6,
				   .sport = (uint16_t)(1000 + number),
				   .dport = proto == IPPROTO_TCP ? 80 : 53,
				   .proto = proto,
				   .label = ipv6 ? number * 77 % 5000 : 0};

	snprintf(text, sizeof(text), ipv6 ? "2001:db8:%x::%x" : "203.%u.113.%u", number % 7,
		 number);
	assert_int_equal(addr_parse(text, &src), 0);
	assert_int_equal(addr_parse(ipv6 ? WORLD_FLIP_VIP6 : WORLD_FLIP_VIP4, &dst), 0);
	memcpy(flow.src, src.bytes + (ipv6 ? 0 : 12), ipv6 ? 16 : 4);
	memcpy(flow.dst, dst.bytes + (ipv6 ? 0 : 12), ipv6 ? 16 : 4);
	return flow;
}

static struct abi_trace run_spec(const struct frame_spec *spec)
{
	static struct engine_outcome outcome;
	struct frame frame;

	frame_build(spec, &frame);
	engines_run("after a flip", &frame, &outcome);
	assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
	return outcome.result.trace;
}

static struct abi_trace run(const struct expect_flow *flow, uint8_t tcp_flags)
{
	char src[ADDR_TEXT_MAX];
	struct addr addr = {.bytes = {[10] = 0xff, [11] = 0xff}};
	struct frame_spec spec = {.src = src,
				  .dst = flow->ipv6 ? WORLD_FLIP_VIP6 : WORLD_FLIP_VIP4,
				  .sport = flow->sport,
				  .dport = flow->dport,
				  .proto = flow->proto,
				  .tcp_flags = tcp_flags};

	memcpy(addr.bytes + (flow->ipv6 ? 0 : 12), flow->src, flow->ipv6 ? 16 : 4);
	addr_format(&addr, src);
	if (flow->ipv6)
		spec.patches[0] = (struct frame_patch){FRAME_AT_IP, 0, 4, 6U << 28 | flow->label};
	return run_spec(&spec);
}

static struct abi_trace run_error(const struct expect_flow *flow)
{
	char src[ADDR_TEXT_MAX];
	struct addr addr = {.bytes = {[10] = 0xff, [11] = 0xff}};
	const char *vip = flow->ipv6 ? WORLD_FLIP_VIP6 : WORLD_FLIP_VIP4;
	struct frame_spec quoted = {.src = vip,
				    .dst = src,
				    .sport = flow->dport,
				    .dport = flow->sport,
				    .proto = flow->proto};
	struct frame_spec spec = {.src = flow->ipv6 ? WORLD_ROUTER6 : WORLD_ROUTER4,
				  .dst = vip,
				  .proto = flow->ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
				  .icmp_type = 3,
				  .quote = &quoted};

	memcpy(addr.bytes + (flow->ipv6 ? 0 : 12), flow->src, flow->ipv6 ? 16 : 4);
	addr_format(&addr, src);
	return run_spec(&spec);
}

static uint32_t old_slot(const struct expect_flow *flow, enum abi_policy policy)
{
	return expect_slot(flow, policy, flow->ipv6 ? PREFIX6 : PREFIX4,
			   engines[0].tables->node->old_slot_seed, WORLD_OLD_SLOTS);
}

static uint32_t old_owner(const struct expect_flow *flow, enum abi_policy policy)
{
	return owners[old_slot(flow, policy) % OWNERS];
}

static void expect(struct abi_trace trace, enum why why, uint32_t backend)
{
	if (trace.why != why || trace.backend != backend)
		fail_msg("why %u to %s, expected %u to %s", trace.why,
			 world_backend_name(trace.backend), why, world_backend_name(backend));
}

static void check_flow(const struct expect_flow *flow, enum abi_policy policy)
{
	uint32_t owner = old_owner(flow, policy);

	/* Of the server's own packets the label is another one. */
	if (policy != ABI_POLICY_FLOW_LABEL || !flow->ipv6)
		expect(run_error(flow), WHY_ICMP, owner);
	else
		expect(run_error(flow), WHY_ICMP, NEW);
	expect(run(flow, FRAME_ACK), WHY_OLD_TABLE, owner);
	expect(run(flow, FRAME_ACK), WHY_FLOW, owner);
	expect(run_error(flow), WHY_ICMP, owner);
}

/* Every policy before, and the usual one after. */
static void test_old_policies(void **state)
{
	(void)state;
	for (int policy = ABI_POLICY_SOURCE; policy <= ABI_POLICY_QUIC_CID; policy++) {
		set_old((enum abi_policy)policy);
		for (unsigned int n = 1; n <= FLOWS; n++) {
			uint8_t proto = n % 3 ? IPPROTO_TCP : IPPROTO_UDP;
			struct expect_flow flow = flow_of(n % 2, n, proto);

			check_flow(&flow, (enum abi_policy)policy);
		}
		engines_forget_flows();
	}
}

/* Every policy after: the old one counts all the same. */
static void test_new_policies(void **state)
{
	(void)state;
	set_old(ABI_POLICY_4TUPLE);
	for (int policy = ABI_POLICY_SOURCE; policy <= ABI_POLICY_QUIC_CID; policy++) {
		set_new((enum abi_policy)policy);
		for (unsigned int n = 1; n <= FLOWS; n++) {
			struct expect_flow flow = flow_of(n % 2, n, IPPROTO_TCP);

			expect(run(&flow, FRAME_ACK), WHY_OLD_TABLE,
			       old_owner(&flow, ABI_POLICY_4TUPLE));
			expect(run(&flow, FRAME_ACK), WHY_FLOW,
			       old_owner(&flow, ABI_POLICY_4TUPLE));
			flow.sport += 1000;
			expect(run(&flow, FRAME_SYN), WHY_SLOT, NEW);
			expect(run(&flow, FRAME_ACK), WHY_FLOW, NEW);
		}
		engines_forget_flows();
	}
}

/* In the old table's words the same counts as in any. */
static void test_old_words(void **state)
{
	struct expect_flow flow = flow_of(false, 1, IPPROTO_TCP);
	struct expect_flow udp = flow_of(false, 1, IPPROTO_UDP);

	(void)state;
	for (uint32_t slot = 0; slot < WORLD_OLD_SLOTS; slot++)
		set_slot(slot, abi_slot(WORLD_MOVE_B, WORLD_MOVED_B, 0) | ABI_SLOT_TRANSITION);
	expect(run(&flow, FRAME_ACK), WHY_OLD_TABLE, WORLD_MOVED_B);
	expect(run(&udp, 0), WHY_OLD_TABLE, WORLD_MOVED_B);
	for (uint32_t slot = 0; slot < WORLD_OLD_SLOTS; slot++)
		set_slot(slot, abi_slot(WORLD_MOVE_B, WORLD_MOVED_B, 0) | ABI_SLOT_TRANSITION |
				       ABI_SLOT_LATE);
	udp.sport++;
	flow.sport++;
	expect(run(&flow, FRAME_ACK), WHY_OLD_TABLE, WORLD_MOVED_B);
	expect(run(&udp, 0), WHY_OLD_TABLE, WORLD_MOVE_B);
	/* Who keeps nothing is passed over, and nobody else of the old table takes its place. */
	set_flags(WORLD_MOVED_B, ABI_BACKEND_KEEP);
	flow.sport++;
	expect(run(&flow, FRAME_ACK), WHY_OLD_TABLE, WORLD_MOVE_B);
	set_flags(WORLD_MOVE_B, ABI_BACKEND_KEEP | ABI_BACKEND_UP);
	flow.sport++;
	expect(run(&flow, FRAME_ACK), WHY_SLOT, NEW);
	/* Of the new table the slot may have changed since. */
	set_word(abi_slot(NEW, WORLD_LATE_B, 0) | ABI_SLOT_TRANSITION);
	flow.sport++;
	expect(run(&flow, FRAME_ACK), WHY_PREVIOUS, WORLD_LATE_B);
	flow.sport++;
	expect(run(&flow, FRAME_SYN), WHY_SLOT, NEW);
}

/* A slot that has settled, and one that is late, ask the old table no more. */
static void test_ends(void **state)
{
	struct expect_flow flow = flow_of(false, 1, IPPROTO_TCP);
	struct expect_flow udp = flow_of(false, 1, IPPROTO_UDP);

	(void)state;
	set_word(abi_slot(NEW, 0, 0) | ABI_SLOT_TRANSITION | ABI_SLOT_LATE);
	expect(run(&udp, 0), WHY_SLOT, NEW);
	expect(run(&flow, FRAME_ACK), WHY_OLD_TABLE, old_owner(&flow, ABI_POLICY_5TUPLE));
	set_word(abi_slot(NEW, 0, 0));
	flow.sport++;
	expect(run(&flow, FRAME_ACK), WHY_SLOT, NEW);
	set_word(abi_slot(NEW, 0, 0) | ABI_SLOT_TRANSITION);
	for (size_t i = 0; i < engine_count; i++)
		service_in(&engines[i])->old_table = 0;
	flow.sport++;
	expect(run(&flow, FRAME_ACK), WHY_SLOT, NEW);
}

/* What cannot be recorded goes by the old table, who begins too. */
static void test_not_recordable(void **state)
{
	(void)state;
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->insert_limit = 0;
	for (unsigned int n = 1; n <= FLOWS; n++) {
		struct expect_flow flow = flow_of(n % 2, n, IPPROTO_TCP);

		for (int i = 0; i < 2; i++)
			expect(run(&flow, i ? FRAME_ACK : FRAME_SYN), WHY_OLD_TABLE,
			       old_owner(&flow, ABI_POLICY_5TUPLE));
	}
}

/* An entry from before the flip counts, and is under its new slot from then on. */
static void test_old_entries(void **state)
{
	uint64_t before[2];

	(void)state;
	for (unsigned int n = 1; n <= FLOWS; n++) {
		struct expect_flow flow = flow_of(n % 2, n, n % 3 ? IPPROTO_TCP : IPPROTO_UDP);
		uint32_t slot = old_slot(&flow, ABI_POLICY_5TUPLE);
		uint64_t seed = engines[0].tables->node->slot_seed;

		/* As it was: the old table is the present one, and the flow has WORLD_GUARD_B. */
		set_flip(false);
		for (size_t i = 0; i < engine_count; i++) {
			struct abi_service *service = service_in(&engines[i]);

			before[i] = service->table;
			service->table = service->old_table;
			engines[i].tables->node->slot_seed = engines[i].tables->node->old_slot_seed;
		}
		set_slot(slot, abi_slot(WORLD_GUARD_B, 0, 0) | ABI_SLOT_TRANSITION);
		expect(run(&flow, FRAME_SYN), WHY_SLOT, WORLD_GUARD_B);
		expect(run(&flow, FRAME_ACK), WHY_FLOW, WORLD_GUARD_B);
		set_slot(slot, abi_slot(owners[slot % OWNERS], 0, 0));
		set_flip(true);
		for (size_t i = 0; i < engine_count; i++) {
			service_in(&engines[i])->table = before[i];
			engines[i].tables->node->slot_seed = seed;
		}
		expect(run_error(&flow), WHY_ICMP, WORLD_GUARD_B);
		/* A closing one ends as it would have. */
		if (n % 4 == 0) {
			expect(run(&flow, FRAME_FIN | FRAME_ACK), WHY_FLOW, WORLD_GUARD_B);
			if (flow.proto == IPPROTO_TCP)
				expect(run(&flow, FRAME_SYN), WHY_SLOT, NEW);
			continue;
		}
		expect(run(&flow, FRAME_ACK), WHY_FLOW, WORLD_GUARD_B);
		set_flip(false);
		expect(run(&flow, FRAME_ACK), WHY_FLOW, WORLD_GUARD_B);
		set_flip(true);
	}
}

/* Pieces: by what all have, where that is what the old policy asks for. */
static void test_pieces(void **state)
{
	struct frame_spec first = {.src = "203.0.113.7",
				   .dst = WORLD_FLIP_VIP4,
				   .sport = 1007,
				   .dport = 53,
				   .proto = IPPROTO_UDP,
				   .frag = 0x2000,
				   .payload = 64};
	struct frame_spec later = first;
	struct expect_flow flow = flow_of(false, 7, IPPROTO_UDP);

	(void)state;
	later.frag = 9;
	memcpy(flow.src, (const uint8_t[]){203, 0, 113, 7}, 4);
	set_old(ABI_POLICY_SOURCE);
	expect(run_spec(&later), WHY_OLD_TABLE, old_owner(&flow, ABI_POLICY_SOURCE));
	expect(run_spec(&first), WHY_OLD_TABLE, old_owner(&flow, ABI_POLICY_SOURCE));
	engines_forget_flows();
	set_old(ABI_POLICY_5TUPLE);
	expect(run_spec(&first), WHY_OLD_TABLE, old_owner(&flow, ABI_POLICY_5TUPLE));
	expect(run_spec(&later), WHY_FRAGMENT, old_owner(&flow, ABI_POLICY_5TUPLE));
	engines_forget_flows();
	expect(run_spec(&later), WHY_SLOT, NEW);
	expect(run_spec(&later), WHY_FRAGMENT, NEW);
}

static int begin(void **state)
{
	(void)state;
	engines_refill();
	engines_now_ns += 100ULL * ENGINES_TICK_NS;
	for (uint32_t slot = 0; slot < WORLD_OLD_SLOTS; slot++)
		set_slot(slot, abi_slot(owners[slot % OWNERS], 0, 0));
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(test_##name, begin)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		TEST(old_policies),
		TEST(new_policies),
		TEST(old_words),
		TEST(ends),
		TEST(not_recordable),
		TEST(old_entries),
		TEST(pieces),
	};
#undef TEST

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
