#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Datagrams of 3000 and 8000 bytes to a VIP: the client's way has an MTU of 1400, so that their
# pieces fit the tunnels. Two backends; a datagram is answered only by one that got all of it, and
# what it answers is what was sent. Pieces in order, as the kernel makes them and as ours, then in
# other orders. And where a service takes none, none arrives.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2 (agent, a server that answers datagrams)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

DATAGRAMS=$ROOT/build/tests/e2e/datagrams
PORT=7

# answer_start BACKEND: on both VIPs, which its agent has put on the loopback.
answer_start() {
	local vip
	for vip in $VIP4 $VIP6; do
		spawn "$1-$vip" "$1" "$DATAGRAMS" answer "$vip" $PORT "$1"
	done
	wait_for 5 answers "$1" || fail "$1 answers datagrams"
}
answers() { [ "$(in_ns "$1" ss -Hlun "sport = :$PORT" | grep -c .)" = 2 ]; }

# asks COUNT ADDRESS BYTES ORDER: each is answered. Who answered is in $DIR/who.txt.
asks() {
	local i
	for ((i = 0; i < $1; i++)); do
		in_ns client "$DATAGRAMS" ask "$2" $PORT "$3" "$4" >>"$DIR/who.txt" || return 1
	done
}

verdicts() { node_status 1 | json_number "$1"; }
dropped() { verdicts '.verdicts | .fragment.packets + .fragment_early.packets'; }

# reassembled BACKEND: datagrams that its kernel put together, of both families; failed: or not.
reassembled() {
	in_ns "$1" cat /proc/net/snmp | awk '
		/^Ip:/ && !n { n = split($0, key); next }
		/^Ip:/ { for (i = 2; i <= n; i++) if (key[i] == "ReasmOKs") print $i }'
	in_ns "$1" awk '$1 == "Ip6ReasmOKs" { print $2 }' /proc/net/snmp6
}
all_reassembled() { { reassembled b1; reassembled b2; } | awk '{ sum += $1 } END { print sum }'; }

# with_services OTHERS: lb1's file, with what its services have besides.
with_services() {
	node_config 1 | sed "s|listen: \[tcp/80\]|listen: [tcp/80, udp/$PORT]$1|" >"$DIR/lb1.yaml"
}

netns_begin
[ -x "$DATAGRAMS" ] || die "no $DATAGRAMS; make units first"
topology 1 2
router_start
in_ns client ip route replace default via 203.0.113.1 mtu lock 1400
in_ns client ip -6 route replace default via 2001:db8:c::1 mtu lock 1400
for backend in b1 b2; do
	backend_start $backend
	agent_start $backend
	answer_start $backend
done
with_services ""
node_start 1

must "a small IPv4 datagram is answered" asks 1 $VIP4 100 kernel
must "a small IPv6 datagram is answered" asks 1 $VIP6 100 kernel
count=0
for vip in $VIP4 $VIP6; do
	for bytes in 3000 8000; do
		for order in kernel forward reverse 1 2; do
			must "datagrams of $bytes bytes to $vip arrive, order $order" \
				asks 8 $vip $bytes $order
			count=$((count + 8))
		done
	done
done
must "as many were put together as were sent" test "$(all_reassembled)" = $count
must "b1 answered some" grep -qx b1 "$DIR/who.txt"
must "b2 answered some" grep -qx b2 "$DIR/who.txt"
must "no piece was dropped" test "$(dropped)" = 0

with_services ", fragments: drop"
end lb1 || fail "weir run ends"
node_start 1
must_not "where no pieces are taken, no datagram arrives" asks 1 $VIP4 3000 reverse
must_not "nor over IPv6" asks 1 $VIP6 3000 kernel
must "each piece was counted" test "$(verdicts .verdicts.fragment.packets)" = 6
must "what is in one piece arrives" asks 1 $VIP4 1200 kernel
must "and over IPv6" asks 1 $VIP6 1200 kernel
