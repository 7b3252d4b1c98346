#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# weir sim: the example of the manual runs, figures add up, the same seed gives the same, and what
# cannot be meant is refused with its place.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

ends() {
	local want=$1 status=0
	shift
	"$@" >"$DIR/out" 2>"$DIR/err" </dev/null || status=$?
	[ $status = "$want" ] || say "# status $status, not $want: $*"
	[ $status = "$want" ]
}
says() { grep -qF -- "$1" "$DIR/err"; }
same() { diff "$1" "$2" | head -n 5 | sed 's/^/# /' | { ! grep .; }; }

# is FILTER: jq's, of the JSON that came last.
is() { jq -e "$1" <"$DIR/out" >/dev/null; }

netns_begin
cd "$DIR" || exit 1
{
	cat <<-END
		node: {name: n, interfaces: [eth0]}
		services:
		- {name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web}
		pools:
		- name: web
		  check: {port: 80}
		  backends:
	END
	for i in {1..10}; do
		echo "  - {name: b$i, address: 10.0.0.$i}"
	done
} >sim.yaml
example=$ROOT/docs/examples/sim.events

must "the example runs" ends 0 "$WEIR" sim --config sim.yaml --flows 20k --events "$example"
must "and is a table" grep -q '^ *AT  EVENT  *% OF FLOWS  *MOVED' out
must "with a line a scheme and step" test "$(grep -c ' maglev+flows ' out)" = 17
must "and no progress, as it is short" test ! -s err
must "the manual has it, line for line" same <(grep -v '^# SPDX' "$example") \
	<(sed -n '/^# For .weir sim/,/^\.Ed/p' "$ROOT/docs/weir.8" | grep -v '^\.Ed')

must "as JSON too" ends 0 "$WEIR" sim --config sim.yaml --flows 20k --events "$example" --json
cp out first
must "which says what it is of" is '.flows == 20000 and .nodes == 2 and .table_size == 2039 and
	.service == "shop" and .pool == "web" and .memory_bytes > 0'
must "and has a row a step, after the beginning" is '(.events | length) == 16 and
	.events[0].event == null and .events[1].event == "fail b3" and .events[1].at_ms == 60000 and
	.events[9].at_ms == 600000 and .events[10].nodes == 1'
must "whose figures add up" is '[.events[].schemes[] |
	.moved == .broken + .handed_on + .stalled + .excused] | all'
must "and so do all rows" is '.total.modulo.broken == ([.events[].schemes.modulo.broken] | add)'
must "modulo breaks four of five when one of ten fails" is \
	'.events[1].schemes.modulo.broken / 20000 | . > 0.75 and . < 0.85'
must "who is on the dead one is excused, a tenth" is \
	'.events[1].schemes | map(.excused / 20000 > 0.06 and .excused / 20000 < 0.14) | all'
must "again" ends 0 "$WEIR" sim --config sim.yaml --flows 20k --events "$example" --json
must "it is the same" same <(jq 'del(.cpu_seconds)' first) <(jq 'del(.cpu_seconds)' out)
must "with another seed" ends 0 "$WEIR" sim --config sim.yaml --flows 20k --events "$example" \
	--json --seed 2
must_not "it is not" same <(jq .total first) <(jq .total out)

echo 'fail b1' >one
from_input() { "$WEIR" sim --config sim.yaml --flows 20k --events - --json <one >out; }
must "events from standard input" from_input
must "are events" is '.events[1].event == "fail b1"'
printf 'fail b1\n  explode b2\nreturn b99\n90 wait\n' >wrong
must "a wrong file is refused" ends 1 "$WEIR" sim --config sim.yaml --events wrong
must "with the place" says 'wrong:2:3: "explode": no such event; expected fail, '
must "of each error" says 'wrong:3:8: "b99": no such backend is in the pool at this time'
must "and what was expected" says 'wrong:4:1: "90": expected a time such as 90s or +500ms'
must "nothing else is said" test ! -s out
printf 'fail b1\0' >zero
must "what is no text is refused" ends 1 "$WEIR" sim --config sim.yaml --events zero
must "and one that is not there" ends 1 "$WEIR" sim --config sim.yaml --events nowhere
must "and a wrong configuration" ends 1 "$WEIR" sim --config one --events one
must "too much memory is refused" ends 1 "$WEIR" sim --config sim.yaml --events one --flows 100M \
	--nodes 100 --memory 1000
must "saying how much" says 'MB, more than --memory 1000'
must "no such service" ends 1 "$WEIR" sim --config sim.yaml --events one --service shops
must "which are named" says 'the file has shop'
while read -r line; do
	read -ra words <<<"$line"
	must "refused: $line" ends 2 "$WEIR" sim --config sim.yaml --events one "${words[@]}"
done <<-END
	--flows 0
	--flows 10G
	--flows 99999999999999999999
	--nodes 1025
	--nodes -1
	--gap 60
	--gap 1d
	--router ecmp
	--seed x
	--cores 0
	--lifetime 0s
	--flows 1 --flows 2
	more
END
must "without a file of events" ends 2 "$WEIR" sim --config sim.yaml
must "or of services" ends 2 "$WEIR" sim --events one
for event in $(sed -n 's/^\t{"\([a-z-]*\)", SIM_.*/\1/p' "$ROOT/src/sim/events.c"); do
	must "--help tells $event" grep -q "^  $event\b" <("$WEIR" sim --help)
	must "so does the manual" grep -q "^\.It Cm $event\b" "$ROOT/docs/weir.8"
done
