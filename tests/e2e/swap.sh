#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 90
#
# Two pools swap names in the file, two services do, and both at once, by reloads and by starts of a
# node that was killed: their backends stay healthy and reached, what was set by hand stays with
# them, and no connection is cut.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

serving() { wait_for 15 http_more $(($(http_count any) + $1)); }
# The names that begin with this one, of either family, change places.
swap() {
	sed -i "s/\\b${1}4\\b/${1}X/g; s/\\b${1}6\\b/${1}4/g; s/\\b${1}X\\b/${1}6/g" "$DIR/lb1.yaml"
}
# Which pool each VIP has by now, the IPv4 one first; and where b1 drains by hand.
has_pools() {
	node_status 1 | json_is "[.services | sort_by(.vips[0]) | .[] | .name, .pool] == [$1]"
}
drains_in() {
	node_status 1 |
		json_is "[.pools[] | .name as \$p | .backends[] | select(.override != null) |
			\$p + \"/\" + .name] == [\"$1/b1\"]"
}
# Nobody is asked anew, and nothing is in transition but what drains.
is_as_before() {
	has_pools "$1" && drains_in "$2" && node_is_up 1
}
by_reload() {
	must "$1" "$WEIR" reload --node "$TAG-lb1"
	must "by these names" wait_for 5 is_as_before "$2" "$3"
	must "requests go on" serving 40
}
by_start() {
	end lb1 KILL
	swap "$1"
	[ -z "$2" ] || swap "$2"
	node_spawn 1
	must "a start with the same" wait_for 10 is_as_before "$3" "$4"
	must "requests go on" serving 40
}

netns_begin
mkdir "$DIR/www"
head -c 3000000 /dev/urandom >"$DIR/www/slow"
stack 1 2
: >"$DIR/requests"
http_start c4 4 http://$VIP4/ 10000 29999 60
http_start c6 6 "http://[$VIP6]/" 30000 49999 60
for i in 1 2 3 4; do
	spawn "download$i" client curl -sf -o "$DIR/got$i" http://$VIP4/slow
	spawn "download6$i" client curl -sf -o "$DIR/got6$i" "http://[$VIP6]/slow"
done
must "requests are answered" serving 40
must "a backend drains by hand" "$WEIR" drain --node "$TAG-lb1" web4/b1
must "it is shown" wait_for 5 drains_in web4

cp "$DIR/lb1.yaml" "$DIR/before.yaml"
swap web
"$WEIR" diff "$DIR/lb1.yaml" --against "$DIR/before.yaml" >"$DIR/diff"
must "a diff says who goes on" grep -qx 'pool web6 was web4 until now, and goes on' "$DIR/diff"
must_not "and that no keys move" grep -q 'go to another backend' "$DIR/diff"
by_reload "pools swap names" '"shop4", "web6", "shop6", "web4"' web6
swap shop
by_reload "services swap names" '"shop6", "web6", "shop4", "web4"' web6
by_start web '' '"shop6", "web4", "shop4", "web6"' web4
by_start shop web '"shop4", "web6", "shop6", "web4"' web6

for i in 1 2 3 4 61 62 63 64; do
	must "a connection that lasted over all of it is complete" finished "download$i"
	must "byte by byte" cmp "$DIR/got$i" "$DIR/www/slow"
done
http_unbroken c4 c6
must "SIGTERM ends it with status 0" end lb1
