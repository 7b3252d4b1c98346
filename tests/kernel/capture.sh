#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# `weir capture` and `weir trace` on a node that runs on this kernel: the program that tells of
# packets is taken, stands in the balancer's place, and goes; frames come in and out of it. Runs in
# the guest.
#
#     capclient ---- capnode: weir run on eth0; the client's host is the backend too

WEIR=/build/weir
PASS=/build/tests/lib/pass.bpf.o
VIP=198.51.100.1
. tests/lib/guest.sh

topology() {
	space capclient
	space capnode
	ip link add eth0 netns capclient type veth peer name eth0 netns capnode
	in_ns capclient ethtool -K eth0 tx off >/dev/null
	in_ns capclient ip link set eth0 up
	in_ns capnode ip link set eth0 up
	in_ns capclient ip link set dev eth0 xdpdrv obj $PASS sec xdp
	in_ns capclient ip addr add 192.0.2.1/24 dev eth0
	in_ns capnode ip addr add 192.0.2.11/24 dev eth0
	in_ns capclient ip route add $VIP via 192.0.2.11
}

node_config() {
	cat <<-END
		node:
		  name: capture
		  interfaces: [eth0]
		  xdp: native
		seed: capture
		pools:
		- name: one
		  check: {type: none}
		  backends: [{name: b1, address: 192.0.2.1}]
		services:
		- {name: dns, vips: [$VIP], listen: [udp/53], pool: one, forward: ipip}
	END
}

trace() { in_ns capnode $WEIR trace udp 192.0.2.1:4000 $VIP:53; }
traces() { trace 2>/dev/null | grep -q 'forwarded (tx)'; }
attached() { in_ns capnode ip -d link show eth0 | grep -o 'prog/xdp id [0-9]*'; }
is_own() { [ "$(attached)" = "$own" ]; }
sends() { in_ns capclient /bin/bash -c "echo query >/dev/udp/$VIP/53"; }
told() { grep -q "$1" /tmp/capture.out; }
sends_and_told() { sends && told "$1"; }

topology
node_config >/tmp/capture.yaml
# Not by in_ns, whose process number would be a shell's.
nsenter --net=/run/netns/capnode $WEIR run --config /tmp/capture.yaml >/tmp/capture.log 2>&1 &
node=$!
check "it is traced to its backend" wait_for 30 traces
check "with its next hop" grep -q 'next hop .* of the backend, out at eth0' <<<"$(trace)"
own=$(attached)
nsenter --net=/run/netns/capnode $WEIR capture --service dns --json \
	>/tmp/capture.out 2>/tmp/capture.err &
capture=$!
check "it captures" wait_for 60 grep -q capturing /tmp/capture.err
check "by another program" test "$(attached)" != "$own"
check "a packet comes in" wait_for 20 sends_and_told '"way":"in".*"verdict":"forwarded"'
check "and goes out" wait_for 20 told '"way":"out".*"backend":"one/b1"'
kill -KILL $capture
check "killed, it leaves the balancer's own program" wait_for 20 is_own
[ $failed = 0 ] || cat /tmp/capture.log /tmp/capture.err /tmp/capture.out
kill $node
wait $node
exit $failed
