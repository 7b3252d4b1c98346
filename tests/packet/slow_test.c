// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is too big and may be fragmented, on its way to the daemon and from it: the kernel's program
 * gives by its ring what the native engine says that it would; each piece that is cut of it is
 * wrapped as a whole packet would be, and together they hold the packet.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <errno.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <string.h>

#include "../lib/expect/expect.h"
#include "../lib/frame/frame.h"
#include "../lib/rows/packets.h"
#include "../lib/run/engines.h"
#include "../lib/world/world.h"
#include "dp/verdict.h"
#include "engine/slow_ring.h"
#include "slow/cut.h"

static struct engine_outcome outcome;

/* What came by the kernel's ring. */
static struct {
	size_t count;
	struct abi_slow slow;
	uint8_t frame[FRAME_MAX];
} taken;

static void take(void *arg, const struct abi_slow *slow, const uint8_t *frame)
{
	(void)arg;
	assert_true(slow->length <= sizeof(taken.frame));
	taken.count++;
	taken.slow = *slow;
	memcpy(taken.frame, frame, slow->length);
}

static struct slow_ring *open_ring(void)
{
	struct slow_ring *ring = NULL;
	struct err err;

	if (engine_count < 2)
		return NULL;
	if (slow_ring_open(engines[1].dp, take, NULL, &ring, &err) != 0)
		fail_msg("%s", err.text);
	taken.count = 0;
	return ring;
}

static int refill(void **state)
{
	(void)state;
	engines_now_ns += 10 * (uint64_t)ENGINES_TICK_NS;
	engines_refill();
	return 0;
}

static uint64_t lost(size_t engine)
{
	return engine_event_count(&engines[engine], ABI_EVENT_SLOW_LOST);
}

static const struct frame_spec full4 = {
	.src = WORLD_CLIENT4,
	.dst = WORLD_CUT4_VIP4,
	.proto = IPPROTO_UDP,
	.dport = 53,
	.payload = WORLD_MTU - 28,
};

static enum verdict run(const struct frame_spec *spec)
{
	struct frame frame;

	frame_build(spec, &frame);
	engines_run("slow", &frame, &outcome);
	return outcome.result.trace.verdict;
}

/* The frame of a row as the daemon gets it: without its tags. */
static void build_untagged(const struct packet_row *row, struct frame *frame)
{
	struct frame_spec spec = row->spec;

	spec.vlans = 0;
	frame_build(&spec, frame);
}

/* --- to the daemon --- */

/* The builder's tags: 802.1ad's around 802.1Q's, with VLANs from 101 on from within. */
static void check_tags(const struct packet_row *row, const struct abi_slow *slow)
{
	static const uint8_t tags[3][8] = {
		{0}, {0x81, 0, 0, 101}, {0x88, 0xa8, 0, 102, 0x81, 0, 0, 101}};

	assert_memory_equal(slow->tags, tags[row->spec.vlans], 8);
}

static void check_given(const struct packet_row *row, const struct abi_slow *slow,
			const uint8_t *frame)
{
	struct frame expected;

	build_untagged(row, &expected);
	assert_int_equal(slow->length, expected.length);
	assert_memory_equal(frame, expected.bytes, expected.length);
	assert_int_equal(slow->service, row->service);
	assert_int_equal(slow->backend, row->backend);
	assert_int_equal(slow->mode, world_service_mode(row->service));
	assert_true(slow->mtu < expected.length - FRAME_ETH);
	assert_true(slow->mtu >= WORLD_MTU - 48);
	assert_int_equal(slow->ifindex, WORLD_IFINDEX);
	check_tags(row, slow);
	if (row->why != WHY_ICMP) {
		assert_int_equal(ntohs(slow->sport), 40000);
		assert_int_equal(ntohs(slow->dport), row->spec.dport ? row->spec.dport : 80);
	}
}

static void test_rows(void **state)
{
	struct slow_ring *ring = open_ring();
	size_t rows = 0;
	uint64_t before = ring ? lost(1) : 0;

	(void)state;
	for (size_t i = 0; i < packet_row_count; i++) {
		const struct packet_row *row = &packet_rows[i];
		const struct abi_slow *slow;
		const uint8_t *frame;

		if (row->verdict != VERDICT_TOO_BIG_SPLIT)
			continue;
		engines_forget_flows();
		assert_int_equal(run(&row->spec), VERDICT_TOO_BIG_SPLIT);
		rows++;
		slow = native_slow(engines[0].native, &frame);
		check_given(row, slow, frame);
		if (!ring)
			continue;
		slow_ring_read(ring);
		assert_int_equal(taken.count, rows);
		assert_memory_equal(&taken.slow, slow, sizeof(*slow));
		assert_memory_equal(taken.frame, frame, slow->length);
	}
	assert_true(rows >= 10);
	if (ring)
		assert_int_equal(lost(1), before);
	slow_ring_close(ring);
}

static void test_limit(void **state)
{
	enum { LIMIT = 3 };

	(void)state;
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->slow_limit = LIMIT;
	for (int tick = 0; tick < 2; tick++) {
		engines_now_ns += ENGINES_TICK_NS;
		for (int i = 0; i < LIMIT; i++)
			assert_int_equal(run(&full4), VERDICT_TOO_BIG_SPLIT);
		assert_int_equal(run(&full4), VERDICT_SPLIT_LIMITED);
		assert_int_equal(outcome.result.trace.why, WHY_LIMIT);
	}
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->node->slow_limit = 0;
	engines_now_ns += ENGINES_TICK_NS;
	assert_int_equal(run(&full4), VERDICT_SPLIT_LIMITED);
}

/* Of a path too small for any IPv4 nothing is sent, and nothing given. */
static void test_tiny_path(void **state)
{
	(void)state;
	for (size_t i = 0; i < engine_count; i++)
		engines[i].tables->backends[WORLD_CUT4_B].mtu = 20 + 67;
	/* expect.h knows paths that carry more: ask the native engine alone. */
	for (size_t i = 0; i < engine_count; i++) {
		struct frame frame;

		frame_build(&full4, &frame);
		engine_run(&engines[i], frame.bytes, frame.length, &outcome);
		assert_int_equal(outcome.result.trace.verdict, VERDICT_TOO_BIG);
	}
}

/* What the ring has no room for, and what nobody reads, is counted one by one. */
static void test_lost(void **state)
{
	enum { MANY = 400 };
	struct slow_ring *ring = open_ring();
	uint64_t before;

	(void)state;
	if (!ring)
		skip();
	before = lost(1);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(run(&full4), VERDICT_TOO_BIG_SPLIT);
	slow_ring_read(ring);
	assert_in_range(taken.count, 100, MANY - 1);
	assert_int_equal(lost(1) - before, MANY - taken.count);
	/* There is room again. */
	run(&full4);
	before = taken.count;
	slow_ring_read(ring);
	assert_int_equal(taken.count, before + 1);
	slow_ring_close(ring);
	before = lost(1);
	assert_int_equal(run(&full4), VERDICT_TOO_BIG_SPLIT);
	assert_int_equal(lost(1) - before, 1);
	assert_int_equal(lost(0), 0);
}

/* --- and from it --- */

/* The piece as it would have come, in the link header of the frame that it is cut of. */
static void build_piece(const struct packet_row *row, const uint8_t *packet, size_t length,
			struct frame *ret)
{
	struct frame whole;

	frame_build(&row->spec, &whole);
	memcpy(ret->bytes, whole.bytes, whole.ip);
	memcpy(ret->bytes + whole.ip, packet, length);
	ret->length = whole.ip + length;
}

/* The twin knows what must stand around a packet; that it is a piece does not matter to it. */
static void check_wrapped(const struct packet_row *row, const struct frame *piece,
			  const struct native_frame *wrapped)
{
	bool away = engines[0].tables->backends[row->backend].ifindex != WORLD_IFINDEX;
	const struct dp_result result = {
		.action = away ? XDP_REDIRECT : XDP_TX,
		.length = wrapped->length,
		.trace = {.verdict = away ? VERDICT_REDIRECTED : VERDICT_FORWARDED,
			  .why = WHY_SLOT,
			  .service = row->service,
			  .backend = row->backend},
	};
	const char *problem = expect_sane(engines[0].tables, piece->bytes, piece->length, &result,
					  wrapped->buffer + wrapped->at);

	if (problem)
		fail_msg("%s: %s", row->name, problem);
}

/* Source address, or source port, which the flow varies, are those of the first piece. */
static void check_same_flow(const struct native_frame *wrapped, uint8_t mode, uint8_t *first,
			    bool is_first)
{
	const uint8_t *frame = wrapped->buffer + wrapped->at;
	const uint8_t *outer = frame + frame_link_length(frame, wrapped->length);
	size_t sources = outer[0] >> 4 == 4 ? 12 : 8, until = outer[0] >> 4 == 4 ? 20 : 40;

	if (mode == TUNNEL_GUE)
		until += 2;
	if (is_first)
		memcpy(first, outer, 64);
	else
		assert_memory_equal(outer + sources, first + sources, until - sources);
}

static void split_row(const struct packet_row *row, struct native *wrapper)
{
	static uint8_t buffer[2 * FRAME_MAX], data[FRAME_MAX];
	const uint8_t *frame;
	const struct abi_slow *slow = native_slow(engines[0].native, &frame);
	const struct abi_backend *backend = &engines[0].tables->backends[row->backend];
	size_t header = (size_t)(frame[FRAME_ETH] & 15) * 4, length = 0, pieces = 0, size;
	uint8_t first[64];
	struct slow_cut cut;

	assert_int_equal(
		slow_cut_begin(&cut, frame + FRAME_ETH, slow->length - FRAME_ETH, slow->mtu), 0);
	while (true) {
		struct native_frame wrapped = {buffer, NATIVE_HEADROOM, 0};
		uint8_t *at = buffer + NATIVE_HEADROOM;
		struct frame piece;

		size = slow_cut_next(&cut, at + FRAME_ETH);
		if (!size)
			break;
		memcpy(at, frame, FRAME_ETH);
		wrapped.length = FRAME_ETH + size;
		build_piece(row, at + FRAME_ETH, size, &piece);
		memcpy(data + length, at + FRAME_ETH + (at[FRAME_ETH] & 15) * 4,
		       size - (size_t)(at[FRAME_ETH] & 15) * 4);
		length += size - (size_t)(at[FRAME_ETH] & 15) * 4;
		assert_int_equal(native_wrap(wrapper, slow, &wrapped), 0);
		assert_true(wrapped.length - frame_link_length(wrapped.buffer + wrapped.at,
							       wrapped.length) <=
			    backend->mtu);
		check_wrapped(row, &piece, &wrapped);
		if (slow->mode != TUNNEL_L2DSR)
			check_same_flow(&wrapped, slow->mode, first, pieces == 0);
		pieces++;
	}
	assert_true(pieces >= 2);
	assert_memory_equal(data, frame + FRAME_ETH + header, length);
}

static void test_pieces(void **state)
{
	struct abi_backend *backend;
	struct native *wrapper;
	size_t rows = 0;

	(void)state;
	assert_int_equal(native_borrow(engines[0].tables, &wrapper), 0);
	for (size_t i = 0; i < packet_row_count; i++) {
		if (packet_rows[i].verdict != VERDICT_TOO_BIG_SPLIT)
			continue;
		engines_forget_flows();
		run(&packet_rows[i].spec);
		split_row(&packet_rows[i], wrapper);
		/* And where its backend is behind another interface, without any tags. */
		backend = &engines[0].tables->backends[packet_rows[i].backend];
		backend->ifindex = WORLD_AWAY_IFINDEX;
		split_row(&packet_rows[i], wrapper);
		backend->ifindex = WORLD_IFINDEX;
		rows++;
	}
	assert_true(rows >= 10);
	native_free(wrapper);
}

/* What changed meanwhile: no piece is sent where it must not go, or does not fit. */
static void test_gone(void **state)
{
	static uint8_t buffer[2 * FRAME_MAX];
	const uint8_t *frame;
	const struct abi_slow *slow;
	struct native *wrapper;
	struct abi_backend *backend = &engines[0].tables->backends[WORLD_CUT4_B];
	struct native_frame whole = {buffer, NATIVE_HEADROOM, FRAME_ETH + 1000};

	(void)state;
	run(&full4);
	slow = native_slow(engines[0].native, &frame);
	memcpy(buffer + NATIVE_HEADROOM, frame, FRAME_ETH + 1000);
	/* The packet says that it is longer than it is. */
	assert_int_equal(native_borrow(engines[0].tables, &wrapper), 0);
	assert_int_equal(native_wrap(wrapper, slow, &whole), -EINVAL);
	frame_put(buffer + NATIVE_HEADROOM + FRAME_ETH + 2, 2, 1000);
	backend->mtu = 1019;
	assert_int_equal(native_wrap(wrapper, slow, &whole), -ENETUNREACH);
	backend->mtu = 1020;
	backend->flags &= ~(uint32_t)ABI_BACKEND_NEIGH;
	assert_int_equal(native_wrap(wrapper, slow, &whole), -ENETUNREACH);
	backend->flags |= ABI_BACKEND_NEIGH;
	assert_int_equal(native_wrap(wrapper, slow, &whole), 0);
	assert_int_equal(whole.length, FRAME_ETH + 1020);
	native_free(wrapper);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		cmocka_unit_test_setup(test_rows, refill),
		cmocka_unit_test_setup(test_limit, refill),
		cmocka_unit_test_setup(test_tiny_path, refill),
		cmocka_unit_test_setup(test_lost, refill),
		cmocka_unit_test_setup(test_pieces, refill),
		cmocka_unit_test_setup(test_gone, refill),
	};

	return cmocka_run_group_tests(tests, engines_open, engines_close);
}
