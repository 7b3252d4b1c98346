#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# HTTP through the VIPs by each forwarding mode, over IPv4 and IPv6; the wire between router and
# backends shows that it was this mode.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1 (agent, nginx)
#                   \-- lb2 (one-armed, on the link of b1: for l2dsr)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

get() { [ "$(in_ns client curl -sf -m "${2:-20}" "$1")" = b1 ]; }
forward_is() { [ "$(node_status "${2:-1}" | jq -r '[.services[].forward] | unique[]')" = "$1" ]; }
decapsulated() {
	"$WEIR" status --socket "$RUN/agent-$TAG-b1.sock" --json |
		json_number .verdicts.decapsulated.packets
}

decapsulated_since() { [ "$(decapsulated)" -ge $((before + $1)) ]; }

# capture FILTER: counts what arrives at b1's link, before its agent, until capture_end.
capture() {
	: >"$DIR/tcpdump.log"
	spawn tcpdump router tcpdump -i b1 -Q out -nn -U -w "$DIR/mode.pcap" "$1"
	wait_for 5 grep -q listening "$DIR/tcpdump.log" || fail "tcpdump listens"
}
captured() { tcpdump -nn -r "$DIR/mode.pcap" 2>/dev/null | grep -c .; }
saw_some() { [ "$(captured)" -gt 0 ]; }

mac_of() { in_ns "$1" ip -j link show eth0 | jq -r ".[0].address"; }

# serves MODE FILTER4 FILTER6: what a mode's tunnels look like, by the outer family.
serves() {
	local before
	rm -f "$DIR/lb1.yaml"
	FORWARD=$1 node_start 1
	must "status says $1" forward_is "$1"
	before=$(decapsulated)
	capture "$2"
	must "a VIP answers by $1" get http://$VIP4/
	must "the wire has it" wait_for 5 saw_some
	end tcpdump
	capture "$3"
	must "an IPv6 VIP answers by $1" get "http://[$VIP6]/"
	must "the wire has it" wait_for 5 saw_some
	end tcpdump
	must "the agent took it out" wait_for 5 decapsulated_since 8
	end lb1
}

netns_begin
topology 1 1
router_start
backend_start b1
agent_start b1
serves ipip 'ip proto 4' 'ip6 proto 41'
serves gre 'ip proto 47' 'ip6 proto 47'
serves gue 'udp dst port 6080 and ip' 'udp dst port 6080 and ip6'

# By l2dsr the packets reach a backend as they are: nothing for the agent to take out.
FORWARD=l2dsr
rm "$DIR/lb1.yaml"
node_start 1
must_not "l2dsr does not reach a backend behind a router" get http://$VIP4/ 2
must "which is counted" test "$(node_status 1 | jq .verdicts.no_neighbor.packets)" -gt 0
must "status tells that it is" test "$(node_status 1 | jq '.pools[0].backends[0].on_link')" = false
must "and so does the log" grep -q 'backend is behind a router' "$DIR/lb1.log"
end lb1

space lb2
on_bridge lb2 lb2 backends 10.0.1.102/24 2001:db8:1::102/64 10.0.1.1 2001:db8:1::1
node_start 2
in_ns router ip route add $VIP4 via 10.0.1.102 metric 10
in_ns router ip route add $VIP6 via 2001:db8:1::102 metric 10
must "status says l2dsr" forward_is l2dsr 2
before=$(decapsulated)
macs="ether src $(mac_of lb2) and ether dst $(mac_of b1)"
capture "$macs and dst host $VIP4"
must "a VIP answers by l2dsr" get http://$VIP4/
must "the wire has it" wait_for 5 saw_some
end tcpdump
capture "$macs and dst host $VIP6"
must "an IPv6 VIP answers by l2dsr" get "http://[$VIP6]/"
must "the wire has it" wait_for 5 saw_some
end tcpdump
must "the agent had nothing to take out" test "$(decapsulated)" -eq "$before"
end lb2
