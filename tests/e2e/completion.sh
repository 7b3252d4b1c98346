#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What bash and zsh offer behind `weir`: every command, every option that the sources know and none
# that is refused, and names of what runs.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# in_bash WORD...: what is offered for the last one, a line each.
in_bash() {
	bash --norc -c '
		. "$1/share/completions/weir.bash"
		COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
		_weir
		printf "%s\n" "${COMPREPLY[@]}"' bash "$ROOT" "$WEIR" "$@"
}
# in_zsh WORD...: the same, by a shell that is typed at: what stands there after a TAB.
in_zsh() {
	zsh -f "$DIR/typed.zsh" "$ROOT/share/completions" "$WEIR" "$@"
}
# Options that the sources take, of any command.
known_options() {
	grep -rhoE '\{"[a-z0-9-]+", (no|required|optional)_argument' "$ROOT/src/weir" |
		sed -E 's/\{"([^"]+)".*/--\1/' | sort -u
}
commands() { "$WEIR" --help | sed -nE 's/^  ([a-z]+) .*/\1/p'; }
same() { diff <(sort -u "$1") <(sort -u "$2"); }
# Nothing is to be done that way, least of all to a node that runs here for another test: the first
# --help may be the option's value (a file to write), the second is none's.
taken() {
	local command=$1 option
	cd "$DIR" || return 1
	while read -r option; do
		! "$WEIR" "$command" "$option" --help --help 2>&1 </dev/null |
			grep 'there is no option' || return 1
	done
}
offers() { "$1" "${@:3}" | grep -qxF -- "$2"; }

netns_begin
commands >"$DIR/commands"
in_bash '' | grep -v '^--' >"$DIR/offered"
must "bash offers every command" same "$DIR/commands" "$DIR/offered"
: >"$DIR/options"
while read -r command; do
	in_bash "$command" -- >"$DIR/of"
	must "weir $command: options" grep -qx -- --help "$DIR/of"
	must "weir $command takes them" taken "$command" < <(grep -v help "$DIR/of")
	cat "$DIR/of" >>"$DIR/options"
done <"$DIR/commands"
known_options >"$DIR/known"
must "every option is offered somewhere" test -z "$(comm -23 "$DIR/known" \
	<(sort -u "$DIR/options") | tee -a /dev/stderr)"
must "words of a command" offers in_bash undrain node ''
must "kinds" offers in_bash backends names ''
must "kinds of events" offers in_bash bgp events --kind ''
must "columns" offers in_bash usable top --sort ''

space lb1
in_ns lb1 ip link add eth0 type veth peer name eth1
in_ns lb1 ip link set eth0 up
COUNT_BACKEND=2 node_config 1 generic >"$DIR/lb1.yaml"
spawn lb1 lb1 "$WEIR" run --config "$DIR/lb1.yaml"
answers() { "$WEIR" names pools --node "$TAG-lb1" >"$DIR/pools" 2>&1; }
must "a node's names" wait_for 10 answers
must "are its pools" grep -qx web4 "$DIR/pools"
must "backends of two pools with their pools" \
	grep -qx web4/b1 <("$WEIR" names backends --node "$TAG-lb1")
must "VIPs" grep -qx $VIP4 <("$WEIR" names vips --node "$TAG-lb1")
must "and as JSON" json_is 'length > 0' <<<"$("$WEIR" names services --json --node "$TAG-lb1")"
must_not "nothing else" "$WEIR" names flows --node "$TAG-lb1"
must "the node itself is offered" offers in_bash "$TAG-lb1" status --node "$TAG"
# The shell finds the only node by itself; on a machine with others their names are not told apart.
cat >"$DIR/weir" <<-END
	#!/bin/sh
	for word; do
		[ "\$word" != names ] || set -- "\$@" --node $TAG-lb1
	done
	exec $WEIR "\$@"
END
chmod 755 "$DIR/weir"
WEIR=$DIR/weir
must "bash offers backends" offers in_bash web4/b2 drain web4
must "and VIPs" offers in_bash $VIP4 withdraw 198

cat >"$DIR/typed.zsh" <<'END'
zmodload zsh/zpty
places=$1 weir=$2 wanted=$3
shift 3
zpty typed zsh -f -i
zpty -w typed "PS1= PROMPT_EOL_MARK=; unsetopt zle_bracketed_paste; fpath=($places \$fpath)"
zpty -w typed "autoload -Uz compinit; compinit -u -D; autoload -Uz _weir"
zpty -w typed "source <(sed 's/^_weir \"\$@\"\$//' $places/weir.zsh); compdef _weir weir"
zpty -w typed "weir() { $weir \"\$@\"; }; stty -echo; print rea''dy"
zpty -r typed line '*ready*' || exit 1
zpty -w -n typed "false && weir $*"$'\t'
# What is typed behind the Tab may take its place: the word comes first, or half a minute goes by.
line=
for ((i = 0; i < 600; i++)); do
	zpty -rt typed part && line+=$part || sleep 0.05
	[[ ${line//[$'\r\a']/} != *$wanted* ]] || break
done
print -r -- "$line" | tr -d '\r\a' | grep -o 'weir [^;]*' | tail -n 1
END
zsh_types() {
	in_zsh "$@" >"$DIR/typed"
	grep -qF -- "$1" "$DIR/typed" || ! sed 's/^/# /' "$DIR/typed"
}
must "zsh completes a command" zsh_types 'weir status' stat
must "an option" zsh_types 'weir check --schema' check --sch
must "a word" zsh_types 'weir node undrain' node und
must "a backend" zsh_types 'weir drain web4/b2' drain web4/b2
must "the node ends" end lb1
