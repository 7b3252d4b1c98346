#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 90
#
# A backup serves when the last of the others is gone, not before, and no longer than they are back:
# with slow_start step by step. What it got it keeps to the end.
#
#   client -- router -- lb1, lb2 (one-armed, ECMP)
#                  \--- b1, b2, b3 (backup)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

TRACKING=transition
SIZE=2400000 # of a download, 8 s

owners() { http_owners 4 20000 90; }
# all_are PATTERN FILE
all_are() {
	grep -Ev " ($1)\$" "$DIR/$2" | sed 's/^/# not of it: /'
	[ "$(grep -Ec " ($1)\$" "$DIR/$2")" = 90 ]
}

# slots BACKEND: what both nodes say that it serves, of web4.
slots() {
	local i
	for i in 1 2; do
		node_status $i |
			jq ".pools[] | select(.name == \"web4\").backends[] |
				select(.name == \"$1\").slots"
	done | sort -u | paste -sd ' '
}
both_say() { [ "$(slots "$1")" = "$2" ]; }
# between LEFT RIGHT: both nodes, whose checks and steps have times of their own, share all slots
# between these two.
between() {
	local i
	for i in 1 2; do
		node_status $i | json_is "[.pools[] | select(.name == \"web4\").backends[] |
			select(.name == \"$1\" or .name == \"$2\").slots] |
			all(. > 0) and add == $size" || return 1
	done
}
begun() { [ "$(stat -c %s "$DIR/got" 2>/dev/null || echo 0)" -gt 10000 ]; }

netns_begin
mkdir "$DIR/www"
head -c $SIZE /dev/urandom >"$DIR/www/slow"
for i in 1 2; do
	COUNT_BACKEND=3 node_config $i | sed 's/name: web[46]/&\n  slow_start: 6s/
		s/name: b3,/& backup: true,/' >"$DIR/lb$i.yaml"
done
stack 2 3
size=$("$WEIR" table --config "$DIR/lb1.yaml" --pool web4 --json | jq .size)
owners >"$DIR/before"
must "the backup waits" all_are 'b[12]' before
must "with no slot" both_say b3 0
"$WEIR" table --config "$DIR/lb1.yaml" --pool web4 >"$DIR/out"
must "which weir table shows" grep -q '^b3 *backup ' "$DIR/out"

end b1-nginx KILL
must "one of the others is enough" wait_for 5 both_say b2 "$size"
owners >"$DIR/one"
must "for all" all_are b2 one
end b2-nginx KILL
must "with none it takes over" wait_for 5 both_say b3 "$size"
owners >"$DIR/none"
must "all that comes" all_are b3 none
spawn get client curl -sf -o "$DIR/got" "http://$VIP4/slow"
must "a download begins there" wait_for 5 begun

backend_start b1
must "while one comes back, it serves, and the backup the rest" wait_for 5 between b1 b3
owners >"$DIR/slow"
must "and nobody is left out" all_are 'b[13]' slow
must "then it alone" wait_for 10 both_say b1 "$size"
must "and the backup waits again" wait_for 5 both_say b3 0
owners >"$DIR/after"
must "as those see who come" all_are b1 after
backend_start b2
own=$("$WEIR" table --config "$DIR/lb1.yaml" --pool web4 --json |
	jq '[.slots[] | select(. == "b2")] | length')
must "all are back" wait_for 10 both_say b2 "$own"
owners >"$DIR/again"
must "every flow is where it was" cmp "$DIR/before" "$DIR/again"
must "the download has gone on" finished get
must "byte by byte" cmp "$DIR/got" "$DIR/www/slow"
