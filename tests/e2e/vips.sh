#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# VIPs that are prefixes, listens that are ranges, and access lists, as files change them from one
# daemon to the next while requests run.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

# with VIPS4 VIPS6 LISTEN ACCESS: the balancer's file, with these in both services.
with() {
	node_config 1 | sed "s|vips: \[$VIP4\]|vips: [$1], $4|
		s|vips: \[\"$VIP6\"\]|vips: [$2], $4|
		s|listen: \[tcp/80\]|listen: [$3]|" >"$DIR/lb1.yaml"
}

# next_file ...: another daemon takes over, with another file.
next_file() {
	with "$@"
	end lb1 KILL
	node_start 1
}

serving() { wait_for 10 http_more $(($(http_count any) + $1)); }
counted() { node_status 1 | json_is ".verdicts.$1.packets > 0"; }
# asks URL [SECONDS]
asks() { in_ns client curl -sf -m "${2:-20}" "$1" >"$DIR/answer"; }
pings() { in_ns client ping -qc 1 -W 20 "$1" >"$DIR/answer"; }

netns_begin
mkdir "$DIR/www"
COUNT_BACKEND=2 # that the file has them before the topology is there
with '198.51.100.8/29' '"2001:db8:10::/64"' 'tcp/80-89' \
	'allow: [203.0.113.0/24, "2001:db8:c::/48"]'
stack 1 2
: >"$DIR/requests"
http_start c1 4 http://$VIP4/ 10000 29999 40
http_start c2 6 "http://[$VIP6]/" 30000 49999 40
must "requests to prefixes are answered" serving 40
must_not "a port that nobody listens on is not" asks "http://$VIP4:90/" 1
must "and its packets are passed" wait_for 5 counted not_listened

next_file '198.51.100.0/24, 198.51.100.10' '"2001:db8:10::/48"' 'any, tcp/80' \
	'allow: [203.0.0.0/16, "2001:db8:c::/48"], deny: [203.0.113.77/32]'
must "wider prefixes, an address in one, and any: requests go on" serving 120
next_file '198.51.100.10, 198.51.100.8/30' '"2001:db8:10::10"' 'tcp/1-1000, tcp/80' \
	'allow: [0.0.0.0/0, "::/0"]'
must "addresses, and nobody refused: requests go on" serving 120
next_file '198.51.100.8/29' '"2001:db8:10::/64"' 'tcp/80-89' \
	'allow: [203.0.113.0/24, "2001:db8:c::/48"]'
must "the first file again: requests go on" serving 120
# From prefixes alone to addresses alone: the program of the second file knows no prefixes, and its
# access lists take a while to write.
many=$(for ((i = 0; i < 4500; i++)); do printf '9.%d.%d.0/25, ' $((i / 256)) $((i % 256)); done)
next_file 198.51.100.10 '"2001:db8:10::10"' 'tcp/80' "deny: [${many%, }]"
must "addresses alone, with long lists: requests go on" serving 120
next_file '198.51.100.8/29' '"2001:db8:10::/64"' 'tcp/80-89' 'deny: []'
must "prefixes alone again: requests go on" serving 120
http_unbroken c1 c2

next_file '198.51.100.0/24' '"2001:db8:10::/64"' any "allow: [\"::/0\"], deny: [$CLIENT4/32]"
must_not "a client that is denied has no answer" asks "http://$VIP4/" 1
must "and is counted" wait_for 5 counted denied
must "which says nothing of the other family" asks "http://[$VIP6]/"
must "pings are answered all the same" pings $VIP4
in_ns router ip route add 198.51.100.77 via 192.0.2.11
must "at each address of the prefix" pings 198.51.100.77
must "SIGTERM ends it with status 0" end lb1
must_not "XDP is detached" has_xdp lb1
