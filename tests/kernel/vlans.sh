#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# VLANs by the kernel's own devices, in and out: backends that the balancer reaches through
# eth0.100, and through a VLAN within a service VLAN. Also case 22: XDP on a VLAN's device. Runs in
# the guest.
#
#     vclient ---- vrouter ==== vlb: weir run on eth0; eth0.100, and eth0.300.7 in eth0.300
#                    |  \
#                   v1   v2: each on a bridge with the vrouter's device of its VLAN
#
# Between vrouter and vlb frames for the backends are tagged; what comes to OUT and TWICE is not,
# what comes to IN is.

WEIR=/build/weir
PASS=/build/tests/lib/pass.bpf.o
OUT=198.51.100.1
IN=198.51.100.2
TWICE=198.51.100.3
. tests/lib/guest.sh

# wire NAME: eth0 there; the vrouter's end is called as it. No checksums and no tags are left to a
# card, for a program sees neither then.
wire() {
	space "$1"
	in_ns "$1" sysctl -qw net.ipv4.ip_forward=1
	ip link add eth0 netns "$1" type veth peer name "$1" netns vrouter
	in_ns "$1" ethtool -K eth0 tx off txvlan off >/dev/null
	in_ns vrouter ethtool -K "$1" tx off txvlan off >/dev/null
	in_ns "$1" ip link set eth0 up
	in_ns vrouter ip link set "$1" up
}

# vlan NAMESPACE OVER NAME ID [PROTOCOL]
vlan() {
	in_ns "$1" ip link add link "$2" name "$3" type vlan proto "${5:-802.1q}" id "$4"
	in_ns "$1" ip link set "$3" up
}

# backend NAME NET DEVICE: on a bridge with the vrouter's device; it takes in ipip by the kernel.
backend() {
	wire "$1"
	in_ns vrouter ip link add "br-$1" type bridge
	in_ns vrouter ip link set "$1" master "br-$1"
	in_ns vrouter ip link set "$3" master "br-$1"
	in_ns vrouter ip link set "br-$1" up
	in_ns vrouter ip addr add "$2.1/24" dev "br-$1"
	in_ns "$1" ip addr add "$2.11/24" dev eth0
	in_ns "$1" ip route add default via "$2.1"
	in_ns "$1" ip link add in44 type ipip local "$2.11"
	in_ns "$1" ip link set in44 up
	for vip in $OUT $IN $TWICE; do
		in_ns "$1" ip addr add $vip/32 dev lo
	done
	mkdir -p "/tmp/vlans/$1"
	echo "$1" >"/tmp/vlans/$1/index.html"
	in_ns "$1" httpd -p 80 -h "/tmp/vlans/$1"
}

topology() {
	space vrouter
	in_ns vrouter sysctl -qw net.ipv4.ip_forward=1
	wire vclient
	in_ns vclient ip addr add 203.0.113.11/24 dev eth0
	in_ns vrouter ip addr add 203.0.113.1/24 dev vclient
	in_ns vclient ip route add default via 203.0.113.1
	wire vlb
	in_ns vrouter ip link set dev vlb xdpdrv obj $PASS sec xdp
	in_ns vlb ip addr add 192.0.2.11/24 dev eth0
	in_ns vrouter ip addr add 192.0.2.1/24 dev vlb
	in_ns vlb ip route add default via 192.0.2.1
	vlan vlb eth0 eth0.100 100
	vlan vlb eth0 eth0.300 300 802.1ad
	vlan vlb eth0.300 eth0.300.7 7
	vlan vrouter vlb lb.100 100
	vlan vrouter vlb lb.300 300 802.1ad
	vlan vrouter lb.300 lb.300.7 7
	backend v1 10.100.0 lb.100
	backend v2 10.107.0 lb.300.7
	in_ns vlb ip addr add 10.100.0.2/24 dev eth0.100
	in_ns vlb ip addr add 10.107.0.2/24 dev eth0.300.7
	in_ns vrouter ip route add $OUT via 192.0.2.11
	in_ns vrouter ip route add $TWICE via 192.0.2.11
	in_ns vrouter ip route add $IN via 10.100.0.2
	in_ns vrouter ip route add 100.64.1.0/24 via 192.0.2.11
}

# request ADDRESS: one HTTP request of the vclient, its answer's last line.
request() {
	in_ns vclient timeout 2 /bin/bash -c '
		exec 3<>"/dev/tcp/$0/80" && printf "GET / HTTP/1.0\r\n\r\n" >&3 && tail -n 1 <&3
	' "$1" 2>/dev/null
}

# answers VIP NAME
answers() { [ "$(request "$1")" = "$2" ]; }

# received NAMESPACE DEVICE
received() { in_ns "$1" sed -n "s/^ *$2: *[0-9]* *\([0-9]*\) .*/\1/p" /proc/net/dev; }

# node_config INTERFACE XDP
node_config() {
	cat <<-END
		node:
		  name: vlans
		  interfaces: [$1]
		  xdp: $2
		  tunnel: {source4: 100.64.1.0/24}
		seed: vlans
		pools:
		- name: one
		  check: {type: none}
		  backends: [{name: v1, address: 10.100.0.11}]
		- name: two
		  check: {type: none}
		  backends: [{name: v2, address: 10.107.0.11}]
		services:
		- {name: out, vips: [$OUT, $IN], listen: [tcp/80], pool: one, forward: ipip}
		- {name: twice, vips: [$TWICE], listen: [tcp/80], pool: two, forward: ipip}
	END
}

# start INTERFACE XDP: what it says is in /tmp/vlans.log.
start() {
	node_config "$1" "$2" >/tmp/vlans.yaml
	nsenter --net=/run/netns/vlb $WEIR run --config /tmp/vlans.yaml >/tmp/vlans.log 2>&1 &
	daemon=$!
}

logged() { grep -q "$1" /tmp/vlans.log; }

# goes VLAN: what was last told of the next hop to v1.
goes() { grep 'backend=v1 interface=eth0' /tmp/vlans.log | tail -n 1 | grep -q "vlan=$1 "; }

# ended: the daemon is no more.
ended() { ! kill -0 $daemon 2>/dev/null; }

test_way_out() {
	local before
	start eth0 native
	check "into a VLAN" wait_for 20 answers $OUT v1
	check "into a VLAN within a service VLAN" wait_for 5 answers $TWICE v2
	before=$(received v1 in44)
	check "from one VLAN into it again" wait_for 5 answers $IN v1
	check "the backend's tunnel received them" [ "$(received v1 in44)" -gt "$before" ]
	check "a tag takes its room" logged 'backend=v1 interface=eth0 .*vlan=100 mtu=1496'
	check "and so do two" logged 'backend=v2 interface=eth0 .*vlan=300.7 mtu=1492'
	in_ns vlb ip link set eth0.100 down
	check "while a VLAN's device is down the default route is the way" wait_for 10 goes none
	check "which is another way to the same" wait_for 5 answers $OUT v1
	in_ns vlb ip link set eth0.100 up
	check "and up again it has its tag" wait_for 10 goes 100
	check "and serves" wait_for 5 answers $OUT v1
	kill $daemon
	check "weir run ends with status 0" wait $daemon
}

# mode_is: the mode of the first interface, as `weir status` shows it.
mode_is() { $WEIR status --node vlans --json | grep -q "\"xdp\": *\"$1\""; }

test_case_22() {
	start eth0.100 native
	check "case 22: native XDP on a VLAN's device is refused" wait_for 20 ended
	wait $daemon
	check "and said why" logged 'eth0.100'
	start eth0.100 auto
	check "case 22: auto takes generic mode, and status says so" wait_for 20 mode_is generic
	check "and so does the log" logged 'level=warn.*generic'
	check "which serves what comes out of the VLAN" wait_for 10 answers $IN v1
	kill $daemon
	check "weir run ends with status 0" wait $daemon
}

topology
test_way_out
test_case_22
[ $failed = 0 ] || sed 's/^/# /' /tmp/vlans.log
echo "1..$count"
