# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A headless browser in a namespace, told what to do (browser.py says what it knows); to be sourced
# after netns.sh.

declare -A CHILD # of netns.sh

# browser_start NAMESPACE. Its own session, so that it is ended like all else by the trap.
browser_start() {
	mkfifo "$DIR/ask" "$DIR/told"
	mkdir "$DIR/browser"
	setsid nsenter --net="/run/netns/$TAG-$1" /usr/bin/python3 "$ROOT/tests/lib/browser.py" \
		"$DIR/browser" <"$DIR/ask" >"$DIR/told" 2>>"$DIR/browser.log" &
	# shellcheck disable=SC2034
	CHILD[browser]=$!
	exec {ASK}>"$DIR/ask" {TOLD}<"$DIR/told"
}

# browse WORD [ARGUMENT]: prints the answer.
browse() {
	local answer
	printf '%s\n' "$*" >&"$ASK"
	read -r -t 120 -u "$TOLD" answer || die "the browser does not answer: $*"
	say "$answer"
}

# page JAVASCRIPT: its value as JSON. page_is: whether it is true.
page() { browse eval "$1"; }
page_is() { [ "$(page "$1")" = true ]; }
press() {
	local key
	for key in "$@"; do
		[ "$(browse key "$key")" = ok ] || return 1
	done
}
# go FRAGMENT: another view, without loading the page anew.
go() { page "location.hash = '#/$1'" >/dev/null; }
# page_shows TEXT: in the part that differs between views.
page_shows() { page_is "document.querySelector('main').innerText.includes('$1')"; }
