#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# Two nodes announce their VIPs by BGP to a router (BIRD), which spreads flows over both: what it
# learns follows the backends' health and the operator's hand, on sessions that stay; and nobody's
# request fails while a daemon is killed, replaced or stopped, or a node is drained. Case 29 of what
# balancers got wrong.
#
#   client -- router (BIRD, AS 65000) -- lb1, lb2 (AS 65010, one-armed)
#                                   \--- b1, b2

set -u
ROUTES=bgp
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/http.sh
. "$(dirname "$0")/../lib/http.sh"

SIZE=30000000 # of a download, 100 s
NODE_BGP='graceful_shutdown: 5s'
ROUTER_OPTIONS='debug protocols { states, events, routes };'
PASSWORD=fj39dk2lsm # of both sessions
BGP_OPTIONS="password \"$PASSWORD\";"

weir() { "$WEIR" "$@" >"$DIR/out" 2>"$DIR/err"; }
says() { grep -qF -- "$1" "$DIR/$2"; }
bird() { birdc -s "$DIR/bird.ctl" "$@" 2>/dev/null; }
bird_says() { bird show "$1" all "$2" | grep -qF -- "$3"; }
bird_knows() { bird show route all "$1" | grep -qF -- "$2"; }

# uses FAMILY COUNT: next hops that the router's kernel has for the VIP of that family.
uses() {
	local vip=$VIP4
	[ "$1" = 4 ] || vip=$VIP6
	[ "$(in_ns router ip "-$1" route show "$vip" | grep -o via | grep -c .)" = "$2" ]
}
# sessions_stood NUMBER: that node's came up once and never went down.
sessions_stood() {
	node_status "$1" | json_is '[.announce.bgp.peers[] |
		.state == "Established" and .ups == 1 and .downs == 0] == [true, true]'
}
announced() {
	node_status "$1" | json_is ".announce.vips[] | select(.vip == \"$2\").announced == $3"
}
drain_is() { [ "$(node_status 1 | jq -r ".announce.drain.$1")" = "$2" ]; }
on_both() {
	local i
	for i in 1 2; do
		weir "$@" --node "$TAG-lb$i" || return 1
	done
}
# restarts NUMBER: restarts (RFC 4724) of that node that the router saw, in both families.
restarts() { grep -cE "lb$1v[46]: Neighbor graceful restart done" "$DIR/bird.log"; }
# restarts_well NUMBER BEFORE: one more in each, and the session's OPEN said that it is one.
restarts_well() {
	local family
	[ "$(restarts "$1")" = $(($2 + 2)) ] || return 1
	for family in 4 6; do
		bird_says protocols "lb$1v$family" 'Restart recovery' &&
			bird_says protocols "lb$1v$family" "AF preserved: ipv$family" || return 1
	done
}
serving() { wait_for 10 http_more $(($(http_count any) + $1)); }
nobody_failed() {
	grep -v ' ok ' "$DIR/requests" | sed 's/^/# /'
	[ "$(http_count failed)" = 0 ] && [ "$(http_count broken)" = 0 ]
}
grown() { [ "$(stat -c %s "$DIR/got")" -gt $(($1 + 400000)) ]; }
begun() { [ "$(stat -c %s "$DIR/got" 2>/dev/null || echo 0)" -gt 10000 ]; }
# withdrawn_first PROTOCOL: the router lost the route before the session, and was told why.
withdrawn_first() {
	grep -E "<TRACE> $1\..* removed |<RMT> $1: " "$DIR/bird.log" | tail -n 2 >"$DIR/order"
	sed 's/^/# /' "$DIR/order"
	sed -n 1p "$DIR/order" | grep -q removed &&
		sed -n 2p "$DIR/order" | grep -q 'Received: Administrative shutdown: "weir is stop'
}

# run_refused: a start with that file of the password ends, with these words and nothing attached.
run_refused() {
	in_ns lb1 timeout 60 "$WEIR" run --config "$DIR/lb1.yaml" >"$DIR/out" 2>"$DIR/err"
	[ $? = 1 ] && says "password file $DIR/bgp.key: $1" err && ! has_xdp lb1
}
# Neither what is said nor what is shown or kept has it.
password_is_nowhere() {
	node_status 1 >"$DIR/shown"
	"$WEIR" status --node "$TAG-lb1" >>"$DIR/shown"
	"$WEIR" check --json "$DIR/lb1.yaml" >>"$DIR/shown"
	[ -s "$DIR/lb1.log" ] && [ -s "$DIR/shown" ] &&
		! grep -F "$PASSWORD" "$DIR"/lb?.log "$DIR/shown" "$DIR/err" "$KEPT/$TAG"-*
}

netns_begin
mkdir "$DIR/www"
NODE_PEER="password_file: $DIR/bgp.key"
head -c $SIZE /dev/urandom >"$DIR/www/slow"
for i in 1 2; do
	COUNT_BACKEND=2 node_config $i | sed '/^  interfaces/a\
  flows: {established: 2s, handshake: 1s, closing: 1s}
s/tracking: transition}/tracking: transition, announce: {communities: ["65010:100"],\
   large_communities: ["65010:1:2"], med: 10, prepend: 1}}/' \
		>"$DIR/lb$i.yaml"
done
topology 2 2
must "without the password's file nothing starts" run_refused 'No such file'
printf '%s\n' $PASSWORD >"$DIR/bgp.key"
chmod 644 "$DIR/bgp.key"
must "nor with one that anybody may read" run_refused 'any user may read it'
chmod 600 "$DIR/bgp.key"
stack_start
must "the route carries its communities" bird_knows $VIP4/32 'BGP.community: (65010,100)'
must "and large ones" bird_knows $VIP6/128 'BGP.large_community: (65010, 1, 2)'
must "and its MED" bird_knows $VIP4/32 'BGP.med: 10'
must "and the prepended path" bird_knows $VIP6/128 'BGP.as_path: 65010 65010'
must "status has it" announced 1 $VIP6 true
must "what status tells is in the manual" node_documented 1
must "the password is nowhere" password_is_nowhere
: >"$DIR/requests"

# --- case 29: health ---

end b1-nginx KILL
must "case 29: one backend of two is enough" wait_for 5 uses 4 2
end b2-nginx KILL
must "case 29: without the last usable backend the route is withdrawn" wait_for 5 uses 4 0
must "in both families" wait_for 5 uses 6 0
must "and status says why" announced 1 $VIP4 false
must "case 29: on sessions that stay" sessions_stood 1
backend_start b2
must "with one again it is back" wait_for 5 router_uses 2
backend_start b1

# --- case 29: the last one drains ---

wait_for 10 node_is_up 1 && wait_for 10 node_is_up 2
spawn download client curl -sf -o "$DIR/got" http://$VIP4/slow
must "a download begins" wait_for 5 begun
must "b1 drains" on_both drain web4/b1
must "and b2, the last one" on_both drain web4/b2
# The node without a flow of them withdraws it, for there is nothing to keep it for.
must "case 29: where a backend that drains has flows the route stays" wait_for 20 uses 4 1
size=$(stat -c %s "$DIR/got")
must "case 29: until they end" wait_for 5 grown "$size"
must "it is there all that time" uses 4 1
end download
must "byte by byte" begins_as "$DIR/got" "$DIR/www/slow"
must "case 29: then it goes" wait_for 20 uses 4 0
must "that of the other family stays" uses 6 2
must "they are ready again" on_both ready web4/b1
must "both of them" on_both ready web4/b2
must "and the route is back" wait_for 5 router_uses 2
must "case 29: all that on sessions that stay" sessions_stood 2

# --- by hand ---

must_not "what is no VIP is refused" weir withdraw 192.0.2.99 --node "$TAG-lb1"
must "and said to be none" says 'is no VIP' err
must "a VIP is withdrawn" weir withdraw $VIP4 --node "$TAG-lb1"
must "the answer says so" says "$VIP4: not announced (withdrawn by hand)" out
must "the router uses the other node" wait_for 5 uses 4 1
must "for that VIP alone" uses 6 2
end lb1 KILL
node_start 1
must "a daemon that is killed had it kept" announced 1 $VIP4 false
must "it is announced again" weir announce $VIP4 --node "$TAG-lb1"
must "and used" wait_for 5 router_uses 2
must "all VIPs are withdrawn" weir withdraw --node "$TAG-lb1"
must "and lost" wait_for 5 router_uses 1
must_not "one alone cannot be given back" weir announce $VIP4 --node "$TAG-lb1"
must "all can" weir announce --node "$TAG-lb1"
must "and are used" wait_for 5 router_uses 2
must_not "nothing is kept of it" test -e "$KEPT/$TAG-lb1.announce.json"

# --- daemons come and go under traffic ---

http_start c1 4 http://$VIP4/ 10000 29999 40
http_start c2 6 "http://[$VIP6]/" 30000 49999 40
must "requests are answered" serving 40
end lb1 KILL
must "when a daemon is killed requests go on" serving 120
must "its routes stay, by graceful restart" router_uses 2
before=$(restarts 1)
node_start 1
must "case 29: the next one's OPEN says that it restarts" wait_for 10 restarts_well 1 "$before"
must "requests go on" serving 60
must "with both nodes" router_uses 2
before=$(restarts 1)
must "weir restart puts another in its place" weir restart --node "$TAG-lb1"
must "case 29: whose OPEN says so, too" wait_for 10 restarts_well 1 "$before"
must "requests go on" serving 60

# --- a node is drained ---

spawn drain router "$WEIR" node drain --node "$TAG-lb1" --timeout 60
must "a node that drains asks to be avoided" \
	wait_for 5 bird_knows $VIP4/32 'BGP.community: (65010,100) (65535,0)'
must "its routes are there until others are chosen" router_uses 2
must "then they are withdrawn" wait_for 10 router_uses 1
must "drain waits until no traffic comes, and ends" finished drain
must "saying so" grep -qF 'no traffic comes any more' "$DIR/drain.log"
must "status has it" drain_is phase ended
must "requests go on" serving 60
end lb1 KILL
node_start 1
must "it drains on in the next daemon" drain_is phase withdrawn
must "unasked" router_uses 1
must "it is in use again" weir node undrain --node "$TAG-lb1"
must "and used" wait_for 5 router_uses 2
must "requests go on" serving 60

# --- a node is stopped before routers have met it again ---

runs() { [ "$(grep -c 'msg="running"' "$DIR/lb2.log")" -ge "$1" ]; }
ends() { tac "$DIR/lb2.log" | sed '/msg="running"/q' | grep -q 'msg="stopping"'; }
last_withdrew() { tac "$DIR/lb2.log" | sed '/msg="running"/q' | grep -q "routes are withdrawn"; }
count=$(grep -c 'msg="running"' "$DIR/lb2.log")
kill -STOP "${CHILD[bird]}"
end lb2 KILL
node_spawn 2
must "a killed node runs again" wait_for 10 runs $((count + 1))
kill -TERM "${CHILD[lb2]}"
must "SIGTERM ends it" wait_for 5 ends
kill -CONT "${CHILD[bird]}"
must "with status 0" finished lb2
must "after its routers were told" last_withdrew
must "the routes that were kept of it are gone" wait_for 5 router_uses 1
must "requests go on" serving 60
node_start 2
must "it is used again" wait_for 20 router_uses 2

# --- a node is stopped ---

must "SIGTERM ends a node" end lb2
must "case 29: its routes went first, then the session, with a word" \
	wait_for 5 withdrawn_first lb2v4
must "in both families" wait_for 5 withdrawn_first lb2v6
must "the router uses the other" wait_for 5 router_uses 1
must "requests go on" serving 60
http_stop c1 c2
must "nobody's request failed in all of that" nobody_failed
must_not "case 29: and the node that was killed and restarted never told a router to end" \
	grep '<RMT> lb1' "$DIR/bird.log"
