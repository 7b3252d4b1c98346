#compdef weir
# SPDX-License-Identifier: BSD-2-Clause
# Completion of weir for zsh. It knows nothing by itself: commands and options are what `weir
# --help` and `weir COMMAND --help` say, names what the running daemon does.

# Lines NAME:TEXT of the commands, or of a command's options.
_weir_commands() {
	$weir --help | sed -nE 's/^  ([a-z]+) +(.*)/\1:\2/p'
}
_weir_options() {
	$weir $1 --help 2>/dev/null |
		sed -nE 's/^ +(-[[:alnum:]], )*(--[a-z0-9-]+)(\[=[a-z]*\]|=[^ ]*)? *([A-Z]+[A-Z,=.]*)? *(.*)/\2:\5/p'
}

# Its usage, without options and their values.
_weir_usage() {
	$weir $1 --help 2>/dev/null | sed '/^$/,$d' |
		sed -E 's/--[a-z0-9-]+(\[?=[^] ]*\]?| [A-Z]+)?//g; s/^usage: / /'
}

_weir_value() {
	case $1 in
	(-n|--node) values=(/run/weir/*.sock(N:t:r)) ;;
	(--pool|--service) values=(${(f)"$($weir names ${1#--}s 2>/dev/null)"}) ;;
	(--down|--drain|--maint|--lost|--away)
		values=(${(f)"$($weir names backends 2>/dev/null)"}) ;;
	(--engine) values=(native xdp) ;;
	(--kind)
		values=(backend operator pool config bgp bfd vip node xdp link capture daemon) ;;
	(--sort) values=(packets bits total usable name) ;;
	(--log) values=(text json) ;;
	(*) return 1 ;;
	esac
}

_weir() {
	local weir=${words[1]} command=${words[2]} usage
	local -a values
	if (( CURRENT == 2 )); then
		values=(${(f)"$(_weir_commands)"} '--help:this list' '--version:which version this is')
		_describe -t commands command values
	elif _weir_value ${words[CURRENT-1]}; then
		compadd -a values
	elif [[ ${words[CURRENT]} == -* ]]; then
		values=(${(f)"$(_weir_options $command)"})
		_describe -t options option values
	else
		usage=$(_weir_usage $command)
		values=(${(f)"$(sed -nE "s/^ +weir $command ([a-z|0-9-]+).*/\1/p" <<<"$usage" |
			tr '|' '\n')"})
		case $usage in
		(*BACKEND*) values+=(${(f)"$($weir names backends 2>/dev/null)"}) ;;
		(*VIP*) values+=(${(f)"$($weir names vips 2>/dev/null)"}) ;;
		esac
		compadd -a values
		_files
	fi
}

_weir "$@"
