#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# What `weir check --host` says of a host: what hinders native XDP is what `weir run` is refused
# for, and the command beside it mends it.
#
#   lb1: big0 (a veth device with a large MTU), low0 (down), used0 (another's program),
#        br0 (a bridge)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# look INTERFACE: its findings, as JSON; the status is the command's.
look() {
	node_config 1 | sed "s/\\[eth0\\]/[$1]/" >"$DIR/$1.yaml"
	in_ns lb1 "$WEIR" check --host --json "$DIR/$1.yaml" >"$DIR/$1.json"
}
# finds INTERFACE KIND TEXT
finds() {
	jq -r '.interfaces[].findings[] | "\(.kind) \(.text)"' "$DIR/$1.json" | grep -q "^$2 .*$3"
}
# mend INTERFACE: what is told, done.
mend() {
	local command
	command=$(jq -r '.interfaces[].findings[] | select(.kind == "hinders").mend' "$DIR/$1.json")
	[ -n "$command" ] || return 1
	say "# $command"
	read -ra command <<<"$command"
	in_ns lb1 "${command[@]}"
}
# starts INTERFACE: does `weir run` get as far as to be attached?
starts() {
	local status=1
	: >"$DIR/run.log"
	spawn run lb1 "$WEIR" run --config "$DIR/$1.yaml"
	wait_for 10 attached_or_ended && grep -q 'attached.*xdp=native' "$DIR/run.log" && status=0
	end run
	return $status
}
attached_or_ended() { ! alive run || grep -q 'attached.*xdp=native' "$DIR/run.log"; }

pair() {
	in_ns lb1 ip link add "$1" mtu "$2" type veth peer name "$1p" mtu "$2"
	in_ns lb1 ip link set "$1" up
	in_ns lb1 ip link set "$1p" up
}

netns_begin
space lb1
COUNT_BACKEND=1
pair big0 9000
pair low0 1500
pair used0 1500
in_ns lb1 ip link set low0 down
in_ns lb1 ip link set dev used0 xdpdrv obj "$PASS" sec xdp
in_ns lb1 ip link add br0 type bridge
in_ns lb1 ip link set br0 up

must_not "case 22: an MTU that is too large hinders" look big0
must "and is named" finds big0 hinders 'MTU 9000 is more than'
must_not "as a start finds, too" starts big0
must "the command that is told" mend big0
in_ns lb1 ip link set big0p mtu 3506
must "mends it" look big0
must "and weir run starts" starts big0

must_not "an interface that is down hinders" look low0
must "and is named" finds low0 hinders 'it is down'
must "the command that is told" mend low0
must "mends it" look low0

must_not "another's program hinders" look used0
must "and is named" finds used0 hinders "another's XDP program"
in_ns lb1 "$WEIR" check --host --json >"$DIR/all.json"
must "without a file, too" json_is '[.interfaces[] | select(.name == "used0").findings[].text
	| startswith("another")] | any' <"$DIR/all.json"
must_not "as a start finds, too" starts used0
must "the command that is told" mend used0
must "mends it" look used0
must "and weir run starts" starts used0

must_not "case 22: a bridge has no native XDP" look br0
must "and says so" finds br0 hinders 'a device of kind bridge'
must_not "as a start finds, too" starts br0
sed -i 's/xdp: native/xdp: generic/' "$DIR/br0.yaml"
must "which is no matter for generic XDP" in_ns lb1 "$WEIR" check --host "$DIR/br0.yaml"

sed 's/\[br0\]/[none0]/' "$DIR/br0.yaml" >"$DIR/none.yaml"
must_not "an interface that is not there is refused" \
	in_ns lb1 "$WEIR" check --host "$DIR/none.yaml"
in_ns lb1 "$WEIR" check --host --json >"$DIR/all.json"
must "without a file all interfaces are looked at" \
	test "$(jq -r '[.interfaces[].name] | sort | join(" ")' "$DIR/all.json")" = \
	"big0 big0p br0 low0 low0p used0 used0p"
must "as text, too" in_ns lb1 sh -c "\"$WEIR\" check --host | grep -q '^br0: bridge, MTU 1500'"
