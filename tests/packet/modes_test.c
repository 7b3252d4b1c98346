// SPDX-License-Identifier: BSD-2-Clause
/*
 * What forwarding modes tell the other end beyond the rows of the packet table: whom GUE's variant
 * 0 names as the slot's other owner, and what becomes of odd checksums under ipopt. Each frame runs
 * natively and in the kernel, which must agree with each other and with expect.h.
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

#include "dp/verdict.h"

#include "../lib/frame/frame.h"
#include "../lib/run/dump.h"
#include "../lib/run/engines.h"
#include "../lib/world/world.h"

enum {
	GOES = ABI_BACKEND_UP | ABI_BACKEND_KEEP | ABI_BACKEND_HEALTHY | ABI_BACKEND_NEIGH,
	DRAINS = ABI_BACKEND_KEEP | ABI_BACKEND_HEALTHY | ABI_BACKEND_NEIGH,
	DOWN = ABI_BACKEND_KEEP | ABI_BACKEND_NEIGH, /* but its flows go on */
	GONE = ABI_BACKEND_NEIGH,
	PRIVATE4 = FRAME_ETH + 20 + 8 + 4, /* where the private data begin, over IPv4 */
	PRIVATE6 = FRAME_ETH + 40 + 8 + 4,
};

#define UNSAID UINT32_MAX /* a header without room for a name */

struct other_case {
	const char *name;
	uint32_t current, previous, other;
	uint64_t bits;
	uint32_t current_flags, other_flags;
	uint8_t tcp_flags;
	uint32_t chosen, told;
};

static void set_owners(const struct other_case *row)
{
	for (size_t i = 0; i < engine_count; i++) {
		struct dp_tables *tables = engines[i].tables;
		uint32_t first = (uint32_t)tables->services[WORLD_GUE0_4].table;

		tables->slots[first] = abi_slot(row->current, row->previous, row->other) |
				       row->bits;
		tables->backends[row->current].flags = row->current_flags;
		tables->backends[row->previous && row->previous != row->current ? row->previous
										: row->other]
			.flags = row->other_flags;
	}
}

/* The private data as they are on the wire, here by the byte and not by the frame builder. */
static void check_told(const struct other_case *row, const uint8_t *private)
{
	static const uint8_t nobody[8] = {1};
	uint8_t expected[8] = {1, 0, 0, 4};
	struct addr addr;

	if (row->told == UNSAID) {
		if (private[-4] >> 4 != 4)
			fail_msg("%s: has room for a name", row->name);
		return;
	}
	if (row->told) {
		addr = world_backend_addr(row->told);
		memcpy(expected + 4, addr.bytes + 12, 4);
	}
	if (memcmp(private, row->told ? expected : nobody, sizeof(expected)) != 0)
		fail_msg("%s: another owner is told", row->name);
}

static void test_other_owner(void **state)
{
#define B      WORLD_GUE0_4_B
#define SECOND WORLD_SECOND4
#define TURNS  ABI_SLOT_TRANSITION
#define DOUBT  ABI_SLOT_DOUBT
#define TOLD   (TURNS | DOUBT | ABI_SLOT_ASK)
	static const struct other_case cases[] = {
		{"who would serve", B, 0, SECOND, DOUBT, GOES, GOES, FRAME_ACK, B, SECOND},
		{"nobody", B, 0, 0, DOUBT, GOES, 0, FRAME_ACK, B, 0},
		{"the chosen one itself", B, 0, B, DOUBT, GOES, GOES, FRAME_ACK, B, 0},
		{"down, and its flows go on", B, 0, SECOND, DOUBT, GOES, DOWN, FRAME_ACK, B,
		 SECOND},
		{"gone", B, 0, SECOND, DOUBT, GOES, GONE, FRAME_ACK, B, 0},
		{"of the other family", B, 0, WORLD_SECOND6, DOUBT, GOES, GOES, FRAME_ACK, B, 0},
		{"a change: before it", B, SECOND, 0, TURNS, GOES, GOES, FRAME_SYN, B, SECOND},
		{"a change: after it", B, SECOND, 0, TURNS, GOES, GOES, FRAME_ACK, SECOND, B},
		{"a change: who was it is gone", B, SECOND, 0, TURNS, GOES, GONE, FRAME_ACK, B, 0},
		{"a change: the third", B, 0, SECOND, TURNS, GOES, GOES, FRAME_SYN, B, SECOND},
		{"a change, undone: the third", B, B, SECOND, TURNS, GOES, GOES, FRAME_ACK, B,
		 SECOND},
		{"a change, told: it began here", B, SECOND, 0, TOLD, GOES, GOES, FRAME_SYN, B,
		 SECOND},
		{"a change, told: after it", B, SECOND, 0, TOLD, GOES, GOES, FRAME_ACK, B, SECOND},
		{"a change, in doubt: the third", B, 0, SECOND, TURNS | DOUBT, GOES, GOES,
		 FRAME_SYN, B, SECOND},
		{"a change, in doubt: before it", B, SECOND, WORLD_SECOND6, TURNS | DOUBT, GOES,
		 GOES, FRAME_SYN, B, SECOND},
		{"in its place", B, 0, SECOND, 0, DOWN, GOES, FRAME_SYN, SECOND, B},
		{"in a gone one's place", B, 0, SECOND, 0, GONE, GOES, FRAME_SYN, SECOND, 0},
		{"down, a flow from before", B, 0, SECOND, 0, DOWN, GOES, FRAME_ACK, SECOND, B},
		{"drains, a flow from before", B, 0, SECOND, 0, DRAINS, GOES, FRAME_ACK, B, SECOND},
		{"down, of the other family", B, 0, WORLD_SECOND6, 0, DOWN, GOES, FRAME_ACK, B, 0},
		{"down, and so is the other", B, 0, SECOND, 0, DOWN, DRAINS, FRAME_ACK, B, SECOND},
		{"a change: who was it drains", B, SECOND, 0, TURNS, GOES, DRAINS, FRAME_ACK,
		 SECOND, B},
		{"a change: who was it is down", B, SECOND, 0, TURNS, GOES, DOWN, FRAME_ACK, B,
		 SECOND},
		{"a change: down, its end", B, SECOND, 0, TURNS, GOES, DOWN, FRAME_FIN | FRAME_ACK,
		 B, SECOND},
	};
#undef B
#undef SECOND
#undef TURNS
#undef DOUBT
#undef TOLD
	static struct engine_outcome outcome;
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct frame_spec spec = {.src = WORLD_CLIENT4,
						.dst = WORLD_GUE0_4_VIP4,
						.tcp_flags = cases[i].tcp_flags};

		engines_refill();
		engines_forget_flows();
		set_owners(&cases[i]);
		frame_build(&spec, &frame);
		engines_run(cases[i].name, &frame, &outcome);
		assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
		assert_int_equal(outcome.result.trace.backend, cases[i].chosen);
		if (cases[i].tcp_flags == FRAME_SYN) {
			/* Nobody's yet: its packets name the other one from the next on. */
			assert_int_equal(outcome.result.length, frame.length + 28);
			frame_build(&(struct frame_spec){.src = WORLD_CLIENT4,
							 .dst = WORLD_GUE0_4_VIP4},
				    &frame);
			engines_run(cases[i].name, &frame, &outcome);
			assert_int_equal(outcome.result.trace.backend, cases[i].chosen);
		}
		check_told(&cases[i], outcome.bytes + PRIVATE4);
	}
	engines_refill();
}

/* One frame of the service, to this backend, that names that one. */
static void goes(uint8_t tcp_flags, uint32_t chosen, uint32_t told)
{
	const struct other_case row = {.name = "down for a time", .told = told};
	const struct frame_spec spec = {
		.src = WORLD_CLIENT4, .dst = WORLD_GUE0_4_VIP4, .tcp_flags = tcp_flags};
	static struct engine_outcome outcome;
	struct frame frame;

	frame_build(&spec, &frame);
	engines_run(row.name, &frame, &outcome);
	assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
	assert_int_equal(outcome.result.trace.backend, chosen);
	check_told(&row, outcome.bytes + PRIVATE4);
}

/*
 * While the one from before fails its checks a flow without an entry is another's to ask for, and
 * gets no entry, for it may be the failed one's all the same. One that begins gets its entry.
 */
static void test_down_for_a_time(void **state)
{
	enum { B = WORLD_GUE0_4_B, A = WORLD_SECOND4 };
	struct other_case row = {
		"down for a time", B, A, 0, ABI_SLOT_TRANSITION, GOES, DOWN, 0, 0, 0};
	uint64_t relies = engine_event_count(&engines[0], ABI_EVENT_FLOW_RELIES);

	(void)state;
	engines_refill();
	engines_forget_flows();
	set_owners(&row);
	goes(FRAME_ACK, B, A);
	goes(FRAME_ACK, B, A);
	assert_int_equal(engine_event_count(&engines[0], ABI_EVENT_FLOW_RELIES), relies + 2);
	row.other_flags = GOES;
	set_owners(&row);
	goes(FRAME_ACK, A, B);
	/* Which it has an entry for now. */
	row.other_flags = DOWN;
	set_owners(&row);
	goes(FRAME_ACK, A, B);
	engines_forget_flows();
	goes(FRAME_SYN, B, UNSAID);
	row.other_flags = GOES;
	set_owners(&row);
	goes(FRAME_ACK, B, A);
	engines_refill();
}

/* No doubt, no name: variant 1, whose packet begins where a header of variant 0 would stand. */
static void test_no_doubt(void **state)
{
	const struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_GUE0_4_VIP4};
	const struct other_case row = {"settled", WORLD_GUE0_4_B, 0,         WORLD_SECOND4,  0,
				       GOES,      GOES,           FRAME_ACK, WORLD_GUE0_4_B, 0};
	static struct engine_outcome outcome;
	struct frame frame;

	(void)state;
	engines_refill();
	engines_forget_flows();
	set_owners(&row);
	frame_build(&spec, &frame);
	engines_run(row.name, &frame, &outcome);
	assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
	assert_int_equal(outcome.result.length, frame.length + 28);
	assert_int_equal(outcome.bytes[PRIVATE4 - 4] >> 4, 4);
	engines_refill();
}

static void test_other_owner_of_ipv6(void **state)
{
	const struct frame_spec spec = {.src = WORLD_CLIENT6, .dst = WORLD_GUE0_6_VIP6};
	struct addr second = world_backend_addr(WORLD_SECOND6);
	static struct engine_outcome outcome;
	static const uint8_t head[4] = {1, 0, 0, 6};
	struct frame frame;

	(void)state;
	frame_build(&spec, &frame);
	engines_run("other owner of IPv6", &frame, &outcome);
	assert_int_equal(outcome.bytes[PRIVATE6 - 4], 5); /* words */
	assert_memory_equal(outcome.bytes + PRIVATE6, head, sizeof(head));
	assert_memory_equal(outcome.bytes + PRIVATE6 + 4, second.bytes, 16);
}

/*
 * Every value that a checksum can come with, so those where the sum carries or comes out as 0 too:
 * UDP's 0 means that there is none, and what comes out as 0 is written as its other form.
 */
static void test_option_checksums(void **state)
{
	static const struct {
		const char *src, *dst;
		uint8_t proto;
	} kinds[] = {
		{WORLD_CLIENT4, WORLD_IPOPT4P_VIP4, IPPROTO_UDP},
		{WORLD_CLIENT4, WORLD_IPOPT4P_VIP4, IPPROTO_TCP},
		{WORLD_CLIENT6, WORLD_IPOPT6P_VIP6, IPPROTO_UDP},
	};
	static struct engine_outcome outcome;
	struct frame frame;
	size_t zeros = 0;

	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		bool udp = kinds[k].proto == IPPROTO_UDP;
		const struct frame_spec spec = {.src = kinds[k].src,
						.dst = kinds[k].dst,
						.proto = kinds[k].proto,
						.dport = udp ? 53 : 80};
		size_t grown = kinds[k].src[0] == '2' && kinds[k].src[3] == '.' ? 8 : 24;

		frame_build(&spec, &frame);
		for (uint32_t check = 0; check <= UINT16_MAX; check++) {
			size_t at = frame.l4 + (udp ? 6 : 16);
			const uint8_t *out = outcome.bytes + at + grown;

			frame_put(frame.bytes + at, 2, check);
			engines_run("checksum", &frame, &outcome);
			assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
			if (udp && check)
				assert_true(out[0] | out[1]);
			zeros += udp && out[0] == 0xff && out[1] == 0xff;
		}
	}
	/* For each kind of UDP one that comes leaves so. */
	assert_int_equal(zeros, 2);
}

/* Of a datagram's pieces only the first has ports: the later ones say 0, and get nothing changed
 * where a port would stand. What is changed and what not expect.h says; here, what is said. */
static void test_pieces(void **state)
{
	static const struct {
		uint32_t service;
		const char *src, *dst;
		size_t port_at; /* of the VIP's port, where it is told */
	} cases[] = {
		{WORLD_GENEVE4P, WORLD_CLIENT4, WORLD_GENEVE4P_VIP4, FRAME_ETH + 20 + 8 + 8 + 4},
		{WORLD_GENEVE6P, WORLD_CLIENT6, WORLD_GENEVE6P_VIP6, FRAME_ETH + 40 + 8 + 8 + 4},
		{WORLD_IPOPT4P, WORLD_CLIENT4, WORLD_IPOPT4P_VIP4, FRAME_ETH + 20 + 2},
		{WORLD_IPOPT6P, WORLD_CLIENT6, WORLD_IPOPT6P_VIP6, FRAME_ETH + 40 + 4},
	};
	static struct engine_outcome first, later;
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool ipv4 = strchr(cases[i].src, ':') == NULL;
		struct frame_spec spec = {.src = cases[i].src,
					  .dst = cases[i].dst,
					  .proto = IPPROTO_UDP,
					  .dport = 53,
					  .payload = 32,
					  .frag = ipv4 ? 0x2000 : 1};

		engines_refill();
		for (size_t e = 0; e < engine_count; e++)
			engines[e].tables->services[cases[i].service].flags |=
				ABI_SERVICE_FRAGMENTS;
		spec.extensions[0] = ipv4 ? FRAME_EXT_END : FRAME_EXT_FRAGMENT;
		frame_build(&spec, &frame);
		engines_run("first piece", &frame, &first);
		spec.frag = ipv4 ? 5 : 5 << 3;
		frame_build(&spec, &frame);
		engines_run("later piece", &frame, &later);
		assert_int_equal(first.result.trace.verdict, VERDICT_FORWARDED);
		assert_int_equal(later.result.trace.verdict, VERDICT_FORWARDED);
		assert_int_equal(first.result.trace.backend, later.result.trace.backend);
		assert_int_equal(first.bytes[cases[i].port_at + 1], 53);
		assert_int_equal(later.bytes[cases[i].port_at + 1], 0);
	}
	engines_refill();
}

/* With a directory and which byte to damage it writes the packet table there, for
 * tests/e2e/dissect.sh, and tests nothing. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		cmocka_unit_test(test_other_owner),
		cmocka_unit_test(test_down_for_a_time),
		cmocka_unit_test(test_no_doubt),
		cmocka_unit_test(test_other_owner_of_ipv6),
		cmocka_unit_test(test_option_checksums),
		cmocka_unit_test(test_pieces),
	};

	if (argc == 3)
		return dump_rows(argv[1], (size_t)atoi(argv[2])) ? 1 : 0;
	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
