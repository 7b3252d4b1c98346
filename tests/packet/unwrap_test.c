/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A balancer behind another one: every row of the table of packets comes once more in a tunnel of
 * each kind, and must end as it does without, to the last byte but the outer TTL, which is one less
 * than that of the tunnel it came in. Both engines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../lib/agent/told.h"
#include "../lib/rows/packets.h"
#include "../lib/run/engines.h"
#include "base/addr.h"

#define TIER4     "100.64.7.9"
#define TIER6     "2001:db8:7::9"
#define STRANGER4 "100.64.8.9"
#define STRANGER6 "2001:db8:8::9"
#define NODE4     "192.0.2.12"
#define NODE6     "2001:db8:2::12"

enum { FRAMES_DAMAGED = 20000, LONGEST = 3000, TTL = 64 };

static const char *const tiers[] = {"100.64.7.0/24", "2001:db8:7::/48"};

/* The kinds of tunnels: those of frame.h, and of told.h after them. */
enum kind { KIND_IPIP, KIND_GRE, KIND_GUE, KIND_GENEVE, KIND_GUE0, KINDS };

static const char *const kinds[KINDS] = {"ipip", "gre", "gue", "geneve", "gue 0"};

static void put_addr(uint8_t *to, const char *text)
{
	struct addr addr;
	size_t length;

	assert_int_equal(addr_parse(text, &addr), 0);
	length = addr_is4(&addr) ? 4 : 16;
	memcpy(to, addr.bytes + 16 - length, length);
}

static uint8_t tos_of(const struct frame *frame)
{
	const uint8_t *ip = frame->bytes + FRAME_ETH;

	return ip[0] >> 4 == 4 ? ip[1] : (uint8_t)(ip[0] << 4 | ip[1] >> 4);
}

/* Returns whether there is such a tunnel: told.h knows no tags. */
static bool build(enum kind kind, bool outer4, const char *from, const struct frame *inner,
		  struct frame *ret)
{
	const char *to = outer4 ? NODE4 : NODE6;
	struct told told = {.mode = kind == KIND_GENEVE ? TOLD_GENEVE : TOLD_GUE0,
			    .from = from,
			    .to = to,
			    .vip = WORLD_ONE4_VIP4,
			    .vip_port = 80,
			    .port = 8080,
			    .words = 2};
	struct frame_tunnel tunnel = {.outer4 = outer4, .sport = 50000};

	if (kind == KIND_GENEVE || kind == KIND_GUE0) {
		if (inner->ip != FRAME_ETH)
			return false;
		told.outer_tos = tos_of(inner);
		told_build(&told, inner, ret);
		return true;
	}
	tunnel.mode = kind == KIND_IPIP ? FRAME_IPIP : kind == KIND_GRE ? FRAME_GRE : FRAME_GUE;
	memcpy(tunnel.dst_mac, inner->bytes, 6);
	memcpy(tunnel.src_mac, inner->bytes + 6, 6);
	put_addr(tunnel.src, from);
	put_addr(tunnel.dst, to);
	frame_encapsulate(inner->bytes, inner->length, &tunnel, ret);
	return true;
}

/* Runs in both engines, without flows; what they say must be equal. */
static void run(const char *name, const struct frame *frame, struct engine_outcome *ret)
{
	static struct engine_outcome other;

	engines_forget_flows();
	for (size_t i = 0; i < engine_count; i++) {
		struct engine_outcome *outcome = i ? &other : ret;

		engine_run(&engines[i], frame->bytes, frame->length, outcome);
		if (!i || (ret->result.length == other.result.length &&
			   ret->result.action == other.result.action &&
			   memcmp(&ret->result.trace, &other.result.trace,
				  sizeof(other.result.trace)) == 0 &&
			   memcmp(ret->bytes, other.bytes, other.result.length) == 0))
			continue;
		frame_say(frame->bytes, frame->length);
		fail_msg("%s: the engines differ: verdicts %u and %u", name,
			 ret->result.trace.verdict, other.result.trace.verdict);
	}
}

/* Honest about its lengths, so that a tunnel's can be told from it. */
static bool can_be_wrapped(const struct frame_spec *spec)
{
	if (!spec->dst || spec->ethertype || spec->cut || spec->payload > LONGEST)
		return false;
	for (int i = 0; i < FRAME_PATCHES; i++) {
		if (spec->patches[i].size && spec->patches[i].layer != FRAME_AT_L4)
			return false;
	}
	return true;
}

static bool is_for_vip(const struct engine_outcome *bare)
{
	return bare->result.trace.verdict != VERDICT_NOT_VIP &&
	       bare->result.trace.verdict != VERDICT_MALFORMED;
}

/* Where the outer TTL of what left is, or NULL: it left in no tunnel. */
static uint8_t *outer_ttl(struct engine_outcome *outcome)
{
	uint32_t mode = engines[0].tables->services[outcome->result.trace.service].mode;
	uint8_t *ip = outcome->bytes + frame_link_length(outcome->bytes, outcome->result.length);

	if (outcome->result.trace.verdict != VERDICT_FORWARDED &&
	    outcome->result.trace.verdict != VERDICT_REDIRECTED)
		return NULL;
	if (mode == TUNNEL_L2DSR || mode == TUNNEL_IPOPT)
		return NULL;
	return ip[0] >> 4 == 4 ? ip + 8 : ip + 7;
}

/* What leaves has `ttl` where it would have had the usual one. */
static void count_on(struct engine_outcome *bare, uint8_t ttl)
{
	uint8_t *at = outer_ttl(bare),
		*ip = bare->bytes + frame_link_length(bare->bytes, FRAME_MAX);

	if (!at)
		return;
	assert_int_equal(*at, TTL);
	*at = ttl;
	if (ip[0] >> 4 != 4)
		return;
	frame_put(ip + 10, 2, 0);
	frame_put(ip + 10, 2, frame_checksum(ip, 20, 0));
}

static void compare(const struct packet_row *row, enum kind kind, const struct frame *arrived,
		    const struct engine_outcome *bare)
{
	static struct engine_outcome outcome;
	uint64_t before = engine_verdict_count(&engines[0], bare->result.trace.verdict).bytes;
	uint64_t after;

	run(row->name, arrived, &outcome);
	if (!is_for_vip(bare)) {
		assert_int_equal(outcome.result.trace.verdict, VERDICT_NOT_VIP);
		assert_int_equal(outcome.result.length, arrived->length);
		assert_memory_equal(outcome.bytes, arrived->bytes, arrived->length);
		return;
	}
	after = engine_verdict_count(&engines[0], bare->result.trace.verdict).bytes;
	if (outcome.result.length != bare->result.length ||
	    outcome.result.action != bare->result.action ||
	    memcmp(&outcome.result.trace, &bare->result.trace, sizeof(bare->result.trace)) != 0 ||
	    memcmp(outcome.bytes, bare->bytes, bare->result.length) != 0) {
		frame_say(arrived->bytes, arrived->length);
		frame_say(outcome.bytes, outcome.result.length);
		frame_say(bare->bytes, bare->result.length);
		fail_msg("%s by %s: verdict %u, without the tunnel %u, or bytes differ", row->name,
			 kinds[kind], outcome.result.trace.verdict, bare->result.trace.verdict);
	}
	/* The frame as it came, tunnel and tags included. */
	assert_int_equal(after - before, arrived->length);
}

static void test_table(void **state)
{
	static struct frame inner, arrived;
	static struct engine_outcome bare;
	size_t wrapped = 0;

	(void)state;
	for (size_t i = 0; i < packet_row_count; i++) {
		if (!can_be_wrapped(&packet_rows[i].spec))
			continue;
		frame_build(&packet_rows[i].spec, &inner);
		run(packet_rows[i].name, &inner, &bare);
		if (bare.result.trace.verdict == VERDICT_NOT_IP)
			continue;
		count_on(&bare, TTL - 1);
		for (enum kind kind = 0; kind < KINDS; kind++) {
			for (int outer4 = 0; outer4 <= 1; outer4++) {
				if (!build(kind, outer4, outer4 ? TIER4 : TIER6, &inner, &arrived))
					continue;
				compare(&packet_rows[i], kind, &arrived, &bare);
				wrapped++;
			}
		}
	}
	assert_true(wrapped > 2 * KINDS * packet_row_count / 2);
}

static void build_plain(bool inner4, uint8_t tos, struct frame *ret)
{
	struct frame_spec spec = {.src = inner4 ? WORLD_CLIENT4 : WORLD_CLIENT6,
				  .dst = inner4 ? WORLD_ONE4_VIP4 : WORLD_ONE4_VIP6,
				  .tos = tos,
				  .payload = 100};

	frame_build(&spec, ret);
}

static enum verdict verdict_of(const struct frame *frame)
{
	static struct engine_outcome outcome;

	run("a frame", frame, &outcome);
	if (outcome.result.trace.verdict != VERDICT_FORWARDED) {
		assert_int_equal(outcome.result.length, frame->length);
		assert_memory_equal(outcome.bytes, frame->bytes, frame->length);
	}
	return outcome.result.trace.verdict;
}

static void test_strangers(void **state)
{
	static struct frame inner, arrived;

	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		for (int way = 0; way < 4; way++) {
			bool outer4 = way & 1;

			build_plain(way & 2, 0, &inner);
			build(kind, outer4, outer4 ? STRANGER4 : STRANGER6, &inner, &arrived);
			assert_int_equal(verdict_of(&arrived), VERDICT_BAD_SOURCE);
			build(kind, outer4, outer4 ? TIER4 : TIER6, &inner, &arrived);
			assert_int_equal(verdict_of(&arrived), VERDICT_FORWARDED);
		}
	}
}

/* ::ffff:100.64.7.9 as an IPv6 source is not the balancer 100.64.7.9. */
static void test_mapped_source(void **state)
{
	static struct frame inner, arrived;

	(void)state;
	build_plain(true, 0, &inner);
	build(KIND_IPIP, false, TIER6, &inner, &arrived);
	memcpy(arrived.bytes + FRAME_ETH + 8, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x64\x40\x07\x09", 16);
	assert_int_equal(verdict_of(&arrived), VERDICT_BAD_SOURCE);
}

/* Case 35, by each tunnel: what the way marked goes in (RFC 6040), or the packet is lost. */
static void test_case_35_congestion(void **state)
{
	static struct frame inner, arrived;

	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		build_plain(true, 0, &inner);
		build(kind, true, TIER4, &inner, &arrived);
		arrived.bytes[FRAME_ETH + 1] |= 3;
		assert_int_equal(verdict_of(&arrived), VERDICT_NOT_ECT);
		build_plain(true, 2, &inner);
		build(kind, true, TIER4, &inner, &arrived);
		arrived.bytes[FRAME_ETH + 1] |= 3;
		assert_int_equal(verdict_of(&arrived), VERDICT_FORWARDED);
	}
}

/* The outer TTL counts the balancers, and what has none left goes no further. */
static void test_hops(void **state)
{
	static struct frame inner, arrived;
	static struct engine_outcome outcome;

	(void)state;
	for (int way = 0; way < 4; way++) {
		bool outer4 = way & 1;
		size_t at = FRAME_ETH + (outer4 ? 8 : 7);

		build_plain(way & 2, 0, &inner);
		build(KIND_GUE, outer4, outer4 ? TIER4 : TIER6, &inner, &arrived);
		for (unsigned int ttl = 0; ttl < 256; ttl++) {
			arrived.bytes[at] = (uint8_t)ttl;
			if (ttl <= 1) {
				assert_int_equal(verdict_of(&arrived), VERDICT_CIRCLED);
				continue;
			}
			run("a hop", &arrived, &outcome);
			assert_int_equal(outcome.result.trace.verdict, VERDICT_FORWARDED);
			assert_int_equal(*outer_ttl(&outcome), ttl - 1);
			if (outcome.bytes[12] == 0x08)
				assert_int_equal(frame_checksum(outcome.bytes + FRAME_ETH, 20, 0),
						 0);
		}
	}
}

/* Two balancers that are each other's backend: what one sends comes in at the other. */
static void test_circle(void **state)
{
	static struct frame frame;
	static struct engine_outcome outcome;
	unsigned int hops = 0;

	(void)state;
	build_plain(true, 0, &frame);
	do {
		run("a circle", &frame, &outcome);
		frame.length = outcome.result.length;
		memcpy(frame.bytes, outcome.bytes, frame.length);
		/* From a balancer that is believed, and to this one. */
		put_addr(frame.bytes + FRAME_ETH + 12, TIER4);
		put_addr(frame.bytes + FRAME_ETH + 16, NODE4);
		frame_put(frame.bytes + FRAME_ETH + 10, 2, 0);
		frame_put(frame.bytes + FRAME_ETH + 10, 2,
			  frame_checksum(frame.bytes + FRAME_ETH, 20, 0));
	} while (outcome.result.trace.verdict == VERDICT_FORWARDED && ++hops <= TTL);
	assert_int_equal(outcome.result.trace.verdict, VERDICT_CIRCLED);
	assert_int_equal(hops, TTL);
}

/* A tunnel in a tunnel: the inner one is for no VIP, or a VIP's packet of that protocol. */
static void test_one_level(void **state)
{
	static struct frame inner, once, twice;

	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		build_plain(true, 0, &inner);
		build(kind, true, TIER4, &inner, &once);
		once.ip = FRAME_ETH;
		build(kind, true, TIER4, &once, &twice);
		assert_int_equal(verdict_of(&twice), VERDICT_NOT_VIP);
	}
	build(KIND_IPIP, true, TIER4, &inner, &once);
	put_addr(once.bytes + FRAME_ETH + 16, WORLD_ONE4_VIP4);
	told_finish(&once);
	once.ip = FRAME_ETH;
	build(KIND_IPIP, true, TIER4, &once, &twice);
	for (size_t i = 0; i < engine_count; i++) {
		static struct engine_outcome bare, outcome;

		engine_run(&engines[i], once.bytes, once.length, &bare);
		engine_run(&engines[i], twice.bytes, twice.length, &outcome);
		assert_int_equal(bare.result.trace.verdict, VERDICT_OTHER_PROTOCOL);
		assert_int_equal(outcome.result.trace.verdict, VERDICT_OTHER_PROTOCOL);
		assert_int_equal(outcome.result.length, once.length);
		assert_memory_equal(outcome.bytes, once.bytes, once.length);
	}
}

static void test_every_length(void **state)
{
	static struct frame inner, arrived;
	static struct engine_outcome outcome;

	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++) {
		for (int way = 0; way < 4; way++) {
			size_t whole;

			build_plain(way & 2, 0, &inner);
			build(kind, way & 1, way & 1 ? TIER4 : TIER6, &inner, &arrived);
			whole = arrived.length;
			for (arrived.length = FRAME_ETH; arrived.length < whole; arrived.length++) {
				run("a short frame", &arrived, &outcome);
				assert_int_not_equal(outcome.result.trace.verdict,
						     VERDICT_FORWARDED);
			}
		}
	}
}

/* Both engines agree on damaged frames, and the sanitizers on the native one. */
static void test_damage(void **state)
{
	static struct frame inner, arrived;
	static struct engine_outcome outcome;

	(void)state;
	for (int i = 0; i < FRAMES_DAMAGED; i++) {
		const struct packet_row *row = &packet_rows[frame_random() % packet_row_count];
		bool outer4 = frame_random() % 2;

		if (!can_be_wrapped(&row->spec))
			continue;
		frame_build(&row->spec, &inner);
		if (!build(frame_random() % KINDS, outer4, outer4 ? TIER4 : TIER6, &inner,
			   &arrived))
			continue;
		for (uint64_t left = 1 + frame_random() % 4; left; left--)
			arrived.bytes[frame_random() % 130 % arrived.length] ^=
				(uint8_t)(1U << frame_random() % 8);
		run("a damaged frame", &arrived, &outcome);
	}
}

static int open_tiers(void **state)
{
	int ret = engines_open(state);

	for (size_t i = 0; i < engine_count && !ret; i++) {
		for (size_t t = 0; t < 2 && !ret; t++) {
			struct abi_prefix prefix;
			struct prefix text;

			if (prefix_parse(tiers[t], &text))
				return -1;
			prefix = dp_prefix(ABI_LIST_BALANCERS, &text);
			ret = engines[i].tables->set_prefix(engines[i].tables->prefixes, &prefix,
							    1);
		}
	}
	return ret;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_test_kernel_ran),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_mapped_source),
		cmocka_unit_test(test_case_35_congestion),
		cmocka_unit_test(test_one_level),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_hops),
		cmocka_unit_test(test_circle),
	};

	return cmocka_run_group_tests(tests, open_tiers, engines_close);
}
