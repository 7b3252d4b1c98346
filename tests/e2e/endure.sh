#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# What a node lives through without help: few file descriptors, a file with an odd name, a start
# over neighbours that the host has forgotten, an interface that is deleted and made anew, a start
# that is refused while an earlier daemon's program is attached, and generic mode's receive offload.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# answer [SECONDS]: each backend has its turn, in both families.
answer() {
	local i
	for i in 1 2 3 4 5 6; do
		in_ns client curl -sf -o "$DIR/body" -m "${1:-20}" http://$VIP4/ || return 1
		in_ns client curl -sf -o "$DIR/body" -m "${1:-20}" "http://[$VIP6]/" || return 1
	done
}

limit_is_raised() {
	awk '/^Max open files/ { exit $4 != $5 || $4 <= 64 }' "/proc/${CHILD[lb1]}/limits"
}

xdp_of() { node_status 1 | jq -r ".interfaces[] | select(.name == \"$1\").xdp"; }
xdp_is() { [ "$(xdp_of "$1")" = "$2" ]; }
gro_is() { in_ns lb1 ethtool -k br0 | grep -q "generic-receive-offload: $1"; }
has_clamp() { in_ns "$1" tc filter show dev eth0 egress | grep -q weir_clamp; }
lost() { node_status 1 | jq '.verdicts.no_neighbor.packets'; }

netns_begin
stack 1 2
keep_address balancers
keep_address backends
end lb1
mv "$DIR/lb1.yaml" "$DIR/"$'lb1-\xff.yaml'
spawn lb1 lb1 prlimit --nofile=64:4096 "$WEIR" run --config "$DIR/"$'lb1-\xff.yaml'
must "a file whose name is no UTF-8 does" wait_for 15 node_is_up 1
must "as many files may be open as the hard limit allows" limit_is_raised
must "requests are answered" answer

# The kernel's data plane has the next hops, though the host no longer knows them.
before=$(lost)
end lb1 KILL
in_ns lb1 ip neigh flush all
: >"$DIR/lb1.log"
mv "$DIR/"$'lb1-\xff.yaml' "$DIR/lb1.yaml"
node_start 1
must "a start over forgotten neighbours serves" answer
must_not "it takes no next hop away before it knows better" \
	grep -q 'cannot be reached' "$DIR/lb1.log"
must "no packet was lost" test "$(lost)" -eq "$before"

in_ns lb1 ip link del eth0
must "status says that nothing is attached to an interface that is gone" \
	wait_for 5 xdp_is eth0 none
must "and the log" wait_for 5 grep -q 'level=error.*interface=eth0' "$DIR/lb1.log"
on_bridge lb1 lb1 balancers 192.0.2.11/24 2001:db8:2::11/64 192.0.2.1 2001:db8:2::1
must "it attaches to a new one of that name" wait_for 5 xdp_is eth0 native
birdc -s "$DIR/bird.ctl" configure >>"$DIR/birdc.log"
must "and serves again" wait_for 15 answer 3

# The same on a backend, all of whose interface's settings go too.
in_ns b1 ip link del eth0
must "an agent says that its interface is gone" \
	wait_for 5 grep -q 'level=error.*interface=eth0' "$DIR/b1-agent.log"
on_bridge b1 b1 backends 10.0.1.11/24 2001:db8:1::11/64 10.0.1.1 2001:db8:1::1
in_ns router ip neigh flush dev backends
must "it attaches to a new one" wait_for 5 has_xdp b1
must "with the filter for the clamp" wait_for 5 has_clamp b1
must "and is healthy again" wait_for 15 node_is_up 1
end b2-nginx
must "and serves, all alone" wait_for 15 answer 3
backend_start b2
must "SIGTERM ends the agent with status 0" end b1-agent
must_not "with nothing attached" has_xdp b1
must "SIGTERM ends the node with status 0" end lb1
must_not "with nothing attached" has_xdp lb1

# A bridge has no native XDP. What a generic program would be handed joined, is not joined.
in_ns lb1 ip link add br0 type bridge
in_ns lb1 ip link set br0 up
must "the kernel joins what it receives" gro_is on
node_config 1 auto | sed 's/\[eth0\]/[br0]/' >"$DIR/lb1.yaml"
node_start 1
must "but not while XDP is generic" gro_is off
end lb1 KILL
must "generic XDP stays attached when the daemon is killed" has_xdp lb1 br0
sed 's/xdp: auto/xdp: native/' "$DIR/lb1.yaml" >"$DIR/native.yaml"
must_not "a start that wants native is refused" \
	in_ns lb1 timeout 60 "$WEIR" run --config "$DIR/native.yaml"
must "and leaves attached what was" has_xdp lb1 br0
node_start 1
must "the next start takes that over" test "$(node_status 1 | jq .interfaces[0].adopted)" = true
must "and ends with status 0" end lb1
must_not "with nothing attached at the end" has_xdp lb1 br0
must "and all as it was" gro_is on
