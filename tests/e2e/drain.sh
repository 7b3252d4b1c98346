#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# What an operator does by hand to a backend under traffic: drained, nobody is cut and nobody new
# comes; in maintenance, all are cut; at a tenth, a tenth comes; back with slow_start, it ramps. All
# of it outlives the daemon, killed or stopped, and shows beside the file. With cases 14 and 15 of
# what balancers got wrong: datagrams of a removed backend, and a SYN on a closed flow's ports.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2, b3

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

DATAGRAMS=$ROOT/build/tests/e2e/datagrams
PORT=7 # of these
ASKED=150
SIZE=60000000 # of a download, which lasts longer than the test

weir() { "$WEIR" "$@" --node "$TAG-lb1" >"$DIR/out" 2>"$DIR/err"; }
says() { grep -qF -- "$1" "$DIR/$2"; }

# of POOL BACKEND FILTER: what status tells of it.
of() {
	node_status 1 | jq -r ".pools[] | select(.name == \"$1\").backends[] |
		select(.name == \"$2\") | $3"
}
is() { [ "$(of "$1" "$2" "$3")" = "$4" ]; }

some_in_transition() {
	node_status 1 | json_is '.pools[] | select(.name == "web4").in_transition > 0'
}
sees_flows() { [ "$(of web4 b1 .flows)" -ge "$1" ]; }

# ask_all FILE: a new connection from each of the same ports; a line each, see http.sh.
ask_all() {
	http_batch http://$VIP4/ 20000 $ASKED | in_ns client curl -K - 2>&1 | http_stamp 4 \
		>"$DIR/$1"
}
count_of() { awk -v b="$1" '$6 == b' "$DIR/$2" | grep -c . || :; }
all_answered() { [ "$(grep -c ' ok ' "$DIR/$1")" = $ASKED ]; }
# A SYN that was lost comes again after a second. All that were b1's would be late if it were for
# that; one or the other is on a busy machine.
at_once() { awk '$5 > 900000 { late++ } END { exit late > NR / 15 }' "$DIR/$1"; }
# same_but BACKEND LEFT RIGHT: who was another's before is that one's still.
same_but() {
	paste -d ' ' "$DIR/$2" "$DIR/$3" |
		awk -v b="$1" '$6 != b && $6 != $13 { print "#", $0; moved = 1 } END { exit moved }'
}
same_owners() { cmp <(awk '{ print $6 }' "$DIR/$1") <(awk '{ print $6 }' "$DIR/$2"); }

# download FAMILY PORT: in the background.
download() {
	local url=http://$VIP4/slow
	[ "$1" = 4 ] || url="http://[$VIP6]/slow"
	spawn "get$2" client curl -sf --local-port "$2" -o "$DIR/got$2" "$url"
}
size_of() { stat -c %s "$DIR/got$1" 2>/dev/null || echo 0; }
grown() { [ "$(size_of "$1")" -gt "$2" ]; }
begun() { grown "$1" 10000; }
ended() { ! alive "get$1"; }
# ports_of FAMILY BACKEND FIRST: ports whose flows are that backend's, of 40.
ports_of() {
	local flows=() port
	for ((port = $3; port < $3 + 40; port++)); do
		flows+=("$1" "$port")
	done
	base_owners "${flows[@]}" | awk -v b="$2" -v first="$3" '$1 == b { print first + NR - 1 }'
}
# get FAMILY BACKEND FIRST: one download from it; its port is $port.
get() {
	port=$(ports_of "$1" "$2" "$3" | head -n 1)
	download "$1" "$port"
	wait_for 5 begun "$port" || fail "a download from $2 begins"
}

again() {
	end lb1 "$1"
	node_start 1
}

# datagram FROM: who answers one from that port.
datagram() { in_ns client "$DATAGRAMS" ask $VIP4 $PORT 20 kernel "$1"; }
answers() { in_ns "$1" ss -Hlun "sport = :$PORT" | grep -q .; }
answered() { datagram "$1" >"$DIR/who"; }
answered_by_b3() { [ "$(datagram "$1")" = b3 ]; }

netns_begin
[ -x "$DATAGRAMS" ] || die "no $DATAGRAMS; make units first"
mkdir "$DIR/www"
head -c $SIZE /dev/urandom >"$DIR/www/slow"
COUNT_BACKEND=3 node_config 1 | sed "s/name: web6/&\n  slow_start: 6s\n  drain_limit: 5s/
	/shop4/s|tcp/80|tcp/80, udp/$PORT|" >"$DIR/lb1.yaml"
stack 1 3
kept=$KEPT/$TAG-lb1.overrides.json
ask_all before
must "every backend serves" test "$(count_of b1 before)" -gt 20 -a "$(count_of b2 before)" -gt 20

must_not "a name of two pools is refused" weir drain b1
must "with both" says 'web4/b1, web6/b1' err
must_not "so is an unknown one" weir maint web4/b4
must "with those that are near" says 'near is: web4/b1, web4/b2, web4/b3' err
must_not "nothing is kept of it" test -e "$kept"

# --- drain ---

ports=$(ports_of 4 b1 40000 | head -n 6; ports_of 4 b2 40000 | head -n 2)
for port in $ports; do
	download 4 "$port"
done
for port in $ports; do
	must "a download begins from port $port" wait_for 5 begun "$port"
done
must "b1 is drained" weir drain web4/b1
must "which the answer tells" says 'web4/b1: drain' out
must "status, too" is web4 b1 '"\(.state) \(.file_state) \(.override.state) \(.slots)"' \
	'drain active drain 0'
must "some slots are in transition" some_in_transition
must "the downloads are seen" wait_for 5 sees_flows 6
ask_all drained
must "nobody new comes to it" test "$(count_of b1 drained)" = 0
must "everyone is answered" all_answered drained
must "others' flows are where they were" same_but b1 before drained
must "case 15: a SYN on the ports of a closed flow goes on at once" at_once drained
since=$(of web4 b1 .override.state_since_s)
must "a second drain is none" weir drain web4/b1
must "which is said" says 'nothing to change' out
end lb1 KILL
ask_all dead
must "nor does anybody while the daemon is dead" test "$(count_of b1 dead)" = 0
must "what was set is kept, for root alone" test "$(stat -c %a "$kept")" = 600
node_start 1
must "it is drained after the daemon's death" is web4 b1 .state drain
must "since the same time" test "$(of web4 b1 ".override.state_since_s >= $since")" = true
ask_all restarted
must "and nobody new comes" test "$(count_of b1 restarted)" = 0
for port in $ports; do
	size=$(size_of "$port")
	must "the download from port $port goes on" wait_for 5 grown "$port" $((size + 1))
	end "get$port"
	must "byte by byte" begins_as "$DIR/got$port" "$DIR/www/slow"
done
again TERM
must "it is drained after a stop, too" is web4 b1 .state drain
"$WEIR" status --node "$TAG-lb1" >"$DIR/out"
must "in words" grep -q '^web4 .*b1 .*OVERRIDDEN: drain for .*, the file says active; drains for' \
	"$DIR/out"
must "it comes back" weir ready web4/b1
must_not "nothing is kept any more" test -e "$kept"
ask_all after
must "every flow is where it was" same_owners before after

# --- maint ---

get 4 b2 41000
must "b2 is put into maintenance" weir maint web4/b2
must "its flow is cut" wait_for 3 ended "$port"
must_not "as a failure" finished "get$port"
ask_all maint
must "nobody new comes to it" test "$(count_of b2 maint)" = 0
must "others' flows are where they were" same_but b2 before maint
must "it comes back" weir ready web4/b2

# --- weight ---

slots=$(of web4 b1 .slots)
must "b1 gets a tenth" weir weight web4/b1 10
now=$(of web4 b1 .slots)
must "of its slots" test $((now * 100)) -ge $((slots * 9)) -a $((now * 100)) -le $((slots * 11))
ask_all tenth
must "everyone is answered" all_answered tenth
must "others' flows are where they were" same_but b1 before tenth
must "about a tenth comes" test "$(count_of b1 tenth)" -gt 0 -a \
	"$(count_of b1 tenth)" -lt $(($(count_of b1 before) / 4))
again KILL
must "it has the tenth after the daemon's death" is web4 b1 '"\(.percent) \(.slots)"' "10 $now"
must "it gets all again" weir weight web4/b1 --clear
ask_all after
must "every flow is where it was" same_owners before after

# --- slow start ---

slots=$(of web6 b1 .slots)
must "b1 is put aside by IPv6" weir maint web6/b1
must "and comes back" weir ready web6/b1
ramped() {
	of web6 b1 .percent >>"$DIR/ramp"
	[ "$(tail -n 1 "$DIR/ramp")" = 100 ]
}
must "to all of it in time" wait_for 10 ramped
must "step by step" sort -c -n "$DIR/ramp"
must "of which there are several" test "$(sort -nu "$DIR/ramp" | grep -c .)" -ge 3
must "its slots are those that it had" is web6 b1 .slots "$slots"

# --- the limit of a drain ---

get 6 b1 42000
must "b1 is drained for a time" weir drain web6/b1
left=$(of web6 b1 .drain_left_s)
again KILL
must "which goes on over the daemon's death" test "$(of web6 b1 ".drain_left_s < $left")" = true
must "and then its flow is cut" wait_for 6 ended "$port"
must_not "as a failure" finished "get$port"
must "by the limit" is web6 b1 .drain_left_s 0

# --- what is kept ---

must "another is drained" weir drain web4/b3
end lb1 KILL
head -c 50 "$kept" >"$DIR/half"
cat "$DIR/half" >"$kept"
node_start 1
must "of a damaged file nothing is taken" is web4 b3 .state active
must "which the log tells" grep -q 'level=error.*overrides are lost.*damaged' "$DIR/lb1.log"
must "and it is put aside" cmp -s "$kept.damaged" "$DIR/half"

for b in b1 b2 b3; do
	spawn "$b-answers" $b "$DATAGRAMS" answer $VIP4 $PORT $b
done
for b in b1 b2 b3; do
	wait_for 5 answers $b || fail "$b answers datagrams"
done
for ((port = 43000; port < 43060; port++)); do
	answered_by_b3 $port && break
done
must "a datagram is answered by b3" answered_by_b3 $port
must "b3 is put aside" weir weight web4/b3 50
must "and kept so by IPv6" weir weight web6/b3 20
end lb1 KILL
sed -i '0,/name: b3/{/name: b3/d}' "$DIR/lb1.yaml"
node_spawn 1
kept_one() { is web6 b3 .override.percent 20; }
must "without b3 in the file the other override is there" wait_for 10 kept_one
must "and the log tells of the one that is dropped" \
	grep -q 'level=warn.*override is dropped.*pool=web4 backend=b3' "$DIR/lb1.log"
must_not "case 14: the flow's next datagram is not sent to b3, which is gone" answered_by_b3 $port
must "but is answered" answered $port
must "all is cleared at once" weir ready --clear --all
must "which is told" says 'cleared: 1' out
must_not "nothing is kept" test -e "$kept"
must "and the file's word holds" is web6 b3 '"\(.percent) \(.override)"' '100 null'
