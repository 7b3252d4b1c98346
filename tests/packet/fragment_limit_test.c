// SPDX-License-Identifier: BSD-2-Clause
/*
 * The bounds of what is kept about datagrams in pieces: they share the flow table, take no flow's
 * place in it, run out of time, and where nothing can be kept a datagram stays whole all the same.
 * Each step runs natively and in the kernel, by a clock that the test gives.
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

#include "../lib/rows/packets.h"
#include "../lib/run/engines.h"
#include "../lib/run/pieces.h"
#include "../lib/world/world.h"

enum { FRAGMENT_TICKS = 28, PLACES = ABI_BUCKET_FLOWS };

static const uint8_t in_order[PIECES] = {0, 1, 2}, backwards[PIECES] = {2, 1, 0};
static uint32_t next_id = 1;

static void set_insert_limit(uint32_t limit)
{
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->insert_limit = limit;
}

/* A table of one bucket, four places. */
static void shrink_table(void)
{
	engines_forget_flows();
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->flow_buckets_mask = 0;
}

static struct frame_spec crowd(uint16_t sport)
{
	return pieces_spec(WORLD_CROWD_VIP4, IPPROTO_UDP, sport, 443);
}

/* A flow that does not go where a later piece goes that comes first. */
static struct frame_spec find_parted(void)
{
	struct frame_spec spec;

	engines_refill();
	for (uint16_t port = 1000; port < 1100; port++) {
		spec = crowd(port);
		if (pieces_run_whole(&spec) != pieces_run_all(&spec, next_id++, backwards)) {
			engines_forget_flows();
			return spec;
		}
	}
	fail_msg("no flow parts");
	return spec;
}

/* --- flows beside --- */

/* A tracked flow's packet: of TCP by its flags; UDP without any. */
static enum why run_flow(uint16_t sport, uint8_t flags)
{
	struct frame_spec spec = {
		.src = WORLD_CLIENT4,
		.dst = WORLD_MANY_VIP4,
		.sport = sport,
		.dport = 443,
		.proto = flags ? IPPROTO_TCP : IPPROTO_UDP,
		.tcp_flags = flags,
	};
	struct frame frame;
	enum why why;

	frame_build(&spec, &frame);
	assert_int_equal(pieces_verdict(&frame, &why), VERDICT_FORWARDED);
	return why;
}

static void expect_kept(uint16_t first, uint32_t count, uint8_t flags)
{
	for (uint32_t i = 0; i < count; i++) {
		if (run_flow((uint16_t)(first + i), flags) != WHY_FLOW)
			fail_msg("flow %u of %u is lost", i, count);
	}
}

/* The first piece of a datagram of its own, and whether a later one then finds its entry. */
static struct frame begin(const struct frame_spec *spec, uint32_t id)
{
	struct pieces pieces;

	pieces_cut(spec, id, &pieces);
	pieces_run(&pieces.piece[0]);
	return pieces.piece[2];
}

static bool is_kept(const struct frame *later)
{
	enum why why;

	assert_int_equal(pieces_verdict(later, &why), VERDICT_FORWARDED);
	return why == WHY_FRAGMENT;
}

/* --- nothing can be kept --- */

/* All pieces then go by what they have in common. */
static void expect_whole_without_entries(const struct frame_spec *spec, uint32_t late)
{
	uint64_t made = pieces_event(ABI_EVENT_FLOW_NEW);
	uint64_t skipped = pieces_event(ABI_EVENT_FLOW_SKIPPED);

	for (size_t o = 0; o < PIECES_ORDERS; o++)
		assert_int_equal(pieces_run_all(spec, next_id++, pieces_orders[o]), late);
	assert_int_equal(pieces_event(ABI_EVENT_FLOW_NEW), made);
	assert_int_equal(pieces_event(ABI_EVENT_FLOW_SKIPPED) - skipped,
			 PIECES * PIECES_ORDERS * engine_count);
}

static void test_insert_limit_of_0(void **state)
{
	struct frame_spec spec = find_parted();
	uint32_t late = pieces_run_all(&spec, next_id++, backwards);

	(void)state;
	assert_int_not_equal(pieces_run_whole(&spec), late);
	set_insert_limit(0);
	expect_whole_without_entries(&spec, late);
	/* What is not in pieces goes its way. */
	assert_int_not_equal(pieces_run_whole(&spec), late);
	engines_refill();
}

static void test_insert_limit_of_0_tracked(void **state)
{
	struct frame_spec spec = pieces_spec(WORLD_MANY_VIP6, IPPROTO_UDP, 7000, 443);
	uint32_t late;

	(void)state;
	engines_forget_flows();
	late = pieces_run_all(&spec, next_id++, backwards);
	engines_forget_flows();
	set_insert_limit(0);
	for (size_t o = 0; o < PIECES_ORDERS; o++)
		assert_int_equal(pieces_run_all(&spec, next_id++, pieces_orders[o]), late);
	engines_refill();
}

/* Two services, and nothing to remember which: the first piece alone arrives, and is counted. */
static void test_insert_limit_of_0_two_services(void **state)
{
	struct frame_spec spec = pieces_spec(WORLD_TWIN_VIP4, IPPROTO_UDP, 7000, 443);
	struct pieces pieces;

	(void)state;
	engines_forget_flows();
	set_insert_limit(0);
	pieces_cut(&spec, next_id++, &pieces);
	assert_int_equal(pieces_run(&pieces.piece[0]), WORLD_TWIN_B_B);
	assert_int_equal(pieces_verdict(&pieces.piece[1], NULL), VERDICT_FRAGMENT_EARLY);
	engines_refill();
}

/* A table full of flows: established ones, handshakes, and UDP. None gives way. */
static void test_table_full(void **state)
{
	static const uint8_t kinds[] = {FRAME_ACK, FRAME_SYN, 0};
	struct frame_spec spec = find_parted();
	uint32_t late = pieces_run_all(&spec, next_id++, backwards);

	(void)state;
	for (size_t k = 0; k < sizeof(kinds); k++) {
		uint64_t evicted = pieces_event(ABI_EVENT_FLOW_EVICTED);

		shrink_table();
		for (uint16_t i = 0; i < PLACES; i++)
			run_flow((uint16_t)(100 + i), kinds[k]);
		expect_whole_without_entries(&spec, late);
		expect_kept(100, PLACES, kinds[k]);
		assert_int_equal(pieces_event(ABI_EVENT_FLOW_EVICTED), evicted);
	}
	engines_refill();
}

/* --- who gives way to whom --- */

static void test_takes_closing_and_expired(void **state)
{
	uint64_t before = engines_now_ns;
	struct frame_spec spec = crowd(8000);
	struct frame later[2];

	(void)state;
	shrink_table();
	run_flow(100, FRAME_ACK);
	run_flow(101, FRAME_SYN);
	run_flow(102, FRAME_FIN | FRAME_ACK);
	run_flow(103, FRAME_RST);
	engines_now_ns += ENGINES_TICK_NS;
	later[0] = begin(&spec, next_id++);
	later[1] = begin(&spec, next_id++);
	assert_true(is_kept(&later[0]) && is_kept(&later[1]));
	expect_kept(100, 1, FRAME_ACK);
	expect_kept(101, 1, FRAME_SYN);
	/* The handshake runs out of time, as pieces do a little before it. */
	engines_now_ns += 31ULL * ENGINES_TICK_NS;
	for (size_t i = 0; i < 2; i++)
		later[i] = begin(&spec, next_id++);
	begin(&spec, next_id++);
	assert_true(is_kept(&later[0]) && is_kept(&later[1]));
	expect_kept(100, 1, FRAME_ACK);
	engines_now_ns = before;
	engines_refill();
}

/* Among pieces the oldest gives way. */
static void test_oldest_pieces_give_way(void **state)
{
	uint64_t before = engines_now_ns;
	struct frame_spec spec = crowd(8000);
	struct frame later[PLACES + 1];

	(void)state;
	shrink_table();
	for (size_t i = 0; i <= PLACES; i++) {
		later[i] = begin(&spec, next_id++);
		engines_now_ns += ENGINES_TICK_NS;
	}
	for (size_t i = 1; i <= PLACES; i++)
		assert_true(is_kept(&later[i]));
	assert_false(is_kept(&later[0]));
	engines_now_ns = before;
	engines_refill();
}

/* Any flow that begins takes the place of pieces, before that of another flow. */
static void test_flows_take_places(void **state)
{
	struct frame_spec spec = crowd(8000);

	(void)state;
	shrink_table();
	run_flow(100, FRAME_SYN);
	for (size_t i = 1; i < PLACES; i++)
		begin(&spec, next_id++);
	for (uint16_t i = 1; i < PLACES; i++)
		run_flow((uint16_t)(100 + i), FRAME_SYN);
	expect_kept(100, PLACES, FRAME_SYN);
	engines_refill();
}

/* Ten times as many datagrams as the table has places, first pieces and later ones. */
static void test_flood_takes_no_flow(void **state)
{
	enum { TRACKED = 400, FLOOD = 10 * WORLD_FLOWS };
	struct frame_spec spec = crowd(8000);
	struct pieces pieces;

	(void)state;
	engines_refill();
	spec.payload = 100;
	for (uint16_t i = 0; i < TRACKED; i++) {
		run_flow((uint16_t)(1000 + i), FRAME_SYN);
		if (i % 2)
			run_flow((uint16_t)(1000 + i), FRAME_ACK);
		run_flow((uint16_t)(1000 + i), 0);
	}
	pieces_cut(&spec, 0, &pieces);
	for (uint32_t i = 0; i < FLOOD; i++) {
		struct frame *piece = &pieces.piece[i % PIECES];

		frame_put(piece->bytes + FRAME_ETH + 4, 2, i);
		frame_put(piece->bytes + FRAME_ETH + 12, 4, 0x0a000000 + i);
		pieces_run(piece);
	}
	expect_kept(1000, TRACKED, FRAME_ACK);
	expect_kept(1000, TRACKED, 0);
	engines_refill();
}

/* The insert limit counts datagrams apart: a flood of pieces leaves new flows theirs. */
static void test_flood_takes_no_insert(void **state)
{
	enum { LIMIT = 10, FLOOD = 4 * LIMIT };
	struct frame_spec spec = crowd(8000);
	uint64_t made = pieces_event(ABI_EVENT_FLOW_NEW);
	uint64_t skipped = pieces_event(ABI_EVENT_FLOW_SKIPPED);

	(void)state;
	engines_forget_flows();
	engines_now_ns += 10ULL * ENGINES_TICK_NS;
	set_insert_limit(LIMIT);
	for (uint32_t i = 0; i < FLOOD; i++)
		begin(&spec, next_id++);
	assert_int_equal(pieces_event(ABI_EVENT_FLOW_NEW) - made, LIMIT * engine_count);
	assert_int_equal(pieces_event(ABI_EVENT_FLOW_SKIPPED) - skipped,
			 (FLOOD - LIMIT) * engine_count);
	for (uint16_t i = 0; i < LIMIT; i++)
		run_flow((uint16_t)(100 + i), FRAME_SYN);
	expect_kept(100, LIMIT, FRAME_SYN);
	engines_refill();
}

/* --- time --- */

static void test_expiry(void **state)
{
	uint64_t before = engines_now_ns;
	struct frame_spec spec = find_parted();
	uint32_t whole = pieces_run_whole(&spec);
	struct pieces pieces;

	(void)state;
	pieces_cut(&spec, next_id++, &pieces);
	assert_int_equal(pieces_run(&pieces.piece[0]), whole);
	engines_now_ns += (FRAGMENT_TICKS - 1ULL) * ENGINES_TICK_NS;
	assert_int_equal(pieces_run(&pieces.piece[1]), whole);
	/* Only a first piece gives it more time. */
	engines_now_ns += ENGINES_TICK_NS;
	assert_int_not_equal(pieces_run(&pieces.piece[2]), whole);
	/* And that one is a new entry, which the first piece follows. */
	assert_int_not_equal(pieces_run(&pieces.piece[0]), whole);
	engines_now_ns = before;
	engines_refill();
}

/* The id of one datagram after the other: the entry lives on, where it agrees with the flow. */
static void test_id_repeats(void **state)
{
	uint64_t before = engines_now_ns;
	struct frame_spec spec = find_parted();
	uint32_t whole = pieces_run_whole(&spec), id = next_id++;
	struct frame later = begin(&spec, id);

	(void)state;
	for (int i = 0; i < 3; i++) {
		engines_now_ns += (FRAGMENT_TICKS / 2 + 1ULL) * ENGINES_TICK_NS;
		begin(&spec, id);
		engines_now_ns += (FRAGMENT_TICKS / 2 + 1ULL) * ENGINES_TICK_NS;
		assert_int_equal(pieces_run(&later), whole);
	}
	engines_now_ns = before;
	engines_refill();
}

/* Where it does not, the flow has its own backend again within the entry's time. */
static void test_id_repeats_elsewhere(void **state)
{
	uint64_t before = engines_now_ns;
	struct frame_spec spec = find_parted();
	uint32_t whole = pieces_run_whole(&spec), id = next_id++;
	uint32_t late = pieces_run_all(&spec, id, backwards);

	(void)state;
	assert_int_not_equal(whole, late);
	engines_now_ns += (FRAGMENT_TICKS - 1ULL) * ENGINES_TICK_NS;
	assert_int_equal(pieces_run_all(&spec, id, in_order), late);
	engines_now_ns += ENGINES_TICK_NS;
	assert_int_equal(pieces_run_all(&spec, id, in_order), whole);
	engines_now_ns = before;
	engines_refill();
}

/* An entry that another core has touched in a tick that this one has not seen yet. */
static void test_tick_ahead(void **state)
{
	struct frame_spec spec = find_parted();
	struct frame later;

	(void)state;
	engines_now_ns += ENGINES_TICK_NS;
	later = begin(&spec, next_id++);
	engines_now_ns -= ENGINES_TICK_NS;
	assert_true(is_kept(&later));
	engines_refill();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		cmocka_unit_test(test_insert_limit_of_0),
		cmocka_unit_test(test_insert_limit_of_0_tracked),
		cmocka_unit_test(test_insert_limit_of_0_two_services),
		cmocka_unit_test(test_table_full),
		cmocka_unit_test(test_takes_closing_and_expired),
		cmocka_unit_test(test_oldest_pieces_give_way),
		cmocka_unit_test(test_flows_take_places),
		cmocka_unit_test(test_flood_takes_no_flow),
		cmocka_unit_test(test_flood_takes_no_insert),
		cmocka_unit_test(test_expiry),
		cmocka_unit_test(test_id_repeats),
		cmocka_unit_test(test_id_repeats_elsewhere),
		cmocka_unit_test(test_tick_ahead),
	};

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
