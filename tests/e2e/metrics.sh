#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# What nodes and agents show on their admin ports: metrics that promtool takes and that say what
# status says, alerts and the dashboard made of what is really there, health, readiness, JSON by
# pages; clients that dawdle, flood or ask for more than they may; no secret anywhere.
#
#   client -- router (BIRD) -- lb1, lb2 (one-armed)
#                         \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

ROUTES=bgp
PASSWORD=tacit-knowledge-of-lb
BGP_OPTIONS="password \"$PASSWORD\";"
RULES=$ROOT/contrib/prometheus/weir.rules.yml
TRIED=$ROOT/tests/prometheus/alerts_test.yml
BOARD=$ROOT/contrib/grafana/weir-dashboard.json
URL=http://127.0.0.1:9700

# get NAMESPACE URL [CURL'S...]
get() {
	local space=$1 url=$2
	shift 2
	in_ns "$space" curl -sg --max-time 20 "$@" "$url"
}
# status_of NAMESPACE URL [CURL'S...]: the HTTP status.
status_of() { get "$@" -o /dev/null -w '%{http_code}\n'; }
gets() { [ "$(status_of "${@:2}")" = "$1" ]; }

# value NUMBER SERIES: of a metric of that balancer; nothing if it is not there.
value() { get "lb$1" $URL/metrics | awk -v name="$2" '$1 == name { print $2 }'; }
shows() { [ "$(value "$1" "$2")" = "$3" ]; }
at_least() { awk -v a="$(value "$1" "$2")" -v b="$3" 'BEGIN { exit !(a + 0 >= b) }'; }

# --- metrics ---

# The linter's word on both daemons, and the parser's on OpenMetrics, of which the end is a part.
metrics_are_clean() {
	get "$1" "$2/metrics" >"$DIR/plain" && [ -s "$DIR/plain" ] &&
		promtool check metrics <"$DIR/plain" >"$DIR/promtool.log" 2>&1 &&
		[ ! -s "$DIR/promtool.log" ]
}
is_openmetrics() {
	get lb1 $URL/metrics -H 'Accept: application/openmetrics-text; version=1.0.0' \
		-D "$DIR/head" >"$DIR/open"
	grep -qi '^content-type: application/openmetrics-text; version=1.0.0' "$DIR/head" &&
		[ "$(tail -n 1 "$DIR/open")" = '# EOF' ] &&
		grep -q '^# TYPE weir_packets counter$' "$DIR/open" &&
		grep -q '^weir_packets_total{' "$DIR/open" && ! grep -q '^$' "$DIR/open"
}

# Sums over nodes, as who answered which is the router's choice.
service_packets() {
	local sum=0 i
	for i in 1 2; do
		sum=$((sum + $(value $i 'weir_service_packets_total{service="shop4"}')))
	done
	say "$sum"
}
backend_packets() {
	local i
	for i in 1 2; do
		get lb$i $URL/metrics
	done | awk '/^weir_backend_packets_total{pool="web4"/ { sum += $2 } END { print sum + 0 }'
}
# Four of each request at least. A scrape may be half a second old.
counted_by_service() { [ $(($(service_packets) - before)) -ge 80 ]; }
counted_by_backend() { [ "$(backend_packets)" -ge $(($(service_packets) - before)) ]; }
ask_some() {
	local i
	for ((i = 0; i < 20; i++)); do
		in_ns client curl -sf --max-time 10 -o /dev/null http://$VIP4/ || return 1
	done
}
# A node that is asked twice counts on: so status comes between two readings.
status_agrees() {
	local before between after
	before=$(value 1 'weir_service_packets_total{service="shop4"}')
	between=$(node_status 1 | json_number '.services[] | select(.name == "shop4").packets')
	after=$(value 1 'weir_service_packets_total{service="shop4"}')
	[ "$before" -le "$between" ] && [ "$between" -le "$after" ]
}

# digests NUMBER: of its pools' tables.
digests() { get "lb$1" $URL/metrics | grep '^weir_pool_table_digest{pool="web' | sort; }
same_tables() {
	local one
	one=$(digests 1)
	[ -n "$one" ] && [ "$one" = "$(digests 2)" ]
}
other_tables() { same_tables && [ "$(digests 1)" != "$1" ]; }

# --- alerts and dashboard ---

# names_in: the metrics that an expression names, of those on standard input.
names_in() { grep -oE '\b(weir|process)_[a-z0-9_]+' | sort -u; }
# Every one is in a real scrape of a node or an agent, as a sample.
names_exist() {
	local name missing=0 count=0
	for name in $(names_in); do
		count=$((count + 1))
		grep -qE "^${name}[{ ]" "$DIR/node" "$DIR/agent" && continue
		say "# $name is in no scrape"
		missing=1
	done
	[ $missing = 0 ] && [ $count -gt 10 ]
}
rules_are_right() { promtool check rules "$RULES" >"$DIR/rules.log" 2>&1; }
rules_do_alert() { promtool test rules "$TRIED" >"$DIR/rules.log" 2>&1; }
alerts() { sed -n 's/^ *- alert: //p' "$RULES" | sort; }
# Each alert is tried by that test, and has its paragraph.
alerts_are_tried() {
	alerts | cmp - <(grep -o 'alertname="[A-Za-z]*"' "$TRIED" | cut -d '"' -f 2 | sort)
}
alerts_are_told() {
	local alert missing=0
	for alert in $(alerts); do
		grep -q "^### $alert\$" "$ROOT/docs/operations.md" && continue
		say "# $alert is not in docs/operations.md"
		missing=1
	done
	return $missing
}
# All expressions of the dashboard are parsed as rules.
board_is_right() {
	jq -r '"groups: [{name: board, rules: [" + ([.. | .expr? // empty] | to_entries | map(
		"{record: \"a\(.key):b\", expr: " + (.value | gsub("[$]__rate_interval"; "5m") |
		tojson) + "}") | join(", ")) + "]}]"' "$BOARD" >"$DIR/board.yml"
	promtool check rules "$DIR/board.yml" >"$DIR/rules.log" 2>&1
}

# --- JSON ---

api() { get lb1 "$URL/api/v1/$1" | json_is "$2"; }

# --- hostile clients ---

# dawdlers COUNT: connections that begin a request and never end it, for as long as they may.
dawdlers() {
	spawn dawdlers lb1 bash -c "
		for ((i = 0; i < $1; i++)); do
			exec {fd}<>/dev/tcp/127.0.0.1/9700 &&
				printf 'GET /metrics HTTP/1.1\r\nX: ' >&\$fd
		done
		sleep 60"
}
# A header of a megabyte; the answer, if any, is no success.
large_header() {
	in_ns lb1 bash -c 'exec 3<>/dev/tcp/127.0.0.1/9700
		{ printf "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: "
		head -c 1000000 /dev/zero | tr "\0" x; printf "\r\n\r\n"; } >&3
		head -n 1 <&3' 2>/dev/null
}
large_header_is_refused() { [[ "$(large_header)" != *' 200 '* ]]; }
has_many() { at_least 1 weir_admin_connections 20; }
cut_some() { at_least 1 'weir_admin_refused_total{reason="slow"}' 1; }

# --- secrets ---

shown() {
	local page
	node_status 1
	for page in metrics readyz \
		api/v1/{status,services,pools,pools/tls,backends,announce,bgp,config} \
		api/v1/{counts,slots/tls}; do
		get lb1 "$URL/$page"
	done
	cat "$DIR/lb1.log"
	"$WEIR" status --node "$TAG-lb1"
	get b1 http://127.0.0.1:9701/metrics
	"$WEIR" agent status --node "$TAG-b1" --json
}
no_secret_is_shown() {
	local secret
	shown >"$DIR/shown"
	grep -q "$TAG" "$DIR/shown" || return 1
	for secret in "$PASSWORD" "$(sed -n 2p "$DIR/client.key")"; do
		[ -n "$secret" ] && grep -qF -- "$secret" "$DIR/shown" && return 1
	done
	return 0
}

# --- the beginning ---

# A pool whose check has a key of its own: nobody listens there.
with_tls_pool() {
	sed "/^pools:/a - {name: tls, backends: [{name: t1, address: 10.0.1.11}], \
check: {type: https, port: 444, interval: 1s, insecure: true, \
cert_file: $DIR/client.crt, key_file: $DIR/client.key}}"
}

netns_begin
mkdir "$DIR/www"
head -c 3000000 /dev/zero >"$DIR/www/slow"
say "$PASSWORD" >"$DIR/bgp.key"
chmod 600 "$DIR/bgp.key"
NODE_PEER="password_file: $DIR/bgp.key, bfd: {interval: 300ms}"
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=probe -keyout "$DIR/client.key" \
	-out "$DIR/client.crt" 2>/dev/null
chmod 600 "$DIR/client.key"
topology 2 2
# One of each engine.
ENGINE=af_xdp node_config 1 | with_tls_pool >"$DIR/lb1.yaml"
node_config 2 | with_tls_pool >"$DIR/lb2.yaml"
stack_start
wait_for 20 shows 1 'weir_bgp_session_up{peer="192.0.2.1"}' 1 || fail "BGP comes up"

must "a node is alive" gets 200 lb1 $URL/healthz
must "and ready, once every check has a result" wait_for 10 gets 200 lb1 $URL/readyz
must "it says which configuration runs" json_is '.ready and .generation == 1 and .reasons == []' \
	< <(get lb1 $URL/readyz)
must "promtool finds nothing to blame in a node's metrics" metrics_are_clean lb1 $URL
cp "$DIR/plain" "$DIR/node"
must "nor in an agent's" metrics_are_clean b1 http://127.0.0.1:9701
cp "$DIR/plain" "$DIR/agent"
must "who asks for OpenMetrics gets it" is_openmetrics
must "HEAD has no body" cmp -s /dev/null <(get lb1 $URL/healthz --head -o /dev/null)

# --- what they say ---

before=$(service_packets)
must "clients are answered" ask_some
must "their packets are counted, by service" wait_for 10 counted_by_service
must "and as many by backend" wait_for 10 counted_by_backend
must "status says the same" status_agrees
must "the mode of XDP is told" shows 1 'weir_xdp_attached{interface="eth0",mode="native"}' 1
must "two nodes have the same tables" wait_for 10 same_tables
tables=$(digests 1)
end b1-nginx
must "a backend that fails is seen" wait_for 15 \
	shows 1 'weir_backend_healthy{pool="web4",backend="b1"}' 0
must "by the kind of failure" at_least 1 'weir_probes_failed_total{reason="connect"}' 2
must "the node is ready all the same" gets 200 lb1 $URL/readyz
must "slots that moved are counted" wait_for 10 \
	at_least 1 'weir_pool_slots_moved_total{pool="web4"}' 900
must "none was collateral" shows 1 'weir_pool_slots_collateral_total{pool="web4"}' 0
must "both nodes come to the same other tables" wait_for 15 other_tables "$tables"
backend_start b1
must "and it is back" wait_for 15 shows 1 'weir_backend_healthy{pool="web4",backend="b1"}' 1

# --- the agent's connections ---

agent_counts() {
	"$WEIR" agent status --node "$TAG-$1" --json |
		json_number ".connections.vips[] | select(.vip == \"$VIP4\").established"
}
connections_are() { [ $(($(agent_counts b1) + $(agent_counts b2))) = "$1" ]; }
for i in 1 2 3; do
	spawn "slow$i" client curl -sN --limit-rate 1000 -o /dev/null http://$VIP4/slow
done
must "agents count the VIP's connections" wait_for 20 connections_are 3
must "their metrics as well" json_is '. >= 1' < <(for i in 1 2; do
	get b$i http://127.0.0.1:9701/metrics
done | awk '/^weir_agent_connections{vip="198/ { sum += $2 } END { print sum + 0 }')
for i in 1 2 3; do
	end "slow$i"
done
must "and forget those that ended" wait_for 20 connections_are 0

# --- alerts and dashboard ---

must "alert rules are in order" rules_are_right
must "they alert when they should, and only then" rules_do_alert
must "each is tried" alerts_are_tried
must "each is told of in the operations guide" alerts_are_told
must "all that they name is there" names_exist < <(grep -v '^#\|summary:\|alert:' "$RULES")
must "the dashboard's expressions are in order" board_is_right
must "all that it names is there" names_exist < <(jq -r '.. | .expr? // .query? // empty' "$BOARD")

# --- JSON ---

must "JSON of the node" api status '.node | startswith("weir-")'
must "services" api services '.total == 2 and (.items | length) == 2'
must "some of them" api 'services?q=shop6' '.total == 1 and .items[0].name == "shop6"'
must "a page of them" api 'services?limit=1&offset=1' '.total == 2 and .items[0].name == "shop6"'
must "one of them" api services/shop4 '.pool == "web4"'
must "none of that name" gets 404 lb1 $URL/api/v1/services/nothing
must "a page too large" gets 400 lb1 "$URL/api/v1/services?limit=501"
must "a pool with a page of its backends" api 'pools/web4?limit=1' '.backends.total == 2 and
	(.backends.items | length) == 1'
must "backends" api 'backends?q=b2' '.total == 2 and .items[1].pool == "web6"'
must "BGP" api bgp '.peers | length == 2'
must "BFD" api bfd '.sessions | length == 2'
must "VIPs" api vips '.total == 2 and .items[0].announced'
must "the configuration" api config '.generation == 1 and .refusal == null'

# --- who may not ---

must "it only reads" gets 405 lb1 $URL/metrics -X POST -d x=1
must "by no other method" gets 405 lb1 $URL/metrics -X DELETE
must "no name from elsewhere leads here" gets 403 lb1 $URL/metrics -H 'Host: evil.example:9700'
must "there are no files" gets 404 lb1 $URL/../../../../etc/passwd --path-as-is
must "nor by other letters" gets 404 lb1 $URL/%2e%2e/%2e%2e/etc/passwd --path-as-is
must "nothing that a browser would let others read" grep -q nosniff < <(
	get lb1 $URL/metrics -H 'Origin: http://evil.example' -D - -o /dev/null |
		tee "$DIR/head")
must_not "by CORS" grep -qi access-control "$DIR/head"
must_not "no port beyond the loopback" gets 200 client http://192.0.2.11:9700/healthz
must "a header of a megabyte is refused" large_header_is_refused
dawdlers 150
must "who says nothing takes places" wait_for 10 has_many
must "and keeps nobody out" gets 200 lb1 $URL/metrics
must "nor packets" ask_some
must "such connections are cut" wait_for 30 cut_some
end dawdlers
must "no secret is shown" no_secret_is_shown

# --- the port ---

must_not "a node without a port" gets 200 lb2 http://127.0.0.1:9800/healthz
node_config 2 | with_tls_pool | sed 's/^  xdp:/  admin: "[::1]:9800"\n&/' >"$DIR/new.yaml"
mv "$DIR/new.yaml" "$DIR/lb2.yaml"
must "another address, by a reload" wait_for 15 gets 200 lb2 'http://[::1]:9800/healthz'
must_not "and not the one before" gets 200 lb2 $URL/healthz
node_config 2 | with_tls_pool | sed 's/^  xdp:/  admin: off\n&/' >"$DIR/new.yaml"
mv "$DIR/new.yaml" "$DIR/lb2.yaml"
is_off() { ! in_ns lb2 ss -Hltn 'sport = :9800' | grep -q .; }
must "none at all" wait_for 15 is_off
spawn taken lb2 "$ROOT/build/tests/e2e/server" taken 9900
wait_for 10 in_ns lb2 bash -c 'exec 3<>/dev/tcp/127.0.0.1/9900' 2>/dev/null || fail "it listens"
node_config 2 | with_tls_pool | sed 's/^  xdp:/  admin: 127.0.0.1:9900\n&/' >"$DIR/new.yaml"
mv "$DIR/new.yaml" "$DIR/lb2.yaml"
says_taken() { node_status 2 | json_is '.admin.error | test("another process has the port")'; }
must "a port that is taken is told of" wait_for 15 says_taken
must "and the node works on" json_is '.ready' < <(node_status 2)
end taken
must "and is had when it is free" wait_for 20 gets 200 lb2 http://127.0.0.1:9900/healthz
sed 's/^seed:/sead:/' "$DIR/lb1.yaml" >"$DIR/new.yaml"
mv "$DIR/new.yaml" "$DIR/lb1.yaml"
must "a file that is refused is told of" wait_for 15 shows 1 weir_config_refused 1
must "the node is ready with what it has" gets 200 lb1 $URL/readyz
must "a restart keeps the port" "$WEIR" restart --node "$TAG-lb2"
must "at once" wait_for 15 gets 200 lb2 http://127.0.0.1:9900/readyz
say "1..$TAP_COUNT"
