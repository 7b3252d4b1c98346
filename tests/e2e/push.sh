#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# The guide's shell that pushes the services file to nodes, as it stands there: both have it, a file
# with a mistake changes no node, and one that a node does not take stops at that node. For ssh and
# scp there are words that go to a node's namespaces; each node has an /etc and a /run of its own.
#
#   lb1, lb2: nobody sends them anything

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

GUIDE=$ROOT/docs/operations.md

# inside PID COMMAND...: as a login on that node would.
# shellcheck disable=SC2016
words() {
	cat >"$DIR/bin/ssh" <<-'END'
		#!/bin/bash
		pid=$(cat "$NODES/${1#root@}") || exit 255
		exec nsenter --mount="/proc/$pid/ns/mnt" --net="/proc/$pid/ns/net" sh -c "$2"
	END
	cat >"$DIR/bin/scp" <<-'END'
		#!/bin/bash
		[ "$1" = -q ] && to=${3#*:} && to=${3%%:*} path=${3#*:} || exit 1
		exec ssh "$to" "cat >$path" <"$2"
	END
	chmod +x "$DIR/bin/ssh" "$DIR/bin/scp"
}

# node NAME: its own part names the file that all share.
# shellcheck disable=SC2016
node() {
	mkdir -p "$DIR/$1/weir"
	{
		node_config "${1#lb}" | sed '/^seed:/,$d'
		say 'source: {file: /etc/weir/services.yaml}'
	} >"$DIR/$1/weir/weir.yaml"
	cp "$DIR/services.yaml" "$DIR/$1/weir/services.yaml"
	spawn "$1" "$1" unshare --mount --propagation private bash -c '
		mount --bind "$1" /etc && mkdir -p /run/weir &&
			mount -t tmpfs run /run/weir &&
			exec "$2" run --config /etc/weir/weir.yaml
	' - "$DIR/$1" "$WEIR"
	say "${CHILD[$1]}" >"$DIR/nodes/$1"
}
status() { ssh "root@$1" 'weir status --json' 2>/dev/null; }
is_up() { status "$1" | json_is '.configuration.generation > 0'; }
digest() { status "$1" | jq -r .configuration.digest; }
weight() { status "$1" | jq '.pools[0].backends[0].weight'; }
weights() { [ "$(weight lb1) $(weight lb2)" = "$1" ]; }
push() { (cd "$DIR" && bash "$DIR/push" >"$DIR/out" 2>&1); }
says() { grep -q -- "$1" "$DIR/out"; }
tidy() { ! find "$DIR"/lb[12]/weir -name '.*' | grep -q .; }

netns_begin
mkdir "$DIR/bin" "$DIR/nodes"
PATH=$DIR/bin:$(dirname "$WEIR"):$PATH
export NODES=$DIR/nodes
words
awk '/^```sh push$/ { on = 1; next } /^```$/ { on = 0 } on' "$GUIDE" >"$DIR/push"
must "the guide has three lines for it" test "$(grep -c . "$DIR/push")" = 3
topology 2 1
CHECK='interval: 10s'
services_config >"$DIR/services.yaml"
for name in lb1 lb2; do
	node $name
done
for name in lb1 lb2; do
	must "$name is up" wait_for 10 is_up $name
done

sed -i 's/10.0.1.11}/10.0.1.11, weight: 7}/' "$DIR/services.yaml"
must "a file is pushed" push
must "both nodes run it" weights '7 7'
must "by one digest" test "$(digest lb1)" = "$(digest lb2)"
must "nothing is left beside it" tidy

sed -i 's/weight: 7/weight: many/' "$DIR/services.yaml"
push
must "a mistake is told with its place" says '^/etc/weir/.next.yaml:.*weight "many"'
must "once, for the first node ends it" test "$(grep -c many "$DIR/out")" = 1
must "no node's file is another" cmp "$DIR/lb1/weir/services.yaml" "$DIR/lb2/weir/services.yaml"
must "and they run what they did" weights '7 7'

# What is right beside one node's own part need not be beside another's.
sed -i 's/weight: many/weight: 8/' "$DIR/services.yaml"
say 'nothing: such' >>"$DIR/lb2/weir/weir.yaml"
push
must "a node that does not take it says why" says '^-:[0-9:]* unknown key "nothing"'
must "after the others have it" weights '8 7'
must "its file is as it was" grep -q 'weight: 7' "$DIR/lb2/weir/services.yaml"
