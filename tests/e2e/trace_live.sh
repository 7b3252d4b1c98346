#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# `weir trace` of the tables that a running node's packets meet: it says what becomes of a packet
# before that is sent, and the packet then does; each step; flows that are there, a slot in
# transition, an access list, a size; and nothing changes by it. Then the daemon is killed and the
# tables are asked again, and at last there are none.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1 b2 (agent, nginx)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

TRACKING=always
trace() { in_ns lb1 "$WEIR" trace --node "$TAG-lb1" "$@"; }
# Shows why with the other logs when it fails.
# said FILTER: of the last answer to ask.
said() { json_is "$1" <"$DIR/answer"; }
ask() { trace --json "$@" >"$DIR/answer" 2>"$DIR/answer.log"; }
ask_flow() {
	local port=$1
	shift
	ask tcp "$CLIENT4:$port" $VIP4:80 "$@"
}
get() { in_ns client curl -s --max-time 30 --local-port "$1" "http://$VIP4/"; }

# All that a packet to a VIP could change: flows and counters. The client is silent then; probes of
# the backends are counted as what is not for a VIP, and alone.
tables() {
	local table
	for table in flows service_counts backend_counts event_counts; do
		bpftool -j map dump pinned "$PINS/$TAG-lb1/$table"
	done | md5sum
	node_status 1 | jq -c '.verdicts | del(.not_ip, .not_vip)'
}

netns_begin
topology 1 2
node_config 1 | sed 's/^  interfaces/  flows: {entries: 1024, closing: 2m}\n&/' >"$DIR/lb1.yaml"
stack_start
must "a flow is traced" ask_flow 41001 --syn
must "to a backend" said '.verdict == "forwarded" and (.backend | test("^web4/b[12]$"))'
must "of the service" said '.service == "shop4" and .daemon and .attached and .interface == "eth0"'
must "the VIP is found" said ".vip.address == \"$VIP4\" and .vip.listens == [\"tcp/80\"]"
must "by the five" said '.policy.name == "5-tuple" and (.policy.hash | test("^[0-9a-f]{16}$"))'
must "its slot is the backend's" said '.slot.owner == .backend and .slot.number < .slot.of'
must "the backend is healthy" said '.chosen | .healthy and .takes_new_flows and .keeps_flows'
must "no flow yet" said '.flow == null'
must "it fits" said '.size == {packet: 40, added: 20, mtu: 1500, fits: true}'
must "in what is around it" said '.outer.protocol == 4
	and (.outer.source | test("^100\\.64\\.1\\.")) and .outer.destination == .chosen.address'
must "to the router" said '.next_hop.interface == "eth0" and (.next_hop.is_backend | not)'
backend=$(jq -r .backend "$DIR/answer")
must "which then gets it" test "web4/$(get 41001)" = "$backend"

# The flow has an entry by now.
ask_flow 41001
must "its entry decides" said '.why == "flow" and .flow.decides and .flow.state == "closing"
	and .flow.backend == .backend and .flow.left_s > 0'
ask_flow 41001 --syn
must "not about a new one" said '.flow.decides | not'

rest() { before=$(tables) && [ "$before" = "$(tables)" ]; }
must "the tables are at rest" wait_for 10 rest
for port in 42001 42002 42003 41001; do
	ask_flow $port --syn
done
must "asking changes nothing" test "$(tables)" = "$before"

ask_flow 41009 --syn --length 1490
must "too big for the path" said '.verdict == "too_big_answered" and (.size.fits | not)
	and .size.mtu == 1500'
ask tcp $CLIENT4:41001 $VIP4:81
must "nobody listens there" said '.verdict == "not_listened" and .service == null
	and .vip.listens == ["tcp/80"]'
by_pid() { in_ns lb1 "$WEIR" trace --json --pid "${CHILD[lb1]}" "$@" >"$DIR/answer"; }
must "asked by its process" by_pid tcp "$CLIENT4:41001" "$VIP4:80" --syn
must "it is the same" said '.service == "shop4" and .daemon'
ask tcp $CLIENT4:41001 192.0.2.99:80
must "no VIP" said '.verdict == "not_vip" and .vip == null'
ask tcp "[$CLIENT6]:41001" "[$VIP6]:80" --syn
must "IPv6" said '.service == "shop6" and .outer.protocol == 41 and .size.added == 40'

# An access list and a rate, brought in by a reload.
sed -i '/name: shop4/s/listen/deny: [203.0.113.0\/24], allow: [203.0.113.2], rate_limit: 10k, &/' \
	"$DIR/lb1.yaml"
must "a reload" in_ns lb1 "$WEIR" reload --node "$TAG-lb1"
ask_flow 41010 --syn
must "who is allowed" said '.access == "allow" and .verdict == "forwarded"'
must "and within the rate" said '.rate.refusing == 0 and .rate.cores >= 1 and
	.rate.a_second_and_core > 0'
ask tcp 203.0.113.77:41010 $VIP4:80 --syn
must "who is not" said '.access == "deny" and .verdict == "denied" and .why == "acl"'

# The node's own program is not another's, without its file, too.
in_ns lb1 "$WEIR" check --host --json >"$DIR/answer"
must "its program is no hindrance" said '[.interfaces[] | select(.name == "eth0").findings[].text
	| startswith("another")] | any | not'

# And what was dropped is explained, with what the node has counted.
explain() { "$WEIR" explain --node "$TAG-lb1" "$@"; }
must "nothing was dropped" json_is '.verdicts == []' < <(explain drop --json)
address client eth0 203.0.113.77/24
must_not "a request that is denied" \
	in_ns client curl -s --interface 203.0.113.77 --max-time 0.5 "http://$VIP4/"
must "is the only drop" json_is '.node == "'"$TAG-lb1"'" and (.verdicts | length == 1 and
	.[0].verdict == "denied" and .[0].packets > 0 and (.[0].to_do | length > 0))' \
	< <(explain drop --json)
must "in words" grep -q "counted   [1-9][0-9]* packets\?," <<<"$(explain drop)"
must "one that was not has its count too" grep -q "counted   0 packets" <<<"$(explain circled)"
must_not "no verdict" explain nonsense
# As whoever may not ask a node, and does not name one; nor need he see where the program is.
anyone() {
	setpriv --reuid 65534 --regid 65534 --clear-groups /proc/self/fd/9 "$@" \
		9<"$WEIR" 2>"$DIR/anyone.log"
}
must "words are for everyone" grep -q '^circled (drop)' <<<"$(anyone explain circled)"
must "why they are without counts is said" grep -q 'without counts: ' "$DIR/anyone.log"
must_not "but not of a node by its name" anyone explain circled --node "$TAG-lb1"

# A slot in transition: its owner drains.
in_ns lb1 "$WEIR" drain --node "$TAG-lb1" "$backend" >/dev/null
ask_flow 41001 --syn
must "another gets its new flows" said ".backend != \"$backend\" and .slot.owner == .backend"
must "the one before is known" said ".slot.previous == \"$backend\" and .slot.in_transition"

# Packets as bytes, and from a file with two of one flow.
text2pcap -q -4 $CLIENT4,$VIP4 -T 41050,80 - "$DIR/two.pcap" >/dev/null 2>&1 <<-END
	000000 61 62 63
	000000 64 65 66
END
must "a file" ask --pcap "$DIR/two.pcap"
must "its packets" test "$(wc -l <"$DIR/answer")" = 2
must "the second has what the first would have entered" test \
	"$(jq -c '.flow != null' "$DIR/answer" | tr '\n' ' ')" = "false true "
out=$(jq -r '.out[0]' "$DIR/answer" | head -n 1)
must "bytes" ask --packet "$out"
must "a tunnel is no VIP's" said '.verdict == "not_vip"'

# Words.
trace tcp $CLIENT4:41001 $VIP4:80 --syn >"$DIR/words"
must "words" grep -qE '^   slot      [0-9]+ of [0-9]+: owner web4/b[12], before web4/b[12]' \
	"$DIR/words"

# As most people enter a namespace: with a /sys of their own, in which nothing is pinned.
apart() { ip netns exec "$TAG-lb1" "$WEIR" "$@" --node "$TAG-lb1"; }
ask_apart() {
	apart trace --json tcp "$CLIENT4:41001" $VIP4:80 --syn >"$DIR/answer" 2>"$DIR/answer.log"
}
must_not "nothing is pinned there" ip netns exec "$TAG-lb1" test -e "$PINS/$TAG-lb1"
must "the tables, seen from there" ask_apart
must "with names" said '.daemon and .attached and (.backend | test("^web4/b[12]$"))'
sees_own() {
	ip netns exec "$TAG-lb1" "$WEIR" check --host --json "$DIR/lb1.yaml" >"$DIR/answer"
	said '.interfaces[0].findings | map(select(.text | test("another"))) == []'
}
must "the program is the node's own" sees_own
lists() { apart ipvs -L >"$DIR/words" && grep -q "TCP  $VIP4:80 mh" "$DIR/words"; }
must "ipvs" lists
sees_packets() {
	apart capture --json --count 1 --service shop4 >"$DIR/answer" 2>"$DIR/answer.log" &
	CHILD[apart]=$!
	wait_for 10 grep -q capturing "$DIR/answer.log" && get 41060 && wait "${CHILD[apart]}" &&
		unset 'CHILD[apart]' && grep -q '"service": *"shop4"' "$DIR/answer"
}
must "capture" sees_packets

# Without the daemon.
end lb1 KILL
must "the tables that it left" ask_flow 41001 --syn
must "which is said" grep -q "no daemon answers: .*packets at eth0 still meet" "$DIR/answer.log"
must "from there, too" ask_apart
must "which is said" grep -q "no daemon answers: .*packets at eth0 still meet" "$DIR/answer.log"
must "in JSON too" said '(.daemon | not) and .attached and (.backend | test("^#[0-9]+$"))'
rm "$PINS/$TAG-lb1/link-eth0"
in_ns lb1 ip link set eth0 xdpdrv off 2>/dev/null
must "tables that no packet meets" ask_flow 41001 --syn
must "are said to be such" said '(.attached | not)'
rm -r "${PINS:?}/$TAG-lb1"

# A node that was begun so has pins that only its own process sees.
setsid ip netns exec "$TAG-lb1" "$WEIR" run --config "$DIR/lb1.yaml" \
	>>"$DIR/lb1.log" 2>&1 </dev/null &
CHILD[lb1]=$!
must "a node with a /sys of its own" wait_for 15 node_is_up 1
must_not "pins nothing here" test -e "$PINS/$TAG-lb1"
must "its tables" ask_flow 41001 --syn
must "with names" said '.daemon and .attached and (.backend | test("^web4/b[12]$"))'
must "its end" end lb1

must_not "without tables there is no answer" trace tcp $CLIENT4:41001 $VIP4:80
must "but what to do" grep -q -- "--config FILE" <<<"$(trace tcp $CLIENT4:41001 $VIP4:80 2>&1)"
must "a file is asked without a node" "$WEIR" trace --config "$DIR/lb1.yaml" \
	tcp $CLIENT4:41001 $VIP4:80 --syn
must_not "what is of a file alone" trace tcp $CLIENT4:41001 $VIP4:80 --down b1
must_not "no port" trace tcp $CLIENT4 $VIP4:80
