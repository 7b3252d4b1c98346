/* SPDX-License-Identifier: BSD-2-Clause */
/* What a file says of announcing: BGP, its routers, the routes' attributes; and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/conf.h"
#include "tests/lib/conf_expect.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define BGP(text)   NODE "bgp: {asn: 65010, router_id: 192.0.2.1, " text "}\n" POOL SERVICE
#define PEER(text)  BGP("peers: [{address: 192.0.2.9, asn: 65000, " text "}]")
#define PEER6(text) BGP("peers: [{address: \"2001:db8::9\", asn: 65000, " text "}]")
#define TWO(a, b)                                                                        \
	NODE POOL "services:\n"                                                          \
		  "- {name: a, vips: [192.0.2.1], listen: [tcp/80], pool: web, " a "}\n" \
		  "- {name: b, vips: [192.0.2.1], listen: [tcp/81], pool: web, " b "}\n"

static const char full[] = NODE
	"bgp:\n"
	"  asn: 4200000000\n"
	"  router_id: 192.0.2.1\n"
	"  hold: 9s\n"
	"  graceful_restart: 0s\n"
	"  graceful_shutdown: 250ms\n"
	"  local_pref: 0\n"
	"  next_hop4: 192.0.2.2\n"
	"  next_hop6: \"2001:db8::2\"\n"
	"  peers:\n"
	"  - {address: 192.0.2.254, asn: 65000, port: 1790, source: 192.0.2.1, passive: true,\n"
	"     password_file: /etc/weir/bgp.key, gtsm: true, bfd: {interval: 100ms}}\n"
	"  - {address: \"2001:db8::fe\", asn: 4200000000, hops: 3, extended_next_hop: true,\n"
	"     bfd: {interval: 50ms, multiplier: 5}}\n"
	"  - {address: 192.0.2.253, asn: 65001}\n"
	"announce: {stop_wait: 3s}\n" POOL "services:\n"
	"- {name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web, announce: {when: all,\n"
	"   hold_up: 5s, communities: [\"65010:100\", \"0:65535\"], med: 10, prepend: 2,\n"
	"   large_communities: [\"4200000000:1:0\"]}}\n"
	"- {name: plain, vips: [192.0.2.2], listen: [tcp/80], pool: web}\n";

static void expect_full(const struct conf *conf)
{
	const struct conf_peer *peers = conf->bgp.peers;
	const struct conf_announce *announce = &conf->services[0].announce;

	assert_int_equal(conf->bgp.asn, 4200000000U);
	assert_int_equal(conf->bgp.hold_ms, 9000);
	assert_int_equal(conf->bgp.graceful_restart_ms, 0);
	assert_int_equal(conf->bgp.graceful_shutdown_ms, 250);
	assert_int_equal(conf->bgp.local_pref, 0);
	assert_int_equal(conf->bgp.peer_count, 3);
	assert_string_equal(peers[0].password_file, "/etc/weir/bgp.key");
	assert_true(peers[0].gtsm && peers[0].passive && !peers[0].hops);
	assert_int_equal(peers[0].port, 1790);
	assert_int_equal(peers[0].bfd.interval_ms, 100);
	assert_int_equal(peers[0].bfd.multiplier, 3);
	assert_int_equal(peers[1].hops, 3);
	assert_true(peers[1].extended_next_hop && !peers[1].gtsm);
	assert_int_equal(peers[1].bfd.multiplier, 5);
	assert_int_equal(peers[2].port, 179);
	assert_int_equal(peers[2].bfd.interval_ms, 0);
	assert_null(peers[2].password_file);
	assert_int_equal(conf->announcing.via, CONF_VIA_BGP);
	assert_int_equal(conf->announcing.stop_wait_ms, 3000);
	assert_int_equal(announce->when, CONF_WHEN_ALL);
	assert_int_equal(announce->min_usable, 1);
	assert_int_equal(announce->hold_up_ms, 5000);
	assert_int_equal(announce->community_count, 2);
	assert_int_equal(announce->communities[0], 65010U << 16 | 100);
	assert_int_equal(announce->communities[1], 65535);
	assert_int_equal(announce->large_communities[0].parts[0], 4200000000U);
	assert_int_equal(announce->large_communities[0].parts[1], 1);
	assert_int_equal(announce->med, 10);
	assert_int_equal(announce->prepend, 2);
	assert_int_equal(conf->services[1].announce.min_usable, 1);
	assert_int_equal(conf->services[1].announce.community_count, 0);
}

static void test_full(void **state)
{
	struct conf *conf = conf_expect_right(full), *again;
	char *text = conf_format(conf), *text_again;

	(void)state;
	expect_full(conf);
	again = conf_expect_right(text);
	expect_full(again);
	text_again = conf_format(again);
	assert_string_equal(text, text_again);
	free(text);
	free(text_again);
	conf_free(conf);
	conf_free(again);
}

/* Without BGP nothing of it is printed: its asn has no default. */
static void test_absent(void **state)
{
	struct conf *conf = conf_expect_right(NODE POOL SERVICE);
	char *text = conf_format(conf);

	(void)state;
	assert_int_equal(conf->bgp.asn, 0);
	assert_null(strstr(text, "bgp:"));
	free(text);
	conf_free(conf);
	conf = conf_expect_right(PEER("passive: false"));
	assert_int_equal(conf->bgp.hold_ms, 90000);
	assert_int_equal(conf->bgp.graceful_restart_ms, 120000);
	text = conf_format(conf);
	assert_null(strstr(text, "bfd:"));
	free(text);
	conf_free(conf);
	conf = conf_expect_right(NODE "announce: {via: kernel-route, table: 100}\n" POOL SERVICE);
	assert_int_equal(conf->announcing.via, CONF_VIA_KERNEL_ROUTE);
	assert_int_equal(conf->announcing.table, 100);
	conf_free(conf);
}

static void test_wrong_bgp(void **state)
{
	static const struct wrong_case cases[] = {
		{NODE "bgp: {}\n" POOL SERVICE,
		 {{2, 6, "asn is missing in bgp"},
		  {2, 6, "router_id is missing"},
		  {2, 6, "peers is missing"}}},
		{NODE "bgp: {asn: 0, router_id: \"2001:db8::1\", peers: []}\n" POOL SERVICE,
		 {{2, 12, "asn \"0\" is too small"},
		  {2, 26, "router_id 2001:db8::1 is not IPv4"},
		  {2, 48, "peers has 0 elements"}}},
		{NODE "bgp: {asn: 23456, router_id: 192.0.2.1, peers: [{address: 192.0.2.9, asn: "
		      "65535}]}\n" POOL SERVICE,
		 {{2, 12, "asn 23456 is reserved"}, {2, 75, "asn 65535 is reserved"}}},
		{BGP("hold: 2s, graceful_restart: 2h, peers: [{address: 192.0.2.9, asn: 1}]"),
		 {{2, 47, "is too small"}, {2, 69, "is too large"}}},
		{BGP("hold: 3500ms, graceful_restart: 1ms, peers: [{address: 192.0.2.9, asn: 1}]"),
		 {{2, 47, "hold 3500ms is no whole number of seconds, expected one, such as 4s"},
		  {2, 73, "graceful_restart 1ms is no whole number"}}},
		{BGP("next_hop4: \"2001:db8::1\", next_hop6: 192.0.2.1, peers: [{address: "
		     "192.0.2.9, asn: 1}]"),
		 {{2, 52, "next_hop4 2001:db8::1 is not IPv4"},
		  {2, 78, "next_hop6 192.0.2.1 is not IPv6"}}},
		{BGP("peers: [{address: 192.0.2.9, asn: 1}, {address: 192.0.2.9, asn: 2}]"),
		 {{2, 89, "router 192.0.2.9 is there already in line 2"}}},
		{PEER("hops: 2, gtsm: true"),
		 {{2, 97, "gtsm says that the router is on the link"}}},
		{PEER("hops: 0"), {{2, 88, "hops \"0\" is too small"}}},
		{PEER("password_file: bgp.key"), {{2, 97, "is no absolute path"}}},
		{PEER("password: x"), {{2, 82, "unknown key \"password\""}}},
		{PEER("source: \"2001:db8::1\""), {{2, 90, "is of another family"}}},
		{PEER6("source: 192.0.2.1"), {{2, 94, "is of another family"}}},
		{PEER("extended_next_hop: true"), {{2, 101, "is for IPv6 sessions"}}},
		{PEER("bfd: {multiplier: 3}"), {{2, 87, "interval is missing in bfd"}}},
		{PEER("bfd: {interval: 5ms}"), {{2, 98, "is too small"}}},
		{PEER("bfd: true"), {{2, 87, "bfd is a single value, expected a mapping"}}},
		{NODE
		 "announce: {via: kernel-route}\n"
		 "bgp: {asn: 1, router_id: 192.0.2.1, peers: [{address: 192.0.2.9, asn: 1}]}\n" POOL
			 SERVICE,
		 {{2, 17, "via is kernel-route while there is bgp"}}},
		{NODE "announce: {table: 100}\n" POOL SERVICE,
		 {{2, 12, "table means nothing here"}}},
		{NODE "announce: {via: kernel-route, table: 255}\n" POOL SERVICE,
		 {{2, 38, "table 255 is the kernel's own"}}},
		{NODE "announce: {via: rip}\n" POOL SERVICE,
		 {{2, 17, "via \"rip\" is not known, expected one of bgp, kernel-route"}}},
	};

	(void)state;
	conf_expect_refused(cases, LENGTH(cases));
}

static void test_wrong_services(void **state)
{
	static const struct wrong_case cases[] = {
		{SHOP("announce: {min_usable: 2}"),
		 {{3, 96, "min_usable 2 is more than pool \"web\" has backends, expected 1"}}},
		{SHOP("announce: {min_usable: 0, when: never}"),
		 {{3, 96, "is too small"}, {3, 105, "when \"never\" is not known"}}},
		{SHOP("announce: {communities: [\"1\", \"1:2:3\", \"65536:1\", \"1:\", \":1\", "
		      "\"-1:1\", \"01:1\", \"no-export\"]}"),
		 {{3, 98, "communities \"1\" is not a community"},
		  {3, 103, "\"1:2:3\" is not a community, expected two numbers"},
		  {3, 112, "is not a community"},
		  {3, 123, "is not a community"},
		  {3, 129, "is not a community"},
		  {3, 135, "is not a community"},
		  {3, 143, "is not a community"},
		  {3, 151, "is not a community"}}},
		{SHOP("announce: {large_communities: [\"1:2\", \"1:2:4294967296\"], prepend: 17}"),
		 {{3, 104, "expected three numbers"},
		  {3, 111, "is not a community"},
		  {3, 139, "is too large"}}},
		{TWO("announce: {med: 1}", ""), {{5, 20, "another med, expected the same"}}},
		{TWO("", "announce: {when: all}"),
		 {{5, 20, "VIP 192.0.2.1 is also of service \"a\" in line 4, whose announce"}}},
		{TWO("announce: {communities: [\"1:1\"]}", "announce: {communities: [\"1:2\"]}"),
		 {{5, 20, "another communities"}}},
		{TWO("announce: {large_communities: [\"1:1:1\"]}", ""),
		 {{5, 20, "another large_communities"}}},
		{TWO("announce: {prepend: 1}", "announce: {prepend: 2}"),
		 {{5, 20, "another prepend"}}},
	};

	(void)state;
	conf_expect_refused(cases, LENGTH(cases));
	conf_free(conf_expect_right(TWO("announce: {hold_up: 1s, communities: [\"1:1\"]}",
					"announce: {hold_up: 2s, communities: [\"1:1\"]}")));
}

/* Sessions of one family alone are a common slip. */
static void test_remarks(void **state)
{
	static const struct {
		const char *bgp;
		const char *warning, *note; /* NULL: none */
	} cases[] = {
		{"peers: [{address: 192.0.2.9, asn: 1}]", "service \"shop\"'s VIPs of IPv6", NULL},
		{"peers: [{address: \"2001:db8::9\", asn: 1}]", "service \"shop\"'s VIPs of IPv4",
		 NULL},
		{"peers: [{address: \"2001:db8::9\", asn: 1, extended_next_hop: true}]", NULL,
		 NULL},
		{"next_hop6: \"2001:db8::1\", peers: [{address: 192.0.2.9, asn: 1}]", NULL, NULL},
		{"peers: [{address: 192.0.2.9, asn: 1}, {address: \"2001:db8::9\", asn: 1}]", NULL,
		 NULL},
		{"peers: [{address: 192.0.2.9, asn: 1}, {address: \"2001:db8::9\", asn: 1, bfd: "
		 "{interval: 50ms}}]",
		 NULL, "whether router 2001:db8::9 then keeps"},
		{"graceful_restart: 0s, peers: [{address: 192.0.2.9, asn: 1}, {address: "
		 "\"2001:db8::9\", asn: 1, bfd: {interval: 50ms}}]",
		 NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct err_list warnings = {0}, notes = {0};
		char text[1024];
		struct conf *conf;

		snprintf(text, sizeof(text),
			 NODE "bgp: {asn: 65010, router_id: 192.0.2.1, %s}\n" POOL
			      "services: [{name: shop, vips: [192.0.2.1, \"2001:db8:1::1\"], "
			      "listen: [tcp/80], pool: web}]\n",
			 cases[i].bgp);
		conf = conf_expect_right(text);
		conf_warnings(conf, &warnings);
		conf_notes(conf, &notes);
		assert_int_equal(warnings.count, cases[i].warning != NULL);
		assert_int_equal(notes.count, cases[i].note != NULL);
		if (cases[i].warning)
			assert_non_null(strstr(warnings.errors[0].text, cases[i].warning));
		if (cases[i].note)
			assert_non_null(strstr(notes.errors[0].text, cases[i].note));
		err_list_fini(&warnings);
		err_list_fini(&notes);
		conf_free(conf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),      cmocka_unit_test(test_absent),
		cmocka_unit_test(test_wrong_bgp), cmocka_unit_test(test_wrong_services),
		cmocka_unit_test(test_remarks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
