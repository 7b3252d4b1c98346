/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration: right files and the values that they give, wrong ones and all that is said of
 * them (conf_cases.h), the way back through the normal form, and the manual's list of keys, which
 * is made from the same table.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/conf.h"
#include "conf/keys/schema.h"
#include "conf_cases.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { EXPECTED_ROOM = 160 }; /* of an error's "expected" */

static const char *const manual_path = "docs/weir.yaml.5";

/* Every key that works, none at its default. */
static const char full[] =
	"node:\n"
	"  name: lb1\n"
	"  interfaces: [eth0, eth1]\n"
	"  xdp: auto\n"
	"  engine: af_xdp\n"
	"  workers: 3\n"
	"  path_mtu: 1500\n"
	"  tunnel: {source4: 100.64.1.0/24, source6: \"2001:db8:f::/64\"}\n"
	"  flows: {entries: 64Ki, insert_limit: 5k, established: 1h, handshake: 20s, closing: "
	"5000ms,\n"
	"          udp: 2m}\n"
	"  reply_limit: 2k\n"
	"  slow_limit: 3k\n"
	"  decap: true\n"
	"  balancers: [10.9.0.0/16, 10.8.0.1, \"::/0\"]\n"
	"seed: \"a \\\"seed\\\"\\n\\u263a \\U0001f600 \\x07\"\n"
	"pools:\n"
	"  - name: web\n"
	"    hash: maglev\n"
	"    table_size: 1021\n"
	"    check: {type: tcp, port: 8080, via: node, interval: 1s, timeout: 500ms, rise: 1, "
	"fall: 5}\n"
	"    on_down: reset\n"
	"    on_down_keep: 5m\n"
	"    backup_below: 2\n"
	"    slow_start: 30s\n"
	"    drain_limit: 2h\n"
	"    backends:\n"
	"      - {name: b1, address: 10.0.1.11, weight: 0, server_id: 16777216}\n"
	"      - {name: b2, address: 10.0.1.12, state: drain, backup: true, server_id: 1}\n"
	"      - {name: b9, address: \"2001:db8:9::9\", weight: 1000000, server_id: 9, state: "
	"maint}\n"
	"services:\n"
	"  - name: shop\n"
	"    vips: [198.51.100.10, 198.51.100.11/32, \"2001:db8:10::10\", 203.0.113.0/24]\n"
	"    listen: [tcp/80, udp/80, any, tcp/any, udp/8000-8099]\n"
	"    pool: web\n"
	"    forward: geneve\n"
	"    second_chance: false\n"
	"    policy: source-prefix\n"
	"    source_prefix4: 16\n"
	"    source_prefix6: 48\n"
	"    tcp_server_id: true\n"
	"    tracking: none\n"
	"    lookup: single\n"
	"    fragments: drop\n"
	"    oversize_df: drop\n"
	"    oversize_nodf: icmp\n"
	"    mss_clamp: 1400\n"
	"    on_empty: pass\n"
	"    allow: [\"::/0\", 10.0.0.0/8]\n"
	"    deny: [10.1.0.0/16, 10.2.0.1]\n"
	"    rate_limit: 3k\n"
	"  - name: quic\n"
	"    vips: [198.51.100.12]\n"
	"    listen: [udp/443]\n"
	"    pool: web\n"
	"    forward: gre\n"
	"    policy: quic-cid\n"
	"    quic: {cid: quic-lb, config: 6, length: 4}\n"
	"    mss_clamp: off\n"
	"    oversize_nodf: drop\n"
	"    on_empty: drop\n"
	"    allow: [\"::/0\", 0.0.0.0/0]\n"
	"    deny: []\n";

static const char plain[] = NODE POOL SERVICE;

static const char agent_full[] = "agent:\n"
				 "  name: b1\n"
				 "  interfaces: [eth0]\n"
				 "  xdp: native\n"
				 "  balancers: [100.64.1.0/24, 192.0.2.11, \"2001:db8:f::/64\"]\n"
				 "  peers: [10.0.1.0/24, \"2001:db8:1::12\"]\n"
				 "  netns: [web, cni-1f]\n"
				 "  vips: [198.51.100.10, \"2001:db8:10::10\"]\n"
				 "  path_mtu: 1500\n"
				 "  forward: [gue, geneve]\n"
				 "  ports:\n"
				 "  - {vip: 198.51.100.10, listen: tcp/443, to: 8443}\n"
				 "  - {vip: \"2001:db8:10::10\", listen: udp/443, to: 8443}\n";

static void assert_addr(const struct addr *addr, const char *text)
{
	char printed[ADDR_TEXT_MAX];

	assert_string_equal(addr_format(addr, printed), text);
}

static void assert_prefix(const struct prefix *prefix, const char *text)
{
	char printed[ADDR_TEXT_MAX];

	assert_string_equal(prefix_format(prefix, printed), text);
}

/* --- right files --- */

static void test_node(void **state)
{
	struct conf *conf = conf_expect_right(full);
	const struct conf_node *node = &conf->node;

	(void)state;
	assert_string_equal(node->name, "lb1");
	assert_int_equal(node->interface_count, 2);
	assert_string_equal(node->interfaces[1], "eth1");
	assert_int_equal(node->xdp, CONF_XDP_AUTO);
	assert_int_equal(node->engine, CONF_ENGINE_AF_XDP);
	assert_int_equal(node->workers, 3);
	assert_int_equal(node->path_mtu, 1500);
	assert_true(node->has_source4 && node->has_source6);
	assert_prefix(&node->source4, "100.64.1.0/24");
	assert_prefix(&node->source6, "2001:db8:f::/64");
	assert_int_equal(node->flows.entries, 65536);
	assert_int_equal(node->flows.insert_limit, 5000);
	assert_int_equal(node->reply_limit, 2000);
	assert_int_equal(node->slow_limit, 3000);
	assert_true(node->decap);
	assert_int_equal(node->balancer_count, 3);
	assert_prefix(&node->balancers[2], "::/0");
	assert_int_equal(node->flows.established_ms, 3600000);
	assert_int_equal(node->flows.handshake_ms, 20000);
	assert_int_equal(node->flows.closing_ms, 5000);
	assert_int_equal(node->flows.udp_ms, 120000);
	assert_string_equal(conf->seed, "a \"seed\"\n\xe2\x98\xba \xf0\x9f\x98\x80 \x07");
	conf_free(conf);
}

static void test_pool(void **state)
{
	struct conf *conf = conf_expect_right(full);
	const struct conf_pool *pool = &conf->pools[0];

	(void)state;
	assert_int_equal(conf->pool_count, 1);
	assert_string_equal(pool->name, "web");
	assert_int_equal(pool->table_size, 1021);
	assert_int_equal(pool->check.type, CONF_CHECK_TCP);
	assert_int_equal(pool->check.port, 8080);
	assert_int_equal(pool->check.interval_ms, 1000);
	assert_int_equal(pool->check.timeout_ms, 500);
	assert_int_equal(pool->check.rise, 1);
	assert_int_equal(pool->check.fall, 5);
	assert_int_equal(pool->on_down, CONF_ON_DOWN_RESET);
	assert_int_equal(pool->on_down_keep_ms, 300000);
	assert_int_equal(pool->backup_below, 2);
	assert_int_equal(pool->slow_start_ms, 30000);
	assert_int_equal(pool->drain_limit_ms, 7200000);
	assert_int_equal(pool->backend_count, 3);
	assert_addr(&pool->backends[0].address, "10.0.1.11");
	assert_int_equal(pool->backends[0].weight, 0);
	assert_int_equal(pool->backends[0].port, 0);
	assert_int_equal(pool->backends[0].place.line, 27);
	assert_int_equal(pool->backends[0].place.column, 9);
	assert_int_equal(pool->backends[0].server_id, 1 << 24);
	assert_int_equal(pool->backends[1].weight, 100);
	assert_int_equal(pool->backends[1].state, CONF_STATE_DRAIN);
	assert_true(pool->backends[1].backup);
	assert_false(pool->backends[2].backup);
	assert_addr(&pool->backends[2].address, "2001:db8:9::9");
	assert_int_equal(pool->backends[2].weight, CONF_WEIGHT_MAX);
	assert_int_equal(pool->backends[2].state, CONF_STATE_MAINT);
	conf_free(conf);
}

static void test_service(void **state)
{
	struct conf *conf = conf_expect_right(full);
	const struct conf_service *service = &conf->services[0];

	(void)state;
	assert_int_equal(conf->service_count, 2);
	assert_string_equal(service->name, "shop");
	assert_ptr_equal(service->pool, &conf->pools[0]);
	assert_int_equal(service->vip_count, 4);
	assert_addr(&service->vips[1].addr, "198.51.100.11");
	assert_addr(&service->vips[2].addr, "2001:db8:10::10");
	assert_int_equal(service->listen_count, 5);
	assert_int_equal(service->listens[0].proto, IPPROTO_TCP);
	assert_int_equal(service->listens[1].proto, IPPROTO_UDP);
	assert_int_equal(service->listens[1].first, 80);
	assert_int_equal(service->listens[1].last, 80);
	assert_int_equal(service->forward, CONF_FORWARD_GENEVE);
	assert_int_equal(service->tracking, CONF_TRACKING_NONE);
	assert_int_equal(service->policy, CONF_POLICY_SOURCE_PREFIX);
	assert_int_equal(service->source_prefix4, 16);
	assert_int_equal(service->source_prefix6, 48);
	assert_true(service->tcp_server_id);
	assert_int_equal(service->fragments, CONF_FRAGMENTS_DROP);
	assert_int_equal(service->oversize_df, CONF_OVERSIZE_DROP);
	assert_int_equal(service->oversize_nodf, CONF_NODF_ICMP);
	assert_int_equal(service->mss_clamp, 1400);
	assert_int_equal(service->on_empty, CONF_EMPTY_PASS);
	assert_int_equal(service->allow_count, 2);
	assert_prefix(&service->allow[0], "::/0");
	assert_int_equal(service->deny_count, 2);
	assert_prefix(&service->deny[1], "10.2.0.1/32");
	assert_int_equal(service->rate_limit, 3000);
	assert_int_equal(conf->services[1].allow_count, 0);
	conf_free(conf);
}

static void test_defaults(void **state)
{
	struct conf *conf = conf_expect_right(plain);
	const struct conf_pool *pool = &conf->pools[0];
	char name[CONF_NAME_MAX + 1];

	(void)state;
	conf_default_name(name);
	assert_string_equal(conf->node.name, name);
	assert_int_equal(conf->node.xdp, CONF_XDP_NATIVE);
	assert_int_equal(conf->node.path_mtu, 0);
	assert_false(conf->node.has_source4 || conf->node.has_source6);
	assert_int_equal(conf->node.flows.entries, 1000000);
	assert_int_equal(conf->node.flows.insert_limit, 125000);
	assert_int_equal(conf->node.reply_limit, 1000);
	assert_int_equal(conf->node.flows.established_ms, 7200000);
	assert_int_equal(conf->node.flows.handshake_ms, 30000);
	assert_int_equal(conf->node.flows.closing_ms, 15000);
	assert_int_equal(conf->node.flows.udp_ms, 60000);
	assert_string_equal(conf->seed, "");
	assert_int_equal(pool->table_size, 2039);
	assert_int_equal(pool->check.type, CONF_CHECK_TCP);
	assert_int_equal(pool->check.port, 80);
	assert_int_equal(pool->check.interval_ms, 2000);
	assert_int_equal(pool->check.timeout_ms, 1000);
	assert_int_equal(pool->check.rise, 2);
	assert_int_equal(pool->check.fall, 3);
	assert_int_equal(pool->on_down, CONF_ON_DOWN_KEEP);
	assert_int_equal(pool->on_down_keep_ms, 60000);
	assert_int_equal(pool->backup_below, 1);
	assert_int_equal(pool->slow_start_ms, 0);
	assert_int_equal(pool->drain_limit_ms, 3600000);
	assert_false(pool->backends[0].backup);
	assert_int_equal(pool->backends[0].weight, 100);
	assert_int_equal(pool->backends[0].state, CONF_STATE_ACTIVE);
	assert_int_equal(conf->services[0].tracking, CONF_TRACKING_TRANSITION);
	assert_int_equal(conf->services[0].oversize_df, CONF_OVERSIZE_ICMP);
	conf_free(conf);
}

static void test_agent(void **state)
{
	struct err_list errors = {0};
	struct conf_agent *agent = NULL;

	(void)state;
	assert_true(conf_is_agent(agent_full, strlen(agent_full)));
	assert_false(conf_is_agent(full, strlen(full)));
	assert_false(conf_is_agent("agent", 5));
	assert_int_equal(conf_agent_parse(agent_full, strlen(agent_full), &agent, &errors), 0);
	assert_string_equal(agent->name, "b1");
	assert_string_equal(agent->interfaces[0], "eth0");
	assert_int_equal(agent->xdp, CONF_XDP_NATIVE);
	assert_int_equal(agent->balancer_count, 3);
	assert_prefix(&agent->balancers[1], "192.0.2.11/32");
	assert_int_equal(agent->peer_count, 2);
	assert_prefix(&agent->peers[1], "2001:db8:1::12/128");
	assert_int_equal(agent->netns_count, 2);
	assert_string_equal(agent->netns[1], "cni-1f");
	assert_int_equal(agent->vip_count, 2);
	assert_addr(&agent->vips[0].addr, "198.51.100.10");
	assert_int_equal(agent->path_mtu, 1500);
	conf_agent_free(agent);
}

/* A mapping shared by an anchor is read in each place; the port is the first TCP one of all. */
/* Their connections are counted, peers or not. */
static void test_agent_has_namespaces_without_peers(void **state)
{
	static const char text[] = "agent: {interfaces: [e], balancers: [10.0.0.1], "
				   "vips: [192.0.2.1], netns: [web]}\n";
	struct err_list errors = {0};
	struct conf_agent *agent;

	(void)state;
	assert_int_equal(conf_agent_parse(text, strlen(text), &agent, &errors), 0);
	assert_int_equal(agent->netns_count, 1);
	assert_int_equal(agent->peer_count, 0);
	conf_agent_free(agent);
}

static void test_aliases_and_ports(void **state)
{
	struct conf *conf = conf_expect_right(
		NODE "pools:\n"
		     "  - {name: a, backends: &b [{name: b1, address: 10.0.0.1}]}\n"
		     "  - {name: b, check: &c {interval: 5s}, backends: *b}\n"
		     "services:\n"
		     "  - {name: s, vips: [192.0.2.1], listen: [udp/53], pool: b}\n"
		     "  - {name: t, vips: [192.0.2.1], listen: [udp/54, tcp/53, tcp/54], pool: b}\n"
		     "  - {name: u, vips: [192.0.2.2], listen: [tcp/9], pool: a}\n");

	(void)state;
	assert_int_equal(conf->pools[0].check.port, 9);
	assert_int_equal(conf->pools[1].check.port, 53);
	assert_int_equal(conf->pools[1].check.interval_ms, 5000);
	assert_addr(&conf->pools[1].backends[0].address, "10.0.0.1");
	conf_free(conf);
}

static void test_warnings(void **state)
{
	static const char text[] = NODE
		"pools:\n"
		"  - {name: idle, backends: [{name: b1, address: 10.0.0.1, weight: 0}]}\n";
	struct conf *conf = conf_expect_right(text);
	struct err_list warnings = {0};

	(void)state;
	assert_int_equal(conf->pools[0].check.type, CONF_CHECK_NONE);
	conf_warnings(conf, &warnings);
	assert_int_equal(warnings.count, 3);
	assert_non_null(strstr(warnings.errors[0].text, "there is no service"));
	assert_non_null(strstr(warnings.errors[1].text, "no service uses pool \"idle\""));
	assert_int_equal(warnings.errors[1].line, 3);
	assert_non_null(strstr(warnings.errors[2].text, "weight 0"));
	err_list_fini(&warnings);
	conf_free(conf);
	conf = conf_expect_right(full);
	conf_warnings(conf, &warnings);
	assert_int_equal(warnings.count, 0);
	conf_free(conf);
}

/* Backups that always serve, or a limit without them, can hardly be meant. */
static void test_backup_warnings(void **state)
{
	static const struct {
		const char *text, *warning;
	} cases[] = {
		{BACKENDS("{name: b1, address: 10.0.1.1, backup: true}"),
		 "every backend of pool \"web\" is a backup"},
		{POOL_OF("backup_below: 2"), "\"web\" has backup_below but no backup"},
		{NODE "pools: [{name: web, backup_below: 2, backends: [{name: b1, address: "
		      "10.0.1.1}, {name: b2, address: 10.0.1.2, backup: true}]}]\n" SERVICE,
		 "\"web\" has backup_below 2 and 1 backend that is no backup"},
		{BACKENDS("{name: b1, address: 10.0.1.1}, {name: b2, address: 10.0.1.2, backup: "
			  "true}"),
		 NULL},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct conf *conf = conf_expect_right(cases[i].text);
		struct err_list warnings = {0};

		conf_warnings(conf, &warnings);
		assert_int_equal(warnings.count, cases[i].warning ? 1 : 0);
		if (cases[i].warning)
			assert_non_null(strstr(warnings.errors[0].text, cases[i].warning));
		err_list_fini(&warnings);
		conf_free(conf);
	}
}

/* --- wrong files --- */

static void test_wrong_files(void **state)
{
	(void)state;
	conf_expect_refused(wrong_cases, LENGTH(wrong_cases));
}

/* A file that uses all that is planned: one error for each key that does not work. */
static void test_not_yet(void **state)
{
	static const char text[] =
		"node: {interfaces: [eth0], admin: \"[::1]:9700\"}\n"
		"bgp: {asn: 65010, router_id: 192.0.2.1, peers: [{address: 192.0.2.254, asn: "
		"65000}]}\n"
		"pools:\n"
		"  - name: web\n"
		"    check: {type: http, port: 80, path: /healthz, expect: [200], via: tunnel}\n"
		"    backends:\n"
		"      - {name: b1, address: 10.0.1.11, weight: 100}\n"
		"      - {name: b9, address: \"2001:db8:9::9\", weight: 50}\n"
		"services:\n"
		"  - name: shop\n"
		"    vips: [198.51.100.10, \"2001:db8:10::10\"]\n"
		"    listen: [tcp/80, tcp/8000-8099]\n"
		"    pool: web\n"
		"    forward: nat\n"
		"    announce: {min_usable: 1, when: any, med: 10}\n";
	static const struct wrong wrongs[] = {
		{14, 14, "forward"},
	};
	struct err_list errors = {0};
	struct conf *conf = NULL;

	(void)state;
	assert_int_equal(conf_parse(text, strlen(text), &conf, &errors), -EINVAL);
	conf_expect_wrongs(text, &errors, wrongs, LENGTH(wrongs));
	for (size_t i = 0; i < errors.count; i++)
		assert_non_null(strstr(errors.errors[i].text, "not work yet"));
	err_list_fini(&errors);
}

static void test_wrong_agents(void **state)
{
	static const struct wrong_case cases[] = {
		{"agent: {}\n",
		 {{1, 8, "interfaces is missing"},
		  {1, 8, "balancers is missing in agent"},
		  {1, 8, "vips is missing"}}},
		{"agent: {interfaces: [e], balancers: [10.0.0.1], vips: [192.0.2.1], peers: "
		 "[10.0.1.0/24, 10.0.1.0/24], netns: [../x, x, x]}\n",
		 {{1, 89, "peer 10.0.1.0/24 is there already"},
		  {1, 111, "netns \"../x\" is not a name"},
		  {1, 120, "network namespace x is there already"}}},
		{"agent: {interfaces: [e], balancers: [10.0.0.1], vips: [192.0.2.1], peers: "
		 "[10.0.1.0/24], forward: [ipip]}\n",
		 {{1, 76, "peers hand packets on by gue alone, expected it in forward"}}},
		{"agent: {interfaces: [e, e], balancers: [\"::/0\", 10.0.0.0/33, 10.0.0.1, "
		 "10.0.0.1/32],"
		 " vips: [192.0.2.1, 192.0.2.1], xdp: no}\nnode: {}\n",
		 {{1, 25, "interface e is there already"},
		  {1, 49, "\"10.0.0.0/33\" is not a prefix"},
		  {1, 72, "balancer 10.0.0.1 is there already"},
		  {1, 104, "VIP 192.0.2.1 is there already"},
		  {1, 121, "xdp \"no\" is not known"},
		  {2, 1, "unknown key \"node\", expected one of agent"}}},
	};

	(void)state;
	conf_expect_agents_refused(cases, LENGTH(cases));
}

/* --- the way back --- */

static void assert_same_service(const struct conf_service *a, const struct conf_service *b)
{
	assert_int_equal(a->vip_count, b->vip_count);
	assert_int_equal(a->listen_count, b->listen_count);
	assert_int_equal(a->allow_count, b->allow_count);
	assert_int_equal(a->deny_count, b->deny_count);
	assert_memory_equal(a->vips, b->vips, a->vip_count * sizeof(*a->vips));
	assert_memory_equal(&a->quic, &b->quic, sizeof(a->quic));
	assert_int_equal(a->forward, b->forward);
	assert_int_equal(a->tracking, b->tracking);
	assert_int_equal(a->policy, b->policy);
	assert_int_equal(a->source_prefix4, b->source_prefix4);
	assert_int_equal(a->source_prefix6, b->source_prefix6);
	assert_int_equal(a->tcp_server_id, b->tcp_server_id);
	assert_int_equal(a->fragments, b->fragments);
	assert_int_equal(a->oversize_df, b->oversize_df);
	assert_int_equal(a->oversize_nodf, b->oversize_nodf);
	assert_int_equal(a->mss_clamp, b->mss_clamp);
	assert_int_equal(a->on_empty, b->on_empty);
	assert_int_equal(a->rate_limit, b->rate_limit);
}

static void assert_round_trip(const char *text)
{
	struct conf *conf = conf_expect_right(text), *again;
	char *form = conf_format(conf), *second;

	again = conf_expect_right(form);
	second = conf_format(again);
	assert_string_equal(form, second);
	assert_string_equal(conf->seed, again->seed);
	assert_int_equal(conf->pool_count, again->pool_count);
	assert_int_equal(conf->service_count, again->service_count);
	for (size_t i = 0; i < conf->service_count; i++)
		assert_same_service(&conf->services[i], &again->services[i]);
	/* Counts are behind pointers; these have none, up to where they begin. */
	assert_memory_equal(&conf->node.flows, &again->node.flows, sizeof(conf->node.flows));
	for (size_t i = 0; i < conf->pool_count; i++) {
		assert_memory_equal(&conf->pools[i].check, &again->pools[i].check,
				    offsetof(struct conf_check, path));
		assert_int_equal(conf->pools[i].table_size, again->pools[i].table_size);
	}
	free(form);
	free(second);
	conf_free(conf);
	conf_free(again);
}

static void test_round_trip(void **state)
{
	struct err_list errors = {0};
	struct conf_agent *agent = NULL, *again = NULL;
	char *form, *second;

	(void)state;
	assert_round_trip(full);
	assert_round_trip(plain);
	assert_round_trip("node: {interfaces: [\"~\"], name: \"1\"}\nseed: \"\\xff:\\u2028 # \"\n");
	assert_int_equal(conf_agent_parse(agent_full, strlen(agent_full), &agent, &errors), 0);
	form = conf_agent_format(agent);
	assert_int_equal(conf_agent_parse(form, strlen(form), &again, &errors), 0);
	second = conf_agent_format(again);
	assert_string_equal(form, second);
	assert_non_null(strstr(form, "xdp: native"));
	free(form);
	free(second);
	conf_agent_free(agent);
	conf_agent_free(again);
}

/* --- the table --- */

static void test_rows(void **state)
{
	(void)state;
	assert_in_range(conf_key_count(), 1, CONF_KEYS_MAX);
	for (size_t i = 0; i < conf_key_count(); i++) {
		const struct conf_key *key = conf_key(i);
		char expected[EXPECTED_ROOM];

		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(key->path, conf_key(j)->path);
		assert_true(strlen(key->help) > 0);
		assert_true(strlen(conf_key_expected(key, expected, sizeof(expected))) > 0);
		assert_true(strlen(expected) < sizeof(expected) - 1);
		/* A choice is known by its place, so what is stored must be among what works. */
		assert_true(!key->width || conf_key_works(key));
		assert_true(!key->means == !key->with);
	}
}

/* docs/weir.yaml.5 holds what `weir check --keys=mdoc` prints, between two comments. */
static void test_manual(void **state)
{
	static const char begin[] = ".\\\" keys: begin\n", end[] = ".\\\" keys: end\n";
	char *keys = conf_keys_manual(true), *text, *from, *to;
	struct err err;
	size_t length;

	(void)state;
	if (conf_read(manual_path, &text, &length, &err))
		fail_msg("%s (run from the top directory)", err.text);
	from = strstr(text, begin);
	to = strstr(text, end);
	assert_non_null(from);
	assert_non_null(to);
	*to = '\0';
	assert_string_equal(from + strlen(begin), keys);
	free(text);
	free(keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_node),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_service),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_agent),
		cmocka_unit_test(test_agent_has_namespaces_without_peers),
		cmocka_unit_test(test_aliases_and_ports),
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_wrong_files),
		cmocka_unit_test(test_not_yet),
		cmocka_unit_test(test_wrong_agents),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_manual),
		cmocka_unit_test(test_backup_warnings),
	};

	return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
