#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 200
#
# The BGP speaker against BIRD, FRR and GoBGP, over IPv4 and IPv6; the topology is in
# tests/lib/routers.sh. lb1 and lb2 run tests/e2e/speaker.c, the speaker without the rest.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/routers.sh
. "$(dirname "$0")/../lib/routers.sh"
PEERS=$ROOT/build/tests/e2e

# bird_peer NAME ADDRESS FAMILIES [LINE]: a BGP protocol; FAMILIES as `ipv4 { ... };`
bird_peer() {
	say "protocol bgp $1 { local as 65001; neighbor $2 as 65010; ${4:-}"
	say "connect delay time 1; error wait time 1,5; hold time 9; graceful restart on; $3 }"
}

bird_config() {
	local import="import all; export none;"
	cat <<-END
		log stderr all;
		router id 192.0.2.1;
		protocol device { scan time 2; }
		protocol kernel { merge paths yes limit 16;
		ipv4 { export where source = RTS_BGP && net !~ [ 10.0.0.0/8+ ]; }; }
		protocol kernel { merge paths yes limit 16;
		ipv6 { export where source = RTS_BGP; }; }
		$(bird_peer lb1v4 192.0.2.11 "ipv4 { $import };" \
			'password "one_for_BIRD"; ttl security on;')
		$(bird_peer lb1v6 2001:db8:2::11 "ipv6 { $import };" 'password "two";')
		$(bird_peer lb2v4 192.0.2.12 "ipv4 { $import };" "passive on;")
		$(bird_peer lb2v6 2001:db8:2::12 "ipv6 { $import };
			ipv4 { $import extended next hop on; };")
	END
}

frr_config() {
	local address
	say "ip prefix-list few seq 5 deny 10.0.0.0/8 le 32"
	say "ip prefix-list few seq 10 permit any"
	say "router bgp 65002"
	say " bgp router-id 192.0.2.2"
	say " no bgp ebgp-requires-policy"
	say " no bgp default ipv4-unicast"
	say " bgp bestpath as-path multipath-relax"
	say " timers bgp 3 9"
	for address in 192.0.2.11 192.0.2.12 2001:db8:2::11 2001:db8:2::12; do
		say " neighbor $address remote-as 65010"
		say " neighbor $address timers connect 2"
	done
	say " neighbor 192.0.2.11 password one_for_FRR"
	say " neighbor 2001:db8:2::11 password four"
	say " neighbor 192.0.2.11 ttl-security hops 1"
	say " neighbor 192.0.2.12 passive"
	say " neighbor 2001:db8:2::11 ebgp-multihop 5"
	say " neighbor 2001:db8:2::12 capability extended-nexthop"
	say " address-family ipv4 unicast"
	say "  neighbor 192.0.2.11 activate"
	say "  neighbor 192.0.2.11 prefix-list few in"
	say "  neighbor 192.0.2.12 activate"
	say "  neighbor 2001:db8:2::12 activate"
	say "  maximum-paths 16"
	say " exit-address-family"
	say " address-family ipv6 unicast"
	say "  neighbor 2001:db8:2::11 activate"
	say "  neighbor 2001:db8:2::12 activate"
	say "  maximum-paths 16"
	say " exit-address-family"
}

gobgp_config() {
	gobgp_global 65003 192.0.2.3
	gobgp_peer 192.0.2.11 65010 "one_for_GoBGP"
	gobgp_peer 192.0.2.12 65010
	gobgp_peer 2001:db8:2::11 65010 five
	gobgp_peer 2001:db8:2::12 65010
}

# --- speakers ---

# speaker NUMBER [restarting]
speaker() {
	rm -f "$DIR/lb$1.in" "$DIR/lb$1.json"
	mkfifo "$DIR/lb$1.in"
	spawn "lb$1" "lb$1" "$PEERS/speaker" "$DIR/lb$1.in" "$DIR/lb$1.json" 65010 "192.0.2.1$1" \
		9 30 ${2:+"$2"}
	exec {fd}>"$DIR/lb$1.in"
	CONTROL[$1]=$fd
}

# tell NUMBER WORD...
tell() {
	local number=$1
	shift
	say "$*" >&"${CONTROL[$number]}"
}

# is NUMBER FILTER: of the speaker's status
is() { json_is "$2" <"$DIR/lb$1.json"; }

# peers NUMBER: those of a speaker
peers() {
	if [ "$1" = 1 ]; then
		tell 1 peer 192.0.2.1 65001 "key=one_for_BIRD" gtsm
		tell 1 peer 192.0.2.2 65002 "key=one_for_FRR" gtsm
		tell 1 peer 192.0.2.3 65003 "key=one_for_GoBGP"
		tell 1 peer 2001:db8:2::1 65001 key=two
		tell 1 peer 2001:db8:2::2 65002 key=four hops=5
		tell 1 peer 2001:db8:2::3 65003 key=five
	else
		tell 2 peer 192.0.2.1 65001
		tell 2 peer 192.0.2.2 65002
		tell 2 peer 192.0.2.3 65003 passive
		tell 2 peer 2001:db8:2::1 65001 extended
		tell 2 peer 2001:db8:2::2 65002 extended passive
		tell 2 peer 2001:db8:2::3 65003
	fi
}

all_up() { is "$1" '[.peers[].state] | length == 6 and all(. == "Established")'; }

# --- what routers know ---

# bird_route PREFIX PATTERN: one line of what BIRD says of it
bird_route() { bird_cli "show route $1 all" | grep -qE -- "$2"; }
# frr_route FAMILY PREFIX FILTER
frr_route() { frr_cli "show bgp $1 unicast $2 json" | json_is "$3"; }
# gobgp_route FAMILY PREFIX FILTER: of its paths
gobgp_route() { gobgp_cli global rib "$2" -a "$1" -j | json_is "$3"; }

# hops4 COUNT, hops6 COUNT: what both kernels have of the VIPs
hops4() { kernel_hops bird $VIP4 "$1" && kernel_hops frr $VIP4 "$1"; }
hops6() { kernel_hops bird $VIP6 "$1" && kernel_hops frr $VIP6 "$1"; }

# untroubled: the sessions of lb1 with real routers have never been down.
untroubled() {
	is 1 '[.peers | to_entries[] | select(.key != "192.0.2.9").value] |
		length == 6 and all(.state == "Established" and .ups == 1 and .downs == 0)'
}

# all_know COUNT: IPv4 prefixes
all_know() {
	is 1 "[.peers[\"192.0.2.1\", \"192.0.2.2\", \"192.0.2.3\"]] |
		all(.prefixes == $1 and .pending == 0)"
}

# learns PREFIX: BIRD does when lb1 announces it, and forgets it when lb1 withdraws it
learns() {
	tell 1 announce "$1"
	wait_for 10 bird_route "$1" 'BGP.next_hop: 192.0.2.11' || return 1
	tell 1 withdraw "$1"
	wait_for 10 bird_forgot "$1"
}
bird_forgot() { ! bird_route "$1" BGP.next_hop; }

# rogue MODE [PEER_WORD...]: lb1 has it for a peer
rogue() {
	local mode=$1
	shift
	tell 1 peer 192.0.2.9 65009 "$@"
	spawn "rogue-$mode" rogue "$PEERS/rogue" "$mode" 192.0.2.11 65009 192.0.2.9
}

# rogue_ends MODE
rogue_ends() {
	end "rogue-$1"
	tell 1 remove 192.0.2.9
	wait_for 10 is 1 '.peers | has("192.0.2.9") | not'
}

rogue_is() { is 1 ".peers[\"192.0.2.9\"] | $1"; }

CONTROL=()
netns_begin
[ -x "$PEERS/speaker" ] || die "no $PEERS/speaker; make units first"
fabric
bird_config >"$DIR/bird.conf"
frr_config >"$DIR/bgpd.conf"
gobgp_config >"$DIR/gobgp.toml"
bird_start
frr_start
gobgp_start
speaker 1
speaker 2
peers 1
peers 2
must "six sessions of lb1" wait_for 30 all_up 1
must "six sessions of lb2" wait_for 30 all_up 2


# --- both nodes announce ---

for i in 1 2; do
	tell $i announce $VIP4/32 med=10 community=65010:100 large=65010:1:2
	tell $i announce $VIP6/128 prepend=2
done
must "BIRD and FRR have three ways to the IPv4 VIP" wait_for 10 hops4 3
must "and two to the IPv6 one" wait_for 10 hops6 2
ways() { in_ns "$1" ip route show $VIP4; }
over6() { ways "$1" | grep -q 'via inet6 2001:db8:2::12'; }
must "BIRD has an IPv4 route over an IPv6 next hop" over6 bird
must "FRR has one" over6 frr
must "BIRD has its attributes" bird_route $VIP4/32 'BGP.large_community: \(65010, 1, 2\)'
must "and MED and communities" bird_route $VIP4/32 'BGP.community: \(65010,100\)'
must "FRR has them" frr_route ipv4 $VIP4 '.paths | length == 3 and
	all(.metric == 10 and .community.string == "65010:100" and
		.largeCommunity.string == "65010:1:2" and .multipath)'
must "FRR has the AS path" frr_route ipv6 $VIP6 \
	'.paths | length == 2 and all(.aspath.string == "65010 65010 65010")'
must "GoBGP has both ways" wait_for 10 gobgp_route ipv4 $VIP4 \
	'.[] | length == 2 and all(.attrs | any(.type == 4 and .metric == 10))'
must "and the IPv6 ones" wait_for 10 gobgp_route ipv6 $VIP6 '.[] | length == 2'

# --- changes are UPDATEs ---

updates_before=$(json_number '.peers["192.0.2.1"].updates_out' <"$DIR/lb1.json")
must "a route comes and goes" learns 198.51.100.77/32
tell 1 announce $VIP4/32 med=20
must "another MED" wait_for 10 frr_route ipv4 $VIP4 '[.paths[].metric] | sort == [10, 10, 20]'
tell 1 announce $VIP4/32 med=10 community=65010:100 large=65010:1:2
must "as before" wait_for 10 frr_route ipv4 $VIP4 '.paths | all(.metric == 10)'
tell 1 shutdown on
must "graceful shutdown (RFC 8326) at BIRD" wait_for 10 bird_route $VIP4/32 '\(65535,0\)'
must "at FRR" wait_for 10 frr_route ipv6 $VIP6 \
	'[.paths[] | select(.community.string | . and contains("raceful"))] | length == 1'
tell 1 shutdown off
must "and its end" wait_for 10 frr_route ipv6 $VIP6 '.paths | all(.community == null)'
bird_cli "reload in lb1v4" >/dev/null
must "BIRD asks for its routes again" wait_for 10 is 1 '.peers["192.0.2.1"].refreshes_in == 1'
frr_cli "clear bgp 192.0.2.11 soft in"
must "FRR does" wait_for 10 is 1 '.peers["192.0.2.2"].refreshes_in == 1'
must "six UPDATEs and one more" wait_for 10 is 1 \
	".peers[\"192.0.2.1\"].updates_out == $updates_before + 7"
must "all routes are there" hops4 3
must "no session was down" untroubled

# --- who does not belong ---

rogue garbage
must "garbage is answered" wait_for 20 rogue_is '.malformed >= 3 and .notifications_out >= 1'
must "and costs others nothing" learns 198.51.100.78/32
must "no session was down" untroubled
rogue_ends garbage

begun=${EPOCHREALTIME/./}
rogue flap
must "a router flaps" wait_for 40 rogue_is '.downs >= 4'
must "and is waited for, 1 s, 2 s, 4 s" test $((${EPOCHREALTIME/./} - begun)) -gt 5200000
must "others go on" learns 198.51.100.79/32
must "no session was down" untroubled
rogue_ends flap

rogue flood
must "a router floods" wait_for 20 rogue_is '.routes_dropped > 1000000'
must "its session stays" rogue_is '.state == "Established" and .downs == 0'
must "others go on" learns 198.51.100.80/32
must "no session was down" untroubled
rogue_ends flood

rogue stall
must "a router stalls" wait_for 20 rogue_is '.state == "Established"'
tell 1 many 60000
must "others are told 60000 routes" wait_for 30 all_know 60001
must "it is not" rogue_is '.pending > 10000 and .prefixes < 50000'
tell 1 none 60000
must "others are told that they are gone" wait_for 30 all_know 1
must "memory is bounded" is 1 '.kib < 40000'
must "no session was down" untroubled
rogue_ends stall

rogue far gtsm
must "GTSM refuses who is far away" wait_for 20 is 1 '.refused >= 3'
must "no session with it" rogue_is '.ups == 0'
rogue_ends far

tell 1 peer 192.0.2.9 65009 passive
spawn silent rogue "$PEERS/rogue" silent 192.0.2.11 65009 192.0.2.9
must "a router is silent" wait_for 20 rogue_is '.state == "OpenSent"'
rogue_ends silent
strangers() { is 1 '.strangers >= 100'; }
spawn stranger rogue "$PEERS/rogue" stranger 192.0.2.11 65009 192.0.2.9
must "strangers are closed" wait_for 20 strangers
must "others go on" learns 198.51.100.81/32
end stranger
must "no session was down" untroubled

# --- keys ---

md5_failures() { in_ns gobgp nstat -asz "$1" | awk -v name="$1" '$1 == name { print $2 }'; }
refuses_key() { [ "$(md5_failures TcpExtTCPMD5Failure)" -gt "$failures" ]; }
tell 1 remove 192.0.2.3
wait_for 10 is 1 '.peers | has("192.0.2.3") | not'
failures=$(md5_failures TcpExtTCPMD5Failure)
tell 1 peer 192.0.2.3 65003 key=another
must "another key is refused" wait_for 10 refuses_key
must "no session" wait_for 5 is 1 '.peers["192.0.2.3"] | .state == "Connect" and .ups == 0'
tell 1 remove 192.0.2.3
tell 1 peer 192.0.2.3 65003 key=one_for_GoBGP
must "the right one is taken" wait_for 20 is 1 '.peers["192.0.2.3"].state == "Established"'
tell 1 remove 2001:db8:2::3
wait_for 10 is 1 '.peers | has("2001:db8:2::3") | not'
tell 1 peer 2001:db8:2::3 65099 key=five
must "another AS is refused" wait_for 20 is 1 \
	'.peers["2001:db8:2::3"] | .ups == 0 and (.error | contains("AS"))'
tell 1 remove 2001:db8:2::3
tell 1 peer 2001:db8:2::3 65003 key=five
must "the right one is taken" wait_for 30 is 1 '.peers["2001:db8:2::3"].state == "Established"'
must "other sessions were not down" untroubled

# --- graceful restart ---

spawn monitor bird ip monitor route
spawn monitor-frr frr ip monitor route
end lb1 KILL
bird_lost() { ! bird_says "show protocols lb1v4" Established; }
must "lb1 is killed, and BIRD notices" wait_for 10 bird_lost
must "all keep its routes" hops4 3
must "all keep its routes" hops6 2
speaker 1 restarting
peers 1
must "lb1 is back with all" wait_for 30 all_up 1
tell 1 announce $VIP4/32 med=10 community=65010:100 large=65010:1:2
must "and announces one VIP" wait_for 10 is 1 '.peers["192.0.2.1"].prefixes == 1'
must "the other stays" hops6 2
tell 1 ready
must "until it says that this was all" wait_for 10 hops6 1
must "nothing else went" hops4 3
none_went() { ! grep "$VIP4" "$DIR/monitor.log" "$DIR/monitor-frr.log"; }
must "and never did" none_went
tell 1 announce $VIP6/128 prepend=2
must "the VIP comes back" wait_for 10 hops6 2

# --- BFD says down ---

tell 1 lost 192.0.2.1
must "a way that is lost" wait_for 10 kernel_hops bird $VIP4 2
must "comes back" wait_for 20 kernel_hops bird $VIP4 3

# --- a planned stop ---

tell 1 stop planned
must "all routes of lb1 go" wait_for 10 hops4 2
must "the IPv6 ones" wait_for 10 hops6 1
must "it ends" finished lb1
must "and says why" grep -q "back at noon" "$DIR/bird.log"
must "lb2 was never down" is 2 '[.peers[].ups] | all(. == 1)'
