#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Two balancers in a row: the first one's only backend is the second, which takes the tunnel off
# (decap: true) and forwards what was in it to the real one. HTTP over IPv4 and IPv6, by each mode
# that the first may send.
#
#   client -- router -- lb1, whose backend is lb2
#                  \--- lb2, whose backend is b1
#                   \-- b1 (agent, nginx)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# first_config MODE: lb1's.
first_config() {
	cat <<-END
		node:
		  name: $TAG-lb1
		  interfaces: [eth0]
		  xdp: native
		  tunnel: {source4: 100.64.1.0/24, source6: "2001:db8:f:1::/64"}
		pools:
		- {name: tier4, check: {type: none}, backends: [{name: lb2, address: 192.0.2.12}]}
		- name: tier6
		  check: {type: none}
		  backends: [{name: lb2, address: "2001:db8:2::12"}]
		services:
		- {name: shop4, vips: [$VIP4], listen: [tcp/80], pool: tier4, forward: $1}
		- {name: shop6, vips: ["$VIP6"], listen: [tcp/80], pool: tier6, forward: $1}
	END
}

# second_config LINES: lb2's, with these keys of the node besides.
second_config() {
	node_config 2 | sed '/^  tunnel:/r '<(printf '%s' "$1")
}

second_with() {
	end lb2
	second_config "$1" >"$DIR/lb2.yaml"
	node_start 2
}

get() { in_ns client curl -sf -m "${2:-20}" "$1"; }
both_answer() { [ "$(get http://$VIP4/ 5)" = b1 ] && [ "$(get "http://[$VIP6]/" 5)" = b1 ]; }
whole_file() { get "$1/file" 60 | cmp - "$DIR/www/file"; }
count() { node_status "$1" | json_number ".verdicts.$2.packets"; }

# more NUMBER VERDICT THAN
more() { [ "$(count "$1" "$2")" -gt "$3" ]; }

# first_with MODE
first_with() {
	end lb1
	first_config "$1" >"$DIR/lb1.yaml"
	spawn lb1 lb1 "$WEIR" run --config "$DIR/lb1.yaml"
	wait_for 15 both_answer
}

netns_begin
mkdir "$DIR/www"
head -c 1000000 /dev/urandom >"$DIR/www/file"
topology 2 1
NEXTHOPS=(1)
router_start
backend_start b1
agent_start b1

second_with '  decap: true
  balancers: [100.64.1.0/24, 192.0.2.11, "2001:db8:f:1::/64", "2001:db8:2::11"]
'
for mode in ipip gre gue geneve; do
	must "two balancers in a row answer, the first by $mode" first_with $mode
	before1=$(count 1 forwarded) before2=$(count 2 forwarded)
	must "a file comes whole" whole_file http://$VIP4
	must "over IPv6 too" whole_file "http://[$VIP6]"
	must "the first forwarded it" wait_for 5 more 1 forwarded $((before1 + 10))
	must "and so did the second" wait_for 5 more 2 forwarded $((before2 + 10))
done
must "the second refused nobody" test "$(count 2 bad_source)" = 0

second_with '  decap: true
  balancers: [100.64.9.0/24, "2001:db8:f:9::/64"]
'
must_not "a tunnel from another source is refused" get http://$VIP4/ 1
must_not "over IPv6 too" get "http://[$VIP6]/" 1
must "and counted" wait_for 5 more 2 bad_source 1

second_with ''
must_not "without decap nothing is taken off" get http://$VIP4/ 1
must "it is the host's" wait_for 5 more 2 not_vip 0
must "and no other's tunnel is told from a stranger's" test "$(count 2 bad_source)" = 0

# Each is the other's backend: a packet goes to and fro until the outer TTL is used up.
# circle_config NUMBER OTHER
circle_config() {
	first_config ipip | sed -e "s/lb1\$/lb$1/; s/192.0.2.12/192.0.2.1$2/; s/:2::12/:2::1$2/" \
		-e "s/100.64.1.0/100.64.$1.0/; s/:f:1::/:f:$1::/" -e "/^  tunnel:/a\\
  decap: true\\
  balancers: [100.64.$2.0/24, \"2001:db8:f:$2::/64\"]"
}

given_up() { say $(($(count 1 circled) + $(count 2 circled))); }
both_up() { [ "$(count 1 circled)" = 0 ] && [ "$(count 2 circled)" = 0 ]; }
more_given_up() { [ "$(given_up)" -gt "$1" ]; }

end lb1
end lb2
circle_config 1 2 >"$DIR/lb1.yaml"
circle_config 2 1 >"$DIR/lb2.yaml"
for i in 1 2; do
	spawn lb$i lb$i "$WEIR" run --config "$DIR/lb$i.yaml"
done
must "two that send to each other are up" wait_for 15 both_up
must_not "and nobody answers" get http://$VIP4/ 1
must "its packets are given up" wait_for 10 more_given_up 0
before=$(given_up) sent=$(count 1 forwarded)
must_not "nor over IPv6" get "http://[$VIP6]/" 1
must "these too" wait_for 10 more_given_up "$before"
must "and not before their time" wait_for 5 more 1 forwarded $((sent + 31))
