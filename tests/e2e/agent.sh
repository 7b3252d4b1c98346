#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 150
#
# An agent's life on its host: what it changes, that it undoes all of it, also after it was killed;
# who may send it tunnels; and that nobody learns from the backend where a VIP is.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1 (agent, nginx)
#                  \--- nosy, which has the VIPs on its link and so asks for them there

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

AGENT_STATE=$RUN/agent-$TAG-b1.json
AGENT_SOCKET=$RUN/agent-$TAG-b1.sock

# All that an agent may touch, as text.
host_now() {
	in_ns b1 ip -o addr show | grep -v 'link/' | sed 's/valid_lft.*//'
	in_ns b1 ip -4 route show table local
	in_ns b1 ip -6 route show table local
	in_ns b1 ip link show eth0 | sed -n 's/.*mtu/mtu/p'
	in_ns b1 tc qdisc show dev eth0
	in_ns b1 tc filter show dev eth0 egress | sed 's/ id [0-9]*//'
	in_ns b1 sysctl -a 2>/dev/null | grep -E '^net\.ipv4\.conf\..*(arp_|rp_filter)'
	find "$PINS/agent-$TAG-b1" "$AGENT_STATE" "$AGENT_SOCKET" 2>/dev/null
}

host_is() {
	local status
	host_now | diff "$DIR/$1" - >"$DIR/diff"
	status=$?
	sed 's/^/#   /' "$DIR/diff"
	[ $status = 0 ] && [ -s "$DIR/$1" ]
}

value() { in_ns b1 sysctl -n "net.ipv4.conf.$1"; }

# run_agent FILE [OPTION]: in the foreground, its output in $DIR/again.log.
run_agent() {
	in_ns b1 timeout 60 "$WEIR" agent --config "$@" >"$DIR/again.log" 2>&1
}

status_is() {
	local want=$1 status=0
	shift
	"$@" || status=$?
	[ $status = "$want" ] || say "# status $status, not $want"
	[ $status = "$want" ]
}

says() { grep -q -- "$1" "$DIR/again.log"; }

agent_status() { "$WEIR" status --socket "$AGENT_SOCKET" --json; }
# counts VERDICT THAN: more of it.
counts() { [ "$(agent_status | json_number ".verdicts.$1.packets")" -gt "$2" ]; }

# get URL [SECONDS]
get() { in_ns client curl -sf -m "${2:-20}" -o "$DIR/answer" "$1"; }
both_answer() { get http://$VIP4/ && get "http://[$VIP6]/"; }

serving() { wait_for 10 http_more $(($(http_count any) + $1)); }

# asked ADDRESS URL: what nosy knows of the address after asking its link for it.
asked() {
	in_ns nosy ip neigh flush all
	in_ns nosy curl -s -m 1 -o "$DIR/answer" "$2"
	in_ns nosy ip neigh show "$1"
}

pings() { in_ns b1 ping -qc 1 -W 20 "$1" >"$DIR/answer"; }
is_known() { asked "$@" | grep -q lladdr; }

netns_begin
mkdir "$DIR/www"
topology 1 1
router_start
backend_start b1
space nosy
on_bridge nosy nosy backends 10.0.1.99/24 2001:db8:1::99/64 10.0.1.1 2001:db8:1::1
in_ns nosy ip route add $VIP4 dev eth0
in_ns nosy ip route add $VIP6 dev eth0
# The host has a mind of its own: strict filtering, a sysctl that is right already, a filter.
in_ns b1 sysctl -qw net.ipv4.conf.eth0.rp_filter=1 net.ipv4.conf.all.arp_announce=2
in_ns b1 ip addr add 198.51.100.99/32 dev lo
host_now >"$DIR/before"
agent_config b1 >"$DIR/b1.yaml"

must "--check finds nothing that hinders" status_is 0 run_agent "$DIR/b1.yaml" --check
must "and says what will change" says 'eth0/rp_filter will be set to 2'
must "and changes nothing" host_is before

agent_start b1
node_start 1
must "a VIP answers over both families" both_answer
must "ARP is silent" test "$(value all.arp_ignore)" = 1
must "the filter on sources is loose" test "$(value eth0.rp_filter)" = 2
must "what an agent counts goes up" wait_for 5 counts decapsulated 0
must "status tells the VIPs" test "$(agent_status | jq -c .vips)" = "[\"$VIP4\",\"$VIP6\"]"
must "and the mode" test "$(agent_status | jq -r '.interfaces[0].xdp')" = native
"$WEIR" status --node "agent-$TAG-b1" >"$DIR/again.log"
must "in words as well" says "^agent $TAG-b1 "
must "with its counters" says "^decapsulated *[1-9]"
must "SYN-ACKs were clamped" test "$(agent_status | jq .syn_acks.clamped.packets)" -gt 0
must_not "nobody learns where the VIP is" is_known $VIP4 http://$VIP4/
must_not "nor the IPv6 one" is_known $VIP6 "http://[$VIP6]/"
must "though they asked" wait_for 5 counts silenced 0

host_now >"$DIR/running"
must "a second agent of the name ends with status 1" status_is 1 run_agent "$DIR/b1.yaml"
must "and says why" says 'runs already'
must "--check says so too" status_is 1 run_agent "$DIR/b1.yaml" --check
must "which changes nothing" host_is running

# --- killed, and taken over under traffic; the ports of the two families do not meet ---
: >"$DIR/requests"
http_start c1 4 http://$VIP4/ 10000 30000 40
http_start c2 6 "http://[$VIP6]/" 30000 50000 40
must "requests are answered" serving 40
end b1-agent KILL
must "they are without an agent" serving 60
agent_start b1
must "and with the next one" serving 60
must "which took over" test "$(agent_status | jq .adopted)" = true
http_unbroken c1 c2

must "SIGTERM ends it with status 0" end b1-agent
must "and the host is as it was before the first" host_is before

# --- a VIP less, and a foreign filter ---
agent_start b1
end b1-agent KILL
in_ns b1 tc filter add dev eth0 egress pref 7 protocol all u32 match u32 0 0 classid 1:1
sed "s/$VIP4, //" "$DIR/b1.yaml" >"$DIR/less.yaml"
spawn b1-agent b1 "$WEIR" agent --config "$DIR/less.yaml"
has_less() { agent_status 2>/dev/null | json_is '.vips | length == 1'; }
must "it starts again with a VIP less" wait_for 10 has_less
vip_gone() { ! in_ns b1 ip addr show lo | grep -q "$VIP4"; }
must "which is gone from the loopback" vip_gone
end b1-agent
must "a qdisc that others use stays" grep -q u32 <(in_ns b1 tc filter show dev eth0 egress)
must_not "without the agent's filter" grep -q weir_clamp <(in_ns b1 tc filter show dev eth0 egress)
in_ns b1 tc qdisc del dev eth0 clsact
must "and all else is as before" host_is before

# --- whom it believes ---
sed 's/100.64.1.0/100.64.9.0/; s/2001:db8:f:1::/2001:db8:f:9::/' "$DIR/b1.yaml" >"$DIR/other.yaml"
spawn b1-agent b1 "$WEIR" agent --config "$DIR/other.yaml"
wait_for 10 test -S "$AGENT_SOCKET" || fail "an agent of other balancers is up"
must_not "a tunnel from another source is refused" get http://$VIP4/ 1
must_not "over IPv6 too" get "http://[$VIP6]/" 1
must "and counted" wait_for 5 counts bad_source 1
end b1-agent

# --- VIPs that are prefixes ---
sed 's|vips: .*|vips: [198.51.100.8/29, "2001:db8:10::/64"]|' "$DIR/b1.yaml" >"$DIR/prefix.yaml"
host_now >"$DIR/single"
spawn b1-agent b1 "$WEIR" agent --config "$DIR/prefix.yaml"
wait_for 10 test -S "$AGENT_SOCKET" || fail "an agent of prefixes is up"
must "a VIP answers that the agent knows by its prefix" get http://$VIP4/
must "over IPv6 too" get "http://[$VIP6]/"
must "every address of it is the host's" pings 198.51.100.15
must "over IPv6 too" pings 2001:db8:10::abcd
must "none of them is on an interface" test -z "$(in_ns b1 ip -o addr show | grep -F "$VIP4/")"
must_not "nobody learns where they are" is_known $VIP4 http://$VIP4/
must_not "nor over IPv6" is_known $VIP6 "http://[$VIP6]/"
in_ns b1 ip addr add 198.51.100.14/32 dev eth0
must "--check finds an address of the host's in it" status_is 1 run_agent "$DIR/prefix.yaml" --check
must "and names both" says '^problem: 198.51.100.14 is on eth0, within the VIPs 198.51.100.8/29'
in_ns b1 ip addr del 198.51.100.14/32 dev eth0
end b1-agent KILL
must "after a death both answer on" both_answer
agent_start b1
must "a successor with single addresses serves" both_answer
must "and has taken the prefixes back" \
	test -z "$(in_ns b1 ip route show table local 198.51.100.8/29)"
end b1-agent
must "and the host is as it was" host_is single
in_ns b1 ip route add local 198.51.100.8/29 dev lo
host_now >"$DIR/routed"
must "--check hinders nothing" status_is 0 run_agent "$DIR/prefix.yaml" --check
must "but says that one is local already" \
	says '^note: 198.51.100.8/29 is local already; it will stay so'
spawn b1-agent b1 "$WEIR" agent --config "$DIR/prefix.yaml"
wait_for 10 test -S "$AGENT_SOCKET" || fail "an agent of prefixes is up"
end b1-agent
must "which stays as it was" host_is routed
in_ns b1 ip route del local 198.51.100.8/29 dev lo

# --- what it refuses ---
must "a bad file ends it with status 1" status_is 1 run_agent <(echo 'agent: {vips: [here]}')
in_ns b1 ip addr add $VIP4/32 dev eth0
in_ns b1 ip addr add $VIP6/128 dev eth0
must "--check finds a VIP on another interface" status_is 1 run_agent "$DIR/b1.yaml" --check
must "and names both" says "^problem: $VIP4 is on eth0"
must "without an agent that host answers for it" wait_for 5 is_known $VIP4 http://$VIP4/
must "over IPv6 too" wait_for 5 is_known $VIP6 "http://[$VIP6]/"
agent_start b1
must_not "with one it does not even then" is_known $VIP4 http://$VIP4/
must_not "nor over IPv6" is_known $VIP6 "http://[$VIP6]/"
end b1-agent
in_ns b1 ip addr del $VIP4/32 dev eth0
in_ns b1 ip addr del $VIP6/128 dev eth0

# A bridge has no native XDP.
in_ns b1 ip link add br.0 type bridge
in_ns b1 ip link set br.0 up
sed 's/\[eth0\]/[br.0]/' "$DIR/b1.yaml" >"$DIR/bridge.yaml"
must "--check knows a driver without XDP" status_is 1 run_agent "$DIR/bridge.yaml" --check
must "and says so" says 'br.0: its driver cannot run XDP'
must "native XDP is refused there" status_is 1 run_agent "$DIR/bridge.yaml"
must "with the kernel's reason" says 'Underlying driver does not support XDP'
sed 's/\[eth0\]/[eth0, br.0]/' "$DIR/b1.yaml" >"$DIR/two.yaml"
host_now >"$DIR/with_bridge"
must "at a second interface too" status_is 1 run_agent "$DIR/two.yaml"
must "which leaves nothing of the first" host_is with_bridge
agent_start b1
end b1-agent KILL
must "after a predecessor that was killed" status_is 1 run_agent "$DIR/two.yaml"
must "all is as that one left it" both_answer
agent_start b1
end b1-agent
must "and its successor undoes it" host_is with_bridge
sed -i 's/xdp: native/xdp: auto/' "$DIR/bridge.yaml"
spawn b1-agent b1 "$WEIR" agent --config "$DIR/bridge.yaml"
must "auto falls back" wait_for 10 has_xdp b1 br.0
wait_for 10 test -S "$AGENT_SOCKET" || fail "it is up"
must "and says so" test "$(agent_status | jq -r '.interfaces[0].fallback')" = true
end b1-agent
in_ns b1 ip link del br.0

sed -i 's/xdp: native/xdp: generic/' "$DIR/b1.yaml"
agent_start b1
must "generic mode serves too" both_answer
must "and says so" test "$(agent_status | jq -r '.interfaces[0].xdp')" = generic
end b1-agent
must "and the host is as it was" host_is before
