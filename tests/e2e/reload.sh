#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 110
#
# The file changes under connections that are checked byte by byte while others come and go:
# weights, backends, states, VIPs, services, table sizes, seeds; by writing it over, by rename, by a
# symbolic link that is swapped, and twenty times in a row. Nobody loses a connection. A file with a
# mistake changes nothing and is said once.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1 .. b4 (agent, tests/e2e/server.c)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/clients.sh
. "$(dirname "$0")/../lib/clients.sh"

PEERS=$ROOT/build/tests/e2e
LIVE=150 PORT=80 BACKENDS=4
SEED=demo MARK='' SIZE=251 LISTED="1 2 3" EXTRA=false OTHER_VIP=false FEATURES=
declare -A WEIGHT=() STATE=()

backends() {
	local i
	for i in $LISTED; do
		say "  - {name: b$i, address: ${1/N/$i}, weight: ${WEIGHT[$i]:-100}," \
			"state: ${STATE[$i]:-active}}"
	done
}

config() {
	local family vip4=$VIP4
	! $OTHER_VIP || vip4="$VIP4, 198.18.7.0/24"
	cat <<-END
		node:
		  name: $TAG-lb1
		  interfaces: [eth0]
		  tunnel: {source4: 100.64.1.0/24, source6: "2001:db8:f:1::/64"}
		seed: $SEED
		pools:
	END
	for family in 4 6; do
		say "- name: web$family"
		say "  table_size: $SIZE"
		say "  check: {port: 80, $CHECK}"
		say "  backends:"
		if [ $family = 4 ]; then backends 10.0.1.1N; else backends '"2001:db8:1::1N"'; fi
	done
	! $EXTRA || say "- {name: spare, check: {port: 80}," \
		"backends: [{name: s, address: 10.0.1.11}]}"
	say "services:"
	say "- {name: shop4, vips: [$vip4], listen: [tcp/80], pool: web4$FEATURES}"
	say "- {name: shop6, vips: [\"$VIP6\"], listen: [tcp/80], pool: web6$FEATURES}"
	! $EXTRA || say "- {name: more, vips: [198.51.100.77], listen: [tcp/81], pool: spare}"
	[ -z "$MARK" ] || say "$MARK"
}

configuration() { node_status 1 | jq -r ".configuration.$1"; }
applied() { [ "$(configuration generation)" -ge "$1" ]; }
names() { node_status 1 | jq -r '[.pools[].backends[].name] | unique | join(" ")'; }
fits() { [ "$(names)" = "$1" ]; }

# change NAME: the file becomes what the variables say, and is taken up by itself.
change() {
	local next=$(($(configuration generation) + 1))
	config >"$DIR/new.yaml"
	"${HOW:-over}"
	must "$1: it is taken up" wait_for 5 applied "$next"
}
over() { cat "$DIR/new.yaml" >"$DIR/lb1.yaml"; }
rename() { mv "$DIR/new.yaml" "$DIR/lb1.yaml"; }

reload() { "$WEIR" reload --node "$TAG-lb1" >"$DIR/answer" 2>&1; }
said() { grep -c "the file is refused" "$DIR/lb1.log"; }
churn() { control "renew 100000"; }
on_backend() { report && [[ $reported =~ \ b$1=([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge "$2" ]; }
nobody_on() { report && ! [[ $reported =~ \ b$1=[1-9] ]]; }
listed() { node_status 1 | jq ".services | any(.vips | index(\"$1\"))" | json_is .; }

netns_begin
topology 1 $BACKENDS
router_start
for ((i = 1; i <= BACKENDS; i++)); do
	in_ns "b$i" sysctl -qw net.ipv4.ip_default_ttl=$((100 + i)) \
		net.ipv6.conf.all.hop_limit=$((100 + i)) net.ipv6.conf.eth0.hop_limit=$((100 + i))
	spawn "b$i-server" "b$i" "$PEERS/server" "b$i" $PORT
	agent_start "b$i"
done
config >"$DIR/lb1.yaml"
node_spawn 1
up() { [ "$(node_health 1 | grep -c ' healthy$')" = 6 ]; }
must "the node is up" wait_for 15 up
mkfifo "$DIR/control"
exec {CONTROL}<>"$DIR/control"
spawn clients client "$PEERS/clients" "$DIR/control" $LIVE 1 $PORT $VIP4 "$VIP6"
must "connections are alive" wait_for 20 live $((LIVE * 95 / 100))

digest=$(configuration digest)
echo "# a word" >>"$DIR/lb1.yaml"
must "asked for, it is read" reload
must "a comment is no change" grep -q "^unchanged: generation 1, digest $digest" "$DIR/answer"

WEIGHT[1]=50
change "another weight"
must "the digest is another" test "$(configuration digest)" != "$digest"
LISTED="1 2 3 4"
HOW=rename change "a backend more"
churn
must "the new one serves" wait_for 10 on_backend 4 5
must "nobody has lost a connection" none_broken

STATE[4]=drain
change "it drains"
control "leave b4"
must "it has none any more" wait_for 20 nobody_on 4
LISTED="1 2 3"
change "a backend less"
must "it is gone" fits "b1 b2 b3"
must "nobody has lost a connection" none_broken

EXTRA=true OTHER_VIP=true
change "another service and a VIP that is a prefix"
must "the new VIP is the node's" listed 198.18.7.0/24
EXTRA=false
change "a service less"
SEED=another
change "another seed"
churn
# What each flow says is by what it is known from then on.
listen
must "each connection is heard of" wait_for 15 all_heard
must "nobody has lost a connection" none_broken
SIZE=509
change "another size"
listen
must "each connection is heard of" wait_for 15 all_heard
FEATURES=", policy: 4-tuple, allow: [0.0.0.0/0, \"::/0\"], rate_limit: 1M"
change "what the program did not have"
listen
must "each connection is heard of" wait_for 15 all_heard
must "nobody has lost a connection" none_broken

mv "$DIR/lb1.yaml" "$DIR/one.yaml"
ln -s one.yaml "$DIR/lb1.yaml"
swap() {
	mv "$DIR/new.yaml" "$DIR/two.yaml"
	ln -sfn two.yaml "$DIR/link" && mv -T "$DIR/link" "$DIR/lb1.yaml"
}
WEIGHT[1]=70
HOW=swap change "a link that is swapped"
WEIGHT[1]=80
HOW=swap change "what it leads to, by rename"

churn
for ((i = 1; i <= 20; i++)); do
	WEIGHT[1]=$((10 * i)) WEIGHT[2]=$((210 - 10 * i)) STATE[3]=active
	((i % 3)) || STATE[3]=drain
	((i % 2)) && OTHER_VIP=true || OTHER_VIP=false
	((i % 4)) && EXTRA=true || EXTRA=false
	config >"$DIR/two.yaml"
	reload || fail "reload $i: $(cat "$DIR/answer")"
	((i % 7)) || churn
done
must "nobody has lost a connection in twenty reloads" none_broken

generation=$(configuration generation) digest=$(configuration digest)
before=$(said)
config | sed 's/pool: web6/pool: web66/' >"$DIR/new.yaml"
mv "$DIR/new.yaml" "$DIR/two.yaml"
refused() { [ "$(configuration refusal)" != null ]; }
must "a file with a mistake is refused" wait_for 5 refused
must_not "also when asked for" reload
must "it is said where" grep -q "lb1.yaml:[0-9]*:[0-9]*: " "$DIR/answer"
must "and in the log, once" test "$(said)" = $((before + 1))
config | sed 's/^  interfaces.*/  interfaces: [eth0, lo]/' >"$DIR/two.yaml"
must_not "what needs a restart is refused" reload
must "and said" grep -q "node.interfaces differs" "$DIR/answer"
must "what ran runs" test "$(configuration generation)$(configuration digest)" = \
	"$generation$digest"
MARK=...
config >"$DIR/two.yaml"
must "a mark at its end is no change" reload
must "and no other generation" test "$(configuration generation)$(configuration digest)" = \
	"$generation$digest"

# cut_off FILE: written shorter, by any number of hundreds of bytes, and at the end of each line.
cut_off() {
	local whole=$DIR/whole.yaml at size
	cp "$1" "$whole"
	size=$(stat -c %s "$whole")
	for at in $(seq 100 100 $((size - 1))) $(grep -b '' "$whole" | sed 's/:.*//'); do
		head -c "$at" "$whole" >"$1"
		! reload || fail "cut off at $at bytes it is taken: $(cat "$DIR/answer")"
	done
	cp "$whole" "$1"
}
must "cut off at every 100 bytes and after any line it is refused" cut_off "$DIR/two.yaml"
must "what ran runs" test "$(configuration generation)$(configuration digest)" = \
	"$generation$digest"
config >"$DIR/two.yaml"
must "the whole one is no change" reload
must "and nothing is refused any more" test "$(configuration refusal)" = null
WEIGHT[2]=5
config >"$DIR/new.yaml"
"$WEIR" diff --node "$TAG-lb1" "$DIR/new.yaml" >"$DIR/diff"
must "a diff says what would change" grep -qF "pools[web4].backends[b2].weight: 10 -> 5" "$DIR/diff"
must "and how many keys move" grep -qE "^pool web4: [0-9.]+ % of its keys" "$DIR/diff"

services() { sed -n '/^seed:/,$p' "$DIR/new.yaml"; }
config >"$DIR/new.yaml"
services >"$DIR/services.yaml"
generation=$(configuration generation)
must "the next generation runs" wait_for 5 applied "$generation"
(
	sed '/^seed:/,$d' "$DIR/new.yaml"
	say "source: {file: services.yaml}"
	say "$MARK"
) >"$DIR/two.yaml"
must "services in a file of their own are taken" reload
WEIGHT[3]=30
config >"$DIR/new.yaml"
generation=$(configuration generation)
services >"$DIR/services.yaml"
must "that one is followed, too" wait_for 5 applied $((generation + 1))
must "cut off at every 100 bytes that one is refused, too" cut_off "$DIR/services.yaml"
must "the whole one is no change" reload
sed 's/pool: web6/pool: web66/' "$DIR/services.yaml" >"$DIR/wrong"
mv "$DIR/wrong" "$DIR/services.yaml"
must "its mistakes are seen" wait_for 5 refused
must "in it" grep -qE "refused.* file=\"[^ ]*/services.yaml\" line=[1-9]" "$DIR/lb1.log"

# The file names another second one, which comes later, and then has a mistake in it.
another() { sed -i "s/file: .*\.yaml/file: $1/" "$DIR/two.yaml"; }
refused_for() { node_status 1 | jq -r '.configuration.refusal.errors[0].text' | grep -q "$1"; }
config >"$DIR/new.yaml"
services >"$DIR/services.yaml"
must "the mended one is taken" reload
another later.yaml
must "a second file that is missing refuses the first" wait_for 5 refused_for "later.yaml: No such"
WEIGHT[3]=40
config >"$DIR/new.yaml"
generation=$(configuration generation)
services >"$DIR/later.yaml"
must "it is taken up when it comes" wait_for 5 applied $((generation + 1))
config | sed 's/pool: web6/pool: web66/' >"$DIR/new.yaml"
services >"$DIR/wrong.yaml"
another wrong.yaml
must "one with a mistake refuses the first, too" wait_for 5 refused_for web66
WEIGHT[3]=50
config >"$DIR/new.yaml"
services >"$DIR/wrong.yaml"
must "it is taken up when it is mended" wait_for 5 applied $((generation + 2))

# What only the right to read all files reads at the start is read later, too.
end lb1 KILL
chown nobody "$DIR/wrong.yaml"
chmod 600 "$DIR/wrong.yaml"
node_spawn 1
must "a second file that is somebody else's is taken" wait_for 15 up
must "and read again" reload

control stop
must "the clients end" wait_for 30 grep -q '^report end ' "$DIR/clients.log"
grep '^broken' "$DIR/clients.log"
last=$(grep '^report end ' "$DIR/clients.log")
say "# $last"
must "nobody has lost a connection, in all" grep -q ' broken=0 excused=0 ' <<<"$last"
