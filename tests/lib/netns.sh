# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Topologies of network namespaces for tests and the demo; to be sourced by bash, as root.
#
#            client            router (BIRD: static ECMP routes)          b1 .. bN, nginx each
#        203.0.113.2  -------  203.0.113.1   10.0.1.1 (bridge)  -------  10.0.1.11 .. 10.0.1.1N
#      2001:db8:c::2           192.0.2.1 (bridge)   2001:db8:1::1        2001:db8:1::11 ..
#                                   |    2001:db8:2::1
#                              lb1 .. lbN, one-armed: 192.0.2.11 .., 2001:db8:2::11 ..
#
# The router sends 198.51.100.10 and 2001:db8:10::10 (the VIPs) over the balancers in use, and the
# prefix of each balancer's outer sources (100.64.N.0/24, 2001:db8:f:N::/64) back to it. The MTU
# is 1500 everywhere. Every name begins with $TAG, which holds this process's id (or what
# tests/run gave); one trap ends all processes by their id and deletes all namespaces.
#
# What veth devices need for XDP is done here, once: no checksum offload at what feeds the
# balancers, a native program at the router's side of each balancer's and backend's device, or else
# what they send by XDP_TX is lost.

# Elsewhere than in C a number may have a comma ($EPOCHREALTIME), and a tool speak another language.
export LC_ALL=C.UTF-8
TAG=${WEIR_TAG:-weir-$$}
export WEIR_TAG=$TAG
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
WEIR=${WEIR:-$ROOT/build/weir}
PASS=$ROOT/build/tests/lib/pass.bpf.o
BPFFS=/sys/fs/bpf
PINS=$BPFFS/weir
RUN=/run/weir
KEPT=/var/lib/weir
ROUTES=${ROUTES:-} # how the router knows of VIPs; empty: static routes
VIP4=198.51.100.10
VIP6=2001:db8:10::10
CLIENT4=203.0.113.2
CLIENT6=2001:db8:c::2

# How backends are checked. What a dead one refuses is known in a second, but three probes in a row
# have to be late before a busy machine makes one of a backend that lives.
CHECK='interval: 1s, fast_interval: 250ms, timeout: 1s, rise: 1, fall: 3'

DIR=
declare -A CHILD=()   # name -> process id
declare -a SPACES=()  # namespaces, short names
declare -a NEXTHOPS=() # balancers that the router uses, by number
TAP_COUNT=0
COUNT_LB=0
COUNT_BACKEND=0

say() { printf '%s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
skip() { printf 'skip: %s\n' "$*"; exit 77; }

# --- processes ---

# in_ns NAME COMMAND...: not `ip netns exec`, which mounts another /sys and so hides bpffs.
in_ns() {
	local name=$1
	shift
	nsenter --net="/run/netns/$TAG-$name" "$@"
}

# spawn NAME NAMESPACE COMMAND...: in the background, its output in $DIR/NAME.log. In a session of
# its own, so that Ctrl-C at a terminal reaches only the script, which ends things in order.
spawn() {
	local name=$1 space=$2
	shift 2
	setsid nsenter --net="/run/netns/$TAG-$space" "$@" >>"$DIR/$name.log" 2>&1 </dev/null &
	CHILD[$name]=$!
}

alive() { [ -n "${CHILD[$1]:-}" ] && kill -0 "${CHILD[$1]}" 2>/dev/null; }

# end NAME [SIGNAL]: sends it (TERM), waits for the end, returns the exit status.
end() {
	local pid=${CHILD[$1]:-} status=0
	[ -n "$pid" ] || return 0
	kill "-${2:-TERM}" "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null || status=$?
	unset "CHILD[$1]"
	return $status
}

# finished NAME: waits for an end of its own; its exit status.
finished() {
	local pid=${CHILD[$1]}
	unset "CHILD[$1]"
	wait "$pid"
}

# wait_for SECONDS COMMAND...: until the command succeeds; 1 if it does not in time. The time is
# that of a machine with nothing else to do; a busy one gets PATIENCE times as much.
PATIENCE=4
wait_for() {
	local deadline=$((${EPOCHREALTIME/./} + $1 * PATIENCE * 1000000))
	shift
	until "$@"; do
		[ "${EPOCHREALTIME/./}" -lt $deadline ] || return 1
		sleep 0.05
	done
}

# within SECONDS COMMAND...: the same where the time is what is tested.
within() {
	local PATIENCE=1
	wait_for "$@"
}

# must TEXT COMMAND...: a test's assertion, a TAP line; shows the logs and ends when it fails.
must() {
	local text=$1
	shift
	"$@" || fail "$text"
	TAP_COUNT=$((TAP_COUNT + 1))
	say "ok $TAP_COUNT - $text"
}

# begins_as FILE WHOLE: what came so far is what was sent.
begins_as() { [ -s "$1" ] && cmp -n "$(stat -c %s "$1")" "$1" "$2"; }

# must_not TEXT COMMAND...: the command has to fail.
must_not() {
	local text=$1
	shift
	! "$@" || fail "$text"
	TAP_COUNT=$((TAP_COUNT + 1))
	say "ok $TAP_COUNT - $text"
}

# json_is FILTER: whether the JSON on standard input is there and the filter makes true of it. Not
# `jq -e`, for which no input at all is a success.
json_is() { [ "$(jq "$1")" = true ]; }

# json_number FILTER: prints the number that the filter makes of the JSON on standard input, and
# without one a word, of which `set -u` ends the script in arithmetic. Of an empty operand bash
# makes zero or, worse, a syntax error: then it leaves out the command, even a loop around it.
json_number() { jq "$1" 2>/dev/null | grep -xE -- '-?[0-9]+' || say no_number; }

fail() {
	say "not ok $((TAP_COUNT + 1)) - $*"
	show_logs
	exit 1
}

show_logs() {
	local log
	for log in "$DIR"/*.log; do
		[ -s "$log" ] || continue
		say "# --- ${log##*/}"
		tail -n 25 "$log" | sed 's/^/#   /'
	done
}

# --- beginning and end ---

netns_begin() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ -e "$PASS" ] || die "no $PASS; make it first"
	DIR=$(mktemp -d "${TMPDIR:-/tmp}/$TAG-XXXXXX")
	trap netns_end EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	mountpoint -q $BPFFS || mount -t bpf bpf $BPFFS
}

# Ends what is left, in any state, and keeps the exit status.
netns_end() {
	local status=$? name pid pids
	trap '' INT TERM HUP
	trap - EXIT
	set +e
	for name in "${!CHILD[@]}"; do
		kill -TERM "${CHILD[$name]}" 2>/dev/null
	done
	within 10 no_child_left || kill -KILL "${CHILD[@]}" 2>/dev/null
	for name in "${SPACES[@]}"; do
		pids=$(ip netns pids "$TAG-$name" 2>/dev/null)
		for pid in $pids; do
			kill -KILL "$pid" 2>/dev/null
		done
	done
	wait
	for name in "${SPACES[@]}"; do
		netns_remove "$TAG-$name"
	done
	rm -rf $PINS/"$TAG"-* $PINS/agent-"$TAG"-* $RUN/"$TAG"-* $RUN/agent-"$TAG"-* \
		$KEPT/"$TAG"-* "$DIR"
	exit $status
}

# netns_remove NAME: with the lock of the agent there, which is named by its inode.
netns_remove() {
	rm -f "$RUN/agent@$(stat -Lc %i "/run/netns/$1").lock"
	ip netns del "$1"
}

no_child_left() {
	local name
	for name in "${!CHILD[@]}"; do
		! kill -0 "${CHILD[$name]}" 2>/dev/null || return 1
	done
}

# netns_left TAG: prints what is still there under that tag, one thing a line; nothing is right.
# What was killed gets the time that it takes to be gone.
netns_left() {
	local seen tries
	for ((tries = 0; tries < 50; tries++)); do
		seen=$(netns_seen "$1")
		[ -n "$seen" ] || return 0
		sleep 0.2
	done
	say "$seen"
}

# Who asks, and who started them, do not count.
netns_seen() {
	local file pid=$BASHPID callers=' ' files=(/proc/[0-9]*/environ) # without who looks there
	while [ "$pid" -gt 1 ]; do
		callers="$callers$pid "
		pid=$(awk '$1 == "PPid:" { print $2 }' "/proc/$pid/status")
	done
	ip netns list | sed -n "s/^\($1-[^ ]*\).*/namespace \1/p"
	ip -o link show | sed -n "s/^[0-9]*: \($1[^:@]*\).*/link \1/p"
	find $PINS -maxdepth 1 -name "*$1-*" -printf 'pin %p\n' 2>/dev/null
	find $RUN $KEPT -maxdepth 1 -name "*$1-*" -printf 'file %p\n' 2>/dev/null
	find "${TMPDIR:-/tmp}" -maxdepth 1 -name "$1-*" -printf 'directory %p\n'
	for file in $(grep -lzxF -- "WEIR_TAG=$1" "${files[@]}" 2>/dev/null); do
		pid=${file#/proc/} pid=${pid%/environ}
		[[ $callers != *" $pid "* ]] || continue
		say "process $pid $(tr '\0' ' ' <"/proc/$pid/cmdline")"
	done 2>/dev/null
}

# gone PID: no such process, or a zombie; in a container it may stay one, as nobody there reaps.
gone() { ! grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"; }

# Removes what runs that died half-way left behind: what has the tag of a process that is gone. In
# another root, with processes of its own, the same number is another's.
netns_sweep() {
	local name pid left here
	here=$(readlink "/proc/$$/ns/pid")
	for name in $(grep -lzE '^WEIR_TAG=weir-[0-9]+' /proc/[0-9]*/environ 2>/dev/null); do
		left=${name#/proc/} left=${left%/environ}
		pid=$(tr '\0' '\n' <"$name" | sed -n 's/^WEIR_TAG=weir-\([0-9]*\)\(-.*\)*$/\1/p')
		[ -n "$pid" ] && [ "$(readlink "/proc/$left/ns/pid")" = "$here" ] && gone "$pid" &&
			kill -KILL "$left"
	done 2>/dev/null
	for name in $(ip netns list | sed -n 's/^\(weir-[0-9]*-[^ ]*\).*/\1/p'); do
		pid=${name#weir-}
		gone "${pid%%-*}" || continue
		for left in $(ip netns pids "$name" 2>/dev/null); do
			kill -KILL "$left" 2>/dev/null
		done
		netns_remove "$name"
	done
	for name in $PINS/*weir-[0-9]*-* $RUN/*weir-[0-9]*-* $KEPT/weir-[0-9]*-* \
		"${TMPDIR:-/tmp}"/weir-[0-9]*-*; do
		pid=${name##*weir-}
		[ -e "$name" ] && gone "${pid%%-*}" && rm -rf --one-file-system "$name"
	done
	return 0
}

# --- links ---

# space NAME: a namespace with the sysctls that all need.
space() {
	ip netns add "$TAG-$1"
	SPACES+=("$1")
	in_ns "$1" sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 \
		net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 \
		net.ipv6.conf.default.accept_ra=0
	in_ns "$1" ip link set lo up
}

# wire NAME DEVICE ROUTER_DEVICE: a veth pair between a namespace and the router.
wire() {
	ip link add "$2" netns "$TAG-$1" type veth peer name "$3" netns "$TAG-router"
	in_ns "$1" ip link set "$2" up
	in_ns router ip link set "$3" up
}

# No device that feeds a balancer may leave checksums to a card that does not exist.
no_offload() { in_ns "$1" ethtool -K "$2" tx off >/dev/null; }

# receives_xdp NAMESPACE DEVICE: its peer may send by XDP_TX from now on.
receives_xdp() { in_ns "$1" ip link set dev "$2" xdpdrv obj "$PASS" sec xdp; }

# address NAMESPACE DEVICE ADDRESS...
address() {
	local name=$1 device=$2 address
	shift 2
	for address in "$@"; do
		in_ns "$name" ip addr add "$address" dev "$device"
	done
}

bridge() {
	in_ns router ip link add "$1" type bridge mcast_snooping 0
	in_ns router ip link set "$1" up
}

# A bridge has the lowest of its ports' addresses, unless it is told one: its hosts would have to
# find out when a port comes or goes.
keep_address() {
	in_ns router ip link set "$1" address \
		"$(in_ns router ip -j link show "$1" | jq -r '.[0].address')"
}

# on_bridge NAMESPACE ROUTER_DEVICE BRIDGE ADDRESS4 ADDRESS6 GATEWAY4 GATEWAY6: a one-armed host.
on_bridge() {
	wire "$1" eth0 "$2"
	in_ns router ip link set "$2" master "$3"
	receives_xdp router "$2"
	no_offload router "$2"
	address "$1" eth0 "$4" "$5"
	in_ns "$1" ip route add default via "$6"
	in_ns "$1" ip route add default via "$7"
}

# --- the topology ---

# topology BALANCERS BACKENDS
topology() {
	local i
	COUNT_LB=$1 COUNT_BACKEND=$2
	space client
	space router
	# By the five fields themselves (3). Policy 1 takes the hash that a packet has from its
	# socket where both are on one machine, and TCP chooses another with each retransmission.
	in_ns router sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
		net.ipv4.fib_multipath_hash_policy=3 net.ipv6.fib_multipath_hash_policy=3 \
		net.ipv4.fib_multipath_hash_fields=0x37 net.ipv6.fib_multipath_hash_fields=0x37
	# A client's port is free again at once, for a request from the same port.
	in_ns client sysctl -qw net.ipv4.tcp_max_tw_buckets=0
	wire client eth0 client
	no_offload client eth0
	address client eth0 $CLIENT4/24 $CLIENT6/64
	address router client 203.0.113.1/24 2001:db8:c::1/64
	in_ns client ip route add default via 203.0.113.1
	in_ns client ip route add default via 2001:db8:c::1
	bridge balancers
	address router balancers 192.0.2.1/24 2001:db8:2::1/64
	bridge backends
	address router backends 10.0.1.1/24 2001:db8:1::1/64
	for ((i = 1; i <= COUNT_LB; i++)); do
		space "lb$i"
		on_bridge "lb$i" "lb$i" balancers "192.0.2.1$i/24" "2001:db8:2::1$i/64" \
			192.0.2.1 2001:db8:2::1
		NEXTHOPS+=("$i")
	done
	for ((i = 1; i <= COUNT_BACKEND; i++)); do
		backend_space "$i"
	done
}

backend_space() {
	space "b$1"
	on_bridge "b$1" "b$1" backends "10.0.1.1$1/24" "2001:db8:1::1$1/64" \
		10.0.1.1 2001:db8:1::1
}

# The router's static routes: the VIPs over the balancers in NEXTHOPS, the tunnels' sources back.
# With ROUTES=bgp it learns those of the VIPs from the balancers; BGP_OPTIONS go into each session,
# ROUTER_OPTIONS beside them.
router_config() {
	local i
	cat <<-END
		log stderr all;
		router id 192.0.2.1;
		protocol device { scan time 2; }
		protocol kernel { ipv4 { export all; }; merge paths yes limit 16; }
		protocol kernel { ipv6 { export all; }; merge paths yes limit 16; }
		${ROUTER_OPTIONS:-}
		protocol static {
		ipv4;
		$(router_route $VIP4/32 192.0.2.1)
		$(for ((i = 1; i <= COUNT_LB; i++)); do
			say "route 100.64.$i.0/24 via 192.0.2.1$i;"
		done)
		}
		protocol static {
		ipv6;
		$(router_route $VIP6/128 2001:db8:2::1)
		$(for ((i = 1; i <= COUNT_LB; i++)); do
			say "route 2001:db8:f:$i::/64 via 2001:db8:2::1$i;"
		done)
		}
		$(for ((i = 1; i <= COUNT_LB && ${#ROUTES}; i++)); do
			router_session "$i" 4 192.0.2.1 192.0.2.1$i
			router_session "$i" 6 2001:db8:2::1 2001:db8:2::1$i
		done)
	END
}

# router_session NUMBER FAMILY OWN ADDRESS: with that balancer.
router_session() {
	cat <<-END
		protocol bgp lb${1}v$2 {
		local $3 as 65000; neighbor $4 as 65010;
		connect delay time 1; error wait time 1, 5; connect retry time 1;
		ipv$2 { import all; export none; };
		${BGP_OPTIONS:-}
		}
	END
}

# router_route PREFIX STEM: the balancer's number completes the stem to its address.
router_route() {
	local i hops=
	[ -z "$ROUTES" ] || return 0
	for i in "${NEXTHOPS[@]}"; do
		hops="$hops via $2$i"
	done
	[ -z "$hops" ] || say "route $1$hops;"
}

router_start() {
	router_config >"$DIR/bird.conf"
	spawn bird router bird -f -c "$DIR/bird.conf" -s "$DIR/bird.ctl"
	[ -n "$ROUTES" ] || wait_for 10 router_uses "${#NEXTHOPS[@]}" ||
		fail "the router has its routes"
}

# router_nexthops NUMBER...: the balancers to use from now on; returns when the kernel does.
router_nexthops() {
	NEXTHOPS=("$@")
	router_config >"$DIR/bird.conf"
	birdc -s "$DIR/bird.ctl" configure >>"$DIR/birdc.log" || fail "birdc configure"
	wait_for 10 router_uses $# || fail "the router uses balancers $*"
}

# router_uses COUNT: next hops that the kernel has for each VIP.
router_uses() {
	[ "$(in_ns router ip -4 route show $VIP4 | grep -c via)" = "$1" ] &&
		[ "$(in_ns router ip -6 route show $VIP6 | grep -o via | grep -c .)" = "$1" ]
}

# --- backends ---

# backend_config NAME: nginx answers its own name, takes uploads of any size, and sends /slow at
# 300 kB a second. (A client that reads slowly would not do: its socket's buffer takes megabytes.)
backend_config() {
	cat <<-END
		daemon off; master_process off; worker_rlimit_nofile 8192;
		pid $DIR/$1.pid; error_log stderr;
		events { worker_connections 4096; }
		http {
		access_log off; keepalive_timeout 0; server_tokens off;
		client_max_body_size 0; client_body_temp_path $DIR/$1.body;
		proxy_temp_path $DIR/$1.tmp; fastcgi_temp_path $DIR/$1.tmp;
		uwsgi_temp_path $DIR/$1.tmp; scgi_temp_path $DIR/$1.tmp;
		server { listen 80 backlog=4096; listen [::]:80 backlog=4096; root $DIR/www;
		location = /slow { limit_rate 300k; }
		location = / { default_type text/plain; return 200 "$1\n"; } }
		}
	END
}

backend_start() {
	backend_config "$1" >"$DIR/$1.conf"
	spawn "$1-nginx" "$1" nginx -c "$DIR/$1.conf" -e stderr
	wait_for 5 backend_listens "$1" || fail "nginx of $1 listens"
}

backend_listens() { in_ns "$1" ss -Hltn 'sport = :80' | grep -q .; }

# store_config: an nginx that stores what is PUT; Debian's light one has WebDAV's PUT.
store_config() {
	cat <<-END
		daemon off; master_process off; pid $DIR/store.pid; error_log stderr;
		events { worker_connections 256; }
		http {
		access_log off; client_max_body_size 0; client_body_temp_path $DIR/store.body;
		proxy_temp_path $DIR/store.tmp; fastcgi_temp_path $DIR/store.tmp;
		uwsgi_temp_path $DIR/store.tmp; scgi_temp_path $DIR/store.tmp;
		server { listen 80; listen [::]:80; root $DIR/www; dav_methods PUT; }
		}
	END
}

# --- Weir itself ---

# services_config: what every balancer has alike. A backend is an address: the same hosts by IPv4
# and by IPv6 are two pools, so that tunnels of both families carry traffic. FORWARD is the mode,
# TRACKING which flows are remembered.
services_config() {
	local i
	cat <<-END
		seed: demo
		pools:
		- name: web4
		  check: {type: tcp, port: 80, $CHECK}
		  backends:
		$(for ((i = 1; i <= COUNT_BACKEND; i++)); do
			say "  - {name: b$i, address: 10.0.1.1$i}"
		done)
		- name: web6
		  check: {type: tcp, port: 80, $CHECK}
		  backends:
		$(for ((i = 1; i <= COUNT_BACKEND; i++)); do
			say "  - {name: b$i, address: \"2001:db8:1::1$i\"}"
		done)
		services:
		- {name: shop4, vips: [$VIP4], listen: [tcp/80], pool: web4,
		   forward: ${FORWARD:-ipip}, tracking: ${TRACKING:-transition}}
		- {name: shop6, vips: ["$VIP6"], listen: [tcp/80], pool: web6,
		   forward: ${FORWARD:-ipip}, tracking: ${TRACKING:-transition}}
	END
}

# node_bgp NUMBER: the two sessions with the router, one a family. NODE_BGP is what else bgp has,
# NODE_PEER what else a session has.
node_bgp() {
	local more=${NODE_PEER:+, $NODE_PEER}
	cat <<-END
		bgp:
		  asn: 65010
		  router_id: 192.0.2.1$1
		${NODE_BGP:+  $NODE_BGP}
		  peers:
		  - {address: 192.0.2.1, asn: 65000$more}
		  - {address: "2001:db8:2::1", asn: 65000$more}
	END
}

# node_config NUMBER [XDP]. A daemon's name is where its pins and its control socket are: it holds
# the tag, as many runs share a machine.
node_config() {
	cat <<-END
		node:
		  name: $TAG-lb$1
		  interfaces: [eth0]
		  xdp: ${2:-native}
		  engine: ${ENGINE:-xdp}
		  tunnel: {source4: 100.64.$1.0/24, source6: "2001:db8:f:$1::/64"}
	END
	[ -z "$ROUTES" ] || node_bgp "$1"
	services_config
}

# agent_config BACKEND. AGENT_PEERS is who hands packets on, for services with a second chance.
agent_config() {
	local i
	cat <<-END
		agent:
		  name: $TAG-$1
		  interfaces: [eth0]
		  xdp: native
		  balancers:
		$(for ((i = 1; i <= COUNT_LB; i++)); do
			say "  - 100.64.$i.0/24"
			say "  - \"2001:db8:f:$i::/64\""
		done)
		  vips: [$VIP4, "$VIP6"]
		${AGENT_PEERS:+  peers: $AGENT_PEERS}
	END
}

# stack BALANCERS BACKENDS: a topology with all of it running.
stack() {
	topology "$1" "$2"
	stack_start
}

stack_start() {
	local i
	router_start
	for ((i = 1; i <= COUNT_BACKEND; i++)); do
		backend_start "b$i"
		agent_start "b$i"
	done
	for ((i = 1; i <= COUNT_LB; i++)); do
		node_spawn "$i"
	done
	for ((i = 1; i <= COUNT_LB; i++)); do
		wait_for 15 node_is_up "$i" || fail "lb$i sees its backends up"
	done
	wait_for 20 router_uses "$COUNT_LB" || fail "the router uses every balancer"
}

# node_spawn NUMBER: starts it; node_start waits until it serves with every backend up.
node_spawn() {
	[ -e "$DIR/lb$1.yaml" ] || node_config "$1" >"$DIR/lb$1.yaml"
	spawn "lb$1" "lb$1" "$WEIR" run --config "$DIR/lb$1.yaml"
}

node_start() {
	node_spawn "$1"
	wait_for 15 node_is_up "$1" || fail "weir run on lb$1 is up"
}

node_status() { "$WEIR" status --node "$TAG-lb$1" --json 2>/dev/null; }

# node_documented NUMBER: every key that its status has is in the manual.
node_documented() {
	local key keys missing=0
	keys=$(node_status "$1" | jq -r '[paths[] | strings] | unique[]')
	[ -n "$keys" ] || return 1
	for key in $keys; do
		grep -qw "$key" "$ROOT/docs/weir.8" && continue
		say "# $key is not"
		missing=1
	done
	return $missing
}

# node_health NUMBER: `pool/backend health` a line.
node_health() {
	node_status "$1" |
		jq -r '.pools[] | .name as $pool | .backends[] | "\($pool)/\(.name) \(.health)"'
}

node_is_up() {
	[ "$(node_health "$1" | grep -c ' healthy$')" = $((2 * COUNT_BACKEND)) ]
}

agent_start() {
	[ -e "$DIR/$1.yaml" ] || agent_config "$1" >"$DIR/$1.yaml"
	spawn "$1-agent" "$1" "$WEIR" agent --config "$DIR/$1.yaml"
	wait_for 10 agent_is_up "$1" || fail "weir agent on $1 is up"
}

# has_xdp NAMESPACE [DEVICE]
has_xdp() { in_ns "$1" ip link show "${2:-eth0}" | grep -q 'prog/xdp'; }

# What one that was killed left behind looks the same, so the agent itself has to answer, too.
agent_is_up() {
	alive "$1-agent" && in_ns "$1" ip addr show lo | grep -q "$VIP4" &&
		has_xdp "$1" && "$WEIR" status --node "agent-$TAG-$1" >/dev/null 2>&1
}
