#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 30
#
# What the documents say is true: the README's files are right, every command is in the manual and
# has --help, the manual pages are well formed.

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
done
must_not "an unknown command is refused" "$WEIR" nonsense
