/* SPDX-License-Identifier: BSD-2-Clause */
/* Modes, the ports that they can change or cannot, and the ports of an agent. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "conf/conf.h"
#include "tests/lib/conf_expect.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* The pool in line 2, the services from line 4 on. */
#define TWO_POOLS(first, second)                                               \
	NODE "pools: [{name: web, check: {port: 80}, backends: [" first        \
	     "]},\n {name: api, check: {port: 80}, backends: [" second "]}]\n" \
	     "services:\n"
#define POOL_AND(backends) NODE "pools: [{name: web, backends: [" backends "]}]\nservices:\n"
#define B1                 "{name: b1, address: 10.0.1.1}"
#define B1_8443            "{name: b1, address: 10.0.1.1, port: 8443}"

/* --- modes and ports --- */

/* Case 26: a mode that cannot change ports is not asked to. */
static void test_case_26_port_change(void **state)
{
	static const char *const modes[] = {"ipip", "gre", "gue", "l2dsr"};

	(void)state;
	for (size_t i = 0; i < LENGTH(modes); i++) {
		struct wrong_case one = {.wrongs = {{2, 68, NULL}}};
		char text[512], part[160];

		snprintf(text, sizeof(text),
			 POOL_AND(B1_8443) "- {name: shop, vips: [192.0.2.1], listen: [tcp/443], "
					   "pool: web, forward: %s}\n",
			 modes[i]);
		snprintf(part, sizeof(part),
			 "backend \"b1\" has port 8443 but service \"shop\" listens on 443: %s "
			 "cannot change ports, expected the same port or none",
			 modes[i]);
		one.text = text;
		one.wrongs[0].part = part;
		conf_expect_refused(&one, 1);
	}
}

static void test_ports_change(void **state)
{
	static const char *const modes[] = {"geneve", "ipopt"};

	(void)state;
	for (size_t i = 0; i < LENGTH(modes); i++) {
		char text[512];
		struct conf *conf;

		snprintf(text, sizeof(text),
			 POOL_AND(B1_8443) "- {name: shop, vips: [192.0.2.1], listen: [tcp/443, "
					   "udp/443], pool: web, forward: %s}\n",
			 modes[i]);
		conf = conf_expect_right(text);
		assert_int_equal(conf->services[0].forward,
				 i ? CONF_FORWARD_IPOPT : CONF_FORWARD_GENEVE);
		/* Probes go where the server is. */
		assert_int_equal(conf->pools[0].check.port, 8443);
		conf_free(conf);
	}
}

static void test_ports_refused(void **state)
{
	static const struct wrong_case cases[] = {
		/* A range and a port. */
		{POOL_AND(B1_8443) "- {name: s, vips: [192.0.2.1], listen: [tcp/443, udp/1-9], "
				   "pool: web, forward: geneve}\n",
		 {{2, 68,
		   "service \"s\" listens on 1-9: geneve cannot change ports of more than "
		   "one"}}},
		{POOL_AND(B1_8443) "- {name: s, vips: [192.0.2.1], listen: [any, tcp/443], pool: "
				   "web, forward: ipopt}\n",
		 {{2, 68, "service \"s\" listens on any: ipopt cannot change ports of more than"}}},
		{POOL_AND(B1_8443) "- {name: s, vips: [192.0.2.1], listen: [tcp/8443-8443, "
				   "tcp/8000-9000], pool: web}\n",
		 {{2, 68, "listens on 8000-9000: ipip cannot change ports"}}},
		/* Two listens in one port. */
		{POOL_AND(B1_8443) "- {name: s, vips: [192.0.2.1], listen: [tcp/443, udp/1, "
				   "tcp/8443], pool: web, forward: geneve}\n",
		 {{2, 68,
		   "tcp/443 and tcp/8443 of service \"s\" would meet in port 8443 of backend "
		   "\"b1\", with no way back"}}},
		/* The same over two services, by both ports given, ... */
		{TWO_POOLS(B1_8443, B1_8443) "- {name: a, vips: [192.0.2.1, 192.0.2.2], listen: "
					     "[tcp/443], pool: web, forward: "
					     "geneve}\n"
					     "- {name: b, vips: [192.0.2.1, 192.0.2.2], listen: "
					     "[tcp/444], pool: api, forward: "
					     "geneve}\n",
		 {{2, 87,
		   "tcp/443 of service \"a\" and tcp/444 of \"b\" on VIP 192.0.2.1 would "
		   "meet in port 8443 of backend \"b1\", with no way back"},
		  {3, 80, "tcp/444 of service \"b\" and tcp/443 of \"a\" on VIP 192.0.2.1"}}},
		/* ... and by one that is the other's listen, whatever its mode. */
		{TWO_POOLS(B1_8443, B1) "- {name: b, vips: [192.0.2.1], listen: [tcp/8443], pool: "
					"api, forward: gre}\n"
					"- {name: a, vips: [192.0.2.1], listen: [tcp/443], pool: "
					"web, forward: ipopt}\n",
		 {{2, 87, "tcp/443 of service \"a\" and tcp/8443 of \"b\" on VIP 192.0.2.1"}}},
		{TWO_POOLS(B1_8443, B1) "- {name: b, vips: [192.0.2.1], listen: [any], pool: api}\n"
					"- {name: a, vips: [192.0.2.1], listen: [tcp/443], pool: "
					"web, forward: geneve}\n",
		 {{2, 87, "tcp/443 of service \"a\" and any of \"b\" on VIP 192.0.2.1"}}},
		/* A check has one port for all of a pool. */
		{POOL_AND(B1_8443
			  ", {name: b2, address: 10.0.1.2}") "- {name: s, vips: [192.0.2.1], "
							     "listen: [tcp/443], pool: web, "
							     "forward: geneve}\n",
		 {{2, 9, "the backends of pool \"web\" serve on different ports, expected check"}}},
	};

	(void)state;
	conf_expect_refused(cases, LENGTH(cases));
}

/* What looks alike, but has its way back. */
static void test_ports_apart(void **state)
{
	static const char *const cases[] = {
		/* Other hosts, protocols, VIPs. */
		TWO_POOLS(
			B1_8443,
			"{name: b2, address: 10.0.1.2}") "- {name: a, vips: [192.0.2.1], listen: "
							 "[tcp/443], pool: web, forward: geneve}\n"
							 "- {name: b, vips: [192.0.2.1], listen: "
							 "[tcp/8443], pool: api}\n",
		TWO_POOLS(B1_8443,
			  B1) "- {name: a, vips: [192.0.2.1], listen: [tcp/443], pool: web, "
			      "forward: geneve}\n"
			      "- {name: b, vips: [192.0.2.1], listen: [udp/8443], pool: api}\n"
			      "- {name: c, vips: [192.0.2.2], listen: [tcp/8443], pool: api}\n",
		/* The listen's own port is no change. */
		TWO_POOLS(B1_8443,
			  B1) "- {name: a, vips: [192.0.2.1], listen: [tcp/8443], pool: web, "
			      "forward: geneve}\n"
			      "- {name: b, vips: [192.0.2.1], listen: [tcp/any], pool: api}\n",
		/* A host twice in a pool, on two ports. */
		TWO_POOLS(B1_8443 ", {name: b2, address: 10.0.1.1, port: 9443}",
			  B1) "- {name: a, vips: [192.0.2.1], listen: [tcp/443], pool: web, "
			      "forward: geneve}\n"
			      "- {name: b, vips: [192.0.2.1], listen: [tcp/80-99], pool: api}\n",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++)
		conf_free(conf_expect_right(cases[i]));
}

static void test_ipopt_families(void **state)
{
	static const struct wrong_case cases[] = {
		{POOL_AND(B1) "- {name: s, vips: [192.0.2.1, \"2001:db8::1\"], listen: [tcp/80], "
			      "pool: web, forward: ipopt}\n",
		 {{4, 31, "service \"s\" forwards by ipopt and has VIPs of both families"}}},
		{POOL_AND(B1 ", {name: b6, address: \"2001:db8:1::1\"}") "- {name: s, vips: "
									 "[192.0.2.1], listen: "
									 "[tcp/80], pool: web, "
									 "forward: ipopt}\n",
		 {{2, 83,
		   "backend \"b6\" is of another family than the VIPs of service \"s\", "
		   "which ipopt cannot carry"}}},
	};

	(void)state;
	conf_expect_refused(cases, LENGTH(cases));
}

/* --- an agent's ports --- */

#define AGENT(more)                                                                                \
	"agent: {interfaces: [eth0], balancers: [10.0.0.1], vips: [192.0.2.1, 198.51.100.0/24],\n" \
	" " more "}\n"

static void test_agent_ports(void **state)
{
	static const struct wrong_case cases[] = {
		{AGENT("ports: [{}], forward: [geneve]"),
		 {{2, 10, "vip is missing in an element of ports"},
		  {2, 10, "listen is missing in an element of ports"},
		  {2, 10, "to is missing in an element of ports, expected a whole number from 1"}}},
		{AGENT("ports: [{vip: 192.0.2.2, listen: tcp/1-2, to: 0}], forward: [geneve]"),
		 {{2, 16, "vip 192.0.2.2 is none of the agent's, expected one of vips"},
		  {2, 35, "listen \"tcp/1-2\" is more than one port, expected tcp/PORT"},
		  {2, 48, "\"0\" is too small"}}},
		{AGENT("ports: [{vip: 192.0.2.1, listen: any, to: 9}], forward: [geneve]"),
		 {{2, 35, "\"any\" is more than one port"}}},
		{AGENT("ports: [{vip: 192.0.2.1, listen: tcp/443, to: 443}], forward: [geneve]"),
		 {{2, 48,
		   "port 443 is that of listen, expected another, or this element left out"}}},
		{AGENT("ports: [{vip: 192.0.2.1, listen: tcp/443, to: 8443},\n"
		       "  {vip: 192.0.2.1, listen: tcp/443, to: 8444},\n"
		       "  {vip: 192.0.2.1, listen: tcp/444, to: 8443}], forward: [geneve]"),
		 {{3, 28, "listen 192.0.2.1 tcp/443 is there already in line 2"},
		  {4, 41, "port to which 192.0.2.1 tcp/8443 is there already in line 2"}}},
		{AGENT("ipopt: true"), {{2, 2, "unknown key \"ipopt\""}}},
		{AGENT("forward: ipip"),
		 {{2, 11,
		   "forward is a single value, expected a list of 1 to 5, each one of ipip"}}},
		{AGENT("forward: []"), {{2, 11, "forward has 0 elements, expected"}}},
		{AGENT("forward: [ipip, 1, l2dsr]"),
		 {{2, 18, "\"1\" is not known, expected one of ipip, gre, gue, geneve, ipopt"},
		  {2, 21, "\"l2dsr\" is not known"}}},
		{AGENT("forward: [gre, ipip, gre]"),
		 {{2, 23, "mode gre is there already in line 2, expected it once"}}},
		{AGENT("forward: [gre],\n ports: [{vip: 192.0.2.1, listen: tcp/443, to: 8443}]"),
		 {{3, 10, "ports are changed by geneve and ipopt alone, expected one of them in"}}},
		{AGENT("vips: []"), {{2, 2, "vips is given twice, first in line 1"}}},
	};
	struct conf_agent *agent = conf_expect_agent_right(AGENT(
		"forward: [ipip, ipopt], ports: [{vip: 192.0.2.1, listen: tcp/443, to: 8443},\n"
		"  {vip: 192.0.2.1, listen: udp/443, to: 8443},\n"
		"  {vip: 198.51.100.7, listen: tcp/443, to: 8443}]"));

	(void)state;
	assert_int_equal(agent->forward_count, 2);
	assert_int_equal(agent->forward[0], CONF_FORWARD_IPIP);
	assert_int_equal(agent->forward[1], CONF_FORWARD_IPOPT);
	assert_int_equal(agent->vips[1].length, 24);
	assert_int_equal(agent->port_count, 3);
	assert_int_equal(agent->ports[1].listen.proto, IPPROTO_UDP);
	assert_int_equal(agent->ports[1].listen.first, 443);
	assert_int_equal(agent->ports[2].to, 8443);
	assert_int_equal(agent->ports[2].place.line, 4);
	conf_agent_free(agent);
	conf_expect_agents_refused(cases, LENGTH(cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_case_26_port_change), cmocka_unit_test(test_ports_change),
		cmocka_unit_test(test_ports_refused),       cmocka_unit_test(test_ports_apart),
		cmocka_unit_test(test_ipopt_families),      cmocka_unit_test(test_agent_ports),
	};

	return cmocka_run_group_tests_name("conf ports", tests, NULL, NULL);
}
