#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# weir plan by figures that are known, and by what it measures; weir bench. Nothing here depends on
# how fast the machine is.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# plan ARGUMENTS...: into $DIR/plan.json.
plan() { "$WEIR" plan --json "$@" >"$DIR/plan.json" 2>"$DIR/err"; }
has() { json_is "$1" <"$DIR/plan.json"; }
ends() {
	local status=0
	"${@:2}" >"$DIR/out" 2>"$DIR/err" || status=$?
	[ $status = "$1" ]
}

netns_begin

# 192 ns is 5.2 Mpps a core; frames of 64 bytes take 84 on the wire.
must "25G at 192 ns" plan --rate 25G --packet-size 64 --ns-per-packet 192 --cores-per-node 4
must "is 37.2 Mpps" has '.mpps > 37.19 and .mpps < 37.21'
must "for 8 cores, 7 bare" has '.cores == 8 and .cores_bare == 7'
must "2 nodes of 4" has '.nodes == 2'
must "100G" plan --rate 100G --packet-size 64 --ns-per-packet 192
must "is 29 cores bare" has '.cores_bare == 29'
must "10M flows of 100 backends" plan --rate 2.5G --flows 10M --backends 100 --ns-per-packet 100
must "the rate may have a fraction" has '.rate_bps == 2500000000'
must "have a table of 16381" has '.table_size == 16381'
must "even within a slot" has '.share_error_percent < 1'
must "and within 4 % when one is down" has '.share_error_failed_percent < 4'
must "which moves its own flows alone" \
	has '.moved_other_percent == 0 and (.moved_failed_percent - 1 | fabs) < 0.1'
must "room for all flows twice over" has '.flow_entries_always == 33554432'
must "or for those of one backend" has '.flow_entries_transition == 262144'
size='.sizes[] | select(.mode == "ipip" and .inner == "ipv4" and .outer == "ipv4")'
must "ipip leaves 1480 bytes" has "$size | .packet == 1480 and .mss == 1440"
must "services have pools each" plan --rate 1G --services 200 --backends 500 --ns-per-packet 100
must "which all take room" has '.table_bytes == 200 * 65537 * 8'
must "all of a million backends" ends 2 "$WEIR" plan --rate 1G --backends 1M --ns-per-packet 1
must "a rate is needed" ends 2 "$WEIR" plan --ns-per-packet 1
must "and is a number" ends 2 "$WEIR" plan --rate fast --ns-per-packet 1
must "time is a number" ends 2 "$WEIR" plan --rate 1G --ns-per-packet -1
must "words" ends 0 "$WEIR" plan --rate 25G --packet-size 64 --ns-per-packet 192
must "say the same" grep -q '^cores: 8, .*; 7 bare' "$DIR/out"

must "it measures" plan --rate 10G --mode gue
must "what it counts with" has \
	'.measured_ns > 0 and (.ns_per_packet - .measured_ns - .driver_ns | fabs) < 0.1'
must "weir bench" ends 0 "$WEIR" bench --rounds 5 --repeat 500 --backends 10 --json
must "has all modes, both families, tracked or not" json_is '.rows | length == 28' <"$DIR/out"
must "with least, median and greatest" \
	json_is '[.rows[] | .min_ns <= .median_ns and .median_ns <= .max_ns] | all' <"$DIR/out"
must "one mode alone, a full frame" ends 0 "$WEIR" bench --mode geneve --frame 1400 --rounds 3
must "in words" grep -q '^geneve *IPv6 *always ' "$DIR/out"
must "no such mode" ends 2 "$WEIR" bench --mode carrier-pigeon
must "no interface of ours is left" test ! -e /sys/class/net/measure0
