#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# `weir top` as it is seen: on a terminal of tmux, whose screen is read and whose keys are pressed.
# It sorts, searches, shows a service's backends, goes on over a restart of the node, and leaves
# the terminal as it was, however it ends.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

unset TMUX
BEGUN=0
weir() { "$WEIR" "$@" --node "$TAG-lb1" >"$DIR/out" 2>"$DIR/err"; }
mux() { tmux -S "$DIR/tmux" "$@"; }
screen() { mux capture-pane -p -t top; }
# shows PATTERN: somewhere on the screen.
shows() { screen | grep -qE -- "$1"; }
sees() { wait_for 10 shows "$1" || { screen | sed 's/^/# /'; return 1; }; }
row() { screen | sed -n "$((6 + $1))p"; }
row_is() { row "$1" | grep -q "^$2 "; }
# key KEY...: as tmux names them.
key() { mux send-keys -t top "$@"; }
type_line() { key -l "$1"; key Enter; }
# The terminal is a shell's again: it takes a command, echoes, and its own screen is there.
is_back() {
	type_line "stty -a >$DIR/stty; echo there-$BEGUN-\$((40 + 2))"
	sees there-$BEGUN-42 || return 1
	mux display -p -t top 'alternate #{alternate_on} cursor #{cursor_flag}' >"$DIR/flags"
	grep -q ' echo ' "$DIR/stty" && grep -q ' icanon ' "$DIR/stty" &&
		grep -qx 'alternate 0 cursor 1' "$DIR/flags" && return
	sed 's/^/# /' "$DIR/stty" "$DIR/flags"
	return 1
}
# Each with a number, so that what stands on the screen from before is not taken for its own.
begin_top() {
	BEGUN=$((BEGUN + 1))
	type_line "clear; $WEIR top --node $TAG-lb1 --interval 0.2; echo ended-$BEGUN-\$?"
}
child() { pgrep -x -P "$(mux display -p -t top '#{pane_pid}')" weir; }
has_no_child() { ! child >/dev/null; }
ask_on() {
	while :; do
		in_ns client curl -sf --max-time 2 -o /dev/null http://$VIP4/
	done
}
json() { "$WEIR" top --node "$TAG-lb1" --json --interval 0.3 "$@"; }

netns_begin
stack 1 2
ask_on &
CHILD[ask]=$!
mux -f /dev/null new-session -d -s top -x 80 -y 24 "env PS1='% ' TERM=screen sh" ||
	fail "a terminal"
CHILD[tmux]=$(mux display -p '#{pid}')
begin_top
must "it shows the node" sees "^weir .* $TAG-lb1  generation 1"
must "in 24 lines, with keys" sees '^q quit'
must "services" sees '^shop4 .*web4 '
must "packets a second" sees '^shop4 +web4 +[1-9][0-9.k]* +[1-9][0-9.k]* +2/2 '
must "the busy one first" wait_for 10 row_is 1 shop4
key n r
must "by name, reversed" wait_for 10 row_is 1 shop6
key r
must "and not" wait_for 10 row_is 1 shop4
key / 6
must "a search" sees '1-1 of 1  with "6_"'
must "shows what has it" row_is 1 shop6
key Escape
must "and ends" sees '1-2 of 2  by name'
key Enter
must "a service's backends" sees '^b1 +10.0.1.11 .*healthy'
must "its pool" sees '^shop4, pool web4: backends 1-2 of 2'
weir drain web4/b2 || fail "weir drain"
must "what an operator does" sees '^b2 .*drain healthy'
weir ready web4/b2 || fail "weir ready"
mux resize-window -t top -x 120 -y 40
must "another size" wait_for 10 eval '[ "$(screen | wc -l)" = 40 ] &&
	[ "$(screen | sed -n 40p | cut -c 1-6)" = "q quit" ]'
mux resize-window -t top -x 40 -y 10
must "a small one" wait_for 10 eval 'screen | sed -n 10p | grep -q "^q quit"'
mux resize-window -t top -x 80 -y 24
must "and back" wait_for 10 eval 'screen | sed -n 24p | grep -q "^q quit"'
key Escape
must "back to the services" sees '^services 1-2 of 2'

sed 's/web4/other4/g' "$DIR/lb1.yaml" >"$DIR/next.yaml"
mv "$DIR/next.yaml" "$DIR/lb1.yaml"
must "another configuration" sees 'generation 2 '
must "with its names" sees '^shop4 +other4 '
weir restart || fail "weir restart"
must "over a restart" sees 'generation 1 '
must "with rates" sees '^shop4 +other4 +[1-9]'
end lb1 KILL
must "it says when nobody answers" sees 'no answer, asking on'
must "and keeps what it knows" shows '^shop4 '
node_start 1
must "and goes on when somebody does" wait_for 10 eval '! shows "no answer" && shows "^shop4 "'
key q
must "q ends it" sees "ended-$BEGUN-0"
must "the terminal is as it was" is_back

for signal in TERM INT HUP; do
	begin_top
	must "$signal: it runs" sees '^services 1-2 of 2'
	kill "-$signal" "$(child)"
	must "$signal ends it" wait_for 10 has_no_child
	# Of a command that SIGINT ends the shell leaves out what follows it on the line.
	[ $signal = INT ] || must "and the shell knows" sees "ended-$BEGUN-1[0-9][0-9]"
	must "$signal: the terminal is as it was" is_back
done

TERM=dumb type_line "clear; TERM=dumb $WEIR top --node $TAG-lb1; echo ended-dumb-\$?"
must "a dumb terminal is told what to do" sees 'weir top --once'
must "and that it failed" sees 'ended-dumb-1'
must_not "no terminal at all" weir top
must "is told too" grep -q -- '--once' "$DIR/err"
must_not "no node" "$WEIR" top --socket "$DIR/nobody" --once

"$WEIR" top --node "$TAG-lb1" --once --interval 0.3 >"$DIR/once"
must "once, as text" grep -qE '^shop4 +other4 ' "$DIR/once"
must "of letters alone" eval '! LC_ALL=C grep -q "[^ -~]" "$DIR/once"'
busy_first() {
	json | json_is '.services | map(.name) == ["shop4", "shop6"] and
		(.[0].packets_per_s > 0) and (.[0].backends == 2)'
}
must "as JSON" wait_for 10 busy_first
json --sort name --filter 6 >"$DIR/json"
must "sorted, filtered" json_is '.by == "name" and .total == 1 and
	.services[0].name == "shop6"' <"$DIR/json"
json --service shop4 >"$DIR/json"
must "of a service" json_is '.backends | map(.name) | sort == ["b1", "b2"]' <"$DIR/json"
must_not "of none" json --service nothing
must_not "sorted by what is not there" json --sort colour
must_not "too often" weir top --once --interval 0.01

sed $'s/shop4/"a\\\\x1b[2Jb"/' "$DIR/lb1.yaml" >"$DIR/hostile.yaml"
must "a name with an escape" grep -q 'x1b' "$DIR/hostile.yaml"
must_not "is no service's" "$WEIR" check "$DIR/hostile.yaml"
mux kill-server
unset 'CHILD[tmux]'
