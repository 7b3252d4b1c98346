// SPDX-License-Identifier: BSD-2-Clause
/*
 * The balancer's packet path, over the table of tests/lib/rows/packets.c: natively (with sanitizers
 * in build-san) and in the kernel by BPF_PROG_TEST_RUN. Both must give what the row says, and the
 * bytes that the builder of tests/lib/frame/frame.c makes by its own hand. Then frames that nobody
 * wrote: every truncation, every single-bit flip of the headers, random damage. There both
 * engines must agree, and what expect.h says must hold.
 *
 * Frames start at an address = 2 mod 4, as drivers place them, and end where their memory ends:
 * the native engine runs a frame at the end of its buffer, so a read past it is seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <string.h>

#include "../lib/frame/frame.h"
#include "../lib/rows/packets.h"
#include "../lib/run/engines.h"
#include "../lib/world/world.h"

static void check_row(const struct packet_row *row, const struct abi_trace *trace, enum why why)
{
	if (trace->verdict != row->verdict || trace->why != why || trace->service != row->service ||
	    trace->backend != row->backend)
		fail_msg("%s: verdict %u why %u service %s backend %s, expected %u %u %s %s",
			 row->name, trace->verdict, trace->why, world_service_name(trace->service),
			 world_backend_name(trace->backend), row->verdict, why,
			 world_service_name(row->service), world_backend_name(row->backend));
}

/* Each row as the first packet of its flow, and again as the second. */
static void test_table(void **state)
{
	static struct engine_outcome first, second;
	struct frame frame;

	(void)state;
	assert_true(packet_row_count >= 600);
	for (size_t i = 0; i < packet_row_count; i++) {
		const struct packet_row *row = &packet_rows[i];
		/* An ICMP error is no packet of its flow, a later piece of none: no entry of it. */
		bool later = packet_row_is_later(row) && row->backend != WORLD_NOBODY;
		bool found = row->backend != WORLD_NOBODY && row->why != WHY_ICMP && !later &&
			     world_service_tracks(row->service);

		engines_forget_flows();
		frame_build(&row->spec, &frame);
		engines_run(row->name, &frame, &first);
		check_row(row, &first.result.trace, row->why);
		engines_run(row->name, &frame, &second);
		/* What ends a flow leaves an entry that the same segment still finds; and a later
		 * piece finds that of its datagram. */
		check_row(row, &second.result.trace,
			  later                                          ? WHY_FRAGMENT
			  : found && second.result.trace.why == WHY_FLOW ? WHY_FLOW
									 : row->why);
		if (found && row->spec.tcp_flags != FRAME_SYN)
			assert_int_equal(second.result.trace.why, WHY_FLOW);
		assert_int_equal(first.result.length, second.result.length);
		assert_memory_equal(first.bytes, second.bytes, first.result.length);
	}
}

/* The rows that leave, one of each kind of headers: what is damaged below. */
static const char *const whole_rows[] = {
	"tcp4 data",
	"udp4",
	"tcp4 ip options",
	"case 35: tcp6 class over ipv4",
	"udp6 over ipv4",
	"tcp4 over ipv6",
	"udp4 over ipv6",
	"tcp6 syn",
	"udp6",
	"tcp4 redirected",
	"tcp4 by gre over ipv4",
	"udp6 by gre over ipv6",
	"tcp6 by gue over ipv4",
	"udp4 by gue over ipv6",
	"tcp4 by l2dsr",
	"udp6 by l2dsr to an ipv6 backend",
	"udp4 by GENEVE4P",
	"tcp6 by GENEVE6",
	"tcp4 by GUE0_4",
	"udp6 by GUE0_6",
	"tcp4 ip options by IPOPT4P",
	"udp4 tagged by IPOPT4",
	"tcp6 behind options by IPOPT6P",
	"udp6 by IPOPT6",
	"icmp4 echo",
	"icmp6 echo",
	"icmp4 too big about tcp",
	"icmp6 too big about tcp",
	"tcp6 behind four extension headers",
	"icmp6 error about a packet with options",
	"icmp6 error behind options",
	"tcp6 behind hop-by-hop options",
	"tcp6 first fragment",
	"tcp6 atomic fragment of what takes no pieces",
	"udp4 first fragment of one twin",
	"case 8: udp4 last fragment first",
	"case 8: udp6 last fragment first, of a packet with options",
	"tcp4 tagged",
	"tcp6 twice tagged",
	"tcp4 tagged, redirected",
	"tcp4 three times tagged",
	"case 34: esp4",
	"case 34: sctp6 behind a routing header",
	"case 32: icmp4 about esp",
	"case 32: icmp6 about sctp behind options",
	"tcp6 of a longer prefix",
	"tcp4 allowed amid denied",
};
enum { WHOLE_ROWS = sizeof(whole_rows) / sizeof(whole_rows[0]) };

static const struct packet_row *build_row(const char *name, struct frame *frame)
{
	for (size_t i = 0; i < packet_row_count; i++) {
		if (strcmp(packet_rows[i].name, name) != 0)
			continue;
		frame_build(&packet_rows[i].spec, frame);
		return &packet_rows[i];
	}
	fail_msg("no row \"%s\"", name);
	return NULL;
}

/*
 * An IP packet that misses its end is malformed wherever it is cut; what is no IP, or ends
 * within its tags, is not IP.
 */
static void test_truncation(void **state)
{
	static struct engine_outcome outcome;
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < WHOLE_ROWS; i++) {
		const struct packet_row *row = build_row(whole_rows[i], &frame);

		for (size_t length = 0, whole = frame.length; length < whole; length++) {
			enum verdict expected = VERDICT_MALFORMED;

			if (length >= FRAME_ETH &&
			    (row->verdict == VERDICT_NOT_IP || length < frame.ip))
				expected = VERDICT_NOT_IP;
			frame.length = length;
			engines_run(row->name, &frame, &outcome);
			if (outcome.result.trace.verdict != expected)
				fail_msg("%s cut to %zu bytes: verdict %u, expected %u", row->name,
					 length, outcome.result.trace.verdict, expected);
		}
	}
}

/* A packet that is honest about its length, and ends anywhere in its chain of headers. */
static void test_short_chain(void **state)
{
	enum { IP6_HEADER = 40, CHAIN = 32, TCP_HEADER = 20 };
	static struct engine_outcome outcome;
	struct frame frame;

	(void)state;
	build_row("tcp6 behind four extension headers", &frame);
	for (uint16_t length = 0; length <= CHAIN + TCP_HEADER; length++) {
		enum verdict expected = length < CHAIN + TCP_HEADER ? VERDICT_TRUNCATED
								    : VERDICT_FORWARDED;

		frame_put(frame.bytes + FRAME_ETH + 4, 2, length);
		/* Alone, and with all that is cut off as the frame's padding. */
		for (int padded = 0; padded < 2; padded++) {
			struct frame cut = frame;

			if (!padded)
				cut.length = (size_t)FRAME_ETH + IP6_HEADER + length;
			engines_run("chain", &cut, &outcome);
			if (outcome.result.trace.verdict != expected)
				fail_msg("%u bytes of chain: verdict %u, expected %u", length,
					 outcome.result.trace.verdict, expected);
		}
	}
}

static void test_bit_flips(void **state)
{
	enum { FLIPPED_BYTES = 80 };
	static struct engine_outcome outcome;
	size_t verdicts[VERDICT_COUNT] = {0};
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < WHOLE_ROWS; i++) {
		build_row(whole_rows[i], &frame);
		for (size_t bit = 0; bit < 8 * FLIPPED_BYTES && bit < 8 * frame.length; bit++) {
			frame.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			engines_run(whole_rows[i], &frame, &outcome);
			verdicts[outcome.result.trace.verdict]++;
			frame.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
	/* The flips reached the ends that a single bit can lead to. */
	assert_true(verdicts[VERDICT_FORWARDED] > 0 && verdicts[VERDICT_NOT_IP] > 0);
	assert_true(verdicts[VERDICT_NOT_VIP] > 0 && verdicts[VERDICT_NOT_LISTENED] > 0);
	assert_true(verdicts[VERDICT_FRAGMENT] > 0 && verdicts[VERDICT_OTHER_PROTOCOL] > 0);
	assert_true(verdicts[VERDICT_FRAGMENT_EARLY] > 0 && verdicts[VERDICT_EXTENSIONS] > 0);
	assert_true(verdicts[VERDICT_MALFORMED] > 0 && verdicts[VERDICT_TRUNCATED] > 0);
}

/* xorshift64*: the same damage in every run. */
static uint32_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)(*state * 0x2545f4914f6cdd1dULL >> 32);
}

static void test_random_damage(void **state)
{
	enum { ROUNDS = 60, DAMAGED_BYTES = 62 };
	static struct engine_outcome outcome;
	uint64_t random = 0x5eed;
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < packet_row_count; i++) {
		for (unsigned int round = 0; round < ROUNDS; round++) {
			frame_build(&packet_rows[i].spec, &frame);
			for (uint32_t n = 1 + next_random(&random) % 3; n > 0; n--) {
				size_t at = FRAME_ETH + next_random(&random) % DAMAGED_BYTES;

				if (at < frame.length)
					frame.bytes[at] = (uint8_t)next_random(&random);
			}
			if (next_random(&random) % 4 == 0)
				frame.length -= next_random(&random) % (frame.length - 13);
			engines_run(packet_rows[i].name, &frame, &outcome);
		}
	}
}

/* The last byte of the outer source, which world_fill lets vary. */
static uint8_t source_of(const struct engine_outcome *outcome)
{
	bool outer4 = outcome->bytes[12] == 0x08;

	return outcome->bytes[FRAME_ETH + (outer4 ? 15 : 23)];
}

/* Over flows the outer source takes many values; within one it stays, whatever the segment. */
static void test_outer_source(void **state)
{
	enum { FLOWS = 2000 };
	static struct engine_outcome first, later;
	uint32_t seen[2][256] = {0}, per_backend[WORLD_BACKENDS] = {0};
	size_t distinct[2] = {0};
	struct frame frame;

	(void)state;
	engines_forget_flows();
	for (uint16_t i = 0; i < FLOWS; i++) {
		packets_build_many(i % 2, (uint16_t)(20000 + i), FRAME_SYN, &frame);
		engines_run("first of a flow", &frame, &first);
		packets_build_many(i % 2, (uint16_t)(20000 + i), FRAME_ACK | FRAME_PSH, &frame);
		engines_run("later of a flow", &frame, &later);
		assert_int_equal(first.result.trace.backend, later.result.trace.backend);
		/* MACs, outer addresses and flow label; all but the inner packet. */
		assert_int_equal(first.result.length, later.result.length);
		assert_memory_equal(first.bytes, later.bytes, FRAME_ETH + 20);
		assert_int_equal(source_of(&first), source_of(&later));
		distinct[first.bytes[12] == 0x08] +=
			seen[first.bytes[12] == 0x08][source_of(&first)]++ == 0;
		per_backend[first.result.trace.backend]++;
	}
	/* 1000 even draws of 256 leave about 5 values out. */
	assert_true(distinct[0] > 200 && distinct[1] > 200);
	for (uint32_t b = WORLD_M1; b <= WORLD_M4; b++)
		assert_in_range(per_backend[b], FLOWS / 4 - 120, FLOWS / 4 + 120);
}

/* By GUE the outer source is the node's one address, and the source port varies in its place. */
static void test_outer_port(void **state)
{
	enum { FLOWS = 1000 };
	static struct engine_outcome first, later;
	static uint8_t seen[65536];
	size_t distinct = 0;
	struct frame frame;

	(void)state;
	for (size_t e = 0; e < engine_count; e++)
		engines[e].tables->services[WORLD_MANY].mode = TUNNEL_GUE;
	engines_forget_flows();
	for (uint16_t i = 0; i < FLOWS; i++) {
		const uint8_t *udp;
		uint16_t port;

		packets_build_many(i % 2, (uint16_t)(20000 + i), FRAME_SYN, &frame);
		engines_run("first of a flow", &frame, &first);
		packets_build_many(i % 2, (uint16_t)(20000 + i), FRAME_ACK | FRAME_PSH, &frame);
		engines_run("later of a flow", &frame, &later);
		assert_memory_equal(first.bytes, later.bytes, FRAME_ETH + 28);
		assert_int_equal(source_of(&first), 0);
		udp = first.bytes + FRAME_ETH + (first.bytes[12] == 0x08 ? 20 : 40);
		port = (uint16_t)(udp[0] << 8 | udp[1]);
		distinct += seen[port]++ == 0;
	}
	/* 1000 draws of 16384 meet about 30 times. */
	assert_true(distinct > 900);
	engines_refill();
}

/* Every frame is counted once, under its verdict, with its length as it came. */
static void test_counters(void **state)
{
	static struct engine_outcome outcome;
	struct abi_count before[VERDICT_COUNT], service, backend, after;
	struct frame frame;

	(void)state;
	for (size_t e = 0; e < engine_count; e++) {
		const struct engine *engine = &engines[e];

		for (uint32_t v = 0; v < VERDICT_COUNT; v++)
			before[v] = engine_verdict_count(engine, v);
		service = engine_service_count(engine, WORLD_ONE4);
		backend = engine_backend_count(engine, WORLD_B4);
		build_row("tcp4 data", &frame);
		engine_run(engine, frame.bytes, frame.length, &outcome);
		for (uint32_t v = 0; v < VERDICT_COUNT; v++) {
			uint64_t expected = v == VERDICT_FORWARDED ? 1 : 0;

			after = engine_verdict_count(engine, v);
			assert_int_equal(after.packets - before[v].packets, expected);
			assert_int_equal(after.bytes - before[v].bytes, expected * frame.length);
		}
		after = engine_service_count(engine, WORLD_ONE4);
		assert_int_equal(after.packets - service.packets, 1);
		assert_int_equal(after.bytes - service.bytes, frame.length);
		after = engine_backend_count(engine, WORLD_B4);
		assert_int_equal(after.packets - backend.packets, 1);
		assert_int_equal(after.bytes - backend.bytes, frame.length);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran), cmocka_unit_test(test_table),
		cmocka_unit_test(test_truncation),         cmocka_unit_test(test_short_chain),
		cmocka_unit_test(test_bit_flips),          cmocka_unit_test(test_random_damage),
		cmocka_unit_test(test_outer_source),       cmocka_unit_test(test_outer_port),
		cmocka_unit_test(test_counters),
	};

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
