#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# `weir restart` and `weir stop` under traffic: a node and an agent get a successor, of a program
# that was put in their program's place, and no request fails; one that would not start is not
# begun.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

serving() { wait_for 10 http_more $(($(http_count any) + $1)); }
carrier_changes() {
	in_ns lb1 ip -j -s -s link show | jq -r '.[] | "\(.ifname) \(.stats64.tx.carrier_changes)"'
}
link_id() {
	bpftool -j link show pinned $PINS/"$TAG-lb1/link-eth0" | json_number '[.[0]?, .][0].id'
}
program_id() {
	bpftool -j link show pinned $PINS/"$TAG-lb1/link-eth0" | json_number '[.[0]?, .][0].prog_id'
}
same_link() {
	[ "$link" -gt 0 ] && [ "$(link_id)" = "$link" ] && [ "$(program_id)" != "$program" ]
}
pinned() { [ -n "$(find $PINS/"$1" -type f 2>/dev/null)" ]; }

# restart NODE: the answer is $DIR/answer.
restart() { "$WEIR" restart --node "$1" --json >"$DIR/answer" 2>"$DIR/again.log"; }
answer() { jq -r "$1" "$DIR/answer"; }
# A copy of the program, put where the running one's is, by rename as a package does it.
upgrade() { cp "$BUILT" "$DIR/weir.new" && mv "$DIR/weir.new" "$DIR/weir"; }
runs_current() { [ "/proc/$1/exe" -ef "$DIR/weir" ]; }

netns_begin
mkdir "$DIR/www"
head -c 3000000 /dev/urandom >"$DIR/www/slow"
BUILT=$WEIR WEIR=$DIR/weir
upgrade
stack 1 2
must "XDP is attached" has_xdp lb1
: >"$DIR/requests"
http_start c1 4 http://$VIP4/ 10000 29999 40
http_start c2 6 "http://[$VIP6]/" 30000 49999 40
spawn download client curl -sf -o "$DIR/got" http://$VIP4/slow
must "requests are answered" serving 40
carrier_changes >"$DIR/carrier"
link=$(link_id) program=$(program_id)

must "weir restart puts a successor in the node's place" restart "$TAG-lb1"
must "which has its process number" test "$(answer .pid)" = "${CHILD[lb1]}"
must "and its tables" test "$(answer .adopted)" = true
must "its program is another, the link the same" same_link
must "requests go on" serving 60
must "upgrade" upgrade
must_not "the running program is not the one that stands there now" runs_current "${CHILD[lb1]}"
must "weir restart again" restart "$TAG-lb1"
must "the new program runs" runs_current "${CHILD[lb1]}"
must "requests go on" serving 60
carrier_changes >"$DIR/carrier.now"
must "case 23: no link bounced" cmp "$DIR/carrier" "$DIR/carrier.now"

cp "$DIR/lb1.yaml" "$DIR/right.yaml"
sed -i 's/pool: web6/pool: web7/' "$DIR/lb1.yaml"
must_not "a file that is wrong by now refuses the restart" restart "$TAG-lb1"
must "with its place" grep -q 'lb1.yaml:[0-9][0-9]*:[0-9].*web7' "$DIR/again.log"
cp "$DIR/right.yaml" "$DIR/lb1.yaml"
mv "$DIR/weir" "$DIR/weir.away"
must_not "a program that is not there refuses it, too" "$BUILT" restart --node "$TAG-lb1"
mv "$DIR/weir.away" "$DIR/weir"
must "the node runs on" node_is_up 1
must "and serves" serving 60

# One that takes its time over the file holds nothing up.
slow() {
	rm -f "$DIR/is_asked" "$DIR/may_answer"
	cat >"$DIR/weir.new" <<-END
		#!/bin/sh
		if [ "\$1" = check ]; then
			: >"$DIR/is_asked"
			until [ -e "$DIR/may_answer" ]; do sleep 0.1; done
		fi
		exec "$BUILT" "\$@"
	END
	chmod +x "$DIR/weir.new" && mv "$DIR/weir.new" "$DIR/weir"
}
must "a program that is slow" slow
spawn asking lb1 "$BUILT" restart --node "$TAG-lb1"
must "is asked" wait_for 5 test -e "$DIR/is_asked"
must "the node goes on meanwhile" node_is_up 1
: >"$DIR/may_answer"
must "and then has a successor" finished asking
must "requests go on" serving 60
upgrade

must "an agent's restart" restart "agent-$TAG-b1"
must "keeps its process" test "$(answer .pid)" = "${CHILD[b1-agent]}"
must "it took over" test "$(answer .adopted)" = true
must "requests go on" serving 60

# A signal that comes between two programs: what is called first is a script that ends itself.
signalled() {
	cat >"$DIR/weir.new" <<-END
		#!/bin/sh
		[ "\$1" = check ] || kill -$1 \$\$
		exec "$BUILT" "\$@"
	END
	chmod +x "$DIR/weir.new" && mv "$DIR/weir.new" "$DIR/weir"
}
must "a successor that gets SIGHUP" signalled HUP
must "before it runs" "$BUILT" restart --node "$TAG-lb1"
upgrade
must "goes on" node_is_up 1
must "and serves" serving 60

# Its successor does not get as far as to run: the kernel forwards on.
cp "$DIR/lb1.yaml" "$DIR/right.yaml"
sed -i 's/\[eth0\]/[eth0, none0]/' "$DIR/lb1.yaml"
must_not "a successor that cannot start is told of" restart "$TAG-lb1"
must "so" grep -q 'the successor has ended' "$DIR/again.log"
must_not "it ended with a failure" finished lb1
must "XDP stays attached" has_xdp lb1
must "requests go on without a daemon" serving 60
cp "$DIR/right.yaml" "$DIR/lb1.yaml"
node_start 1
must "the next start serves" serving 60

must "the connection that lasted all the time is complete" finished download
must "byte by byte" cmp "$DIR/got" "$DIR/www/slow"
http_unbroken c1 c2

must "weir stop ends the agent" "$WEIR" stop --node "agent-$TAG-b1"
must "with status 0" finished b1-agent
must_not "it leaves nothing attached" has_xdp b1
must_not "nor a VIP" sh -c "nsenter --net=/run/netns/$TAG-b1 ip addr show lo | grep -q $VIP4"
must "a successor that gets SIGTERM" signalled TERM
"$BUILT" restart --node "$TAG-lb1" >"$DIR/answer" 2>"$DIR/again.log"
must "before it runs ends with status 0" finished lb1
must_not "it leaves nothing attached" has_xdp lb1
must_not "nor pinned" pinned "$TAG-lb1"
upgrade
node_start 1
must "a program that never answers" slow
spawn asking lb1 "$BUILT" restart --node "$TAG-lb1"
must "is asked" wait_for 5 test -e "$DIR/is_asked"
upgrade
must "weir stop ends the node meanwhile" "$WEIR" stop --timeout 15 --node "$TAG-lb1"
must_not "there is no successor" finished asking
must "with status 0" finished lb1
must_not "it leaves nothing attached" has_xdp lb1
must_not "nor pinned" pinned "$TAG-lb1"
must_not "a node that does not run cannot be stopped" "$WEIR" stop --node "$TAG-lb1"
must_not "nor restarted" "$WEIR" restart --node "$TAG-lb1"
