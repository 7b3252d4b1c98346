// SPDX-License-Identifier: BSD-2-Clause
/*
 * Datagrams in pieces: whatever the order in which they come, all of one reach one backend. Whose
 * they are, what entries do, and what becomes of them when backends and services change. What the
 * table's bounds do is fragment_limit_test's. Each step runs natively and in the kernel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "dp/verdict.h"

#include "../lib/rows/packets.h"
#include "../lib/run/engines.h"
#include "../lib/run/pieces.h"
#include "../lib/world/world.h"

enum { FLOWS = 12 };

static const uint8_t in_order[PIECES] = {0, 1, 2}, backwards[PIECES] = {2, 1, 0};
static uint32_t next_id = 1;

static void set_service(uint32_t service, uint32_t flags, uint8_t policy)
{
	for (size_t i = 0; i < engine_count; i++) {
		struct abi_service *record = &engines[i].tables->services[service];

		record->flags = flags;
		record->policy = policy;
		record->source_prefix4 = 24;
		record->source_prefix6 = 48;
	}
}

static void set_backend(uint32_t backend, uint32_t flags)
{
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[backend].flags = flags;
}

static void set_slots(uint32_t service, uint32_t count, uint64_t word)
{
	for (size_t i = 0; i < engine_count; i++) {
		uint64_t *slots = engines[i].tables->slots +
				  (uint32_t)engines[i].tables->services[service].table;

		for (uint32_t s = 0; s < count; s++)
			slots[s] = word;
	}
}

static struct frame_spec udp(const char *vip, uint16_t sport, uint16_t dport)
{
	return pieces_spec(vip, IPPROTO_UDP, sport, dport);
}

/* A flow of CROWD that does not go where a later piece that comes first goes. */
static struct frame_spec find_parted(const char *vip)
{
	struct frame_spec spec;

	for (uint16_t port = 1000; port < 1100; port++) {
		spec = udp(vip, port, 443);
		if (pieces_run_whole(&spec) != pieces_run_all(&spec, next_id++, backwards))
			return spec;
	}
	fail_msg("no flow of %s parts", vip);
	return spec;
}

/* --- orders --- */

/*
 * All orders of one service. A datagram whose first piece comes first goes where its flow goes;
 * any other where all of that source's go, whatever their ports. Where no ports are asked for
 * (`moves` is false) these are one place.
 */
static void run_orders(const char *vip, uint8_t proto, bool moves)
{
	uint32_t late = 0;

	for (uint16_t flow = 0; flow < FLOWS; flow++) {
		struct frame_spec spec = pieces_spec(vip, proto, (uint16_t)(2000 + flow), 443);
		uint32_t whole = pieces_run_whole(&spec);

		for (size_t o = 0; o < PIECES_ORDERS; o++) {
			uint32_t to = pieces_run_all(&spec, next_id++, pieces_orders[o]);

			if (pieces_orders[o][0] == 0 || !moves)
				assert_int_equal(to, whole);
			else if (late)
				assert_int_equal(to, late);
			else
				late = to;
		}
	}
}

static const struct {
	uint8_t policy;
	bool needs; /* ports, and so an entry */
} policies[] = {
	{ABI_POLICY_SOURCE, false},        {ABI_POLICY_2TUPLE, false}, {ABI_POLICY_3TUPLE, false},
	{ABI_POLICY_SOURCE_PREFIX, false}, {ABI_POLICY_4TUPLE, true},  {ABI_POLICY_5TUPLE, true},
};

static void test_orders(void **state)
{
	(void)state;
	for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
		for (int tracked = 0; tracked < 2; tracked++) {
			uint32_t flags = ABI_SERVICE_FRAGMENTS | ABI_SERVICE_POLICY;

			flags |= tracked ? ABI_SERVICE_TRACK : 0;
			set_service(WORLD_CROWD, flags, policies[p].policy);
			for (int v = 0; v < 2; v++) {
				const char *vip = v ? WORLD_CROWD_VIP6 : WORLD_CROWD_VIP4;
				bool moves = policies[p].needs || tracked;

				engines_forget_flows();
				run_orders(vip, IPPROTO_UDP, moves);
				run_orders(vip, IPPROTO_TCP, moves);
			}
		}
	}
	engines_refill();
}

/* The policy of most services is none that is asked for. */
static void test_orders_of_plain_service(void **state)
{
	(void)state;
	engines_forget_flows();
	run_orders(WORLD_CROWD_VIP4, IPPROTO_UDP, true);
	run_orders(WORLD_CROWD_VIP4, IPPROTO_TCP, true);
	run_orders(WORLD_CROWD_VIP6, IPPROTO_UDP, true);
	run_orders(WORLD_CROWD_VIP6, IPPROTO_TCP, true);
	engines_refill();
}

/* Many datagrams of many flows at once, shuffled: not one is parted. */
static void test_orders_mixed(void **state)
{
	enum { DATAGRAMS = 300, ALL = DATAGRAMS * PIECES };
	static struct pieces pieces[DATAGRAMS];
	uint32_t backends[DATAGRAMS] = {0}, seen[WORLD_BACKENDS] = {0};
	size_t order[ALL], distinct = 0;

	(void)state;
	engines_forget_flows();
	for (size_t i = 0; i < DATAGRAMS; i++) {
		struct frame_spec spec = udp(i % 2 ? WORLD_CROWD_VIP6 : WORLD_CROWD_VIP4,
					     (uint16_t)(3000 + i / 3), 443);

		pieces_cut(&spec, (uint32_t)(next_id + i), &pieces[i]);
	}
	next_id += DATAGRAMS;
	for (size_t i = 0; i < ALL; i++)
		order[i] = i;
	for (size_t i = ALL - 1; i > 0; i--) {
		size_t other = frame_random() % (i + 1), kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (size_t i = 0; i < ALL; i++) {
		size_t datagram = order[i] / PIECES;
		uint32_t to = pieces_run(&pieces[datagram].piece[order[i] % PIECES]);

		if (backends[datagram])
			assert_int_equal(to, backends[datagram]);
		backends[datagram] = to;
		distinct += seen[to]++ == 0;
	}
	assert_int_equal(distinct, 8);
	engines_refill();
}

/* A datagram of 3000 bytes in three pieces, the second first. */
static void test_case_8_second_piece_first(void **state)
{
	static const uint8_t order[PIECES] = {1, 0, 2};
	const char *vips[] = {WORLD_CROWD_VIP4, WORLD_CROWD_VIP6};

	(void)state;
	for (size_t v = 0; v < 2; v++) {
		struct frame_spec spec;

		engines_forget_flows();
		spec = find_parted(vips[v]);
		/* The first piece follows, though its flow goes elsewhere, and goes on to. */
		assert_int_not_equal(pieces_run_all(&spec, next_id++, order),
				     pieces_run_whole(&spec));
		assert_int_equal(pieces_run_all(&spec, next_id++, in_order),
				 pieces_run_whole(&spec));
	}
	engines_refill();
}

/* --- services that take none --- */

static void expect_dropped(const struct engine *engine, const struct pieces *pieces,
			   const uint8_t order[PIECES], uint32_t service)
{
	struct abi_count verdict = engine_verdict_count(engine, VERDICT_FRAGMENT);
	struct abi_count counted = engine_service_count(engine, service);
	static struct engine_outcome outcome;

	for (size_t i = 0; i < PIECES; i++) {
		const struct frame *piece = &pieces->piece[order[i]];

		engine_run(engine, piece->bytes, piece->length, &outcome);
		assert_int_equal(outcome.result.trace.verdict, VERDICT_FRAGMENT);
		assert_int_equal(outcome.result.trace.why, WHY_FRAGMENT);
		assert_int_equal(outcome.result.trace.service, service);
	}
	assert_int_equal(engine_verdict_count(engine, VERDICT_FRAGMENT).packets - verdict.packets,
			 PIECES);
	assert_int_equal(engine_service_count(engine, service).packets - counted.packets, PIECES);
}

/* `fragments: drop`: each piece, counted, whatever the order; and no entry is made. */
static void test_case_8_dropped(void **state)
{
	uint64_t made = pieces_event(ABI_EVENT_FLOW_NEW);
	struct pieces pieces;

	(void)state;
	set_service(WORLD_CROWD, 0, 0);
	for (int v = 0; v < 2; v++) {
		struct frame_spec spec = udp(v ? WORLD_CROWD_VIP6 : WORLD_CROWD_VIP4, 4000, 443);

		pieces_cut(&spec, next_id++, &pieces);
		for (size_t e = 0; e < engine_count; e++) {
			for (size_t o = 0; o < PIECES_ORDERS; o++)
				expect_dropped(&engines[e], &pieces, pieces_orders[o], WORLD_CROWD);
		}
	}
	assert_int_equal(pieces_event(ABI_EVENT_FLOW_NEW), made);
	engines_refill();
}

/* A program without the code of fragments drops those of every service. */
static void test_case_8_dropped_without_the_feature(void **state)
{
	struct dp_options options = {.flow_entries = WORLD_FLOWS,
				     .features = (ABI_HAS_ALL | ABI_HAS_TRACE) & ~ABI_HAS_FRAGMENT};
	struct engine engine = {.name = "without"};
	struct frame_spec spec = udp(WORLD_CROWD_VIP6, 4000, 443);
	struct pieces pieces;
	struct err err;

	(void)state;
	if (geteuid() != 0) {
		print_message("skip: no BPF_PROG_TEST_RUN: needs root\n");
		skip();
	}
	if (dp_open(&options, &engine.dp, &err) != 0)
		fail_msg("%s", err.text);
	engine.tables = dp_tables(engine.dp);
	world_fill(engine.tables);
	pieces_cut(&spec, next_id++, &pieces);
	expect_dropped(&engine, &pieces, in_order, WORLD_CROWD);
	expect_dropped(&engine, &pieces, backwards, WORLD_CROWD);
	dp_close(engine.dp);
}

/* --- whose piece --- */

static void expect_verdict(const struct frame *piece, enum verdict expected)
{
	enum verdict verdict = pieces_verdict(piece, NULL);

	if (verdict != expected)
		fail_msg("verdict %u, expected %u", verdict, expected);
}

/* Two services on a VIP: only the first piece knows, and the entry then says it. */
static void test_two_services(void **state)
{
	const char *vips[] = {WORLD_TWIN_VIP4, WORLD_TWIN_VIP6};
	struct pieces a, b;

	(void)state;
	for (size_t v = 0; v < 2; v++) {
		struct frame_spec to_a = udp(vips[v], 5000, 53), to_b = udp(vips[v], 5000, 443);

		engines_forget_flows();
		pieces_cut(&to_a, 7, &a);
		pieces_cut(&to_b, 7, &b);
		expect_verdict(&a.piece[2], VERDICT_FRAGMENT_EARLY);
		assert_int_equal(pieces_run(&a.piece[0]), WORLD_TWIN_A_B);
		assert_int_equal(pieces_run(&a.piece[1]), WORLD_TWIN_A_B);
		assert_int_equal(pieces_run(&a.piece[2]), WORLD_TWIN_A_B);
		/* The id again, for the other one: its first piece says so. */
		assert_int_equal(pieces_run(&b.piece[0]), WORLD_TWIN_B_B);
		assert_int_equal(pieces_run(&b.piece[2]), WORLD_TWIN_B_B);
		/* Another id: nobody has said. */
		pieces_cut(&to_b, 8, &b);
		expect_verdict(&b.piece[1], VERDICT_FRAGMENT_EARLY);
	}
	engines_refill();
}

static void set_listens(const char *vip, const uint64_t *listens, size_t count)
{
	struct addr addr;

	assert_int_equal(addr_parse(vip, &addr), 0);
	for (size_t i = 0; i < engine_count; i++)
		assert_int_equal(dp_tables_set_vip(engines[i].tables, &addr, listens, count), 0);
}

/* An entry of a service that no longer listens there says nothing. */
static void test_service_goes(void **state)
{
	const uint64_t b_alone[] = {abi_listen(443, 443, IPPROTO_UDP, WORLD_TWIN_B)};
	struct frame_spec spec = udp(WORLD_TWIN_VIP4, 5000, 53);
	struct pieces pieces;

	(void)state;
	engines_forget_flows();
	pieces_cut(&spec, next_id++, &pieces);
	assert_int_equal(pieces_run(&pieces.piece[0]), WORLD_TWIN_A_B);
	set_listens(WORLD_TWIN_VIP4, b_alone, 1);
	assert_int_equal(pieces_run(&pieces.piece[1]), WORLD_TWIN_B_B);
	expect_verdict(&pieces.piece[0], VERDICT_NOT_LISTENED);
	engines_refill();
}

/* A wider listen is one more that a piece may be for. */
static void test_any_beside_another(void **state)
{
	const uint64_t both[] = {abi_listen(53, 53, IPPROTO_UDP, WORLD_TWIN_A),
				 abi_listen(0, 65535, ABI_PROTO_ANY, WORLD_TWIN_B)};
	struct frame_spec spec = udp(WORLD_TWIN_VIP4, 5000, 53);
	struct frame_spec tcp = pieces_spec(WORLD_TWIN_VIP4, IPPROTO_TCP, 5000, 53);
	struct pieces pieces;

	(void)state;
	engines_forget_flows();
	set_listens(WORLD_TWIN_VIP4, both, 2);
	pieces_cut(&spec, next_id++, &pieces);
	expect_verdict(&pieces.piece[1], VERDICT_FRAGMENT_EARLY);
	assert_int_equal(pieces_run(&pieces.piece[0]), WORLD_TWIN_A_B);
	assert_int_equal(pieces_run(&pieces.piece[1]), WORLD_TWIN_A_B);
	/* TCP is the wider one's alone. */
	assert_int_equal(pieces_run_all(&tcp, next_id++, backwards), WORLD_TWIN_B_B);
	engines_refill();
}

/* The same id from another source, to another VIP, of another protocol: another datagram. */
static void test_same_id(void **state)
{
	struct frame_spec spec, others[3];
	struct pieces pieces;
	enum why why;

	(void)state;
	engines_forget_flows();
	spec = find_parted(WORLD_CROWD_VIP4);
	others[0] = others[1] = others[2] = spec;
	others[0].src = "203.0.113.6";
	others[1].dst = WORLD_MANY_VIP4;
	others[2].proto = IPPROTO_TCP;
	pieces_run_all(&spec, 99, in_order);
	for (size_t i = 0; i < 3; i++) {
		pieces_cut(&others[i], 99, &pieces);
		assert_int_equal(pieces_verdict(&pieces.piece[1], &why), VERDICT_FORWARDED);
		assert_int_equal(why, WHY_SLOT);
		assert_int_equal(pieces_verdict(&pieces.piece[2], &why), VERDICT_FORWARDED);
		assert_int_equal(why, WHY_FRAGMENT);
	}
	engines_refill();
}

/* IPv6 puts pieces together by source, destination and id; what a header names may differ. */
static void test_next_header_differs(void **state)
{
	struct frame_spec spec;
	struct pieces pieces;
	uint32_t backend;

	(void)state;
	engines_forget_flows();
	spec = find_parted(WORLD_CROWD_VIP6);
	pieces_cut(&spec, 0xabcdef01, &pieces);
	backend = pieces_run(&pieces.piece[0]);
	pieces.piece[1].bytes[FRAME_ETH + 40] = IPPROTO_TCP;
	assert_int_equal(pieces_run(&pieces.piece[1]), backend);
	/* All 32 bits of the id count. */
	pieces_cut(&spec, 0xabce0000 | 0xef01, &pieces);
	assert_int_not_equal(pieces_run(&pieces.piece[1]), backend);
	engines_refill();
}

/* --- flows and backends --- */

/* A tracked flow's pieces go where its entry says; a datagram out of order moves no flow. */
static void test_tracked_flow(void **state)
{
	struct frame_spec spec = udp(WORLD_MANY_VIP4, 6000, 443);

	(void)state;
	engines_forget_flows();
	for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
		spec.sport++;
		set_service(WORLD_MANY,
			    ABI_SERVICE_FRAGMENTS | ABI_SERVICE_TRACK | ABI_SERVICE_POLICY,
			    policies[p].policy);
		set_slots(WORLD_MANY, WORLD_MANY_SLOTS, abi_slot(WORLD_M1, 0, 0));
		/* A first piece records its flow. */
		assert_int_equal(pieces_run_all(&spec, next_id++, in_order), WORLD_M1);
		set_slots(WORLD_MANY, WORLD_MANY_SLOTS, abi_slot(WORLD_M3, 0, 0));
		assert_int_equal(pieces_run_whole(&spec), WORLD_M1);
		assert_int_equal(pieces_run_all(&spec, next_id++, in_order), WORLD_M1);
		assert_int_equal(pieces_run_all(&spec, next_id++, backwards), WORLD_M3);
		assert_int_equal(pieces_run_whole(&spec), WORLD_M1);
	}
	engines_refill();
}

/* What an entry's backend may still have, and what becomes of the rest when it may not. */
static void test_backend_goes(void **state)
{
	struct frame_spec spec = udp(WORLD_CROWD_VIP4, 6000, 443);
	struct pieces pieces;

	(void)state;
	engines_forget_flows();
	set_slots(WORLD_CROWD, WORLD_CROWD_SLOTS, abi_slot(WORLD_CROWD1, 0, 0));
	pieces_cut(&spec, next_id++, &pieces);
	assert_int_equal(pieces_run(&pieces.piece[0]), WORLD_CROWD1);
	set_slots(WORLD_CROWD, WORLD_CROWD_SLOTS, abi_slot(WORLD_CROWD1 + 1, 0, 0));
	/* Draining, or down for a moment: what has begun goes on. */
	set_backend(WORLD_CROWD1, ABI_BACKEND_KEEP | ABI_BACKEND_NEIGH);
	assert_int_equal(pieces_run(&pieces.piece[1]), WORLD_CROWD1);
	assert_int_equal(pieces_run(&pieces.piece[0]), WORLD_CROWD1);
	set_backend(WORLD_CROWD1, ABI_BACKEND_NEIGH);
	assert_int_equal(pieces_run(&pieces.piece[2]), WORLD_CROWD1 + 1);
	/* And that is what holds from now on. */
	set_backend(WORLD_CROWD1, ABI_BACKEND_UP | ABI_BACKEND_KEEP | ABI_BACKEND_NEIGH);
	assert_int_equal(pieces_run(&pieces.piece[0]), WORLD_CROWD1 + 1);
	assert_int_equal(pieces_run(&pieces.piece[1]), WORLD_CROWD1 + 1);
	/* Another backend has the record now. */
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[WORLD_CROWD1 + 1].generation++;
	set_slots(WORLD_CROWD, WORLD_CROWD_SLOTS, abi_slot(WORLD_CROWD1 + 2, 0, 0));
	assert_int_equal(pieces_run(&pieces.piece[2]), WORLD_CROWD1 + 2);
	assert_int_equal(pieces_run(&pieces.piece[0]), WORLD_CROWD1 + 2);
	engines_refill();
}

/* Down, and the slots not yet rewritten: datagrams take the other owner, first piece or not. */
static void test_other_owner(void **state)
{
	struct frame_spec spec = udp(WORLD_CROWD_VIP4, 6000, 443);

	(void)state;
	for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
		engines_forget_flows();
		set_service(WORLD_CROWD, ABI_SERVICE_FRAGMENTS | ABI_SERVICE_POLICY,
			    policies[p].policy);
		set_slots(WORLD_CROWD, WORLD_CROWD_SLOTS,
			  abi_slot(WORLD_CROWD1, 0, WORLD_CROWD1 + 4));
		set_backend(WORLD_CROWD1, ABI_BACKEND_KEEP | ABI_BACKEND_NEIGH);
		for (size_t o = 0; o < PIECES_ORDERS; o++)
			assert_int_equal(pieces_run_all(&spec, next_id++, pieces_orders[o]),
					 WORLD_CROWD1 + 4);
		/* Of TCP only a first piece can say that it begins one. */
		spec.proto = IPPROTO_TCP;
		spec.tcp_flags = FRAME_SYN;
		for (size_t o = 0; o < PIECES_ORDERS; o++)
			pieces_run_all(&spec, next_id++, pieces_orders[o]);
		spec.proto = IPPROTO_UDP;
	}
	engines_refill();
}

/* --- what holds for any packet --- */

static void expect_all(const struct pieces *pieces, enum verdict verdict, enum why why)
{
	for (size_t i = 0; i < PIECES; i++) {
		enum why got;

		expect_verdict(&pieces->piece[i], verdict);
		pieces_verdict(&pieces->piece[i], &got);
		assert_int_equal(got, why);
	}
}

static void test_access_list(void **state)
{
	const struct addr source = {.bytes = {[10] = 0xff, 0xff, 203, 0, 113, 5}};
	struct abi_prefix all = {.length = 32, .table = abi_prefix_table(ABI_LIST_ACCESS, 1)};
	struct abi_prefix one = {.length = 160,
				 .table = abi_prefix_table(ABI_LIST_ACCESS, 1),
				 .addr = dp_addr(&source)};
	struct frame_spec spec = udp(WORLD_CROWD_VIP4, 6000, 443);
	struct pieces pieces;

	(void)state;
	set_service(WORLD_CROWD, ABI_SERVICE_FRAGMENTS | ABI_SERVICE_ACCESS, 0);
	for (size_t i = 0; i < engine_count; i++) {
		struct dp_tables *tables = engines[i].tables;

		tables->services[WORLD_CROWD].access = ABI_LIST_ACCESS;
		tables->set_prefix(tables->prefixes, &all, ABI_ACCESS_ALLOW);
		tables->set_prefix(tables->prefixes, &one, ABI_ACCESS_DENY);
	}
	pieces_cut(&spec, next_id++, &pieces);
	expect_all(&pieces, VERDICT_DENIED, WHY_ACL);
	spec.src = "203.0.113.6";
	for (size_t o = 0; o < PIECES_ORDERS; o++)
		pieces_run_all(&spec, next_id++, pieces_orders[o]);
	for (size_t i = 0; i < engine_count; i++) {
		struct dp_tables *tables = engines[i].tables;

		tables->services[WORLD_CROWD].access = 0;
		tables->set_prefix(tables->prefixes, &all, 0);
		tables->set_prefix(tables->prefixes, &one, 0);
	}
	engines_refill();
}

/* Each piece is a packet of the service's rate. */
static void test_rate(void **state)
{
	struct frame_spec spec = udp(WORLD_CROWD_VIP4, 6000, 443);
	struct pieces pieces;

	(void)state;
	engines_now_ns += 100ULL * ENGINES_TICK_NS;
	set_service(WORLD_CROWD, ABI_SERVICE_FRAGMENTS | ABI_SERVICE_RATE, 0);
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->services[WORLD_CROWD].rate_gap = 60000000ULL << 8;
	pieces_cut(&spec, next_id++, &pieces);
	/* 60 ms each, and 100 ms ahead at most. */
	pieces_run(&pieces.piece[2]);
	pieces_run(&pieces.piece[0]);
	expect_verdict(&pieces.piece[1], VERDICT_RATE_LIMITED);
	expect_verdict(&pieces.piece[0], VERDICT_RATE_LIMITED);
	engines_refill();
}

static void test_no_backend(void **state)
{
	struct frame_spec spec = pieces_spec(WORLD_EMPTY_VIP4, IPPROTO_TCP, 6000, 80);
	struct pieces pieces;

	(void)state;
	pieces_cut(&spec, next_id++, &pieces);
	expect_all(&pieces, VERDICT_EMPTY, WHY_EMPTY);
	set_service(WORLD_EMPTY, ABI_SERVICE_FRAGMENTS | ABI_SERVICE_PASS, 0);
	expect_all(&pieces, VERDICT_EMPTY_PASSED, WHY_EMPTY);
	/* A later piece has nothing that could be answered. */
	set_service(WORLD_EMPTY, ABI_SERVICE_FRAGMENTS | ABI_SERVICE_REJECT, 0);
	expect_verdict(&pieces.piece[1], VERDICT_EMPTY);
	expect_verdict(&pieces.piece[2], VERDICT_EMPTY);
	engines_refill();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_orders_of_plain_service),
		cmocka_unit_test(test_orders_mixed),
		cmocka_unit_test(test_case_8_second_piece_first),
		cmocka_unit_test(test_case_8_dropped),
		cmocka_unit_test(test_case_8_dropped_without_the_feature),
		cmocka_unit_test(test_two_services),
		cmocka_unit_test(test_service_goes),
		cmocka_unit_test(test_any_beside_another),
		cmocka_unit_test(test_same_id),
		cmocka_unit_test(test_next_header_differs),
		cmocka_unit_test(test_tracked_flow),
		cmocka_unit_test(test_backend_goes),
		cmocka_unit_test(test_other_owner),
		cmocka_unit_test(test_access_list),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_no_backend),
	};

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
