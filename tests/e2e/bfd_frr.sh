#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 150
#
# A node's daemon and FRR as the router, BGP beside BFD: what becomes of the routes when the daemon
# is killed, which takes its BFD along, is FRR's choice.
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

NODE_BFD='{interval: 100ms, multiplier: 3}'
BFD_OPTIONS=' check-control-plane-failure'

frr_neighbour() {
	say " neighbor $1 remote-as 65010"
	say " neighbor $1 timers connect 1"
	say " neighbor $1 bfd 3 100 100"
	[ -z "$BFD_OPTIONS" ] || say " neighbor $1 bfd$BFD_OPTIONS"
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

bfd_is() {
	[ "$(node_status "$1" | jq -r '[.announce.bgp.peers[].bfd.state] | unique[]')" = "$2" ]
}
all_up() { bfd_is 1 up && bfd_is 2 up && router_uses 2; }
# stays COUNT: for a second, which is more than three BFD times.
stays() {
	local until=$((${EPOCHREALTIME/./} + 1000000))
	while [ "${EPOCHREALTIME/./}" -lt $until ]; do
		router_uses "$1" || return 1
		sleep 0.05
	done
}

# frr_tell LINE...: below `router bgp`.
frr_tell() {
	local line words=()
	for line in "$@"; do
		words+=(-c "$line")
	done
	vtysh --vty_socket "$DIR/frr" -c "configure terminal" -c "router bgp 65000" "${words[@]}" \
		>>"$DIR/vtysh.log" 2>&1 || fail "vtysh $*"
}
# choose WORD...: what BFD's end means, for each neighbour: `bfd check-control-plane-failure`...
choose() {
	local address
	for address in 192.0.2.11 192.0.2.12 2001:db8:2::11 2001:db8:2::12; do
		frr_tell "$1 neighbor $address $2"
	done
}

netns_begin
stack 2 1
must "BFD is up with both nodes" wait_for 20 all_up

end lb1 KILL
must "check-control-plane-failure: the routes of a daemon that was killed stay" stays 2
node_start 1
must "its next one comes up again" wait_for 20 all_up
must "weir restart" "$WEIR" restart --node "$TAG-lb1"
must "takes no route away either" stays 2
must "and comes up" wait_for 20 all_up

keep_address balancers
in_ns router ip link set lb1 nomaster
s=${EPOCHREALTIME/./}
must "a node that is cut off is out of use within a second" wait_for 1 router_uses 1
echo $((${EPOCHREALTIME/./} - s)) us
in_ns router ip link set lb1 master balancers
must "and back when it is back" wait_for 30 all_up

choose no "bfd check-control-plane-failure"
choose "" "bfd 3 100 100"
must "FRR takes BFD's word for all of a node" wait_for 30 all_up
end lb1 KILL
frr_cli "show running-config" | grep bfd; cat $DIR/vtysh.log;  frr_cli "show bgp neighbor 192.0.2.11" | grep -A4 -i bfd
must "bfd: the routes of a daemon that was killed are gone" wait_for 1 router_uses 1
node_start 1
must "and back with the next" wait_for 30 all_up

end lb1 TERM
must "a daemon that stops takes its routes along" router_uses 1
must "and FRR knows for its will" frr_cli "show bfd peers" | grep -i admin
