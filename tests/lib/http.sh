# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A client that asks over HTTP, a new connection a request, each from a source port that is known
# beforehand: so a request's flow is known also when it fails. Needs netns.sh. Each request is a
# line of $DIR/requests: `END_US FAMILY PORT VERDICT DURATION_US BACKEND STATUS`, where the verdict
# is ok, failed (no connection, or no answer) or broken (connected, then cut), BACKEND who answered
# and STATUS that of curl.

HTTP_BATCH=20
# HTTP_S: how long a request may take, where some are not answered.

# http_start NAME FAMILY URL FIRST LAST RATE: in the background, RATE requests a second from the
# ports FIRST to LAST in turn, until http_stop.
http_start() {
	local starter=$BASHPID
	(
		trap - EXIT INT TERM HUP
		http_worker "$2" "$3" "$4" "$5" "$6"
	) &
	CHILD[$1]=$!
}

# http_stop NAME...: lets each finish its requests.
http_stop() {
	local name
	: >"$DIR/stop"
	for name in "$@"; do
		wait "${CHILD[$name]}"
		unset "CHILD[$name]"
	done
}

http_worker() {
	local family=$1 url=$2 first=$3 last=$4 rate=$5 port=$3
	# Not for longer than who started it lives, however that ends.
	until [ -e "$DIR/stop" ] || [ ! -d "/proc/$starter" ]; do
		[ $((port + HTTP_BATCH)) -le "$last" ] || port=$first
		http_batch "$url" "$port" $HTTP_BATCH |
			in_ns client curl --rate "$rate/s" -K - 2>&1 |
			http_stamp "$family" >>"$DIR/requests"
		port=$((port + HTTP_BATCH))
	done
}

# http_owners FAMILY FIRST COUNT: asks at once from each port; prints `FAMILY PORT BACKEND`, where
# the backend is the verdict if it is not ok.
http_owners() {
	local url=http://$VIP4/
	[ "$1" = 4 ] || url="http://[$VIP6]/"
	http_batch "$url" "$2" "$3" | in_ns client curl -K - 2>&1 | http_stamp "$1" |
		awk '{ print $2, $3, $4 == "ok" ? $6 : $4 }'
}

# http_count VERDICT: how many requests ended so; `any` is all of them.
http_count() { awk -v v="$1" 'v == "any" || $4 == v' "$DIR/requests" | grep -c . || :; }

# http_unbroken CLIENT...: they end; no request of theirs failed or was cut.
http_unbroken() {
	http_stop "$@"
	grep -v ' ok ' "$DIR/requests" | sed 's/^/# /'
	must "no request failed" test "$(http_count failed)" = 0
	must "no connection was cut" test "$(http_count broken)" = 0
}

# http_more COUNT: is true when the file has that many lines or more.
http_more() { [ "$(http_count any)" -ge "$1" ]; }

# http_batch URL FIRST COUNT: options of curl, a section a request. What -w prints goes to standard
# error, which is not buffered, so that a line can be given its time.
http_batch() {
	local i times='%{time_connect} %{time_total}'
	for ((i = $2; i < $2 + $3; i++)); do
		[ "$i" = "$2" ] || echo next
		cat <<-END
			url=$1
			local-port=$i
			silent
			no-buffer
			connect-timeout=${HTTP_S:-20}
			max-time=${HTTP_S:-30}
			write-out="%{stderr}@ $i %{exitcode} %{http_code} $times\n"
		END
	done
}

http_stamp() {
	local line answer='' mark port code status connect total verdict
	while read -r line; do
		case $line in
		*@\ *) ;;
		*) answer=$line; continue ;;
		esac
		read -r mark port code status connect total <<<"${line#"${line%%@ *}"}"
		[ "$mark" = @ ] || continue
		# exit status 28 is a time-out, 52 to 56 and 18 a connection that ended too early.
		if [ "$code" = 0 ] && [ "$status" = 200 ]; then
			verdict=ok
		elif [ "$connect" != 0.000000 ] && [ "$code" != 28 ] && [ "$code" != 0 ]; then
			verdict=broken
		else
			verdict=failed
		fi
		total=${total/./} total=$((10#$total))
		echo "${EPOCHREALTIME/./} $1 $port $verdict $total ${answer:--} $code"
		answer=
	done
}

# --- the flow of a request ---

# hex_bytes ADDRESS: an address as hexadecimal digits.
hex_bytes() {
	local left right=
	case $1 in
	*:*)
		left=$(hex_groups "${1%%::*}")
		[ "${1%%::*}" = "$1" ] || right=$(hex_groups "${1#*::}")
		while [ $((${#left} + ${#right})) -lt 32 ]; do
			left=${left}0000
		done
		echo "$left$right"
		;;
	*)
		# shellcheck disable=SC2086
		printf '%02x' ${1//./ }
		;;
	esac
}

hex_groups() {
	local part IFS=:
	for part in $1; do
		printf '%04x' "0x$part"
	done
}

# internet_sum HEX: the Internet checksum of an even number of bytes.
internet_sum() {
	local i sum=0
	for ((i = 0; i < ${#1}; i += 4)); do
		sum=$((sum + 0x${1:i:4}))
	done
	sum=$(((sum & 0xffff) + (sum >> 16)))
	sum=$(((sum & 0xffff) + (sum >> 16)))
	printf '%04x' $((sum ^ 0xffff))
}

# syn_frame FAMILY PORT: the Ethernet frame of the client's SYN from that port to the VIP's 80.
syn_frame() {
	local tcp sum ip source target
	tcp=$(printf '%04x00500000000100000000' "$2")5002ffff
	if [ "$1" = 4 ]; then
		source=$(hex_bytes $CLIENT4) target=$(hex_bytes $VIP4)
		ip=450000280000400040060000$source$target
		ip=${ip:0:20}$(internet_sum "$ip")${ip:24}
		ip=0800$ip
	else
		source=$(hex_bytes $CLIENT6) target=$(hex_bytes $VIP6)
		ip=86dd6000000000140640$source$target
	fi
	sum=$(internet_sum "$source${target}00060014${tcp}00000000")
	echo "020000000001020000000002$ip$tcp${sum}0000"
}

# base_owners FAMILY PORT [FAMILY PORT ...]: each flow's backend while all are well, a line each.
base_owners() {
	local frames=()
	while [ $# -gt 0 ]; do
		frames+=(--packet "$(syn_frame "$1" "$2")")
		shift 2
	done
	"$WEIR" trace --config "$DIR/lb1.yaml" "${frames[@]}" --json |
		jq -r '.backend // "none"' | sed 's|.*/||'
}
