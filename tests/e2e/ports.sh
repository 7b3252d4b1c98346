#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 150
#
# Servers that listen at another port than the VIP's, by the modes that can change it: geneve, whose
# option the agent learns the ports from, and ipopt, whose ports must be
# in the agent's file. HTTP over IPv4 and IPv6; files of many segments, so that answers leave as the
# kernel's large frames; and gue, by which no port changes.
#
#   client -- router -- lb1 (one-armed)
#                  \--- b1 (agent; nginx at 8080, for the IPv6 VIP at 8443)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

PORT4=8080
PORT6=8443

# As netns.sh's, but at the ports that only the agent leads to.
backend_config() {
	cat <<-END
		daemon off; master_process off; pid $DIR/$1.pid; error_log stderr;
		events { worker_connections 256; }
		http {
		access_log off; client_max_body_size 0; client_body_temp_path $DIR/$1.body;
		proxy_temp_path $DIR/$1.tmp; fastcgi_temp_path $DIR/$1.tmp;
		uwsgi_temp_path $DIR/$1.tmp; scgi_temp_path $DIR/$1.tmp;
		server {
		listen ${NGINX4:-$PORT4}; listen [::]:${NGINX6:-$PORT6}; root $DIR/www;
		location = /slow { limit_rate 1k; }
		location = / { default_type text/plain; return 200 "\$server_port\n"; } }
		}
	END
}
backend_listens() { in_ns b1 ss -Hltn "sport = :${NGINX4:-$PORT4}" | grep -q .; }

services_config() {
	cat <<-END
		pools:
		- name: web4
		  check: {type: tcp, port: $PORT4, $CHECK}
		  backends: [{name: b1, address: 10.0.1.11${PORTS:+, port: $PORT4}}]
		- name: web6
		  check: {type: tcp, port: $PORT6, $CHECK}
		  backends: [{name: b1, address: "2001:db8:1::11"${PORTS:+, port: $PORT6}}]
		services:
		- {name: shop4, vips: [$VIP4], listen: [tcp/80], pool: web4, forward: $FORWARD}
		- {name: shop6, vips: ["$VIP6"], listen: [tcp/80], pool: web6, forward: $FORWARD}
	END
}

# agent_with LINES: the agent anew, with these keys besides.
agent_with() {
	end b1-agent
	agent_config b1 >"$DIR/b1.yaml"
	printf '%s' "$1" >>"$DIR/b1.yaml"
	agent_start b1
}

node_with() {
	end lb1
	rm -f "$DIR/lb1.yaml"
	FORWARD=$1
	node_start 1
}

get() { in_ns client curl -sf -m "${2:-20}" "$1"; }
answers() { [ "$(get "$1")" = "$2" ]; }
both_answer() { answers http://$VIP4/ "$1" && answers "http://[$VIP6]/" "$2"; }
whole_file() { get "$1/file" 60 | cmp - "$DIR/www/file"; }
agent_number() {
	"$WEIR" status --socket "$RUN/agent-$TAG-b1.sock" --json | json_number "$1.packets"
}
counts() { [ "$(agent_number ".verdicts.$1")" -gt "$2" ]; }
words() { "$WEIR" status --socket "$RUN/agent-$TAG-b1.sock" | grep -q "$1"; }
bad_checksums() { in_ns "$1" nstat -asz TcpInCsumErrors | awk '/Csum/ { print $2 }'; }

# passes FILTER: something of the kind reaches b1's link while both VIPs are asked.
passes() {
	: >"$DIR/tcpdump.log"
	spawn tcpdump router tcpdump -i b1 -Q out -nn -U -w "$DIR/mode.pcap" "$1"
	wait_for 5 grep -q listening "$DIR/tcpdump.log" || fail "tcpdump listens"
	get http://$VIP4/ >"$DIR/answer"
	get "http://[$VIP6]/" >"$DIR/answer"
	wait_for 5 arrived
	end tcpdump
}
arrived() { [ "$(tcpdump -nn -r "$DIR/mode.pcap" 2>/dev/null | grep -c .)" -gt 0 ]; }

# serves NAME: requests and files, from the VIP's port, and nothing damaged on the way.
serves() {
	local before
	before=$(agent_number .answers_from_vip_port)
	must "both VIPs answer by $1, from other ports" both_answer $PORT4 $PORT6
	must "a large file comes whole by $1" whole_file http://$VIP4
	must "over IPv6 too" whole_file "http://[$VIP6]"
	must "answers left from the VIP's port" \
		test "$(agent_number .answers_from_vip_port)" -gt "$((before + 10))"
	must "no checksum was wrong at the client" test "$(bad_checksums client)" = 0
	must "nor at the server" test "$(bad_checksums b1)" = 0
}

netns_begin
mkdir "$DIR/www"
head -c 2000000 /dev/urandom >"$DIR/www/file"
head -c 5000 /dev/urandom >"$DIR/www/slow"
topology 1 1
router_start
backend_start b1
PORTS=yes

# --- geneve ---
agent_with ''
node_with geneve
must_not "geneve is not taken in unless the file lists it" get http://$VIP4/ 1
must_not "over IPv6 neither" get "http://[$VIP6]/" 1
must "which is counted" wait_for 5 counts mode_off 1
must "status tells it in words" words "forward: ipip,gre,gue; .* packets CAME BY ANOTHER"
must "and the log, with the key" wait_for 5 grep -q 'mode that is not taken in.*key=forward' \
	"$DIR/b1-agent.log"
agent_with "  forward: [geneve]
"
must "the agent starts anew" answers http://$VIP4/ $PORT4
serves geneve
must "the wire has Geneve" passes 'udp dst port 6081 and ip'
must "over IPv6 too" passes 'udp dst port 6081 and ip6'
must "status tells it in words" words "answers from a VIP's port: "

# --- an agent that is started anew under a download, whose client has nothing to say meanwhile ---
slow_begins() {
	rm -f "$DIR/slow"
	spawn curl client curl -sfN -m 90 -o "$DIR/slow" "$1/slow"
	wait_for 5 test -s "$DIR/slow"
}
slow_ends() { finished curl && cmp "$DIR/slow" "$DIR/www/slow"; }
for url in http://$VIP4 "http://[$VIP6]"; do
	must "a slow download begins" slow_begins "$url"
	end b1-agent KILL
	agent_start b1
	must "an agent that took over knows the ports: it comes whole" slow_ends
done
must "it took over" grep -q 'adopted=yes' "$DIR/b1-agent.log"

# --- ipopt ---
node_with ipopt
must_not "ipopt is not taken in unless the file says so" get http://$VIP4/ 1
must_not "over IPv6 neither" get "http://[$VIP6]/" 1
must "which is counted" wait_for 5 counts mode_off 1
agent_with "  forward: [ipopt]
"
must_not "nor to a port that the file does not name" get http://$VIP4/ 1
must_not "over IPv6 neither" get "http://[$VIP6]/" 1
must "which is counted" wait_for 5 counts bad_port 1
agent_with "  forward: [geneve, ipopt]
  ports:
  - {vip: $VIP4, listen: tcp/80, to: $PORT4}
  - {vip: \"$VIP6\", listen: tcp/80, to: $PORT6}
"
serves ipopt
must "the wire has IPv4's option" passes "ip[0] & 0xf > 5 and ip[20] = 0x9a and tcp port $PORT4"
must "and IPv6's" passes 'ip6[6] = 60 and ip6[42] = 0x1b'
must "status names the ports" words "port: $VIP4 tcp/80 is served at $PORT4"

# --- both: what the file says, the balancers' option must not contradict ---
node_with geneve
serves "geneve, by the file"
agent_with "  forward: [geneve]
  ports:
  - {vip: $VIP4, listen: tcp/81, to: $PORT4}
"
must_not "a port that the file gives to another is refused" get http://$VIP4/ 1
must "which is counted" wait_for 5 counts bad_port 0
must "the other VIP goes on" answers "http://[$VIP6]/" $PORT6
end lb1

# --- gue: the server listens where the VIP does ---
PORTS='' NGINX4=80 NGINX6=80
end b1-nginx
backend_start b1
PORT4=80 PORT6=80
agent_with ''
node_with gue
must "both VIPs answer by gue, from the VIP's port" both_answer 80 80
must "a large file comes whole by gue" whole_file http://$VIP4
must "over IPv6 too" whole_file "http://[$VIP6]"
must "no answer was changed" test "$(agent_number .answers_from_vip_port)" = 0
must "the wire has GUE" passes 'udp dst port 6080'
