#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 90
#
# Sessions of link-local addresses alone, as where a fabric has no others: BIRD and FRR, IPv6 and,
# with IPv6 next hops (RFC 8950), IPv4 over one session each, BFD beside BIRD's.
#
#   client -- router (BIRD, fe80::1) -- lb1 (fe80::11)
#                     |             \-- b1
#                    frr (fe80::2)

set -u
ROUTES=bgp
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/routers.sh
. "$(dirname "$0")/../lib/routers.sh"

ROUTER_OPTIONS='protocol bfd { interface "*" { interval 100 ms; multiplier 30; }; }'
INTERVAL=100ms
PASSWORD=of_both

# In place of the session with an address of its own for each family.
node_bgp() {
	cat <<-END
		bgp:
		  asn: 65010
		  router_id: 192.0.2.1$1
		  peers:
		  - {address: "fe80::1", interface: eth0, asn: 65000, extended_next_hop: true,
		     password_file: $DIR/bgp.key, bfd: {interval: $INTERVAL, multiplier: 30}}
		  - {address: "fe80::2", interface: eth0, asn: 65002, extended_next_hop: true}
		  - {address: "fe80::2", interface: eth1, asn: 65003, extended_next_hop: true}
	END
}
router_session() {
	[ "$2" = 6 ] || return 0
	cat <<-END
		protocol bgp lb$1 {
		local fe80::1 as 65000; neighbor fe80::1$1%balancers as 65010;
		connect delay time 1; error wait time 1, 5; connect retry time 1;
		ipv4 { import all; export none; extended next hop on; };
		ipv6 { import all; export none; };
		bfd graceful; password "$PASSWORD";
		}
	END
}

frr_config() {
	cat <<-END
		router bgp 65002
		 bgp router-id 192.0.2.2
		 no bgp ebgp-requires-policy
		 no bgp default ipv4-unicast
		 neighbor fe80::11 remote-as 65010
		 neighbor fe80::11 interface eth0
		 neighbor fe80::11 timers connect 1
		 neighbor fe80::11 capability extended-nexthop
		 address-family ipv4 unicast
		  neighbor fe80::11 activate
		 exit-address-family
		 address-family ipv6 unicast
		  neighbor fe80::11 activate
		 exit-address-family
	END
}

peer() { node_status 1 | json_is ".announce.bgp.peers[] | select(.address == \"$1\") | $2"; }
metrics() { in_ns lb1 curl -s -m 10 http://127.0.0.1:9700/metrics; }
twice() { sed 's/ [^ ]*$//' "$DIR/metrics" | grep -v '^#' | sort | uniq -d | grep .; }
has_peer() { grep -q "^weir_bgp_session_up{peer=\"$1\"}" "$DIR/metrics"; }
frr_takes() { frr_cli "show bgp $1" | grep -q ', best'; }
gets() { [ "$(in_ns client curl -s -m 2 "$1")" = b1 ]; }
# stood: the session with BIRD came up once and never went down.
stood() { peer fe80::1%eth0 '.state == "Established" and .ups == 1 and .downs == 0'; }
reload() {
	node_config 1 >"$DIR/lb1.yaml"
	"$WEIR" reload --node "$TAG-lb1" >"$DIR/out" 2>&1
}

# password WORD: in the file, and the node told to look at it.
password() {
	printf '%s\n' "$1" >"$DIR/bgp.key"
	chmod 600 "$DIR/bgp.key"
	[ ! -e "$DIR/lb1.yaml" ] || reload
}

netns_begin
password $PASSWORD
topology 1 1
address router balancers fe80::1/64
address lb1 eth0 fe80::11/64
in_ns lb1 ip link add eth1 type veth peer name eth2
in_ns lb1 ip link set eth1 up
space frr
wire frr eth0 frr
in_ns router ip link set frr master balancers
keep_address balancers
address frr eth0 fe80::2/64
stack_start
frr_config >"$DIR/bgpd.conf"
frr_start

must "a session, whose routes the router's kernel has" wait_for 20 router_uses 1
must "IPv4 by an IPv6 next hop" sh -c "
	nsenter --net=/run/netns/$TAG-router ip -4 route show $VIP4 | grep -q 'via inet6 fe80::11'"
must "IPv4 is served over it" wait_for 10 gets http://$VIP4/
must "and IPv6" wait_for 10 gets "http://[$VIP6]/"
must "BFD is up" wait_for 10 peer fe80::1%eth0 '.bfd.state == "up"'
must "FRR has a session" wait_for 20 peer fe80::2%eth0 '.state == "Established" and .prefixes == 2'
for prefix in "ipv4 unicast $VIP4/32" "ipv6 unicast $VIP6/128"; do
	must "and takes ${prefix##* }" wait_for 10 frr_takes "$prefix"
done
must "what status tells is in the manual" node_documented 1
metrics >"$DIR/metrics"
must "an address on two links is two routers" has_peer fe80::2%eth0
must "each with its figures" has_peer fe80::2%eth1
must_not "and none comes twice" twice

# --- BFD changes beside it ---

INTERVAL=150ms
must "another interval of BFD" reload
must "is told to the router" wait_for 10 peer fe80::1%eth0 '.bfd.detect_ms == 4500'
must "and costs no session" stood
must "nor a route" router_uses 1

# --- the way is cut, which no carrier tells ---

in_ns router ip link set lb1 nomaster
must "a router that is cut off is lost" wait_for 30 peer fe80::1%eth0 '.bfd.losses == 1'
must "with its session" peer fe80::1%eth0 '.state != "Established" and .downs == 1'
in_ns router ip link set lb1 master balancers
must "and comes back" wait_for 30 peer fe80::1%eth0 '.state == "Established"'
must "with its routes" wait_for 10 router_uses 1

# --- the password's file is written anew ---

must "a reload reads another password" password of_one
must "with which there is no session" wait_for 10 peer fe80::1%eth0 '.ups == 0'
must "the other router's stays" peer fe80::2%eth0 '.state == "Established"'
must "and the right one again" password $PASSWORD
must "with which it comes up" wait_for 30 peer fe80::1%eth0 '.state == "Established"'
must "a reload without any change" reload
must "costs no session" stood
