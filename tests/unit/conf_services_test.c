/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What services can be told of the packet path, value by value: VIPs, listens, policies, ids,
 * access lists, sizes; and what is refused of it, with place and expectation.
 */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conf/conf.h"
#include "tests/lib/conf_expect.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define POOL_AND(backends) NODE "pools: [{name: web, backends: [" backends "]}]\nservices:\n"

/* --- VIPs --- */

static void test_vips(void **state)
{
	static const struct wrong_case cases[] = {
		{SERVED("name: s, pool: web, listen: [tcp/80], vips: [0.0.0.0/0, "
			"192.0.0.0/7, "
			"\"::/0\", \"2000::/15\"]"),
		 {{3, 58,
		   "\"0.0.0.0/0\" is too wide a prefix, expected a unicast IPv4 or "
		   "IPv6"},
		  {3, 69, "\"192.0.0.0/7\" is too wide"},
		  {3, 82, "\"::/0\" is too wide"},
		  {3, 90, "\"2000::/15\" is too wide"}}},
		{SERVED("name: s, pool: web, listen: [tcp/80], vips: "
			"[192.0.2.1/24, 192.0.2.0/33]"),
		 {{3, 58, "has bits set past its length"}, {3, 72, "is not a prefix"}}},
		{SERVED("name: s, pool: web, listen: [tcp/80], vips: [127.0.0.0/8, "
			"224.0.0.0/8, "
			"169.0.0.0/8, \"fe80::/16\", \"fe00::/16\"]"),
		 {{3, 58, "has addresses that no host can have"},
		  {3, 71, "has addresses that no host can have"},
		  {3, 84, "has addresses that no host can have"},
		  {3, 97, "has addresses that no host can have"}}},
		{SERVED("name: s, pool: web, listen: [tcp/80], vips: "
			"[192.0.2.0/24, 192.0.2.0/24]"),
		 {{3, 72, "VIP 192.0.2.0/24 is there already in line 3"}}},
		{POOL_AND("{name: b1, address: 10.0.1.1}, {name: b2, address: "
			  "10.2.0.9}") "- {name: a, vips: [10.0.0.0/15, "
				       "10.0.9.0/24], listen: [tcp/80], pool: web}\n"
				       "- {name: b, vips: [\"2001:db8::/32\", "
				       "10.3.0.0/16], listen: [tcp/80], pool: "
				       "web}\n",
		 {{2, 52, "address 10.0.1.1 of backend \"b1\" is a VIP"}}},
		{NODE POOL "services:\n"
			   "- {name: a, vips: [192.0.2.0/24], listen: [tcp/80], pool: web}\n"
			   "- {name: b, vips: [192.0.2.0/24], listen: [udp/80, tcp/80], "
			   "pool: web}\n",
		 {{5, 52,
		   "192.0.2.0/24 tcp/80 of service \"b\" is that of service \"a\" "
		   "in line 4"}}},
	};
	struct conf *conf = conf_expect_right(
		NODE POOL
		"services:\n"
		"- {name: a, vips: [192.0.2.0/24, 192.0.2.7, \"2001::/16\"], listen: [tcp/80], "
		"pool: web}\n"
		"- {name: b, vips: [192.0.0.0/8, 192.0.2.0/24], listen: [udp/80], pool: web}\n");

	(void)state;
	assert_int_equal(conf->services[0].vips[0].length, 24);
	assert_int_equal(conf->services[0].vips[1].length, 32);
	assert_int_equal(conf->services[0].vips[2].length, 16);
	assert_int_equal(conf->services[1].vips[0].length, 8);
	conf_free(conf);
	conf_expect_refused(cases, LENGTH(cases));
}

/* --- listens --- */

static void assert_listen(const struct conf_listen *listen, uint8_t proto, uint16_t first,
			  uint16_t last)
{
	assert_int_equal(listen->proto, proto);
	assert_int_equal(listen->first, first);
	assert_int_equal(listen->last, last);
}

static void test_listens(void **state)
{
	static const struct wrong_case cases[] = {
		{SERVED("name: s, pool: web, vips: [192.0.2.1], listen: [tcp/80-, tcp/-80, "
			"tcp/0-9, udp/9-65536, tcp/2-1, tcp/1-2-3, any/80, tcp/0080]"),
		 {{3, 61, "\"tcp/80-\" is not a protocol and port"},
		  {3, 70, "\"tcp/-80\" is not a protocol and port"},
		  {3, 79, "\"tcp/0-9\" has a port out of range"},
		  {3, 88, "\"udp/9-65536\" has a port out of range"},
		  {3, 101, "\"tcp/2-1\" is a range that ends before it begins"},
		  {3, 110, "\"tcp/1-2-3\" is not a protocol and port"},
		  {3, 121, "\"any/80\" is not a protocol and port, expected PROTO/PORT, "},
		  {3, 129, "\"tcp/0080\" has a port out of range"}}},
		{SERVED("name: s, pool: web, vips: [192.0.2.1], listen: [tcp/80-90, tcp/85-99]"),
		 {{3, 72,
		   "tcp/85-99 of service \"s\" overlaps tcp/80-90 of service \"s\" in line 3 "
		   "on VIP 192.0.2.1, expected one within the other or none in common"}}},
		{NODE POOL
		 "services:\n"
		 "- {name: a, vips: [192.0.2.0/24, 192.0.2.1], listen: [udp/1-100], pool: "
		 "web}\n"
		 "- {name: b, vips: [192.0.2.1], listen: [udp/100-200, tcp/50-150], pool: "
		 "web}\n",
		 {{5, 41,
		   "udp/100-200 of service \"b\" overlaps udp/1-100 of service \"a\" in line "
		   "4 on VIP 192.0.2.1"}}},
		{NODE POOL "services:\n"
			   "- {name: a, vips: [192.0.2.1], listen: [any, tcp/80], pool: web}\n"
			   "- {name: b, vips: [192.0.2.1], listen: [any], pool: web}\n",
		 {{5, 41, "192.0.2.1 any of service \"b\" is that of service \"a\""}}},
		{NODE POOL "services: [{name: s, vips: [192.0.2.1], listen: [tcp/any, any], pool: "
			   "web}]\n",
		 {{2, 9, "no service of the pool listens on a TCP port, expected check: {port"}}},
	};
	struct conf *conf = conf_expect_right(
		NODE POOL
		"services:\n"
		"- {name: a, vips: [192.0.2.1], listen: [any, udp/any, tcp/1-65535, tcp/8080-8080],"
		" pool: web}\n"
		"- {name: b, vips: [192.0.2.1], listen: [tcp/8000-8099, tcp/8000-8010, tcp/8099, "
		"tcp/8100-9000], pool: web}\n");

	(void)state;
	assert_listen(&conf->services[0].listens[0], CONF_PROTO_ANY, 0, 65535);
	assert_listen(&conf->services[0].listens[1], IPPROTO_UDP, 0, 65535);
	assert_listen(&conf->services[0].listens[2], IPPROTO_TCP, 1, 65535);
	assert_listen(&conf->services[0].listens[3], IPPROTO_TCP, 8080, 8080);
	assert_listen(&conf->services[1].listens[0], IPPROTO_TCP, 8000, 8099);
	assert_int_equal(conf->pools[0].check.port, 1);
	conf_free(conf);
	conf_expect_refused(cases, LENGTH(cases));
}

static void test_listen_text(void **state)
{
	static const struct {
		struct conf_listen listen;
		const char *text;
	} cases[] = {
		{{CONF_PROTO_ANY, 0, 65535}, "any"},
		{{IPPROTO_TCP, 0, 65535}, "tcp/any"},
		{{IPPROTO_UDP, 53, 53}, "udp/53"},
		{{IPPROTO_TCP, 10000, 65535}, "tcp/10000-65535"},
	};
	char text[CONF_LISTEN_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++)
		assert_string_equal(conf_listen_format(&cases[i].listen, text), cases[i].text);
}

/* --- policies and ids --- */

static void test_policies(void **state)
{
	static const struct {
		const char *text;
		enum conf_policy policy;
	} policies[] = {
		{"source", CONF_POLICY_SOURCE},
		{"2-tuple", CONF_POLICY_2TUPLE},
		{"3-tuple", CONF_POLICY_3TUPLE},
		{"4-tuple", CONF_POLICY_4TUPLE},
		{"5-tuple", CONF_POLICY_5TUPLE},
		{"source-prefix", CONF_POLICY_SOURCE_PREFIX},
		{"flow-label", CONF_POLICY_FLOW_LABEL},
		{"quic-cid", CONF_POLICY_QUIC_CID},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(policies); i++) {
		char text[512];
		struct conf *conf;

		snprintf(text, sizeof(text), SHOP("tracking: always, policy: %s"),
			 policies[i].text);
		conf = conf_expect_right(text);
		assert_int_equal(conf->services[0].policy, policies[i].policy);
		assert_string_equal(conf_policy_name(policies[i].policy), policies[i].text);
		conf_free(conf);
	}
}

static void test_policy_settings(void **state)
{
	static const struct wrong_case cases[] = {
		{SHOP("policy: tuple"),
		 {{3, 81, "policy \"tuple\" is not known, expected one of"}}},
		{SHOP("quic: {}"), {{3, 73, "quic means nothing here, expected policy: quic-cid"}}},
		{SHOP("source_prefix4: 8, policy: source"),
		 {{3, 73, "source_prefix4 means nothing here, expected policy: source-prefix"}}},
		{SHOP("policy: source-prefix, source_prefix4: 33, source_prefix6: 0"),
		 {{3, 112,
		   "source_prefix4 \"33\" is too large, expected a whole number from 1 to 32"},
		  {3, 132, "source_prefix6 \"0\" is too small"}}},
		{SHOP("policy: quic-cid, quic: {cid: v1, config: 7, length: 5}"),
		 {{3, 103, "cid \"v1\" is not known, expected one of quic-lb, katran"},
		  {3, 115, "config \"7\" is too large, expected a whole number from 0 to 6"},
		  {3, 126, "length \"5\" is too large, expected a whole number from 1 to 4"}}},
		{SHOP("policy: flow-label, tracking: none"),
		 {{3, 81, "policy flow-label would lose TCP connections"}}},
		{SHOP("policy: flow-label"),
		 {{3, 81, "policy flow-label would lose TCP connections"}}},
		{SHOP("tcp_server_id: yes"), {{3, 88, "\"yes\" is neither true nor false"}}},
	};
	struct conf *conf = conf_expect_right(
		NODE POOL "services:\n"
			  "- {name: a, vips: [192.0.2.1], listen: [tcp/80], pool: web,\n"
			  "   policy: source-prefix, source_prefix6: 48, tcp_server_id: true}\n"
			  "- {name: b, vips: [192.0.2.1], listen: [udp/443], pool: web,\n"
			  "   policy: quic-cid, quic: {cid: katran, config: 3, length: 4}}\n"
			  "- {name: c, vips: [\"2001:db8::1\"], listen: [udp/any], pool: web,\n"
			  "   policy: flow-label, tracking: none}\n"
			  "- {name: d, vips: [192.0.2.1], listen: [udp/444], pool: web,\n"
			  "   policy: quic-cid}\n");
	const struct conf_service *service = conf->services;

	(void)state;
	assert_int_equal(service[0].source_prefix4, 24);
	assert_int_equal(service[0].source_prefix6, 48);
	assert_true(service[0].tcp_server_id);
	assert_int_equal(service[1].quic.cid, CONF_CID_KATRAN);
	assert_int_equal(service[1].quic.config, 3);
	assert_int_equal(service[1].quic.length, 4);
	assert_false(service[1].tcp_server_id);
	assert_int_equal(service[3].quic.cid, CONF_CID_QUIC_LB);
	assert_int_equal(service[3].quic.config, 0);
	assert_int_equal(service[3].quic.length, 2);
	conf_free(conf);
	conf_expect_refused(cases, LENGTH(cases));
}

static void test_server_ids(void **state)
{
	static const struct wrong_case cases[] = {
		{BACKENDS("{name: b1, address: 10.0.1.1, server_id: 0}"),
		 {{2, 73, "\"0\" is too small, expected a whole number from 1 to 4294967295"}}},
		{BACKENDS("{name: b1, address: 10.0.1.1, server_id: 4294967296}"),
		 {{2, 73, "is too large"}}},
		{BACKENDS("{name: b1, address: 10.0.1.1, server_id: 7}, {name: b2, address: "
			  "10.0.1.2, server_id: 7}"),
		 {{2, 118, "server_id 7 of backend \"b2\" is that of backend \"b1\" in line 2"}}},
		{POOL_AND(
			 "{name: b1, address: 10.0.1.1, server_id: 65536}") "- {name: s, vips: "
									    "[192.0.2.1], listen: "
									    "[tcp/443, udp/443], "
									    "pool: web, policy: "
									    "quic-cid}\n"
									    "- {name: t, vips: "
									    "[192.0.2.2], listen: "
									    "[udp/443], pool: web, "
									    "policy: quic-cid,\n"
									    "   quic: {length: "
									    "3}}\n",
		 {{2, 73,
		   "server_id 65536 of backend \"b1\" does not fit the quic.length of 2 in "
		   "service \"s\", expected 65535 at most"}}},
	};
	struct conf *conf = conf_expect_right(
		POOL_AND("{name: b1, address: 10.0.1.1, server_id: 4294967295}, {name: b2, "
			 "address: 10.0.1.2}") "- {name: s, vips: [192.0.2.1], listen: [tcp/443, "
					       "udp/443], pool: web, policy: "
					       "quic-cid, quic: {cid: katran, length: 1}}\n");
	struct err_list warnings = {0};

	(void)state;
	assert_int_equal(conf->pools[0].backends[0].server_id, UINT32_MAX);
	assert_int_equal(conf->pools[0].backends[1].server_id, 0);
	conf_warnings(conf, &warnings);
	assert_int_equal(warnings.count, 1);
	assert_non_null(strstr(warnings.errors[0].text,
			       "service \"s\" finds backends by server_id, which 1 of pool \"web\" "
			       "lack, first \"b2\""));
	err_list_fini(&warnings);
	conf_free(conf);
	conf_expect_refused(cases, LENGTH(cases));
}

/* --- access, rates, sizes --- */

static void test_access(void **state)
{
	static const struct wrong_case cases[] = {
		{SHOP("allow: []"), {{3, 80, "allow has 0 elements, expected a list of 1 to"}}},
		{SHOP("allow: [10.0.0.0/8, 10.0.0.1/8]"),
		 {{3, 93, "has bits set past its length, expected an address or a prefix"}}},
		{SHOP("allow: [10.0.0.0/8], deny: [10.0.0.0/8, 10.0.0.0/16, 10.0.0.0/16]"),
		 {{3, 101, "prefix 10.0.0.0/8 of deny is that of allow in line 3"},
		  {3, 126, "prefix 10.0.0.0/16 of deny is that of deny in line 3"}}},
		{SHOP("deny: [0.0.0.0/0]"),
		 {{3, 80, "deny holds every address of a family, expected longer prefixes"}}},
	};
	struct conf *conf = conf_expect_right(
		NODE POOL
		"services:\n"
		"- {name: a, vips: [192.0.2.1], listen: [tcp/80], pool: web,\n"
		"   allow: [\"::/0\", 0.0.0.0/0], deny: [10.0.0.1, \"2001:db8::/32\"]}\n"
		"- {name: b, vips: [192.0.2.1, \"2001:db8:9::9\"], listen: [tcp/81], pool: "
		"web, allow: [0.0.0.0/0, 10.0.0.0/8]}\n");
	struct err_list warnings = {0};

	(void)state;
	assert_int_equal(conf->services[0].allow_count, 0);
	assert_int_equal(conf->services[0].deny_count, 2);
	assert_int_equal(conf->services[0].deny[0].length, 32);
	assert_int_equal(conf->services[1].allow_count, 2);
	assert_int_equal(conf->services[1].allow[0].length, 0);
	conf_warnings(conf, &warnings);
	assert_int_equal(warnings.count, 1);
	assert_non_null(strstr(warnings.errors[0].text, "allow of service \"b\" has nothing of "
							"IPv6"));
	err_list_fini(&warnings);
	conf_free(conf);
	conf_expect_refused(cases, LENGTH(cases));
}

static void test_settings(void **state)
{
	static const struct wrong_case cases[] = {
		{SHOP("fragments: pass"), {{3, 84, "expected one of pin, drop"}}},
		{SHOP("oversize_nodf: pass"), {{3, 88, "expected one of fragment, icmp, drop"}}},
		{SHOP("on_empty: no"), {{3, 83, "expected one of reject, drop, pass"}}},
		{SHOP("mss_clamp: 87"),
		 {{3, 84,
		   "\"87\" is too small, expected auto, off, or a number from 88 to 65535"}}},
		{SHOP("mss_clamp: 65536"), {{3, 84, "is too large"}}},
		{SHOP("mss_clamp: on"), {{3, 84, "\"on\" is not known"}}},
		{SHOP("rate_limit: -1"), {{3, 85, "\"-1\" is below 0"}}},
		{"node: {interfaces: [eth0], engine: af_xdp, xdp: generic}\n" POOL SERVICE,
		 {{1, 36, "engine af_xdp gets packets from drivers alone, expected xdp: native"}}},
		{"node: {interfaces: [eth0], workers: 3}\n" POOL SERVICE,
		 {{1, 28, "workers means nothing here, expected engine: af_xdp beside it"}}},
		{"node: {interfaces: [eth0], decap: true}\n" POOL SERVICE,
		 {{1, 35, "decap is true but no balancers are believed, expected balancers:"}}},
		{"node: {interfaces: [eth0], balancers: [10.0.0.1]}\n" POOL SERVICE,
		 {{1, 28, "balancers means nothing here, expected decap: true beside it"}}},
		{"node: {interfaces: [eth0], decap: true, balancers: [10.0.0.1, 10.0.0.1/32], "
		 "slow_limit: x}\n" POOL SERVICE,
		 {{1, 63, "balancer 10.0.0.1 is there already"},
		  {1, 89, "\"x\" is not a whole number"}}},
	};
	struct conf *conf = conf_expect_right(
		NODE POOL
		"services:\n"
		"- {name: a, vips: [192.0.2.1], listen: [tcp/80], pool: web}\n"
		"- {name: b, vips: [192.0.2.1], listen: [tcp/81], pool: web,\n"
		"   fragments: drop, oversize_nodf: drop, mss_clamp: off, on_empty: pass,\n"
		"   rate_limit: 10k}\n"
		"- {name: c, vips: [192.0.2.1], listen: [tcp/82], pool: web,\n"
		"   oversize_nodf: icmp, mss_clamp: 65535, on_empty: drop}\n");
	const struct conf_service *service = conf->services;

	(void)state;
	assert_int_equal(service[0].fragments, CONF_FRAGMENTS_PIN);
	assert_int_equal(service[0].oversize_nodf, CONF_NODF_FRAGMENT);
	assert_int_equal(service[0].mss_clamp, CONF_MSS_AUTO);
	assert_int_equal(service[0].on_empty, CONF_EMPTY_REJECT);
	assert_int_equal(service[0].policy, CONF_POLICY_5TUPLE);
	assert_int_equal(service[0].rate_limit, 0);
	assert_int_equal(service[1].fragments, CONF_FRAGMENTS_DROP);
	assert_int_equal(service[1].oversize_nodf, CONF_NODF_DROP);
	assert_int_equal(service[1].mss_clamp, CONF_MSS_OFF);
	assert_int_equal(service[1].on_empty, CONF_EMPTY_PASS);
	assert_int_equal(service[1].rate_limit, 10000);
	assert_int_equal(service[2].oversize_nodf, CONF_NODF_ICMP);
	assert_int_equal(service[2].mss_clamp, 65535);
	assert_int_equal(service[2].on_empty, CONF_EMPTY_DROP);
	assert_int_equal(conf->node.slow_limit, 1000);
	assert_false(conf->node.decap);
	conf_free(conf);
	conf_expect_refused(cases, LENGTH(cases));
}

/* --- a whole file --- */

static void test_whole_file(void **state)
{
	struct conf *conf = conf_expect_right(
		"node:\n"
		"  name: lb1\n"
		"  interfaces: [eth0]\n"
		"  xdp: native\n"
		"  path_mtu: 1500\n"
		"  tunnel: {source4: 100.64.1.0/24, source6: \"2001:db8:f::/64\"}\n"
		"  flows: {entries: 1M, insert_limit: 125k, established: 2h, handshake: 30s, "
		"closing: "
		"15s, udp: 60s}\n"
		"seed: 5eed-of-the-fleet\n"
		"pools:\n"
		"  - name: web\n"
		"    hash: maglev\n"
		"    table_size: auto\n"
		"    check: {type: tcp, port: 80, via: node, interval: 2s, timeout: 1s, rise: 2, "
		"fall: "
		"3}\n"
		"    on_down: keep\n"
		"    on_down_keep: 60s\n"
		"    backends:\n"
		"      - {name: b1, address: 10.0.1.11, weight: 100}\n"
		"      - {name: b2, address: 10.0.1.12, weight: 100, state: drain}\n"
		"      - {name: b9, address: \"2001:db8:9::9\", weight: 50}\n"
		"services:\n"
		"  - name: shop\n"
		"    vips: [198.51.100.10, \"2001:db8:10::10\"]\n"
		"    listen: [tcp/80, tcp/443, udp/443, tcp/8000-8099]\n"
		"    pool: web\n"
		"    forward: ipip\n"
		"    second_chance: false\n"
		"    policy: 5-tuple\n"
		"    tracking: always\n"
		"    fragments: pin\n"
		"    oversize_df: icmp\n"
		"    oversize_nodf: fragment\n"
		"    mss_clamp: auto\n"
		"    on_empty: reject\n"
		"    allow: [0.0.0.0/0, \"::/0\"]\n"
		"    deny: []\n");

	(void)state;
	assert_int_equal(conf->services[0].listen_count, 4);
	assert_int_equal(conf->services[0].listens[3].last, 8099);
	assert_int_equal(conf->services[0].allow_count, 0);
	conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vips),
		cmocka_unit_test(test_listens),
		cmocka_unit_test(test_listen_text),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_policy_settings),
		cmocka_unit_test(test_server_ids),
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_whole_file),
	};

	return cmocka_run_group_tests_name("conf services", tests, NULL, NULL);
}
