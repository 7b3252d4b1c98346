#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 90
#
# A backend fails and returns: its flows move, nobody else's, and come back exactly. Which backend
# each of a few hundred flows has is seen by asking from the same source ports each time.
#
#   client -- router -- lb1, lb2 (one-armed, ECMP)
#                  \--- b1 .. b4

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

owners() {
	http_owners 4 20000 150
	http_owners 6 30000 150
}

all_answered() {
	grep -v ' b[1-4]$' "$1" | sed 's/^/# not answered: /'
	[ "$(grep -c ' b[1-4]$' "$1")" = 300 ]
}

# both_say BACKEND HEALTH: in both pools of both nodes.
both_say() {
	local i
	for i in 1 2; do
		[ "$(node_health $i | grep -c "/$1 $2\$")" = 2 ] || return 1
	done
}

# slots NUMBER BACKEND: the share that status shows, both pools.
slots() {
	node_status "$1" | jq "[.pools[].backends[] | select(.name == \"$2\").slots] | add"
}

both_serve() { [ "$(slots 1 b2) $(slots 2 b2)" = "$1 $1" ]; }

# moved FROM TO: flows that differ between two lists; prints them when somebody else's moved.
only_victims_moved() {
	paste -d ' ' "$1" "$2" | awk '
	$3 == "b2" && $6 == "b2" { print "# still on b2: " $0; bad = 1 }
	$3 == "b2" { moved++ }
	$3 != "b2" && $3 != $6 { print "# moved: " $0; bad = 1 }
	$6 !~ /^b[134]$/ { print "# not served: " $0; bad = 1 }
	END { exit bad || !moved }'
}

spread() {
	awk '{ n[$3]++ } END { for (i = 1; i <= 4; i++) if (n["b" i] < 30) exit 1 }' "$1"
}

# traced FILE: weir trace names the same backend for each of the flows.
traced() {
	local flows
	mapfile -t flows < <(awk '{ print $1; print $2 }' "$1")
	base_owners "${flows[@]}" | paste -d ' ' "$1" - | awk '$3 != $4 { print "# " $0; bad = 1 }
	END { exit bad || NR < 100 }'
}

netns_begin
stack 2 4
owners >"$DIR/before"
must "every flow is answered" all_answered "$DIR/before"
must "by all four" spread "$DIR/before"
must "as weir trace says" traced "$DIR/before"
share=$(slots 1 b2)
must "status shows its share of slots" test "$share" -gt 0

end b2-nginx KILL
must "both nodes see that b2 is down" wait_for 5 both_say b2 unhealthy
must "and that b1 is up" both_say b1 healthy
must "it serves no slot" wait_for 5 both_serve 0
owners >"$DIR/down"
must "its flows moved, and no other" only_victims_moved "$DIR/before" "$DIR/down"
owners >"$DIR/again"
must "and stay where they are" cmp "$DIR/down" "$DIR/again"

backend_start b2
must "both nodes see that b2 is up" wait_for 5 both_say b2 healthy
must "and give its slots back" wait_for 5 both_serve "$share"
owners >"$DIR/after"
must "every flow is where it was" cmp "$DIR/before" "$DIR/after"

# None is left: the connection is refused, and the nodes go on.
for i in 1 2 3 4; do
	end b$i-nginx KILL
done
for i in 1 2 3 4; do
	must "both nodes see that b$i is down" wait_for 5 both_say b$i unhealthy
done
rejected() { node_status "$1" | json_is '.verdicts.rejected.packets > 0'; }
one_rejected() { rejected 1 || rejected 2; }
must_not "with none usable nobody answers" in_ns client curl -sf -m 20 http://$VIP4/
must "and the verdict is counted" wait_for 5 one_rejected
for i in 1 2 3 4; do
	backend_start b$i
done
must "all come back" wait_for 5 both_say b4 healthy
must "and answer" wait_for 5 in_ns client curl -sf -m 20 http://$VIP4/
