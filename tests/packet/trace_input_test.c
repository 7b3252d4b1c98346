// SPDX-License-Identifier: BSD-2-Clause
/*
 * What `weir trace` is given by mistake, or by somebody who means no good: captures that are
 * broken, command lines that are wrong, files that cannot be loaded, privileges that lack.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/frame/frame.h"
#include "../lib/run/trace_run.h"
#include "../lib/world/world.h"

enum { NOBODY = 65534 };

static void many_spec(struct frame_spec *spec, uint8_t flags)
{
	*spec = (struct frame_spec){
		.src = WORLD_CLIENT4, .dst = WORLD_MANY_VIP4, .dport = 443, .tcp_flags = flags};
}

static void test_pcapng(void **state)
{
	struct frame_spec spec;
	struct trace_outcome outcome;
	struct frame frame;
	uint32_t block[7] = {6, 32, 0, 0, 0, 0, 0};
	/* Section header; interface of link type 1. */
	static const uint32_t head[] = {0x0a0d0d0a, 28, 0x1a2b3c4d, 1, ~0U,   ~0U,
					28,         1,  20,         1, 65535, 20};
	FILE *file = fopen(trace_pcap, "wb");

	(void)state;
	assert_non_null(file);
	many_spec(&spec, FRAME_ACK);
	spec.payload = 2; /* a length that is a multiple of 4, as blocks are */
	frame_build(&spec, &frame);
	assert_int_equal(frame.length % 4, 0);
	block[1] = 32 + (uint32_t)frame.length;
	block[5] = block[6] = (uint32_t)frame.length;
	assert_int_equal(fwrite(head, sizeof(head), 1, file), 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fwrite(block, sizeof(block), 1, file), 1);
		assert_int_equal(fwrite(frame.bytes, frame.length, 1, file), 1);
		assert_int_equal(fwrite(&block[1], 4, 1, file), 1);
	}
	trace_pcap_close(file);
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--json");
	trace_expect_ok(&outcome);
	assert_non_null(strstr(outcome.out, "\"why\": \"slot\""));
	assert_non_null(strstr(outcome.out, "\"why\": \"flow\""));
	trace_done(&outcome);
}

static void test_broken_captures(void **state)
{
	struct frame_spec spec;
	struct trace_outcome outcome;
	struct frame frame;
	FILE *file;

	(void)state;
	many_spec(&spec, FRAME_ACK);
	frame_build(&spec, &frame);

	file = trace_pcap_open(1);
	trace_pcap_add(file, 0, frame.bytes, frame.length, frame.length + 100);
	trace_pcap_add(file, 0, frame.bytes, frame.length, frame.length);
	trace_pcap_close(file);
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--json");
	assert_non_null(strstr(outcome.out, "\"error\": \"captured short: 54 of 154 bytes"));
	assert_non_null(strstr(outcome.out, "\"verdict\": \"forwarded\""));
	trace_expect_failure(&outcome, 1, "1 of 2 packets could not be run");

	file = trace_pcap_open(1);
	trace_pcap_add(file, 0, frame.bytes, frame.length, frame.length);
	assert_int_equal(fwrite(frame.bytes, 10, 1, file), 1);
	trace_pcap_close(file);
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--json");
	assert_non_null(strstr(outcome.out, "\"verdict\": \"forwarded\""));
	trace_expect_failure(&outcome, 1, "after packet 1: ");

	trace_pcap_close(trace_pcap_open(101)); /* raw IP */
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap);
	trace_expect_failure(&outcome, 1, "expected Ethernet");

	trace_write_file(trace_pcap, "what is this", 12);
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap);
	trace_expect_failure(&outcome, 1, trace_pcap);

	trace_write_file(trace_pcap, "", 0);
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap);
	trace_expect_failure(&outcome, 1, trace_pcap);

	trace_pcap_close(trace_pcap_open(1));
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--json");
	trace_expect_ok(&outcome);
	assert_string_equal(outcome.out, "");
	trace_done(&outcome);
}

static void test_wrong_command_lines(void **state)
{
	static const struct {
		const char *arguments[6];
		int status;
		const char *text;
	} rows[] = {
		{{"--packet", "000"}, 2, "half a byte"},
		{{"--packet", "0"}, 2, "half a byte"},
		{{"--packet", "0 0"}, 2, "half a byte"},
		{{"--packet", "0g"}, 2, "half a byte"},
		{{"--packet", "zz"}, 2, "no hex digit"},
		{{"--packet", "0x00"}, 2, "half a byte"},
		{{"--packet", ""}, 2, "no bytes"},
		{{"--packet", " : "}, 2, "no bytes"},
		{{"--packet", "00", "--packet", "q"}, 2, "--packet number 2"},
		{{"--packet"}, 2, "packet"},
		{{"--packet", "00", "--pcap", "/nonexistent"}, 2, "exclude each other"},
		{{"tcp", "192.0.2.1:1", "192.0.2.2:2", "--packet", "00"}, 2, "exclude each other"},
		{{NULL}, 2, "--packet or --pcap is missing"},
		{{"tcp", "192.0.2.1", "192.0.2.2:2"}, 2, "need a port each"},
		{{"tcp", "192.0.2.1:1"}, 2, "source, destination"},
		{{"udp", "192.0.2.1:1", "192.0.2.2:2", "--length", "20"}, 2, "--length 20"},
		{{"--packet", "00", "--syn"}, 2, "--syn"},
		{{"--pcap", "/nonexistent"}, 1, "/nonexistent: No such file"},
		{{"--pcap", "/"}, 1, "/: "},
		{{"--pcap", "/dev/null", "--pcap", "/dev/null"}, 2, "--pcap is given twice"},
		{{"--packet", "00", "--engine", "warp"}, 2, "expected native or xdp"},
		{{"--packet", "00", "--down", "nobody"}, 2, "no backend \"nobody\""},
		{{"--packet", "00", "--down", "b4,"}, 2, "no backend \"\""},
		{{"--packet", "00", "--drain", "one6/b4"}, 2, "no backend \"one6/b4\""},
		{{"--packet", "00", "--mac", "02:00:00:00:00:01"}, 2, "SRC,DST"},
		{{"--packet", "00", "--mac", "02:00,02:00"}, 2, "SRC,DST"},
		{{"--packet", "00", "--mac", "q,q"}, 2, "SRC,DST"},
		{{"--packet", "00", "--config", "again"}, 2, "--config is given twice"},
		{{"--packet", "00", "surplus"}, 2, "surplus"},
		{{"--packet", "00", "--colour"}, 2, "colour"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const *more = rows[i].arguments;
		struct trace_outcome outcome = trace_run("--config", trace_conf, more[0], more[1],
							 more[2], more[3], more[4]);

		assert_string_equal(outcome.out, "");
		trace_expect_failure(&outcome, rows[i].status, rows[i].text);
	}
}

static void test_config(void **state)
{
	static const char bad[] = "pools: []\nnonsense: 1\n";
	char path[128];
	struct trace_outcome outcome;

	(void)state;
	outcome = trace_run("--packet", "00", "--node", "of-no-such-name");
	trace_expect_failure(&outcome, 1, "--config FILE asks what a file would do");
	outcome = trace_run("--config", "/nonexistent", "--packet", "00");
	trace_expect_failure(&outcome, 1, "/nonexistent");
	snprintf(path, sizeof(path), "%s.bad", trace_conf);
	trace_write_file(path, bad, sizeof(bad) - 1);
	outcome = trace_run("--config", path, "--packet", "00");
	assert_non_null(strstr(outcome.err, ".bad:2:1: "));
	trace_expect_failure(&outcome, 1, "nonsense");
	unlink(path);
	outcome = trace_run("--help");
	trace_expect_ok(&outcome);
	assert_non_null(strstr(outcome.out, "usage: weir trace"));
	trace_done(&outcome);
}

/* Native needs no privileges; xdp says that it does. */
static void test_unprivileged(void **state)
{
	const char *native[] = {"--config", trace_conf, "--packet", "00", "--json", NULL};
	const char *xdp[] = {"--config", trace_conf, "--packet", "00", "--engine", "xdp", NULL};
	struct trace_outcome outcome;
	uid_t user = geteuid() == 0 ? NOBODY : geteuid();

	(void)state;
	outcome = trace_run_as(user, native);
	trace_expect_ok(&outcome);
	trace_done(&outcome);
	outcome = trace_run_as(user, xdp);
	assert_string_equal(outcome.out, "");
	trace_expect_failure(&outcome, 1, "--engine xdp needs root");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pcapng),
		cmocka_unit_test(test_broken_captures),
		cmocka_unit_test(test_wrong_command_lines),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_unprivileged),
	};

	return cmocka_run_group_tests(tests, trace_set_up, trace_tear_down);
}
