#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# A full-size upload at MTU 1500 everywhere: the tunnel's header must fit beside the client's
# segments, so the backend's SYN-ACK asks for smaller ones. No ICMP error may be needed. And
# without the clamp it must fail, or else this test shows nothing.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1 (agent, nginx that stores what is PUT)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

UPLOAD_BYTES=8000000

# upload URL SECONDS: what arrives is $DIR/www/got.
upload() {
	rm -f "$DIR/www/got"
	in_ns client curl -sf -m "$2" -H 'Expect:' -T "$DIR/sent" "$1/got"
}

arrives() { upload "$1" 90 && cmp "$DIR/sent" "$DIR/www/got"; }

# icmp_errors: sent and received by anyone: unreachable and too big, IPv4 and IPv6.
icmp_errors() {
	local name
	for name in client router lb1 b1; do
		in_ns "$name" cat /proc/net/snmp | awk '
			/^Icmp:/ && !n { n = split($0, key); next }
			/^Icmp:/ { for (i = 2; i <= n; i++)
				if (key[i] ~ /DestUnreachs|TimeExcds|ParmProbs/) sum += $i }
			END { print sum + 0 }'
		in_ns "$name" awk '
			/^Icmp6(In|Out)(DestUnreachs|PktTooBigs|TimeExcds|ParmProblems)/ {
				sum += $2
			}
			END { print sum + 0 }' /proc/net/snmp6
	done | awk '{ sum += $1 } END { print sum }'
}

# decapsulated packets|bytes
decapsulated() {
	"$WEIR" status --socket "$RUN/agent-$TAG-b1.sock" --json |
		json_number ".verdicts.decapsulated.$1"
}
too_big() { node_status 1 | jq .verdicts.too_big.packets; }

# full_size URL FULL: uploads, and the frames that arrive have nearly FULL bytes on the average.
full_size() {
	local packets bytes
	packets=$(decapsulated packets)
	bytes=$(decapsulated bytes)
	arrives "$1" || return 1
	packets=$(($(decapsulated packets) - packets))
	bytes=$(($(decapsulated bytes) - bytes))
	say "# $packets packets of $((bytes / packets)) bytes on the average, of at most $2"
	[ $((bytes / packets)) -gt $(($2 * 90 / 100)) ] && [ $((bytes / packets)) -le "$2" ]
}

netns_begin
mkdir "$DIR/www"
head -c $UPLOAD_BYTES /dev/urandom >"$DIR/sent"
topology 1 1
router_start
store_config >"$DIR/store.conf"
spawn b1-nginx b1 nginx -c "$DIR/store.conf" -e stderr
wait_for 5 backend_listens b1 || fail "nginx of b1 listens"
agent_config b1 >"$DIR/b1.yaml"
say '  forward: [ipip]' >>"$DIR/b1.yaml"
agent_start b1
# What does not fit is dropped in silence, or else the counter-proof would not fail.
silent_config() {
	node_config 1 | sed 's/tracking: transition/&, oversize_df: drop/' >"$DIR/lb1.yaml"
}
silent_config
node_start 1
for name in client router lb1 b1; do
	mtus=$(in_ns "$name" ip -o link show up | grep -v ' lo:' | grep -o 'mtu [0-9]*' | sort -u)
	[ "$mtus" = 'mtu 1500' ] ||
		fail "the MTU is 1500 everywhere: $name"
done

before=$(icmp_errors)
# Of 1500 an agent sets aside what the largest of its modes adds over IPv6, to which the balancers
# belong: IP in IP 40 bytes, of which the tunnel over IPv4 leaves 20; GUE 72, for variant 0; Geneve
# 68 around IPv4 and 80 around IPv6.
must "an IPv4 upload arrives, in full-size packets" full_size http://$VIP4 1494
must "an IPv6 upload arrives, in packets of the whole MTU" full_size "http://[$VIP6]" 1514
end lb1
# agent_takes MODES
agent_takes() {
	end b1-agent
	agent_config b1 >"$DIR/b1.yaml"
	say "$1" >>"$DIR/b1.yaml"
	agent_start b1
}
agent_takes '  # as by default'
FORWARD=gue silent_config
node_start 1
must "an IPv4 upload arrives by GUE, in full-size packets" full_size http://$VIP4 1494
must "an IPv6 upload arrives by GUE, in packets of the whole MTU" full_size "http://[$VIP6]" 1514
end lb1
agent_takes '  forward: [geneve]'
FORWARD=geneve silent_config
node_start 1
must "an IPv4 upload arrives by Geneve" full_size http://$VIP4 1494
must "an IPv6 upload arrives by Geneve, in packets of the whole MTU" full_size "http://[$VIP6]" 1514
must "with no packet too big for the tunnel" test "$(too_big)" = 0
must "and no ICMP error anywhere" test "$before" -eq "$(icmp_errors)"
provoke_error() { in_ns client bash -c 'echo >/dev/udp/203.0.113.1/9'; }
sees_error() { provoke_error && [ "$(icmp_errors)" -gt "$before" ]; }
must "which would have been seen" wait_for 5 sees_error
end b1-agent

# The counter-proof: an agent that believes in a larger path clamps nothing.
sed 's/xdp: native/&\n  path_mtu: 9000/' "$DIR/b1.yaml" >"$DIR/large.yaml"
mv "$DIR/large.yaml" "$DIR/b1.yaml"
agent_start b1
must_not "without the clamp an IPv4 upload does not arrive" upload http://$VIP4 3
must_not "nor an IPv6 one" upload "http://[$VIP6]" 3
must "for its packets are too big" test "$(too_big)" -gt 0
end b1-agent
