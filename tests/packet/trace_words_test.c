// SPDX-License-Identifier: BSD-2-Clause
/*
 * `weir trace` explains: a packet for every verdict but one, in both engines, and what it says of
 * each. The one is no_headroom: what a driver leaves before a frame is no matter of a trace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <linux/bpf.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/frame/frame.h"
#include "../lib/run/trace_run.h"
#include "dp/verdict.h"
#include "weir/trace/print.h"

static const char services[] =
	"node: {name: n, interfaces: [lo], path_mtu: 1500, reply_limit: 4, slow_limit: 1,\n"
	"       decap: true, balancers: [100.64.9.0/24]}\n"
	"pools:\n"
	"  - {name: web, check: {type: none}, backends: [{name: b1, address: 10.0.0.1}]}\n"
	"  - {name: other, check: {type: none}, backends: [{name: b2, address: 10.0.0.2}]}\n"
	"  - {name: far, check: {type: none}, backends: [{name: b3, address: 10.0.0.3}]}\n"
	"  - {name: gone, check: {type: none}, backends: [{name: b4, address: 10.0.0.4}]}\n"
	"  - {name: none, check: {type: none}, backends: [{name: b5, address: 10.0.0.5,\n"
	"     state: maint}]}\n"
	"  - {name: uneven, check: {type: none}, backends: [{name: b6, address: 10.0.0.6},\n"
	"     {name: b7, address: 10.0.0.7, weight: 9000}]}\n"
	"services:\n"
	"  - {name: shop, vips: [192.0.2.1, \"2001:db8::1\"], listen: [tcp/80, udp/53], pool: "
	"web, tracking: always}\n"
	"  - {name: two, vips: [192.0.2.1], listen: [udp/54], pool: other}\n"
	"  - {name: away, vips: [192.0.2.2], listen: [tcp/80], pool: far}\n"
	"  - {name: lost, vips: [192.0.2.3], listen: [tcp/80], pool: gone}\n"
	"  - {name: whole, vips: [192.0.2.4], listen: [tcp/80], pool: web, fragments: drop}\n"
	"  - {name: guard, vips: [192.0.2.5], listen: [tcp/80], pool: web, deny: [203.0.113.5]}\n"
	"  - {name: slow, vips: [192.0.2.6], listen: [tcp/80], pool: web, rate_limit: 1}\n"
	"  - {name: quic, vips: [192.0.2.7], listen: [udp/443], pool: web, policy: quic-cid}\n"
	"  - {name: silent, vips: [192.0.2.8], listen: [tcp/80], pool: none, on_empty: drop}\n"
	"  - {name: host, vips: [192.0.2.9], listen: [tcp/80], pool: none, on_empty: pass}\n"
	"  - {name: told, vips: [192.0.2.10], listen: [tcp/80], pool: none}\n"
	"  - {name: quiet, vips: [192.0.2.11], listen: [tcp/80], pool: web, oversize_df: drop}\n"
	"  - {name: option, vips: [192.0.2.12], listen: [tcp/80], pool: web, forward: ipopt}\n"
	"  - {name: both, vips: [192.0.2.13], listen: [tcp/80], pool: uneven, tracking: always,\n"
	"     lookup: dual}\n";

enum { DONT = 0x4000, MORE = 0x2000, FULL_TCP = 1460 };

#define TO(number) .src = "203.0.113.5", .dst = "192.0.2." #number
#define HEADER     FRAME_EXT_DESTINATION
#define FIVE_HEADERS                                   \
	{                                              \
		HEADER, HEADER, HEADER, HEADER, HEADER \
	}
#define TUNNEL(from) .src = from, .dst = "198.51.100.1", .proto = IPPROTO_IPIP, .quote = &inner
#define CASE(end, ...)      \
	VERDICT_##end,      \
	{                   \
		__VA_ARGS__ \
	}

static const struct frame_spec inner = {TO(1)};
static const struct frame_spec answer = {
	.src = "192.0.2.7", .dst = "203.0.113.5", .sport = 443, .dport = 40000, .proto = 17};

/* In this order: limits are used up on the way. */
static const struct {
	enum verdict verdict;
	struct frame_spec spec;
	const char *words; /* in the second line; NULL: there is none, nobody's packet */
} cases[] = {
	{CASE(FORWARDED, TO(1)), "service shop, slot "},
	{CASE(FORWARDED, TO(1)), "; the flow's entry gives it to b1 (10.0.0.1); leaves by ipip"},
	{CASE(REDIRECTED, TO(2)), "the slot gives it to b3 (10.0.0.3); leaves by ipip with 74"},
	{CASE(NOT_IP, .payload = 46), NULL},
	{CASE(NOT_VIP, TO(200)), NULL},
	{CASE(NOT_LISTENED, TO(1), .dport = 22), NULL},
	{CASE(OTHER_PROTOCOL, TO(1), .proto = IPPROTO_ESP, .payload = 40), NULL},
	{CASE(EXTENSIONS, .src = "2001:db8:c::5", .dst = "2001:db8::1", .extensions = FIVE_HEADERS),
	 NULL},
	{CASE(FRAGMENT, TO(4), .frag = MORE, .payload = 8),
	 "service whole: its setting for fragments refused it\n"},
	{CASE(FRAGMENT_EARLY, TO(1), .proto = IPPROTO_UDP, .frag = 9, .payload = 8), NULL},
	{CASE(MALFORMED, TO(1), .cut = 21), NULL},
	{CASE(TRUNCATED, TO(1), .patches = {{FRAME_AT_L4, 12, 1, 0}}), NULL},
	{CASE(DENIED, TO(5)), "service guard: its access list refused it\n"},
	{CASE(FORWARDED, TO(6)), "the slot gives it to b1"},
	{CASE(RATE_LIMITED, TO(6)), "service slow: its rate limit refused it\n"},
	{CASE(UNQUOTED, .src = "198.51.100.7", .dst = "192.0.2.7", .proto = IPPROTO_ICMP,
	      .icmp_type = 3, .quote = &answer),
	 "service quic: its policy cannot place the error\n"},
	{CASE(BAD_SOURCE, TUNNEL("100.64.8.1")), NULL},
	{CASE(NOT_ECT, TUNNEL("100.64.9.1"), .tos = 3), NULL},
	{CASE(CIRCLED, TUNNEL("100.64.9.1"), .ttl = 1), NULL},
	{CASE(FORWARDED, TUNNEL("100.64.9.1")), "service shop, slot "},
	{CASE(EMPTY, TO(8)), "service silent, slot "},
	{CASE(EMPTY_PASSED, TO(9)), "service host, slot "},
	{CASE(REJECTED, TO(10)), ", owner nobody; the answer has 54 bytes"},
	{CASE(NO_NEIGHBOR, TO(3)), "the slot gives it to b4 (10.0.0.4)\n"},
	{CASE(TOO_BIG, TO(11), .frag = DONT, .payload = FULL_TCP), "the slot gives it to b1"},
	{CASE(TOO_BIG_ANSWERED, TO(1), .frag = DONT, .payload = FULL_TCP), "; the answer has 590"},
	{CASE(TOO_BIG_SPLIT, TO(1), .payload = FULL_TCP), "entry gives it to b1 (10.0.0.1)\n"},
	{CASE(SPLIT_LIMITED, TO(1), .payload = FULL_TCP), "; it was for b1 (10.0.0.1)\n"},
	{CASE(ECHO_ANSWERED, TO(1), .proto = IPPROTO_ICMP), NULL},
	{CASE(ECHO_ANSWERED, TO(1), .proto = IPPROTO_ICMP), NULL},
	{CASE(REPLY_LIMITED, TO(1), .proto = IPPROTO_ICMP), NULL},
	{CASE(REPLY_LIMITED, TO(1), .frag = DONT, .payload = FULL_TCP), "; it was for b1"},
	{CASE(FORWARDED, TO(13)), "the slot gives it to b7 (10.0.0.7); leaves by ipip"},
	{CASE(FORWARDED, TO(13)), "; the flow's entry gives it to b7"},
	{CASE(NO_ROOM_OPTION, TO(12), .ip_options = 40), "the slot gives it to b1 (10.0.0.1)\n"},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static const struct {
	const char *name, *help;
} verdicts[VERDICT_COUNT] = {
#define TEXT(name, action, help) [VERDICT_##name] = {#name, help},
	VERDICTS(TEXT)
#undef TEXT
};

/* ": too_big (", as the line has it. */
static void verdict_text(enum verdict verdict, char *text, size_t size)
{
	snprintf(text, size, ": %s (", verdicts[verdict].name);
	for (; *text; text++) {
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text - 'A' + 'a');
	}
}

static bool is_within(const char *text, const char *end, const char *part)
{
	return memmem(text, (size_t)(end - text), part, strlen(part)) != NULL;
}

/* What is said of packet i, from `text` to `end`: a line, and one more of whose it is. */
static void check_case(size_t i, const char *text, const char *end)
{
	const char *line = strchr(text, '\n');
	char verdict[64];

	verdict_text(cases[i].verdict, verdict, sizeof(verdict));
	assert_non_null(line);
	line++;
	if (!is_within(text, line, verdict) ||
	    !is_within(text, line, verdicts[cases[i].verdict].help))
		fail_msg("packet %zu: not%s in %.*s", i + 1, verdict, (int)(end - text), text);
	if (cases[i].words ? !is_within(line, end, cases[i].words) : line != end)
		fail_msg("packet %zu: expected %s, not %.*s", i + 1,
			 cases[i].words ? cases[i].words : "no second line", (int)(end - text),
			 text);
}

/* Where what is said of the packet after number i begins. */
static char *next_case(size_t i, char *text)
{
	char next[16], *end;

	snprintf(next, sizeof(next), "\n%zu: ", i + 2);
	end = strstr(text, next);
	return end ? end + 1 : text + strlen(text);
}

static void check(const char *engine)
{
	struct trace_outcome outcome;
	FILE *file = trace_pcap_open(1);
	char *text, *end;

	for (size_t i = 0; i < CASES; i++)
		trace_pcap_add_frame(file, TRACE_SECOND_NS, &cases[i].spec);
	trace_pcap_close(file);
	trace_write_file(trace_conf, services, sizeof(services) - 1);
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--engine", engine,
			    "--lost", "b4", "--away", "far/b3");
	trace_expect_ok(&outcome);
	text = outcome.out;
	for (size_t i = 0; i < CASES; i++, text = end) {
		end = next_case(i, text);
		check_case(i, text, end);
	}
	assert_string_equal(text, "");
	trace_done(&outcome);
}

static void test_every_verdict_is_here(void **state)
{
	size_t seen[VERDICT_COUNT] = {[VERDICT_NO_HEADROOM] = 1};

	(void)state;
	for (size_t i = 0; i < CASES; i++)
		seen[cases[i].verdict]++;
	for (size_t v = 0; v < VERDICT_COUNT; v++) {
		if (!seen[v])
			fail_msg("no packet for %s", verdicts[v].name);
	}
}

static void test_native(void **state)
{
	(void)state;
	check("native");
}

static void test_kernel(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
	check("xdp");
}

/* Lost wins over away; names that nobody has are refused. */
static void test_lost_and_away(void **state)
{
	struct trace_outcome outcome;
	FILE *file = trace_pcap_open(1);

	(void)state;
	trace_pcap_add_frame(file, TRACE_SECOND_NS, &inner);
	trace_pcap_close(file);
	trace_write_file(trace_conf, services, sizeof(services) - 1);
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--lost", "b1", "--away",
			    "b1,b2");
	trace_expect_ok(&outcome);
	assert_non_null(strstr(outcome.out, ": no_neighbor (drop)"));
	trace_done(&outcome);
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--lost", "b9");
	trace_expect_failure(&outcome, 2, "--lost: no backend \"b9\"");
	outcome = trace_run("--config", trace_conf, "--pcap", trace_pcap, "--away", "b1,far/b1");
	trace_expect_failure(&outcome, 2, "--away: no backend \"far/b1\"");
}

/* What trace_print says, of made-up tables: a trace's own never change amid it. */
static void print_to(char *text, size_t size, const struct trace_names *names, enum why why)
{
	struct dp_result result = {
		.action = XDP_TX, .length = 54, .trace = {VERDICT_FORWARDED, why, 1, 1, 0, 0}};
	struct trace_packet packet = {.number = 1, .length = 54, .result = &result};
	FILE *file = tmpfile();
	int stdout_fd = dup(STDOUT_FILENO);

	assert_non_null(file);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	trace_print(names, &packet);
	fflush(stdout);
	dup2(stdout_fd, STDOUT_FILENO);
	close(stdout_fd);
	rewind(file);
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file);
}

static void test_words_of_transitions(void **state)
{
	uint64_t slot = abi_slot(2, 1, 0) | ABI_SLOT_TRANSITION;
	struct abi_service service[2] = {[1] = {.table = abi_table(0, 1)}};
	static struct abi_backend records[3];
	const char *service_names[ABI_SERVICES] = {[1] = "shop"};
	const char *backend_names[ABI_BACKENDS] = {[1] = "b1", [2] = "b2"};
	struct dp_tables tables = {.services = service, .slots = &slot, .backends = records};
	struct trace_names names = {service_names, backend_names, &tables};
	char text[512];

	(void)state;
	print_to(text, sizeof(text), &names, WHY_PREVIOUS);
	assert_non_null(strstr(text, "owner b2; its flow is from before the slot's change and "
				     "stays at b1 ("));
	print_to(text, sizeof(text), &names, WHY_OLD_TABLE);
	assert_non_null(strstr(text, "owner b2; its flow is from before the table's change and "
				     "stays at b1 ("));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_verdict_is_here),
		cmocka_unit_test(test_native),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_lost_and_away),
		cmocka_unit_test(test_words_of_transitions),
	};

	return cmocka_run_group_tests(tests, trace_set_up, trace_tear_down);
}
