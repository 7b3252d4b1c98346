#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 150
#
# BFD with BIRD and with FRR's bfdd: IPv4 and IPv6, direct and multihop, first at 50 ms x 3. There
# a machine that stands still for 150 ms costs sessions of its own; so whatever has to stay is
# looked for at 50 ms x 60.
#
# The topology is in tests/lib/routers.sh; lb1 runs tests/e2e/bfd_end.c, the sessions alone.
# A path breaks by taking a port out of the bridge: no carrier changes at either end.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/routers.sh
. "$(dirname "$0")/../lib/routers.sh"
END=$ROOT/build/tests/e2e/bfd_end
MULTIPLIER=3
DETECT_US=150000
declare -A ROUTER4=([bird]=192.0.2.1 [frr]=192.0.2.2)
declare -A ROUTER6=([bird]=2001:db8:2::1 [frr]=2001:db8:2::2)

bird_config() {
	local times="min rx interval 50 ms; min tx interval 50 ms; multiplier $MULTIPLIER;"
	say "log stderr all;"
	say "router id 192.0.2.1;"
	say "protocol device {}"
	say "protocol bfd {"
	say " interface \"eth0\" { $times };"
	say " multihop { $times };"
	say " neighbor 192.0.2.11 dev \"eth0\" local 192.0.2.1;"
	say " neighbor 2001:db8:2::11 dev \"eth0\" local 2001:db8:2::1;"
	say " neighbor 192.0.2.11 local 192.0.2.1 multihop;"
	say "}"
}

frr_peer() {
	say " peer $1 $3 local-address $2"
	say "  detect-multiplier $MULTIPLIER"
	say "  receive-interval 50"
	say "  transmit-interval 50"
	say " exit"
}

frr_config() {
	say "bfd"
	frr_peer 192.0.2.11 192.0.2.2 ""
	frr_peer 2001:db8:2::11 2001:db8:2::2 ""
	frr_peer 192.0.2.11 192.0.2.2 multihop
}

end_start() {
	local name words=()
	for name in bird frr; do
		words+=(192.0.2.11 "${ROUTER4[$name]}" 50 "$MULTIPLIER" 0)
		words+=(2001:db8:2::11 "${ROUTER6[$name]}" 50 "$MULTIPLIER" 0)
		words+=(192.0.2.11 "${ROUTER4[$name]}" 50 "$MULTIPLIER" 255)
	done
	spawn end lb1 "$END" "$DIR/status" "${words[@]}"
}

# is PEER HOPS TEXT: whether its line of status has that.
is() { grep "^is $1 hops=$2 " "$DIR/status" 2>/dev/null | grep -q -- "$3"; }

# all_are NAME TEXT: all three sessions with the router.
all_are() {
	local four=${ROUTER4[$1]} six=${ROUTER6[$1]}
	is "$four" 0 "$2" && is "$six" 0 "$2" && is "$four" 255 "$2"
}

bird_has() { [ "$(bird_cli show bfd sessions | grep -c -- "$1")" = 3 ]; }
frr_has() { [ "$(frr_cli "show bfd peers" | grep -c -- "$1")" = 3 ]; }
all_up() {
	all_are bird "state=up peer=up" && all_are frr "state=up peer=up" &&
		bird_has " Up " && frr_has "Status: up"
}

# told WORD PEER: how often, of the direct session.
told() { grep -c "^$1 $2 hops=0 " "$DIR/end.log"; }
told_more() { [ "$(told lost "$1")" -gt "$2" ]; }
lost_both() { told_more "${ROUTER4[$1]}" 0 && told_more "${ROUTER6[$1]}" 0; }

unplug() { in_ns router ip link set "$1" nomaster; }
plug() { in_ns router ip link set "$1" master fabric; }

# begin: BIRD and FRR with MULTIPLIER, and the sessions.
begin() {
	bird_config >"$DIR/bird.conf"
	frr_config >"$DIR/bfdd.conf"
	bird_start
	frr_start bfdd
	end_start
}

stop() {
	local name
	for name in end bird bgpd bfdd zebra; do
		end $name
	done
	rm -f "$DIR/status" "$DIR/end.log" "$DIR"/frr/*
	return 0
}

at_multiplier() { all_are "$1" "send_us=50000 detect_us=$DETECT_US"; }

netns_begin
fabric
begin
must "up with BIRD and FRR: IPv4, IPv6, multihop" wait_for 20 all_up
must "at 50 ms x 3 with BIRD" wait_for 20 at_multiplier bird
must "at 50 ms x 3 with FRR" wait_for 20 at_multiplier frr
must "as BIRD sees it" wait_for 20 bird_has " 0.050 .* 0.150"
unplug bird
must "a path that breaks is told" wait_for 10 lost_both bird

stop
plug bird
MULTIPLIER=60 DETECT_US=3000000
begin
must "up at 50 ms x 60" wait_for 20 all_up
must "which BIRD knows" wait_for 10 at_multiplier bird
must "and FRR" wait_for 10 at_multiplier frr
must "no session flapped" all_are bird "losses=0"

unplug bird
must "a path that breaks is told" wait_for 15 lost_both bird
must "with its reason" wait_for 15 all_are bird 'why="nothing received within the detection time"'
must "BIRD sees it too" wait_for 15 bird_has " Down "
plug bird
must "it comes back by itself" wait_for 20 all_up
must "the other router's sessions stayed meanwhile" all_are frr "losses=0"

kill -USR1 "${CHILD[end]}"
must "another interval, by a poll: BIRD" wait_for 10 all_are bird "send_us=100000 detect_us=6000000"
must "and FRR" wait_for 10 all_are frr "send_us=100000 detect_us=6000000"
must "BIRD counts by it" wait_for 10 bird_has " 0.100 .* 6.000"
must "no session went down for it" all_are frr "state=up peer=up .* losses=0"
must "SIGTERM ends it with status 0" end end
must "which FRR knows for our will" wait_for 5 frr_has "Remote diagnostics: administratively down"
must "and BIRD for no silence" wait_for 5 bird_has " Down "
mv "$DIR/end.log" "$DIR/end-first.log"
end_start
must "it begins anew" wait_for 20 all_up

end end KILL
must "FRR finds out that it was killed" \
	wait_for 15 frr_has "Diagnostics: control detection time expired"
must "and so does BIRD" wait_for 15 bird_has " Down "
rm -f "$DIR/end.log" "$DIR/status"
end_start
must "it begins anew, other discriminators and all" wait_for 20 all_up

end bird KILL
must "a router that is killed is lost" wait_for 15 lost_both bird
bird_start
must "and comes back" wait_for 20 all_up
must "the other router's sessions stayed meanwhile" all_are frr "losses=0"

# Its own session is the price: packets that say it is down are among them.
before=$(told lost ${ROUTER4[bird]})
spawn flood bird "$ROOT/build/tests/e2e/bfd_flood" ${ROUTER4[bird]} 192.0.2.11
must "a flood in a router's name takes its session down" \
	wait_for 15 told_more ${ROUTER4[bird]} "$before"
must "and is counted" wait_for 15 is ${ROUTER4[bird]} 0 "refused=[0-9]\{5,\}"
must "it costs the other router nothing" all_are frr "state=up peer=up .* losses=0"
end flood
must "when it is over all is as before" wait_for 20 all_up
must "no packet of the other router was lost on it" all_are frr "losses=0 .* refused=0"
