#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# What `weir events` tells: each change of state once, and what the log says of it; as it happens,
# over a restart; by kind and from a number on; the same on the admin port; who changes all the
# time does not push out the rest.
#
#   client -- router (BIRD) -- lb1 (one-armed)
#                         \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

ROUTES=bgp
URL=http://127.0.0.1:9700/api/v1/events

weir() { "$WEIR" "$@" --node "$TAG-lb1" >"$DIR/out" 2>"$DIR/err"; }
events() { "$WEIR" events --node "$TAG-lb1" --json "$@"; }
# has KIND SUBJECT TEXT: among all that are kept.
has() {
	events | jq -s --arg k "$1" --arg s "$2" --arg t "$3" \
		'any(.[]; .kind == $k and .subject == $s and .text == $t)' | grep -qx true
}
comes() { wait_for 10 has "$@"; }
followed() { jq -s --arg t "$1" 'any(.[]; .text == $t)' "$DIR/follow.log" | grep -qx true; }
last() { events | jq -s 'last.seq'; }
# Numbers from 1 on, without a gap.
counts_up() { events | jq -s 'map(.seq) == [range(1; length + 1)]' | grep -qx true; }
# Each event's line is in the log, as often as there are such events.
logged_once() {
	local no_news='^backend is healthy$|^next hop$' # of what a start finds
	events | jq -r '.text' | grep -vE "$no_news" | sort | uniq -c >"$DIR/of_events"
	[ -s "$DIR/of_events" ] || return 1
	sed -n 's/^level=[a-z]* msg="\([^"]*\)".*/\1/p' "$DIR/lb1.log" |
		grep -vE "$no_news" | sort | uniq -c |
		grep -Ff <(sed 's/^ *[0-9]* //' "$DIR/of_events") >"$DIR/of_log"
	diff "$DIR/of_events" "$DIR/of_log"
}
get() { in_ns lb1 curl -sg --max-time 20 "$@"; }

netns_begin
stack 1 2
must "the start is told" comes daemon "" running
must "the interface" comes xdp eth0 attached
must_not "not what was well from the start" has backend web4/b1 "backend is healthy"
must "a router" comes bgp 192.0.2.1 "the BGP session is up"
must "a VIP" comes vip $VIP4 "VIP is announced"

spawn follow lb1 "$WEIR" events --follow --json --node "$TAG-lb1"
must "what is there is followed by what comes" wait_for 5 followed running
before=$(last)
weir drain web4/b1 || fail "weir drain"
must "an operator's change" comes operator web4/b1 "backend is overridden"
must "slots" comes pool web4 "slots changed hands"
must "it is told to who follows" wait_for 5 followed "backend is overridden"
must "from a number on" test "$(events --since "$before" |
	jq -s --argjson n "$before" 'map(.seq) | min == $n + 1')" = true
must "by kind" test "$(events --kind operator | jq -r .kind | uniq)" = operator
must "fields are the log's" test "$(events --kind operator |
	jq -rs 'last.fields | "\(.pool) \(.backend) \(.state) \(.percent)"')" = "web4 b1 drain 100"
weir ready web4/b1 || fail "weir ready"
must "and its end" comes operator web4/b1 "backend is as the file says"
end b2-nginx
must "a backend that fails" comes backend web4/b2 "backend is unhealthy"
backend_start b2
must "and returns" comes backend web4/b2 "backend is healthy"
weir withdraw $VIP4 || fail "weir withdraw"
must "a VIP is withdrawn" comes vip $VIP4 "VIP is withdrawn"

cp "$DIR/lb1.yaml" "$DIR/good.yaml"
sed 's/web4/other4/g' "$DIR/good.yaml" >"$DIR/next.yaml"
mv "$DIR/next.yaml" "$DIR/lb1.yaml"
must "another file is taken" comes config "" "another configuration runs"
must "with its generation" test "$(events --kind config | jq -s 'last.fields.generation')" = 2
sed 's/^node:/nodes:/' "$DIR/good.yaml" >"$DIR/next.yaml"
mv "$DIR/next.yaml" "$DIR/lb1.yaml"
must "or refused" comes config "$DIR/lb1.yaml" "the file is refused, nothing changes"
cp "$DIR/good.yaml" "$DIR/next.yaml"
mv "$DIR/next.yaml" "$DIR/lb1.yaml"
must "and put right" wait_for 10 eval '[ "$(events --kind config |
	jq -s "last.fields.generation")" = 3 ]'

end bird
must "a router that is lost" comes bgp 192.0.2.1 "the BGP session is down"
in_ns router ip link set lb1 down
must "the link's other end" comes link eth0 "the link is down"
in_ns router ip link set lb1 up
must "and its return" comes link eth0 "the link is up, after a change"
must "numbers have no gap" counts_up
must "each is in the log once" logged_once

get "$URL?limit=2" >"$DIR/newest"
must "the admin port has the newest" json_is '(.events | length == 2) and
	(.events[-1].seq == .last)' <"$DIR/newest"
get "$URL?since=1&limit=3" >"$DIR/some"
must "and any others" json_is '[.events[].seq] == [2, 3, 4] and .next == 4' <"$DIR/some"
must "of a kind" test "$(get "$URL?kind=xdp" | jq -r '.events[].kind' | uniq)" = xdp
must "not more than it may" test "$(get "$URL?limit=501" -o "$DIR/err" \
	-w '%{http_code}')" = 400

for ((i = 0; i < 20; i++)); do
	weir maint web6/b1 && weir ready web6/b1 || fail "an operator changes often"
done
must "who changes all the time is bounded" test "$(events --kind operator |
	jq -s 'map(select(.subject == "web6/b1")) | length')" -le 18
must "and counted" test "$(get "$URL" | jq .suppressed)" -ge 20
must "lines for people" eval '"$WEIR" events --node "$TAG-lb1" |
	grep -qE "^ +1 20[0-9T:.-]+Z [a-z]+ +[^ ]*: "'

lines=$(wc -l <"$DIR/follow.log")
weir restart || fail "weir restart"
must "who follows sees the next one" wait_for 20 followed "adopted the running data plane"
must "not what it has seen again" test "$(tail -n +$((lines + 1)) "$DIR/follow.log" |
	jq -s 'map(select(.text == "running")) | length')" -le 1
must "which counts anew" counts_up
must_not "no such kind" weir events --kind nonsense
must_not "no number" weir events --since x
must "an agent has events" eval '"$WEIR" events --json --node "agent-$TAG-b1" |
	jq -s "any(.[]; .kind == \"vip\" and .text == \"VIP put on the loopback\")" | grep -qx true'
