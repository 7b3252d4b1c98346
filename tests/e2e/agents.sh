#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# More than one agent: the loopback and the sysctls are a network namespace's, so there is one
# agent in each; and one that does not start takes nothing away from another, dead or alive.
#
#   b1 (two interfaces, agents)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# All of it that another agent could spoil, as text.
host_now() {
	in_ns b1 ip -o addr show lo | sed 's/valid_lft.*//'
	in_ns b1 ip link show | grep -o 'prog/xdp.*'
	in_ns b1 tc filter show dev eth0 egress
	in_ns b1 tc qdisc show dev eth1
	in_ns b1 sysctl -a 2>/dev/null | grep -E '^net\.ipv4\.conf\..*(arp_|rp_filter)'
}
host_is() { diff "$DIR/$1" <(host_now) | sed 's/^/#   /' | tee "$DIR/diff"; [ ! -s "$DIR/diff" ]; }

# refused FILE [OPTION]: the start fails, and what it says is $DIR/again.
refused() {
	local status=0
	in_ns b1 timeout 60 "$WEIR" agent --config "$@" >"$DIR/again" 2>&1 || status=$?
	[ $status = 1 ]
}
says() { grep -q -- "$1" "$DIR/again"; }
took_over() {
	"$WEIR" status --socket "$RUN/agent-$TAG-b1.sock" --json 2>/dev/null | json_is .adopted
}
clamps() { in_ns b1 tc filter show dev eth0 egress | grep -q weir_clamp; }

netns_begin
COUNT_LB=1
space b1
for i in 0 1; do
	in_ns b1 ip link add eth$i type veth peer name far$i
	in_ns b1 ip link set eth$i up
	in_ns b1 ip link set far$i up
done
host_now >"$DIR/before"
agent_config b1 >"$DIR/b1.yaml"
sed "s/name: .*/name: $TAG-other/" "$DIR/b1.yaml" >"$DIR/other.yaml"
sed 's/\[eth0\]/[eth1]/' "$DIR/other.yaml" >"$DIR/apart.yaml"
sed 's/\[eth0\]/[eth0, nowhere]/' "$DIR/other.yaml" >"$DIR/nowhere.yaml"

agent_start b1
host_now >"$DIR/running"
must "SYN-ACKs are clamped" clamps
for file in other apart nowhere; do
	must "an agent of another name is refused ($file)" refused "$DIR/$file.yaml"
	must "for there is one already" says 'another agent is in this network namespace'
	must "which keeps all it has" host_is running
done
must "--check knows it" refused "$DIR/apart.yaml" --check
must "and says so" says 'problem: another agent is in this network namespace'

end b1-agent KILL
for file in other nowhere; do
	must "after its death another does not get its interface ($file)" \
		refused "$DIR/$file.yaml"
	must "and takes nothing from it" host_is running
done
in_ns b1 ip link add br0 type bridge
sed "s/$VIP4, //; s/\\[eth0\\]/[eth0, eth1, br0]/" "$DIR/b1.yaml" >"$DIR/changed.yaml"
must "nor does a successor with a changed file and an interface that is refused" \
	refused "$DIR/changed.yaml"
in_ns b1 ip link del br0
must "who leaves its programs in their places" host_is running
agent_start b1
must "its successor takes over" wait_for 10 took_over
end b1-agent
must "and leaves nothing" host_is before

{
	sed '/balancers:/,$d' "$DIR/b1.yaml"
	echo "  vips: [$VIP4]"
	echo "  balancers:"
	for ((i = 0; i < 4096; i++)); do
		echo "  - 10.9.$((i / 256)).$((i % 256))"
	done
} >"$DIR/many.yaml"
must "as many balancers as a file may name" "$WEIR" check "$DIR/many.yaml"
mv "$DIR/many.yaml" "$DIR/b1.yaml"
agent_start b1
end b1-agent
