#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Short connections through a balancer, a request each: Weir (IP in IP, in XDP), HAProxy (mode tcp),
# nginx (stream) and nftables (DNAT), each in a namespace of its own beside the others, before the
# same two servers; and straight to the servers, which is the measure of what all of them add. What
# Weir adds has a floor, too: a program that only puts the header on (e2e/bare.bpf.c), in its place.
# What the agent on the servers costs all of them is seen by two servers that have none.
#
# How late answers are is asked at a rate that is the same for all and that each can well do, from
# before the first SYN on (e2e/latency.c); wrk's own figure counts from when the connection stands.
#
# Processor time is that of all processes here, of the client and the servers too, with the softirqs
# that run in them, as XDP on veth does: a control group's. What a balancer adds is that, a request,
# less the same of the straight way in the same round. Where the kernel accounts softirqs apart it
# is the time that all processors were busy, so there nothing else should run.
#
#   bench/e2e_bench.sh [--rounds N] [--seconds N]

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../tests/lib/netns.sh"

ROUNDS=7 SECONDS_EACH=1 CONNECTIONS=16
WAYS=(agentless direct weir bare haproxy nginx nftables)
STRAIGHT=198.51.100.11 # on both servers, and routed to them
BARE=198.51.100.12     # as bare.bpf.c has it
AGENTLESS=198.51.100.13
declare -A TO=([direct]=$STRAIGHT [weir]=$VIP4 [bare]=$BARE [haproxy]=192.0.2.12 [nginx]=192.0.2.13
	[nftables]=192.0.2.14 [agentless]=$AGENTLESS)
declare -A RATE=() CPU=() ADDED=() P99=() LATE=() # by way: a value a round
STEADY=2000 # requests a second
GROUP=${E2E_BENCH_GROUP-none}

arguments=("$@")
while [ $# -gt 0 ]; do
	case $1 in
	--rounds) ROUNDS=${2:?} ;;
	--seconds) SECONDS_EACH=${2:?} ;;
	*) die "usage: bench/e2e_bench.sh [--rounds N] [--seconds N]" ;;
	esac
	shift 2
done

# --- processor time ---

# Softirqs count as the time of the process that they run in, unless the kernel tells them apart.
softirqs_are_apart() {
	{ zcat /proc/config.gz || cat "/boot/config-$(uname -r)"; } 2>/dev/null |
		grep -qx CONFIG_IRQ_TIME_ACCOUNTING=y
}

# Runs this script once more, in a control group that is removed when it has ended.
in_group() {
	local root pid status=0
	root=$(findmnt -t cgroup2 -n -o TARGET | head -n 1)
	if [ -z "$root" ] || softirqs_are_apart || ! mkdir "$root/$TAG" 2>/dev/null; then
		say "e2e_bench: processor time is the machine's: nothing else should run" >&2
		E2E_BENCH_GROUP='' exec "$0" "${arguments[@]}"
	fi
	(
		echo "$BASHPID" >"$root/$TAG/cgroup.procs"
		E2E_BENCH_GROUP=$root/$TAG exec "$0" "${arguments[@]}"
	) &
	pid=$!
	trap 'kill -TERM $pid' INT TERM HUP
	until wait $pid || status=$?; ! kill -0 $pid 2>/dev/null; do :; done
	within 5 rmdir "$root/$TAG" 2>/dev/null || say "e2e_bench: $root/$TAG is left" >&2
	exit $status
}

# Microseconds so far.
busy_us() {
	local pid ns=0 own
	if [ -z "$GROUP" ]; then
		awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" {
			printf "%.0f\n", ($2 + $3 + $4 + $7 + $8) * 1000000 / hz }' /proc/stat
		return
	fi
	for pid in $SOFTIRQ_THREADS; do
		read -r own _ <"/proc/$pid/schedstat"
		ns=$((ns + own))
	done
	awk -v more=$((ns / 1000)) '$1 == "usage_usec" { print $2 + more }' "$GROUP/cpu.stat"
}

# --- the other balancers ---

# Who does not send by XDP needs nothing for it at the other end; nor do agents without peers.
plain_link() {
	in_ns router ip link set dev "$1" xdp off
	in_ns "$1" ethtool -K eth0 tx on >/dev/null
}

haproxy_start() {
	cat >"$DIR/haproxy.conf" <<-END
		global
		    maxconn 4000
		defaults
		    mode tcp
		    timeout connect 5s
		    timeout client 10s
		    timeout server 10s
		listen web
		    bind ${TO[haproxy]}:80 backlog 4096
		    balance roundrobin
		    server b1 10.0.1.11:80
		    server b2 10.0.1.12:80
	END
	spawn haproxy lb2 haproxy -db -f "$DIR/haproxy.conf"
	wait_for 5 listens lb2 || fail "HAProxy listens"
}

stream_start() {
	cat >"$DIR/stream.conf" <<-END
		load_module /usr/lib/nginx/modules/ngx_stream_module.so;
		daemon off; worker_processes auto; worker_rlimit_nofile 16384;
		pid $DIR/stream.pid; error_log stderr;
		events { worker_connections 4096; }
		stream {
		upstream web { server 10.0.1.11:80; server 10.0.1.12:80; }
		server { listen ${TO[nginx]}:80 backlog=4096; proxy_pass web; }
		}
	END
	spawn stream lb3 nginx -c "$DIR/stream.conf" -e stderr
	wait_for 5 listens lb3 || fail "nginx of streams listens"
}

listens() { in_ns "$1" ss -Hltn 'sport = :80' | grep -q .; }

# Answers come back through it by the routers' rule: their source has to be undone.
nftables_start() {
	in_ns lb4 nft -f - <<-END || fail "nftables takes its rules"
		table ip web {
		chain to { type nat hook prerouting priority dstnat;
		ip daddr ${TO[nftables]} tcp dport 80 dnat to numgen inc mod 2 map {
		0 : 10.0.1.11, 1 : 10.0.1.12 }
		}
		}
	END
	# A closed connection is remembered for 120 s else, which fills the table.
	in_ns lb4 sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 \
		net.ipv4.conf.eth0.send_redirects=0 \
		net.netfilter.nf_conntrack_tcp_timeout_time_wait=1 \
		net.netfilter.nf_conntrack_tcp_timeout_close=1
	in_ns router sysctl -qw net.ipv4.conf.all.send_redirects=0
	in_ns router ip route add default via "${TO[nftables]}" table 100
	in_ns router ip rule add iif backends from 10.0.1.0/24 to 203.0.113.0/24 table 100
}

set_up() {
	local i
	topology 5 4
	COUNT_BACKEND=2 # of Weir's and all others'
	# Frames that are bridged are no business of a firewall's.
	in_ns router sysctl -qw net.bridge.bridge-nf-call-iptables=0 \
		net.bridge.bridge-nf-call-ip6tables=0 net.bridge.bridge-nf-call-arptables=0 || :
	for i in lb2 lb3 lb4 b1 b2 b3 b4; do
		plain_link $i
	done
	# What a client of the same machine sends is still in its own TCP's queue, so that the first
	# XDP program on the way has to copy it. A card's frames are memory of their own: so are
	# these from the router on, whichever way they go.
	receives_xdp router client
	in_ns router ip route add $VIP4 via 192.0.2.11
	in_ns router ip route add $BARE via 192.0.2.15
	in_ns router ip route add $STRAIGHT nexthop via 10.0.1.11 nexthop via 10.0.1.12
	in_ns router ip route add $AGENTLESS nexthop via 10.0.1.13 nexthop via 10.0.1.14
	for i in 3 4; do
		in_ns "b$i" ip addr add $AGENTLESS/32 dev lo
		backend_start "b$i"
	done
	for i in 1 2; do
		in_ns "b$i" ip addr add $STRAIGHT/32 dev lo
		agent_config "b$i" | sed "s/vips: \[/&$BARE, /" >"$DIR/b$i.yaml"
		backend_start "b$i"
		agent_start "b$i"
	done
	node_start 1
	in_ns lb5 ip link set dev eth0 xdpdrv obj "$ROOT/build/bench/e2e/bare.bpf.o" sec xdp ||
		fail "bare.bpf.o is attached"
	haproxy_start
	stream_start
	nftables_start
}

# --- a run ---

run_way() {
	local way=$1 before after line
	before=$(busy_us)
	line=$(in_ns client wrk -t1 "-c$CONNECTIONS" "-d${SECONDS_EACH}s" --latency \
		-H 'Connection: close' -s "$ROOT/bench/e2e/wrk.lua" "http://${TO[$way]}/" \
		2>>"$DIR/wrk.log" | grep '^wrk ')
	after=$(busy_us)
	# shellcheck disable=SC2086
	set -- $line
	[ $# = 5 ] && [ "$2" -gt 0 ] || fail "wrk asks by way of $way: $line"
	[ "$5" -le $(($2 / 100)) ] || fail "$5 of $2 requests failed by way of $way"
	RATE[$way]+=" $(awk "BEGIN { print $2 * 1000000 / $3 }")"
	CPU[$way]+=" $(awk "BEGIN { print ($after - $before) / $2 }")"
	P99[$way]+=" $4"
}

run_steady() {
	local way=$1 line
	line=$(in_ns client "$ROOT/build/bench/e2e/latency" "${TO[$way]}" 80 $STEADY \
		"$SECONDS_EACH" 2>>"$DIR/latency.log")
	# shellcheck disable=SC2086
	set -- $line
	[ $# = 5 ] && [ "$2" -gt 0 ] || fail "answers come steadily by way of $way: $line"
	[ "$3" -le $(($2 / 100)) ] || fail "$3 of $2 requests failed by way of $way"
	LATE[$way]+=" $5"
}

# less A B: each value of the list A less that of the straight way's.
less() {
	awk -v a="$1" -v b="$2" 'BEGIN {
		n = split(a, x, " ")
		split(b, y, " ")
		for (i = 1; i <= n; i++)
			printf " %.3f", x[i] - y[i]
	}'
}

# row NAME UNIT VALUES [BASE [AT_MOST]]
row() {
	local values
	values=$(printf '%s' "$3" | sed 's/^ //; s/ /, /g')
	printf '{"name": "%s", "unit": "%s", "values": [%s]%s}\n' "$1" "$2" "$values" \
		"${4:+, \"base\": \"$4\"}${5:+, \"at_most\": $5}"
}

# What the straight way takes is in every latency, so the lower one has less of it added.
report() {
	local way added='short connections: processor time added, a request'
	local p99='short connections: 99th percentile of latency'
	local late="$STEADY connections a second: 99th percentile of time"
	for way in "${WAYS[@]}"; do
		row "short connections: requests a second, $way" /s "${RATE[$way]}"
		row "short connections: processor time of all, a request, $way" us "${CPU[$way]}"
		row "$p99, $way" us "${P99[$way]}"
		row "$late, $way" us "${LATE[$way]}"
		ADDED[$way]=$(less "${CPU[$way]}" "${CPU[direct]}")
	done
	for way in bare haproxy nginx nftables; do
		row "$added, $way" us "${ADDED[$way]}"
	done
	row "$added, agent on the servers" us "$(less "${CPU[direct]}" "${CPU[agentless]}")"
	row "$added, weir (by bare)" us "${ADDED[weir]}" "$added, bare"
	for way in haproxy nginx nftables; do
		row "$added, weir (by $way)" us "${ADDED[weir]}" "$added, $way" \
			"$([ $way = nftables ] && say 0.75 || say 0.2)"
		row "$added, weir and its agent (by $way)" us \
			"$(less "${CPU[weir]}" "${CPU[agentless]}")" "$added, $way"
		row "$late, weir (by $way)" us "${LATE[weir]}" "$late, $way" 1
	done
	for way in bare haproxy nginx nftables; do
		row "$p99, weir (by $way)" us "${P99[weir]}" "$p99, $way"
	done
	row "$late, weir (by bare)" us "${LATE[weir]}" "$late, bare"
}

[ "$GROUP" != none ] || in_group
SOFTIRQ_THREADS=$(pgrep -x 'ksoftirqd/[0-9]+')
for tool in wrk haproxy nft nginx; do
	command -v $tool >/dev/null || die "$tool is missing: tools/deps --bench installs it"
done
# Others may work here meanwhile: how late an answer is would be how late they let it be.
renice -n -19 -p $$ >/dev/null 2>&1 || say "e2e_bench: without priority" >&2
netns_begin
set_up >&2
for ((round = 0; round < ROUNDS; round++)); do
	for way in "${WAYS[@]}"; do
		run_way "$way" >&2
		run_steady "$way" >&2
	done
done
report
