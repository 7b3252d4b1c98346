#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# The command line, where it is used badly: output that cannot be written is a failure, an option
# is never ignored, JSON is JSON whatever the name of the file.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# ends STATUS COMMAND...: standard output and error are $DIR/out and $DIR/err.
ends() {
	local want=$1 status=0
	shift
	"$@" >"$DIR/out" 2>"$DIR/err" </dev/null || status=$?
	[ $status = "$want" ] || say "# status $status, not $want: $*"
	[ $status = "$want" ]
}
says() { grep -q -- "$1" "$DIR/err"; }

# writes_to FILE COMMAND...
writes_to() { "${@:2}" >"$1" 2>"$DIR/err"; }
writes_nowhere() { "$@" >&- 2>"$DIR/err"; }

netns_begin
cd "$DIR" || exit 1
COUNT_BACKEND=3 node_config 1 >node.yaml
COUNT_LB=1 agent_config b1 >agent.yaml
printf '\xef\xbb\xbf' | cat - node.yaml >marked.yaml
echo '# none' >none
odd=$(printf 'no\xffde.yaml')
cp node.yaml "$odd"

# All but those that print nothing but their log, or a file.
while read -r command; do
	must "weir $command: -h" ends 0 "$WEIR" "$command" -h
	case $command in run | agent | scaffold) continue ;; esac
	must "weir $command: -j" ends 0 "$WEIR" "$command" -j --help
	must "which is told" grep -q -- '-j, --json' out
done < <("$WEIR" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')

while read -r line; do
	read -ra words <<<"$line"
	must_not "a full disk is a failure: $line" writes_to /dev/full "$WEIR" "${words[@]}"
	must "and is said" says 'cannot write'
	must_not "closed output is a failure: $line" writes_nowhere "$WEIR" "${words[@]}"
done <<-END
	--help
	--version
	run --help
	agent --help
	agent --config agent.yaml --check
	check node.yaml
	check --json node.yaml
	check --keys
	check --schema
	status --help
	sim --config node.yaml --service shop4 --events none --flows 1k
	sim --config node.yaml --service shop4 --events none --flows 1k --json
	table --config node.yaml --pool web4
	table --config node.yaml --pool web4 --json
	trace --config node.yaml --packet 00
	trace --config node.yaml --packet 00 --json
END

while read -r line; do
	read -ra words <<<"$line"
	must "an option comes once: $line" ends 2 "$WEIR" "${words[@]}"
	must "which is said" says 'given twice'
done <<-END
	run --config node.yaml --config node.yaml
	agent --config agent.yaml --config agent.yaml
	table --config node.yaml --config node.yaml
	table --config node.yaml --pool web4 --down b1 --down b2
	trace --config node.yaml --packet 00 --down b1 --down b2
	status --node x --node y
	drain b1 --socket x --socket y
	plan --rate 1G --rate 2G
	plan --rate 1G --ns-per-packet 1 --ns-per-packet 2
	bench --rounds 1 --rounds 2
	bench --mode ipip --mode gre
END
must "a node or a socket" ends 2 "$WEIR" status --node x --socket y
must "or a process" ends 2 "$WEIR" trace --pid 1 --node x tcp 192.0.2.1:1 198.51.100.10:80
for line in "trace tcp 192.0.2.1:1 198.51.100.10:80" "explain drop" status "ipvs -Ln" "events"; do
	read -ra words <<<"$line"
	must "a process that is no node's: $line" ends 1 "$WEIR" "${words[@]}" --pid $$
	must "is said" says "process $$ is no daemon of weir"
	must "no process: $line" ends 2 "$WEIR" "${words[@]}" --pid 0
done
must "a file or a process" ends 2 "$WEIR" diff node.yaml --against node.yaml --pid 1
must_not "an empty name is no backend" "$WEIR" table --config node.yaml --pool web4 --down b1,
must_not "nor is none" "$WEIR" table --config node.yaml --pool web4 --down ''
must "a backend is wanted" ends 2 "$WEIR" drain
must "which is asked for" says 'which BACKEND?'
must "one" ends 2 "$WEIR" maint b1 b2
must "all are cleared, not made ready" ends 2 "$WEIR" ready --all
must "one or all" ends 2 "$WEIR" ready --clear --all b1
must "a weight is a percentage" ends 2 "$WEIR" weight b1 101
must "and no other word" ends 2 "$WEIR" weight b1 ten
must "or is cleared" ends 2 "$WEIR" weight b1 10 --clear
must "it is wanted" ends 2 "$WEIR" weight b1
must "a node that does not run is said" ends 1 "$WEIR" drain b1 --node "$TAG-nobody"
must "by its socket" says "no daemon listens on $RUN/$TAG-nobody.sock"
for share in b1 b1= b1=x b1=101 b1=1000 b1=-1 =5 b9=5 'b1=5,'; do
	must_not "no share of a backend: $share" \
		"$WEIR" table --config node.yaml --pool web4 --share "$share"
done
must "weir table --share" ends 0 "$WEIR" table --config node.yaml --pool web4 --share b1=0,b2=30
must "shows it" grep -q '^b2 *30% ' out
for command in run agent check sim status drain maint ready weight table trace; do
	must "weir $command --help, with something more" ends 0 "$WEIR" $command --help more
	must "which is on standard output" grep -q "^usage: weir $command" out
	must "weir $command -h" ends 0 "$WEIR" $command -h
done
must "an unknown letter among letters is named" ends 2 "$WEIR" check -xyz node.yaml
must "by itself" says "option -x"

must "a byte order mark is no part of a file" ends 0 "$WEIR" check marked.yaml
must "a file may have any name" ends 0 "$WEIR" check "$odd"
must "also one that is not there" ends 1 "$WEIR" check --json "$odd.not"
must "which JSON tells" json_is '.errors | length == 1' <out

# A daemon's log is not to go into a socket of its own, and its status is JSON.
space quiet
in_ns quiet ip link add eth0 type veth peer name eth1
in_ns quiet ip link set eth0 up
more='policy: source, rate_limit: 5k, deny: [192.0.2.0\/24]'
sed -i "s/xdp: .*/xdp: generic/; /name: shop4/s/listen/$more, listen/" "$odd"
spawn quiet quiet bash -c 'exec "$0" run --config "$1" <&- >&- 2>&-' "$WEIR" "$odd"
answers() { node_status 1 | json_is '.file | test("no.de.yaml$")'; }
must "a node without a terminal answers in JSON" wait_for 10 answers
settings() {
	node_status 1 |
		json_is '.services[0] | .policy == "source" and .rate_limit == 5000 and .deny == 1'
}
must "with what its services do" settings
"$WEIR" status --node "$TAG-lb1" >out
must "which words tell" grep -q 'policy source, 5000 packets a core and second, 1 denied$' out
must "and holds its lock" grep -qx '[0-9]*' "$RUN/$TAG-lb1.lock"
must "which has its number alone" test "$(wc -l <"$RUN/$TAG-lb1.lock")" = 1
must "it ends as it should" end quiet
