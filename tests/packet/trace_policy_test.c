// SPDX-License-Identifier: BSD-2-Clause
/*
 * Policies from the file to the packet: `weir trace` over services by connection id, TCP option,
 * source and flow label, in both engines, and what it says of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/frame/frame.h"
#include "../lib/run/trace_run.h"

static const char services[] =
	"node: {name: n, interfaces: [lo], path_mtu: 1500}\n"
	"pools:\n"
	"  - name: web\n"
	"    check: {type: none}\n"
	"    backends:\n"
	"      - {name: b1, address: 10.0.0.1, server_id: 1}\n"
	"      - {name: b2, address: 10.0.0.2, server_id: 2}\n"
	"      - {name: b3, address: 10.0.0.3, server_id: 3430008, state: drain}\n"
	"services:\n"
	"  - {name: lb, vips: [192.0.2.1], listen: [udp/443, tcp/443], pool: web, policy: "
	"quic-cid,\n"
	"     quic: {cid: quic-lb, config: 5, length: 3}, tcp_server_id: true, tracking: always}\n"
	"  - {name: katran, vips: [192.0.2.2], listen: [udp/443], pool: web, policy: quic-cid,\n"
	"     quic: {cid: katran}, tracking: always}\n"
	"  - {name: near, vips: [192.0.2.3], listen: [tcp/443, tcp/80], pool: web,\n"
	"     policy: source-prefix, source_prefix4: 24, tracking: always}\n";

/* UDP with these bytes first in its payload, or TCP with them as its options. */
#define FRAME(vip, proto_number, word0, word1)                                           \
	{                                                                                \
		.src = "203.0.113.5", .dst = vip, .dport = 443, .proto = (proto_number), \
		.tcp_options = (proto_number) == 6 ? 8 : 0, .payload = 20, .patches = {  \
			{FRAME_AT_L4, (proto_number) == 6 ? 20 : 8, 4, word0},           \
			{FRAME_AT_L4, (proto_number) == 6 ? 24 : 12, 4, word1},          \
		}                                                                        \
	}
enum { TCP = 6, UDP = 17 };

static const struct {
	struct frame_spec spec;
	const char *why, *backend; /* NULL: any */
	const char *words;
} cases[] = {
	{FRAME("192.0.2.1", UDP, 0x40a00000, 0x02000000), "cid", "b2",
	 "its connection id names b2"},
	{FRAME("192.0.2.1", UDP, 0x40a03456, 0x78000000), "cid", "b3",
	 "its connection id names b3"},
	{FRAME("192.0.2.1", UDP, 0x40a00000, 0x04000000), "flow", "b2",
	 "the flow's entry gives it"},
	{FRAME("192.0.2.1", TCP, 0xb7060200, 0x00000101), "option", "b2",
	 "its TCP option names b2"},
	{FRAME("192.0.2.1", TCP, 0xb7060100, 0x00000101), "option", "b1",
	 "its TCP option names b1"},
	{FRAME("192.0.2.2", UDP, 0x40803456, 0x78000000), "cid", "b3",
	 "its connection id names b3"},
	{FRAME("192.0.2.2", UDP, 0x40400080, 0x00000000), "cid", "b2",
	 "its connection id names b2"},
	{FRAME("192.0.2.3", TCP, 0xb7060200, 0x00000101), "slot", NULL, "by source-prefix"},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static void write_all(void)
{
	FILE *file = trace_pcap_open(1);

	for (size_t i = 0; i < CASES; i++)
		trace_pcap_add_frame(file, i * 1000, &cases[i].spec);
	trace_pcap_close(file);
	trace_write_file(trace_conf, services, sizeof(services) - 1);
}

static void check(const char *engine)
{
	struct trace_outcome json = trace_run("--config", trace_conf, "--pcap", trace_pcap,
					      "--engine", engine, "--json");
	struct trace_outcome words =
		trace_run("--config", trace_conf, "--pcap", trace_pcap, "--engine", engine);
	char *line = json.out, *text = words.out;

	trace_expect_ok(&json);
	trace_expect_ok(&words);
	for (size_t i = 0; i < CASES; i++) {
		json_t *object = trace_next_line(&line);

		assert_non_null(object);
		trace_expect_field(object, "why", cases[i].why);
		if (cases[i].backend)
			trace_expect_field(object, "backend", cases[i].backend);
		json_decref(object);
		text = strstr(text, cases[i].words);
		if (!text)
			fail_msg("%s: not said: %s\n%s", engine, cases[i].words, words.out);
	}
	trace_done(&json);
	trace_done(&words);
}

static void test_native(void **state)
{
	(void)state;
	write_all();
	check("native");
}

static void test_kernel(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
	write_all();
	check("xdp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native),
		cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests(tests, trace_set_up, trace_tear_down);
}
