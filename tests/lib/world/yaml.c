// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/world/world.h"

/*
 * The services of world.c that a file can have, for `weir trace --down e1`; a pool for each of
 * them, two ports for the range.
 */
const char world_yaml[] = "node:\n"
			  "  name: world\n"
			  "  interfaces: [lo]\n"
			  "  path_mtu: 1500\n"
			  "  tunnel: {source4: 100.64.1.0/24, source6: \"2001:db8:f::/64\"}\n"
			  "  flows: {entries: 4096}\n"
			  "  reply_limit: 1M\n"
			  "seed: seed-of-the-world\n"
			  "pools:\n"
			  "  - name: one4\n"
			  "    check: {type: none}\n"
			  "    backends: [{name: b4, address: 10.0.1.11}]\n"
			  "  - name: one6\n"
			  "    check: {type: none}\n"
			  "    backends: [{name: b6, address: \"2001:db8:9::9\"}]\n"
			  "  - name: loose\n"
			  "    check: {type: none}\n"
			  "    backends: [{name: l1, address: 10.0.1.12}]\n"
			  "  - name: many\n"
			  "    table_size: 251\n"
			  "    check: {type: none}\n"
			  "    backends:\n"
			  "      - {name: m1, address: 10.0.2.1}\n"
			  "      - {name: m2, address: 10.0.2.2}\n"
			  "      - {name: m3, address: \"2001:db8:9::3\"}\n"
			  "      - {name: m4, address: \"2001:db8:9::4\"}\n"
			  "  - name: empty\n"
			  "    check: {type: none}\n"
			  "    backends: [{name: e1, address: 10.0.3.4}]\n"
#define POOL_OF_MODE(name, address) \
	"  - name: " name "\n"      \
	"    check: {type: none}\n" \
	"    backends: [{name: " name "b, address: \"" address "\"}]\n"
	POOL_OF_MODE("gre4", "10.0.4.1") POOL_OF_MODE("gre6", "2001:db8:9::41") POOL_OF_MODE(
		"gue4", "10.0.4.2") POOL_OF_MODE("gue6", "2001:db8:9::42")
		POOL_OF_MODE("link4", "10.0.4.3") POOL_OF_MODE("link6", "2001:db8:9::43")
#undef POOL_OF_MODE
			"  - name: geneve4\n"
			"    check: {type: none}\n"
			"    backends: [{name: geneve4b, address: \"10.0.5.1\"}]\n"
			"  - name: geneve6\n"
			"    check: {type: none}\n"
			"    backends: [{name: geneve6b, address: \"2001:db8:9::52\"}]\n"
			"  - name: geneve4p\n"
			"    check: {type: none}\n"
			"    backends: [{name: geneve4pb, address: \"10.0.5.3\", port: 8080}]\n"
			"  - name: geneve6p\n"
			"    check: {type: none}\n"
			"    backends: [{name: geneve6pb, address: \"2001:db8:9::54\", port: "
			"8080}]\n"
			"  - name: ipopt4p\n"
			"    check: {type: none}\n"
			"    backends: [{name: ipopt4pb, address: \"10.0.5.7\", port: 8080}]\n"
			"  - name: ipopt6p\n"
			"    check: {type: none}\n"
			"    backends: [{name: ipopt6pb, address: \"2001:db8:9::58\", port: "
			"8080}]\n"
			"services:\n"
			"  - name: one4\n"
			"    vips: [198.51.100.10, \"2001:db8:10::10\"]\n"
			"    listen: [tcp/80, tcp/8000, tcp/8099, udp/53]\n"
			"    pool: one4\n"
			"    forward: ipip\n"
			"    tracking: always\n"
			"    oversize_nodf: drop\n"
			"    on_empty: drop\n"
			"  - name: one6\n"
			"    vips: [198.51.100.20, \"2001:db8:10::20\"]\n"
			"    listen: [tcp/80, udp/443]\n"
			"    pool: one6\n"
			"    forward: ipip\n"
			"    tracking: always\n"
			"    oversize_nodf: drop\n"
			"    on_empty: drop\n"
			"  - name: loose\n"
			"    vips: [198.51.100.10, \"2001:db8:10::10\"]\n"
			"    listen: [tcp/9000]\n"
			"    pool: loose\n"
			"    forward: ipip\n"
			"    tracking: none\n"
			"    oversize_df: drop\n"
			"    oversize_nodf: drop\n"
			"    on_empty: drop\n"
			"  - name: many\n"
			"    vips: [198.51.100.30, \"2001:db8:10::30\"]\n"
			"    listen: [tcp/443, udp/443]\n"
			"    pool: many\n"
			"    forward: ipip\n"
			"    tracking: always\n"
			"    oversize_nodf: drop\n"
			"    on_empty: drop\n"
			"  - name: empty\n"
			"    vips: [198.51.100.40, \"2001:db8:10::40\"]\n"
			"    listen: [tcp/80]\n"
			"    pool: empty\n"
			"    forward: ipip\n"
			"    tracking: always\n"
			"    oversize_nodf: drop\n"
			"    on_empty: drop\n"
#define SERVICE_OF_MODE(name, mode, last)                              \
	"  - name: " name "\n"                                         \
	"    vips: [198.51.100." last ", \"2001:db8:10::" last "\"]\n" \
	"    listen: [tcp/80, udp/53]\n"                               \
	"    pool: " name "\n"                                         \
	"    forward: " mode "\n"                                      \
	"    oversize_nodf: drop\n"                                    \
	"    on_empty: drop\n"
	SERVICE_OF_MODE("gre4", "gre", "90") SERVICE_OF_MODE("gre6", "gre", "91") SERVICE_OF_MODE(
		"gue4", "gue", "92") SERVICE_OF_MODE("gue6", "gue", "93")
		SERVICE_OF_MODE("link4", "l2dsr", "94") SERVICE_OF_MODE("link6", "l2dsr", "95")
			SERVICE_OF_MODE("geneve4", "geneve", "150") SERVICE_OF_MODE("geneve6",
										    "geneve", "151")
				SERVICE_OF_MODE("geneve4p", "geneve", "152")
					SERVICE_OF_MODE("geneve6p", "geneve",
							"153") "  - name: ipopt4p\n"
							       "    vips: [198.51.100.156]\n"
							       "    listen: [tcp/80, udp/53]\n"
							       "    pool: ipopt4p\n"
							       "    forward: ipopt\n"
							       "    oversize_nodf: drop\n"
							       "    on_empty: drop\n"
							       "  - name: ipopt6p\n"
							       "    vips: [\"2001:db8:10::157\"]\n"
							       "    listen: [tcp/80, udp/53]\n"
							       "    pool: ipopt6p\n"
							       "    forward: ipopt\n"
							       "    oversize_nodf: drop\n"
							       "    on_empty: drop\n"
#undef SERVICE_OF_MODE
	;
