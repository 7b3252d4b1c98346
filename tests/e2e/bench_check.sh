#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 20
#
# What `make bench-check` says of counts that are as the baseline has them, better, and worse. The
# counts are the baseline's own: counting takes a tool that the tests do without.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

PART='[gcc 12 x86_64]'

# check STATUS: of $DIR/counts, against the baseline; what it says is in $DIR/out.
check() {
	local status=0
	COUNTS=$DIR/counts BASELINE=$DIR/base "$ROOT/bench/count" >"$DIR/out" 2>&1 || status=$?
	[ $status = "$1" ]
}
says() { grep -qF -- "$1" "$DIR/out"; }
lines() { [ "$(grep -c "^$1" "$DIR/out")" = "$2" ]; }

# as_it_is [AWK]: the baseline's counts, changed by the program; fields are row, function, count,
# and of a row as a whole the function is empty.
as_it_is() {
	awk -v part="$PART" '/^\[/ { inside = $0 == part } inside' "$DIR/base" |
		awk -F '\t' -v OFS='\t' "${1:-1}" >"$DIR/counts"
}

netns_begin
cp "$ROOT/bench/baseline.txt" "$DIR/base"

as_it_is
must "the baseline is as itself" check 0
must "with all of its rows" says "$(grep -c $'\t\t' "$DIR/counts") rows $PART: 0 grew"

as_it_is '$1 == "parse, tcp over ipv4" { $3 *= 1.04 } 1'
must "4 percent more pass" check 0
as_it_is '$1 == "parse, tcp over ipv4" && ($2 == "" || $2 == "pkt_parse_ip4") { $3 *= 1.2 } 1'
must "20 percent more do not" check 1
must "one row is named" lines "GREW: parse, tcp over ipv4, from " 1
must "and no other one" lines GREW 1
must "and the function that grew in it" lines "  pkt_parse_ip4, from " 1
must "and how the baseline is renewed" says "make bench-check RENEW=1"
as_it_is 'NF == 3 && $2 == "" { $3 *= 0.9 } 1'
must "10 percent less pass" check 0
must "and are told of, for the baseline to follow" says "fell by as much"
must_not "none grew" says GREW

as_it_is '$1 != "parse, tcp over ipv4"'
must "a row that is gone is none that passed" check 1
must "it is named" says "gone: parse, tcp over ipv4"
as_it_is '$1 == "parse, tcp over ipv4" { $1 = "a new one" } 1'
must "nor is one that the baseline has not" check 1
must "it is named" says "new: a new one"

as_it_is '/^\[/ { $1 = "[cc 1 m68k]" } 1'
must "a compiler that the baseline does not know is an error" check 2
must "that says what to do" says "make bench-check RENEW=1"
renew() { COUNTS=$DIR/counts BASELINE=$DIR/base "$ROOT/bench/count" --renew; }
must "renewing adds a part" renew
must "which then holds" check 0
as_it_is
must "and leaves the other one as it was" check 0
as_it_is 'NF == 3 && $2 == "" { $3 *= 2 } 1'
must "twice as much fails" check 1
must "until it is the baseline" renew
must "which holds as well" check 0
