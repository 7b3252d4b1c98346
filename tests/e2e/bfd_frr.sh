#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 150
#
# A node's daemon and FRR as the router, BFD beside BGP. When the daemon is killed, which takes its
# BFD along, TCP ends first: FRR keeps the routes, as the kernel forwards on, or by its own choice
# moves the traffic at once. When the node is cut off, BFD ends first: then they are gone.
#
#   client -- router (zebra, bfdd, bgpd) -- lb1, lb2
#                                      \--- b1

set -u
ROUTES=bgp
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/routers.sh
. "$(dirname "$0")/../lib/routers.sh"
FRR_SPACE=router

# Three seconds: no machine stands still for so long.
NODE_PEER='bfd: {interval: 100ms, multiplier: 30}'

# Passive: when both ends connect at the same moment FRR 8.4.4 may drop both connections, and for
# the second end in a row it keeps no route.
frr_neighbour() {
	say " neighbor $1 remote-as 65010"
	say " neighbor $1 passive"
	say " neighbor $1 timers connect 1"
	say " neighbor $1 bfd 30 100 100"
}

bgpd_config() {
	local i
	say "router bgp 65000"
	say " bgp router-id 192.0.2.1"
	say " no bgp ebgp-requires-policy"
	say " no bgp default ipv4-unicast"
	say " bgp bestpath as-path multipath-relax"
	say " timers bgp 30 90"
	for i in 1 2; do
		frr_neighbour 192.0.2.1$i
		frr_neighbour 2001:db8:2::1$i
	done
	say " address-family ipv4 unicast"
	say "  neighbor 192.0.2.11 activate"
	say "  neighbor 192.0.2.12 activate"
	say "  maximum-paths 16"
	say " exit-address-family"
	say " address-family ipv6 unicast"
	say "  neighbor 2001:db8:2::11 activate"
	say "  neighbor 2001:db8:2::12 activate"
	say "  maximum-paths 16"
	say " exit-address-family"
}

# In place of BIRD.
router_start() {
	local i
	for i in 1 2; do
		in_ns router ip route add 100.64.$i.0/24 via 192.0.2.1$i
		in_ns router ip route add 2001:db8:f:$i::/64 via 2001:db8:2::1$i
	done
	bgpd_config >"$DIR/bgpd.conf"
	frr_start bfdd
}

weir() { "$WEIR" "$@" >"$DIR/out" 2>"$DIR/err"; }
# node_has NUMBER: BGP and BFD, in both families; routes alone may be those of a session before.
node_has() {
	node_status "$1" | json_is '[.announce.bgp.peers[] |
		.state == "Established" and .bfd.state == "up"] == [true, true]'
}
all_up() { node_has 1 && node_has 2 && router_uses 2; }
# router_lost COUNT: so many of its BFD sessions are down.
router_lost() { [ "$(frr_cli "show bfd peers" | grep -c "Status: down")" = "$1" ]; }
# stays COUNT: for a second, in which the router has nothing more to find out.
stays() {
	local until=$((${EPOCHREALTIME/./} + 1000000))
	while [ "${EPOCHREALTIME/./}" -lt $until ]; do
		router_uses "$1" || return 1
		sleep 0.05
	done
}

# without_restart: from now on FRR keeps nothing of a node whose session ends.
without_restart() {
	local address words=()
	for address in 192.0.2.11 192.0.2.12 2001:db8:2::11 2001:db8:2::12; do
		words+=(-c "neighbor $address graceful-restart-disable")
	done
	vtysh --vty_socket "$DIR/frr" -c "configure terminal" -c "router bgp 65000" "${words[@]}" \
		-c "do clear bgp *" >"$DIR/vtysh.log" 2>&1
}
told_restarts() { frr_cli "show bgp neighbor 192.0.2.11" | grep -q "$1"; }

netns_begin
stack 2 1
keep_address balancers
must "BFD is up with both nodes" wait_for 20 all_up

# --- FRR helps nodes that restart ---

end lb1 KILL
must "the router finds out that a daemon was killed" wait_for 20 router_lost 2
must "its routes stay" stays 2
node_start 1
must "its next one comes up again" wait_for 20 all_up
must "weir restart" weir restart --node "$TAG-lb1"
must "takes no route away either" stays 2
must "and comes up" wait_for 20 all_up

in_ns router ip link set lb1 nomaster
must "a node that is cut off is out of use long before the hold time" wait_for 20 router_uses 1
in_ns router ip link set lb1 master balancers
must "and back when it is back" wait_for 30 all_up

# --- it does not ---

must "graceful-restart-disable" without_restart
must "counts from the next session on" wait_for 30 told_restarts "Local GR Mode: Disable"
must "all is up" wait_for 30 all_up
end lb1 KILL
must "the routes of a daemon that was killed are gone" wait_for 20 router_uses 1
node_start 1
must "and back with the next" wait_for 30 all_up
must "a daemon that is stopped" end lb1
must "takes its routes along" wait_for 20 router_uses 1
