#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 90
#
# Files that give slots another meaning, under connections: another table size, another seed,
# another policy, each after the daemon was killed. Who is connected stays where it is; who comes
# goes where the new file says.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2, b3

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

DOWNLOADS=12 # of each family

# download NUMBER ADDRESS: in the background, in parts of a second; longer than the test.
download() { spawn "get$1" client curl -sf -o "$DIR/got$1" "http://$2/slow"; }

all_got() {
	local i
	for ((i = 0; i < 2 * DOWNLOADS; i++)); do
		[ "$(stat -c %s "$DIR/got$i" 2>/dev/null || echo 0)" -gt "$1" ] || return 1
	done
}

# flip NAME: the daemon dies, and another one reads the file as it is now.
flip() {
	end lb1 KILL
	node_start 1
	must "$1: slots are in transition" in_transition
	all_alive "$1"
}

in_transition() { node_status 1 | jq '[.pools[].in_transition] | min > 0' | json_is .; }

all_alive() {
	local i alive=0
	for ((i = 0; i < 2 * DOWNLOADS; i++)); do
		alive "get$i" && alive=$((alive + 1))
	done
	must "$1: nobody has lost a connection" test "$alive" = $((2 * DOWNLOADS))
}

netns_begin
mkdir "$DIR/www"
head -c 60000000 /dev/urandom >"$DIR/www/slow"
stack 1 3
http_owners 4 20000 100 >"$DIR/before"
for ((i = 0; i < DOWNLOADS; i++)); do
	download "$i" "$VIP4"
	download $((DOWNLOADS + i)) "[$VIP6]"
done
must "downloads begin" wait_for 5 all_got 10000

sed -i "s/^- name: web/- table_size: 509\n  name: web/" "$DIR/lb1.yaml"
flip "another size"
http_owners 4 30000 100 >"$DIR/sized"
must "who comes is served" test "$(grep -cE ' b[123]$' "$DIR/sized")" = 100

sed -i "s/^seed: demo/seed: another/" "$DIR/lb1.yaml"
flip "another seed"
http_owners 4 20000 100 >"$DIR/seeded"
must_not "who comes goes elsewhere" cmp -s "$DIR/before" "$DIR/seeded"

sed -i "s/tracking: transition/tracking: transition, policy: source/" "$DIR/lb1.yaml"
flip "another policy"
http_owners 4 30000 50 >"$DIR/policed"
must "who comes from one address goes to one backend" \
	test "$(awk '{ print $3 }' "$DIR/policed" | sort -u | wc -l)" = 1

most=$(stat -c %s "$DIR"/got* | sort -n | tail -n 1)
must "every download goes on" wait_for 5 all_got $((most + 300000))
whole=0
for ((i = 0; i < 2 * DOWNLOADS; i++)); do
	end "get$i"
	begins_as "$DIR/got$i" "$DIR/www/slow" && whole=$((whole + 1))
done
must "byte by byte" test $whole = $((2 * DOWNLOADS))
