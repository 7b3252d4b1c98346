# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Real routers as peers of BGP tests; to be sourced after netns.sh.
#
#                      fabric (a bridge in namespace "router")
#      /--------/-----------+-------\---------\---------\
#    lb1      lb2          bird     frr      gobgp     rogue
#    .11 ::11 .12 ::12     .1 ::1   .2 ::2   .3 ::3    .9 ::9       192.0.2.0/24, 2001:db8:2::/64
#    AS 65010              65001    65002    65003     65009
#
# BIRD and FRR put what they learn into their namespace's kernel, with ECMP; GoBGP only knows it.

FRR=/usr/lib/frr

# fabric_host NAME NUMBER
fabric_host() {
	space "$1"
	wire "$1" eth0 "$1"
	in_ns router ip link set "$1" master fabric
	address "$1" eth0 "192.0.2.$2/24" "2001:db8:2::$2/64"
}

fabric() {
	space router
	bridge fabric
	fabric_host lb1 11
	fabric_host lb2 12
	fabric_host bird 1
	fabric_host frr 2
	fabric_host gobgp 3
	fabric_host rogue 9
}

# bird_start: with $DIR/bird.conf
bird_start() {
	spawn bird bird bird -f -c "$DIR/bird.conf" -s "$DIR/bird.ctl"
	wait_for 10 bird_says "show status" "up and running" || fail "bird runs"
}

bird_cli() { birdc -s "$DIR/bird.ctl" "$@" 2>/dev/null; }
bird_says() { bird_cli "$1" | grep -q -- "$2"; }

# frr_start [DAEMON...]: zebra, others and bgpd, each with $DIR/DAEMON.conf if that is there. They
# keep their sockets in $DIR, so that they leave nothing behind; they insist on a user of their own.
# FRR_SPACE: another namespace than "frr".
frr_start() {
	local daemon
	chmod 711 "$DIR"
	install -d -o frr -g frr "$DIR/frr"
	for daemon in zebra "$@" bgpd; do
		touch "$DIR/$daemon.conf"
		spawn "$daemon" "${FRR_SPACE:-frr}" \
			$FRR/"$daemon" -f "$DIR/$daemon.conf" -u frr -g frr \
			-z "$DIR/frr/zserv.api" --vty_socket "$DIR/frr" -i "$DIR/frr/$daemon.pid" \
			--log stdout
		wait_for 10 test -S "$DIR/frr/$daemon.vty" || fail "$daemon runs"
	done
}

frr_cli() { vtysh --vty_socket "$DIR/frr" -c "$1" 2>/dev/null; }

# gobgp_start: with $DIR/gobgp.toml
gobgp_start() {
	spawn gobgpd gobgp gobgpd -f "$DIR/gobgp.toml" --api-hosts 127.0.0.1:50051 --disable-stdlog
	wait_for 10 gobgp_answers || fail "gobgpd runs"
}

gobgp_answers() { gobgp_cli global >/dev/null 2>&1; }

gobgp_cli() { in_ns gobgp gobgp "$@"; }

# gobgp_global ASN ROUTER_ID, then gobgp_peer ADDRESS ASN [PASSWORD] for each: its configuration
gobgp_global() {
	cat <<-END
		[global.config]
		as = $1
		router-id = "$2"
		[global.use-multiple-paths.config]
		enabled = true
	END
}

gobgp_peer() {
	local family=ipv4
	[[ $1 != *:* ]] || family=ipv6
	cat <<-END
		[[neighbors]]
		[neighbors.config]
		neighbor-address = "$1"
		peer-as = $2
		auth-password = "${3:-}"
		[neighbors.timers.config]
		hold-time = 9
		connect-retry = 5
		[neighbors.graceful-restart.config]
		enabled = true
		restart-time = 20
		[[neighbors.afi-safis]]
		[neighbors.afi-safis.config]
		afi-safi-name = "$family-unicast"
		[neighbors.afi-safis.mp-graceful-restart.config]
		enabled = true
	END
}

# kernel_hops ROUTER PREFIX COUNT: next hops in its kernel
kernel_hops() {
	local family=-4
	[[ $2 != *:* ]] || family=-6
	[ "$(in_ns "$1" ip $family route show "$2" | grep -o via | grep -c .)" = "$3" ]
}
