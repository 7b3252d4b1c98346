#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 150
#
# A node's life under traffic: killed, started again on what is pinned, refused a second time on the
# same pins, stopped; and what it refuses at start.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

# Of every interface. Not from /sys: where the root is no mount, `ip netns exec` cannot show it.
carrier_changes() {
	in_ns lb1 ip -j -s -s link show | jq -r '.[] | "\(.ifname) \(.stats64.tx.carrier_changes)"'
}
no_link_bounced() {
	carrier_changes | diff "$DIR/carrier" - | sed 's/^/# /'
	grep -q '^eth0 [1-9]' "$DIR/carrier" && carrier_changes | cmp - "$DIR/carrier"
}

link_id() {
	bpftool -j link show pinned $PINS/"$TAG-lb1/link-eth0" | json_number '[.[0]?, .][0].id'
}
same_link() { [ "$link" -gt 0 ] && [ "$(link_id)" = "$link" ]; }

# run_again FILE: `weir run` in the foreground; its exit status, 124 if it did not end.
run_again() { in_ns lb1 timeout 60 "$WEIR" run --config "$1" >"$DIR/again.log" 2>&1; }

status_is() {
	local want=$1
	shift
	"$@"
	local status=$?
	[ $status = "$want" ] || say "# status $status, not $want"
	[ $status = "$want" ]
}

pinned() { [ -n "$(find $PINS/"$TAG-lb1" -type f 2>/dev/null)" ]; }

# serving COUNT: that many more requests are answered, none fails.
serving() {
	wait_for 10 http_more $(($(http_count any) + $1))
}

netns_begin
mkdir "$DIR/www"
head -c 3000000 /dev/urandom >"$DIR/www/slow"
stack 1 2
must "the node's tables and links are pinned" pinned
must "XDP is attached" has_xdp lb1
must "what status tells is in the manual" node_documented 1
: >"$DIR/requests"
http_start c1 4 http://$VIP4/ 10000 29999 40
http_start c2 6 "http://[$VIP6]/" 30000 49999 40
# A connection that lasts over all of it: 3 MB at 300 kB a second.
spawn download client curl -sf -o "$DIR/got" http://$VIP4/slow
must "requests are answered" serving 40
carrier_changes >"$DIR/carrier"
link=$(link_id)

end lb1 KILL
must "XDP stays attached when the daemon is killed" has_xdp lb1
must "requests go on without a daemon" serving 120
must_not "nobody answers on the control socket" node_status 1

node_start 1
must "the next daemon serves" serving 120
must "case 23: no link bounced" no_link_bounced
must "case 23: the program is another, the link the same" same_link
must "a second daemon on the same pins ends with status 1" \
	status_is 1 run_again "$DIR/lb1.yaml"
must "and says why" test -s "$DIR/again.log"
sed "s/$TAG-lb1/$TAG-other/" "$DIR/lb1.yaml" >"$DIR/other.yaml"
must "one of another name on the same interface ends so, too" \
	status_is 1 run_again "$DIR/other.yaml"
must "and tells how to find whose program is there" grep -q 'eth0.*bpftool' "$DIR/again.log"
must_not "with nothing pinned" test -e "$PINS/$TAG-other"
must "which does not disturb the first" serving 60

end lb1 KILL
# A bridge has no native XDP.
in_ns lb1 ip link add br0 type bridge
in_ns lb1 ip link set br0 up
sed "s/\\[eth0\\]/[eth0, br0]/; /shop4/,/transition}/d" "$DIR/lb1.yaml" >"$DIR/changed.yaml"
must "a start with a changed file and a bad interface fails" \
	status_is 1 run_again "$DIR/changed.yaml"
must "for that interface" grep -q 'br0: cannot attach' "$DIR/again.log"
must "and changes nothing of what was served" serving 60
node_start 1
must "a third daemon serves too" serving 60
must "the connection that lasted all the time is complete" finished download
must "byte by byte" cmp "$DIR/got" "$DIR/www/slow"
http_unbroken c1 c2

must "SIGTERM ends it with status 0" end lb1
must_not "XDP is detached" has_xdp lb1
must_not "nothing is pinned" pinned
must_not "its control socket is gone" test -e "$RUN/$TAG-lb1.sock"

# What is refused at start leaves nothing attached.
sed 's/pool: web6/pool: web7/' "$DIR/lb1.yaml" >"$DIR/bad.yaml"
must "a bad file ends it with status 1" status_is 1 run_again "$DIR/bad.yaml"
must "with file, line and column" grep -q "bad.yaml:[0-9][0-9]*:[0-9]" "$DIR/again.log"
must_not "and nothing is attached" has_xdp lb1
must_not "nor pinned" pinned
agent_config b1 >"$DIR/agent.yaml"
must "an agent's file is refused" status_is 1 run_again "$DIR/agent.yaml"
must "as what it is" grep -q "is an agent's file, expected a node's" "$DIR/again.log"

sed 's/\[eth0\]/[br0]/' "$DIR/lb1.yaml" >"$DIR/native.yaml"
must "case 22: xdp: native is refused where there is none" status_is 1 run_again "$DIR/native.yaml"
must_not "with nothing attached" has_xdp lb1 br0
must_not "and nothing pinned" pinned
# A veth pair whose MTU is too large for the program has none either.
in_ns lb1 ip link add big0 mtu 9000 type veth peer name big1 mtu 9000
in_ns lb1 ip link set big0 up
sed 's/\[eth0\]/[eth0, big0]/' "$DIR/lb1.yaml" >"$DIR/native.yaml"
must "or where the MTU is too large" status_is 1 run_again "$DIR/native.yaml"
must_not "with the first interface let go again" has_xdp lb1
must_not "and nothing pinned" pinned
node_config 1 auto | sed 's/\[eth0\]/[br0]/' >"$DIR/lb1.yaml"
node_start 1
must "case 22: xdp: auto falls back to generic, and status says so" \
	test "$(node_status 1 | jq -r '.interfaces[] | select(.name == "br0").xdp')" = generic
must "and the log" grep -q 'level=warn.*generic' "$DIR/lb1.log"
must "and ends with status 0" end lb1
must_not "with nothing attached at the end" has_xdp lb1 br0
