#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# SIGTERM right after `weir restart` began: whatever of the two processes it meets, routers are told
# and nothing is left attached. And no other daemon gets in between the two.
#
#   client -- router (BIRD) -- lb1
#                         \--- b1

set -u
ROUTES=bgp
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

ROUTER_OPTIONS='debug protocols { states, events, routes };'

restarts() { grep -q 'msg="restarting"' "$DIR/lb1.log"; }
# The moment is short, so it is looked for without a pause.
at_once() {
	local until=$((SECONDS + 20))
	: >"$DIR/lb1.log"
	"$WEIR" restart --node "$TAG-lb1" >"$DIR/out" 2>"$DIR/err" &
	CHILD[asking]=$!
	until restarts; do
		[ $SECONDS -lt $until ] || return 1
	done
	kill -TERM "${CHILD[lb1]}"
}

# A signal that the first thread holds back, for who is called next, must not find another one.
one_takes_signals() {
	local task mask
	for task in "/proc/$1/task/"*; do
		[ "${task##*/}" != "$1" ] || continue
		mask=$(awk '$1 == "SigBlk:" { print $2 }' "$task/status")
		[ $((0x$mask & 0x4000)) -ne 0 ] || return 1
	done
}

netns_begin
mkdir "$DIR/www"
: >"$DIR/www/slow"
BUILT=$WEIR WEIR=$DIR/weir
cp "$BUILT" "$WEIR"
stack 1 1
must "one thread takes signals" one_takes_signals "${CHILD[lb1]}"

for round in 1 2 3; do
	must "round $round: SIGTERM amid a restart" at_once
	must "the node ends with status 0" finished lb1
	finished asking || :
	must "its routes were withdrawn" grep -q 'routes are withdrawn' "$DIR/lb1.log"
	must "the router has none" wait_for 5 router_uses 0
	must_not "nothing is attached" has_xdp lb1
	node_start 1
	must "it is used again" wait_for 20 router_uses 1
done

# What is called first tries to run a second one, and only then is the successor.
cat >"$DIR/weir.new" <<-END
	#!/bin/sh
	if [ "\$1" != check ]; then
		timeout -s KILL 5 "$BUILT" run --config "$DIR/lb1.yaml" >"$DIR/second.log" 2>&1
		echo \$? >"$DIR/second.status"
	fi
	exec "$BUILT" "\$@"
END
chmod +x "$DIR/weir.new"
pid=${CHILD[lb1]}
mv "$DIR/weir.new" "$DIR/weir"
must "a restart with a gap" "$BUILT" restart --node "$TAG-lb1"
must "in which a second daemon is refused" grep -qx 1 "$DIR/second.status"
must "as the first one runs" grep -q "runs already, process $pid " "$DIR/second.log"
cp "$BUILT" "$DIR/weir.new" && mv "$DIR/weir.new" "$DIR/weir"
must "the successor is up" node_is_up 1
must_not "a second daemon beside it is refused" timeout -s KILL 5 \
	nsenter --net=/run/netns/"$TAG-lb1" "$BUILT" run --config "$DIR/lb1.yaml"
must "the successor can be restarted" "$BUILT" restart --node "$TAG-lb1"
must "SIGTERM ends it with status 0" end lb1
must_not "its lock is gone" test -e "/run/weir/$TAG-lb1.lock"
