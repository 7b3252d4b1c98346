# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What is asked of the connections that tests/e2e/clients.c keeps alive. Needs netns.sh; the
# clients run as `clients`, and $CONTROL is the descriptor of their FIFO.

# Where the clients' way is closed until a node is up, a busy machine takes as long as it takes.
export STALL_MS=60000

control() { echo "$*" >&"$CONTROL"; }

# report: their counts, as a line in $reported.
reports=0
report() {
	local mark=r$((reports++))
	control "report $mark"
	wait_for 10 grep -q "^report $mark " "$DIR/clients.log" || fail "the clients answer"
	reported=$(grep "^report $mark " "$DIR/clients.log")
}

# live COUNT: are so many connections alive?
live() { report && [[ $reported =~ live=([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge "$1" ]; }

# listen: from now on. all_heard: has each that is alive got a byte since?
listen() { listen_ms=$((${EPOCHREALTIME/./} / 1000)); }
all_heard() {
	local since_ms=$((${EPOCHREALTIME/./} / 1000 - listen_ms))
	report && [[ $reported =~ quiet=([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -lt $since_ms ]
}
# began COUNT: have so many connections begun?
began() { report && [[ $reported =~ opened=([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge "$1" ]; }
none_broken() { report && say "# $reported" && [[ $reported =~ broken=0\ excused=0 ]]; }
