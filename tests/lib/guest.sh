# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: BSD-2-Clause
# What the scripts that run in the guest have alike. Sourced.
count=0
failed=0

in_ns() {
	local space=$1
	shift
	nsenter --net="/run/netns/$space" "$@"
}

# check TEXT COMMAND...: a TAP line.
check() {
	local text=$1
	shift
	count=$((count + 1))
	if "$@"; then
		echo "ok $count - $text"
	else
		echo "not ok $count - $text"
		failed=1
	fi
}

# wait_for SECONDS COMMAND...: until the command succeeds; 1 if it does not in time.
wait_for() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.2
	done
}

# A namespace with no filter on the way back, and no duplicate address detection to wait for.
space() {
	ip netns add "$1"
	in_ns "$1" ip link set lo up
	in_ns "$1" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 \
		net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
}
