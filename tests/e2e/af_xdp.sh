#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Engine af_xdp: requests that workers of the daemon take from one socket to the other; what the
# kernel does beside them, and alone while nobody is there; deaths, restarts, reloads and captures
# under requests, of which none fails.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"
ENGINE=af_xdp

serving() { wait_for 10 http_more $(($(http_count any) + $1)); }
# worker FIGURE: of all workers; packets: what the node has forwarded, whoever did.
worker() { node_status 1 | json_number "[.workers.running[].$1] | add // 0"; }
packets() { node_status 1 | json_number '.verdicts.forwarded.packets'; }
runs() { node_status 1 | json_is "(.workers.running | length) == $1 and .workers.missing == 0"; }
# busy COUNT: workers have got so many frames more than when `mark` was called.
mark() { marked=$(worker received); }
marked=0
busy() { [ "$(worker received)" -ge $((marked + $1)) ]; }
program() {
	local id
	id=$(in_ns lb1 ip -j -d link show eth0 | jq '.[0].xdp.prog.id')
	bpftool -j prog show id "$id" | jq -r .name
}
is_program() { [ "$(program)" = "$1" ]; }
# again COMMAND: of the node.
again() { "$WEIR" "$1" --node "$TAG-lb1" >"$DIR/again.log" 2>&1; }

netns_begin
mkdir "$DIR/www"
head -c 3000000 /dev/urandom >"$DIR/www/slow"
stack 1 2
must "the program that steers is attached" is_program weir_steer
must "a worker runs" wait_for 10 runs 1
must "status names the engine" grep -q 'engine af_xdp: 1 worker' \
	<<<"$("$WEIR" status --node "$TAG-lb1")"
: >"$DIR/requests"
http_start c1 4 http://$VIP4/ 10000 29999 40
http_start c2 6 "http://[$VIP6]/" 30000 49999 40
spawn download client curl -sf -o "$DIR/got" http://$VIP4/slow
must "requests are answered" serving 40
must "by workers" wait_for 10 busy 200
must "which send what they get" test "$(worker sent)" -ge 200
sent=$(worker sent)
must "it is counted as forwarded" test "$(packets)" -ge "$sent"
metric() { in_ns lb1 curl -sf http://127.0.0.1:9700/metrics | grep -q "^$1"; }
must "metrics have what it got" metric \
	'weir_worker_received_packets_total{interface="eth0",queue="0"} [1-9]'
must "and that none is missing" metric 'weir_workers_missing 0'
must "nothing is refused" test "$(worker refused)" = 0

forwarded=$(packets)
end lb1 KILL
must "the node is killed: requests go on" serving 60
must "by the same program" is_program weir_steer
node_start 1
must "the next one adopts" json_is .adopted <<<"$(node_status 1)"
must "and what was counted" test "$(packets)" -ge "$forwarded"
must "its worker" wait_for 10 runs 1
mark
must "takes over" wait_for 10 busy 200
must "requests go on" serving 40

must "weir restart" again restart
must "has a worker again" wait_for 10 runs 1
mark
must "that works" wait_for 10 busy 200

pid=$(node_status 1 | json_number .pid)
kill -STOP "$pid"
must "the node is stopped, which has its sockets still: requests go on" serving 100
kill -CONT "$pid"
mark
must "it goes on: its worker, too" wait_for 10 busy 200

sed -i 's/forward: ipip/rate_limit: 1M, &/' "$DIR/lb1.yaml"
must "a reload" again reload
must "is followed by requests" serving 1
mark
must "leaves what is limited to the kernel" serving 60
must_not "and nothing to workers" busy 1
sed -i 's/rate_limit: 1M, //' "$DIR/lb1.yaml"
must "another reload" again reload
mark
must "gives it back" wait_for 10 busy 200

longest() { node_status 1 | json_is ".workers.packet_max == $1"; }
must "packets that fit every path are theirs" longest 1460
must "a path with less room" in_ns lb1 ip route replace default via 192.0.2.1 mtu 1400
must "leaves what is longer to the kernel" wait_for 10 longest 1360
must "requests go on" serving 40
must "a path with more" in_ns lb1 ip route replace default via 192.0.2.1
must "gives it back" wait_for 10 longest 1460

must "what status has is in the manual" node_documented 1

must "a capture" in_ns lb1 "$WEIR" capture --node "$TAG-lb1" --count 100 --service shop4 \
	-w "$DIR/all.pcapng" 2>"$DIR/capture.log"
must "has its packets" test -s "$DIR/all.pcapng"
must "then the steering program is back" wait_for 5 is_program weir_steer
mark
must "and the worker busy" wait_for 10 busy 200

must "the connection that lasted all the time is complete" finished download
must "byte by byte" cmp "$DIR/got" "$DIR/www/slow"
http_unbroken c1 c2

# With nothing to do.
sleeps() {
	local task found=
	for task in /proc/"$(node_status 1 | json_number .pid)"/task/*; do
		grep -q '^xsk-' "$task/comm" || continue
		grep -q '^State:[[:space:]]*S' "$task/status" || return 1
		found=1
	done
	[ -n "$found" ]
}
must "without packets a worker sleeps" wait_for 10 sleeps
forwarded=$(packets)
end lb1 KILL
node_start 1
must "what the dead one's worker has counted is not lost" test "$(packets)" -ge "$forwarded"
must "there is a worker" wait_for 10 runs 1
mark
must "that has a request" in_ns client curl -sf "http://$VIP4/" -o /dev/null
must "and counts it" wait_for 10 busy 3
end lb1 KILL
must "of a set of tables with a gap" rm "$PINS/$TAG-lb1/backends"
node_start 1
must_not "nothing is taken over" json_is .adopted <<<"$(node_status 1)"
must "what workers have counted neither" test "$(packets)" = 0

end lb1
must_not "SIGTERM leaves nothing attached" has_xdp lb1
must_not "nor pinned" test -e "$PINS/$TAG-lb1"
sed -i 's/engine: af_xdp/engine: xdp/' "$DIR/lb1.yaml"
node_start 1
must "engine xdp has its own program" is_program weir_lb
must "and serves" in_ns client curl -sf "http://$VIP4/" -o /dev/null

# What it may not do.
end lb1
sed -i 's/engine: xdp/engine: af_xdp/' "$DIR/lb1.yaml"
run_without() {
	in_ns lb1 setpriv --bounding-set="-$1" "$WEIR" run --config "$DIR/lb1.yaml" \
		>"$DIR/refused" 2>&1
}
must_not "without the right to such sockets it does not start" run_without net_raw
must "and says so" grep -q 'cannot open an AF_XDP socket' "$DIR/refused"
must_not "nothing is attached" has_xdp lb1
spawn lb1 lb1 setpriv --bounding-set=-ipc_lock prlimit --memlock=65536:65536 \
	"$WEIR" run --config "$DIR/lb1.yaml"
must "without memory that it may lock it runs" wait_for 15 node_is_up 1
misses() { node_status 1 | json_is '(.workers.running | length) == 0 and .workers.missing == 1'; }
must "without a worker" wait_for 10 misses
must "which status says" grep -q '0 workers, 1 MISSING' \
	<<<"$("$WEIR" status --node "$TAG-lb1")"
must "and why, the log" wait_for 5 grep -q 'missing=1 reason=.*CAP_IPC_LOCK' "$DIR/lb1.log"
must "the kernel forwards" in_ns client curl -sf "http://$VIP4/" -o /dev/null
