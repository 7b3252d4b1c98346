# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Completion of weir for bash. It knows nothing by itself: commands and options are what `weir
# --help` and `weir COMMAND --help` say, names what the running daemon does.

# _weir_options COMMAND: from the lines of its help that begin with an option.
_weir_options() {
	"${COMP_WORDS[0]}" "$1" --help 2>/dev/null |
		sed -nE 's/^ +(-[[:alnum:]], )*(--[a-z0-9-]+).*/\2/p' | sort -u
}

# _weir_usage COMMAND: its usage, without options and their values.
_weir_usage() {
	"${COMP_WORDS[0]}" "$1" --help 2>/dev/null | sed '/^$/,$d' |
		sed -E 's/--[a-z0-9-]+(\[?=[^] ]*\]?| [A-Z]+)?//g; s/^usage: / /'
}

# _weir_words COMMAND: what may stand where no option does.
_weir_words() {
	local usage
	usage=$(_weir_usage "$1")
	# Words in lower case: weir node drain, weir names services|pools.
	sed -nE "s/^ +weir $1 ([a-z|0-9-]+).*/\1/p" <<<"$usage" | tr '|' '\n'
	case $usage in
	*BACKEND*) "${COMP_WORDS[0]}" names backends 2>/dev/null ;;
	*VIP*) "${COMP_WORDS[0]}" names vips 2>/dev/null ;;
	*VERDICT*) "${COMP_WORDS[0]}" explain 2>/dev/null | sed 's/ .*//; $a drop' ;;
	esac
}

# _weir_value OPTION: what may stand behind it; 1: a file, or who knows what.
_weir_value() {
	local socket
	case $1 in
	-n|--node)
		for socket in /run/weir/*.sock; do
			socket=${socket##*/}
			[ "$socket" = '*.sock' ] || echo "${socket%.sock}"
		done
		;;
	--pool|--service) "${COMP_WORDS[0]}" names "${1#--}s" 2>/dev/null ;;
	--down|--drain|--maint|--lost|--away) "${COMP_WORDS[0]}" names backends 2>/dev/null ;;
	--verdict) "${COMP_WORDS[0]}" explain 2>/dev/null | sed 's/ .*//' ;;
	--engine) printf '%s\n' native xdp ;;
	--kind)
		printf '%s\n' backend operator pool config bgp bfd vip node xdp link capture daemon
		;;
	--sort) printf '%s\n' packets bits total usable name ;;
	--log) printf '%s\n' text json ;;
	*) return 1 ;;
	esac
}

_weir() {
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command words
	command=${COMP_WORDS[1]}
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		words="$("${COMP_WORDS[0]}" --help | sed -nE 's/^  ([a-z]+) .*/\1/p') --help --version"
	elif words=$(_weir_value "$before"); then
		:
	elif [[ $current == -* ]]; then
		words=$(_weir_options "$command")
	else
		words=$(_weir_words "$command")
		compopt -o default 2>/dev/null
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _weir weir
