#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# The router's link to the client is small (1400) and nobody else knows: it cannot deliver the
# backends' full segments, and says so to the VIP, where they came from. Which balancer hears it
# is the router's choice; the error must reach the backend that has the flow, or the download
# never moves.
#
#   client --1400-- router -- lb1, lb2 (one-armed)
#                      \----- b1, b2 (agents, nginx)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

SMALL_MTU=1400
declare -A URL=([4]=http://$VIP4 [6]="http://[$VIP6]")
declare -A CLIENT=([4]=$CLIENT4 [6]=$CLIENT6)

# learned NAMESPACE FAMILY: its path cache has the small MTU for the client.
learned() { in_ns "$1" ip "-$2" route get "${CLIENT[$2]}" | grep -q "mtu $SMALL_MTU"; }
forget() {
	local name
	for name in b1 b2; do
		in_ns "$name" ip "-$1" route flush cache
	done
}

# get FAMILY PORT PATH SECONDS: from that port, so that it is the same flow again.
get() { in_ns client curl -sf -m "$4" --local-port "$2" "${URL[$1]}/$3"; }
download() { get "$1" "$2" file "$3" | cmp - "$DIR/www/file"; }

# errors_to BALANCER|any|nobody: the router sends its errors there, wherever the flows go.
errors_to() {
	local family
	for family in 4 6; do
		in_ns router ip "-$family" rule del pref 100 2>/dev/null
	done
	[ "$1" != any ] || return 0
	in_ns router ip rule add pref 100 ipproto 1 to $VIP4 lookup 100
	in_ns router ip -6 rule add pref 100 ipproto 58 to $VIP6 lookup 100
	if [ "$1" = nobody ]; then
		in_ns router ip route replace table 100 blackhole default
		in_ns router ip -6 route flush table 100
		in_ns router ip -6 route add table 100 blackhole default
	else
		in_ns router ip route replace table 100 default via "192.0.2.1$1"
		in_ns router ip -6 route replace table 100 default via "2001:db8:2::1$1"
	fi
}

forwarded() { node_status "$1" | json_number .verdicts.forwarded.packets; }
passed() { node_status "$1" | json_number .verdicts.other_protocol.packets; }

# reaches FAMILY PORT: a download works, and the backend of the flow, it alone, has learned.
reaches() {
	local owner other
	owner=$(get "$1" "$2" '' 5)
	[ "$owner" = b1 ] && other=b2 || other=b1
	forget "$1"
	download "$1" "$2" 15 && learned "$owner" "$1" && ! learned $other "$1"
}

netns_begin
mkdir "$DIR/www"
head -c 1000000 /dev/urandom >"$DIR/www/file"
stack 2 2
in_ns router ip link set client mtu $SMALL_MTU

port=30000
for family in 4 6; do
	errors_to any
	for _ in 1 2 3 4; do
		must "IPv$family: an error reaches the backend of its flow (port $port)" \
			reaches $family $port
		port=$((port + 1))
	done
	for flow in 1 2; do
		router_nexthops $flow
		for error in 1 2; do
			errors_to $error
			before=$(forwarded $((3 - flow)))
			must "IPv$family: flow at balancer $flow, error at $error" \
				reaches $family $port
			got=$(($(forwarded $((3 - flow))) - before))
			if [ $error = $flow ]; then
				must "the other balancer took no part" test $got = 0
			else
				must "the other balancer forwarded the error" test $got -gt 0
			fi
			port=$((port + 1))
		done
	done
	router_nexthops 1 2
done
must "no balancer kept an error for itself" test "$(($(passed 1) + $(passed 2)))" = 0

# The counter-proof: where no balancer hears of it, and so no backend, nothing arrives.
errors_to nobody
for family in 4 6; do
	forget $family
	must_not "IPv$family: without errors a download does not arrive" download $family $port 3
	port=$((port + 1))
done
