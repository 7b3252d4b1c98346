#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# Runs that end in the middle: by Ctrl-C the demo still says how far it was and leaves nothing; what
# a killed one left goes before the next one begins, also while a zombie has its process id.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# A process that is dead, and its parent never asks: ZOMBIE is its id. It says so itself, for a
# shell asks after each command of its own, such as echo.
zombie() {
	# shellcheck disable=SC2016
	setsid sh -c 'sh -c "echo \$\$" & exec sleep 60' >"$DIR/zombie" </dev/null &
	CHILD[parent]=$!
	wait_for 5 test -s "$DIR/zombie"
	ZOMBIE=$(cat "$DIR/zombie")
	wait_for 5 grep -q '^State:[[:space:]]*Z' "/proc/$ZOMBIE/status"
}

there() { ip netns list | grep -qw -- "$1"; }
event_in() { grep -q "$1" "$DIR/demo.out"; }

# tagged FILE COMMAND...: in the background, with the dead run's tag; its process id into the file.
tagged() {
	local file=$1
	shift
	# shellcheck disable=SC2016
	"$@" env WEIR_TAG="weir-$ZOMBIE-dead" sh -c 'read -r pid rest </proc/self/stat
		echo "$pid" >"$1"; exec sleep 60' sh "$file" &
	CHILD[${file##*/}]=$!
	wait_for 5 test -s "$file"
}

netns_begin
must "a zombie is there" zombie
must "a process of that run" tagged "$DIR/left"
must "and one in a root of its own" tagged "$DIR/elsewhere" unshare --pid --fork --kill-child
space live
ip netns add "weir-$ZOMBIE-dead"
mkdir "${TMPDIR:-/tmp}/weir-$ZOMBIE-dead"
lock=$RUN/agent@$(stat -Lc %i "/run/netns/weir-$ZOMBIE-dead").lock
mkdir -p "$RUN"
: >"$lock"
netns_sweep
must_not "a dead run's namespace is gone" there "weir-$ZOMBIE-dead"
must_not "and its directory" test -e "${TMPDIR:-/tmp}/weir-$ZOMBIE-dead"
must_not "and its agent's lock" test -e "$lock"
must "and its process" wait_for 5 gone "${CHILD[left]}"
must_not "what has processes of its own is another's" gone "${CHILD[elsewhere]}"
must "a living run's is not" there "$TAG-live"

# In the background a shell ignores SIGINT, and cannot trap what was ignored when it began.
WEIR_TAG=$TAG-demo setsid env --default-signal=INT "$ROOT/tools/demo" >"$DIR/demo.out" 2>&1 &
CHILD[demo]=$!
must "the demo is at work" wait_for 30 event_in "b2 is killed"
kill -INT "${CHILD[demo]}"
finished demo
status=$?
sed 's/^/# /' "$DIR/demo.out"
must "by Ctrl-C it ends with status 130" test $status = 130
must "says that it was cut short" event_in "^stopped before its script was over"
must "what it had seen" grep -qE '^demo: requests=[1-9][0-9]* failed=0 broken=0 ' "$DIR/demo.out"
must_not "and leaves nothing" grep -q . <(netns_left "$TAG-demo")
