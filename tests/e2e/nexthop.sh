#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# The way to the backends changes under a node: its neighbours are flushed, then its gateway gets
# another MAC address. Forwarding resumes; it takes a fraction of a second where nothing else runs.
# What is lost meanwhile is counted.
#
#   client -- router (the gateway) -- lb1 (one-armed)
#                  \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# get URL SECONDS: short ones where the way may be gone, so that a lost SYN is not waited for.
get() { in_ns client curl -sf -o "$DIR/body" --connect-timeout "$2" -m "$2" "$1"; }
answers4() { get http://$VIP4/ 1.5; }
answers6() { get "http://[$VIP6]/" 1.5; }
# Several in a row, so that each backend has its turn.
answer() {
	local i
	for i in 1 2 3 4 5 6; do
		get http://$VIP4/ 20 && get "http://[$VIP6]/" 20 || return 1
	done
}

lost() { node_status 1 | jq '.verdicts.no_neighbor.packets'; }
lost_more() { ! answers4 && [ "$(lost)" -gt "$1" ]; }

gateway_moves() { in_ns router ip link set balancers address "$1"; }

netns_begin
stack 1 2
# What a gateway that takes over sends: an unasked ARP reply and neighbour advertisement.
in_ns router sysctl -qw net.ipv4.conf.balancers.arp_notify=1 \
	net.ipv6.conf.balancers.ndisc_notify=1
must "requests are answered" answer

in_ns lb1 ip neigh flush all
must "case 24: soon after the neighbours were flushed, IPv4" wait_for 5 answers4
must "and IPv6" wait_for 5 answers6
must "all the time from then on" answer

gateway_moves 02:00:00:00:00:77
must "case 24: soon after the gateway's MAC changed, IPv4" wait_for 5 answers4
must "and IPv6" wait_for 5 answers6
must "all the time from then on" answer

in_ns lb1 ip link set eth0 address 02:00:00:00:00:99
must "the node's own MAC address changes" wait_for 5 answer

# Without any announcement: the kernel's own probes find out.
in_ns lb1 ip neigh flush all
gateway_moves 02:00:00:00:00:78
must "a new address that is asked for anew" wait_for 5 answers4
must "SIGTERM ends it with status 0" end lb1

# A gateway that is silent for a while. No check takes the backends away meanwhile.
sed -i 's/check: {.*}/check: {type: none}/' "$DIR/lb1.yaml"
node_start 1
must "without checks all is served, too" wait_for 5 answer
before=$(lost)
in_ns router sysctl -qw net.ipv4.conf.balancers.arp_ignore=8
in_ns lb1 ip neigh flush all
must "case 24: without a neighbour packets are dropped under a name" wait_for 10 lost_more "$before"
in_ns router sysctl -qw net.ipv4.conf.balancers.arp_ignore=0
must "until it answers again" wait_for 5 answers4
must "all the time from then on" answer
must "SIGTERM ends it with status 0" end lb1
