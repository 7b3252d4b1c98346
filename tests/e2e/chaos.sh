#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 180
#
# Connections that live through anything: two thousand of them and more, through two nodes behind a
# router that spreads by ECMP, to six backends, while backends and nodes fail, leave and return in
# an order that a printed seed decides.
#
#   CHAOS_SEED=n|random CHAOS_SECONDS=n MODE=gue|ipip chaos.sh
#
#   client -- router -- lb1, lb2 (one-armed)
#                  \--- b1 .. b6 (agent, tests/e2e/server.c)
#
# tests/e2e/clients.c checks every byte. It is told when a backend is killed or in maintenance:
# what breaks then on that one is excused. Two kinds of phase take turns:
#   many    up to three backends at once are not as usual; the nodes keep their flows, though their
#           daemons may be killed. A flow table has to be enough for these.
#   double  a node loses all it knows, or the router moves flows to the other node, while one
#           backend is killed, drains, is added ...: only the second chance covers that.
#   calm    as many, but the file stays as it is, until a node that came up with nothing would no
#           longer ask what the tables were before it changed.
# Between two of them, and after each backend's fault in the second kind, all is well again and
# all connections are closed in order for new ones: a third fault on top is not what is promised.
# Ends with `chaos: connections=N events=N broken=N excused=N`. Its status is 0 if broken is 0 or,
# without second chance, if all that is broken had come to a node that did not know it.
#
# To find out why something breaks: CHAOS_LOGS is a directory that gets the logs, CHAOS_PLAY is
# what happens in place of the random events, as commands of this script.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/clients.sh
. "$(dirname "$0")/../lib/clients.sh"

BACKENDS=6 NODES=2 PORT=80
unset STALL_MS # there is always a way
SEED=${CHAOS_SEED:-4}
[ "$SEED" != random ] || SEED=$((RANDOM * 32768 + RANDOM))
RUN_SECONDS=${CHAOS_SECONDS:-18}
MODE=${MODE:-gue}
LIVE=${CHAOS_CONNECTIONS:-2000}
PEERS=$ROOT/build/tests/e2e
EVENT_LEAST_MS=300 EVENT_MORE_MS=1200
PHASE_MS=9000
MOVED_MS=10000 # a flow that came to another node has shown itself by then
IDLE_MS=5000 # flows.established, and what it takes to see that it is over
FORGET_MS=17000 # a node asks for a table of before for four idle times
SETTLE_MS=2200 # clients.c closes what it was told to within 1.6 s

declare -a LISTED=() # by backend: is it in the file
declare -a STATE=()  # active, drain, maint
declare -a FAULT=()  # none, server, link
declare -a WEIGHT=() # as the file says
declare -a SHARE=()  # percent of it
declare -a KILLED=() # was it ever
declare -a TOLD=()   # was anything of it set by hand
declare -a NODE=()   # up, headless (its daemon is dead), dead, starting
declare -a HOPS=()   # by node: its weight in the router's route, 0: not in it
events=0
table_ms=0 # when base tables changed last
moved_ms=() # when flows of a node went to one that did not know them

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# pick NAME...: one of them, by the seed, in $picked. Not in a subshell, which would have the same
# numbers again.
pick() {
	local index=$((RANDOM % $# + 1))
	picked=${!index}
}

stamp() {
	local ms=$(($(now_ms) - begin_ms))
	printf '%d.%03d' $((ms / 1000)) $((ms % 1000))
}

event() {
	events=$((events + 1))
	say "$(stamp) $*"
	echo "$(now_ms) $*" >>"$DIR/events"
}

# --- configuration ---

pool_config() {
	local i stem=$2
	cat <<-END
		- name: $1
		  check: {type: tcp, port: $PORT, interval: 500ms, timeout: 500ms, rise: 1, fall: 3}
		  backends:
	END
	for ((i = 1; i <= BACKENDS; i++)); do
		! ${LISTED[i]} || say "  - {name: b$i, address: \"$stem$i\"," \
			"weight: ${WEIGHT[i]}}"
	done
}

# An idle flow is forgotten after 4 s; a client sends at least every 1.6 s.
chaos_config() {
	cat <<-END
		node:
		  name: $TAG-lb$1
		  interfaces: [eth0]
		  xdp: native
		  tunnel: {source4: 100.64.$1.0/24, source6: "2001:db8:f:$1::/64"}
		  flows: {entries: 64Ki, established: 4s, handshake: 4s, closing: 4s}
		seed: chaos
		pools:
		$(pool_config web4 10.0.1.1)
		$(pool_config web6 2001:db8:1::1)
		services:
		- {name: shop4, vips: [$VIP4], listen: [tcp/$PORT], pool: web4, $SERVICE}
		- {name: shop6, vips: ["$VIP6"], listen: [tcp/$PORT], pool: web6, $SERVICE}
	END
}

# --- nodes ---

# The router sends to the nodes by their weights; without any, to nobody.
route() {
	local i hops4=() hops6=()
	for ((i = 1; i <= NODES; i++)); do
		[ "${HOPS[i]}" = 0 ] || {
			hops4+=(nexthop via "192.0.2.1$i" weight "${HOPS[i]}")
			hops6+=(nexthop via "2001:db8:2::1$i" weight "${HOPS[i]}")
		}
	done
	in_ns router ip route replace $VIP4 "${hops4[@]}"
	in_ns router ip -6 route replace $VIP6 "${hops6[@]}"
}

node_run() {
	chaos_config "$1" >"$DIR/lb$1.yaml"
	spawn "lb$1" "lb$1" "$WEIR" run --config "$DIR/lb$1.yaml"
}

health_of() { [ "${FAULT[$1]}" = none ] && echo healthy || echo unhealthy; }

# Every backend in its file that should answer does, and the others do not.
node_knows() {
	local i want=''
	for ((i = 1; i <= BACKENDS; i++)); do
		! ${LISTED[i]} || want+="b$i $(health_of $i) "
	done
	[ "$(node_status "$1" | jq -r '.pools[].backends[] | "\(.name) \(.health)"' |
		tr '\n' ' ')" = "$want$want" ]
}

nodes_that_are() {
	local i
	for ((i = 1; i <= NODES; i++)); do
		[ "${NODE[i]}" != "$1" ] || echo "$i"
	done
}

# What the other node has of these flows is nothing.
flows_move() { moved_ms+=("$(now_ms)"); }

kill_daemon() {
	event "the daemon of lb$1 is killed"
	end "lb$1" KILL
	NODE[$1]=headless
}

restart_daemon() {
	node_run "$1"
	NODE[$1]=starting
	event "the daemon of lb$1 starts again"
}

# What a crash of the machine leaves: the disk alone. The router learns of it later than it happens.
kill_node() {
	event "lb$1 dies"
	# At once: the bridge sends what is for a port that is gone to all others.
	flows_move
	in_ns router ip link set "lb$1" down
	sleep "0.$((RANDOM % 3))"
	NODE[$1]=dead HOPS[$1]=0
	flows_move
	route
	end "lb$1" KILL
	rm -rf "${PINS:?}/$TAG-lb$1"
}

# reaches NODE: a machine that has started has its network when the daemon begins.
reaches() {
	in_ns "lb$1" ping -qc1 -W1 192.0.2.1 && in_ns "lb$1" ping -qc1 -W1 2001:db8:2::1
} >/dev/null 2>&1

return_node() {
	in_ns router ip link set "lb$1" up
	wait_for 5 reaches "$1" || fail "lb$1 reaches the router"
	event "lb$1 starts, with nothing"
	node_run "$1"
	NODE[$1]=starting
}

# Nodes that were started serve as soon as they know their backends.
look_at_nodes() {
	local i
	for i in $(nodes_that_are starting); do
		node_knows "$i" || continue
		tell_again "$i"
		NODE[i]=up
		if [ "${HOPS[i]}" = 0 ]; then
			HOPS[i]=1
			flows_move
			route
			event "the router uses lb$i again"
		fi
	done
}

weigh_hops() {
	local i
	flows_move
	for i in $(nodes_that_are up); do
		HOPS[i]=$((RANDOM % 3 + 1))
	done
	route
	event "the router weighs the nodes ${HOPS[*]}"
}

# --- backends ---

serve() { spawn "b$1-server" "b$1" "$PEERS/server" "b$1" $PORT; }
listens() { in_ns "b$1" ss -Hltn "sport = :$PORT" | grep -q .; }

kill_backend() {
	control "down b$1"
	picked=${2:-}
	[ -n "$picked" ] || pick server link
	FAULT[$1]=$picked KILLED[$1]=true
	event "b$1 is killed: its $picked"
	if [ "$picked" = server ]; then
		end "b$1-server" KILL
	else
		in_ns router ip link set "b$1" down
	fi
}

return_backend() {
	event "b$1 returns"
	if [ "${FAULT[$1]}" = server ]; then
		serve "$1"
		wait_for 5 listens "$1" || fail "the server of b$1 listens"
	else
		in_ns router ip link set "b$1" up
	fi
	FAULT[$1]=none
	control "up b$1"
}

# Every node whose daemon runs reads the new file: by a start that takes over what is pinned.
new_file() {
	local i
	for i in $(nodes_that_are up) $(nodes_that_are starting); do
		end "lb$i" KILL
		node_run "$i"
		NODE[i]=starting
	done
}

# tell NODE COMMAND BACKEND [PERCENT]: by hand, on a node whose daemon may only just begin.
tell() {
	local pool
	for pool in web4 web6; do
		wait_for 5 ask "$1" "$2" "$pool/b$3" "${@:4}" || fail "lb$1 takes $2 b$3"
	done
}
ask() { "$WEIR" "${@:2}" --node "$TAG-lb$1" >>"$DIR/ask.log" 2>&1; }

# What the operator wants is the same on each node; one that was away hears it when it is back.
tell_all() {
	local i
	TOLD[$2]=true
	for i in $(nodes_that_are up) $(nodes_that_are starting); do
		tell "$i" "$@"
	done
}

tell_again() {
	local i
	local -A command=([active]=ready [drain]=drain [maint]=maint)
	for ((i = 1; i <= BACKENDS; i++)); do
		${TOLD[i]} && ${LISTED[i]} || continue
		tell "$1" "${command[${STATE[i]}]}" $i
		tell "$1" weight $i "${SHARE[i]}"
	done
}

set_state() {
	local -A command=([active]=ready [drain]=drain [maint]=maint)
	[ "$2" != maint ] || control "down b$1"
	STATE[$1]=$2
	event "weir ${command[$2]} b$1"
	tell_all "${command[$2]}" "$1"
}

make_active() {
	local was=${STATE[$1]}
	set_state "$1" active
	[ "$was" = maint ] || return 0
	control "up b$1"
	# Who was silent all that time may go on, but nobody promises it.
	control "cut b$1"
}

share() {
	SHARE[$1]=$2
	event "weir weight b$1 $2"
	tell_all weight "$1" "$2"
}

weigh() {
	WEIGHT[$1]=$2
	event "b$1 has the weight $2"
	new_file
	table_ms=$(now_ms)
}

add_backend() {
	LISTED[$1]=true
	event "b$1 is added"
	new_file
	table_ms=$(now_ms)
}

# One that drained, and that nobody uses any more.
remove_backend() {
	local i
	for i in $(nodes_that_are headless); do
		restart_daemon "$i"
	done
	wait_for 15 nobody_starts || fail "the nodes know that b$1 drains"
	control "leave b$1"
	wait_for 5 nobody_at "$1" || fail "the connections of b$1 close in order"
	LISTED[$1]=false STATE[$1]=active
	event "b$1 is removed"
	new_file
	table_ms=$(now_ms)
}

nobody_at() { report && [[ "$reported " == *" b$1=0 "* ]]; }

# odd N: whether it is not as at the beginning.
odd() {
	if [ "$1" = $SPARE ]; then
		${LISTED[SPARE]}
	else
		[ "${STATE[$1]} ${FAULT[$1]} ${WEIGHT[$1]} ${SHARE[$1]}" != "active none 100 100" ]
	fi
}

odd_ones() {
	local i
	for ((i = 1; i <= BACKENDS; i++)); do
		! odd $i || echo $i
	done
}

# --- what happens ---

# One more backend becomes odd.
disturb() {
	local i what usual=()
	for ((i = 1; i <= BACKENDS; i++)); do
		[ $i = $SPARE ] || odd $i || usual+=("$i")
	done
	if [ "$phase" = calm ]; then
		pick kill kill drain drain maint share
	else
		pick kill kill drain drain maint share weight add
	fi
	what=$picked
	pick "${usual[@]}"
	case $what in
	kill) kill_backend "$picked" ;;
	drain | maint) set_state "$picked" $what ;;
	share) share "$picked" $((RANDOM % 10 * 10)) ;;
	weight) weigh "$picked" $((RANDOM % 5 * 10 + 10)) ;;
	add) ${LISTED[SPARE]} || add_backend $SPARE ;;
	esac
}

# An odd one becomes usual.
mend() {
	local i=$1
	if [ "${FAULT[i]}" != none ]; then
		return_backend "$i"
	elif [ "${STATE[i]}" != active ] && [ "$i" != $SPARE ]; then
		make_active "$i"
	elif [ "${SHARE[i]}" != 100 ]; then
		share "$i" 100
	elif [ "${WEIGHT[i]}" != 100 ]; then
		weigh "$i" 100
	elif [ "${STATE[i]}" = drain ]; then
		remove_backend "$i"
	else
		set_state "$i" drain
	fi
}

# Who had to lose its state has it back, and every flow is where a new one would go.
settle() {
	local i mended_ms
	for i in $(nodes_that_are headless); do
		restart_daemon "$i"
	done
	for i in $(nodes_that_are dead); do
		return_node "$i"
	done
	wait_for 15 all_know || fail "both nodes are up and know their backends"
	! table_is_odd || renew "close 0"
	while read -r i; do
		mend "$i"
	done < <(odd_ones)
	! odd $SPARE || mend $SPARE
	mended_ms=$(now_ms)
	wait_for 15 all_know || fail "both nodes are up and know their backends"
	# A flow that a second chance rescued is known to no node: one change more would break it.
	# Nor does a node know within the idle time that who served meanwhile has no flows left.
	renew "close 0"
	until [ "$(now_ms)" -ge $((mended_ms + IDLE_MS)) ]; do
		sleep 0.05
	done
	# A busy machine's nodes look later.
	within 15 nothing_moves || say "$(stamp) slots are still in transition"
}

nothing_moves() {
	local i
	for ((i = 1; i <= NODES; i++)); do
		node_status $i | json_is '[.pools[].in_transition] | add == 0' || return 1
	done
}

# Has the file changed the base tables? Back again is a change more, which is too much for flows
# that a node's death has brought to the other one.
table_is_odd() {
	local i
	for ((i = 1; i <= BACKENDS; i++)); do
		[ "${WEIGHT[i]}" = 100 ] || return 0
	done
	${LISTED[SPARE]}
}

# renew COMMAND: of the clients; until they have done it.
renew() {
	local until_ms=$(($(now_ms) + SETTLE_MS))
	control "$1"
	until [ "$(now_ms)" -ge $until_ms ]; do
		sleep 0.05
	done
}

nobody_starts() { look_at_nodes; [ "$(nodes_that_are starting)" = "" ]; }
all_know() {
	local i
	all_up || return 1
	for ((i = 1; i <= NODES; i++)); do
		node_knows $i || return 1
	done
}
all_up() { look_at_nodes; [ "$(nodes_that_are up | wc -l)" = $NODES ]; }

# backend_event LIMIT: with so many odd ones at most.
backend_event() {
	local odd
	mapfile -t odd < <(odd_ones)
	if [ ${#odd[@]} = 0 ] || { [ ${#odd[@]} -lt "$1" ] && [ $((RANDOM % 2)) = 0 ]; }; then
		disturb
	else
		pick "${odd[@]}"
		mend "$picked"
	fi
}

daemon_event() {
	local i
	for i in $(nodes_that_are headless); do
		restart_daemon "$i"
		return
	done
	pick 1 2
	[ "${NODE[picked]}" != up ] || kill_daemon "$picked"
}

node_event() {
	local up
	mapfile -t up < <(nodes_that_are up)
	if [ "$(nodes_that_are dead)" != "" ]; then
		return_node "$(nodes_that_are dead)"
	elif [ ${#up[@]} = $NODES ]; then
		pick kill kill weigh
		if [ "$picked" = weigh ]; then
			weigh_hops
		else
			pick 1 2
			kill_node "$picked"
		fi
	fi
}

phase_many() {
	pick backend backend backend daemon
	case $picked in
	backend) backend_event 3 ;;
	daemon) daemon_event ;;
	esac
}

phase_calm() { phase_many; }

# After the backend's event comes its opposite and then rest, for there may be but one. A change of
# the file is the phase's last.
phase_double() {
	local before
	pick backend node node
	if [ "$picked" = node ]; then
		node_event
		return
	fi
	before=$(odd_ones)
	if table_is_odd; then
		turn=0
	else
		backend_event 1
		[ "$before" = "" ] || [ "$(odd_ones)" != "" ] || settle
	fi
}

# Sets phase and turn.
next_phase() {
	local forgot=$((table_ms + FORGET_MS))
	turn=$(($(now_ms) + PHASE_MS))
	if [ $phase = double ]; then
		phase=many
	elif [ "$(now_ms)" -lt $forgot ]; then
		phase=calm turn=$forgot
	else
		phase=double
	fi
	say "$(stamp) -- $phase"
}

play() {
	local next=$begin_ms phase=double turn turns=0
	turn=$((begin_ms + PHASE_MS))
	while [ "$(now_ms)" -lt $((begin_ms + RUN_SECONDS * 1000)) ]; do
		look_at_nodes
		if [ "$(now_ms)" -ge $turn ]; then
			settle
			next_phase
		elif [ "$(now_ms)" -ge "$next" ]; then
			# Of the number of the event alone, however often anything drew before.
			RANDOM=$((SEED + 7919 * ++turns))
			phase_$phase
			next=$(($(now_ms) + EVENT_LEAST_MS + RANDOM % EVENT_MORE_MS))
		fi
		sleep 0.05
	done
	settle
}

# --- the whole ---

# Checks that failed though their backends lived: too slow a machine is a fault more.
false_alarms() {
	local i
	for ((i = 1; i <= BACKENDS; i++)); do
		${KILLED[i]} || cat "$DIR"/lb?.log | grep "is unhealthy.*backend=b$i "
	done | grep -c .
}

# explained FROM TO: did flows move in that time, or not long before?
explained() {
	local moved
	for moved in "${moved_ms[@]}"; do
		[ "$2" -lt "$moved" ] || [ "$1" -gt $((moved + MOVED_MS)) ] || return 0
	done
	return 1
}

# What the agents take, and which of the others' they believe.
chaos_agent() {
	agent_config "b$1" >"$DIR/b$1.yaml"
	! $SECOND_CHANCE || say '  peers: [10.0.1.0/24, "2001:db8:1::/64"]' >>"$DIR/b$1.yaml"
	agent_start "b$1"
}

# second_chance: is there one, by GUE? It sets SERVICE.
second_chance() {
	SERVICE="forward: gue, second_chance: true, tracking: transition"
	[ "$MODE" = gue ] || return 1
	chaos_config 1 >"$DIR/second.yaml"
	"$WEIR" check "$DIR/second.yaml" >"$DIR/second.out" 2>&1
}

bring_up() {
	local i
	topology $NODES $BACKENDS
	for i in balancers backends; do
		keep_address $i
	done
	# With the pauses of a second at most (where the kernel has this), what is lost shows soon.
	in_ns client sysctl -qw net.ipv4.tcp_rto_max_ms=1000 2>/dev/null
	for ((i = 1; i <= BACKENDS; i++)); do
		in_ns "b$i" sysctl -qw net.ipv4.tcp_rto_max_ms=1000 2>/dev/null
		# So that the clients know whose a packet is.
		in_ns "b$i" sysctl -qw net.ipv4.ip_default_ttl=$((100 + i)) \
			net.ipv6.conf.all.hop_limit=$((100 + i)) \
			net.ipv6.conf.eth0.hop_limit=$((100 + i))
		serve $i
		chaos_agent $i
	done
	for ((i = 1; i <= NODES; i++)); do
		in_ns router ip route add "100.64.$i.0/24" via "192.0.2.1$i"
		in_ns router ip route add "2001:db8:f:$i::/64" via "2001:db8:2::1$i"
		HOPS[i]=1
		node_run $i
		NODE[i]=starting
	done
	wait_for 15 all_up || fail "both nodes are up"
	route
}

start_clients() {
	mkfifo "$DIR/control"
	exec {CONTROL}<>"$DIR/control"
	spawn clients client "$PEERS/clients" "$DIR/control" "$LIVE" "$SEED" $PORT $VIP4 "$VIP6"
	wait_for 40 live $((LIVE * 95 / 100)) || fail "$LIVE connections are alive"
	say "$reported"
}

keep_logs() {
	local status=$?
	echo $begin_ms >"$DIR/begin"
	cp "$DIR"/*.log "$DIR"/*.yaml "$DIR/events" "$DIR/begin" "$CHAOS_LOGS"
	(exit $status)
	netns_end
}

SPARE=$BACKENDS
RANDOM=$SEED
netns_begin
for ((i = 1; i <= BACKENDS; i++)); do
	LISTED[i]=true STATE[i]=active FAULT[i]=none WEIGHT[i]=100 SHARE[i]=100 TOLD[i]=false
	KILLED[i]=false
done
LISTED[SPARE]=false
SECOND_CHANCE=true
second_chance || {
	SECOND_CHANCE=false
	SERVICE="forward: $MODE, tracking: transition"
}
say "# seed $SEED, $RUN_SECONDS seconds, $SERVICE"
bring_up
begin_ms=$(now_ms)
start_clients
begin_ms=$(now_ms)
[ -z "${CHAOS_LOGS:-}" ] || trap keep_logs EXIT
if [ -n "${CHAOS_PLAY:-}" ]; then
	eval "$CHAOS_PLAY"
else
	play
fi
control stop
wait_for 30 grep -q '^report end ' "$DIR/clients.log" || fail "the clients end"
unexplained=0
while read -r line; do
	say "# $line"
	[[ $line =~ at=([0-9]+).*\ last=([0-9]+) ]]
	explained "${BASH_REMATCH[2]}" "${BASH_REMATCH[1]}" || unexplained=$((unexplained + 1))
done < <(grep '^broken' "$DIR/clients.log")
last=$(grep '^report end ' "$DIR/clients.log")
[[ $last =~ opened=([0-9]+)\ broken=([0-9]+)\ excused=([0-9]+) ]]
connections=${BASH_REMATCH[1]} broken=${BASH_REMATCH[2]} excused=${BASH_REMATCH[3]}
if $SECOND_CHANCE || [ $unexplained -gt 0 ]; then
	verdict=$broken
else
	say "# these broke without a second chance, on a node that did not know them"
	verdict=0
fi
alarms=$(false_alarms)
[ "$alarms" = 0 ] || say "# $alarms checks of backends that were never killed failed"
say "# $unexplained of the broken ones had not come to another node"
say "chaos: connections=$connections events=$events broken=$broken excused=$excused"
[ "$verdict" = 0 ]
