#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 90
#
# announce.via: kernel-route, for a host that runs a routing daemon already: VIPs stand in a routing
# table, from which BIRD on the same host takes them and tells a router of them.
#
#   client -- router (BIRD) -- lb1 (BIRD, and Weir, which has no BGP)
#                         \--- b1, b2

set -u
ROUTES=bgp
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

# host_session FAMILY OWN ROUTER
host_session() {
	cat <<-END
		ipv$1 table vips$1;
		protocol kernel kernel$1 {
		ipv$1 { table vips$1; import all; export none; };
		kernel table 100; learn; scan time 1;
		}
		protocol bgp router$1 {
		local $2 as 65010; neighbor $3 as 65000; connect delay time 1; hold time 9;
		ipv$1 { table vips$1; import none; export all; next hop self; };
		}
	END
}
host_config() {
	cat <<-END
		log stderr all;
		router id 192.0.2.11;
		protocol device { scan time 2; }
		$(host_session 4 192.0.2.11 192.0.2.1)
		$(host_session 6 2001:db8:2::11 2001:db8:2::1)
	END
}

weir() { "$WEIR" "$@" >"$DIR/out" 2>"$DIR/err"; }
table() { in_ns lb1 ip "-$1" route show table 100 2>/dev/null; }
has() { table "$1" | grep -q "^blackhole $2 .*proto 87"; }
lacks() { ! has "$1" "$2"; }
announced() {
	node_status 1 | json_is ".announce.vips[] | select(.vip == \"$1\").announced == $2"
}
collides() { node_status 1 | json_is '.announce.vips[0].error | contains("File exists")'; }
serving() { wait_for 10 http_more $(($(http_count any) + $1)); }

netns_begin
mkdir "$DIR/www"
: >"$DIR/www/slow"
COUNT_BACKEND=2
{
	ROUTES='' node_config 1
	echo 'announce: {via: kernel-route, table: 100}'
} >"$DIR/lb1.yaml"
topology 1 2
router_start
host_config >"$DIR/host.conf"
spawn host lb1 bird -f -c "$DIR/host.conf" -s "$DIR/host.ctl"
# Left by nobody that lives: it goes. And what another has stays.
in_ns lb1 ip route add blackhole 192.0.2.200 proto 87 table 100
in_ns lb1 ip route add blackhole 192.0.2.201 proto static table 100
for i in 1 2; do
	backend_start "b$i"
	agent_start "b$i"
done
node_start 1
must "the VIPs are in the table" wait_for 5 has 4 $VIP4
must "of both families" wait_for 5 has 6 $VIP6
must "and the router has them from there" wait_for 20 router_uses 1
must "what an earlier daemon left is gone" lacks 4 192.0.2.200
must "another's route is not" grep -q 192.0.2.201 <(table 4)
must "status tells" announced $VIP4 true
: >"$DIR/requests"
http_start c1 4 http://$VIP4/ 10000 29999 40
http_start c2 6 "http://[$VIP6]/" 30000 49999 40
must "requests are answered" serving 40
end lb1 KILL
must "a daemon that is killed leaves them" has 4 $VIP4
node_start 1
must "the next has them" announced $VIP6 true
must "requests go on" serving 60
http_stop c1 c2
grep -v ' ok ' "$DIR/requests" | sed 's/^/# /'
must "nobody's request failed" test "$(http_count ok)" = "$(http_count any)"

end b1-nginx KILL
end b2-nginx KILL
must "without a usable backend they are withdrawn" wait_for 5 lacks 4 $VIP4
must "in both families" wait_for 5 lacks 6 $VIP6
must "from the router, too" wait_for 10 router_uses 0
in_ns lb1 ip route add blackhole $VIP4 proto static table 100
backend_start b1
must "where another has the route, status says so" wait_for 5 collides
must "and that it is not announced" wait_for 5 announced $VIP4 false
in_ns lb1 ip route del blackhole $VIP4 proto static table 100
must "and it is tried again" wait_for 5 has 4 $VIP4
must "weir node drain" weir node drain --no-wait --node "$TAG-lb1"
must "withdraws them" wait_for 5 lacks 4 $VIP4
must "weir node undrain" weir node undrain --node "$TAG-lb1"
must "brings them back" wait_for 5 has 4 $VIP4
must "SIGTERM ends it" end lb1
must "with its routes withdrawn" lacks 4 $VIP4
must "of both families" lacks 6 $VIP6
must "and another's there" grep -q 192.0.2.201 <(table 4)
