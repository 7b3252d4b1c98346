#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# weir bench and weir plan on the oldest kernel: every mode is measured, whatever the figures are in
# an emulated machine.

set -u
WEIR=/build/weir
count=0
check() {
	local text=$1
	count=$((count + 1))
	shift
	if "$@"; then echo "ok $count - $text"; else echo "not ok $count - $text"; fi
}

measures() { $WEIR bench --rounds 1 --repeat 100 --backends 4 --json >/tmp/bench.json; }
check "weir bench" measures
check "has all modes" test "$(grep -c '"mode"' /tmp/bench.json)" = 28
plans() { $WEIR plan --rate 1G --backends 4 --json >/tmp/plan.json; }
check "weir plan measures" plans
check "and counts cores" grep -q '"cores_bare": [1-9]' /tmp/plan.json
echo "1..$count"
