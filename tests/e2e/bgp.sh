#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 110
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
		protocol kernel { ipv4 { export where source = RTS_BGP; }; merge paths yes limit 16; }
		protocol kernel { ipv6 { export where source = RTS_BGP; }; merge paths yes limit 16; }
		$(bird_peer lb1v4 192.0.2.11 "ipv4 { $import };" 'password "one_for_BIRD"; ttl security on;')
		$(bird_peer lb1v6 2001:db8:2::11 "ipv6 { $import };" 'password "two";')
		$(bird_peer lb2v4 192.0.2.12 "ipv4 { $import };" "passive on;")
		$(bird_peer lb2v6 2001:db8:2::12 "ipv6 { $import }; ipv4 { $import extended next hop on; };")
	END
}

frr_config() {
	local address
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

# gobgp_peer ADDRESS FAMILY [PASSWORD]
gobgp_peer() {
	cat <<-END
		[[neighbors]]
		[neighbors.config]
		neighbor-address = "$1"
		peer-as = 65010
		auth-password = "${3:-}"
		[neighbors.timers.config]
		hold-time = 9
		connect-retry = 5
		[neighbors.graceful-restart.config]
		enabled = true
		restart-time = 20
		[[neighbors.afi-safis]]
		[neighbors.afi-safis.config]
		afi-safi-name = "$2-unicast"
		[neighbors.afi-safis.mp-graceful-restart.config]
		enabled = true
	END
}

gobgp_config() {
	cat <<-END
		[global.config]
		as = 65003
		router-id = "192.0.2.3"
		[global.use-multiple-paths.config]
		enabled = true
	END
	gobgp_peer 192.0.2.11 ipv4 "one_for_GoBGP"
	gobgp_peer 192.0.2.12 ipv4
	gobgp_peer 2001:db8:2::11 ipv6 five
	gobgp_peer 2001:db8:2::12 ipv6
}

# --- speakers ---

# speaker NUMBER [restarting]
speaker() {
	rm -f "$DIR/lb$1.in" "$DIR/lb$1.json"
	mkfifo "$DIR/lb$1.in"
	spawn "lb$1" "lb$1" "$PEERS/speaker" "$DIR/lb$1.in" "$DIR/lb$1.json" 65010 "192.0.2.1$1" \
		9 30 ${2:+"$2"}
	exec {CONTROL[$1]}>"$DIR/lb$1.in"
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

all_up() { is "$1" '[.peers[].state] == ["Established"] * 6'; }

CONTROL=()
netns_begin
[ -x "$PEERS/speaker" ] || die "no $PEERS/speaker; make units first"
fabric
bird_config >"$DIR/bird.conf"
frr_config >"$DIR/frr.conf"
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
