#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 90
#
# A node that begins with nothing but a file of what its tables were made of: a backend was added,
# and connections from before go on. Then what becomes of that file.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2, b3, b4 (agent, nginx at 80, tests/e2e/server.c at 81)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/clients.sh
. "$(dirname "$0")/../lib/clients.sh"

PEERS=$ROOT/build/tests/e2e
LIVE=200
INTERVAL=1s

# backends STEM COUNT
backends() {
	for ((i = 1; i <= $2; i++)); do
		echo "  - {name: b$i, address: \"$1$i\"}"
	done
}

# configure COUNT: of backends.
configure() {
	local service="listen: [tcp/80, tcp/81], forward: gue, second_chance: true"
	local check="check: {type: tcp, port: 80, interval: $INTERVAL, timeout: $INTERVAL,
		fast_interval: 250ms, rise: 1, fall: 3}"
	cat >"$DIR/lb1.yaml" <<-END
		node:
		  name: $TAG-lb1
		  interfaces: [eth0]
		  xdp: native
		  tunnel: {source4: 100.64.1.0/24, source6: "2001:db8:f:1::/64"}
		  flows: {entries: 64Ki}
		seed: generations
		pools:
		- name: web4
		  $check
		  backends:
		$(backends 10.0.1.1 "$1")
		- name: web6
		  $check
		  backends:
		$(backends 2001:db8:1::1 "$1")
		services:
		- {name: shop4, vips: [$VIP4], pool: web4, $service}
		- {name: shop6, vips: ["$VIP6"], pool: web6, $service}
	END
}

route_nowhere() {
	in_ns router ip route replace blackhole $VIP4
	in_ns router ip -6 route del $VIP6 2>/dev/null
	in_ns router ip -6 route add blackhole $VIP6
}
route_back() {
	in_ns router ip -6 route del $VIP6
	in_ns router ip route replace $VIP4 via 192.0.2.11
	in_ns router ip -6 route add $VIP6 via 2001:db8:2::11
}

# begin COUNT [HEARD]: a node with empty tables and so many backends; so many answer its checks. The
# router waits for it.
begin() {
	COUNT_BACKEND=${2:-$1}
	route_nowhere
	if alive lb1; then
		end lb1 KILL
		rm -rf "${PINS:?}/$TAG-lb1"
	fi
	configure "$1"
	node_start 1
	route_back
}

none_moves() { [ "$(moving)" = 0 ]; }
moving() { node_status 1 | jq '[.pools[].in_transition] | add'; }
# silence NAME: its checks are not answered. let_go NAME: they are.
silence() {
	in_ns "$1" ip route add blackhole 192.0.2.11
	in_ns "$1" ip -6 route add blackhole 2001:db8:2::11
}
let_go() {
	in_ns "$1" ip route del blackhole 192.0.2.11
	in_ns "$1" ip -6 route del blackhole 2001:db8:2::11
}
# health_of NAME STATE
health_of() {
	node_status 1 | jq -e --arg name "$1" --arg state "$2" \
		'[.pools[].backends[] | select(.name == $name).health == $state] | all' >/dev/null
}
logged() { [ "$(grep -c "$1" "$DIR/lb1.log")" = "$2" ]; }
# kept FILTER: of the file.
kept() { jq -e "$1" <"$kept" >/dev/null; }

netns_begin
[ -x "$PEERS/clients" ] || die "no $PEERS/clients; make units first"
kept=$KEPT/$TAG-lb1.generation.json
AGENT_PEERS='[10.0.1.0/24, "2001:db8:1::/64"]'
topology 1 4
# With pauses of a second at most (where the kernel has this) a silenced check goes on soon.
in_ns lb1 sysctl -qw net.ipv4.tcp_rto_max_ms=1000 2>/dev/null
in_ns router ip route add 100.64.1.0/24 via 192.0.2.11
in_ns router ip route add 2001:db8:f:1::/64 via 2001:db8:2::11
for i in 1 2 3 4; do
	spawn b$i-server b$i "$PEERS/server" b$i 81
	in_ns b$i sysctl -qw net.ipv4.ip_default_ttl=10$i net.ipv6.conf.all.hop_limit=10$i \
		net.ipv6.conf.eth0.hop_limit=10$i
	backend_start b$i
	agent_start b$i
done

begin 2
must "the first start keeps what tables are made of" kept '.version == 1 and
	([.pools[] | (.now.backends | length) == 2 and .before == null] == [true, true])'
must "for root alone" test "$(stat -c %a "$kept")" = 600
must_not "there is nothing that tables were before" grep -q 'what it was before' "$DIR/lb1.log"

# --- a backend is added, and the node knows nothing of it ---

mkfifo "$DIR/control"
exec {CONTROL}<>"$DIR/control"
spawn clients client "$PEERS/clients" "$DIR/control" $LIVE 1 81 $VIP4 "$VIP6"
must "$LIVE connections live" wait_for 20 live $LIVE
must "at two backends" grep -q ' b1=[1-9].* b2=[1-9]' <<<"$reported"
begin 3
must "slots begin in transition" test "$(moving)" -gt 0
must "as the log tells of each pool" logged 'pool begins after what it was before' 2
listen
must "each connection is heard of" wait_for 15 all_heard
must "no connection broke" none_broken
must "the file has both generations" kept '[.pools[] | (.now.backends | length) == 3 and
	(.before.backends | length) == 2 and .switched_ms > 0] | all'
cp "$kept" "$DIR/kept"
begin 3
must "the next start knows it too" test "$(moving)" -gt 0
listen
must "each connection is heard of" wait_for 15 all_heard
must "no connection broke" none_broken
must "and has nothing to write" cmp -s "$kept" "$DIR/kept"

end lb1 KILL
node_start 1
must "the start is not over, so it is asked again" logged 'pool begins after what it was before' 6
must "and stays" cmp -s "$kept" "$DIR/kept"
control stop
must "the clients end" wait_for 15 grep -q '^report end ' "$DIR/clients.log"
must "and nothing broke at all" grep -q '^report end .* broken=0 excused=0' "$DIR/clients.log"

# --- a node that knows only a part of its backends when it is started again, with one more ---

end lb1 TERM
rm "$kept"
begin 3
spawn clients client "$PEERS/clients" "$DIR/control" $LIVE 1 81 $VIP4 "$VIP6"
must "$LIVE connections live" wait_for 20 live $LIVE
silence b3
INTERVAL=60s
begin 3 2
must "a node comes up that has not heard of b3" health_of b3 unknown
end lb1 KILL
configure 4
COUNT_BACKEND=3
node_start 1
must "nor has the next one, with a backend more" health_of b3 unknown
must "which begins after what it was before" logged 'pool begins after what it was before' 8
let_go b3
must "it hears of b3" wait_for 20 health_of b3 healthy
listen
must "each connection is heard of" wait_for 15 all_heard
must "no connection broke" none_broken
control stop
must "the clients end" wait_for 15 grep -q '^report end ' "$DIR/clients.log"
must "and nothing broke at all" grep -q '^report end .* broken=0 excused=0' "$DIR/clients.log"
INTERVAL=1s

# --- damage ---

head -c 100 "$DIR/kept" >"$kept"
begin 3
must "of a damaged file nothing is taken" logged 'pool begins after what it was before' 8
must "so no slot is in transition, but for backends that come one by one" wait_for 5 none_moves
must "which the log tells" logged 'level=error.*what tables were is lost.*damaged' 1
must "it is put aside" cmp -s "$kept.damaged" <(head -c 100 "$DIR/kept")
must "and there is a new one" kept '[.pools[] | (.now.backends | length) == 3 and
	.before == null] | all'
say "1..$TAP_COUNT"
