#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Checks through the services' tunnels: a backend whose server answers but whose agent is gone is
# unhealthy, in every mode, over IPv4 and IPv6, HTTP and TCP. What the daemon adds to the host's
# routing is there while it runs, and not afterwards.
#
#   client -- router -- lb1
#                  \--- b1, b2 (agent, nginx)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# One more pool, by UDP: b1's name server has the VIP alone.
dns_config() {
	sed "/^services:/i- name: dns\\
  check: {type: dns, query: www.test, via: tunnel, $CHECK}\\
  backends: [{name: n1, address: 10.0.1.11}]"
	echo "- {name: dns, vips: [$VIP4], listen: [udp/53], pool: dns}"
}

config() {
	node_config 1 | sed "s/check: {type: tcp, port: 80,/check: {type: $1, via: tunnel,/"
}

agent_with() {
	agent_config "$1" | sed "/^  vips:/a\\  forward: [ipip, gre, gue, geneve]" >"$DIR/$1.yaml"
	spawn "$1-agent" "$1" "$WEIR" agent --config "$DIR/$1.yaml"
	wait_for 10 agent_is_up "$1" || fail "weir agent on $1 is up"
}

# health BACKEND: of both pools, in a line.
health() { node_health 1 | grep "/$1 " | sort | tr '\n' ' '; }
both_are() { [ "$(health "$1")" = "web4/$1 $2 web6/$1 $2 " ]; }
rules() { in_ns lb1 ip "-$1" rule | grep -c 'fwmark 0x5745'; }
has_rules() { [ "$(rules 4)" = "$1" ] && [ "$(rules 6)" = "$1" ]; }
get() { in_ns client curl -sf -m 20 "$1" >/dev/null; }

# run_with TYPE MODE
run_with() {
	FORWARD=$2 config "$1" >"$DIR/lb1.yaml"
	node_spawn 1
}

# All that follows waits for it, and nothing depends on who is not late.
CHECK='interval: 500ms, timeout: 500ms, rise: 1, fall: 2'
netns_begin
topology 1 2
NEXTHOPS=(1)
router_start
for i in 1 2; do
	backend_start b$i
	agent_with b$i
done

for mode in ipip gre gue geneve; do
	type=http
	[ $mode = gre ] && type=tcp
	run_with $type $mode
	must "by $mode all are healthy" wait_for 15 node_is_up 1
	must "each family has its rule" wait_for 5 has_rules 1
	must "and clients are answered" wait_for 5 get http://$VIP4/
	end b1-agent
	must "without its agent b1 is not" wait_for 10 both_are b1 unhealthy
	must "though it answers the node" in_ns lb1 curl -sf -m 20 -o /dev/null http://10.0.1.11/
	must "b2 is still" wait_for 5 both_are b2 healthy
	agent_with b1
	must "with it b1 is again" wait_for 10 both_are b1 healthy
	end lb1
	must "no rule is left" has_rules 0
done

# The name server's own address is the VIP, so only the tunnel reaches it.
spawn dns b1 dnsmasq --keep-in-foreground --conf-file=/dev/null --no-resolv --no-hosts \
	--bind-interfaces --listen-address=$VIP4 --user=root --pid-file= --local=/test/ \
	--address=/www.test/192.0.2.80
config tcp | dns_config >"$DIR/lb1.yaml"
node_spawn 1
dns_is() { [ "$(health n1)" = "dns/n1 $1 " ]; }
must "a name server is asked through the tunnel" wait_for 15 dns_is healthy
end dns KILL
must "and is missed" wait_for 10 dns_is unhealthy
end lb1

# A daemon that is killed leaves rules that lead nowhere; the next one takes them away.
run_with http ipip
must "all are healthy" wait_for 15 node_is_up 1
end lb1 KILL
must "the device is gone with the daemon" \
	test "$(in_ns lb1 ip -o link show type tun | wc -l)" = 0
run_with http ipip
must "the next one sees all" wait_for 15 node_is_up 1
must "and has one rule a family" wait_for 5 has_rules 1
must "it is called again" "$WEIR" restart --node "$TAG-lb1"
must "and has one rule a family again" wait_for 10 has_rules 1
must "and sees all" wait_for 15 node_is_up 1
end lb1
must "then none" has_rules 0
