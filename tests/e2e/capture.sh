#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# `weir capture` on a node that forwards: packets in and out with their comments, read by tshark;
# filters by service, tuple and verdict; the rate; the bounds; a reader that hangs up; a program
# that another takes the place of; and whatever way it ends, killed too, the balancer's own program
# is at work again: the same one, with the same tag.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1 (agent, nginx)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

command -v tshark >/dev/null || skip "no tshark"

# The program that is attached to lb1's eth0: its id.
attached() {
	in_ns lb1 ip -j -d link show eth0 | jq -c '.[0].xdp.prog.id'
}
tag() { bpftool -j prog show id "$(attached)" | jq -r '.name + " " + .tag'; }
is_own() { [ "$(attached)" = "$own" ]; }
captures() { [ "$(bpftool -j prog show id "$(attached)" | jq -r .name)" = weir_capture ]; }

capture() { in_ns lb1 "$WEIR" capture --node "$TAG-lb1" "$@"; }

# capture_start NAME OPTION...: in the background, into $DIR/NAME.pcapng; returns when it captures.
capture_start() {
	local name=$1
	shift
	: >"$DIR/$name.log"
	spawn "$name" lb1 "$WEIR" capture --node "$TAG-lb1" -w "$DIR/$name.pcapng" "$@"
	wait_for 10 grep -q capturing "$DIR/$name.log" || fail "$name captures"
}
said() { grep -q "$2" "$DIR/$1.log"; }

# What tshark reads, once: a packet a line, in columns of the names below, "|" between them.
FIELDS="frame.packet_flags_direction ip.dst ipv6.dst ip.proto tcp.srcport tcp.dstport icmp.type
	frame.len frame.cap_len frame.interface_name frame.interface_description frame.comment"
# packets FILE EXPRESSION: how many it is true of, an awk one with these as variables: direction,
# the outer and all addresses, ports, types, lengths, the interface and the comment.
packets() {
	local file=$DIR/$1 field options=()
	if [ ! -e "$file.fields" ]; then
		for field in $FIELDS; do options+=(-e "$field"); done
		tshark -r "$file.pcapng" -T fields -E separator='|' -E aggregator=' ' \
			"${options[@]}" >"$file.fields" 2>"$file.tshark" ||
			fail "tshark reads $1: $(cat "$file.tshark")"
	fi
	awk -F'|' "{
		direction = \$1; split(\$2, to, \" \"); dst = to[1]; dst6 = \$3; protos = \$4
		sport = \$5; dport = \$6; icmp = \$7; len = \$8; cap = \$9; name = \$10; way = \$11
		comment = \$12
	}
	$2 { count++ }
	END { print count + 0 }" "$file.fields"
}

get() { in_ns client curl -s --max-time 30 "http://$VIP4/" >/dev/null; }
get6() { in_ns client curl -s --max-time 30 "http://[$VIP6]/" >/dev/null; }
# More packets at once than any machine answers one by one.
ping_vip() { in_ns client ping -q -l "$1" -c "$1" -W 5 $VIP4 >/dev/null; }

netns_begin
stack 1 1
must "the node serves" get
own=$(attached)
own_tag=$(tag)
must "its own program is attached" test "$own_tag" != "weir_capture"

capture_start whole --count 4 --service shop4
must "another program stands in its place" captures
must "a second one is refused" grep -q "captures already" <<<"$(capture --count 1 2>&1)"
echo before >"$DIR/before"
must_not "also into a file" capture --count 1 -w "$DIR/before" 2>"$DIR/before.err"
must "which stays as it was" grep -qx before "$DIR/before"
must "and forwards" get
wait_for 10 gone "${CHILD[whole]}"
must "it ends by itself" finished whole
must "the same program is at work again" test "$(attached) $(tag)" = "$own $own_tag"
must "what it wrote is its owner's alone" test "$(stat -c %a "$DIR/whole.pcapng")" = 600
must "four came in" test "$(packets whole 'direction == 1')" = 4
must "four went out" test "$(packets whole 'direction == 2')" = 4
must "each has its comment" test "$(packets whole "comment ~ \
	/^verdict=forwarded why=[a-z]+ service=shop4 backend=web4\\/b1 slot=[0-9]+\$/")" = 8
must "in is TCP to the VIP" test \
	"$(packets whole "direction == 1 && dst == \"$VIP4\" && dport == 80")" = 4
must "out is IP in IP to the backend" test \
	"$(packets whole 'direction == 2 && dst == "10.0.1.11" && protos == "4 6"')" = 4
must "the interface is one in and one out, with its name" test "$(packets whole \
	'name == "eth0" && way == (direction == 1 ? "into XDP" : "out of XDP")')" = 8

# Filters.
capture_start six --count 1000 --service shop6
must "an IPv4 request" get
must "an IPv6 request" get6
end six INT
must "of the service alone" test "$(packets six dst6)" -ge 6
must "and of no other" test "$(packets six '!dst6')" = 0
must "a named service that is not there" grep -q "no such service" \
	<<<"$(capture --service none 2>&1)"

capture_start flow --tuple "tcp $CLIENT4:41234 $VIP4:80"
must "that flow" in_ns client curl -s --max-time 30 --local-port 41234 "http://$VIP4/" -o /dev/null
must "another flow" get
end flow INT
must "its packets" test "$(packets flow 'sport == 41234')" -ge 8
must "and no other's" test "$(packets flow 'sport != 41234')" = 0

capture_start none --drops
must "what is forwarded" get
end none INT
must "is no drop" test "$(packets none 1)" = 0

capture_start echo --verdict echo_answered,denied
ping_vip 1
must "and what is forwarded" get
end echo INT
must "the echo request" test "$(packets echo 'icmp == 8')" = 1
must "and what the node answered" test "$(packets echo 'icmp == "0"')" = 1
must "alone" test "$(packets echo 1)" = 2

# A rate that is used up: the burst, and hardly more.
capture_start limited --verdict echo_answered --rate 1/s --count 100000
ping_vip 500
end limited INT
must "no more than the burst and the rate" \
	test "$(packets limited 'direction == 1')" -le $((2 * (64 + 20)))
must "the others are counted" said limited "beyond the rate or count: [1-9]"

capture_start short --count 2 --service shop4 --snaplen 40
must "packets cut short" get
wait_for 10 gone "${CHILD[short]}"
finished short
must "are as short as that" test "$(packets short 'cap == 40 && len > 40')" = 4

# Words and JSON.
capture --count 1 --service shop4 --json >"$DIR/json" 2>"$DIR/json.err" &
CHILD[json]=$!
must "it captures" wait_for 10 grep -q capturing "$DIR/json.err"
must "for JSON" get
wait "${CHILD[json]}"
unset "CHILD[json]"
must "is JSON" json_is '(.way == "in" or .way == "out") and .service == "shop4"
	and .backend == "web4/b1" and .verdict == "forwarded"' < <(head -n 1 "$DIR/json")

# Who asks is known from the kernel, whatever the request says.
# ask JSON: the socket's answer.
ask() {
	/usr/bin/python3 -c 'if True:
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.settimeout(10)
		s.connect(sys.argv[1])
		s.sendall(sys.argv[2].encode() + b"\n")
		print(s.makefile().readline(), end="")' "/run/weir/$TAG-lb1.sock" "$1"
}
capture_start mine --count 1000000
must "another process asks for its end" ask '{"op": "capture_end"}' >"$DIR/ended"
must "with its number, too" ask "{\"op\": \"capture_end\", \"pid\": ${CHILD[mine]}}" \
	>"$DIR/ended"
must "or its beginning" grep -q "does not capture" <<<"$(ask '{"op": "capture_begin"}')"
must "but it goes on" captures
must "to capture" get
end mine INT
must "to its own end" is_own

# Whatever its end, nothing stays.
for signal in KILL TERM KILL; do
	capture_start killed --count 1000000
	must "it captures" captures
	end killed $signal
	must "SIG$signal: the same program is at work again" wait_for 5 is_own
done
must "its tag too" test "$(tag)" = "$own_tag"
left() { bpftool -j prog show | jq '[.[] | select(.name == "weir_capture")] | length'; }
capture -w - --count 1000000 2>"$DIR/pipe.err" | head -c 400 >/dev/null &
CHILD[pipe]=$!
must "into a pipe" wait_for 10 grep -q capturing "$DIR/pipe.err"
until gone "${CHILD[pipe]}"; do get; done
unset "CHILD[pipe]"
must "that is closed: the same program" wait_for 5 is_own

# Time alone ends it, without any packet.
capture_start timed --seconds 1 --service shop6
wait_for 10 gone "${CHILD[timed]}"
must "its time ends it" finished timed
must "the same program" is_own

# A configuration that needs another program puts it there, and the capture ends.
capture_start reload --count 1000000
sed -i 's/forward: ipip/rate_limit: 1M, &/' "$DIR/lb1.yaml"
in_ns lb1 "$WEIR" reload --node "$TAG-lb1" >>"$DIR/lb1.log" 2>&1
wait_for 10 gone "${CHILD[reload]}"
must_not "a reload that exchanges the program ends it" finished reload
must "which is said" said reload "the node has ended it"
must_not "and none stays" captures
must "the node serves" get

# A successor has the balancer's own program, whatever stood in its place.
capture_start restart --count 1000000
must "a restart" in_ns lb1 "$WEIR" restart --node "$TAG-lb1"
must_not "has the balancer's own program" captures
wait_for 10 gone "${CHILD[restart]}"
must_not "and ends the capture" finished restart
must "the node serves" get

# The node is killed amid it: the program that captures forwards until the next one takes its place.
capture_start orphan --count 1000000
end lb1 KILL
must "it forwards" get
end orphan KILL
must "it still does" get
node_start 1
must_not "the next node has its own" captures
must "and serves" get
must "the end" end lb1
must_not "leaves nothing attached" test "$(attached)" != null
