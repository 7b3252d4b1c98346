#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# A check fails, but not the backend: its flows go on to it, new ones avoid it; and when the check
# is well again, it gets back what it had. The check's way back is cut, not the clients'. Case 12 of
# what balancers got wrong.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

# first_port_of BACKEND: a client's port whose flow is that backend's.
first_port_of() {
	local flows=() port
	for ((port = 40000; port < 40040; port++)); do
		flows+=(4 "$port")
	done
	base_owners "${flows[@]}" | awk -v b="$1" '$1 == b { print 40000 + NR - 1; exit }'
}

b1_is() { node_health 1 | grep -q "^web4/b1 $1\$"; }
owners() { http_owners 4 20000 100; }
count_of() { grep -c " $1\$" "$DIR/$2"; }
packets() {
	node_status 1 |
		jq '.pools[] | select(.name == "web4").backends[] | select(.name == "b1").packets'
}
packets_above() { [ "$(packets)" -gt "$1" ]; }
slots() {
	node_status 1 |
		jq '.pools[] | select(.name == "web4").backends[] | select(.name == "b1").slots'
}
has_slots() { [ "$(slots)" = "$all_slots" ]; }
has_none() { [ "$(slots)" = 0 ]; }
got_bytes() { [ "$(stat -c %s "$DIR/got" 2>/dev/null || echo 0)" -gt "$1" ]; }

netns_begin
mkdir "$DIR/www"
head -c 30000000 /dev/urandom >"$DIR/www/slow"
stack 1 2
owners >"$DIR/before"
all_slots=$(slots)
must "b1 has flows" test "$(count_of b1 before)" -gt 20
must "so has b2" test "$(count_of b2 before)" -gt 20
port=$(first_port_of b1)
must "there is a port whose flow is b1's" test -n "$port"
spawn download client curl -sf --local-port "$port" -o "$DIR/got" http://$VIP4/slow
must "a download from b1 begins" wait_for 5 got_bytes 10000

in_ns b1 ip route add blackhole 192.0.2.11/32
must "the check of b1 fails" wait_for 5 b1_is unhealthy
must "its slots are others'" wait_for 5 has_none
at=$(packets)
must "case 12: the flow goes on to it" wait_for 5 packets_above "$at"
owners >"$DIR/during"
must "and no new one does" test "$(count_of b2 during)" = 100
must "b1 is down all that time" b1_is unhealthy

in_ns b1 ip route del blackhole 192.0.2.11/32
must "the check is well again" wait_for 5 b1_is healthy
size=$(stat -c %s "$DIR/got")
must "the download goes on" wait_for 5 got_bytes $((size + 300000))
end download
must "byte by byte" begins_as "$DIR/got" "$DIR/www/slow"
must "and has its slots" wait_for 5 has_slots
owners >"$DIR/after"
must "every flow is where it was" cmp "$DIR/before" "$DIR/after"
