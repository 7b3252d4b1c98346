#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Ten files of keepalived's and ten of ipvsadm's, as deployments have them: each becomes a services
# file that weir check takes and that is, to the letter, the one beside it, with all that has no
# counterpart; how many there are of each the file itself says. keepalived takes its own, too. One
# of them then serves: a client's requests reach the backends.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

FILES=$ROOT/tests/import

# import KIND FILE: what is written is $DIR/made.yaml, the list $DIR/made.json.
import() {
	local more
	read -ra more <<<"$(sed -n 's/^[#!] with: //p' "$2")"
	"$WEIR" import "$1" "$2" "${more[@]}" --output "$DIR/made.yaml" --json >"$DIR/made.json"
}

takes() { "$WEIR" check --json "$DIR/made.yaml" >"$DIR/check.json"; }

# counts FILE: as its line `expect:` says.
counts() {
	local want have
	want=$(sed -n 's/^[#!] expect: //p' "$1")
	have=$(jq -r '"services \(.services | length) pools \(.pools | length) " +
		"backends \([.pools[].backends[]] | length)"' "$DIR/check.json")
	have="$have $(jq -r '[.notes[].kind] as $kinds | ["lost", "differs", "needless"] |
		map(. as $kind | "\($kind) \([$kinds[] | select(. == $kind)] | length)") |
		join(" ")' "$DIR/made.json")"
	[ "$have" = "$want" ] || say "# $have, not $want"
	[ "$have" = "$want" ]
}

# is_as EXPECTED: every line; what is expected was looked at by eye.
is_as() {
	tail -n +2 "$1" >"$DIR/want.yaml"
	cmp -s "$DIR/want.yaml" "$DIR/made.yaml" && return
	diff "$DIR/want.yaml" "$DIR/made.yaml" | sed 's/^/# /'
	return 1
}

# Every note is of a line that is there.
has_places() { json_is '[.notes[] | .line > 0 and .column > 0 and (.file | length) > 0] | all' \
	<"$DIR/made.json"; }

# With the interfaces that the files name.
keepalived_takes() {
	in_ns host keepalived -t -f "$1" -n --log-console >"$DIR/keepalived.log" 2>&1 && return
	# A keyword that it does not know, and a file that is not there, are there by intent.
	! grep -vE "none-such|SSL_THING|^$|^SECURITY|WARNING|deprecated|no protocol|[Ss]ync group" \
		"$DIR/keepalived.log" | grep -v 'protocol specified for fwmark'
}

netns_begin
space host
in_ns host ip link add eth0 type veth peer name eth1

for file in "$FILES"/keepalived/*.conf; do
	name=${file##*/}
	must "$name is keepalived's" keepalived_takes "$file"
	must "$name is read" import keepalived "$file"
	must "$name becomes a right file" takes
	must "$name has what it says" counts "$file"
	must "$name becomes what it should" is_as "${file%.conf}.yaml"
	must "$name has a place for each note" has_places
done
for file in "$FILES"/ipvs/*.rules; do
	name=${file##*/}
	must "$name is read" import ipvs "$file"
	must "$name becomes a right file" takes
	must "$name has what it says" counts "$file"
	must "$name becomes what it should" is_as "${file%.rules}.yaml"
	must "$name has a place for each note" has_places
done

# --- what is wrong is said, with its place ---

# refuses KIND PLACE TEXT, of standard input
refuses() {
	cat >"$DIR/wrong"
	! "$WEIR" import "$1" "$DIR/wrong" >"$DIR/out" 2>"$DIR/err" || return 1
	[ ! -s "$DIR/out" ] && grep -q "^$DIR/wrong:$2: .*$3" "$DIR/err" || sed 's/^/# /' "$DIR/err"
	[ ! -s "$DIR/out" ] && grep -q "^$DIR/wrong:$2: .*$3" "$DIR/err"
}

must "a block without an end" refuses keepalived 2:1 'does not end' \
	<<<$'\nvirtual_server 192.0.2.1 80 {\n'
must "an end without a block" refuses keepalived 1:1 'closes no block' <<<'}'
must "no address" refuses keepalived 1:1 'has no address' <<<'virtual_server www 80 { }'
must "a group that is not there" refuses keepalived 1:3 'not there' \
	<<<'  virtual_server group g { }'
must "a quote without an end" refuses keepalived 1:1 'quote' <<<'a "b'
must "a definition of itself" refuses keepalived 2:1 'too much' <<<$'$A=${A}${A}\n${A}'
must "a name in place of a number" refuses ipvs 1:7 'numbers, as ipvsadm -Sn' <<<'-A -t www:http'
must "a server of no service" refuses ipvs 1:23 'not there' \
	<<<'-a -t 192.0.2.1:80 -r 10.0.0.1:80'
must "an unknown option" refuses ipvs 2:4 'not known' <<<$'\n-A --what'
strict() { "$WEIR" import ipvs "$FILES/ipvs/01-wrr-dr.rules" --strict >"$DIR/out" 2>"$DIR/err"; }
must_not "--strict fails where something is lost" strict
must "but writes the file" grep -q '^services:' "$DIR/out"
must "and the list on standard error" grep -q ':1:1: lost: checks: ' "$DIR/err"

mkfifo "$DIR/pipe"
cat "$DIR/pipe" >"$DIR/piped" &
CHILD[cat]=$!
"$WEIR" import ipvs "$FILES/ipvs/01-wrr-dr.rules" --output "$DIR/pipe" 2>"$DIR/err"
must "what is no file, a device or a pipe, is not replaced" test -p "$DIR/pipe"
must "but written to" finished cat
must "all of it" cmp "$DIR/piped" "$DIR/out"

# --- one of them serves ---

topology 1 2
cat >"$DIR/keepalived.conf" <<-END
	vrrp_instance V { interface eth0
	 virtual_ipaddress { $VIP4 } }
	virtual_server $VIP4 80 {
	 delay_loop 1
	 lvs_sched wrr
	 lvs_method TUN
	 protocol TCP
	 real_server 10.0.1.11 80 { TCP_CHECK { connect_timeout 1 } }
	 real_server 10.0.1.12 80 { TCP_CHECK { connect_timeout 1 } }
	}
END
must "a file for this network" "$WEIR" import keepalived "$DIR/keepalived.conf" \
	--output "$DIR/lb1.yaml"
sed -i "s|^node:|&\n  name: $TAG-lb1\n  tunnel: {source4: 100.64.1.0/24}|" "$DIR/lb1.yaml"
router_start
for i in 1 2; do
	backend_start "b$i"
	agent_start "b$i"
done
node_spawn 1
two_healthy() { [ "$(node_health 1 | grep -c ' healthy$')" = 2 ]; }
must "it runs, and sees its backends up" wait_for 15 two_healthy
both_serve() {
	for _ in $(seq 40); do
		in_ns client curl -s --max-time 30 "http://$VIP4/" || say failed
	done | sort | uniq -c | awk '{ print $2 }' | tr '\n' ' ' | grep -qx 'b1 b2 '
}
must "and clients are served by both" both_serve

# --- and is listed as ipvsadm would ---

lists() { "$WEIR" ipvs "$@" --node "$TAG-lb1" >"$DIR/list"; }
line() { grep -qxE "$1" "$DIR/list"; }
must "weir ipvs -Ln" lists -Ln
must "has ipvsadm's head" line 'Prot LocalAddress:Port Scheduler Flags'
must "and its second line" \
	line '  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn'
must "a service" line "TCP  $VIP4:80 mh \(mh-fallback,mh-port\)"
must "its backend" line '  -> 10.0.1.11:80                 Tunnel  100    0          0         '
# What scripts do with it: the third and the fourth word of each backend's line.
must "in columns for scripts" test "$(awk '$1 == "->" && $2 ~ /^10/ { print $2, $3, $4 }' \
	"$DIR/list" | tr '\n' ' ')" = "10.0.1.11:80 Tunnel 100 10.0.1.12:80 Tunnel 100 "
must "--stats" lists -L -n --stats --exact
must "has its columns" line 'Prot LocalAddress:Port +Conns +InPkts +OutPkts +InBytes +OutBytes'
must "and counts" line "TCP  $VIP4:80 + 0 +[1-9][0-9]* +0 +[1-9][0-9]* +0"
must "--rate" lists --list --numeric --rate
must "has its own" line 'Prot LocalAddress:Port +CPS +InPPS +OutPPS +InBPS +OutBPS'
must "a backend is drained" "$WEIR" drain 10.0.1.12 --node "$TAG-lb1"
must "which takes no flows" lists -ln
must "as its weight says" line '  -> 10.0.1.12:80                 Tunnel  0      [0-9]+ +0 +'
must_not "it does nothing but list" lists -A
must "it ends as it should" end lb1
