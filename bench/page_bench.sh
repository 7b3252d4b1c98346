#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The page of a node that has 1,000 services with ten checked backends each, for one viewer: how
# long it takes until the overview shows figures, and what it costs the daemon while it is looked
# at, beside what its checks cost without a viewer. On a veth device, in a namespace.
#
#   bench/page_bench.sh [--rounds N]

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../tests/lib/netns.sh"
# shellcheck source=tests/lib/browser.sh
. "$ROOT/tests/lib/browser.sh"

ROUNDS=3 SECONDS_EACH=5 SERVICES=1000
URL=http://127.0.0.1:9700

case ${1-} in
'') ;;
--rounds) ROUNDS=${2:?} ;;
*) die "usage: bench/page_bench.sh [--rounds N]" ;;
esac

config() {
	node_config 1 generic | sed '/^pools:/,$d'
	awk -v n=$SERVICES 'BEGIN {
		print "pools:"
		for (p = 0; p < n; p++) {
			printf "- {name: p%d, check: {type: tcp, port: 80, interval: 60s}, ", p
			print "backends: ["
			for (b = p * 10; b < p * 10 + 10; b++)
				printf "  {name: b%d, address: 10.64.%d.%d},\n", b, b / 256, b % 256
			print "  ]}"
		}
		print "services:"
		for (p = 0; p < n; p++)
			printf "- {name: s%d, vips: [198.18.%d.%d], listen: [tcp/80], " \
				"pool: p%d}\n", p, p / 256, p % 256, p
	}'
}

all_are_up() {
	node_status 1 |
		json_is "[.pools[].backends[] | select(.usable)] | length == $((SERVICES * 10))"
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# Nanoseconds of all of the daemon's threads; ticks see little of who runs for microseconds.
used() { cat /proc/"$1"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f\n", sum }'; }

# share: percent of a core, over SECONDS_EACH.
share() {
	local before began
	before=$(used "$daemon") began=$(now_ms)
	sleep $SECONDS_EACH
	awk -v ns=$(($(used "$daemon") - before)) -v ms=$(($(now_ms) - began)) \
		'BEGIN { printf "%.2f\n", ns / ms / 10000 }'
}

shows_figures() {
	page_is "document.querySelector('main')?.dataset.shown === '#/overview'"
}

# load: milliseconds until the overview is there.
load() {
	local began
	browse goto about:blank >/dev/null
	began=$(now_ms)
	browse goto "$URL/#/overview" >/dev/null
	until shows_figures; do
		[ $(($(now_ms) - began)) -lt 20000 ] || die "the page shows nothing"
	done
	echo $(($(now_ms) - began))
}

# row NAME UNIT LIMIT VALUE...
row() {
	local name=$1 unit=$2 limit=$3
	shift 3
	printf '{"name": "%s", "unit": "%s", "values": [%s]%s}\n' "$name" "$unit" \
		"$(IFS=, && echo "$*")" "${limit:+, \"limit\": $limit}"
}

command -v chromium >/dev/null || die "needs chromium: tools/deps installs it"
netns_begin
topology 1 1
# The router is all of them.
in_ns router ip route add local 10.64.0.0/16 dev lo
spawn server router /usr/bin/python3 -c '
import socket
server = socket.create_server(("", 80), backlog=1024)
while True:
    server.accept()[0].close()'
config >"$DIR/lb1.yaml"
node_spawn 1
wait_for 30 all_are_up || fail "all backends are up"
daemon=$(node_status 1 | jq .pid)
browser_start lb1

loads=() alone=() viewed=() added=()
for ((round = 0; round < ROUNDS; round++)); do
	browse goto about:blank >/dev/null
	alone+=("$(share)")
	loads+=("$(load)")
	viewed+=("$(share)")
	added+=("$(jq -n "${viewed[-1]} - ${alone[-1]}")")
done
row "page, 1,000 services x 10 backends: overview there" ms 1000 "${loads[@]}"
row "page: what a viewer costs the daemon, of a core" % 2 "${added[@]}"
row "page: the daemon's share of a core, a viewer" % "" "${viewed[@]}"
row "page: the same without one, its checks" % "" "${alone[@]}"
