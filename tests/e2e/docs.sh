#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 30
#
# What the documents say is true: the README's files are right, every command is in the manual and
# has --help, every verdict is described once, the manual pages are well formed.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# example NUMBER: the README's block of YAML.
example() {
	awk -v want="$1" '
	/^```yaml/ { n++; inside = n == want; next }
	/^```/ { inside = 0 }
	inside' "$ROOT/README.md"
}

well_formed() { ! mandoc -Tlint -W warning "$1" 2>&1 | sed 's/^/# /' | grep .; }

# labels LIST HEADER: the names of that X-list, as users see them.
labels() {
	awk -v list="#define $1(X)" '
	index($0, list) == 1 { inside = 1; next }
	inside && match($0, /X\([A-Z_]+/) { print tolower(substr($0, RSTART + 2, RLENGTH - 2)) }
	inside && !/\\$/ { exit }' "$ROOT/src/$2"
}

# item NAME PAGE PATTERN: the words of the manual's item of that name, of the lines that match.
item() {
	awk -v name="$1" -v pattern="$3" '
	/^\.It / { inside = index($0, ".It Va " name) == 1; next }
	/^\.El/ { inside = 0 }
	inside && $0 ~ pattern' "$ROOT/docs/$2" | tr -s ' ,.()' '\n'
}

# same_words LEFT RIGHT: each word of LEFT is in RIGHT, and once; at least ten of them are.
same_words() {
	local word count=0 status=0
	for word in $1; do
		count=$((count + 1))
		[ "$(grep -cx "$word" <<<"$2")" = 1 ] || { echo "# $word"; status=1; }
	done
	[ $count -ge 10 ] && return $status
}

# in_synopsis COMMAND: the options that weir.8 has for it there.
in_synopsis() {
	awk -v command="$1" '
	/^\.Sh DESCRIPTION/ { exit }
	/^\.Nm/ {
		getline
		mine = (" " $0 " " ~ " " command " ") && (command == "node" || !/^\.Cm node/)
	}
	mine' "$ROOT/docs/weir.8" | grep -o 'Fl -[a-z-]*' | sed 's/^Fl -/--/' | sort -u
}

# in_section COMMAND: those that its section names, and those that all such commands have.
in_section() {
	printf -- '--%s\n' help node socket pid json
	awk -v command=".Ss weir $1" '
	/^\.S[sh] / { mine = $0 == command }
	mine' "$ROOT/docs/weir.8" | grep -o 'Fl -[a-z-]*' | sed 's/^Fl -/--/'
}

# same_options COMMAND: its help has what the manual's synopsis has, and all of that is in the
# manual.
same_options() {
	local help wrong
	help=$("$WEIR" "$1" --help | grep -oE '(^|[^a-z-])--[a-z][a-z-]*' | grep -o -- '--.*' |
		sort -u)
	wrong=$(
		comm -13 - <(in_synopsis "$1") <<<"$help"
		comm -23 - <((in_synopsis "$1"; in_section "$1") | sort -u) <<<"$help"
	)
	[ -z "$wrong" ] || { echo "# ${wrong//$'\n'/ }"; return 1; }
}

netns_begin
example 1 >"$DIR/services.yaml"
example 2 >"$DIR/agent.yaml"
must "the README's services file is right" "$WEIR" check "$DIR/services.yaml"
must "in 20 lines, or not many more" test "$(wc -l <"$DIR/services.yaml")" -le 22
must "the README's agent file is right" "$WEIR" check "$DIR/agent.yaml"
for page in "$ROOT"/docs/*.[58]; do
	must "${page##*/} is well formed" well_formed "$page"
done
for command in $("$WEIR" --help | awk '/^  / { print $1 }'); do
	must "weir $command has --help" "$WEIR" "$command" --help
	must "weir $command is in the manual" grep -q "^\.Ss weir $command" "$ROOT/docs/weir.8"
	must "weir $command has the manual's options" same_options "$command"
done
must "weir.8 has each verdict once" same_words "$(labels VERDICTS dp/verdict.h)" \
	"$(item verdicts weir.8 "^.Va ")"
must "weir.8 has what trace says of the reason" same_words "$(labels WHYS dp/verdict.h)" \
	"$(item why weir.8 "")"
must "weir-agent.8 has each verdict once" same_words "$(labels AGENT_VERDICTS decap/abi_agent.h)" \
	"$(item verdicts weir-agent.8 "^.Va ")"
must_not "an unknown command is refused" "$WEIR" nonsense
