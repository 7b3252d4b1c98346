#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# A node's successor whose tables have another layout than those that are pinned: another size of
# the flow table, another version, another shape of its records, or some pins that are missing. It
# makes its tables beside, and no packet meets an interface without a program; what cannot start
# leaves at work what was there.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

serving() { wait_for 10 http_more $(($(http_count any) + $1)); }
restart() { "$WEIR" restart --node "$TAG-lb1" --json >"$DIR/answer" 2>"$DIR/again.log"; }
answer() { [ "$(jq -r "$1" "$DIR/answer")" = "$2" ]; }
logged() { grep -q "$1" "$DIR/lb1.log"; }
# entries NUMBER: the file says so many from now on.
entries() { sed -i "s/^  flows: .*/  flows: {entries: $1}/" "$DIR/lb1.yaml"; }
flow_buckets() { bpftool -j map show pinned "$PIN/flows" | json_number .max_entries; }
has_buckets() { [ "$(flow_buckets)" = "$1" ]; }
packets() { node_status 1 | json_number '[.services[].packets] | add'; }
one_set() { [ ! -e "$PIN/new" ] && [ "$(find "$PIN" -name node | wc -l)" = 1 ]; }
got() { [ "$(stat -c %s "$DIR/got$1")" -gt "$2" ]; }
link_id() { bpftool -j link show pinned "$PIN/link-eth0" | json_number '[.[0]?, .][0].id'; }

# version NUMBER: the tables are of it from now on. It stands at byte 96 of the node's record.
version() {
	local bytes=()
	mapfile -t bytes < <(bpftool -j map lookup pinned "$PIN/node" key 0 0 0 0 |
		jq -r '.value[]')
	[ ${#bytes[@]} = 128 ] || return 1
	bytes[96]=$(($1 & 255)) bytes[98]=$(($1 >> 16))
	bpftool map update pinned "$PIN/node" key 0 0 0 0 value "${bytes[@]}"
}

# As another build would have it, of which nothing is carried.
other_vips() {
	rm "$PIN/vips" && bpftool map create "$PIN/vips" type array key 4 value 128 entries 33792 \
		name vips flags 0x400
}

netns_begin
PIN=$PINS/$TAG-lb1
mkdir "$DIR/www"
head -c 60000000 /dev/urandom >"$DIR/www/slow"
COUNT_BACKEND=2 TRACKING=always node_config 1 |
	sed 's/^  xdp: .*/&\n  flows: {entries: 16384}/' >"$DIR/lb1.yaml"
stack 1 2
must "the flow table is of the size that was asked for" has_buckets 4096
: >"$DIR/requests"
http_start c1 4 http://$VIP4/ 10000 29999 40
http_start c2 6 "http://[$VIP6]/" 30000 49999 40
for i in 1 2 3 4; do
	spawn "download$i" client curl -sf -o "$DIR/got$i" http://$VIP4/slow
done
must "requests are answered" serving 40
link=$(link_id)

# New flows of b1's slots go to b2 from now on, so what was with b1 is there by its entry alone.
must "a backend drains" "$WEIR" drain --node "$TAG-lb1" web4/b1
before=$(packets)
entries 65536
must "weir restart with another size of the flow table" restart
must "has what the tables before held" answer .adopted true
must "and says so" answer .tables carried
must "in tables of the new size" has_buckets 16384
must "that have the place of the old ones" one_set
must "it says why" logged 'flows has another layout'
must "and how many flows it carried" logged 'exchanged.* flows=[1-9][0-9]* lost=0'
must "counters go on" test "$(packets)" -ge "$before"
must "through the same link" test "$(link_id)" = "$link"
must "requests go on" serving 60

: >"$DIR/lb1.log"
entries 16384
must "and back" restart
must "to the smaller size" has_buckets 4096
must "with all flows" logged 'exchanged.* flows=[1-9][0-9]* lost=0'
must "requests go on" serving 60

# A start that is refused after its tables are filled: the interface comes last.
: >"$DIR/lb1.log"
in_ns lb1 ip link add br0 type bridge
in_ns lb1 ip link set br0 up
cp "$DIR/lb1.yaml" "$DIR/right.yaml"
entries 65536
sed -i 's/\[eth0\]/[eth0, br0]/' "$DIR/lb1.yaml"
must_not "a successor that does not get its interfaces" restart
must_not "ends" finished lb1
must "for that interface" logged 'br0: cannot attach'
must "the tables are those from before" has_buckets 4096
must "and nothing is beside them" one_set
must "requests go on without a daemon" serving 60
cp "$DIR/right.yaml" "$DIR/lb1.yaml"
: >"$DIR/lb1.log"
node_start 1
must "the next one adopts them as they are" logged 'adopted the running data plane'

must "tables of another version" version 2
must "are taken over, too" restart
must "with all flows" logged 'exchanged.* flows=[1-9][0-9]* lost=0'
must "for that reason" logged 'tables are of version 2,'
must "requests go on" serving 60

: >"$DIR/lb1.log"
must "a table of a version with twice the places" other_vips
must "is exchanged as well" restart
must "with all flows" logged 'exchanged.* flows=[1-9][0-9]* lost=0'
must "for that reason" logged 'vips has another layout'
must "requests go on" serving 60

: >"$DIR/lb1.log"
for after in 0.02 0.05 0.08 0.11 0.14 0.17 0.2 0.25 0.3 0.4; do
	end lb1 KILL
	[ "$(flow_buckets)" = 4096 ] && entries 65536 || entries 16384
	node_spawn 1
	sleep $after
done
end lb1 KILL
node_start 1
must "after starts that are killed at any moment one serves" serving 60
must_not "no flow is forgotten by any" logged 'flows are forgotten'
must "nothing is beside its tables" one_set

for i in 1 2 3 4; do
	size=$(stat -c %s "$DIR/got$i")
	must "a connection that lasted over all of it goes on" wait_for 5 got "$i" $((size + 1))
	end "download$i"
	must "byte by byte" begins_as "$DIR/got$i" "$DIR/www/slow"
done

# What nothing is known of.
: >"$DIR/lb1.log"
must "tables whose records are of another shape" version 65536
must "are exchanged as well" restart
must "but flows are forgotten, and it says so" \
	logged 'level=warn.*flows are forgotten.*records are of shape 1'
must "nothing was adopted" answer .adopted false
must "as status says" answer .tables forgotten
must "requests go on" serving 60

# A pin is missing, and the start that would heal that fails.
: >"$DIR/lb1.log"
end lb1 KILL
rm "$PIN/slots"
cp "$DIR/lb1.yaml" "$DIR/right.yaml"
sed 's/\[eth0\]/[eth0, br0]/' "$DIR/right.yaml" >"$DIR/lb1.yaml"
must_not "a start over a gap that fails" \
	in_ns lb1 timeout 60 "$WEIR" run --config "$DIR/lb1.yaml" 2>>"$DIR/lb1.log"
must "has seen it" logged 'some pins are missing'
must "and leaves attached what was" has_xdp lb1
must "requests go on" serving 60
cp "$DIR/right.yaml" "$DIR/lb1.yaml"
node_start 1
must "the next one makes them anew" logged 'flows are forgotten.*some pins are missing'
must "requests go on" serving 60

http_unbroken c1 c2
must "SIGTERM ends it with status 0" end lb1
must_not "with nothing pinned" test -e "$PIN"
