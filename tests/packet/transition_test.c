// SPDX-License-Identifier: BSD-2-Clause
/*
 * Slots in transition: flows that were there before stay where they are, new ones get the new
 * owner, and both whatever else happens. Each step runs natively and in the kernel, which must
 * agree. Slot words are written by hand: A is who had the slot, B who gets it, C a third.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <netinet/in.h>

#include "dp/verdict.h"
#include "flow/flow.h"

#include "../lib/run/engines.h"
#include "../lib/world/world.h"

enum {
	A = WORLD_MOVED_B,
	B = WORLD_MOVE_B,
	C = WORLD_FLIP_B,
	GOOD = ABI_BACKEND_UP | ABI_BACKEND_KEEP | ABI_BACKEND_HEALTHY | ABI_BACKEND_NEIGH,
	DRAINS = GOOD & ~ABI_BACKEND_UP,
	DOWN = DRAINS & ~ABI_BACKEND_HEALTHY,
	OUT = ABI_BACKEND_NEIGH,
};
#define MOVING ABI_SLOT_TRANSITION
#define LATE   (ABI_SLOT_TRANSITION | ABI_SLOT_LATE)

static void set_word(uint64_t word)
{
	for (size_t i = 0; i < engine_count; i++)
		world_set_word(engines[i].tables, WORLD_MOVE, word);
}

static void set_flags(uint32_t backend, uint32_t flags)
{
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[backend].flags = flags;
}

static void set_limit(uint32_t limit)
{
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->insert_limit = limit;
	engines_now_ns += 10ULL * ENGINES_TICK_NS; /* the limit is a tick's */
}

static uint64_t events(enum abi_event event)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < engine_count; i++)
		sum += engine_event_count(&engines[i], event);
	return sum / engine_count;
}

static void expect(const struct frame_spec *spec, enum why why, uint32_t backend)
{
	static struct engine_outcome outcome;
	const struct abi_trace *trace = &outcome.result.trace;
	struct frame frame;

	frame_build(spec, &frame);
	engines_run("a packet of move", &frame, &outcome);
	if (trace->why != why || trace->backend != backend)
		fail_msg("port %u, flags %#x: why %u to %s, expected %u to %s", spec->sport,
			 spec->tcp_flags, trace->why, world_backend_name(trace->backend), why,
			 world_backend_name(backend));
}

static void tcp(uint16_t port, uint8_t flags, enum why why, uint32_t backend)
{
	const struct frame_spec spec = {.src = WORLD_CLIENT4,
					.dst = WORLD_MOVE_VIP4,
					.sport = port,
					.dport = 80,
					.tcp_flags = flags};

	expect(&spec, why, backend);
}

static void udp(uint16_t port, enum why why, uint32_t backend)
{
	const struct frame_spec spec = {.src = WORLD_CLIENT4,
					.dst = WORLD_MOVE_VIP4,
					.sport = port,
					.dport = 53,
					.proto = IPPROTO_UDP};

	expect(&spec, why, backend);
}

/* An error about what the VIP sent to the client's port. */
static void icmp(uint16_t port, uint32_t backend)
{
	const struct frame_spec quoted = {
		.src = WORLD_MOVE_VIP4, .dst = WORLD_CLIENT4, .sport = 80, .dport = port};
	const struct frame_spec spec = {.src = WORLD_ROUTER4,
					.dst = WORLD_MOVE_VIP4,
					.proto = IPPROTO_ICMP,
					.icmp_type = 3,
					.quote = &quoted};

	expect(&spec, WHY_ICMP, backend);
}

static size_t entries(void)
{
	size_t count = 0;

	for (uint32_t b = 0; b < engines[0].tables->flow_buckets; b++) {
		for (uint32_t f = 0; f < ABI_BUCKET_FLOWS; f++)
			count += engines[0].tables->flows[b].flows[f].pin != 0;
	}
	return count;
}

/* A settled slot needs no entries, makes none, and looks at none. */
static void test_settled(void **state)
{
	(void)state;
	set_word(abi_slot(B, A, 0) | MOVING);
	tcp(1, FRAME_ACK, WHY_PREVIOUS, A);
	assert_int_equal(entries(), 1);
	set_word(abi_slot(B, A, C));
	tcp(1, FRAME_ACK, WHY_SLOT, B);
	tcp(2, FRAME_SYN, WHY_SLOT, B);
	tcp(2, FRAME_ACK, WHY_SLOT, B);
	udp(3, WHY_SLOT, B);
	icmp(1, B);
	assert_int_equal(entries(), 1);
}

static void test_stays(void **state)
{
	(void)state;
	set_word(abi_slot(A, 0, B));
	tcp(1, FRAME_SYN, WHY_SLOT, A);
	set_word(abi_slot(B, A, A) | MOVING);
	tcp(2, FRAME_SYN, WHY_SLOT, B);
	tcp(1, FRAME_ACK, WHY_PREVIOUS, A);
	tcp(2, FRAME_ACK, WHY_FLOW, B);
	icmp(1, A);
	icmp(2, B);
	/* Again and again: the entries and the oldest owner hold. */
	set_word(abi_slot(C, A, B) | MOVING);
	tcp(3, FRAME_SYN, WHY_SLOT, C);
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	tcp(2, FRAME_ACK, WHY_FLOW, B);
	tcp(4, FRAME_ACK, WHY_PREVIOUS, A);
	/* Back to whom it was taken from. */
	set_word(abi_slot(A, A, 0) | MOVING);
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	tcp(2, FRAME_ACK, WHY_FLOW, B);
	tcp(3, FRAME_ACK, WHY_FLOW, C);
	tcp(5, FRAME_SYN, WHY_SLOT, A);
	tcp(6, FRAME_ACK, WHY_PREVIOUS, A);
	icmp(7, A);
}

/* Case 15, and what else ends a connection or does not, amid a transition. */
static void test_states(void **state)
{
	(void)state;
	set_word(abi_slot(B, A, 0) | MOVING);
	tcp(1, FRAME_ACK, WHY_PREVIOUS, A);
	tcp(1, FRAME_SYN, WHY_FLOW, A); /* established: the backend answers it */
	tcp(1, FRAME_RST, WHY_FLOW, A);
	tcp(1, FRAME_ACK, WHY_FLOW, A); /* the RST was forged */
	tcp(1, FRAME_SYN, WHY_FLOW, A);
	tcp(1, FRAME_FIN | FRAME_ACK, WHY_FLOW, A);
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	tcp(1, FRAME_RST, WHY_FLOW, A);
	tcp(1, FRAME_SYN, WHY_SLOT, B); /* at once */
	tcp(1, FRAME_ACK, WHY_FLOW, B);
	/* FIN alone: not the long time, whatever follows. */
	tcp(1, FRAME_FIN | FRAME_ACK, WHY_FLOW, B);
	tcp(1, FRAME_ACK, WHY_FLOW, B);
	engines_now_ns += 16ULL * ENGINES_TICK_NS;
	tcp(1, FRAME_ACK, WHY_PREVIOUS, A);
	/* Half open, and its backend goes. */
	tcp(2, FRAME_SYN, WHY_SLOT, B);
	tcp(2, FRAME_SYN, WHY_FLOW, B);
	set_flags(B, DOWN);
	set_word(abi_slot(C, A, B) | MOVING);
	tcp(2, FRAME_SYN, WHY_SLOT, C);
	tcp(2, FRAME_ACK, WHY_FLOW, C);
	/* A first FIN, or RST, of a flow from before. */
	tcp(3, FRAME_FIN | FRAME_ACK, WHY_PREVIOUS, A);
	tcp(3, FRAME_SYN, WHY_SLOT, C);
	tcp(4, FRAME_RST, WHY_PREVIOUS, A);
	tcp(4, FRAME_ACK, WHY_FLOW, A);
	tcp(4, FRAME_SYN, WHY_FLOW, A);
}

/* Who keeps no flows has none, also who had the slot. */
static void test_previous_gone(void **state)
{
	(void)state;
	set_word(abi_slot(B, A, 0) | MOVING);
	tcp(1, FRAME_ACK, WHY_PREVIOUS, A);
	set_flags(A, DOWN);
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	tcp(2, FRAME_ACK, WHY_PREVIOUS, A);
	set_flags(A, OUT);
	tcp(1, FRAME_ACK, WHY_SLOT, B);
	tcp(3, FRAME_ACK, WHY_SLOT, B);
	icmp(4, B);
	set_flags(A, GOOD);
	tcp(1, FRAME_ACK, WHY_FLOW, B);
	tcp(3, FRAME_ACK, WHY_FLOW, B);
	tcp(2, FRAME_ACK, WHY_FLOW, A);
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[A].generation++;
	set_word(abi_slot(B, 0, 0) | MOVING);
	tcp(2, FRAME_ACK, WHY_SLOT, B);
	tcp(5, FRAME_ACK, WHY_SLOT, B);
}

/* Down, and the word not yet rewritten: as it will be. */
static void test_not_rewritten(void **state)
{
	(void)state;
	set_word(abi_slot(A, 0, B));
	set_flags(A, DOWN);
	tcp(1, FRAME_SYN, WHY_OTHER, B);
	tcp(1, FRAME_ACK, WHY_FLOW, B);
	tcp(2, FRAME_ACK, WHY_SLOT, A);
	udp(3, WHY_OTHER, B);
	icmp(4, A);
	/* Drained, a datagram's flow may be one from before. */
	set_flags(A, DRAINS);
	tcp(5, FRAME_SYN, WHY_OTHER, B);
	udp(6, WHY_SLOT, A);
	set_flags(A, OUT);
	tcp(7, FRAME_ACK, WHY_OTHER, B);
	/* Amid a transition the oldest owner stays. */
	set_flags(A, DOWN);
	set_word(abi_slot(B, A, C) | MOVING);
	set_flags(B, DOWN);
	tcp(8, FRAME_SYN, WHY_OTHER, C);
	tcp(9, FRAME_ACK, WHY_PREVIOUS, A);
	set_word(abi_slot(B, 0, C) | MOVING);
	tcp(10, FRAME_ACK, WHY_PREVIOUS, B);
	/* Nobody is up. */
	set_flags(C, DOWN);
	tcp(11, FRAME_SYN, WHY_SLOT, B);
	set_flags(B, OUT);
	tcp(14, FRAME_SYN, WHY_EMPTY, 0);
	/* And nobody at all: who begins hears of it at once. */
	set_word(abi_slot(0, A, 0) | MOVING);
	tcp(12, FRAME_ACK, WHY_PREVIOUS, A);
	set_word(abi_slot(0, 0, 0) | MOVING);
	tcp(13, FRAME_ACK, WHY_EMPTY, 0);
	set_word(abi_slot(0, A, 0) | MOVING);
	tcp(15, FRAME_SYN, WHY_EMPTY, 0);
}

static void test_datagrams(void **state)
{
	(void)state;
	set_word(abi_slot(B, A, 0) | MOVING);
	udp(1, WHY_PREVIOUS, A);
	udp(2, WHY_PREVIOUS, A);
	set_word(abi_slot(B, A, 0) | LATE);
	udp(1, WHY_FLOW, A);
	udp(3, WHY_SLOT, B);
	udp(3, WHY_FLOW, B);
	set_word(abi_slot(C, A, 0) | MOVING);
	set_flags(A, DOWN);
	udp(2, WHY_FLOW, A); /* in an entry it is kept as TCP is */
	udp(4, WHY_SLOT, C);
	set_flags(A, OUT);
	udp(1, WHY_SLOT, C);
	/* Case 14: it waits for no timer. */
	udp(1, WHY_FLOW, C);
	set_flags(A, GOOD);
	udp(5, WHY_PREVIOUS, A);
	udp(4, WHY_FLOW, C);
}

/* Beyond the limit a connection begins where its next packet will be sent. */
static void test_not_recordable(void **state)
{
	uint64_t skipped;

	(void)state;
	set_word(abi_slot(B, A, 0) | MOVING);
	tcp(1, FRAME_SYN, WHY_SLOT, B);
	set_limit(0);
	skipped = events(ABI_EVENT_FLOW_SKIPPED);
	tcp(2, FRAME_SYN, WHY_PREVIOUS, A);
	assert_int_equal(events(ABI_EVENT_FLOW_SKIPPED) - skipped, 1);
	tcp(2, FRAME_ACK, WHY_PREVIOUS, A);
	assert_int_equal(events(ABI_EVENT_FLOW_SKIPPED) - skipped, 2);
	tcp(1, FRAME_ACK, WHY_FLOW, B);
	udp(3, WHY_PREVIOUS, A);
	set_limit(100);
	tcp(2, FRAME_ACK, WHY_PREVIOUS, A);
	tcp(2, FRAME_ACK, WHY_FLOW, A);
	/* With nobody from before it begins where any does. */
	set_limit(0);
	set_flags(A, OUT);
	tcp(4, FRAME_SYN, WHY_SLOT, B);
	tcp(4, FRAME_ACK, WHY_SLOT, B);
	/* The same with the word not yet rewritten. */
	set_flags(A, DOWN);
	set_word(abi_slot(A, 0, B));
	tcp(5, FRAME_SYN, WHY_SLOT, A);
	tcp(5, FRAME_ACK, WHY_SLOT, A);
}

/* What a word says anyway has half of the limit, and leaves the rest to others. */
static void test_half_of_the_limit(void **state)
{
	enum { LIMIT = 10 };
	uint64_t made;

	(void)state;
	set_word(abi_slot(B, A, 0) | MOVING);
	set_limit(LIMIT);
	made = events(ABI_EVENT_FLOW_NEW);
	for (uint16_t port = 1; port <= 2 * LIMIT; port++)
		tcp(port, FRAME_ACK, WHY_PREVIOUS, A);
	assert_int_equal(events(ABI_EVENT_FLOW_NEW) - made, LIMIT / 2);
	for (uint16_t port = 100; port < 100 + LIMIT; port++)
		tcp(port, FRAME_SYN, port < 100 + LIMIT / 2 ? WHY_SLOT : WHY_PREVIOUS,
		    port < 100 + LIMIT / 2 ? B : A);
	assert_int_equal(events(ABI_EVENT_FLOW_NEW) - made, LIMIT);
}

/* A table of one bucket: who takes whose place. */
static void test_full_table(void **state)
{
	uint64_t evicted;

	(void)state;
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->flow_buckets_mask = 0;
	set_word(abi_slot(B, A, 0) | MOVING);
	evicted = events(ABI_EVENT_FLOW_EVICTED);
	tcp(1, FRAME_SYN, WHY_SLOT, B);
	tcp(2, FRAME_FIN | FRAME_ACK, WHY_PREVIOUS, A); /* redundant, and closing */
	tcp(3, FRAME_SYN, WHY_SLOT, B);
	tcp(3, FRAME_FIN | FRAME_ACK, WHY_FLOW, B); /* closing */
	engines_now_ns += ENGINES_TICK_NS;
	tcp(4, FRAME_ACK, WHY_PREVIOUS, A); /* redundant, and the youngest */
	/* Those that the word says anyway go first, and nobody is the worse for it. */
	tcp(5, FRAME_SYN, WHY_SLOT, B);
	tcp(6, FRAME_SYN, WHY_SLOT, B);
	assert_int_equal(events(ABI_EVENT_FLOW_EVICTED), evicted + 2);
	tcp(2, FRAME_ACK, WHY_PREVIOUS, A);
	tcp(4, FRAME_ACK, WHY_PREVIOUS, A);
	tcp(4, FRAME_ACK, WHY_PREVIOUS, A); /* they take no place of a live one */
	tcp(1, FRAME_ACK, WHY_FLOW, B);
	tcp(3, FRAME_ACK, WHY_FLOW, B);
	tcp(5, FRAME_ACK, WHY_FLOW, B);
	tcp(6, FRAME_ACK, WHY_FLOW, B);
	/* Then the others, in the order that they always have. */
	tcp(7, FRAME_SYN, WHY_SLOT, B);
	assert_int_equal(events(ABI_EVENT_FLOW_EVICTED), evicted + 3);
	tcp(3, FRAME_ACK, WHY_PREVIOUS, A);
	/* An expired place is for all. */
	engines_now_ns += 40ULL * ENGINES_TICK_NS;
	tcp(4, FRAME_ACK, WHY_PREVIOUS, A);
	tcp(4, FRAME_ACK, WHY_FLOW, A);
	/* Datagrams' entries are never redundant: where they go changes with time. */
	udp(8, WHY_PREVIOUS, A);
	udp(9, WHY_PREVIOUS, A);
	tcp(10, FRAME_SYN, WHY_SLOT, B);
	udp(8, WHY_FLOW, A);
	udp(9, WHY_FLOW, A);
}

/* What tells of a flow makes no entry of it, and keeps none alive. */
static void test_errors_leave_no_trace(void **state)
{
	(void)state;
	set_word(abi_slot(B, A, 0) | MOVING);
	icmp(1, A);
	assert_int_equal(entries(), 0);
	tcp(2, FRAME_SYN, WHY_SLOT, B);
	engines_now_ns += 29ULL * ENGINES_TICK_NS;
	icmp(2, B);
	engines_now_ns += 2ULL * ENGINES_TICK_NS;
	icmp(2, A);
}

/* Without tracking the slot alone decides, whatever its word says for others. */
static void test_untracked(void **state)
{
	(void)state;
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->services[WORLD_MOVE].flags &= ~(uint32_t)ABI_SERVICE_TRANSITION;
	set_word(abi_slot(B, A, C) | MOVING);
	tcp(1, FRAME_ACK, WHY_SLOT, B);
	tcp(2, FRAME_SYN, WHY_SLOT, B);
	udp(3, WHY_SLOT, B);
	icmp(4, B);
	set_flags(B, DOWN);
	tcp(1, FRAME_ACK, WHY_SLOT, B);
	tcp(2, FRAME_SYN, WHY_OTHER, C);
	udp(3, WHY_OTHER, C);
	icmp(4, B);
	set_flags(C, DOWN);
	tcp(2, FRAME_SYN, WHY_SLOT, B);
	assert_int_equal(entries(), 0);
}

/* A classic connection table follows the same rules where it has no entry. */
static void test_tracked_always(void **state)
{
	(void)state;
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->services[WORLD_MOVE].flags |= ABI_SERVICE_TRACK;
	set_word(abi_slot(A, 0, B));
	tcp(1, FRAME_SYN, WHY_SLOT, A);
	tcp(2, FRAME_ACK, WHY_SLOT, A);
	set_word(abi_slot(B, A, A) | MOVING);
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	tcp(3, FRAME_ACK, WHY_PREVIOUS, A);
	tcp(4, FRAME_SYN, WHY_SLOT, B);
	set_word(abi_slot(C, 0, 0));
	tcp(1, FRAME_ACK, WHY_FLOW, A);
	tcp(3, FRAME_ACK, WHY_FLOW, A);
	tcp(4, FRAME_ACK, WHY_FLOW, B);
	tcp(5, FRAME_ACK, WHY_SLOT, C);
}

/* A datagram in pieces whose policy needs no ports goes by its slot, unless flows may not. */
static void test_pieces(void **state)
{
	struct frame_spec first = {.src = WORLD_CLIENT4,
				   .dst = WORLD_MOVE_VIP4,
				   .sport = 1,
				   .dport = 53,
				   .proto = IPPROTO_UDP,
				   .frag = 0x2000,
				   .payload = 64,
				   .patches = {{FRAME_AT_IP, 4, 2, 1}}};
	struct frame_spec later = {.src = WORLD_CLIENT4,
				   .dst = WORLD_MOVE_VIP4,
				   .proto = IPPROTO_UDP,
				   .frag = 9,
				   .payload = 64,
				   .patches = {{FRAME_AT_IP, 4, 2, 1}}};

	(void)state;
	for (size_t i = 0; i < engine_count; i++) {
		struct abi_service *service = &engines[i].tables->services[WORLD_MOVE];

		service->flags |= ABI_SERVICE_POLICY;
		service->policy = ABI_POLICY_SOURCE;
	}
	set_word(abi_slot(B, 0, 0));
	expect(&later, WHY_SLOT, B);
	expect(&first, WHY_SLOT, B);
	assert_int_equal(entries(), 0);
	/* The flow has an entry: its datagrams' pieces follow it. */
	set_word(abi_slot(B, A, 0) | LATE);
	udp(1, WHY_SLOT, B);
	set_word(abi_slot(C, A, 0) | LATE);
	expect(&first, WHY_FLOW, B);
	expect(&later, WHY_FRAGMENT, B);
	/* Of the next datagram the later piece comes first. */
	first.patches[0].value = later.patches[0].value = 2;
	expect(&later, WHY_SLOT, C);
	expect(&first, WHY_FRAGMENT, C);
	set_word(abi_slot(C, A, 0) | MOVING);
	first.patches[0].value = later.patches[0].value = 3;
	first.sport = 2;
	expect(&later, WHY_PREVIOUS, A);
	expect(&first, WHY_PREVIOUS, A);
	expect(&later, WHY_FRAGMENT, A);
}

static int begin(void **state)
{
	(void)state;
	engines_refill();
	engines_now_ns += 100ULL * ENGINES_TICK_NS;
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(test_##name, begin)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		TEST(settled),
		TEST(stays),
		TEST(states),
		TEST(previous_gone),
		TEST(not_rewritten),
		TEST(datagrams),
		TEST(not_recordable),
		TEST(half_of_the_limit),
		TEST(full_table),
		TEST(errors_leave_no_trace),
		TEST(untracked),
		TEST(tracked_always),
		TEST(pieces),
	};
#undef TEST

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
