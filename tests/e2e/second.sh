#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 150
#
# The second chance with real sockets: connections whose packets come to a backend that does not
# know them go on, for it hands them to the one that does.
#
#   client -- router -- lb1, lb2 (one-armed)
#                  \--- b1, b2, b3 (agent, nginx at 80, tests/e2e/server.c at 81)
#                                \--- pod, another network namespace, which serves for b3
#
# First three hundred live connections, every byte of them checked by tests/e2e/clients.c, while lb1
# forgets all that it knew and begins anew with another owner for a third of the slots, and with a
# backend that was added meanwhile. Then short ones of which SYNs go by lb1 and all else by lb2,
# which do not agree on the owner: so every
# handshake, request, FIN and RST is handed on. At last a backend whose agent has other peers.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/clients.sh
. "$(dirname "$0")/../lib/clients.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

PEERS=$ROOT/build/tests/e2e
LIVE=300 REQUESTS=120
WAY=1 # the node of the router's route

# --- configuration ---

# pool_config NAME STEM STATE1 STATE2 STATE3: b3 may be `none`, not in the file.
pool_config() {
	cat <<-END
		- name: $1
		  check: {type: tcp, port: 80, $CHECK}
		  backends:
		  - {name: b1, address: "${2}1", state: $3}
		  - {name: b2, address: "${2}2", state: $4}
	END
	[ "$5" = none ] || say "  - {name: b3, address: \"${2}3\", state: $5}"
}

# second_config NODE STATE1 STATE2 STATE3
second_config() {
	local service="listen: [tcp/80, tcp/81], forward: gue, second_chance: true"
	cat <<-END
		node:
		  name: $TAG-lb$1
		  interfaces: [eth0]
		  xdp: native
		  tunnel: {source4: 100.64.$1.0/24, source6: "2001:db8:f:$1::/64"}
		  flows: {entries: 64Ki}
		seed: second
		pools:
		$(pool_config web4 10.0.1.1 "${@:2}")
		$(pool_config web6 2001:db8:1::1 "${@:2}")
		services:
		- {name: shop4, vips: [$VIP4], pool: web4, $service}
		- {name: shop6, vips: ["$VIP6"], pool: web6, $service}
	END
}

# --- nodes and backends ---

# fresh_node NODE STATE...: one that knows nothing of what was before. The router waits for it.
fresh_node() {
	local node=$1
	route_nowhere
	if alive "lb$node"; then
		end "lb$node" KILL
		rm -rf "${PINS:?}/$TAG-lb$node"
	fi
	second_config "$@" >"$DIR/lb$node.yaml"
	node_start "$node"
	route_by "$WAY"
}

serve() {
	spawn "$1-server" "$2" "$PEERS/server" "$1" 81
	# So that the clients know whose a packet is.
	in_ns "$2" sysctl -qw net.ipv4.ip_default_ttl="$3" net.ipv6.conf.all.hop_limit="$3" \
		net.ipv6.conf.eth0.hop_limit="$3"
}

# What comes for a VIP to b3 is routed to the pod, although the VIP is on b3's loopback.
start_pod() {
	space pod
	ip link add eth0 netns "$TAG-pod" type veth peer name pod netns "$TAG-b3"
	in_ns pod ip link set eth0 up
	in_ns b3 ip link set pod up
	address pod eth0 10.9.0.2/30 2001:db8:9::2/64
	address b3 pod 10.9.0.1/30 2001:db8:9::1/64
	address pod lo $VIP4/32 $VIP6/128
	in_ns pod ip route add default via 10.9.0.1
	in_ns pod ip route add default via 2001:db8:9::1
	in_ns b3 sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	for family in -4 -6; do
		in_ns b3 ip $family rule add pref 10 lookup local
		in_ns b3 ip $family rule add pref 5 iif eth0 lookup 77
		in_ns b3 ip $family rule del pref 0
	done
	in_ns b3 ip route add $VIP4 via 10.9.0.2 table 77
	in_ns b3 ip route add $VIP6 via 2001:db8:9::2 table 77
	backend_config b3 | sed "s/b3.pid/pod.pid/" >"$DIR/pod.conf"
	spawn pod-nginx pod nginx -c "$DIR/pod.conf" -e stderr
	wait_for 5 backend_listens pod || fail "nginx of the pod listens"
	no_offload pod eth0
}

# SYNs by lb1, all else by lb2. They come in again at another device, by which routes tell them.
split_ways() {
	in_ns router ip link add syns type veth peer name syns.peer
	in_ns router ip link set syns up
	in_ns router ip link set syns.peer up
	in_ns router tc qdisc add dev client clsact
	in_ns router tc filter add dev client ingress protocol ip prio 1 u32 \
		match u8 6 0xff at 9 match u8 0x02 0x12 at 33 \
		action mirred ingress redirect dev syns
	in_ns router tc filter add dev client ingress protocol ipv6 prio 2 u32 \
		match u8 6 0xff at 6 match u8 0x02 0x12 at 53 \
		action mirred ingress redirect dev syns
	in_ns router ip rule add iif syns lookup 101
	in_ns router ip -6 rule add iif syns lookup 101
	in_ns router ip route add $VIP4 via 192.0.2.11 table 101
	in_ns router ip -6 route add $VIP6 via 2001:db8:2::11 table 101
	WAY=2
}

route_nowhere() {
	in_ns router ip route replace blackhole $VIP4
	in_ns router ip -6 route del $VIP6 2>/dev/null
	in_ns router ip -6 route add blackhole $VIP6
}

route_by() {
	in_ns router ip -6 route del $VIP6
	in_ns router ip route replace $VIP4 via "192.0.2.1$1"
	in_ns router ip -6 route add $VIP6 via "2001:db8:2::1$1"
}

# --- what is seen ---

verdict() {
	"$WEIR" status --socket "$RUN/agent-$TAG-$1.sock" --json |
		json_number ".verdicts.$2.packets"
}
# more BACKEND VERDICT THAN
more() { [ "$(verdict "$1" "$2")" -gt "$3" ]; }

# knows NAME ADDRESS: has it its neighbour's MAC address?
knows() { in_ns "$1" ip neigh show "$2" dev eth0 | grep -q lladdr; }

opened() { live $LIVE && [[ $reported =~ opened=([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge "$1" ]; }
renew() {
	[[ $reported =~ opened=([0-9]+) ]]
	control "close 0"
	must "all connections are new" wait_for 15 opened $((BASH_REMATCH[1] + LIVE))
}
at_b3() { report && [[ $reported =~ b3=([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge "$1" ]; }

# ask_all FIRST [COUNT]: a new connection from each of the same ports to each VIP.
ask_all() {
	local count=${2:-$REQUESTS}
	{
		http_batch http://$VIP4/ "$1" "$count" | in_ns client curl -K - 2>&1 | http_stamp 4
		http_batch "http://[$VIP6]/" "$1" "$count" | in_ns client curl -K - 2>&1 |
			http_stamp 6
	} >"$DIR/requests"
	awk '{ print $2, $4, $6 }' "$DIR/requests" | sort | uniq -c | sed 's/^ */# /'
}
# get_all FIRST: a page from each of 30 ports and VIP; its length, a line each.
get_all() {
	local url
	for url in http://$VIP4 "http://[$VIP6]"; do
		for ((port = $1; port < $1 + 30; port++)); do
			in_ns client curl -s -m 60 --local-port "$port" -o /dev/null \
				-w '%{size_download}\n' "$url/page"
		done
	done >"$DIR/got"
}
all_ok() { [ "$(http_count ok)" = $((2 * REQUESTS)) ]; }
# A segment that was lost comes again after 200 ms, a SYN after a second. If it were for the second
# chance, a third of all would be late; a few are on a busy machine.
at_once() { awk '$5 > 150000 { late++ } END { exit late > NR / 6 }' "$DIR/requests"; }
answers_of() { awk -v b="$1" '$6 == b' "$DIR/requests" | grep -c . || :; }

# --- the beginning ---

netns_begin
[ -x "$PEERS/clients" ] || die "no $PEERS/clients; make units first"
mkdir "$DIR/www"
head -c 100000 /dev/zero >"$DIR/www/page"
AGENT_PEERS='[10.0.1.0/24, "2001:db8:1::/64"]'
topology 2 3
for i in 1 2; do
	in_ns router ip route add "100.64.$i.0/24" via "192.0.2.1$i"
	in_ns router ip route add "2001:db8:f:$i::/64" via "2001:db8:2::1$i"
done
start_pod
serve b1 b1 101
serve b2 b2 102
serve b3 pod 104 # and b3 takes one off
for i in 1 2 3; do
	backend_start b$i
done
COUNT_LB=2 agent_config b3 | sed "\$a\\  netns: [$TAG-pod]" >"$DIR/b3.yaml"
for i in 1 2 3; do
	agent_start b$i
done
must "an agent tells its peers" json_is '.peers | length == 2' \
	< <("$WEIR" status --socket "$RUN/agent-$TAG-b1.sock" --json)
must "and the namespaces where it asks" json_is '.netns | length == 1' \
	< <("$WEIR" status --socket "$RUN/agent-$TAG-b3.sock" --json)
must "its loopback forwards, by which routes are asked for" \
	test "$(in_ns b1 sysctl -n net.ipv4.conf.lo.forwarding)" = 1
must "and nothing else does" test "$(in_ns b1 sysctl -n net.ipv4.conf.eth0.forwarding)" = 0
fresh_node 1 active active active

# --- live connections, and a node that forgets ---

mkfifo "$DIR/control"
exec {CONTROL}<>"$DIR/control"
spawn clients client "$PEERS/clients" "$DIR/control" $LIVE 1 81 $VIP4 "$VIP6"
must "$LIVE connections live" wait_for 20 live $LIVE
must "at the backend in another namespace too" grep -q ' b3=[1-9]' <<<"$reported"
must "nothing was handed on so far" test "$(verdict b1 handed_on) $(verdict b2 handed_on)" = "0 0"
fresh_node 1 drain active active
must "b2 hands on what b1 knows" wait_for 5 more b2 handed_on 100
must "and b3, which asks its pod, too" wait_for 5 more b3 handed_on 100
must "b1 takes it" wait_for 5 more b1 taken 100
must "b2 knows its neighbour now, over IPv4" wait_for 3 knows b2 10.0.1.11
must "and over IPv6" wait_for 3 knows b2 2001:db8:1::11
listen
must "each connection is heard of" wait_for 15 all_heard
must "no connection broke" none_broken
must "more of them begin, and none at b1" wait_for 20 began 360
before=$(verdict b1 handed_on)
fresh_node 1 active active active
must "b1 hands on what began at others meanwhile" wait_for 5 more b1 handed_on $((before + 10))
must "those of the pod's are taken there" wait_for 5 more b3 taken 10
listen
must "each connection is heard of" wait_for 15 all_heard
must "no connection broke" none_broken
# Who began at another's owner while b1 drained would have a third owner now.
renew
fresh_node 1 active active drain
must "what the pod knows comes back to it" wait_for 5 more b3 taken 100
listen
must "each connection is heard of" wait_for 15 all_heard
must "no connection broke" none_broken
renew
COUNT_BACKEND=2
fresh_node 1 active active none
must "one that is drained can go" none_broken
renew
COUNT_BACKEND=3
fresh_node 1 active active active
must "and come, while the node is away that knew of nothing else" wait_for 5 at_b3 5
listen
must "each connection is heard of" wait_for 15 all_heard
must "no connection broke" none_broken
control stop
must "the clients end" wait_for 15 grep -q '^report end ' "$DIR/clients.log"
must "and nothing broke at all" grep -q '^report end .* broken=0 excused=0' "$DIR/clients.log"

# --- short ones, of which nothing but the SYN comes to its owner ---

split_ways
for cookies in 1 2; do
	in_ns b1 sysctl -qw net.ipv4.tcp_syncookies=$cookies
	fresh_node 1 active active active
	fresh_node 2 drain active active
	before=$(verdict b1 taken)
	ask_all $((20000 + cookies * 1000))
	must "each request is answered (tcp_syncookies=$cookies)" all_ok
	must "at once" at_once
	must "by b1 too" test "$(answers_of b1)" -gt $((REQUESTS / 3))
	must "though all but SYNs came by others" \
		wait_for 5 more b1 taken $((before + 3 * $(answers_of b1)))
done
must "cookies were sent" test "$(in_ns b1 nstat -asz TcpExtSyncookiesRecv |
	awk '/Recv/ { print $2 }')" -gt $((REQUESTS / 3))

# The same ports again, while b1 has their connections in TIME_WAIT and b2 is their SYNs' owner.
fresh_node 1 drain active active
fresh_node 2 active active active
must "b1 waits" test "$(in_ns b1 ss -Htan state time-wait | grep -c .)" -gt 20
before=$(verdict b1 handed_weak)
ask_all 22000
must "each request from the same ports is answered" all_ok
must "at once" at_once
must "none by b1" test "$(answers_of b1)" = 0
must "whose sockets that wait refused them" wait_for 5 more b1 handed_weak $((before + 50))

# --- an error for who sent too big, which comes to another as well ---

fresh_node 1 active active active
fresh_node 2 drain active active
in_ns router ip link set client mtu 1300
before=$(verdict b1 taken)
get_all 23000
must "who sent too big is told, wherever the error comes first" \
	test "$(sort "$DIR/got" | uniq -c | sed 's/^ *//')" = "60 $(stat -c %s "$DIR/www/page")"
must "by b1 too" wait_for 5 more b1 taken $((before + 20))
in_ns router ip link set client mtu 1500

# --- whom an agent does not know ---

sed 's|peers: .*|peers: [10.0.9.0/24]|' "$DIR/b2.yaml" >"$DIR/strange.yaml"
end b2-agent
spawn b2-agent b2 "$WEIR" agent --config "$DIR/strange.yaml"
wait_for 10 agent_is_up b2 || fail "an agent with other peers is up"
fresh_node 1 active active active
fresh_node 2 active drain active
HTTP_S=2 ask_all 26000 10
must "from others than its peers an agent takes nothing" wait_for 5 more b2 bad_peer 4
must "and serves nobody who comes that way" test "$(answers_of b2)" = 0
must "the others answer" test "$(http_count ok)" -gt 4
end b1-agent
must "at its end the agent takes back what it set" \
	test "$(in_ns b1 sysctl -n net.ipv4.conf.lo.forwarding)" = 0
say "1..$TAP_COUNT"
