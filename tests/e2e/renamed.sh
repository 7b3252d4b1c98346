#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 90
#
# A pool gets another name in the file, by a reload and by a start: its backends are the same, so
# they stay healthy and reached, and no connection is cut.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

serving() { wait_for 10 http_more $(($(http_count any) + $1)); }
rename() { sed -i "s/\\b$1\\b/$2/g" "$DIR/lb1.yaml"; }
has_pools() { node_status 1 | json_is "[.pools[].name] == [\"$1\", \"web6\"]"; }
packets() {
	node_status 1 | json_number "[.pools[] | select(.name == \"$1\").backends[].packets] | add"
}

netns_begin
mkdir "$DIR/www"
head -c 3000000 /dev/urandom >"$DIR/www/slow"
stack 1 2
: >"$DIR/requests"
http_start c1 4 http://$VIP4/ 10000 29999 80
for i in 1 2 3 4; do
	spawn "download$i" client curl -sf -o "$DIR/got$i" http://$VIP4/slow
done
must "requests are answered" serving 40
before=$(packets web4)

rename web4 www4
must "a file in which a pool has another name is taken up" "$WEIR" reload --node "$TAG-lb1"
must "by that name" wait_for 5 has_pools www4
must "its backends are healthy as they were" node_is_up 1
must "their counters go on" test "$(packets www4)" -ge "$before"
must "requests go on" serving 60

end lb1 KILL
rename www4 other4
node_spawn 1
must "the same by a start" wait_for 10 has_pools other4
must "which knows at once that they are healthy" node_is_up 1
must "their counters go on" test "$(packets other4)" -ge "$before"
must "requests go on" serving 60

for i in 1 2 3 4; do
	must "a connection that lasted over both is complete" finished "download$i"
	must "byte by byte" cmp "$DIR/got$i" "$DIR/www/slow"
done
http_unbroken c1
must "SIGTERM ends it with status 0" end lb1
