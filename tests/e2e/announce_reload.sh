#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# What is announced follows the file of a running node: VIPs, their attributes and routers come and
# go, and whatever is the same in both files stays, sessions above all. Case 29 of what balancers
# got wrong, as far as it is about VIPs that are added and removed.
#
#   client -- router (BIRD) -- lb1
#                         \--- b1, b2

set -u
ROUTES=bgp
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

OTHER4=198.51.100.11 # a VIP that is added
ROUTER_OPTIONS='debug protocols { states, events, routes };'

bird() { birdc -s "$DIR/bird.ctl" "$@" 2>/dev/null; }
bird_knows() { bird show route all "$1" | grep -qF -- "$2"; }
knows() { bird_knows "$1" "via "; }
lost() { ! knows "$1"; }
# stood FAMILY: that session came up once and never went down; MESSAGES is the router's log of it.
stood() { [ "$(grep -c "lb1v$1: State changed to up" "$DIR/bird.log")" = 1 ] && is_up "$1"; }
is_up() { bird show protocols "lb1v$1" | grep -q Established; }
is_down() { ! is_up "$1"; }
peers() { node_status 1 | json_is ".announce.bgp.peers | length == $1"; }
# reload SED...: the file changed so, in one rename.
reload() {
	sed "$@" "$DIR/lb1.yaml" >"$DIR/lb1.next" && mv "$DIR/lb1.next" "$DIR/lb1.yaml"
	"$WEIR" reload --node "$TAG-lb1" >"$DIR/out" 2>"$DIR/err"
}

netns_begin
mkdir "$DIR/www"
: >"$DIR/www/slow"
stack 1 2

must "a VIP is added" reload "s/vips: \\[$VIP4\\]/vips: [$VIP4, $OTHER4]/"
must "case 29: and announced" wait_for 5 knows $OTHER4/32
must "case 29: on the session that was there" stood 4
must "its attributes change" reload \
	"/shop4/s/name: shop4/name: shop4, announce: {med: 77, communities: [\"65010:7\"]}/"
must "and the route's do" wait_for 5 bird_knows $VIP4/32 'BGP.med: 77'
must "of both VIPs" wait_for 5 bird_knows $OTHER4/32 'BGP.community: (65010,7)'
must "a VIP is removed" reload "s/, $OTHER4//"
must "case 29: and withdrawn" wait_for 5 lost $OTHER4/32
must "the other one is there" wait_for 5 knows $VIP4/32
must "case 29: all that by UPDATEs alone" stood 4

cp "$DIR/lb1.yaml" "$DIR/good.yaml"
must_not "a file with a mistake is refused" reload 's/asn: 65010/asn: 23456/'
must "and changes nothing" stood 4
must_not "so is one whose password cannot be read" sh -c "
	sed 's|address: 192.0.2.1, asn: 65000|&, password_file: $DIR/none|' '$DIR/good.yaml' \
		>'$DIR/lb1.next' && mv '$DIR/lb1.next' '$DIR/lb1.yaml'
	'$WEIR' reload --node '$TAG-lb1' >'$DIR/out' 2>'$DIR/err'"
must "for that reason" grep -q "password file $DIR/none" "$DIR/err"
must "and changes nothing" stood 4
cp "$DIR/good.yaml" "$DIR/lb1.yaml"

must "a router is removed" reload '/2001:db8:2::1", asn/d'
must "its session ends" wait_for 5 is_down 6
must "and its routes are not kept" wait_for 5 lost $VIP6/128
must "status knows the other alone" peers 1
must "which stayed" stood 4
cp "$DIR/good.yaml" "$DIR/lb1.yaml"
must "it is there again" reload 's/^seed: demo/seed: demo/'
must "and has its routes" wait_for 20 knows $VIP6/128
must "while the other's session stayed" stood 4

must "what holds for all sessions changes" reload 's/^  asn: 65010/  asn: 65010\n  hold: 30s/'
must "so they begin anew" wait_for 20 \
	grep -q 'lb1v4: Neighbor graceful restart done' "$DIR/bird.log"
must_not "and the routes stayed" grep -q "lb1v4.ipv4 > removed .*$VIP4/32" "$DIR/bird.log"
must "another way of announcing is chosen" reload \
	'/^bgp:/,/^  - .*2001/d; s/^seed:/announce: {via: kernel-route, table: 100}\nseed:/'
must "and the routers' routes are gone" wait_for 5 lost $VIP4/32
must "the table has them" in_ns lb1 ip route show table 100 proto 87 $VIP4
cp "$DIR/good.yaml" "$DIR/lb1.yaml"
must "and back" reload 's/^seed: demo/seed: demo/'
must "to the routers" wait_for 30 knows $VIP4/32
must_not "with nothing left in the table" grep -q blackhole <(in_ns lb1 ip route show table all)
must "SIGTERM ends it well" end lb1
must "with its routes withdrawn" wait_for 5 lost $VIP6/128
