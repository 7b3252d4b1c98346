#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# weir scaffold writes a file that weir check takes, of what the host is, and one that a node runs.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

scaffold() { in_ns lb1 "$WEIR" scaffold "$@" >"$DIR/file" 2>"$DIR/err"; }
has() { grep -qF -- "$1" "$DIR/file"; }
right() { "$WEIR" check "$DIR/file" >"$DIR/check" 2>&1; }

netns_begin
topology 1 1
must "a node's file is written" scaffold
must "which is right" right
must "with the interface of the default route" has 'interfaces: ["eth0"]'
must "its addresses" has '; 192.0.2.11/24; 2001:db8:2::11/64'
must "its MTU and driver" has 'eth0: up, MTU 1500, driver veth'
must "and its routers" has 'router 192.0.2.1; router 2001:db8:2::1'
must "its guesses are marked" has 'vips: ["198.51.100.10"]   # <-'
uncomment() { sed -i -E 's/^# (bgp:|  )/\1/; s/^  # (tunnel:)/  \1/' "$DIR/file"; }
must "what is commented out" uncomment
must "is right, too" right
must "which is BGP with the router" grep -q 'announced by BGP, AS 65010, router id 192.0.2.11' \
	"$DIR/check"
in_ns lb1 ip route del default via 192.0.2.1
in_ns lb1 ip -6 route del default via 2001:db8:2::1
in_ns lb1 ip link add big0 mtu 9000 type veth peer name big1
in_ns lb1 ip link set big0 up
must "without a default route" scaffold
must "all that are up" grep -qE 'interfaces: \["(big0", "eth0|eth0", "big0)"\]' "$DIR/file"
must_not "an interface that is not there" scaffold --interface nothing0
must "is said" grep -q 'nothing0: there is no such interface' "$DIR/err"
must_not "what would not be right is not written" scaffold --listen tcp/0
must_not "nor what is no address" scaffold --vip 'a"b'
must_not "nor anything" test -s "$DIR/file"

must "what is known may be given" scaffold --interface eth0 --vip $VIP4 --vip $VIP6 \
	--backend 10.0.1.11 --listen tcp/80
must_not "then nothing is guessed" grep -q '<-' <(tail -n +4 "$DIR/file")
must "for a backend, too" right
agent=$(sed -n 's/^# On each backend: weir //p' "$DIR/file")
must "what to call there is said" test -n "$agent"
cp "$DIR/file" "$DIR/node.yaml"
# shellcheck disable=SC2086
there() { in_ns b1 "$WEIR" $agent >"$DIR/file"; }
must "and works there" there
must "it is an agent's file" right
must "for this node" has 'balancers: ["192.0.2.11", "2001:db8:2::11"]'
sed -i "s/^  name: .*/  name: $TAG-lb1/" "$DIR/node.yaml"
spawn lb1 lb1 "$WEIR" run --config "$DIR/node.yaml"
serves() { node_status 1 | json_is '.services[0].vips | length == 2'; }
must "a node runs by it" wait_for 10 serves
may() {
	capsh --decode="$(sed -n 's/^CapEff:[[:space:]]*//p' "/proc/${CHILD[lb1]}/status")" |
		sed 's/.*=//'
}
must "with few privileges, also without a supervisor" test "$(may)" = \
	cap_net_bind_service,cap_net_admin,cap_net_raw,cap_sys_nice,cap_perfmon,cap_bpf
must "and ends" end lb1
