#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Weir's tunnels against the kernel's own: what `weir run` wraps is taken in by ipip, sit and
# ip6tnl devices, by gre and ip6gre ones, by fou's GUE before the former, in both variants, and by a
# geneve device; and what such devices send (of GUE variant 0, which is all that Linux sends) is
# taken in by `weir agent`. Runs in the guest.
#
#     client ---- router ---- lb: weir run, or the kernel's tunnels
#                       \---- b1: the kernel's tunnels
#                        \--- b2: weir agent
#
# Each way through the four kinds of tunnel (4in4, 4in6, 6in6, 6in4) has a VIP of its own; the
# answers go straight to the client.

WEIR=/build/weir
PASS=/build/tests/lib/pass.bpf.o
IN44=198.51.100.44
IN46=198.51.100.46
IN66=2001:db8:10::66
IN64=2001:db8:10::64
. tests/lib/guest.sh

# wire NAME NET4 NET6: eth0 there, .11 and ::11; the router's end, .1 and ::1. A native program at
# the router's end, or what is sent by XDP_TX is lost; no checksums left to a card.
wire() {
	space "$1"
	ip link add eth0 netns "$1" type veth peer name "$1" netns router
	in_ns "$1" ethtool -K eth0 tx off >/dev/null
	in_ns router ethtool -K "$1" tx off >/dev/null
	in_ns router ip link set dev "$1" xdpdrv obj $PASS sec xdp
	in_ns "$1" ip addr add "$2.11/24" dev eth0
	in_ns "$1" ip addr add "$3::11/64" dev eth0
	in_ns router ip addr add "$2.1/24" dev "$1"
	in_ns router ip addr add "$3::1/64" dev "$1"
	in_ns "$1" ip link set eth0 up
	in_ns router ip link set "$1" up
	in_ns "$1" ip route add default via "$2.1"
	in_ns "$1" ip route add default via "$3::1"
}

topology() {
	space router
	in_ns router sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	wire client 203.0.113 2001:db8:c
	wire lb 192.0.2 2001:db8:2
	wire b1 10.0.1 2001:db8:1
	wire b2 10.0.2 2001:db8:4
	for vip in $IN44 $IN46 100.64.1.0/24; do
		in_ns router ip route add $vip via 192.0.2.11
	done
	for vip in $IN66 $IN64 2001:db8:f::/64; do
		in_ns router ip route add $vip via 2001:db8:2::11
	done
	mkdir /tmp/www
	for name in b1 b2; do
		mkdir /tmp/www/$name
		echo $name >/tmp/www/$name/index.html
		in_ns $name httpd -p '[::]:80' -h /tmp/www/$name
	done
}

vips_on_lo() {
	for vip in $IN44/32 $IN46/32 $IN66/128 $IN64/128; do
		in_ns "$1" ip addr add $vip dev lo
	done
}

# request ADDRESS: one HTTP request of the client, its answer's last line.
request() {
	in_ns client timeout 2 /bin/bash -c '
		exec 3<>"/dev/tcp/$0/80" && printf "GET / HTTP/1.0\r\n\r\n" >&3 && tail -n 1 <&3
	' "$1" 2>/dev/null
}

# answers VIP NAME
answers() { [ "$(request "$1")" = "$2" ]; }

# received NAMESPACE DEVICE
received() { in_ns "$1" sed -n "s/^ *$2: *[0-9]* *\([0-9]*\) .*/\1/p" /proc/net/dev; }

# sent NAMESPACE DEVICE
sent() { in_ns "$1" ip -s -j link show "$2" | sed 's/.*"tx":{[^}]*"packets":\([0-9]*\).*/\1/'; }

# --- weir run to the kernel's devices ---

receiving_devices() {
	in_ns b1 ip link add in44 type ipip local 10.0.1.11
	in_ns b1 ip link add in64 type sit local 10.0.1.11
	in_ns b1 ip link add in66 type ip6tnl mode any local 2001:db8:1::11
	in_ns b1 ip link add gre4 type gre local 10.0.1.11
	in_ns b1 ip link add gre6 type ip6gre local 2001:db8:1::11
	# What they take out of UDP comes up at the devices for its inner protocol.
	in_ns b1 ip fou add port 6080 gue
	in_ns b1 ip -6 fou add port 6080 gue
	# One for both families: it is told of no network and no far end, and takes IP packets.
	in_ns b1 ip link add gnv type geneve external innerprotoinherit
	for device in in44 in64 in66 gre4 gre6 gnv; do
		in_ns b1 ip link set $device up
	done
	vips_on_lo b1
}

# node_config MODE
node_config() {
	cat <<-END
		node:
		  name: lb
		  interfaces: [eth0]
		  xdp: native
		  tunnel: {source4: 100.64.1.0/24, source6: "2001:db8:f::/64"}
		seed: tunnels
		pools:
		- name: over4
		  check: {type: tcp, port: 80, interval: 500ms, timeout: 400ms, rise: 1, fall: 2}
		  backends: [{name: b1, address: 10.0.1.11}]
		- name: over6
		  check: {type: tcp, port: 80, interval: 500ms, timeout: 400ms, rise: 1, fall: 2}
		  backends: [{name: b1, address: "2001:db8:1::11"}]
		services:
		- {name: in44, vips: [$IN44], listen: [tcp/80], pool: over4, forward: $1,
		   tracking: always}
		- {name: in46, vips: [$IN46], listen: [tcp/80], pool: over6, forward: $1,
		   tracking: always}
		- {name: in66, vips: ["$IN66"], listen: [tcp/80], pool: over6, forward: $1,
		   tracking: always}
		- {name: in64, vips: ["$IN64"], listen: [tcp/80], pool: over4, forward: $1,
		   tracking: always}
	END
}

# record NUMBER: of the daemon's services, its bytes in hex.
record() {
	bpftool -j map lookup pinned "$1" key hex "$(printf %02x "$2")" 00 00 00 |
		sed 's/.*"value":\[\([^]]*\)\].*/\1/; s/"0x//g; s/"//g; s/,/ /g'
}

# to_variant0: the services' mode becomes GUE's variant 0, which no configuration has. It is the
# record's 13th byte, and is 2 for variant 1.
to_variant0() {
	local map changed=0
	map=$(find /sys/fs/bpf -name services)
	for service in 1 2 3 4; do
		# shellcheck disable=SC2046
		set -- $(record "$map" $service)
		[ $# = 64 ] && [ "${13}" = 02 ] || continue
		bpftool map update pinned "$map" key hex 0$service 00 00 00 \
			value hex "${@:1:12}" 06 "${@:14}" && changed=$((changed + 1))
	done
	[ $changed = 4 ]
}

# run_mode MODE DEVICE...: the four ways through it, and that it was these devices that took it in.
run_mode() {
	local mode=$1 device daemon before=()
	shift
	for device in "$@"; do
		before+=("$(received b1 "$device")")
	done
	node_config "$mode" >/tmp/lb.yaml
	nsenter --net=/run/netns/lb $WEIR run --config /tmp/lb.yaml >"/tmp/lb-$mode.log" 2>&1 &
	daemon=$!
	check "weir run: $mode, 4 in 4" wait_for 20 answers $IN44 b1
	check "weir run: $mode, 4 in 6" wait_for 5 answers $IN46 b1
	check "weir run: $mode, 6 in 6" wait_for 5 answers $IN66 b1
	check "weir run: $mode, 6 in 4" wait_for 5 answers $IN64 b1
	for device in "$@"; do
		check "$device received them" [ "$(received b1 "$device")" -ge $((before[0] + 4)) ]
		before=("${before[@]:1}")
	done
	[ "$mode" != gue ] || run_variant0 "$@"
	kill $daemon
	check "weir run ends with status 0" wait $daemon
}

# run_variant0 DEVICE...: as run_mode, of the same daemon.
run_variant0() {
	local device before=()
	for device in "$@"; do
		before+=("$(received b1 "$device")")
	done
	check "GUE's variant 0 is set" to_variant0
	check "weir run: gue 0, 4 in 4" answers $IN44 b1
	check "weir run: gue 0, 4 in 6" answers $IN46 b1
	check "weir run: gue 0, 6 in 6" answers $IN66 b1
	check "weir run: gue 0, 6 in 4" answers $IN64 b1
	for device in "$@"; do
		check "$device received them" [ "$(received b1 "$device")" -ge $((before[0] + 4)) ]
		before=("${before[@]:1}")
	done
}

test_run() {
	receiving_devices
	run_mode ipip in44 in64 in66
	run_mode gre gre4 gre6
	run_mode gue in44 in64 in66
	run_mode geneve gnv
}

# --- the kernel's devices to weir agent ---

# One of the IPv6 tunnels with the encapsulation limit that Linux adds unless told not to. Two
# devices cannot have the same two ends.
sending_devices() {
	in_ns lb ip addr add 2001:db8:2::66/64 dev eth0
	in_ns lb sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	in_ns lb ip link add out44 type ipip local 192.0.2.11 remote 10.0.2.11
	in_ns lb ip link add out64 type sit local 192.0.2.11 remote 10.0.2.11
	in_ns lb ip link add out46 type ip6tnl mode ipip6 local 2001:db8:2::11 \
		remote 2001:db8:4::11 encaplimit none
	in_ns lb ip link add out66 type ip6tnl mode ip6ip6 local 2001:db8:2::66 \
		remote 2001:db8:4::11
	in_ns lb ip link add outg4 type gre local 192.0.2.11 remote 10.0.2.11
	in_ns lb ip link add outg6 type ip6gre local 2001:db8:2::11 remote 2001:db8:4::11 \
		encaplimit none
	in_ns lb ip link add outv type geneve external innerprotoinherit
	for device in out44 out46 out66 out64 outg4 outg6 outv; do
		in_ns lb ip link set $device up
	done
	in_ns lb ip route add $IN44 dev out44
	in_ns lb ip route add $IN46 dev out46
	in_ns lb ip route add $IN66 dev out66
	in_ns lb ip route add $IN64 dev out64
}

# Of ends of their own, as above: GUE, of which Linux sends variant 0 without private data; over
# IPv6 with a checksum unless told not to.
sending_gue() {
	local gue="encap gue encap-sport auto encap-dport 6080"
	in_ns lb ip addr add 192.0.2.12/24 dev eth0
	in_ns lb ip addr add 2001:db8:2::67/64 dev eth0
	in_ns lb ip addr add 2001:db8:2::68/64 dev eth0
	# shellcheck disable=SC2086
	{
		in_ns lb ip link add outu44 type ipip local 192.0.2.12 remote 10.0.2.11 $gue
		in_ns lb ip link add outu64 type sit local 192.0.2.12 remote 10.0.2.11 $gue
		in_ns lb ip link add outu46 type ip6tnl mode ipip6 local 2001:db8:2::67 \
			remote 2001:db8:4::11 encaplimit none $gue noencap-udp6-csum
		in_ns lb ip link add outu66 type ip6tnl mode ip6ip6 local 2001:db8:2::68 \
			remote 2001:db8:4::11 encaplimit none $gue noencap-udp6-csum
	}
	for device in outu44 outu46 outu66 outu64; do
		in_ns lb ip link set $device up
	done
	in_ns lb ip route replace $IN44 dev outu44
	in_ns lb ip route replace $IN46 dev outu46
	in_ns lb ip route replace $IN66 dev outu66
	in_ns lb ip route replace $IN64 dev outu64
}

# send_by OVER4 OVER6: from now on, by the outer family.
send_by() {
	in_ns lb ip route replace $IN44 dev "$1"
	in_ns lb ip route replace $IN46 dev "$2"
	in_ns lb ip route replace $IN66 dev "$2"
	in_ns lb ip route replace $IN64 dev "$1"
}

# send_by_geneve: with the option that a balancer adds: class, type; ports (80, and 80 to deliver
# to), VIP.
send_by_geneve() {
	local over4="encap ip id 0 src 192.0.2.11 dst 10.0.2.11 ttl 64"
	local over6="encap ip6 id 0 src 2001:db8:2::11 dst 2001:db8:4::11 hoplimit 64"
	local option="geneve_opts 0xff57:1:00500050"
	# shellcheck disable=SC2086
	in_ns lb ip route replace $IN44 $over4 ${option}c633642c dev outv &&
		in_ns lb ip route replace $IN46 $over6 ${option}c633642e dev outv &&
		in_ns lb ip route replace $IN66 $over6 \
			${option}20010db8001000000000000000000066 dev outv &&
		in_ns lb ip route replace $IN64 $over4 \
			${option}20010db8001000000000000000000064 dev outv
}

agent_config() {
	cat <<-END
		agent:
		  name: b2
		  interfaces: [eth0]
		  xdp: native
		  balancers: [192.0.2.11, 192.0.2.12, "2001:db8:2::/64"]
		  vips: [$IN44, $IN46, "$IN66", "$IN64"]
		  forward: [ipip, gre, gue, geneve]
	END
}

test_agent() {
	sending_devices
	agent_config >/tmp/b2.yaml
	nsenter --net=/run/netns/b2 $WEIR agent --config /tmp/b2.yaml >/tmp/b2.log 2>&1 &
	daemon=$!
	check "weir agent: 4in4 from an ipip device" wait_for 20 answers $IN44 b2
	check "weir agent: 4in6 from an ip6tnl device" wait_for 5 answers $IN46 b2
	check "weir agent: 6in6 from an ip6tnl device, with its limit" wait_for 5 answers $IN66 b2
	check "weir agent: 6in4 from a sit device" wait_for 5 answers $IN64 b2
	send_by outg4 outg6
	check "weir agent: 4 in 4 from a gre device" wait_for 5 answers $IN44 b2
	check "weir agent: 4 in 6 from an ip6gre device" wait_for 5 answers $IN46 b2
	check "weir agent: 6 in 6 from an ip6gre device" wait_for 5 answers $IN66 b2
	check "weir agent: 6 in 4 from a gre device" wait_for 5 answers $IN64 b2
	for device in outg4 outg6; do
		check "$device sent them" [ "$(sent lb $device)" -ge 8 ]
	done
	check "a geneve device sends with an option" send_by_geneve
	check "weir agent: 4 in 4 from a geneve device" wait_for 5 answers $IN44 b2
	check "weir agent: 4 in 6 from a geneve device" wait_for 5 answers $IN46 b2
	check "weir agent: 6 in 6 from a geneve device" wait_for 5 answers $IN66 b2
	check "weir agent: 6 in 4 from a geneve device" wait_for 5 answers $IN64 b2
	check "outv sent them" [ "$(sent lb outv)" -ge 16 ]
	check "fou's devices send" sending_gue
	check "weir agent: gue 0, 4 in 4 from an ipip device" wait_for 5 answers $IN44 b2
	check "weir agent: gue 0, 4 in 6 from an ip6tnl device" wait_for 5 answers $IN46 b2
	check "weir agent: gue 0, 6 in 6 from an ip6tnl device" wait_for 5 answers $IN66 b2
	check "weir agent: gue 0, 6 in 4 from a sit device" wait_for 5 answers $IN64 b2
	for device in outu44 outu46 outu66 outu64; do
		check "$device sent them" [ "$(sent lb $device)" -ge 3 ]
	done
	kill $daemon
	check "weir agent ends with status 0" wait $daemon
	check "and its VIPs are gone" no_vip b2
}

no_vip() { ! in_ns "$1" ip addr show dev lo | grep -qF $IN44; }

topology
test_run
test_agent
[ $failed = 0 ] || sed 's/^/# /' /tmp/*.log
echo "1..$count"
