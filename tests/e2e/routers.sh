#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 150
#
# `weir run` on two nodes with three routers: BIRD, FRR and GoBGP, each over IPv4 and IPv6, with
# keys; BFD with those that have it. Each learns the VIPs from both nodes, follows health on
# sessions that stay, keeps the routes of a daemon that is killed (BIRD by `bfd graceful`, FRR by
# `check-control-plane-failure`), and loses those of a node that is cut off within the BFD time
# (without these), or the hold time.
#
#   client -- router (BIRD) -- lb1, lb2
#                  |       \-- b1, b2
#              frr, gobgp (beside the balancers)

set -u
ROUTES=bgp
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/routers.sh
. "$(dirname "$0")/../lib/routers.sh"

BGP_OPTIONS='password "one for BIRD"; bfd graceful; hold time 9;'
ROUTER_OPTIONS='protocol bfd { interface "*" { interval 100 ms; multiplier 20; }; }'
ADDRESSES='192.0.2.11 192.0.2.12 2001:db8:2::11 2001:db8:2::12'

# node_bgp NUMBER: instead of the one session a family that netns.sh has.
node_bgp() {
	local bfd='bfd: {interval: 100ms, multiplier: 20}' key="password_file: $DIR/key"
	cat <<-END
		bgp:
		  asn: 65010
		  router_id: 192.0.2.1$1
		  hold: 9s
		  peers:
		  - {address: 192.0.2.1, asn: 65000, $key.bird, $bfd}
		  - {address: 192.0.2.2, asn: 65002, $key.frr, $bfd}
		  - {address: 192.0.2.3, asn: 65003, $key.gobgp, gtsm: true}
		  - {address: "2001:db8:2::1", asn: 65000, $key.bird, $bfd}
		  - {address: "2001:db8:2::2", asn: 65002, $key.frr, $bfd}
		  - {address: "2001:db8:2::3", asn: 65003, $key.gobgp}
	END
}

# key NAME TEXT
key() {
	say "$2" >"$DIR/key.$1"
	chmod 600 "$DIR/key.$1"
}

frr_config() {
	local address family
	say "router bgp 65002"
	say " bgp router-id 192.0.2.2"
	say " no bgp ebgp-requires-policy"
	say " no bgp default ipv4-unicast"
	say " bgp bestpath as-path multipath-relax"
	say " timers bgp 3 9"
	for address in $ADDRESSES; do
		say " neighbor $address remote-as 65010"
		say " neighbor $address timers connect 2"
		say " neighbor $address password one_for_FRR"
		say " neighbor $address bfd profile fast"
		say " neighbor $address bfd check-control-plane-failure"
	done
	for family in 4 6; do
		say " address-family ipv$family unicast"
		for address in $ADDRESSES; do
			case $family$address in
			4*.* | 6*:*) say "  neighbor $address activate" ;;
			esac
		done
		say "  maximum-paths 16"
		say " exit-address-family"
	done
}

# Of lb2 it keeps nothing over a restart: it would over the hold time's end, too.
gobgp_config() {
	local address
	gobgp_global 65003 192.0.2.3
	for address in $ADDRESSES; do
		gobgp_peer "$address" 65010 "one for GoBGP" | case $address in
		*12) sed '/graceful-restart.config/,/enabled/s/true/false/' ;;
		*) cat ;;
		esac
		[[ $address = *:* ]] || cat <<-END
			[neighbors.ttl-security.config]
			enabled = true
			ttl-min = 255
		END
	done
}

# beside NAME NUMBER: a router that is no gateway
beside() {
	space "$1"
	wire "$1" eth0 "$1"
	in_ns router ip link set "$1" master balancers
	address "$1" eth0 "192.0.2.$2/24" "2001:db8:2::$2/64"
}

weir() { "$WEIR" "$@" >"$DIR/out" 2>"$DIR/err"; }
# sessions NUMBER FILTER: of each of its six
sessions() {
	node_status "$1" |
		json_is "[.announce.bgp.peers[] | $2] | length == 6 and all"
}
up() { sessions "$1" '.state == "Established" and (.bfd == null or .bfd.state == "up")'; }
# Once and again, if the two sides' first connections crossed: FRR may drop both.
downs() { node_status "$1" | jq '[.announce.bgp.peers[].downs] | add'; }

# learned ROUTER COUNT: ways to both VIPs
learned() {
	case $1 in
	bird) router_uses "$2" ;;
	frr) kernel_hops frr $VIP4 "$2" && kernel_hops frr $VIP6 "$2" ;;
	gobgp) gobgp_ways 4 $VIP4 "$2" && gobgp_ways 6 $VIP6 "$2" ;;
	esac
}
# gobgp_ways FAMILY PREFIX COUNT
gobgp_ways() {
	[ "$(gobgp_cli global rib "$2" -a "ipv$1" -j 2>/dev/null |
		jq '[.[][]] | length' 2>/dev/null || say 0)" = "$3" ]
}
all_learned() { learned bird "$1" && learned frr "$1" && learned gobgp "$1"; }

# stays COUNT: all have so many ways, for longer than BFD takes
stays() {
	local until=$((${EPOCHREALTIME/./} + 3000000))
	while [ "${EPOCHREALTIME/./}" -lt $until ]; do
		all_learned "$1" || return 1
	done
}

netns_begin
mkdir "$DIR/www"
: >"$DIR/www/slow"
key bird "one for BIRD"
key frr "one_for_FRR"
key gobgp "one for GoBGP"
frr_config >"$DIR/bgpd.conf"
printf '%s\n' 'bfd' ' profile fast' '  receive-interval 100' '  transmit-interval 100' \
	'  detect-multiplier 20' >"$DIR/bfdd.conf"
gobgp_config >"$DIR/gobgp.toml"
stack 2 2
keep_address balancers
beside frr 2
beside gobgp 3
frr_start bfdd
gobgp_start
for i in 1 2; do
	must "lb$i has six sessions, and BFD" wait_for 30 up $i
done
for router in bird frr gobgp; do
	must "$router has both ways to both VIPs" wait_for 10 learned $router 2
done
must "requests are answered" in_ns client curl -sf -m 20 -o /dev/null http://$VIP4/

# --- health ---

before="$(downs 1) $(downs 2)"

end b1-nginx KILL
end b2-nginx KILL
for router in bird frr gobgp; do
	must "$router loses them with the last backend" wait_for 10 learned $router 0
done
backend_start b1
backend_start b2
must "all have them back" wait_for 10 all_learned 2
must "on sessions that stay" test "$(downs 1) $(downs 2)" = "$before"

# --- the daemon is killed, and the kernel forwards on ---

end lb1 KILL
must "all routers keep the routes of a daemon that was killed" stays 2
node_start 1
must "the next one comes up" wait_for 30 up 1
must "and nothing has changed" stays 2

# --- the node is cut off ---

# What keeps routes while BFD is down keeps them here too: the routers' choice is the other one now.
BGP_OPTIONS=${BGP_OPTIONS/bfd graceful/bfd on}
router_config >"$DIR/bird.conf"
bird_cli configure >"$DIR/birdc.log" || fail "birdc configure"
for address in $ADDRESSES; do
	set -- "$@" -c "no neighbor $address bfd check-control-plane-failure"
done
vtysh --vty_socket "$DIR/frr" -c "configure terminal" -c "router bgp 65002" "$@" ||
	fail "vtysh"
must "the routers take BFD's word for all of a node" wait_for 30 up 2
must "and have all routes" wait_for 10 all_learned 2
in_ns lb2 ip link set eth0 down
must "BIRD moves traffic before the hold time is over" within 6 learned bird 1
must "FRR does" within 6 learned frr 1
must "GoBGP without BFD, at its end" wait_for 10 learned gobgp 1
must "requests are answered" in_ns client curl -sf -m 20 -o /dev/null http://$VIP4/

# --- a planned stop ---

end lb1
must "a stop withdraws" wait_for 5 all_learned 0
