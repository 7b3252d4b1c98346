#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Datagrams that are too big for the tunnel and may be fragmented: the balancer's daemon sends them
# on in pieces, or their sender is told, or neither. And a service whose backends are all gone:
# clients are refused at once.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1 (agent, nginx, a server of UDP that answers with what it got)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# Echoes: udp.pl serve ADDRESS. Asks: udp.pl ask ADDRESS BYTES TIMES SECONDS, without DF; exits 0
# when all that was sent came back as it was, 2 when refused, 3 when nothing came in that time.
udp_program() {
	cat <<'END'
use strict;
use Socket qw(:DEFAULT getaddrinfo AI_NUMERICHOST);
my ($what, $address, $bytes, $times, $seconds) = @ARGV;
my ($error, $to) = getaddrinfo($address, 53, {flags => AI_NUMERICHOST, socktype => SOCK_DGRAM});
die $error if $error;
socket(my $socket, $to->{family}, SOCK_DGRAM, 0) or die "socket: $!";
if ($what eq 'serve') {
	bind($socket, $to->{addr}) or die "bind: $!";
	$| = 1;
	print "serves\n";
	while (defined(my $from = recv($socket, my $data, 65536, 0))) {
		send($socket, $data, 0, $from);
	}
	die "recv: $!";
}
# IP_MTU_DISCOVER: IP_PMTUDISC_DONT
setsockopt($socket, 0, 10, 0) or die "setsockopt: $!" if $to->{family} == AF_INET;
connect($socket, $to->{addr}) or die "connect: $!";
for my $n (1 .. $times) {
	my $sent = join('', map { chr(($_ * 7 + $n) % 251) } 1 .. $bytes);
	my $ready = '';
	send($socket, $sent, 0) // exit($!{ECONNREFUSED} ? 2 : 4);
	vec($ready, fileno($socket), 1) = 1;
	exit 3 unless select($ready, undef, undef, $seconds);
	recv($socket, my $data, 65536, 0) // exit($!{ECONNREFUSED} ? 2 : 5);
	exit 6 unless $data eq $sent;
}
END
}

# ask ADDRESS BYTES [TIMES [SECONDS]]; the exit status of the program above.
ask() { in_ns client perl -MErrno "$DIR/udp.pl" ask "$1" "$2" "${3:-1}" "${4:-20}"; }
# ends_with STATUS COMMAND...
ends_with() {
	local wanted=$1 status=0
	shift
	"$@" || status=$?
	[ $status = "$wanted" ]
}

serve() {
	spawn "$1" b1 perl "$DIR/udp.pl" serve "$2"
	wait_for 5 grep -q serves "$DIR/$1.log" || fail "the server of $2 serves"
}

# node KEYS: the balancer with these keys in every service.
node() {
	node_config 1 | sed "s|listen: \[tcp/80\]|listen: [tcp/80, udp/53]|
		s|tracking: transition|&, $1|" >"$DIR/lb1.yaml"
	node_start 1
}
counted() { node_status 1 | json_number ".verdicts.$1.packets"; }
split() { node_status 1 | json_number ".split.$1"; }
split_is() { [ "$(split "$1")" = "$2" ]; }
learnt() { in_ns client ip route get "$1" | grep -q "mtu $2"; }
forget() { in_ns client ip -4 route flush cache; }
no_backend() { node_status 1 | json_is '[.pools[].usable] | add == 0'; }

get() { in_ns client curl -sf -m 30 -o "$DIR/got" "$1"; }
# curl_refused URL: at once, not when it gives up.
curl_refused() {
	local before=${EPOCHREALTIME/./}
	ends_with 7 in_ns client curl -s -m 60 "$1" &&
		[ $((${EPOCHREALTIME/./} - before)) -lt 20000000 ]
}

netns_begin
udp_program >"$DIR/udp.pl"
topology 1 1
router_start
backend_start b1
agent_start b1
serve udp4 $VIP4
serve udp6 $VIP6

node "oversize_nodf: fragment"
must "a small datagram is answered" ask $VIP4 100
must "what fits exactly is, too" ask $VIP4 1452
must "that was not the daemon's work" split_is packets 0
must "case 6: a datagram of the link's MTU arrives whole, and is answered" ask $VIP4 1472
must "the daemon sent it on" split_is packets 1
must "in two pieces" split_is pieces 2
must "under its own verdict" test "$(counted too_big_split)" = 1
must "one byte too long arrives, too" ask $VIP4 1453
must "and two hundred, one after the other" ask $VIP4 1472 200
must "each of them in pieces" split_is pieces 404
must "none was refused" split_is refused 0
must "none failed" split_is failed 0
must "none was lost" split_is lost 0
must "status says so" grep -q '^split: 202 packets into 404 pieces' \
	<("$WEIR" status --node "$TAG-lb1")

end lb1 KILL
must "while no daemon lives what fits is forwarded" ask $VIP4 1452
must "and what does not is lost" ends_with 3 ask $VIP4 1472 1 1.5
node_start 1
must "the next daemon knows what was lost" split_is lost 1
must "and sends on what comes now" ask $VIP4 1472 5
end lb1

forget
node "oversize_nodf: icmp"
must "the sender is told, though it did not ask" ends_with 3 ask $VIP4 1472 1 1.5
must "what fits" wait_for 2 learnt $VIP4 1480
must "by one answer" test "$(counted too_big_answered)" = 1
must "what fits exactly is answered" ask $VIP4 1452
end lb1

forget
node "oversize_nodf: drop"
must "dropped, and nobody is told" ends_with 3 ask $VIP4 1472 1 1.5
must "but it is counted" test "$(counted too_big)" = 1
must_not "the client has learnt nothing" learnt $VIP4 1480
end lb1

node "on_empty: reject"
must "a VIP serves" get http://$VIP4/
must "an IPv6 VIP serves" get "http://[$VIP6]/"
must "datagrams are answered" ask $VIP6 100
end b1-nginx
must "its last backend goes" wait_for 10 no_backend
must "TCP is refused at once" curl_refused http://$VIP4/
must "TCP is refused at once over IPv6" curl_refused "http://[$VIP6]/"
must "UDP is refused" ends_with 2 ask $VIP4 100
must "UDP is refused over IPv6" ends_with 2 ask $VIP6 100
must "a datagram of the link's MTU is refused as well" ends_with 2 ask $VIP4 1472
must "under their own verdict" test "$(counted rejected)" -ge 5
must "nothing was silent" test "$(counted empty)" = 0
end lb1

node_config 1 | sed "s|tracking: transition|&, on_empty: drop|" >"$DIR/lb1.yaml"
node_spawn 1
must "the same service, silent" wait_for 10 no_backend
must "TCP waits in vain" ends_with 28 in_ns client curl -s -m 1 http://$VIP4/
must "which is counted" test "$(counted empty)" -ge 1
