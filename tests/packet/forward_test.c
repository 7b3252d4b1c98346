// SPDX-License-Identifier: BSD-2-Clause
/*
 * The balancer's packet path, over the table of tests/lib/packets.c: natively (with sanitizers
 * in build-san) and in the kernel by BPF_PROG_TEST_RUN. Both must give what the row says, and the
 * bytes that the builder of tests/lib/frame.c makes by its own hand. Then frames that nobody
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

#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/expect.h"
#include "../lib/frame.h"
#include "../lib/packets.h"
#include "../lib/world.h"
#include "base/time.h"
#include "dp/dp.h"
#include "dp/native.h"

enum { KERNEL_MINIMUM = 14, TICK_NS = 1 << ABI_TICK_SHIFT };

struct engine {
	const char *name;
	struct native *native; /* one of the two */
	struct dp *dp;
	struct dp_tables *tables;
};

struct outcome {
	struct dp_result result;
	uint8_t bytes[FRAME_MAX + NATIVE_HEADROOM];
};

static struct engine engines[2];
static size_t engine_count;
static uint64_t now_ns = 1000 * TIME_SECOND_NS;

static void run(const struct engine *engine, const uint8_t *frame, size_t length,
		struct outcome *ret)
{
	size_t capacity = length + NATIVE_HEADROOM;
	uint8_t *buffer = malloc(2 + capacity);
	int result;

	assert_non_null(buffer);
	memset(ret, 0, sizeof(*ret));
	memset(&ret->result, 0xff, sizeof(ret->result));
	memcpy(buffer + 2, frame, length);
	if (engine->native)
		result = native_run(engine->native, buffer + 2, length, capacity, now_ns,
				    &ret->result);
	else
		result = dp_run(engine->dp, buffer + 2, length, capacity, now_ns, &ret->result);
	if (result != 0)
		fail_msg("%s refused to run a frame of %zu bytes: %d", engine->name, length,
			 result);
	assert_true(ret->result.length <= capacity);
	memcpy(ret->bytes, buffer + 2, ret->result.length);
	free(buffer);
}

static void say_frame(const uint8_t *frame, size_t length)
{
	static char text[2 * FRAME_MAX + 1];

	frame_hex(frame, length, text);
	print_error("frame: %s\n", text);
}

/* Runs in every engine; they must agree to the last byte, and expect.h must hold. */
static void run_all(const char *name, const uint8_t *frame, size_t length, struct outcome *ret)
{
	static struct outcome other;

	for (size_t i = 0; i < engine_count; i++) {
		struct outcome *outcome = i == 0 ? ret : &other;
		const char *problem;

		if (engines[i].dp && length < KERNEL_MINIMUM)
			continue;
		run(&engines[i], frame, length, outcome);
		problem = expect_sane(engines[i].tables, frame, length, &outcome->result,
				      outcome->bytes);
		if (problem) {
			say_frame(frame, length);
			fail_msg("%s: %s: %s", name, engines[i].name, problem);
		}
		if (i == 0 || (memcmp(&ret->result.trace, &other.result.trace,
				      sizeof(other.result.trace)) == 0 &&
			       ret->result.length == other.result.length &&
			       memcmp(ret->bytes, other.bytes, other.result.length) == 0))
			continue;
		say_frame(frame, length);
		fail_msg("%s: the engines differ: verdicts %u and %u, why %u and %u", name,
			 ret->result.trace.verdict, other.result.trace.verdict,
			 ret->result.trace.why, other.result.trace.why);
	}
}

static void forget_flows(void)
{
	for (size_t i = 0; i < engine_count; i++)
		world_forget_flows(engines[i].tables);
}

static void refill(void)
{
	for (size_t i = 0; i < engine_count; i++)
		world_fill(engines[i].tables);
}

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
	static struct outcome first, second;
	struct frame frame;

	(void)state;
	assert_true(packet_row_count >= 60);
	for (size_t i = 0; i < packet_row_count; i++) {
		const struct packet_row *row = &packet_rows[i];
		bool found = row->backend != WORLD_NOBODY && world_service_tracks(row->service);

		forget_flows();
		frame_build(&row->spec, &frame);
		run_all(row->name, frame.bytes, frame.length, &first);
		check_row(row, &first.result.trace, row->why);
		run_all(row->name, frame.bytes, frame.length, &second);
		/* What ends a flow leaves an entry that the same segment still finds. */
		check_row(row, &second.result.trace,
			  found && second.result.trace.why == WHY_FLOW ? WHY_FLOW : row->why);
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
	"tcp6 class over ipv4",
	"udp6 over ipv4",
	"tcp4 over ipv6",
	"udp4 over ipv6",
	"tcp6 syn",
	"udp6",
	"tcp4 redirected",
	"icmp4 echo",
	"icmp6 echo",
	"tcp6 behind hop-by-hop options",
	"tcp6 first fragment",
	"tagged ipv4 for a vip",
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

/* An IP packet that misses its end is malformed wherever it is cut; what is no IP stays that. */
static void test_truncation(void **state)
{
	static struct outcome outcome;
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < WHOLE_ROWS; i++) {
		const struct packet_row *row = build_row(whole_rows[i], &frame);

		for (size_t length = 0; length < frame.length; length++) {
			enum verdict expected = VERDICT_MALFORMED;

			if (row->verdict == VERDICT_NOT_IP && length >= FRAME_ETH)
				expected = VERDICT_NOT_IP;
			run_all(row->name, frame.bytes, length, &outcome);
			if (outcome.result.trace.verdict != expected)
				fail_msg("%s cut to %zu bytes: verdict %u, expected %u", row->name,
					 length, outcome.result.trace.verdict, expected);
		}
	}
}

static void test_bit_flips(void **state)
{
	enum { FLIPPED_BYTES = 80 };
	static struct outcome outcome;
	size_t verdicts[VERDICT_COUNT] = {0};
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < WHOLE_ROWS; i++) {
		build_row(whole_rows[i], &frame);
		for (size_t bit = 0; bit < 8 * FLIPPED_BYTES && bit < 8 * frame.length; bit++) {
			frame.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			run_all(whole_rows[i], frame.bytes, frame.length, &outcome);
			verdicts[outcome.result.trace.verdict]++;
			frame.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
	/* The flips reached the ends that a single bit can lead to. */
	assert_true(verdicts[VERDICT_FORWARDED] > 0 && verdicts[VERDICT_NOT_IP] > 0);
	assert_true(verdicts[VERDICT_NOT_VIP] > 0 && verdicts[VERDICT_NOT_LISTENED] > 0);
	assert_true(verdicts[VERDICT_FRAGMENT] > 0 && verdicts[VERDICT_OTHER_PROTOCOL] > 0);
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
	static struct outcome outcome;
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
			run_all(packet_rows[i].name, frame.bytes, frame.length, &outcome);
		}
	}
}

static void build_many(struct frame *frame, bool ipv6, uint16_t sport, uint8_t flags)
{
	struct frame_spec spec = {
		.src = ipv6 ? WORLD_CLIENT6 : WORLD_CLIENT4,
		.dst = ipv6 ? WORLD_MANY_VIP6 : WORLD_MANY_VIP4,
		.sport = sport,
		.dport = 443,
		.tcp_flags = flags,
	};

	frame_build(&spec, frame);
}

/* The last byte of the outer source, which world_fill lets vary. */
static uint8_t source_of(const struct outcome *outcome)
{
	bool outer4 = outcome->bytes[12] == 0x08;

	return outcome->bytes[FRAME_ETH + (outer4 ? 15 : 23)];
}

/* Over flows the outer source takes many values; within one it stays, whatever the segment. */
static void test_outer_source(void **state)
{
	enum { FLOWS = 2000 };
	static struct outcome first, later;
	uint32_t seen[2][256] = {0}, per_backend[WORLD_BACKENDS] = {0};
	size_t distinct[2] = {0};
	struct frame frame;

	(void)state;
	forget_flows();
	for (uint16_t i = 0; i < FLOWS; i++) {
		build_many(&frame, i % 2, (uint16_t)(20000 + i), FRAME_SYN);
		run_all("first of a flow", frame.bytes, frame.length, &first);
		build_many(&frame, i % 2, (uint16_t)(20000 + i), FRAME_ACK | FRAME_PSH);
		run_all("later of a flow", frame.bytes, frame.length, &later);
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

static uint32_t run_many(uint16_t sport, uint8_t flags, enum why expected)
{
	static struct outcome outcome;
	struct frame frame;

	build_many(&frame, false, sport, flags);
	run_all("a flow of many", frame.bytes, frame.length, &outcome);
	if (outcome.result.trace.why != expected)
		fail_msg("port %u: why %u, expected %u", sport, outcome.result.trace.why, expected);
	return outcome.result.trace.backend;
}

static void many_to(uint32_t backend)
{
	for (size_t i = 0; i < engine_count; i++)
		world_many_to(engines[i].tables, backend);
}

/* Tracked flows stay where they are when their slot gets another owner; new ones follow it. */
static void test_flow_keeps_backend(void **state)
{
	(void)state;
	forget_flows();
	many_to(WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_SYN, WHY_SLOT), WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	many_to(WORLD_M3);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_SYN, WHY_FLOW), WORLD_M1);
	assert_int_equal(run_many(1001, FRAME_SYN, WHY_SLOT), WORLD_M3);
	/* A forged RST cuts nobody: the next segment finds the flow. */
	assert_int_equal(run_many(1000, FRAME_RST, WHY_FLOW), WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_SYN, WHY_FLOW), WORLD_M1);
	/* After FIN the rest of the flow still goes there; a SYN begins anew. */
	assert_int_equal(run_many(1000, FRAME_FIN | FRAME_ACK, WHY_FLOW), WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	assert_int_equal(run_many(1000, FRAME_SYN, WHY_SLOT), WORLD_M3);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M3);
	refill();
}

/* Without tracking the slot alone decides, at once. */
static void test_untracked_follows_slot(void **state)
{
	struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4, .dport = 9000};
	static struct outcome outcome;
	struct frame frame;

	(void)state;
	frame_build(&spec, &frame);
	for (uint32_t owner = WORLD_M1; owner <= WORLD_M4; owner++) {
		for (size_t i = 0; i < engine_count; i++) {
			struct dp_tables *tables = engines[i].tables;
			uint32_t first = (uint32_t)tables->services[WORLD_LOOSE].table;

			tables->slots[first] = abi_slot(owner, 0, 0);
		}
		run_all("untracked", frame.bytes, frame.length, &outcome);
		assert_int_equal(outcome.result.trace.why, WHY_SLOT);
		assert_int_equal(outcome.result.trace.backend, owner);
	}
	refill();
}

static void set_backend_flags(uint32_t backend, uint32_t flags)
{
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[backend].flags = flags;
}

/* What a backend's record says about the flows that it has. */
static void test_flow_and_record(void **state)
{
	(void)state;
	forget_flows();
	many_to(WORLD_M1);
	run_many(1000, FRAME_SYN, WHY_SLOT);
	run_many(1000, FRAME_ACK, WHY_FLOW);
	many_to(WORLD_M2);
	set_backend_flags(WORLD_M1, ABI_BACKEND_KEEP | ABI_BACKEND_NEIGH);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	set_backend_flags(WORLD_M1, ABI_BACKEND_NEIGH);
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_SLOT), WORLD_M2);
	/* A record that got a new owner: the old pin matches nothing. */
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_FLOW), WORLD_M2);
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[WORLD_M2].generation++;
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_SLOT), WORLD_M2);
	refill();
}

/* Down, and the slot not yet rewritten: what begins takes the other owner, the rest stays. */
static void test_other_owner(void **state)
{
	(void)state;
	forget_flows();
	for (size_t i = 0; i < engine_count; i++) {
		struct dp_tables *tables = engines[i].tables;
		uint32_t first = (uint32_t)tables->services[WORLD_MANY].table;

		for (uint32_t s = 0; s < WORLD_MANY_SLOTS; s++)
			tables->slots[first + s] = abi_slot(WORLD_M1, 0, WORLD_M4);
	}
	assert_int_equal(run_many(1000, FRAME_SYN, WHY_SLOT), WORLD_M1);
	set_backend_flags(WORLD_M1, ABI_BACKEND_KEEP | ABI_BACKEND_NEIGH);
	assert_int_equal(run_many(2000, FRAME_SYN, WHY_OTHER), WORLD_M4);
	assert_int_equal(run_many(3000, FRAME_ACK, WHY_SLOT), WORLD_M1);
	refill();
}

static void test_flow_idle(void **state)
{
	uint64_t before = now_ns;

	(void)state;
	forget_flows();
	many_to(WORLD_M1);
	run_many(1000, FRAME_SYN, WHY_SLOT); /* stays half open: 30 ticks */
	run_many(2000, FRAME_SYN, WHY_SLOT);
	run_many(2000, FRAME_ACK, WHY_FLOW); /* established: 7200 */
	many_to(WORLD_M2);
	now_ns += 29ULL * TICK_NS;
	run_many(2000, FRAME_ACK, WHY_FLOW);
	now_ns += 3ULL * TICK_NS;
	assert_int_equal(run_many(1000, FRAME_ACK, WHY_SLOT), WORLD_M2);
	now_ns += 7190ULL * TICK_NS;
	assert_int_equal(run_many(2000, FRAME_ACK, WHY_FLOW), WORLD_M1);
	now_ns += 7202ULL * TICK_NS;
	assert_int_equal(run_many(2000, FRAME_ACK, WHY_SLOT), WORLD_M2);
	now_ns = before;
	refill();
}

static uint64_t event_count(const struct engine *engine, enum abi_event event)
{
	return engine->native ? native_event_count(engine->native, event)
			      : dp_event_count(engine->dp, event);
}

/* Past the limit flows are served by their slot all the same, and counted. */
static void test_insert_limit(void **state)
{
	enum { LIMIT = 10, FLOWS = 40 };
	uint64_t made[2], skipped[2];

	(void)state;
	forget_flows();
	many_to(WORLD_M1);
	now_ns += 10ULL * TICK_NS;
	for (size_t i = 0; i < engine_count; i++) {
		engines[i].tables->node->insert_limit = LIMIT;
		made[i] = event_count(&engines[i], ABI_EVENT_FLOW_NEW);
		skipped[i] = event_count(&engines[i], ABI_EVENT_FLOW_SKIPPED);
	}
	for (uint16_t port = 1; port <= FLOWS; port++)
		assert_int_equal(run_many(port, FRAME_SYN, WHY_SLOT), WORLD_M1);
	for (size_t i = 0; i < engine_count; i++) {
		assert_int_equal(event_count(&engines[i], ABI_EVENT_FLOW_NEW) - made[i], LIMIT);
		assert_int_equal(event_count(&engines[i], ABI_EVENT_FLOW_SKIPPED) - skipped[i],
				 FLOWS - LIMIT);
	}
	refill();
}

/* Ten times as many flows as there are places: every one is served, none grows the table. */
static void test_flood(void **state)
{
	(void)state;
	forget_flows();
	now_ns += 10ULL * TICK_NS;
	for (uint32_t i = 0; i < 10 * WORLD_FLOWS; i++) {
		struct frame_spec spec = {
			.src = WORLD_CLIENT4,
			.dst = WORLD_MANY_VIP4,
			.dport = 443,
			.proto = IPPROTO_UDP,
			.sport = (uint16_t)(1 + i),
		};
		static struct outcome outcome;
		struct frame frame;

		frame_build(&spec, &frame);
		run_all("flood", frame.bytes, frame.length, &outcome);
		assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
	}
	for (size_t i = 0; i < engine_count; i++)
		assert_true(event_count(&engines[i], ABI_EVENT_FLOW_EVICTED) > WORLD_FLOWS);
	refill();
}

static struct abi_count verdict_count(const struct engine *engine, uint32_t verdict)
{
	return engine->native ? native_verdict_count(engine->native, verdict)
			      : dp_verdict_count(engine->dp, verdict);
}

static struct abi_count service_count(const struct engine *engine, uint32_t service)
{
	return engine->native ? native_service_count(engine->native, service)
			      : dp_service_count(engine->dp, service);
}

static struct abi_count backend_count(const struct engine *engine, uint32_t backend)
{
	return engine->native ? native_backend_count(engine->native, backend)
			      : dp_backend_count(engine->dp, backend);
}

/* Every frame is counted once, under its verdict, with its length as it came. */
static void test_counters(void **state)
{
	static struct outcome outcome;
	struct abi_count before[VERDICT_COUNT], service, backend, after;
	struct frame frame;

	(void)state;
	for (size_t e = 0; e < engine_count; e++) {
		const struct engine *engine = &engines[e];

		for (uint32_t v = 0; v < VERDICT_COUNT; v++)
			before[v] = verdict_count(engine, v);
		service = service_count(engine, WORLD_ONE4);
		backend = backend_count(engine, WORLD_B4);
		build_row("tcp4 data", &frame);
		run(engine, frame.bytes, frame.length, &outcome);
		for (uint32_t v = 0; v < VERDICT_COUNT; v++) {
			uint64_t expected = v == VERDICT_FORWARDED ? 1 : 0;

			after = verdict_count(engine, v);
			assert_int_equal(after.packets - before[v].packets, expected);
			assert_int_equal(after.bytes - before[v].bytes, expected * frame.length);
		}
		after = service_count(engine, WORLD_ONE4);
		assert_int_equal(after.packets - service.packets, 1);
		assert_int_equal(after.bytes - service.bytes, frame.length);
		after = backend_count(engine, WORLD_B4);
		assert_int_equal(after.packets - backend.packets, 1);
		assert_int_equal(after.bytes - backend.bytes, frame.length);
	}
}

/* Without the kernel's engine this says so, and the rest ran natively. */
static void test_kernel_ran(void **state)
{
	(void)state;
	if (engine_count < 2) {
		print_message("no BPF_PROG_TEST_RUN: needs root\n");
		skip();
	}
	assert_non_null(engines[1].dp);
}

/* The insert limit is a core's own: stay on one. */
static void stay_on_core(void)
{
	cpu_set_t cores;
	int core = sched_getcpu();

	CPU_ZERO(&cores);
	CPU_SET(core < 0 ? 0 : core, &cores);
	sched_setaffinity(0, sizeof(cores), &cores);
}

static int open_engines(void **state)
{
	struct dp_options options = {
		.flow_entries = WORLD_FLOWS, .ipv6 = true, .track = true, .trace = true};
	struct err err;

	(void)state;
	stay_on_core();
	engines[0].name = "native";
	if (native_new(WORLD_FLOWS, &engines[0].native) != 0)
		return -1;
	engines[0].tables = native_tables(engines[0].native);
	engine_count = 1;
	if (geteuid() == 0) {
		engines[1].name = "xdp";
		if (dp_open(&options, &engines[1].dp, &err) != 0) {
			print_error("%s\n", err.text);
			return -1;
		}
		engines[1].tables = dp_tables(engines[1].dp);
		engine_count = 2;
	}
	refill();
	return 0;
}

static int close_engines(void **state)
{
	(void)state;
	native_free(engines[0].native);
	if (engine_count == 2)
		dp_close(engines[1].dp);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_ran),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_bit_flips),
		cmocka_unit_test(test_random_damage),
		cmocka_unit_test(test_outer_source),
		cmocka_unit_test(test_flow_keeps_backend),
		cmocka_unit_test(test_untracked_follows_slot),
		cmocka_unit_test(test_flow_and_record),
		cmocka_unit_test(test_other_owner),
		cmocka_unit_test(test_flow_idle),
		cmocka_unit_test(test_insert_limit),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_counters),
	};

	return cmocka_run_group_tests(tests, open_engines, close_engines);
}
