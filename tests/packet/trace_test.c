// SPDX-License-Identifier: BSD-2-Clause
/*
 * The program `weir trace` as a user runs it: the packet table of tests/lib/rows/packets.c as a
 * capture through both engines, which must print the same lines, and those that the rows expect;
 * then clocks, sizes, and what the options do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <ctype.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/expect/expect.h"
#include "../lib/frame/frame.h"
#include "../lib/frame/place.h"
#include "../lib/frame/shim.h"
#include "../lib/rows/packets.h"
#include "../lib/run/trace_run.h"
#include "../lib/world/world.h"
#include "base/addr.h"

enum { FRAME_LIMIT = 3520 }; /* what trace takes */

static const char *lower(const char *name, char *text)
{
	size_t i = 0;

	for (; name[i]; i++)
		text[i] = (char)tolower((unsigned char)name[i]);
	text[i] = '\0';
	return text;
}

static const struct {
	const char *name, *action;
} verdicts[VERDICT_COUNT] = {
#define TEXT(name, action, help) [VERDICT_##name] = {#name, #action},
	VERDICTS(TEXT)
#undef TEXT
};

static const char *const whys[WHY_COUNT] = {
#define TEXT(name) [WHY_##name] = #name,
	WHYS(TEXT)
#undef TEXT
};

static uint8_t hex_byte(const char *text)
{
	unsigned int byte = 0;

	assert_int_equal(sscanf(text, "%2x", &byte), 1);
	return (uint8_t)byte;
}

/* What leaves is what the builder makes, from inside node.tunnel. */
static void check_out(const struct packet_row *row, const struct frame *inner, const char *hex)
{
	static uint8_t out[FRAME_MAX];
	static char expected_hex[2 * FRAME_MAX + 1];
	static const uint8_t source4[] = {100, 64, 1},
			     source6[] = {0x20, 1, 0xd, 0xb8, 0, 0xf, 0, 0};
	struct addr to = world_backend_addr(row->backend);
	struct frame_tunnel tunnel = {.outer4 = addr_is4(&to)};
	const uint8_t *outer, *between;
	struct frame expected;
	size_t length = strlen(hex) / 2;

	assert_true(length >= FRAME_ETH + 28 && length <= sizeof(out));
	for (size_t i = 0; i < length; i++)
		out[i] = hex_byte(hex + 2 * i);
	outer = out + frame_link_length(out, length);
	between = outer + (tunnel.outer4 ? 20 : 40);
	tunnel.mode = expect_mode(world_service_mode(row->service));
	if (shim_proto(&tunnel, true) == IPPROTO_UDP)
		tunnel.sport = (uint16_t)(between[0] << 8 | between[1]);
	tunnel.vip_port = place_vip_port(inner->bytes + inner->ip, inner->length - inner->ip);
	tunnel.port = tunnel.vip_port ? world_backend_port(row->backend, tunnel.vip_port) : 0;
	memcpy(tunnel.dst, tunnel.outer4 ? to.bytes + 12 : to.bytes, tunnel.outer4 ? 4 : 16);
	memcpy(tunnel.dst_mac, WORLD_DST_MAC, 6);
	memcpy(tunnel.src_mac, WORLD_SRC_MAC, 6);
	if (tunnel.mode == FRAME_L2DSR || tunnel.mode == FRAME_IPOPT) {
		/* Nothing stands before the packet. */
	} else if (tunnel.outer4) {
		assert_memory_equal(outer + 12, source4, sizeof(source4));
		memcpy(tunnel.src, outer + 12, 4);
	} else {
		assert_memory_equal(outer + 8, source6, sizeof(source6));
		memcpy(tunnel.src, outer + 8, 16);
		tunnel.flow_label = (uint32_t)(outer[1] & 15) << 16 | (uint32_t)outer[2] << 8 |
				    outer[3];
	}
	frame_encapsulate(inner->bytes, inner->length, &tunnel, &expected);
	frame_hex(expected.bytes, expected.length, expected_hex);
	assert_string_equal(hex, expected_hex);
}

static void check_line(const struct packet_row *row, const struct frame *frame, const json_t *line)
{
	const json_t *out = json_object_get(line, "out");
	const char *why = trace_field(line, "why");
	char text[32];

	if (strcmp(trace_field(line, "verdict"), lower(verdicts[row->verdict].name, text)) != 0)
		fail_msg("%s: verdict %s, expected %s", row->name, trace_field(line, "verdict"),
			 text);
	trace_expect_field(line, "action", lower(verdicts[row->verdict].action, text));
	trace_expect_field(line, "service", world_service_name(row->service));
	trace_expect_field(line, "backend", world_backend_name(row->backend));
	/* Rows share flows and datagrams here, so an earlier row's entry may have decided. */
	if (row->why != WHY_SLOT || (strcmp(why, "flow") != 0 && strcmp(why, "fragment") != 0))
		trace_expect_field(line, "why", lower(whys[row->why], text));
	assert_int_equal(json_array_size(out),
			 packet_row_leaves(row) || packet_row_is_answered(row) ? 1 : 0);
	/* What an answer holds is forward_test's to say. */
	if (packet_row_leaves(row))
		check_out(row, frame, json_string_value(json_array_get(out, 0)));
}

/* Frames for services that the file lacks are nobody's there. */
static void check_lines(char *text)
{
	struct frame frame;

	for (size_t i = 0; i < packet_row_count; i++) {
		const struct packet_row *row = &packet_rows[i];
		json_t *line = trace_next_line(&text);

		assert_non_null(line);
		frame_build(&row->spec, &frame);
		if (world_service_in_file(row->service) && !row->not_in_file &&
		    world_vip_in_file(row->spec.dst))
			check_line(row, &frame, line);
		else
			trace_expect_field(line, "verdict", "not_vip");
		json_decref(line);
	}
	assert_string_equal(text, "");
}

static void write_table(void)
{
	FILE *file = trace_pcap_open(1);

	for (size_t i = 0; i < packet_row_count; i++)
		trace_pcap_add_frame(file, i * 1000, &packet_rows[i].spec);
	trace_pcap_close(file);
}

static void test_table(void **state)
{
	struct trace_outcome outcome;

	(void)state;
	write_table();
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--down", "e1", "--json");
	trace_expect_ok(&outcome);
	check_lines(outcome.out);
	trace_done(&outcome);
}

static bool no_root(void)
{
	if (geteuid() == 0)
		return false;
	print_message("needs root\n");
	return true;
}

static void compare_engines(const char *conf, const char *down, const char *json)
{
	struct trace_outcome native, xdp;

	native = trace_run("--config", conf, "--pcap", trace_pcap, "--down", down, "--engine",
			   "native", json);
	xdp = trace_run("--config", conf, "--pcap", trace_pcap, "--down", down, "--engine", "xdp",
			json);
	assert_int_equal(native.status, xdp.status);
	assert_string_equal(native.err, xdp.err);
	assert_true(strlen(native.out) > 0);
	assert_string_equal(native.out, xdp.out);
	trace_done(&native);
	trace_done(&xdp);
}

static void test_engines_agree(void **state)
{
	(void)state;
	if (no_root())
		skip();
	write_table();
	compare_engines(trace_conf, "e1", "--json");
	compare_engines(trace_conf, "e1", NULL);
}

/* Where no VIP is IPv6 and nothing is tracked, the kernel's program leaves that code out. */
static void test_engines_agree_on_less(void **state)
{
	static const char less[] = "node: {name: less, interfaces: [lo]}\n"
				   "pools:\n"
				   "  - name: p\n"
				   "    check: {type: none}\n"
				   "    backends:\n"
				   "      - {name: x, address: 10.0.2.1}\n"
				   "      - {name: y, address: \"2001:db8:9::3\"}\n"
				   "      - {name: z, address: 10.0.2.2}\n"
				   "services:\n"
				   "  - name: s\n"
				   "    vips: [198.51.100.10, 198.51.100.30]\n"
				   "    listen: [tcp/80, udp/53]\n"
				   "    pool: p\n"
				   "    forward: ipip\n"
				   "    tracking: none\n";
	struct trace_outcome outcome;
	char path[128];

	(void)state;
	if (no_root())
		skip();
	snprintf(path, sizeof(path), "%s.less", trace_conf);
	trace_write_file(path, less, sizeof(less) - 1);
	write_table();
	compare_engines(path, "z", "--json");
	/* Without node.tunnel: from 192.0.2.1 and 2001:db8::1, the same for every flow. */
	outcome = trace_run("--config", path, "--pcap", trace_pcap, "--down", "x,y", "--json");
	trace_expect_ok(&outcome);
	assert_non_null(strstr(outcome.out, "c00002010a000202"));
	trace_done(&outcome);
	outcome = trace_run("--config", path, "--pcap", trace_pcap, "--down", "x,z", "--json");
	trace_expect_ok(&outcome);
	assert_non_null(strstr(outcome.out, "20010db800000000000000000000000120010db80009"));
	trace_done(&outcome);
	unlink(path);
}

/* More flows than places, over more time than flows live: eviction and expiry agree too. */
static void test_engines_agree_on_flows(void **state)
{
	enum { PACKETS = 30000 };
	FILE *file;

	(void)state;
	if (no_root())
		skip();
	file = trace_pcap_open(1);
	for (uint32_t i = 0; i < PACKETS; i++) {
		struct frame_spec spec = {
			.src = WORLD_CLIENT4,
			.dst = WORLD_MANY_VIP4,
			.dport = 443,
			.sport = (uint16_t)(1 + i * 7919 % 9973),
			.tcp_flags = (uint8_t)(i % 5 == 0    ? FRAME_SYN
					       : i % 11 == 0 ? FRAME_FIN
							     : FRAME_ACK),
		};

		trace_pcap_add_frame(file, (uint64_t)i * 20000000, &spec);
	}
	trace_pcap_close(file);
	compare_engines(trace_conf, "e1", "--json");
}

/* Frames at and past what an engine takes, in both alike. */
static void test_sizes(void **state)
{
	static uint8_t bytes[FRAME_LIMIT + 1] = {[12] = 0x08, [13] = 0x06};
	static const size_t lengths[] = {0, 1, 13, 14, FRAME_LIMIT, FRAME_LIMIT + 1};
	static const char *const expected[] = {"malformed", "malformed", "malformed",
					       "not_ip",    "not_ip",    "none"};
	FILE *file = trace_pcap_open(1);
	struct trace_outcome outcome;
	char *text;

	(void)state;
	for (int i = 0; i < 6; i++)
		trace_pcap_add(file, 0, bytes, lengths[i], lengths[i]);
	trace_pcap_close(file);
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--json");
	assert_int_equal(outcome.status, 1);
	assert_non_null(strstr(outcome.err, "1 of 6 packets"));
	text = outcome.out;
	for (int i = 0; i < 6; i++) {
		json_t *line = trace_next_line(&text);

		assert_non_null(line);
		trace_expect_field(line, "verdict", expected[i]);
		if (i < 3)
			trace_expect_field(line, "action", "pass");
		if (i == 5)
			trace_expect_field(line, "error", "3521 bytes, 3520 at most can be run");
		json_decref(line);
	}
	trace_done(&outcome);
	if (geteuid() == 0)
		compare_engines(trace_conf, "e1", "--json");
}

static void many_spec(struct frame_spec *spec, uint8_t flags)
{
	*spec = (struct frame_spec){
		.src = WORLD_CLIENT4, .dst = WORLD_MANY_VIP4, .dport = 443, .tcp_flags = flags};
}

/* Seconds at which the same SYN comes, and whether its entry (30 s half open) still decides. */
static void test_clock(void **state)
{
	static const struct {
		uint64_t second;
		const char *why;
	} packets[] = {
		{1000, "slot"}, {1020, "flow"}, {1045, "flow"},
		{1100, "slot"}, {1050, "flow"}, /* back in time: taken as 1100 */
		{0, "flow"},    {1128, "flow"}, {1200, "slot"},
	};
	enum { PACKETS = sizeof(packets) / sizeof(packets[0]) };
	FILE *file = trace_pcap_open(1);
	struct frame_spec spec;
	struct trace_outcome outcome;
	char *text;

	(void)state;
	many_spec(&spec, FRAME_SYN);
	for (int i = 0; i < PACKETS; i++)
		trace_pcap_add_frame(file, packets[i].second * TRACE_SECOND_NS, &spec);
	trace_pcap_close(file);
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--json");
	trace_expect_ok(&outcome);
	text = outcome.out;
	for (int i = 0; i < PACKETS; i++) {
		json_t *line = trace_next_line(&text);

		if (strcmp(trace_field(line, "why"), packets[i].why) != 0)
			fail_msg("packet %d: why %s", i, trace_field(line, "why"));
		json_decref(line);
	}
	trace_done(&outcome);
}

/* In capitals, with `between` after each byte. */
static void build_hex(const struct frame_spec *spec, const char *between, char *text, size_t size)
{
	struct frame frame;
	int length = 0;

	frame_build(spec, &frame);
	for (size_t i = 0; i < frame.length && (size_t)length < size; i++)
		length += snprintf(text + length, size - (size_t)length, "%02X%s", frame.bytes[i],
				   between);
}

/* Hex in its three manners of writing is one packet; flows carry over from one to the next. */
static void test_hex(void **state)
{
	static const char *const expected[] = {"slot", "flow", "flow"};
	char plain[512], blanks[512], colons[512], *text;
	struct frame_spec spec;
	struct trace_outcome outcome;
	json_t *lines[3];

	(void)state;
	many_spec(&spec, FRAME_ACK);
	build_hex(&spec, "", plain, sizeof(plain));
	build_hex(&spec, " \n", blanks, sizeof(blanks));
	build_hex(&spec, ":", colons, sizeof(colons));
	outcome = trace_run("--config", trace_conf, "--packet", plain, "--packet", blanks,
			    "--packet", colons, "--json");
	trace_expect_ok(&outcome);
	text = outcome.out;
	for (int i = 0; i < 3; i++) {
		lines[i] = trace_next_line(&text);
		assert_non_null(lines[i]);
		trace_expect_field(lines[i], "why", expected[i]);
		assert_true(json_equal(json_object_get(lines[0], "out"),
				       json_object_get(lines[i], "out")));
	}
	assert_null(trace_next_line(&text));
	for (int i = 0; i < 3; i++)
		json_decref(lines[i]);
	trace_done(&outcome);
}

static void test_macs(void **state)
{
	struct frame_spec spec;
	struct trace_outcome outcome;
	char hex[512];

	(void)state;
	many_spec(&spec, FRAME_ACK);
	build_hex(&spec, "", hex, sizeof(hex));
	outcome = trace_run("--config", trace_conf, "--packet", hex, "--mac",
			    "0a:0b:0c:0d:0e:0f,1a:1b:1c:1d:1e:1f", "--json");
	trace_expect_ok(&outcome);
	assert_non_null(strstr(outcome.out, "\"out\": [\"1a1b1c1d1e1f0a0b0c0d0e0f"));
	trace_done(&outcome);
}

static void test_words(void **state)
{
	struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4};
	struct trace_outcome outcome;
	char hex[512];

	(void)state;
	build_hex(&spec, "", hex, sizeof(hex));
	outcome = trace_run("--config", trace_conf, "--packet", hex, "--packet", hex, "--packet",
			    "00");
	trace_expect_ok(&outcome);
	assert_non_null(strstr(outcome.out, "1: 54 bytes, TCP from 203.0.113.5 port 40000 to "
					    "198.51.100.10 port 80: forwarded (tx), "));
	assert_non_null(strstr(outcome.out, "service one4, slot "));
	assert_non_null(
		strstr(outcome.out, "the slot gives it to b4 (10.0.1.11); leaves by ipip with 74"));
	assert_non_null(strstr(outcome.out, "the flow's entry gives it to b4"));
	assert_non_null(strstr(outcome.out, "3: 1 bytes, no whole IP packet: malformed (pass)"));
	trace_done(&outcome);
}

/* What the node answers itself leaves by no tunnel, whatever the service's mode. */
static void test_words_of_answers(void **state)
{
	struct frame_spec spec = {
		.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4, .frag = 0x4000, .payload = 1460};
	struct trace_outcome outcome;
	char hex[3 * FRAME_MAX];

	(void)state;
	build_hex(&spec, "", hex, sizeof(hex));
	outcome = trace_run("--config", trace_conf, "--packet", hex);
	trace_expect_ok(&outcome);
	assert_non_null(strstr(outcome.out, ": too_big_answered (tx), "));
	assert_non_null(
		strstr(outcome.out, "gives it to b4 (10.0.1.11); the answer has 590 bytes"));
	assert_null(strstr(outcome.out, "leaves by"));
	trace_done(&outcome);
}

/* Which of WORLD_MANY's backends 400 new flows get. */
static void count_backends(const char *option, const char *names, size_t *counts)
{
	FILE *file = trace_pcap_open(1);
	struct trace_outcome outcome;
	char *text;
	json_t *line;

	for (uint16_t i = 0; i < 400; i++) {
		struct frame_spec spec;

		many_spec(&spec, FRAME_SYN);
		spec.sport = (uint16_t)(10000 + i);
		trace_pcap_add_frame(file, 0, &spec);
	}
	trace_pcap_close(file);
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--json", option, names);
	trace_expect_ok(&outcome);
	text = outcome.out;
	memset(counts, 0, WORLD_BACKENDS * sizeof(*counts));
	while ((line = trace_next_line(&text))) {
		for (uint32_t b = 0; b < WORLD_BACKENDS; b++)
			counts[b] += strcmp(trace_field(line, "backend"), world_backend_name(b)) ==
				     0;
		json_decref(line);
	}
	trace_done(&outcome);
}

static void test_down_and_drain(void **state)
{
	size_t all[WORLD_BACKENDS], down[WORLD_BACKENDS], drain[WORLD_BACKENDS];

	(void)state;
	count_backends("--down", "e1", all);
	count_backends("--down", "m1,many/m3", down);
	count_backends("--drain", "m1,many/m3", drain);
	for (uint32_t b = WORLD_M1; b <= WORLD_M4; b++)
		assert_in_range(all[b], 50, 150);
	assert_int_equal(down[WORLD_M1] + down[WORLD_M3], 0);
	assert_int_equal(down[WORLD_M2] + down[WORLD_M4], 400);
	assert_memory_equal(down, drain, sizeof(down));
	count_backends("--down", "m1,m2,m3,m4", down);
	assert_int_equal(down[WORLD_NOBODY], 400);
}

/* The memory that a long capture takes is that of a short one. */
static void test_memory(void **state)
{
	enum { PACKETS = 100000, ALLOWED_KB = 4096 };
	struct frame_spec spec;
	struct trace_outcome few, many;
	struct frame frame;
	FILE *file;

	(void)state;
	many_spec(&spec, FRAME_ACK);
	frame_build(&spec, &frame);
	file = trace_pcap_open(1);
	trace_pcap_add(file, 0, frame.bytes, frame.length, frame.length);
	trace_pcap_close(file);
	few = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--json");
	file = trace_pcap_open(1);
	for (uint32_t i = 0; i < PACKETS; i++)
		trace_pcap_add(file, i, frame.bytes, frame.length, frame.length);
	trace_pcap_close(file);
	many = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--json");
	trace_expect_ok(&few);
	trace_expect_ok(&many);
	assert_true(strlen(many.out) > PACKETS * 200);
	assert_true(many.max_rss_kb < few.max_rss_kb + ALLOWED_KB);
	trace_done(&few);
	trace_done(&many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_engines_agree),
		cmocka_unit_test(test_engines_agree_on_flows),
		cmocka_unit_test(test_engines_agree_on_less),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_macs),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_words_of_answers),
		cmocka_unit_test(test_down_and_drain),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, trace_set_up, trace_tear_down);
}
