/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wrong files and what must be said of them: every error, in order, by its place and a part of its
 * text. The pieces make what a case is not about right, each on a line of its own.
 */
#pragma once

#include <stddef.h>

#define NODE    "node: {interfaces: [eth0]}\n"
#define POOL    "pools: [{name: web, backends: [{name: b1, address: 10.0.1.1}]}]\n"
#define SERVICE "services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web}]\n"

/* What is given stands in line 2 or 3. */
#define BACKENDS(text) NODE "pools: [{name: web, backends: [" text "]}]\n" SERVICE
#define POOL_OF(text) \
	NODE "pools: [{name: web, " text ", backends: [{name: b1, address: 10.0.1.1}]}]\n" SERVICE
#define SERVED(text) NODE POOL "services: [{" text "}]\n"
#define SHOP(text)   SERVED("name: shop, pool: web, vips: [192.0.2.1], listen: [tcp/80], " text)

struct wrong {
	int line, column;
	const char *part;
};

struct wrong_case {
	const char *text;
	struct wrong wrongs[8]; /* ended by line 0 */
};

static const struct wrong_case wrong_cases[] = {
	{"node: {name: agent-b1, interfaces: [eth0]}\n" POOL SERVICE,
	 {{1, 14, "does not begin with agent-"}}},
	/* --- not YAML, or not for us --- */
	{"", {{1, 1, "is empty"}}},
	{"# nothing\n", {{1, 1, "is empty"}}},
	{"---\n...\n", {{2, 1, "is empty, expected a mapping"}}},
	{"- a\n", {{1, 1, "the file is a list, expected a mapping"}}},
	{"text\n", {{1, 1, "the file is a single value"}}},
	{NODE "pools: [\n", {{3, 1, "expected valid YAML"}}},
	{NODE "  x: 1\n", {{2, 3, "expected valid YAML"}}},
	{NODE "pools:\n\t- x\n", {{3, 1, "expected valid YAML"}}},
	{NODE "seed: \"\\q\"\n", {{2, 8, "expected valid YAML"}}},
	{NODE "seed: *nobody\n", {{2, 7, "undefined alias, expected valid YAML"}}},
	{NODE "seed: caf\xe9\n", {{2, 10, "byte 0xe9 here is not UTF-8"}}},
	{NODE "seed: \"\xc3\xa9 \xc0\x80\"\n", {{2, 10, "byte 0xc0 here is not UTF-8"}}},
	{NODE "seed: a\x01\n", {{2, 8, "a control character"}}},
	{NODE "seed: \"\\0\"\n", {{2, 7, "holds a zero byte"}}},
	{NODE "---\n" NODE, {{2, 1, "a second document"}}},
	{NODE "seed: !!str x\n", {{2, 7, "a tag has no meaning"}}},
	{"%TAG ! x\n---\n" NODE, {{1, 1, "a %TAG directive has no meaning"}}},
	{NODE "seed: \"\xc2\x85\xe2\x80\xa8\"\n%TAG ! x\n", {{5, 1, "a %TAG directive"}}},
	{NODE "<<: {}\n", {{2, 1, "merge keys are not taken"}}},
	{NODE "? [a]\n: 1\n", {{2, 3, "a key is a list, expected a name"}}},
	{NODE "seed: [[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]\n", {{2, 22, "nested too deep"}}},
	{"node: &n {interfaces: [eth0], tunnel: *n}\n",
	 {{1, 11, "unknown key \"interfaces\""}, {1, 31, "unknown key \"tunnel\""}}},

	/* --- keys --- */
	{NODE "nodes: 1\n", {{2, 1, "unknown key \"nodes\" (did you mean node?)"}}},
	{NODE "qqq: 1\n", {{2, 1, "unknown key \"qqq\", expected one of node, seed, pools"}}},
	{NODE "agent: {}\n", {{2, 1, "unknown key \"agent\""}}},
	{NODE NODE, {{2, 1, "node is given twice, first in line 1"}}},
	{"seed: x\n", {{1, 1, "node is missing, expected a mapping"}}},
	{"node: {}\n", {{1, 7, "interfaces is missing in node, expected a list of 1 to 16"}}},
	{"node:\n", {{1, 6, "node is empty, expected a mapping"}}},
	{"node: [x]\n", {{1, 7, "node is a list, expected a mapping"}}},
	{BACKENDS("{name: b1, address: 10.0.1.1, wieght: 3}"),
	 {{2, 62, "unknown key \"wieght\" (did you mean weight?)"}}},
	{BACKENDS("{name: b1, addres: 10.0.1.1}"),
	 {{2, 32, "address is missing in an element of backends"},
	  {2, 43, "unknown key \"addres\" (did you mean address?)"}}},
	{BACKENDS("b1"), {{2, 32, "an element of backends is a single value, expected a mapping"}}},
	{NODE "seed\xd1\x81: x\n", {{2, 1, "unknown key \"seed\\xd1\\x81\""}}},
	{NODE "bgp: {asn: 1}\nsource: {file: x}\n",
	 {{2, 1, "bgp does not work yet"}, {3, 1, "source does not work yet"}}},

	/* --- the node --- */
	{"node: {interfaces: eth0}\n", {{1, 20, "interfaces is a single value, expected a list"}}},
	{"node: {interfaces: []}\n", {{1, 20, "interfaces has 0 elements"}}},
	{"node: {interfaces: [eth0, eth0]}\n", {{1, 27, "interface eth0 is there already"}}},
	{"node: {interfaces: [a/b, abcdefghijklmnop, ..]}\n",
	 {{1, 21, "\"a/b\""}, {1, 26, "\"abcdefghijklmnop\""}, {1, 44, "\"..\""}}},
	{"node: {interfaces: [eth0], name: -x}\n", {{1, 34, "name \"-x\" is not a name"}}},
	{"node: {interfaces: [eth0], name: ~}\n", {{1, 34, "name is empty"}}},
	{"node: {interfaces: [eth0], xdp: fast}\n",
	 {{1, 33, "xdp \"fast\" is not known, expected one of native, generic, auto"}}},
	{"node: {interfaces: [eth0], path_mtu: 500}\n", {{1, 38, "\"500\" is too small"}}},
	{"node: {interfaces: [eth0], path_mtu: 9217}\n", {{1, 38, "from 576 to 9216"}}},
	{"node: {interfaces: [eth0], path_mtu: 1279}\n" POOL
	 "services: [{name: s, vips: [\"2001:db8::1\"], listen: [tcp/80], pool: web}]\n",
	 {{1, 38, "path_mtu 1279 is too small for the IPv6 addresses"}}},
	{"node: {interfaces: [eth0], admin: 127.0.0.1:9700}\n",
	 {{1, 28, "admin does not work yet"}}},
	{"node: {interfaces: [eth0], tunnel: {source4: \"2001:db8::/64\", source6: 10.0.0.0/8}}\n",
	 {{1, 46, "is not IPv4"}, {1, 72, "is not IPv6"}}},
	{"node: {interfaces: [eth0], tunnel: {source4: 127.0.0.0/8, source6: \"ff00::/8\"}}\n",
	 {{1, 46, "has addresses that no host can have, expected an IPv4 prefix"},
	  {1, 68, "has addresses that no host can have, expected an IPv6 prefix"}}},
	{"node: {interfaces: [eth0], tunnel: {source4: 0.0.0.0/0, source6: \"::/1\"}}\n",
	 {{1, 46, "has addresses that no host"}, {1, 66, "has addresses that no host"}}},
	{"node: {interfaces: [eth0], tunnel: {source4: 128.0.0.0/1}}\n",
	 {{1, 46, "has addresses that no host"}}},
	{"node: {interfaces: [eth0], tunnel: {source4: 10.0.0.1/8}}\n",
	 {{1, 46, "has bits set past its length"}}},
	{"node: {interfaces: [eth0], flows: {entries: 1000, insert_limit: 1T, udp: 60}}\n",
	 {{1, 45, "\"1000\" is too small, expected a number such as 5000 or 125k from 1Ki to 64Mi"},
	  {1, 65, "\"1T\" is not a whole number"},
	  {1, 74, "\"60\" has no unit, expected a duration such as 500ms"}}},
	{"node: {interfaces: [eth0], flows: {established: 25h, handshake: 1d, closing: 999ms}}\n",
	 {{1, 49, "is too large"}, {1, 65, "unknown unit"}, {1, 78, "is too small"}}},

	/* --- pools --- */
	{NODE "pools: [{name: web, backends: []}]\n", {{2, 31, "backends has 0 elements"}}},
	{NODE "pools: [{name: web}]\n", {{2, 9, "backends is missing in an element of pools"}}},
	{POOL_OF("hash: ring"), {{2, 27, "hash \"ring\" does not work yet, expected maglev"}}},
	{POOL_OF("table_size: 1000"),
	 {{2, 33,
	   "table_size \"1000\" is not a size that Maglev allows, expected auto, or one of"}}},
	{POOL_OF("check: {type: http}"),
	 {{2, 35, "type \"http\" does not work yet, expected one of"}}},
	{POOL_OF("check: {type: ping}"), {{2, 35, "type \"ping\" is not known"}}},
	{POOL_OF("check: {port: 0, via: tunnel, rise: 0, fall: x}"),
	 {{2, 35, "port \"0\" is too small, expected a whole number from 1 to 65535"},
	  {2, 43, "via \"tunnel\" does not work yet, expected node"},
	  {2, 57, "rise \"0\" is too small"},
	  {2, 66, "fall \"x\" is not a whole number"}}},
	{POOL_OF("check: {interval: 1s, timeout: 2s}"),
	 {{2, 52, "timeout of 2000 ms is longer than the interval of 1000 ms"}}},
	{POOL_OF("check: {timeout: 3s}"), {{2, 38, "timeout of 3000 ms is longer"}}},
	{POOL_OF("on_down: drop, on_down_keep: 1"),
	 {{2, 30, "one of keep, reset"}, {2, 50, "no unit"}}},
	{POOL_OF("slow_start: 1s, drain_limit: 1h, backup_below: 1"),
	 {{2, 21, "slow_start does"}, {2, 37, "drain_limit does"}, {2, 54, "backup_below does"}}},
	{NODE POOL "services: [{name: s, vips: [192.0.2.1], listen: [udp/53], pool: web}]\n",
	 {{2, 9,
	   "the check of pool \"web\" has no port and no service of the pool listens on a TCP "
	   "port"}}},
	{NODE "pools:\n"
	      "  - {name: web, backends: [{name: b1, address: 10.0.1.1}]}\n"
	      "  - {name: web, backends: [{name: b1, address: 10.0.1.1}]}\n",
	 {{4, 12, "pool web is there already in line 3"}}},

	/* --- backends --- */
	{BACKENDS("{name: b1, address: 10.0.1.300}"),
	 {{2, 52, "\"10.0.1.300\" is not an IP address"}}},
	{BACKENDS("{name: b1, address: 10.0.1.0/24}"), {{2, 52, "is a prefix"}}},
	{BACKENDS("{name: b1, address: 127.0.0.1}"), {{2, 52, "is a loopback address"}}},
	{BACKENDS("{name: b1, address: \"::1\"}"), {{2, 52, "is a loopback address"}}},
	{BACKENDS("{name: b1, address: 224.0.0.1}"), {{2, 52, "is a multicast address"}}},
	{BACKENDS("{name: b1, address: \"ff02::1\"}"), {{2, 52, "is a multicast address"}}},
	{BACKENDS("{name: b1, address: 0.0.0.0}"), {{2, 52, "is not an address of a host"}}},
	{BACKENDS("{name: b1, address: \"::\"}"), {{2, 52, "is not an address of a host"}}},
	{BACKENDS("{name: b1, address: \"fe80::1\"}"), {{2, 52, "is a link-local address"}}},
	{BACKENDS("{name: b1, address: 169.254.1.1}"), {{2, 52, "is a link-local address"}}},
	{BACKENDS("{name: b1, address: 255.255.255.255}"), {{2, 52, "is the broadcast address"}}},
	{BACKENDS("{name: b1, address: \"::ffff:10.0.0.1\"}"), {{2, 52, "is not an IP address"}}},
	{BACKENDS("{name: b1, address: 192.0.2.1}"), {{2, 52, "of backend \"b1\" is a VIP"}}},
	{BACKENDS("{name: b1, address: 10.0.1.1, weight: -5}"),
	 {{2, 70, "weight \"-5\" is below 0"}}},
	{BACKENDS("{name: b1, address: 10.0.1.1, weight: 1.5}"),
	 {{2, 70, "is not a whole number"}}},
	{BACKENDS("{name: b1, address: 10.0.1.1, weight: 010}"), {{2, 70, "begins with a zero"}}},
	{BACKENDS("{name: b1, address: 10.0.1.1, weight: 1000001}"), {{2, 70, "is too large"}}},
	{BACKENDS("{name: b1, address: 10.0.1.1, weight: 99999999999999999999999}"),
	 {{2, 70, "is too large, expected a whole number from 0 to 1000000"}}},
	{BACKENDS("{name: b1, address: 10.0.1.1, state: up}"), {{2, 69, "active, drain, maint"}}},
	{BACKENDS("{name: b1, address: 10.0.1.1, backup: true}"), {{2, 70, "does not work yet"}}},
	{BACKENDS("{name: b1, address: 10.0.1.1, backup: 7}"),
	 {{2, 70, "is neither true nor false"}}},
	{BACKENDS("{name: b1, address: 10.0.1.1, port: 65536}"), {{2, 68, "is too large"}}},
	{BACKENDS("{name: b1, address: 10.0.1.1, port: 8080}"),
	 {{2, 68, "backend \"b1\" has port 8080 but service \"shop\" listens on 80: ipip cannot"}}},
	{BACKENDS("{name: b1, address: 10.0.1.1}, {name: b1, address: 10.0.1.2}"),
	 {{2, 70, "backend b1 is there already in line 2"}}},
	{BACKENDS("{name: b1, address: 10.0.1.1}, {name: b2, address: 10.0.1.1}"),
	 {{2, 83, "address 10.0.1.1 of backend \"b2\" is that of backend \"b1\" in line 2"}}},

	/* --- services --- */
	{SERVED("name: shop"),
	 {{3, 12, "vips is missing"}, {3, 12, "listen is missing"}, {3, 12, "pool is missing"}}},
	{SERVED("name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: wbe"),
	 {{3, 68, "pool \"wbe\" is not in this file"}}},
	{SERVED("name: shop, vips: [127.0.0.1], listen: [tcp/80], pool: web"),
	 {{3, 32, "loopback"}}},
	{SERVED("name: shop, vips: [192.0.2.1, 192.0.2.1], listen: [tcp/80], pool: web"),
	 {{3, 43, "VIP 192.0.2.1 is there already in line 3"}}},
	{SERVED("name: shop, vips: [192.0.2.1], listen: [tcp/0, tcp/65536, sctp/80, tcp, any, "
		"tcp/9-1], "
		"pool: web"),
	 {{3, 53, "\"tcp/0\" has a port out of range"},
	  {3, 60, "\"tcp/65536\" has a port out of range"},
	  {3, 71, "\"sctp/80\" is not a protocol and port"},
	  {3, 80, "\"tcp\" is not"},
	  {3, 90, "\"tcp/9-1\" is a range that ends before it begins"}}},
	{SERVED("name: shop, vips: [192.0.2.1], listen: [tcp/80, tcp/80], pool: web"),
	 {{3, 61,
	   "VIP and listen 192.0.2.1 tcp/80 of service \"shop\" is that of service \"shop\""}}},
	{NODE POOL SERVICE "seed: x\nseed: y\n", {{5, 1, "seed is given twice, first in line 4"}}},
	{NODE POOL "services:\n"
		   "  - {name: a, vips: [192.0.2.1, 192.0.2.2], listen: [tcp/80], pool: web}\n"
		   "  - {name: b, vips: [192.0.2.2], listen: [udp/80, tcp/80], pool: web}\n",
	 {{5, 51, "192.0.2.2 tcp/80 of service \"b\" is that of service \"a\" in line 4"}}},
	{NODE POOL "services:\n"
		   "  - {name: a, vips: [192.0.2.1], listen: &l [tcp/80], pool: web}\n"
		   "  - {name: a, vips: [192.0.2.1], listen: *l, pool: web}\n",
	 {{4, 46, "of service \"a\" is that of service \"a\""},
	  {5, 12, "service a is there already"}}},
	{SHOP("forward: nat"),
	 {{3, 82,
	   "forward \"nat\" does not work yet, expected one of ipip, gre, gue, geneve, ipopt"}}},
	{NODE "pools: [{name: web, backends: [{name: b1, address: 10.0.1.1, port: 8080}]}]\n"
	      "services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web, "
	      "forward: gre}]\n",
	 {{2, 68, "listens on 80: gre cannot change ports"}}},
	{NODE "pools: [{name: web, backends: [{name: b1, address: 10.0.1.1, port: 8080}]}]\n"
	      "services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web, "
	      "forward: gue}]\n",
	 {{2, 68, "listens on 80: gue cannot change ports"}}},
	{NODE "pools: [{name: web, backends: [{name: b1, address: 10.0.1.1, port: 8080}]}]\n"
	      "services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web, "
	      "forward: l2dsr}]\n",
	 {{2, 68, "listens on 80: l2dsr cannot change ports"}}},
	{SHOP("forward: ipsec"),
	 {{3, 82, "forward \"ipsec\" is not known, expected one of ipip, gre, gue, geneve"}}},
	{SHOP("tracking: transition"),
	 {{3, 83, "does not work yet, expected one of always, none"}}},
	{SHOP("second_chance: true"), {{3, 88, "does not work yet, expected false"}}},
	{SHOP("announce: {med: 10}"), {{3, 73, "announce does not work yet"}}},
};
