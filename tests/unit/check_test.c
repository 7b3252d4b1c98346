/* SPDX-License-Identifier: BSD-2-Clause */
/* `weir check` as a command: exit status, what goes to standard output and what to error output.
 * It runs in a child, its standard input and outputs are pipes and files of the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "weir/command.h"

#define GOOD                                                                       \
	"node: {name: lb1, interfaces: [eth0]}\n"                                  \
	"pools: [{name: web, backends: [{name: b1, address: 10.0.1.1}]}, "         \
	"{name: idle, backends: [{name: b1, address: 10.0.1.1, state: drain}]}]\n" \
	"services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web}]\n"
#define BAD                                                 \
	"node: {name: lb1, interfaces: [eth0], admin: 9}\n" \
	"services: [{name: shop, vips: [192.0.2.1], listen: [tcp/0], pool: web}]\n"
#define AGENT "agent: {interfaces: [eth0], balancers: [10.0.0.1], vips: [192.0.2.1], name: b7}\n"

static char out[256 * 1024], err[64 * 1024];

static void slurp(FILE *file, char *text, size_t size)
{
	rewind(file);
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file);
}

/* Runs it with `input` as standard input; returns the exit status, and fills out and err. */
static int check(const char *input, const char *const *arguments)
{
	FILE *in = tmpfile(), *to_out = tmpfile(), *to_err = tmpfile();
	char *argv[8] = {(char *)"check"};
	int argc = 1, status;
	pid_t child;

	for (; arguments[argc - 1]; argc++)
		argv[argc] = (char *)arguments[argc - 1];
	fputs(input, in);
	rewind(in);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		dup2(fileno(in), STDIN_FILENO);
		dup2(fileno(to_out), STDOUT_FILENO);
		dup2(fileno(to_err), STDERR_FILENO);
		status = command_check(argc, argv);
		fflush(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	fclose(in);
	slurp(to_out, out, sizeof(out));
	slurp(to_err, err, sizeof(err));
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define CHECK(input, ...) check(input, (const char *const[]){__VA_ARGS__, NULL})

static void assert_says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in: %s", part, text);
}

static json_t *parsed(void)
{
	json_error_t error;
	json_t *value = json_loads(out, 0, &error);

	if (!value)
		fail_msg("%s in: %s", error.text, out);
	return value;
}

static void test_right(void **state)
{
	(void)state;
	assert_int_equal(CHECK(GOOD, "-"), EXIT_OK);
	assert_string_equal(err, "");
	assert_says(out, "node lb1: eth0; xdp native, 1000000 flows\n");
	assert_says(out, "pool web: table of 2039 slots, check tcp/80, 1 backend: b1 10.0.1.1\n");
	assert_says(out,
		    "pool idle: table of 2039 slots, no check, 1 backend: b1 10.0.1.1 (drain)");
	assert_says(out,
		    "service shop: to pool web by ipip, tracking transition, listens on tcp/80 of "
		    "192.0.2.1\n");
	assert_says(out, "warning: -:2:65: no service uses pool \"idle\"");
	assert_says(out, "- is right: 2 pools, 1 service, 1 warning\n");
}

/* lo has 65536 bytes in every namespace; `nowhere0` is on no host. */
#define SIZED(interface, more, vips, backends, mode)                              \
	"node: {interfaces: [" interface "]" more "}\n"                           \
	"pools: [{name: web, check: {type: none}, backends: [" backends "]}]\n"   \
	"services: [{name: shop, vips: [" vips "], listen: [tcp/80], pool: web, " \
	"forward: " mode "}]\n"
#define VIP4  "192.0.2.1"
#define VIP6  "\"2001:db8::1\""
#define BACK4 "{name: b1, address: 10.0.1.1}"
#define BACK6 "{name: b6, address: \"2001:db8:1::1\"}"

static void test_sizes(void **state)
{
	static const struct {
		const char *text, *line;
	} cases[] = {
		{SIZED("nowhere0", "", VIP4, BACK4, "ipip"),
		 "shop, IPv4 to IPv4: 1500 bytes (assumed) less 20 for ipip leave 1480 for a "
		 "packet, MSS 1440\n"},
		{SIZED("nowhere0", ", path_mtu: 1600", VIP4 ", " VIP6, BACK4, "ipip"),
		 "shop, IPv4 to IPv4: 1600 bytes (path_mtu) less 20 for ipip leave 1580 for a "
		 "packet, MSS 1540\n"
		 "  sizes of shop, IPv6 to IPv4: 1600 bytes (path_mtu) less 20 for ipip leave 1580 "
		 "for a packet, MSS 1520\n"},
		{SIZED("nowhere0, lo", ", path_mtu: 1500", VIP6, BACK6, "ipip"),
		 "shop, IPv6 to IPv6: 1500 bytes (path_mtu) less 40 for ipip leave 1460 for a "
		 "packet, MSS 1400\n"},
		{SIZED("nowhere0", "", VIP4, BACK4 ", " BACK6, "gue"),
		 "shop, IPv4 to IPv4: 1500 bytes (assumed) less 28 for gue leave 1472 for a "
		 "packet, MSS 1432\n"
		 "  sizes of shop, IPv4 to IPv6: 1500 bytes (assumed) less 48 for gue leave 1452 "
		 "for a packet, MSS 1412\n"},
		{SIZED("nowhere0", "", "192.0.2.0/24", BACK4, "l2dsr"),
		 "less 0 for l2dsr leave 1500 for a packet, MSS 1460\n"},
		{SIZED("lo", "", VIP4, BACK4, "gre"), "65536 bytes (lo) less 24"},
		{SIZED("nowhere0", ", path_mtu: 1300", VIP6, BACK4, "ipip"), "MSS 1220\n"},
		{SIZED("nowhere0", ", path_mtu: 1299", VIP6, BACK4, "ipip"),
		 "MSS 1219; IPv6 wants 1280, so what is between is dropped\n"},
	};
	json_t *value, *sizes, *way;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(CHECK(cases[i].text, "-"), EXIT_OK);
		assert_says(out, "\n  sizes of shop, IPv");
		assert_says(out, cases[i].line);
	}
	assert_int_equal(CHECK(cases[2].text, "-", "--json"), EXIT_OK);
	value = parsed();
	sizes = json_object_get(json_array_get(json_object_get(value, "services"), 0), "sizes");
	assert_string_equal(json_string_value(json_object_get(sizes, "mtu_from")), "path_mtu");
	assert_int_equal(json_integer_value(json_object_get(sizes, "mtu")), 1500);
	assert_int_equal(json_integer_value(json_object_get(sizes, "tags")), 0);
	assert_int_equal(json_array_size(json_object_get(sizes, "ways")), 1);
	way = json_array_get(json_object_get(sizes, "ways"), 0);
	assert_string_equal(json_string_value(json_object_get(way, "vip")), "ipv6");
	assert_string_equal(json_string_value(json_object_get(way, "backend")), "ipv6");
	assert_int_equal(json_integer_value(json_object_get(way, "overhead")), 40);
	assert_int_equal(json_integer_value(json_object_get(way, "inner")), 1460);
	assert_int_equal(json_integer_value(json_object_get(way, "mss")), 1400);
	json_decref(value);
}

/* Each mode between each pair of families: what docs/design/05-modes.md says that it adds. */
static void test_sizes_of_modes(void **state)
{
	static const struct {
		const char *mode;
		int added[4]; /* IPv4 to IPv4, to IPv6, IPv6 to IPv4, to IPv6; -1: refused */
	} cases[] = {
		{"ipip", {20, 40, 20, 40}},   {"gre", {24, 44, 24, 44}},  {"gue", {28, 48, 28, 48}},
		{"geneve", {48, 68, 60, 80}}, {"ipopt", {8, -1, -1, 24}}, {"l2dsr", {0, 0, 0, 0}},
	};

	(void)state;
	for (size_t i = 0; i < 4 * sizeof(cases) / sizeof(cases[0]); i++) {
		const char *mode = cases[i / 4].mode;
		int added = cases[i / 4].added[i % 4], vip4 = i % 4 < 2, backend4 = i % 2 == 0;
		char text[512], line[160];

		snprintf(text, sizeof(text), SIZED("nowhere0", "", "%s", "%s", "%s"),
			 backend4 ? BACK4 : BACK6, vip4 ? VIP4 : VIP6, mode);
		assert_int_equal(CHECK(text, "-"), added < 0 ? EXIT_NO : EXIT_OK);
		if (added < 0)
			continue;
		snprintf(line, sizeof(line),
			 "IPv%d to IPv%d: 1500 bytes (assumed) less %d for %s leave %d for a "
			 "packet, MSS %d\n",
			 vip4 ? 4 : 6, backend4 ? 4 : 6, added, mode, 1500 - added,
			 1500 - added - (vip4 ? 40 : 60));
		assert_says(out, line);
	}
}

/* What is not as by default is said of a service, and what follows from it is noted. */
static void test_settings(void **state)
{
	static const char text[] =
		"node: {interfaces: [nowhere0], decap: true, balancers: [10.9.0.0/16]}\n"
		"pools: [{name: web, check: {type: none}, backends: [" BACK4 "]}]\n"
		"services:\n"
		"- {name: a, vips: [" VIP6 "], listen: [any], pool: web, policy: flow-label,\n"
		"   tracking: always, rate_limit: 5k, allow: [\"2001:db8::/32\"], deny: "
		"[\"2001:db8:1::/48\"]}\n"
		"- {name: b, vips: [" VIP4 "], listen: [udp/443], pool: web, policy: quic-cid,\n"
		"   tracking: none}\n"
		"- {name: c, vips: [" VIP4 "], listen: [udp/444], pool: web, policy: quic-cid}\n";
	json_t *value, *service;

	(void)state;
	assert_int_equal(CHECK(text, "-"), EXIT_OK);
	assert_says(out, ", tunnels from 1 balancer taken off\n");
	assert_says(out, "tracking always, policy flow-label, 5000 packets a core and second, "
			 "1 prefix allowed, 1 denied, listens on any of 2001:db8::1\n");
	assert_says(out,
		    "\nnote: -:4:3: with policy flow-label ICMP errors find the backend of a "
		    "flow of service \"a\" by the flow's entry alone, on the node that has it\n"
		    "note: -:6:3: with policy quic-cid");
	assert_says(out,
		    "  flows of b are not remembered: those whose slots change hands are cut\n");
	assert_says(out, "  flows of c are remembered while their slots change hands");
	assert_says(out, "and with tracking: transition there is one only while its slot changes "
			 "hands\nwarning: -:2:53: service \"b\"");
	assert_says(out, "and with tracking: none there is none\nnote: -:8:3: ");
	assert_int_equal(CHECK(text, "-", "--json"), EXIT_OK);
	value = parsed();
	assert_int_equal(json_array_size(json_object_get(value, "notes")), 3);
	service = json_array_get(json_object_get(value, "services"), 0);
	assert_string_equal(json_string_value(json_object_get(service, "policy")), "flow-label");
	assert_int_equal(json_integer_value(json_object_get(service, "rate_limit")), 5000);
	assert_int_equal(json_integer_value(json_object_get(service, "allow")), 1);
	assert_int_equal(json_integer_value(json_object_get(service, "deny")), 1);
	json_decref(value);
}

/* Shares that are not what weights say are said. */
static void test_dual(void **state)
{
#define PAIR(weight)                                                                          \
	"node: {interfaces: [nowhere0]}\n"                                                    \
	"pools: [{name: web, check: {type: none}, backends: [" BACK4 ", {name: b9, address: " \
	"10.0.9.9, weight: " weight "}]}]\n"                                                  \
	"services: [{name: a, vips: [" VIP4 "], listen: [udp/443], pool: web, tracking: "     \
	"always, lookup: dual}]\n"
	(void)state;
	assert_int_equal(CHECK(PAIR("100"), "-"), EXIT_OK);
	assert_says(out, "tracking always, lookup dual, listens");
	assert_null(strstr(out, "heavy backends"));
	assert_int_equal(CHECK(PAIR("2"), "-"), EXIT_OK);
	assert_says(out, "note: -:3:12: with lookup: dual the heavy backends of pool web get more "
			 "of the flows of service \"a\" than their weights say");
}

static void test_wrong(void **state)
{
	(void)state;
	assert_int_equal(CHECK(BAD, "-"), EXIT_NO);
	assert_string_equal(out, "");
	assert_says(err, "-:1:46: admin \"9\" is not an address and port");
	assert_says(err, "\n-:2:53: listen \"tcp/0\" has a port out of range, expected PROTO/PORT");
	assert_says(err, "\n-:2:67: pool \"web\" is not in this file");
	assert_int_equal(CHECK("", "/nowhere/file"), EXIT_NO);
	assert_says(err, "weir check: cannot open /nowhere/file: No such file");
}

/* Where agents must take in more than they do by default. */
static void test_agents_needed(void **state)
{
	(void)state;
	assert_int_equal(CHECK(GOOD, "-"), EXIT_OK);
	assert_null(strstr(out, "agents need"));
	assert_int_equal(
		CHECK("node: {name: lb1, interfaces: [eth0]}\n"
		      "pools: [{name: web, backends: [{name: b1, address: 10.0.1.1}]}]\n"
		      "services:\n"
		      "- {name: a, vips: [192.0.2.1], listen: [tcp/80], pool: web}\n"
		      "- {name: b, vips: [192.0.2.2], listen: [tcp/80], pool: web, forward: "
		      "l2dsr}\n"
		      "- {name: c, vips: [192.0.2.3], listen: [tcp/80], pool: web, forward: "
		      "ipopt}\n"
		      "- {name: d, vips: [192.0.2.4], listen: [tcp/80], pool: web, forward: "
		      "geneve}\n",
		      "-"),
		EXIT_OK);
	assert_says(out, "\nnote: -:7:3: agents need forward: [ipip, geneve, ipopt]\n");
}

static void test_agent(void **state)
{
	(void)state;
	assert_int_equal(CHECK(AGENT, "-"), EXIT_OK);
	assert_says(out, "agent b7: eth0; xdp auto, 1 VIP, tunnels from 10.0.0.1/32; "
			 "forward: ipip, gre, gue\n- is right\n");
	assert_int_equal(CHECK("agent: {interfaces: [eth0], balancers: [10.0.0.1], vips: "
			       "[192.0.2.0/24], name: b7,\n forward: [geneve, ipopt], ports: "
			       "[{vip: 192.0.2.9, "
			       "listen: tcp/443, to: 8443}]}\n",
			       "-"),
			 EXIT_OK);
	assert_says(out, "10.0.0.1/32; forward: geneve, ipopt; ports: 192.0.2.9 tcp/443 "
			 "to 8443\n");
	assert_int_equal(CHECK(GOOD, "--agent", "-"), EXIT_NO);
	assert_says(err, "-:1:1: agent is missing");
	assert_says(err, "unknown key \"node\", expected one of agent");
}

static void test_json(void **state)
{
	json_t *value;

	(void)state;
	assert_int_equal(CHECK(GOOD, "-", "--json"), EXIT_OK);
	value = parsed();
	assert_true(json_is_true(json_object_get(value, "ok")));
	assert_int_equal(json_array_size(json_object_get(value, "pools")), 2);
	assert_int_equal(json_array_size(json_object_get(value, "warnings")), 1);
	assert_int_equal(json_array_size(json_object_get(value, "errors")), 0);
	json_decref(value);
	assert_int_equal(CHECK(BAD, "--json", "-"), EXIT_NO);
	assert_string_equal(err, "");
	value = parsed();
	assert_true(json_is_false(json_object_get(value, "ok")));
	assert_int_equal(json_integer_value(json_object_get(value, "dropped")), 0);
	assert_int_equal(json_array_size(json_object_get(value, "errors")), 3);
	json_decref(value);
	assert_int_equal(CHECK(AGENT, "--json", "-"), EXIT_OK);
	value = parsed();
	assert_true(json_is_object(json_object_get(value, "agent")));
	json_decref(value);
}

static const char *at(const json_t *value, const char *path)
{
	static char found[64];
	char part[64];

	while (*path) {
		size_t length = strcspn(path, "/");

		snprintf(part, sizeof(part), "%.*s", (int)length, path);
		value = json_object_get(value, part);
		path += length + (path[length] == '/');
	}
	snprintf(found, sizeof(found), "%s%lld",
		 json_is_string(value) ? json_string_value(value) : "",
		 json_is_integer(value) ? (long long)json_integer_value(value) : 0LL);
	return found;
}

static void test_schema_and_keys(void **state)
{
	static const char weight[] =
		"properties/pools/items/properties/backends/items/properties/weight";
	static const char service[] = "properties/services/items/properties";
	char path[128];
	json_t *value;

	(void)state;
	assert_int_equal(CHECK("", "--schema"), EXIT_OK);
	value = parsed();
	snprintf(path, sizeof(path), "%s/maximum", weight);
	assert_string_equal(at(value, path), "1000000");
	snprintf(path, sizeof(path), "%s/default", weight);
	assert_string_equal(at(value, path), "100");
	assert_string_not_equal(at(value, "properties/node/properties/xdp/description"), "0");
	snprintf(path, sizeof(path), "%s/tcp_server_id/type", service);
	assert_string_equal(at(value, path), "boolean0");
	snprintf(path, sizeof(path), "%s/quic/properties/length/maximum", service);
	assert_string_equal(at(value, path), "4");
	json_decref(value);
	assert_int_equal(CHECK("", "--schema", "--agent"), EXIT_OK);
	value = parsed();
	assert_string_equal(at(value, "properties/agent/properties/vips/type"), "array0");
	assert_string_equal(
		at(value, "properties/agent/properties/ports/items/properties/to/maximum"),
		"65535");
	json_decref(value);
	assert_int_equal(CHECK("", "--keys"), EXIT_OK);
	assert_says(out, "\npools[].backends[].weight\n");
	assert_int_equal(CHECK("", "--keys=mdoc"), EXIT_OK);
	assert_says(out, "\n.It Cm pools[].backends[].weight\n");
}

static void test_command_line(void **state)
{
	(void)state;
	assert_int_equal(CHECK("", "--help"), EXIT_OK);
	assert_says(out, "usage: weir check");
	assert_int_equal(check("", (const char *const[]){NULL}), EXIT_USAGE);
	assert_int_equal(CHECK("", "a", "b"), EXIT_USAGE);
	assert_int_equal(CHECK("", "--what", "-"), EXIT_USAGE);
	assert_says(err, "weir check: there is no option --what\n`weir check --help` tells");
	assert_int_equal(CHECK("", "-x", "-"), EXIT_USAGE);
	assert_says(err, "weir check: there is no option -x\n");
	assert_int_equal(CHECK("", "--keys=html"), EXIT_USAGE);
	assert_int_equal(CHECK("", "--schema", "-"), EXIT_USAGE);
	assert_string_equal(out, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_sizes_of_modes),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_dual),
		cmocka_unit_test(test_sizes_of_modes),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_agent),
		cmocka_unit_test(test_agents_needed),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_schema_and_keys),
		cmocka_unit_test(test_command_line),
	};

	return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
