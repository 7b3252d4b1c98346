// SPDX-License-Identifier: BSD-2-Clause
/*
 * `lookup: dual`: which of two slots' backends a flow gets, and when its backup has it. Each step
 * runs natively and in the kernel, which must agree. A is the backend of the flow's own slot, B
 * that of all others, so of its second one too, wherever that is.
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

#include "dp/verdict.h"
#include "flow/flow.h"

#include "../lib/run/engines.h"
#include "../lib/world/world.h"

enum {
	A = WORLD_CROWD1,
	B = WORLD_CROWD1 + 1,
	C = WORLD_CROWD1 + 2,
	D = WORLD_CROWD1 + 3,
	GOOD = ABI_BACKEND_UP | ABI_BACKEND_KEEP | ABI_BACKEND_HEALTHY | ABI_BACKEND_NEIGH,
	DRAINS = GOOD & ~ABI_BACKEND_UP,
	OUT = ABI_BACKEND_NEIGH,
};
#define MOVING ABI_SLOT_TRANSITION

static struct abi_trace last; /* of the last packet */

static struct abi_service *service_in(const struct engine *engine)
{
	return &engine->tables->services[WORLD_CROWD];
}

static void set_flags(uint32_t backend, uint32_t flags)
{
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[backend].flags = flags;
}

static void set_weights(uint8_t a, uint8_t b)
{
	for (size_t i = 0; i < engine_count; i++) {
		engines[i].tables->backends[A].weight = a;
		engines[i].tables->backends[B].weight = b;
	}
}

static void set_limit(uint32_t limit)
{
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->insert_limit = limit;
	engines_now_ns += 10ULL * ENGINES_TICK_NS; /* the limit is a tick's */
}

static void pass(uint32_t ticks)
{
	engines_now_ns += (uint64_t)ticks * ENGINES_TICK_NS;
}

static uint64_t events(enum abi_event event)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < engine_count; i++)
		sum += engine_event_count(&engines[i], event);
	return sum / engine_count;
}

static void run(const struct frame_spec *spec)
{
	static struct engine_outcome outcome;
	struct frame frame;

	frame_build(spec, &frame);
	engines_run("a packet of crowd", &frame, &outcome);
	last = outcome.result.trace;
}

static void expect(const struct frame_spec *spec, enum why why, uint32_t backend)
{
	run(spec);
	if (last.why != why || last.backend != backend)
		fail_msg("port %u, flags %#x: why %u to %s, expected %u to %s", spec->sport,
			 spec->tcp_flags, last.why, world_backend_name(last.backend), why,
			 world_backend_name(backend));
}

static struct frame_spec packet(uint16_t port, uint8_t proto, uint8_t tcp_flags)
{
	return (struct frame_spec){.src = WORLD_CLIENT4,
				   .dst = WORLD_CROWD_VIP4,
				   .sport = port,
				   .dport = 443,
				   .proto = proto,
				   .tcp_flags = tcp_flags};
}

static void tcp(uint16_t port, uint8_t flags, enum why why, uint32_t backend)
{
	const struct frame_spec spec = packet(port, IPPROTO_TCP, flags);

	expect(&spec, why, backend);
}

static void udp(uint16_t port, enum why why, uint32_t backend)
{
	const struct frame_spec spec = packet(port, IPPROTO_UDP, 0);

	expect(&spec, why, backend);
}

/* An error about what the VIP sent to the client's port. */
static void icmp(uint16_t port, uint32_t backend)
{
	const struct frame_spec quoted = {
		.src = WORLD_CROWD_VIP4, .dst = WORLD_CLIENT4, .sport = 443, .dport = port};
	const struct frame_spec spec = {.src = WORLD_ROUTER4,
					.dst = WORLD_CROWD_VIP4,
					.proto = IPPROTO_ICMP,
					.icmp_type = 3,
					.quote = &quoted};

	expect(&spec, WHY_ICMP, backend);
}

/* The own slots of flows with these ports, TCP's and UDP's, have one word, all others another. */
static void set_words(uint16_t first, uint16_t end, uint64_t own, uint64_t others)
{
	static const uint8_t protocols[] = {IPPROTO_TCP, IPPROTO_UDP};
	uint32_t slots[64], count = 0;

	for (size_t i = 0; i < engine_count; i++) {
		service_in(&engines[i])->flags = 0;
		world_set_word(engines[i].tables, WORLD_CROWD, abi_slot(D, 0, 0));
	}
	for (uint16_t port = first; port < end; port++) {
		for (size_t p = 0; p < 2; p++) {
			const struct frame_spec spec = packet(port, protocols[p], 0);

			run(&spec);
			assert_int_equal(last.why, WHY_SLOT);
			slots[count++] = last.slot;
		}
	}
	for (size_t i = 0; i < engine_count; i++) {
		struct dp_tables *tables = engines[i].tables;

		service_in(&engines[i])->flags = ABI_SERVICE_TRACK | ABI_SERVICE_DUAL |
						 ABI_SERVICE_FRAGMENTS;
		world_set_word(tables, WORLD_CROWD, others);
		for (uint32_t s = 0; s < count; s++)
			tables->slots[(uint32_t)service_in(&engines[i])->table + slots[s]] = own;
	}
}

static size_t entries(bool backups)
{
	size_t count = 0;

	for (uint32_t b = 0; b < engines[0].tables->flow_buckets; b++) {
		for (uint32_t f = 0; f < ABI_BUCKET_FLOWS; f++) {
			uint64_t pin = engines[0].tables->flows[b].flows[f].pin;

			count += pin && backups == (flow_pin_state(pin) == FLOW_BACKUP);
		}
	}
	return count;
}

/* --- which one --- */

static void test_heavier(void **state)
{
	uint32_t own;

	(void)state;
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	/* Of two alike the first. */
	tcp(1, FRAME_SYN, WHY_SLOT, A);
	own = last.slot;
	assert_int_equal(entries(false), 1);
	assert_int_equal(entries(true), 1);
	set_weights(1, 2);
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	udp(1, WHY_SLOT, B);
	engines_forget_flows();
	tcp(1, FRAME_SYN, WHY_SLOT, B);
	assert_int_not_equal(last.slot, own);
	tcp(1, FRAME_ACK, WHY_FLOW, B);
	assert_int_equal(entries(false), 1);
	assert_int_equal(entries(true), 1);
	/* What comes without an entry, be it from elsewhere, goes where it began. */
	engines_forget_flows();
	tcp(1, FRAME_ACK, WHY_SLOT, B);
	assert_int_equal(entries(true), 1);
	set_weights(255, 254);
	udp(1, WHY_SLOT, A);
}

static void test_one_is_not_up(void **state)
{
	(void)state;
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	set_weights(2, 1);
	set_flags(A, DRAINS);
	tcp(1, FRAME_SYN, WHY_SLOT, B);
	udp(1, WHY_SLOT, A); /* it may be from before */
	set_flags(A, OUT);
	engines_forget_flows();
	udp(1, WHY_SLOT, B);
	tcp(1, FRAME_SYN, WHY_SLOT, B);
	assert_int_equal(entries(true), 0);
	set_flags(A, GOOD);
	set_flags(B, OUT);
	set_weights(1, 2);
	engines_forget_flows();
	tcp(1, FRAME_SYN, WHY_SLOT, A);
	udp(1, WHY_SLOT, A);
	assert_int_equal(entries(true), 0);
	/* Neither: as where there is one slot. */
	set_flags(A, OUT);
	tcp(1, FRAME_SYN, WHY_EMPTY, 0);
	set_words(1, 2, abi_slot(0, 0, 0), abi_slot(C, 0, 0));
	tcp(1, FRAME_SYN, WHY_SLOT, C);
	/* Both slots have one backend. */
	set_flags(A, GOOD);
	engines_forget_flows();
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(A, 0, 0));
	tcp(1, FRAME_SYN, WHY_SLOT, A);
	assert_int_equal(entries(true), 0);
}

/* Who began before the change of a slot is where it was then, and who begins is not. */
static void test_transition(void **state)
{
	(void)state;
	set_words(1, 2, abi_slot(C, A, 0) | MOVING, abi_slot(B, 0, 0));
	tcp(1, FRAME_ACK, WHY_PREVIOUS, A);
	udp(1, WHY_PREVIOUS, A);
	engines_forget_flows();
	tcp(1, FRAME_SYN, WHY_SLOT, C);
	set_weights(1, 2);
	engines_forget_flows();
	tcp(1, FRAME_ACK, WHY_SLOT, B);
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(C, B, 0) | MOVING);
	engines_forget_flows();
	tcp(1, FRAME_ACK, WHY_PREVIOUS, B);
	udp(1, WHY_PREVIOUS, B);
	engines_forget_flows();
	tcp(1, FRAME_SYN, WHY_SLOT, A);
	/* That one leaves: who may have been there begins anew. */
	set_flags(B, OUT);
	engines_forget_flows();
	tcp(1, FRAME_ACK, WHY_SLOT, A);
}

/* The slots of a policy's key: all flows of a source go together. */
static void test_policy(void **state)
{
	(void)state;
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	for (size_t i = 0; i < engine_count; i++) {
		struct dp_tables *tables = engines[i].tables;
		struct abi_service *service = service_in(&engines[i]);

		service->flags |= ABI_SERVICE_POLICY;
		service->policy = ABI_POLICY_SOURCE;
		for (uint32_t slot = 0; slot < WORLD_CROWD_SLOTS; slot++)
			tables->slots[(uint32_t)service->table + slot] =
				abi_slot(WORLD_CROWD1 + slot % 4, 0, 0);
		for (uint32_t b = 0; b < 4; b++)
			tables->backends[WORLD_CROWD1 + b].weight = (uint8_t)(b + 1);
	}
	for (int source = 1; source < 60; source++) {
		char src[32];
		struct frame_spec spec = {.src = src, .dst = WORLD_CROWD_VIP4, .dport = 443};
		uint32_t backend;

		snprintf(src, sizeof(src), "203.0.113.%d", source);
		spec.tcp_flags = FRAME_SYN;
		run(&spec);
		backend = last.backend;
		for (uint16_t port = 1; port < 6; port++) {
			spec.sport = port;
			run(&spec);
			assert_int_equal(last.backend, backend);
		}
	}
}

/* --- backups --- */

static void test_backup(void **state)
{
	(void)state;
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	tcp(1, FRAME_SYN, WHY_SLOT, A);
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	udp(1, WHY_SLOT, A);
	set_flags(A, DRAINS);
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	/* Owners come and go: the flow's entries are what they were. */
	set_words(1, 2, abi_slot(C, A, 0) | MOVING, abi_slot(D, B, 0) | MOVING);
	set_flags(A, OUT);
	tcp(1, FRAME_ACK, WHY_BACKUP, B);
	tcp(1, FRAME_ACK, WHY_FLOW, B);
	udp(1, WHY_BACKUP, B);
	/* It is no way back. */
	set_flags(A, GOOD);
	tcp(1, FRAME_ACK, WHY_FLOW, B);
	tcp(1, FRAME_SYN, WHY_FLOW, B);
	/* And there is no third. */
	set_flags(B, OUT);
	tcp(1, FRAME_ACK, WHY_PREVIOUS, A);
	tcp(1, FRAME_FIN | FRAME_ACK, WHY_FLOW, A);
}

/* The winner of the second slot stands under the first, and the loser is its backup. */
static void test_backup_of_second(void **state)
{
	(void)state;
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	set_weights(1, 2);
	tcp(1, FRAME_SYN, WHY_SLOT, B);
	tcp(1, FRAME_ACK, WHY_FLOW, B);
	set_words(1, 2, abi_slot(C, 0, 0), abi_slot(D, 0, 0));
	tcp(1, FRAME_ACK, WHY_FLOW, B);
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[B].generation++;
	tcp(1, FRAME_ACK, WHY_BACKUP, A);
	tcp(1, FRAME_ACK, WHY_FLOW, A);
}

/* A datagram's flow on A, with B as its backup; then A is out, and the slots are others'. */
static void lose_a(void)
{
	set_flags(A, GOOD);
	set_flags(B, GOOD);
	engines_forget_flows();
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	udp(1, WHY_SLOT, A);
	set_flags(A, OUT);
	set_words(1, 2, abi_slot(C, 0, 0), abi_slot(D, 0, 0));
}

/* When it decides nothing. */
static void test_backup_is_void(void **state)
{
	(void)state;
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	tcp(1, FRAME_SYN, WHY_SLOT, A);
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	set_words(1, 2, abi_slot(C, 0, 0), abi_slot(D, 0, 0));
	set_flags(A, OUT); /* a connection that begins chooses anew, with a new backup */
	tcp(1, FRAME_SYN, WHY_SLOT, C);
	set_flags(C, OUT);
	tcp(1, FRAME_ACK, WHY_BACKUP, D);
	set_flags(C, GOOD);
	lose_a();
	set_flags(B, DRAINS); /* it takes no new flows */
	udp(1, WHY_SLOT, C);
	lose_a();
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[B].generation++; /* it is another backend */
	udp(1, WHY_SLOT, C);
	/* The flow was silent for too long: its next datagram begins another. */
	lose_a();
	pass(61);
	udp(1, WHY_SLOT, C);
	lose_a();
	pass(59);
	udp(1, WHY_BACKUP, B);
}

/* It lives as long as the flow does, and costs no write but one a tick. */
static void test_renewed(void **state)
{
	(void)state;
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->flow_buckets_mask = 0;
	set_words(1, 5, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	tcp(1, FRAME_SYN, WHY_SLOT, A);
	tcp(2, FRAME_SYN, WHY_SLOT, A);
	for (int i = 0; i < 5; i++) {
		tcp(1, FRAME_ACK, WHY_FLOW, A);
		pass(7);
	}
	/* The silent flow's backup gives its place away first, though its flow lives. */
	tcp(2, FRAME_ACK, WHY_SLOT, A);
	pass(20);
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	tcp(3, FRAME_SYN, WHY_SLOT, A);
	tcp(2, FRAME_ACK, WHY_FLOW, A);
	set_flags(A, OUT);
	tcp(1, FRAME_ACK, WHY_BACKUP, B);
	tcp(2, FRAME_ACK, WHY_SLOT, B);
	tcp(2, FRAME_ACK, WHY_FLOW, B);
}

/* A full table, of one bucket: flows come before backups. */
static void test_full_table(void **state)
{
	uint64_t evicted, skipped;

	(void)state;
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->flow_buckets_mask = 0;
	set_words(1, 6, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	evicted = events(ABI_EVENT_FLOW_EVICTED);
	skipped = events(ABI_EVENT_FLOW_SKIPPED);
	tcp(1, FRAME_SYN, WHY_SLOT, A);
	tcp(2, FRAME_SYN, WHY_SLOT, A);
	assert_int_equal(entries(true), 2);
	assert_int_equal(events(ABI_EVENT_FLOW_EVICTED), evicted);
	tcp(3, FRAME_SYN, WHY_SLOT, A);
	tcp(4, FRAME_SYN, WHY_SLOT, A);
	assert_int_equal(entries(true), 0);
	assert_int_equal(events(ABI_EVENT_FLOW_EVICTED), evicted + 2);
	assert_int_equal(events(ABI_EVENT_FLOW_SKIPPED), skipped + 2);
	for (uint16_t port = 1; port < 5; port++)
		tcp(port, FRAME_ACK, WHY_FLOW, A);
	set_flags(A, OUT);
	for (uint16_t port = 1; port < 5; port++)
		tcp(port, FRAME_ACK, WHY_SLOT, B);
}

/* Backups have half of it, and what has no entry at all goes where it will go again. */
static void test_insert_limit(void **state)
{
	enum { LIMIT = 8 };
	uint64_t relied = events(ABI_EVENT_FLOW_RELIES);

	(void)state;
	set_words(1, 12, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	set_limit(LIMIT);
	for (uint16_t port = 1; port < 12; port++) {
		tcp(port, FRAME_SYN, WHY_SLOT, A);
		tcp(port, FRAME_ACK, port < 7 ? WHY_FLOW : WHY_SLOT, A);
	}
	assert_int_equal(entries(true), LIMIT / 4);
	assert_int_equal(entries(false), LIMIT - LIMIT / 4);
	set_limit(0);
	engines_forget_flows();
	set_words(1, 2, abi_slot(C, A, 0) | MOVING, abi_slot(B, 0, 0));
	tcp(1, FRAME_SYN, WHY_PREVIOUS, A);
	tcp(1, FRAME_ACK, WHY_PREVIOUS, A);
	set_weights(1, 2);
	tcp(1, FRAME_SYN, WHY_SLOT, B);
	tcp(1, FRAME_ACK, WHY_SLOT, B);
	assert_int_equal(entries(false) + entries(true), 0);
	assert_int_equal(events(ABI_EVENT_FLOW_RELIES), relied + 4);
}

/* --- what is not simply a packet of the flow --- */

/* An error goes where the flow's next packet will, and changes nothing. */
static void test_quoted(void **state)
{
	(void)state;
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	icmp(1, A);
	set_weights(1, 2);
	icmp(1, B);
	assert_int_equal(entries(false) + entries(true), 0);
	set_weights(1, 1);
	tcp(1, FRAME_SYN, WHY_SLOT, A);
	set_words(1, 2, abi_slot(C, 0, 0), abi_slot(D, 0, 0));
	icmp(1, A);
	set_flags(A, OUT);
	icmp(1, B);
	set_flags(A, GOOD);
	icmp(1, A);
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	/* It keeps nobody alive. */
	tcp(1, FRAME_FIN | FRAME_ACK, WHY_FLOW, A);
	pass(14);
	icmp(1, A);
	pass(2);
	icmp(1, C);
}

/* What has its ports follows its flow; what is placed without them has one slot. */
static void test_pieces(void **state)
{
	struct frame_spec first = {.src = WORLD_CLIENT4,
				   .dst = WORLD_CROWD_VIP4,
				   .sport = 1,
				   .dport = 443,
				   .proto = IPPROTO_UDP,
				   .frag = 0x2000,
				   .payload = 64,
				   .patches = {{FRAME_AT_IP, 4, 2, 1}}};
	struct frame_spec later = {.src = WORLD_CLIENT4,
				   .dst = WORLD_CROWD_VIP4,
				   .proto = IPPROTO_UDP,
				   .frag = 9,
				   .payload = 64,
				   .patches = {{FRAME_AT_IP, 4, 2, 1}}};

	(void)state;
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	set_weights(1, 2);
	expect(&first, WHY_SLOT, B);
	expect(&later, WHY_FRAGMENT, B);
	set_flags(B, OUT);
	expect(&first, WHY_BACKUP, A);
	expect(&later, WHY_FRAGMENT, A);
	set_flags(B, GOOD);
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(C, 0, 0));
	first.patches[0].value = later.patches[0].value = 2;
	expect(&later, WHY_SLOT, C);
	expect(&first, WHY_FRAGMENT, C);
}

/* Where slots mean something else now: entries are brought along, without their backups. */
static void test_flip(void **state)
{
	(void)state;
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	tcp(1, FRAME_SYN, WHY_SLOT, A);
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	for (size_t i = 0; i < engine_count; i++) {
		struct abi_service *service = service_in(&engines[i]);

		service->old_table = service->table;
		service->old_policy = ABI_POLICY_5TUPLE;
		service->flags |= ABI_SERVICE_FLIP;
		engines[i].tables->node->old_slot_seed = engines[i].tables->node->slot_seed;
		engines[i].tables->node->slot_seed++;
		world_set_word(engines[i].tables, WORLD_CROWD, abi_slot(C, D, 0) | MOVING);
	}
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	tcp(2, FRAME_ACK, WHY_OLD_TABLE, D);
	tcp(3, FRAME_SYN, WHY_SLOT, C);
	for (size_t i = 0; i < engine_count; i++)
		service_in(&engines[i])->flags &= ~(uint32_t)ABI_SERVICE_FLIP;
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	set_flags(A, OUT);
	tcp(1, FRAME_ACK, WHY_PREVIOUS, D);
}

/* Without the flag there is one slot, and no backup. */
static void test_single(void **state)
{
	(void)state;
	set_words(1, 2, abi_slot(A, 0, 0), abi_slot(B, 0, 0));
	set_weights(1, 2);
	for (size_t i = 0; i < engine_count; i++)
		service_in(&engines[i])->flags &= ~(uint32_t)ABI_SERVICE_DUAL;
	tcp(1, FRAME_SYN, WHY_SLOT, A);
	udp(1, WHY_SLOT, A);
	icmp(1, A);
	assert_int_equal(entries(true), 0);
	assert_int_equal(entries(false), 2);
}

static int begin(void **state)
{
	(void)state;
	engines_refill();
	set_weights(1, 1);
	for (size_t i = 0; i < engine_count; i++) {
		engines[i].tables->backends[C].weight = 1;
		engines[i].tables->backends[D].weight = 1;
	}
	pass(100);
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(test_##name, begin)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		TEST(heavier),
		TEST(one_is_not_up),
		TEST(transition),
		TEST(policy),
		TEST(backup),
		TEST(backup_of_second),
		TEST(backup_is_void),
		TEST(renewed),
		TEST(full_table),
		TEST(insert_limit),
		TEST(quoted),
		TEST(pieces),
		TEST(flip),
		TEST(single),
	};

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
