#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# MTU 1500 everywhere, and nobody clamps: the agent believes in a path of 9000. A client's full-size
# packets do not fit with the tunnel's header. The balancer says so by ICMP, the client's kernel
# believes it and remembers the size, and what it sends again arrives. And a VIP answers a ping.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1 (agent, nginx that stores what is PUT)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

UPLOAD_BYTES=2000000

# arrives URL: what is uploaded is what is stored.
arrives() {
	rm -f "$DIR/www/got"
	in_ns client curl -sf -m 90 -H 'Expect:' -T "$DIR/sent" "$1/got" &&
		cmp "$DIR/sent" "$DIR/www/got"
}

# answered VERDICT: how often, of the balancer's own.
answered() { node_status 1 | jq ".verdicts.$1.packets"; }

# path_mtu ADDRESS: what the client's kernel has learnt; nothing if it has not.
path_mtu() { in_ns client ip route get "$1" | grep -o 'mtu [0-9]*'; }
learnt() { [ "$(path_mtu "$1")" = "mtu $2" ]; }
forget() {
	in_ns client ip -4 route flush cache
	in_ns client ip -6 route flush cache
}

# datagram ADDRESS BYTES: to the VIP's UDP port, with DF as the kernel sets it by itself.
datagram() { in_ns client bash -c "head -c $2 /dev/zero >/dev/udp/$1/53"; }
# tells ADDRESS BYTES MTU: the datagram is answered by a size, which the kernel takes.
tells() {
	datagram "$1" "$2"
	wait_for 2 learnt "$1" "$3"
}

# pings ADDRESS BYTES: each is answered, with what was sent.
pings() {
	in_ns client ping -n -c 5 -i 0.01 -W 20 -s "$2" -p a5 "$1" >"$DIR/ping.txt" || return 1
	grep -q ' 0% packet loss' "$DIR/ping.txt" && ! grep -q 'wrong data' "$DIR/ping.txt"
}
# icmp_echos NAME: requests that its kernel saw.
icmp_echos() {
	in_ns "$1" awk '/^Icmp6InEchos / { sum += $2 } END { print sum + 0 }' /proc/net/snmp6
	in_ns "$1" cat /proc/net/snmp | awk '
		/^Icmp:/ && !n { n = split($0, key); next }
		/^Icmp:/ { for (i = 2; i <= n; i++) if (key[i] == "InEchos") print $i }'
}

netns_begin
mkdir "$DIR/www"
head -c $UPLOAD_BYTES /dev/urandom >"$DIR/sent"
topology 1 1
router_start
store_config >"$DIR/store.conf"
spawn b1-nginx b1 nginx -c "$DIR/store.conf" -e stderr
wait_for 5 backend_listens b1 || fail "nginx of b1 listens"
agent_config b1 | sed 's/xdp: native/&\n  path_mtu: 9000/' >"$DIR/b1.yaml"
agent_start b1
node_config 1 | sed 's|listen: \[tcp/80\]|listen: [tcp/80, udp/53]|' >"$DIR/lb1.yaml"
node_start 1

must_not "at first the client knows no size of the way to the IPv4 VIP" path_mtu $VIP4
must_not "nor to the IPv6 VIP" path_mtu $VIP6
must "an IPv4 datagram of 1500 bytes is answered: 1480 fit" tells $VIP4 1472 1480
must "an IPv6 datagram of 1500 bytes is answered: 1460 fit" tells $VIP6 1452 1460
must "two answers, and no more" test "$(answered too_big_answered)" = 2
must "what fits exactly is forwarded, and not answered" datagram $VIP4 1452
must "so is it over IPv6" datagram $VIP6 1412
must "still two answers" test "$(answered too_big_answered)" = 2
forget
must_not "the client has forgotten" path_mtu $VIP4
must "an IPv4 upload arrives" arrives http://$VIP4
must "by the size that the client was told" learnt $VIP4 1480
must "an IPv6 upload arrives" arrives "http://[$VIP6]"
must "by the size that the client was told for IPv6" learnt $VIP6 1460
must "answers came of it" test "$(answered too_big_answered)" -gt 2
must "nothing was dropped in silence" test "$(answered too_big)" = 0
must "nor for too many answers" test "$(answered reply_limited)" = 0

before=$(icmp_echos lb1; icmp_echos b1)
must "the IPv4 VIP answers a ping" pings $VIP4 56
must "the IPv6 VIP answers a ping" pings $VIP6 56
must "of full size too, of the path that the client knows" pings $VIP4 1452
must "and over IPv6" pings $VIP6 1412
must "and odd bytes" pings $VIP4 57
must "and over IPv6" pings $VIP6 57
must "by the balancer's program" test "$(answered echo_answered)" = 30
must "and not by a host" test "$before" = "$(icmp_echos lb1; icmp_echos b1)"
must "a ping to the balancer itself goes to its host" pings 192.0.2.11 56
must_not "which would have been seen" test "$before" = "$(icmp_echos lb1; icmp_echos b1)"
