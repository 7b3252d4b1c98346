#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# The tutorial as it stands: the document's own blocks, one after the other in one shell, and after
# each that shows what comes of it, whether that came. Numbers that stand alone may be others. It is
# done on a machine of its own as far as namespaces go, so that its names meet nobody else's; and at
# its end it has to have tidied up by itself.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

TEXT=$ROOT/docs/tutorial.md

# blocks KIND: the lines at which such blocks begin.
blocks() { awk -v k="\`\`\`$1" '$0 == k { print NR }' "$TEXT"; }
# block LINE: what stands in it.
block() { awk -v from="$1" 'NR > from { if (/^```$/) exit; print }' "$TEXT"; }
# shown LINE: where the block is that shows what comes of that one, if the next one does.
shown() {
	awk -v from="$1" 'NR <= from { next }
	/^```$/ && !end { end = NR }
	end && NR == end + 2 { if ($0 == "```text") print NR; exit }' "$TEXT"
}
# alike: numbers that stand alone are N, blanks are one.
alike() {
	perl -ne 's/(?<![\w.:\/-])\d+(\.\d+)?(?=[%,;)]|\s|$)/N/g; s/\s+/ /g; s/^ | $//g;
		print "$_\n" if length' "$1"
}

# Each block's output goes to a file that is named by its line.
script() {
	local line
	say 'cd /; out=/run/out'
	for line in $(blocks sh); do
		printf "{\n%s\n" "$(block "$line")"
		say "} >\$out/$line.out 2>\$out/$line.err || { echo $line >\$out/failed; exit 1; }"
	done
	cat <<-'END'
		wait
		{
			ip netns list
			ls -d /tmp/weir-tutorial /sys/fs/bpf/weir/*
			ps -e -o args= | grep -E '^(nginx|bird|weir)'
		} >$out/left 2>/dev/null
		echo yes >$out/done
	END
}

# On a machine with nothing of ours on it; what is in /tmp, /run and /var/lib/weir is its own.
# shellcheck disable=SC2016
in_clean_root() {
	timeout -k 5 280 unshare --mount --net --pid --fork --mount-proc --kill-child bash -c '
		root=$1 dir=$2
		mount -t tmpfs run /run && mkdir /run/out || exit
		mount --bind "$dir/out" /run/out || exit
		case $root in /tmp/*)
			there=$dir/tmp${root#/tmp}
			mkdir -p "$there" && mount --bind "$root" "$there" || exit ;;
		esac
		mkdir -p /var/lib/weir && mount -t tmpfs kept /var/lib/weir &&
			mount -t bpf bpf /sys/fs/bpf && mount --rbind "$dir/tmp" /tmp &&
			ip link set lo up && exec bash /run/out/script </dev/null
	' - "$ROOT" "$DIR"
}

installed() {
	local name
	for name in $(block "$(blocks 'sh install')" | sed 's/.*--no-install-recommends//'); do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] ||
			{ say "# $name is not"; return 1; }
	done
	[ -n "${name:-}" ]
}

# block_words KIND: what stands in all such blocks.
block_words() {
	local line
	for line in $(blocks "$1"); do
		block "$line"
	done
}
has_option() {
	[ "$1" = --now ] || { "$WEIR" check --help; "$WEIR" agent --help; } | grep -q -- " $1"
}

# came LINE: what a block is said to print, it printed.
came() {
	local file=$DIR/out/$1.out
	[ -e "$file" ] || return 1
	diff <(alike <(block "$(shown "$1")")) <(alike "$file") >"$DIR/difference" && return
	sed 's/^/# /' "$DIR/difference" "$DIR/out/$1.err"
	return 1
}

# file KIND: into the directory; its siblings are there, too.
file() { block "$(blocks "yaml $1")" | sed "s|/etc/weir/|$DIR/|" >"$DIR/$1.yaml"; }

netns_begin
mkdir "$DIR/tmp" "$DIR/out"
must "what the tutorial installs is installed" installed
script >"$DIR/out/script"
must "its blocks are a script" bash -n "$DIR/out/script"
PATH=$(dirname "$WEIR"):$PATH
in_clean_root >"$DIR/clean.log" 2>&1
if [ -e "$DIR/out/failed" ]; then
	line=$(cat "$DIR/out/failed")
	cat "$DIR/out/$line".{out,err} | sed 's/^/# /'
	fail "the block of line $line succeeds"
fi
count=0
for line in $(blocks sh); do
	[ -n "$(shown "$line")" ] || continue
	must "what line $line is said to print comes" came "$line"
	count=$((count + 1))
done
must "there are such blocks" test $count -ge 12
must "all of it was done" test -e "$DIR/out/done"
must_not "and nothing is left" grep . "$DIR/out/left"

# --- the files for real machines ---

for name in services node agent; do
	file $name
done
must "the node's file is right" "$WEIR" check "$DIR/node.yaml"
must "so is the agent's" "$WEIR" check "$DIR/agent.yaml"
{
	awk '/^cat >bird.conf/ { on = 1; next } /^END$/ { on = 0 } on' "$TEXT" |
		sed '/template bgp/,/^}/d; /protocol bgp/d'
	block "$(blocks bird)"
	awk '/^protocol bgp lb/' "$TEXT"
} >"$DIR/bird.conf"
must "and BIRD's" bird -p -c "$DIR/bird.conf"
for option in $(block_words 'sh real' | grep -oE -- '--[a-z]+' | sort -u); do
	must "an option of theirs is one: $option" has_option "$option"
done
