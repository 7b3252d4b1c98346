#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 90
#
# Every kind of check against a real server: nginx by HTTP and TLS, openssl's server, dnsmasq. For
# each what is right and what is wrong, with the reason that status shows. One backend is in a pool
# for each.
#
#   client -- router -- lb1
#                  \--- b1 (nginx, openssl s_server, dnsmasq)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

# --- certificates ---

# issue NAME SUBJECT NAMES: a certificate by the test's authority, and its key.
issue() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" \
		-keyout "$DIR/$1.key" -out "$DIR/$1.csr" &&
		openssl x509 -req -in "$DIR/$1.csr" -CA "$DIR/ca.crt" -CAkey "$DIR/ca.key" \
			-CAcreateserial -days 2 -extfile <(echo "subjectAltName=$3") \
			-out "$DIR/$1.crt"
}

certificates() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
		-subj "/CN=weir test authority" -keyout "$DIR/ca.key" -out "$DIR/ca.crt" &&
		issue server shop.test DNS:shop.test,IP:10.0.1.11 &&
		issue client weir DNS:weir.test &&
		issue words "$(printf 'b\033]0;1\a')" DNS:weir.test &&
		openssl x509 -req -in "$DIR/words.csr" -CA "$DIR/ca.crt" -CAkey "$DIR/ca.key" \
			-CAcreateserial -days 2 -out "$DIR/words.crt"
}

# --- servers ---

web_config() {
	cat <<-END
		daemon off; master_process off; worker_processes 1;
		pid $DIR/web.pid; error_log $DIR/web.err;
		events { worker_connections 256; }
		http {
			access_log off;
			client_body_temp_path $DIR/t1; proxy_temp_path $DIR/t2;
			fastcgi_temp_path $DIR/t3; uwsgi_temp_path $DIR/t4; scgi_temp_path $DIR/t5;
			ssl_certificate $DIR/server.crt;
			ssl_certificate_key $DIR/server.key;
			server {
				listen 80; listen [::]:80; listen 443 ssl;
				location = /host { return 200 "\$host is ready"; }
				location = /busy { return 503; }
				location / { return 200 "\$request_method b1\n"; }
			}
			server {
				listen 444 ssl;
				ssl_client_certificate $DIR/ca.crt;
				ssl_verify_client on;
				location / { return 204; }
			}
		}
	END
}

servers() {
	web_config >"$DIR/web.conf"
	spawn web b1 nginx -c "$DIR/web.conf" -e stderr
	spawn tls b1 openssl s_server -accept 445 -cert "$DIR/server.crt" \
		-key "$DIR/server.key" -www -quiet
	spawn words b1 openssl s_server -accept 446 -cert "$DIR/words.crt" \
		-key "$DIR/words.key" -www -quiet
	spawn dns b1 dnsmasq --keep-in-foreground --conf-file=/dev/null --no-resolv --no-hosts \
		--bind-interfaces --listen-address=10.0.1.11 --user=root --pid-file= \
		--local=/test/ --address=/www.test/192.0.2.80
}

listens() {
	local ports='( sport = :80 or sport = :444 or sport = :445 or sport = :446 )'
	[ "$(in_ns b1 ss -Hltn "$ports" | wc -l)" -ge 5 ] &&
		in_ns b1 ss -Hlun 'sport = :53' | grep -q .
}

# --- the balancer ---

# check NAME KEYS [ADDRESS]: a pool with such a check.
check() {
	echo "- {name: $1, check: {interval: 2s, timeout: 2s, fast_interval: 250ms, rise: 1,
		fall: 1, $2}," \
		"backends: [{name: b1, address: ${3:-10.0.1.11}}]}"
}

right_checks() {
	local http="type: http, port: 80" tls="type: https, port: 443" ca="ca_file: $DIR/ca.crt"
	local client="cert_file: $DIR/client.crt, key_file: $DIR/client.key"
	local name='\x03www\x04test' six='"2001:db8:1::11"'
	local query='\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00'$name'\x00\x00\x01\x00\x01'
	local url='http://$WEIR_ADDRESS:$WEIR_PORT/'
	check right-tcp "type: tcp, port: 80"
	check right-http "$http"
	check right-http6 "$http" "$six"
	check right-head "$http, method: HEAD"
	check right-host "$http, path: /host, host: shop.test, body: shop.test is ready"
	check right-busy "$http, path: /busy, expect: [200, 503]"
	check right-tls "$tls, $ca"
	check right-sni "$tls, $ca, sni: shop.test"
	check right-insecure "$tls, insecure: true, host: shop.test, path: /host, body: shop.test"
	check right-client "type: https, port: 444, $ca, $client, expect: [204]"
	check right-openssl "type: https, port: 445, $ca, body: 's_server -accept'"
	check right-dns "type: dns, port: 53, query: www.test"
	check right-udp "type: udp, port: 53, send: '$query', receive: '$name'"
	check right-icmp "type: icmp"
	check right-icmp6 "type: icmp" "$six"
	check right-exec "type: exec, port: 80, command: [/bin/sh, -c, exec curl -sf $url]"
}

wrong_checks() {
	local http="type: http, port: 80" tls="type: https, port: 443" ca="ca_file: $DIR/ca.crt"
	check wrong-port "type: tcp, port: 81"
	check wrong-status "$http, path: /busy"
	check wrong-body "$http, body: b2"
	check wrong-plain "type: https, port: 80, insecure: true"
	check wrong-authority "$tls, sni: shop.test"
	check wrong-name "$tls, $ca, sni: other.test"
	check wrong-words "type: https, port: 446, $ca, sni: other.test"
	check wrong-client "type: https, port: 444, $ca, expect: [204]"
	check wrong-query "type: dns, port: 53, query: nobody.test"
	check wrong-address "type: icmp" 10.0.1.99
	check wrong-exec "type: exec, command: [/bin/sh, -c, echo no luck; exit 2]"
	check none-ca "$tls, ca_file: $DIR/not-there.crt"
}

config() {
	echo "node: {name: $TAG-lb1, interfaces: [eth0]}"
	echo "pools:"
	right_checks
	wrong_checks
	echo "services:"
	services
}

# Each pool needs one; the VIP is of no concern.
services() {
	local number=20 pool
	for pool in "${POOLS[@]}"; do
		echo "- {name: $pool, vips: [198.51.100.$((number++))], listen: [tcp/80]," \
			"pool: $pool}"
	done
}

POOLS=(right-tcp right-http right-http6 right-head right-host right-busy right-tls right-sni
	right-insecure right-client right-openssl right-dns right-udp right-icmp right-icmp6
	right-exec wrong-port wrong-status wrong-body wrong-plain wrong-authority wrong-name
	wrong-words wrong-client wrong-query wrong-address wrong-exec none-ca)

backend() { node_status 1 | jq -r ".pools[] | select(.name == \"$1\").backends[0]$2"; }
is() { [ "$(backend "$1" .check.state)" = "$2" ]; }
says() {
	local error
	error=$(backend "$1" .check.last_error)
	case $error in
	*"$2"*) return 0 ;;
	esac
	say "$1: $error" >>"$DIR/errors.log"
	return 1
}

# wrong NAME REASON
wrong() {
	must "$1 is unhealthy" wait_for 10 is "$1" unhealthy
	must "because: $2" wait_for 5 says "$1" "$2"
}

right_ones_are() {
	local list
	list=$(node_health 1 | grep '^right-' | grep -v " $1\$")
	[ -z "$list" ] || { say "not $1: ${list//$'\n'/, }" >>"$DIR/errors.log"; return 1; }
}

netns_begin
topology 1 1
certificates >"$DIR/certificates.log" 2>&1 || fail "certificates are made"
servers
must "the servers listen" wait_for 10 listens
config >"$DIR/lb1.yaml"
"$WEIR" check "$DIR/lb1.yaml" >"$DIR/check.log" || fail "the file is right"
node_spawn 1

must "all that is right is healthy" wait_for 15 right_ones_are healthy
wrong wrong-port "connection refused"
wrong wrong-status "status 503, expected 200"
wrong wrong-body "the body does not contain what is expected"
wrong wrong-plain "TLS: wrong version number"
wrong wrong-authority "unable to get local issuer certificate"
wrong wrong-name "matches target host name 'other.test'"
# Its certificate's words are for a terminal.
wrong wrong-words "subject name 'b?]0;1?'"
wrong wrong-client "status 400, expected 204"
wrong wrong-query "the answer is NXDOMAIN"
wrong wrong-address "no answer within 2000 ms"
wrong wrong-exec "exit status 2: no luck"
must "a file that is not there says nothing of the backend" is none-ca unknown
must "and status says so" wait_for 5 says none-ca "probe not run: "

# The servers end: each check says so in time; they return.
end web KILL
end tls KILL
end words KILL
end dns KILL
in_ns b1 ip link set lo down
in_ns b1 sysctl -qw net.ipv4.icmp_echo_ignore_all=1 net.ipv6.icmp.echo_ignore_all=1
must "all that was right is unhealthy" wait_for 10 right_ones_are unhealthy
in_ns b1 sysctl -qw net.ipv4.icmp_echo_ignore_all=0 net.ipv6.icmp.echo_ignore_all=0
in_ns b1 ip link set lo up
servers
must "and healthy again" wait_for 15 right_ones_are healthy
must "the daemon ends" end lb1
