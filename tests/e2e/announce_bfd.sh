#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 180
#
# BFD between two nodes and a router (BIRD), beside BGP with a hold time of a minute and a half.
# When a daemon is killed, which takes its BFD along, the router keeps its routes by its own choice
# (`bfd graceful`, as the kernel forwards on), and by the other (`bfd on`) moves the traffic: then a
# node that is cut off is out of use as soon as BFD says so, too. `graceful_restart: 0s` is that
# choice on the node's side.
#
#   client -- router (BIRD) -- lb1, lb2
#                         \--- b1, b2

set -u
ROUTES=bgp
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

# Three seconds: no machine stands still for so long, and a session lost is a request lost.
NODE_PEER='bfd: {interval: 100ms, multiplier: 30}'
ROUTER_OPTIONS='debug protocols { states, events };
protocol bfd { interface "*" { interval 100 ms; multiplier 30; }; }'
BGP_OPTIONS='bfd graceful;'

weir() { "$WEIR" "$@" >"$DIR/out" 2>"$DIR/err"; }
# bfd_is NUMBER STATE: of both sessions.
bfd_is() {
	[ "$(node_status "$1" | jq -r '[.announce.bgp.peers[].bfd.state] | unique[]')" = "$2" ]
}
all_up() { bfd_is 1 up && bfd_is 2 up && router_uses 2; }
serving() { wait_for 10 http_more $(($(http_count any) + $1)); }
nobody_failed() {
	grep -v ' ok ' "$DIR/requests" | sed 's/^/# /'
	[ "$(http_count failed)" = 0 ] && [ "$(http_count broken)" = 0 ]
}
# router_lost COUNT: so many of its BFD sessions are down.
router_lost() {
	[ "$(birdc -s "$DIR/bird.ctl" show bfd sessions | grep -c " Down ")" = "$1" ]
}
# stays COUNT: for a second, in which the router has nothing more to find out.
stays() {
	local until=$((${EPOCHREALTIME/./} + 1000000))
	while [ "${EPOCHREALTIME/./}" -lt $until ]; do
		router_uses "$1" || return 1
		sleep 0.05
	done
}
configure() {
	router_config >"$DIR/bird.conf"
	birdc -s "$DIR/bird.ctl" configure >>"$DIR/birdc.log" || fail "birdc configure"
}

netns_begin
mkdir "$DIR/www"
: >"$DIR/www/slow"
stack 2 2
must "BFD is up with both nodes" wait_for 10 all_up
: >"$DIR/requests"
http_start c1 4 http://$VIP4/ 10000 29999 40
http_start c2 6 "http://[$VIP6]/" 30000 49999 40
must "requests are answered" serving 40

# --- the daemon dies: by the router's choice its routes stay ---

end lb1 KILL
must "the router finds out that a daemon was killed" wait_for 20 router_lost 2
must "bfd graceful: its routes stay" stays 2
must "and requests go on" serving 60
node_start 1
must "its next one comes up again" wait_for 20 all_up
must "weir restart" weir restart --node "$TAG-lb1"
must "takes no route away either" stays 2
must "and comes up" wait_for 20 all_up
must "requests go on" serving 60
http_stop c1 c2
must "nobody's request failed" nobody_failed

# --- by the router's other choice traffic moves ---

BGP_OPTIONS='bfd on;'
configure
must "the router takes BFD's word for all of a node" wait_for 30 all_up
end lb1 KILL
must "bfd on: the routes of a daemon that was killed are gone" wait_for 20 router_uses 1
node_start 1
must "and back with the next" wait_for 30 all_up

# --- the node is cut off ---

in_ns lb1 ip link set eth0 down
must "a node that is cut off is out of use long before the hold time" wait_for 20 router_uses 1
in_ns lb1 ip link set eth0 up
in_ns lb1 ip route replace default via 192.0.2.1
in_ns lb1 ip -6 addr add 2001:db8:2::11/64 dev eth0 2>/dev/null
in_ns lb1 ip -6 route replace default via 2001:db8:2::1
must "and back when it is back" wait_for 30 all_up

# --- and by the node's ---

BGP_OPTIONS='bfd graceful;'
configure
must "the router keeps what it may" wait_for 30 all_up
sed -i '/^  asn: 65010/a\  graceful_restart: 0s' "$DIR/lb1.yaml"
end lb1 TERM
node_start 1
must "a node that asks for no restart time" wait_for 30 all_up
end lb1 KILL
must "graceful_restart: 0s: it is out of use when its daemon is killed" \
	wait_for 20 router_uses 1
