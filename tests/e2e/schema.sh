#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# The JSON schemas of weir check --schema: what the documents and the tests have for right files
# validates, what weir check refuses for a key or a value does not; and make install has them.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# Debian's own Python, which has the modules.
# validates [--refused] SCHEMA FILE...
validates() { /usr/bin/python3 "$ROOT/tests/e2e/schema.py" "$@"; }
example() {
	awk -v want="$1" '
	/^```yaml/ { n++; inside = n == want; next }
	/^```/ { inside = 0 }
	inside' "$ROOT/README.md"
}

netns_begin
node=$DIR/node.schema.json agent=$DIR/agent.schema.json
"$WEIR" check --schema >"$node"
"$WEIR" check --schema --agent >"$agent"

example 1 >"$DIR/readme.yaml"
example 2 >"$DIR/readme-agent.yaml"
for number in 1 2 3; do
	[ $number != 2 ] || export ROUTES=bgp FORWARD=gue
	COUNT_BACKEND=3 COUNT_LB=2 node_config $number >"$DIR/node$number.yaml"
	COUNT_LB=2 agent_config b$number >"$DIR/agent$number.yaml"
done
must "services files of the README, of tests and imported" validates "$node" "$DIR/readme.yaml" \
	"$DIR"/node?.yaml "$ROOT"/tests/import/*/*.yaml
must "agents' files" validates "$agent" "$DIR/readme-agent.yaml" "$DIR"/agent?.yaml
must "an agent's is no services file" validates --refused "$node" "$DIR/readme-agent.yaml"
must "nor the other way round" validates --refused "$agent" "$DIR/readme.yaml"

# Of what fuzzers found worth keeping: all that weir check takes.
mkdir "$DIR/nodes" "$DIR/agents"
for file in "$ROOT"/tests/fuzz/corpus/conf/*; do
	"$WEIR" check "$file" >"$DIR/out" 2>&1 || continue
	place=$DIR/nodes
	! grep -q '^agent ' "$DIR/out" || place=$DIR/agents
	cp "$file" "$place"
done
must "right services files of the fuzzers'" validates "$node" "$DIR"/nodes/*
must "right agents' files of the fuzzers'" validates "$agent" "$DIR"/agents/*

# change SED: a file with a mistake, which weir check refuses; the schema is asked about all.
change() {
	count=$((count + 1))
	sed "$1" "$DIR/readme.yaml" >"$DIR/wrong$count.yaml"
	! cmp -s "$DIR/readme.yaml" "$DIR/wrong$count.yaml" || return 1
	! "$WEIR" check "$DIR/wrong$count.yaml" >"$DIR/out" 2>&1
}
cat >"$DIR/readme.yaml" <<-END
	node: {interfaces: [eth0], xdp: native, flows: {entries: 1M}}
	bgp: {asn: 65010, router_id: 192.0.2.1, peers: [{address: 192.0.2.254, asn: 65000}]}
	pools:
	- {name: web, check: {type: tcp, port: 80, interval: 2s}, backends: [
	   {name: b1, address: 10.0.1.11, weight: 100}]}
	services:
	- {name: shop, vips: [198.51.100.10], listen: [tcp/80], pool: web, forward: ipip}
END
must "a file to change" validates "$node" "$DIR/readme.yaml"
count=0
while IFS='|' read -r text sed; do
	must "weir check refuses $text" change "$sed"
done <<-'END'
	an unknown key|s/weight:/wieght:/
	one at the top|s/^pools:/pool:/
	a weight that is too large|s/weight: 100/weight: 1000001/
	a weight below 0|s/weight: 100/weight: -1/
	a weight that is a word|s/weight: 100/weight: heavy/
	a mode that is not known|s/forward: ipip/forward: ipsec/
	a mode that does not work|s/forward: ipip/forward: proxy/
	a port out of range|s/port: 80/port: 65536/
	a protocol that is none|s,tcp/80\],sctp/80],
	a time without a unit|s/interval: 2s/interval: 2/
	a missing name|s/name: b1, //
	no interface|s/\[eth0\]/[]/
	an AS that is none|s/asn: 65000/asn: 0/
	a value in place of a list|s/vips: \[198.51.100.10\]/vips: 198.51.100.10/
	a list in place of a value|s/pool: web,/pool: [web],/
	a count with a strange unit|s/entries: 1M/entries: 1T/
END
must "the schema refuses each of them" validates --refused "$node" "$DIR"/wrong*.yaml

# Not `make install`, which would build what others are running.
PREFIX=/usr DESTDIR="$DIR/root" "$ROOT/tools/install" >"$DIR/install.log" 2>&1
must "make install has the services file's" cmp "$node" "$DIR/root/usr/share/weir/weir.schema.json"
must "and the agent's" cmp "$agent" "$DIR/root/usr/share/weir/weir-agent.schema.json"
