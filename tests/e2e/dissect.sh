#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# tshark dissects every frame of the packet table that leaves, beside the one that it came as: it
# must find no expert information of note or worse that the frame had not as it came, and in a
# tunnel the very protocols that came. GUE it does not know: for it there is tests/lib/gue.lua.
# Then the same with a bit of each frame damaged, which it must see.
#
# What may be there all the same: that ipopt's option of IPv6 is not known to tshark; ICMPv6 behind
# it, whose checksum holds again once the VIP is back; a reset as the node's answer; the checksum of
# a segment that an ICMP error of ours quotes in part, where the error's own holds; and the padding
# of short frames, which goes along behind the packet.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# The payloads are numbers: what would read them as its protocol stays away.
dissect() {
	local off=()
	for protocol in dns http http2 quic; do
		off+=(--disable-protocol "$protocol")
	done
	tshark -r "$DIR/frames.pcap" -X "lua_script:$ROOT/tests/lib/gue.lua" "${off[@]}" \
		-o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -o udp.check_checksum:TRUE \
		-o udp.ignore_ipv6_zero_checksum:TRUE -o tcp.analyze_sequence_numbers:FALSE \
		-o ip.defragment:FALSE -o ipv6.defragment:FALSE \
		-o esp.do_esp_sequence_analysis:FALSE -E 'aggregator=;' -T fields \
		-e frame.protocols -e _ws.expert.severity -e _ws.expert.message \
		-e icmp.checksum.status -e icmpv6.checksum.status \
		-e geneve.option.class -e ip.hdr_len -e ipv6.opt.type 2>"$DIR/tshark.log"
}

# Prints what is wrong, and then a line of counts.
compare() {
	awk -F '\t' '
	FNR == NR { way[FNR] = $1; mode[FNR] = $2; name[FNR] = $3; records = FNR; next }

	function breach(text) {
		print mode[FNR] ": " name[FNR] ": " text
		breaches++
	}
	function link_off(protocols) {
		sub(/^.*ethertype:/, "", protocols)
		return protocols
	}
	# Is the expert information what the heading allows?
	function allowed(text, more) {
		if (mode[FNR] == "ipopt")
			return more == 1 && (text == "Unknown Data (not interpreted)" ||
				(text == "Bad checksum" && $5 ~ /^0/))
		if (mode[FNR] == "-" && text == "Connection reset (RST)")
			return more == 1
		return mode[FNR] == "-" && more == 1 && text == "Bad checksum" && ($4 $5) ~ /^1/
	}
	function expert(found,   n, i, severity, text) {
		split("", found)
		n = split($2, severity, ";")
		split($3, text, ";")
		for (i = 1; i <= n; i++) {
			sub(/ \[should be .*/, "", text[i])
			if (severity[i] + 0 >= 4194304 && text[i] !~ /^Didn.t find padding/)
				found[text[i]]++
		}
	}
	# A tunnel holds what came; the option of IPv6 is a header more.
	function check_protocols(   out, tail) {
		out = link_off($1)
		if (mode[FNR] == "ipopt")
			sub(/^ipv6:ipv6\.dstopts/, "ipv6", out)
		tail = substr(out, length(out) - length(came) + 1)
		if (tail != came)
			breach("holds " out ", came as " came)
		used = substr(out, 1, length(out) - length(came))
		if (used !~ shape[mode[FNR]])
			breach("is in " used)
		if (mode[FNR] == "geneve" && $6 != "0xff57")
			breach("has the option class " $6)
		if (mode[FNR] == "ipopt" && $7 + 0 != header + 8 && $8 !~ /^0x1b/)
			breach("has an IPv4 header of " $7 " bytes and option types " $8)
	}
	BEGIN {
		shape["ipip"] = "^(ip|ipv6):$"
		shape["gre"] = "^(ip|ipv6):gre:$"
		shape["gue"] = shape["gue0"] = "^(ip|ipv6):udp:weirgue:$"
		shape["geneve"] = "^(ip|ipv6):udp:geneve:$"
		shape["l2dsr"] = shape["ipopt"] = "^$"
	}
	way[FNR] == "in" {
		expert(before)
		came = link_off($1)
		header = $7 + 0
		next
	}
	{
		expert(found)
		for (text in found)
			if (found[text] > before[text] &&
			    !allowed(text, found[text] - before[text]))
				breach(text)
		if (mode[FNR] != "-")
			check_protocols()
		seen++
	}
	END {
		if (FNR != records)
			print "tshark: " FNR " of " records " frames"
		print seen + 0 " frames, " breaches + 0 " breaches"
	}' "$DIR/frames.list" "$DIR/frames.fields"
}

# run DAMAGE: leaves what was found in dissect.log.
run() {
	"$ROOT/build/tests/packet/modes_test" "$DIR" "$1" || return 1
	dissect >"$DIR/frames.fields" || return 1
	compare >"$DIR/dissect.log"
}

clean() { [ "$(wc -l <"$DIR/dissect.log")" = 1 ] && grep -q ', 0 breaches$' "$DIR/dissect.log"; }

# breaches MODE
breaches() { grep -c "^$1: " "$DIR/dissect.log"; }

command -v tshark >/dev/null || skip "no tshark"
netns_begin
must "the frames that leave are dissected" run 0
must "and nothing is wrong with any of them" clean
frames=$(sed -n 's/ frames.*//p' "$DIR/dissect.log")
must "which are $frames, of more than 400" test "$frames" -gt 400
must "a bit of IPv4's checksum is damaged" run 10
for mode in ipip gre gue geneve ipopt gue0; do
	must "which is seen in $mode" test "$(breaches $mode)" -gt 0
done
must "a bit of a length or an address behind it is damaged" run 45
for mode in gue gue0 geneve; do
	must "which is seen in $mode" test "$(breaches $mode)" -gt 0
done
