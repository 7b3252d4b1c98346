/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modes that tell of the VIP and its port beside the packet, and GUE's variant 0, as they come in
 * at an agent, natively and in the kernel; and what the VIPs' servers send from their own ports.
 * What must come of a frame is built with whole sums (frame.h, told.h), where the agent mends them
 * by the difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/agent/agent_run.h"
#include "../lib/agent/told.h"
#include "../lib/agent/tunnels.h"
#include "decap/leaving.h"
#include "engine/agent/agent_dp.h"

enum { FRAMES_DAMAGED = 20000, SERVER = 8080 };

#define BACKEND4 "10.0.1.11"
#define CLIENT4  "203.0.113.5"
#define CLIENT6  "2001:db8:c::5"
#define IN4      .src = CLIENT4, .dst = TUNNEL_VIP4, .payload = 100
#define UDP      .proto = IPPROTO_UDP
#define NO_SUM   .patches = {{FRAME_AT_L4, 6, 2, 0}}

/* --- what arrives, and what must come of it --- */

static struct told honest(const struct told_row *row)
{
	struct told told = row->told;
	uint16_t port = row->spec.dport ? row->spec.dport : 80;
	bool error = row->spec.quote != NULL;

	if (row->spec.proto == IPPROTO_ICMP || row->spec.proto == IPPROTO_ICMPV6)
		port = error ? row->spec.quote->sport : 0;
	if (!told.vip)
		told.vip = row->spec.dst;
	if (!told.vip_port)
		told.vip_port = port;
	if (!told.port)
		told.port = row->server ? row->server : port;
	return told;
}

static void build_row(const struct told_row *row, struct frame *inner, struct frame *arrived)
{
	struct told told = honest(row);
	struct frame_spec spec = row->spec;

	if (told.mode == TOLD_IPOPT) {
		spec.dst = told.to;
		if (row->server)
			spec.dport = row->server;
	}
	frame_build(&spec, inner);
	told_build(&told, inner, arrived);
	for (size_t i = 0; i < 2 && row->lies[i].in; i++)
		frame_put(arrived->bytes +
				  (row->lies[i].in == TOLD_OUTER ? FRAME_ETH : arrived->l4) +
				  row->lies[i].at,
			  row->lies[i].size, row->lies[i].value);
}

static bool is_ipv6(const struct frame_spec *spec)
{
	return strchr(spec->dst, ':') != NULL;
}

/* A later piece has the transport's bytes that came, whatever the destination. */
static void put_destination(const struct frame_spec *spec, struct frame *frame)
{
	uint8_t *ip = frame->bytes + FRAME_ETH;
	struct frame want;

	frame_build(spec, &want);
	if (is_ipv6(spec)) {
		memcpy(ip + 24, want.bytes + FRAME_ETH + 24, 16);
		return;
	}
	memcpy(ip, want.bytes + FRAME_ETH, 20U + spec->ip_options);
}

static void build_want(const struct told_row *row, const struct frame *inner, struct frame *want)
{
	struct frame_spec spec = row->spec;

	if (row->tos_result)
		spec.tos = row->tos_result;
	if (row->server && !row->untouched && !spec.quote)
		spec.dport = row->server;
	frame_build(&spec, want);
	if (row->untouched && !spec.quote) {
		*want = *inner;
		put_destination(&spec, want);
	}
	if (spec.quote && !row->untouched) {
		size_t quoted = want->l4 + 8 + (is_ipv6(&spec) ? 40 : 20);

		frame_put(want->bytes + quoted, 2, row->server);
		told_finish(want);
	}
}

static void test_rows(void **state)
{
	static struct frame inner, arrived, want;
	static struct outcome outcome;

	(void)state;
	for (size_t i = 0; i < told_row_count; i++) {
		build_row(&told_rows[i], &inner, &arrived);
		run_both(told_rows[i].name, arrived.bytes, arrived.length, &outcome);
		if (outcome.verdict != (int)told_rows[i].verdict) {
			frame_say(arrived.bytes, arrived.length);
			fail_msg("%s: %s, should be %s", told_rows[i].name, names[outcome.verdict],
				 names[told_rows[i].verdict]);
		}
		if (told_rows[i].verdict != AGENT_DECAPSULATED &&
		    told_rows[i].verdict != AGENT_RESTORED)
			continue;
		build_want(&told_rows[i], &inner, &want);
		if (outcome.length == want.length &&
		    memcmp(outcome.bytes, want.bytes, want.length) == 0) {
			if (!told_rows[i].untouched && !told_rows[i].spec.frag)
				assert_true(told_is_right(&want));
			continue;
		}
		frame_say(outcome.bytes, outcome.length);
		frame_say(want.bytes, want.length);
		fail_msg("%s: the first came, the second should", told_rows[i].name);
	}
}

/* A frame that ends anywhere is read no further, and never taken for whole. */
static void test_every_length(void **state)
{
	static struct frame inner, arrived;
	static struct outcome outcome;

	(void)state;
	for (size_t i = 0; i < told_row_count; i++) {
		build_row(&told_rows[i], &inner, &arrived);
		for (size_t length = 0; length < arrived.length - told_rows[i].spec.padding;
		     length++) {
			run_both(told_rows[i].name, arrived.bytes, length, &outcome);
			assert_int_not_equal(outcome.verdict, AGENT_DECAPSULATED);
			assert_int_not_equal(outcome.verdict, AGENT_RESTORED);
		}
	}
}

/* Damaged frames: both worlds agree on each, and none is read past its end. */
static void test_damage(void **state)
{
	static struct frame inner, arrived;
	static struct outcome outcome;

	(void)state;
	for (int i = 0; i < FRAMES_DAMAGED; i++) {
		build_row(&told_rows[frame_random() % told_row_count], &inner, &arrived);
		for (uint64_t left = 1 + frame_random() % 4; left; left--)
			arrived.bytes[frame_random() % 150 % arrived.length] ^=
				(uint8_t)(1U << frame_random() % 8);
		run_both("damaged", arrived.bytes, arrived.length, &outcome);
	}
}

/* A damaged packet must stay one: its checksum is wrong by as much as before. */
static void test_wrong_checksums_stay_wrong(void **state)
{
	static struct frame inner, arrived, result;
	static struct outcome outcome;

	(void)state;
	for (size_t i = 0; i < told_row_count; i++) {
		struct told_row row = told_rows[i];

		if (row.untouched || row.lies[0].in || row.spec.quote || row.spec.frag ||
		    row.spec.patches[0].size || row.spec.proto == 132 ||
		    (row.verdict != AGENT_DECAPSULATED && row.verdict != AGENT_RESTORED))
			continue;
		row.spec.patches[0] = (struct frame_patch){FRAME_AT_L4, 4, 2, 0x5a5b};
		if (row.spec.proto == IPPROTO_UDP)
			row.spec.patches[0].offset = 0; /* its length must hold */
		build_row(&row, &inner, &arrived);
		run_both(row.name, arrived.bytes, arrived.length, &outcome);
		assert_int_equal(outcome.verdict, row.verdict);
		memcpy(result.bytes, outcome.bytes, outcome.length);
		result.length = outcome.length;
		if (told_is_right(&result))
			fail_msg("%s: the wrong checksum became a right one", row.name);
	}
}

/* UDP's checksum of 0 would say that there is none: where it comes out so it is written as ones. */
static void test_checksum_that_comes_out_as_zero(void **state)
{
	static struct frame inner, arrived, want;
	static struct outcome outcome;
	struct told_row row = {.told = {.mode = TOLD_GENEVE, .from = TUNNEL_LB4, .to = BACKEND4},
			       .spec = {IN4, UDP},
			       .server = SERVER};
	int found = 0;

	(void)state;
	for (uint32_t port = 1; port < 65536; port++) {
		row.spec.sport = (uint16_t)port;
		build_row(&row, &inner, &arrived);
		build_want(&row, &inner, &want);
		if (want.bytes[want.l4 + 6] != 0xff || want.bytes[want.l4 + 7] != 0xff)
			continue;
		run_both("a sum of 0", arrived.bytes, arrived.length, &outcome);
		assert_int_equal(outcome.verdict, AGENT_DECAPSULATED);
		assert_memory_equal(outcome.bytes, want.bytes, want.length);
		found++;
	}
	assert_int_equal(found, 1);
}

/* Without the file's word the option is nobody's business, and nothing is changed. */
static void test_ipopt_off(void **state)
{
	static struct frame inner, arrived, frame;
	struct agent_dp *off;

	(void)state;
	if (!agents_kernel)
		skip();
	off = agents_new(AGENT_TAKES_ALL & ~AGENT_TAKES_IPOPT);
	assert_non_null(off);
	for (size_t i = 0; i < told_row_count; i++) {
		enum agent_verdict want = told_rows[i].verdict;
		struct abi_count before, after;
		uint32_t action;

		if (told_rows[i].told.mode != TOLD_IPOPT || told_rows[i].lies[0].in)
			continue;
		if (want != AGENT_NOT_VIP)
			want = AGENT_MODE_OFF;
		build_row(&told_rows[i], &inner, &arrived);
		frame = arrived;
		before = agent_dp_verdict_count(off, want);
		assert_int_equal(agent_dp_run(off, AGENT_DP_DECAP, frame.bytes, &frame.length,
					      FRAME_MAX, &action),
				 0);
		after = agent_dp_verdict_count(off, want);
		assert_int_equal(after.packets, before.packets + 1);
		assert_int_equal(action, XDP_PASS);
		assert_int_equal(frame.length, arrived.length);
		assert_memory_equal(frame.bytes, arrived.bytes, arrived.length);
	}
	agent_dp_close(off);
}

/* --- what leaves --- */

#define FROM4(port) .src = TUNNEL_VIP4, .dst = CLIENT4, .sport = (port), .payload = 50
#define FROM6(port) .src = TUNNEL_VIP6, .dst = CLIENT6, .sport = (port), .payload = 50

static const struct {
	const char *name;
	struct frame_spec spec;
	uint16_t sport; /* afterwards; 0: the frame stays as it is */
} leaving_rows[] = {
	{"TCP", {FROM4(AGENTS_TO)}, AGENTS_PORT},
	{"TCP, 6", {FROM6(AGENTS_TO)}, AGENTS_PORT},
	{"UDP", {FROM4(AGENTS_TO), UDP}, AGENTS_PORT},
	{"UDP, 6", {FROM6(AGENTS_TO), UDP}, AGENTS_PORT},
	{"UDP without a sum", {FROM4(AGENTS_TO), UDP, NO_SUM}, AGENTS_PORT},
	{"UDP without a sum, 6", {FROM6(AGENTS_TO), UDP, NO_SUM}, AGENTS_PORT},
	{"a SYN-ACK", {FROM4(AGENTS_TO), .tcp_flags = FRAME_SYN | FRAME_ACK}, AGENTS_PORT},
	{"a RST", {FROM6(AGENTS_TO), .tcp_flags = FRAME_RST}, AGENTS_PORT},
	{"IPv4 options", {FROM4(AGENTS_TO), .ip_options = 40}, AGENTS_PORT},
	{"a first piece", {FROM4(AGENTS_TO), UDP, .frag = 0x2000}, AGENTS_PORT},
	{"a first piece, 6",
	 {FROM6(AGENTS_TO), UDP, .extensions = {FRAME_EXT_FRAGMENT}, .frag = 1},
	 AGENTS_PORT},
	{"a later piece", {FROM4(AGENTS_TO), UDP, .frag = 0x0010}, 0},
	{"a later piece, 6",
	 {FROM6(AGENTS_TO), UDP, .extensions = {FRAME_EXT_FRAGMENT}, .frag = 0x0010},
	 0},
	{"the VIP's own port", {FROM4(AGENTS_PORT)}, 0},
	{"a port that nobody knows", {FROM4(9999)}, 0},
	{"another protocol", {FROM4(AGENTS_TO), .proto = 132}, 0},
	{"another source", {.src = "198.51.100.11", .dst = CLIENT4, .sport = AGENTS_TO}, 0},
};

enum { LEAVING_ROWS = sizeof(leaving_rows) / sizeof(leaving_rows[0]) };

/* Where the source port must be another: the row's key is known, natively. */
static const struct agent_other_port *find_native(const struct frame *frame, struct leaving *ret)
{
	uint8_t *copy = malloc(frame->length + 2);
	struct pkt_cursor cursor = {copy + 2, copy + 2 + frame->length};
	const struct agent_other_port *known = NULL;

	memset(ret, 0, sizeof(*ret));
	memcpy(copy + 2, frame->bytes, frame->length);
	if (leaving_read(cursor, ret))
		known = agents_port(&ret->key);
	free(copy);
	return known && known->port != ret->key.port ? known : NULL;
}

/* Runs the tc program; whether it counted. */
static bool leave_in_kernel(struct frame *frame)
{
	uint64_t before = agent_dp_port_count(agents_kernel).packets;
	size_t length = frame->length;
	uint32_t action;

	assert_int_equal(agent_dp_run(agents_kernel, AGENT_DP_CLAMP, frame->bytes, &length,
				      FRAME_MAX, &action),
			 0);
	assert_int_equal(length, frame->length);
	assert_int_equal((int32_t)action, -1);
	return agent_dp_port_count(agents_kernel).packets != before;
}

static void test_leaving(void **state)
{
	static struct frame frame, want;
	struct leaving leaving;

	(void)state;
	for (size_t i = 0; i < LEAVING_ROWS; i++) {
		struct frame_spec spec = leaving_rows[i].spec;
		const struct agent_other_port *known;

		frame_build(&spec, &frame);
		if (leaving_rows[i].sport)
			spec.sport = leaving_rows[i].sport;
		frame_build(&spec, &want);
		known = find_native(&frame, &leaving);
		if (!known != !leaving_rows[i].sport)
			fail_msg("%s: found, or not", leaving_rows[i].name);
		if (known) {
			assert_int_equal(ntohs(known->port), leaving_rows[i].sport);
			assert_int_equal(leaving.port_at, frame.l4);
		}
		if (!agents_kernel)
			continue;
		assert_int_equal(leave_in_kernel(&frame), leaving_rows[i].sport != 0);
		if (memcmp(frame.bytes, want.bytes, want.length) == 0)
			continue;
		frame_say(frame.bytes, frame.length);
		frame_say(want.bytes, want.length);
		fail_msg("%s: the first came, the second should", leaving_rows[i].name);
	}
}

/* Both worlds find the same in damaged frames, and only the port and a checksum ever change. */
static void test_leaving_damaged(void **state)
{
	static struct frame frame, before;
	struct leaving leaving;

	(void)state;
	for (int i = 0; i < FRAMES_DAMAGED; i++) {
		const struct agent_other_port *known;

		frame_build(&leaving_rows[frame_random() % LEAVING_ROWS].spec, &frame);
		for (uint64_t left = frame_random() % 3; left; left--)
			frame.bytes[frame_random() % 80] ^= (uint8_t)(1U << frame_random() % 8);
		if (frame_random() % 2)
			frame.length =
				FRAME_ETH + 40 + frame_random() % (frame.length - FRAME_ETH - 39);
		known = find_native(&frame, &leaving);
		if (!agents_kernel)
			continue;
		before = frame;
		if (leave_in_kernel(&frame) != (known != NULL))
			fail_msg("native and kernel differ");
		if (known) {
			frame_put(before.bytes + leaving.port_at, 2, ntohs(known->port));
			if (leaving.checksum_at + 2 <= frame.length)
				memcpy(before.bytes + leaving.checksum_at,
				       frame.bytes + leaving.checksum_at, 2);
		}
		assert_memory_equal(frame.bytes, before.bytes, frame.length);
	}
}

/* What a balancer's packet told is what the answer needs. */
static void test_learned(void **state)
{
	static struct frame inner, arrived, frame, want;
	static struct outcome outcome;
	struct told_row row = {.told = {.mode = TOLD_GENEVE, .from = TUNNEL_LB4, .to = BACKEND4},
			       .spec = {IN4, .dport = 7000},
			       .server = 7007};
	struct frame_spec answer = {FROM4(7007)};
	struct leaving leaving;

	(void)state;
	frame_build(&answer, &frame);
	assert_null(find_native(&frame, &leaving));
	build_row(&row, &inner, &arrived);
	run_both("a port to learn", arrived.bytes, arrived.length, &outcome);
	assert_int_equal(outcome.verdict, AGENT_DECAPSULATED);
	assert_non_null(find_native(&frame, &leaving));
	if (!agents_kernel)
		return;
	answer.sport = 7000;
	frame_build(&answer, &want);
	assert_true(leave_in_kernel(&frame));
	assert_memory_equal(frame.bytes, want.bytes, want.length);
}

/* The last: when the table is full, what is known goes on. */
static void test_full_table(void **state)
{
	static struct frame inner, arrived;
	static struct outcome outcome;
	struct told_row row = {.told = {.mode = TOLD_GENEVE, .from = TUNNEL_LB4, .to = BACKEND4},
			       .spec = {IN4}};
	size_t known = agents_ports_known();

	(void)state;
	assert_true(known < AGENT_PORTS);
	for (row.server = 20000; known < AGENT_PORTS; row.server++) {
		build_row(&row, &inner, &arrived);
		run_both("one more port", arrived.bytes, arrived.length, &outcome);
		assert_int_equal(outcome.verdict, AGENT_DECAPSULATED);
		known = agents_ports_known();
	}
	row.server = 19999;
	build_row(&row, &inner, &arrived);
	run_both("a port too many", arrived.bytes, arrived.length, &outcome);
	assert_int_equal(outcome.verdict, AGENT_PORTS_FULL);
	row.server = 20000;
	build_row(&row, &inner, &arrived);
	run_both("a port that is known", arrived.bytes, arrived.length, &outcome);
	assert_int_equal(outcome.verdict, AGENT_DECAPSULATED);
	row.spec.dport = 81;
	build_row(&row, &inner, &arrived);
	run_both("and that changes", arrived.bytes, arrived.length, &outcome);
	assert_int_equal(outcome.verdict, AGENT_DECAPSULATED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agents_test_kernel_ran),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_learned),
		cmocka_unit_test(test_leaving),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_wrong_checksums_stay_wrong),
		cmocka_unit_test(test_checksum_that_comes_out_as_zero),
		cmocka_unit_test(test_ipopt_off),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_leaving_damaged),
		cmocka_unit_test(test_full_table),
	};

	return cmocka_run_group_tests(tests, agents_open, agents_close);
}
