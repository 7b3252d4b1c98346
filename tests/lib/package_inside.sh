#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The part of tests/e2e/package.sh that runs in the root that it boots: the package in /out is
# installed, its services live as systemd has it, under pings that the kernel answers, and all of it
# is removed again.
#
#   peer (namespace): eth1 -------- eth0: weir run        eth2 (to nobody): weir agent

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/netns.sh"
DIR=/run/inside
WEIR=/usr/sbin/weir
mkdir -p $DIR
fail() {
	say "not ok - $*"
	systemctl --no-pager --full status weir weir-agent | sed 's/^/# /'
	journalctl --no-pager -o cat -u weir -u weir-agent | tail -n 25 | sed 's/^/# /'
	exit 1
}

main_pid() { systemctl show --property=MainPID --value "$1"; }
is_active() { [ "$(systemctl is-active "$1")" = active ]; }
state_of() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$(main_pid "$1")/status"; }
# What it may do, in words, in the order of their numbers.
may_do() { capsh --decode="$(state_of "$1" "$2")" | sed 's/.*=//'; }
answered() { weir status --json | json_number '[.verdicts.echo_answered.packets?, 0][0]'; }
answers_more() { [ "$(answered)" -gt "$1" ]; }
goes_on() { wait_for 10 answers_more $(($(answered) + $1)); }
other_process() { [ "$(main_pid weir)" != "$1" ] && is_active weir; }
is_usable() {
	weir status --json |
		json_is '[.pools[].backends[] | select(.check.state == "healthy")] | length == 2'
}
not_kept='/var/(lib/(dpkg|systemd)|log|cache)/|/etc/(passwd|g?shadow|group|.pwd.lock)'
files() { find /run/changed ! -type d ! -type c | sort | grep -vE "$not_kept"; }
node_config() {
	cat <<-END
		node: {name: lb1, interfaces: [eth0], xdp: native}
		bgp:
		  asn: 65010
		  router_id: 192.0.2.11
		  peers: [{address: 192.0.2.1, asn: 65000, bfd: {interval: 1s}}]
		seed: package
		pools:
		- name: by_icmp
		  check: {type: icmp, interval: 1s}
		  backends: [{name: b1, address: 192.0.2.1}]
		- name: by_exec
		  check: {type: exec, command: [/bin/test, -e, /etc/weir], interval: 1s}
		  backends: [{name: b1, address: 192.0.2.1}]
		- name: by_tunnel
		  check: {type: tcp, via: tunnel, interval: 1s}
		  backends: [{name: b1, address: 192.0.2.1}]
		services:
		- {name: s1, vips: [198.51.100.10], listen: [tcp/80], pool: by_icmp, forward: ipip}
		- {name: s2, vips: [198.51.100.10], listen: [tcp/81], pool: by_exec, forward: gre}
		- {name: s3, vips: [198.51.100.10], listen: [tcp/82], pool: by_tunnel, forward: gue}
		$*
	END
}

[ "$(cat /proc/1/comm)" = systemd ] || fail "this is for a root that was booted"
mkdir -p /run/netns
files >$DIR/before

must "the package installs" dpkg -i /out/weir.deb
must "the group is there" getent group weir
must_not "nothing is started" is_active weir
must_not "a start without a configuration fails" systemctl start weir 2>$DIR/said
must "and says so" grep -q 'Assert' $DIR/said

ip link set lo up
ip netns add peer
ip link add eth0 type veth peer name eth1 netns peer
ip link add eth2 type veth peer name eth3
ip link set eth0 up
ip link set eth2 up
ip addr add 192.0.2.11/24 dev eth0
ip addr add 192.0.2.12/24 dev eth2
in_peer() { nsenter --net=/run/netns/peer "$@"; }
in_peer ip link set lo up
in_peer ip link set eth1 up
in_peer ip addr add 192.0.2.1/24 dev eth1
in_peer ip route add 198.51.100.10 via 192.0.2.11
in_peer ethtool -K eth1 tx off >/dev/null
in_peer ip link set dev eth1 xdpdrv obj /out/pass.bpf.o sec xdp

node_config >/etc/weir/weir.yaml
must "the services file is right" weir check /etc/weir/weir.yaml
must "systemctl start returns when it serves" systemctl start weir
must "it is active" is_active weir
must "its state answers" wait_for 5 weir status
want=cap_net_bind_service,cap_net_admin,cap_net_raw,cap_sys_nice,cap_perfmon,cap_bpf
must "it may do what it needs and nothing else" test "$(may_do weir CapEff)" = "$want"
must "nor is more permitted" test "$(may_do weir CapPrm)" = "$want"
must "nor ever again" test "$(may_do weir CapBnd)" = "$want"
must "nor by what it starts" test "$(state_of weir NoNewPrivs)" = 1
must "system calls are filtered" test "$(state_of weir Seccomp)" = 2
must "checks by ICMP and by programs work" wait_for 10 is_usable
no_complaint() {
	! journalctl -o cat -u weir -p warning | grep -v '^weir-agent' | sed 's/^/# /' | grep . &&
		! journalctl -o cat -u weir | grep -E '^libbpf|refused|permitted'
}
must "and nothing that it wants is refused" no_complaint
must "nor a device for checks through a tunnel" test -d /sys/class/net/weir0
must "BGP listens at its port" grep -q ':179 ' <<<"$(ss -ltnH)"
must "its log is in the journal, with priorities" \
	grep -q 'privileges' <<<"$(journalctl -o cat -u weir -p info)"
must_not "as what they are" grep -q 'level=info' <<<"$(journalctl -o cat -u weir -p warning)"

sed -i 's/xdp: native/&, engine: af_xdp/' /etc/weir/weir.yaml
# Where systemd itself may not raise the limit, the unit needs another line.
mkdir -p /etc/systemd/system/weir.service.d
printf '[Service]\nCapabilityBoundingSet=CAP_IPC_LOCK\n' \
	>/etc/systemd/system/weir.service.d/af_xdp.conf
systemctl daemon-reload
must "the other engine starts" systemctl restart weir
has_worker() { grep -q '^engine af_xdp: 1 worker$' <<<"$(weir status)"; }
must "with its worker" wait_for 5 has_worker
rm -r /etc/systemd/system/weir.service.d
systemctl daemon-reload
node_config >/etc/weir/weir.yaml
must "the usual one starts again" systemctl restart weir
must "with its checks" wait_for 10 is_usable

nsenter --net=/run/netns/peer ping -i 0.05 198.51.100.10 >$DIR/ping 2>&1 &
ping=$!
must "pings are answered by the kernel" goes_on 5
node_config '- {name: s4, vips: [198.51.100.11], listen: [tcp/80], pool: by_icmp, forward: gre}' \
	>/etc/weir/weir.yaml
must "systemctl reload brings a changed file in" systemctl reload weir
has_service() { grep -qx "$1" <<<"$(weir names services)"; }
must "with its new service" has_service s4
echo nonsense >/etc/weir/weir.yaml
must_not "systemctl reload of a wrong file fails" systemctl reload weir
must "and it serves on" is_active weir
node_config >/etc/weir/weir.yaml
must "a right one is brought in" systemctl reload weir

pid=$(main_pid weir)
must "systemctl restart returns when the successor serves" systemctl restart weir
must "which is another process" other_process "$pid"
must "that took over" json_is .adopted <<<"$(weir status --json)"
must "in between pings were answered" goes_on 5
must "one program is pinned" test "$(find $PINS/lb1 -name 'program-*' | wc -l)" = 1
pid=$(main_pid weir)
cp /etc/weir/weir.yaml $DIR/before.yaml
must "an upgrade while it runs" dpkg -i /out/weir.deb
must "restarts it" wait_for 10 other_process "$pid"
must "to take over" json_is .adopted <<<"$(weir status --json)"
must "by the same file" cmp /etc/weir/weir.yaml $DIR/before.yaml
must_not "and starts nothing that did not run" is_active weir-agent
must "in between pings were answered" goes_on 5
pid=$(main_pid weir)
must "weir restart works in the unit" weir restart
must "in the same process" test "$(main_pid weir)" = "$pid"
must "as systemd sees it, too" wait_for 5 is_active weir
must "with the same privileges" test "$(may_do weir CapEff)" = "$want"
kill -KILL "$pid"
must "who was killed is started again" wait_for 10 other_process "$pid"
must "and took over" json_is .adopted <<<"$(weir status --json)"

mkdir -p /run/systemd/system/weir.service.d
printf '[Service]\nWatchdogSec=3\n' >/run/systemd/system/weir.service.d/watchdog.conf
systemctl daemon-reload
must "a restart with a shorter watchdog" systemctl restart weir
pid=$(main_pid weir)
kill -STOP "$pid"
must "a process that hangs is ended and started again" wait_for 30 other_process "$pid"
rm -r /run/systemd/system/weir.service.d
systemctl daemon-reload
must "the last restart" systemctl restart weir

setpriv --regid weir --clear-groups --reuid nobody weir status --json >$DIR/status
must "a member of the group may ask" json_is '.node == "lb1"' <$DIR/status
must_not "but not change anything" setpriv --regid weir --clear-groups --reuid nobody \
	weir drain by_icmp/b1
must "also by the process's number" setpriv --regid weir --clear-groups --reuid nobody \
	weir status --pid "$(main_pid weir)"
must_not "nor hold the lock" setpriv --regid weir --clear-groups --reuid nobody \
	flock --nonblock /run/weir/lb1.lock true
must_not "others may not even ask" setpriv --regid nogroup --clear-groups --reuid nobody weir status
kill -INT $ping
wait $ping
# Of the last ones the answer may be on its way yet; an answer twice would hide one that is missing.
none_lost() {
	awk -F'icmp_seq=' '
		/bytes from/ { got[$2 + 0] = 1; if ($2 + 0 > last) last = $2 + 0 }
		END {
			for (seq = 1; seq <= last; seq++)
				if (!(seq in got)) { print "# lost:", seq; lost++ }
			exit lost > 0 || last < 50
		}' $DIR/ping
}
must "no ping was lost over all of it" none_lost

cat >/etc/weir/agent.yaml <<-END
	agent: {name: b1, interfaces: [eth2], xdp: generic, balancers: [100.64.1.0/24],
	  vips: [198.51.100.20]}
END
has_vip() { grep -q 198.51.100.20 <<<"$(ip -o addr show dev lo)"; }
attached() { [ "$(ip -j link show "$1" | jq '.[0].xdp.prog.id?')" != null ]; }
must "the agent starts" systemctl start weir-agent
must "with its VIP" has_vip
must "and few privileges" \
	test "$(may_do weir-agent CapEff)" = cap_net_admin,cap_perfmon,cap_bpf
must "it reloads by a restart of its own" systemctl reload weir-agent
must "and restarts" systemctl restart weir-agent
must "with its VIP" has_vip
must "it stops" systemctl stop weir-agent
must_not "and its VIP has gone" has_vip
must_not "with its program" attached eth2

must "the node's program is attached" attached eth0
must "a removal stops it" dpkg --remove weir
must_not "detached" attached eth0
must_not "unpinned" test -e $PINS
must_not "without its directory in /run" test -e /run/weir
rm -f /etc/weir/*.yaml
must "and a purge" dpkg --purge weir
files >$DIR/after
must "leaves nothing" diff $DIR/before $DIR/after
