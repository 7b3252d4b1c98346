#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# When a drain has ended. Connections that are idle send nothing, so a node that goes by packets
# takes them for ended: where the backend's agent can be asked, it is its count that decides. With
# connections in another network namespace of a backend, which its agent counts too.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1 (and pod, a namespace of a container's), b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

weir() { "$WEIR" "$@" --node "$TAG-lb1" >"$DIR/out" 2>"$DIR/err"; }

# of POOL BACKEND FILTER: what status tells of it; is POOL BACKEND FILTER VALUE.
of() {
	node_status 1 | jq -r ".pools[] | select(.name == \"$1\").backends[] |
		select(.name == \"$2\") | $3"
}
is() { [ "$(of "$1" "$2" "$3")" = "$4" ]; }
agent_counts() {
	"$WEIR" agent status --node "$TAG-$1" --json |
		json_number ".connections.vips[] | select(.vip == \"$VIP4\").established"
}
counts() { [ "$(agent_counts "$1")" = "$2" ]; }
at_least_counts() { [ "$(agent_counts "$1")" -ge "$2" ]; }
# event SUBJECT TEXT FILTER: such an event, of whose fields the filter makes true.
event() {
	weir events --json && jq -s --arg s "$1" --arg t "$2" \
		"any(.[]; .subject == \$s and .text == \$t and (.fields | $3))" "$DIR/out" |
		grep -qx true
}
metric() { in_ns lb1 curl -s http://127.0.0.1:9700/metrics | grep -qxF "$1"; }
said() { grep -qF -- "$1" "$DIR/drain.log"; }

# idle NAME NAMESPACE: a connection to the VIP that is opened and says nothing.
idle() {
	spawn "$1" "$2" bash -c "exec 3<>/dev/tcp/$VIP4/80 && echo open && exec sleep 600"
	wait_for 5 grep -q open "$DIR/$1.log" || fail "connection $1 is open"
}

netns_begin
COUNT_LB=1 COUNT_BACKEND=2
node_config 1 | sed 's/name: web4/&\n  agent: {port: 9701}/' >"$DIR/lb1.yaml"
for i in 1 2; do
	agent_config b$i | sed "s/xdp: native/&\n  admin: 10.0.1.1$i:9701/" >"$DIR/b$i.yaml"
done
space pod
sed -i "s/xdp: native/&\n  netns: [$TAG-pod]/" "$DIR/b1.yaml"
in_ns pod ip addr add $VIP4/32 dev lo
stack 1 2
backend_start pod

# --- idle connections ---

for ((opened = 0; opened < 40; opened++)); do
	at_least_counts b1 2 && break
	idle "idle$opened" client
done
must "b1's agent counts idle connections" at_least_counts b1 2
spawn drain lb1 "$WEIR" drain web4/b1 --wait --node "$TAG-lb1"
must "status says by whom it knows" wait_for 10 is web4 b1 .drain.agent.counts true
wanted=$(agent_counts b1)
must "how many there are" is web4 b1 .drain.words "$wanted connections by its agent"
"$WEIR" status --node "$TAG-lb1" >"$DIR/out"
must "in words" grep -q "^web4 .*b1 .*; $wanted connections by its agent" "$DIR/out"
must "in metrics" wait_for 5 metric \
	"weir_backend_drain_connections{pool=\"web4\",backend=\"b1\"} $wanted"
must "it has not ended" wait_for 5 metric 'weir_backend_drained{pool="web4",backend="b1"} 0'
must_not "which whoever waits for it hears" weir drain web4/b1 --wait --timeout 1
must "with the reason" grep -q "not ended after 1 s: $wanted connections by its agent" "$DIR/err"

# --- by packets, where no agent is asked ---

must "another is drained whose pool names no agents" weir drain web6/b1
must "that goes by packets" is web6 b1 .drain.agent null
must "which have ended" wait_for 15 is web6 b1 .drain.by packets
must "of it there are words" json_is '.' < <(of web6 b1 '.drain.words |
	test("^drained by packets, none for 1[0-9]+ s$")')
must "the idle ones sent none for as long" is web4 b1 '.drain.quiet_s >= 10' true
must "and yet are not said to have ended" is web4 b1 .drain.ended false
must "for they are there" is web4 b1 .drain.words "$wanted connections by its agent"
must "and whoever waits goes on to" alive drain
must "having been told so" said "web4/b1: $wanted connections by its agent"

# --- their end ---

for name in "${!CHILD[@]}"; do
	[[ $name != idle* ]] || end "$name"
done
must "when they are closed b1's agent counts none" wait_for 10 counts b1 0
must "so the drain has ended" wait_for 15 is web4 b1 .drain.by agent
must "in words" is web4 b1 .drain.words 'drained: no connection by its agent'
must "who waited for it hears" finished drain
must "why" said 'drained: no connection by its agent'
must "so do events" event web4/b1 'its drain has ended' '.by == "agent"'
must "and metrics" wait_for 5 metric 'weir_backend_drained{pool="web4",backend="b1"} 1'
must "a backend that is back drains no more" weir ready web4/b1
must "for status" is web4 b1 .drain null
gone_metric() { ! metric 'weir_backend_drained{pool="web4",backend="b1"} 1'; }
must "nor, a moment later, for metrics" wait_for 5 gone_metric

# --- agents that do not answer ---

end b2-agent KILL
must "a backend without its agent is drained" weir drain web4/b2
not_reachable() {
	of web4 b2 .drain.words | grep -qx 'agent not reachable (connection refused): by packets.*'
}
must "that goes by packets" wait_for 10 not_reachable
must "events have the reason" event web4/b2 'its agent does not tell of connections' \
	'.reason | test("connection refused")'
agent_start b2
must "until the agent is back" wait_for 20 is web4 b2 .drain.agent.counts true
must "every key of it is in the manual" node_documented 1
must "so that whoever waits hears its word" weir drain web4/b2 --wait --timeout 60 --json
must "in JSON" json_is '.drain.by == "agent" and .name == "b2"' <"$DIR/out"
weir ready web4/b2

# --- another network namespace ---

# In the container both ends of a connection to the VIP have its address.
idle pod1 pod
must "a container's connections are counted" wait_for 10 counts b1 2
must "over the agent's restart, when it has given up all that opens them" \
	"$WEIR" restart --node "agent-$TAG-b1"
idle pod2 pod
must "as well" wait_for 10 counts b1 4
must "so b1 has connections when it drains" weir drain web4/b1
must "in status" wait_for 10 is web4 b1 .drain.words '4 connections by its agent'
end pod1
end pod2
end pod-nginx
netns_remove "$TAG-pod"
SPACES=("${SPACES[@]:1}")
lost() { grep -q 'connections in a network namespace are not counted.*start the' "$DIR/$1.log"; }
must "of a namespace that is gone it lets go" wait_for 5 lost b1-agent
at_least() { "$WEIR" agent status --node "$TAG-b1" --json | json_is .connections.at_least; }
must "and says that there may be more" wait_for 5 at_least
unsure() { of web4 b1 .drain.agent.error | grep -q 'it did not look at all sockets'; }
must "which no drain takes for none" wait_for 10 unsure
