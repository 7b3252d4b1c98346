#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# The node's page in headless Chromium: what it shows of packets, slots, checks and routers is what
# is; it asks for what is in view alone, goes by keys, fits a phone, and outlives the daemon. What
# it looks like is left in build/page (or $PAGE_SHOTS).
#
#   client -- router (BIRD) -- lb1 (one-armed), the browser beside it
#                         \--- b1, b2

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/browser.sh
. "$ROOT/tests/lib/browser.sh"

ROUTES=bgp
NODE_PEER='bfd: {interval: 100ms, multiplier: 30}'
# shellcheck disable=SC2034
ROUTER_OPTIONS='protocol bfd { interface "*" { interval 100 ms; multiplier 30; }; }'
# shellcheck disable=SC2034
BGP_OPTIONS='bfd graceful;'
URL=http://127.0.0.1:9700
SHOTS=${PAGE_SHOTS:-$ROOT/build/page}
MANY=60

command -v chromium >/dev/null || skip "no chromium: tools/deps"

# Services beside, whose backends nobody checks: for lists that have pages. One denies the client,
# and one has names as long as may be.
LONG=$(printf 'n%.0s' {1..63})
with_many() {
	awk -v n=$MANY '{ print }
	/^pools:/ { for (i = 1; i <= n; i++) printf "- {name: many-%02d, check: {type: none}, \
backends: [{name: x, address: 10.0.1.11}]}\n", i }
	/^services:/ { for (i = 1; i <= n; i++) printf "- {name: beside-%02d, \
vips: [198.51.101.%d], listen: [tcp/80], pool: many-%02d%s}\n", i, i, i,
		(i == 1 ? ", deny: [203.0.113.0/24]" : "") }' |
		sed "s/beside-02/$LONG/; s/many-02/$LONG/; /$LONG, check/s/name: x/name: $LONG/"
}

ask_some() {
	local i
	for ((i = 0; i < ${1:-10}; i++)); do
		in_ns client curl -sf --max-time 10 -o /dev/null http://$VIP4/ || return 1
	done
}
is_ready() { in_ns lb1 curl -sf --max-time 5 -o /dev/null $URL/readyz; }
head_of() { in_ns lb1 curl -sg --max-time 20 -D - -o /dev/null "$@"; }

# complaints_are_none: but for the browser's own word on a daemon that is not there.
complaints_are_none() {
	browse complaints | tee "$DIR/complaints" |
		json_is 'map(select(test("ERR_CONNECTION|/services/nothing") | not)) == []'
}
# Of all that was asked for since: nothing elsewhere, and of lists no more than a page.
asks_little() {
	browse requests | tee "$DIR/requests" | json_is "length > 3 and
		all(.[]; startswith(\"$URL/\") or startswith(\"data:\")) and
		all(.[] | capture(\"[?&]limit=(?<n>[0-9]+)\"); .n | tonumber <= 100) and
		all(.[] | select(test(\"[?]at=\")); split(\"%2C\") | length <= 25)"
}

RATE='(name) => { const row = [...document.querySelectorAll("tbody tr")]
	.find((one) => one.cells[0].textContent === name);
	return row ? parseFloat([...row.cells].find((cell, i) => row.closest("table")
		.tHead.rows[0].cells[i].textContent === "Packets/s").textContent) : -1; }'
RATE=${RATE//$'\n'/ }
# rate_is_seen NAME: asks for pages until the row of that name shows a rate.
rate_is_seen() { ask_some 5 && page_is "($RATE)('$1') > 0"; }

sum_is_seen() {
	ask_some 5 && page_is "parseFloat(document.querySelector('.figure .value').textContent) > 0"
}

rows_are() { page_is "document.querySelectorAll('main tbody tr').length === $1"; }
focus_is() { page_is "document.activeElement.matches('$1')"; }
focus_says() { page_is "document.activeElement.textContent === '$1'"; }
view_is() { page_is "document.querySelector('nav a[aria-current]').textContent === '$1'"; }
at_hash() { page_is "decodeURIComponent(location.hash) === '#/$1'"; }
label_has() { page_is "document.querySelector('canvas.$1').ariaLabel.includes('$2')"; }
is_live() { page_is "document.getElementById('link').textContent === 'live'"; }
lost() {
	page_is "document.getElementById('link').textContent === 'lost'" &&
		page_is "document.getElementById('notice').innerText.includes('asking again in')"
}

# fits VIEW: nothing is wider than the screen.
fits() {
	go "$1"
	wait_for 10 page_is "document.querySelector('main').dataset.shown === '#/$1'" &&
		page_is 'document.documentElement.scrollWidth === 360 && innerWidth === 360'
}

# Whatever can be operated has a name, whatever is drawn a label or nothing to say, columns a scope.
LABELS='((all) => all("a, button, input, select, summary").every((one) => (one.ariaLabel ||
	one.textContent || one.labels?.[0]?.textContent || "").trim()) &&
	all("canvas").every((one) => one.ariaLabel || one.ariaHidden === "true") &&
	all("th").every((one) => one.scope === "col") && document.documentElement.lang === "en"
	)((what) => [...document.querySelectorAll(what)])'
LABELS=${LABELS//$'\n'/ }

# The contrast of each colour of text with the ground (WCAG 2), the least of them.
CONTRAST='(() => { const style = getComputedStyle(document.documentElement);
	const part = (n) => (n /= 255) <= 0.03928 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4;
	const light = (name) => { const hex = style.getPropertyValue("--" + name).trim();
	const [r, g, b] = [1, 3, 5].map((i) => part(parseInt(hex.slice(i, i + 2), 16)));
	return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	return Math.min(...["fg", "muted", "accent", "good", "warn", "bad"].map((name) => {
	const [a, b] = [light(name), light("bg")];
	return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); })) >= 4.5; })()'
CONTRAST=${CONTRAST//$'\n'/ }

shot() { [ "$(browse shot "$SHOTS/$1.png")" = ok ] && [ -s "$SHOTS/$1.png" ]; }

netns_begin
mkdir "$DIR/www"
mkdir -p "$SHOTS"
topology 1 2
node_config 1 | with_many >"$DIR/lb1.yaml"
router_start
for b in b1 b2; do
	backend_start $b
	agent_start $b
done
node_spawn 1
wait_for 20 is_ready || fail "the node is ready"
wait_for 20 router_uses 1 || fail "the router uses the balancer"
browser_start lb1

# --- the files ---

head_of $URL/ >"$DIR/head"
must "it is HTML" grep -qi '^content-type: text/html' "$DIR/head"
must "with a policy that lets no other script in" grep -qi "script-src 'self';" "$DIR/head"
must_not "nor any that is inline" grep -qi 'unsafe' "$DIR/head"
etag=$(sed -n 's/^ETag: \(.*\)\r$/\1/p' "$DIR/head")
must "it is not sent twice" grep -q ' 304 ' < <(head_of $URL/ -H "If-None-Match: $etag")
must "the script's type is one" grep -qi '^content-type: text/javascript' < <(head_of $URL/app.js)

# --- what it shows ---

browse size 1280 900 >/dev/null
browse scheme light >/dev/null
must "it is loaded" test "$(browse goto $URL/)" = ok
must "and speaks with the node" wait_for 10 is_live
say "# loaded after $(page 'performance.getEntriesByType("navigation")[0].loadEventEnd') ms"
must "it says which node this is" page_is "document.querySelector('h1').textContent === '$TAG-lb1'"
must "the busiest service is on top, with its rate" wait_for 10 rate_is_seen shop4
must "so is the sum" wait_for 10 sum_is_seen
must "routers are counted" wait_for 15 page_shows 'of 2'
must "the chart says in words what it shows" label_has chart 'forwarded'
must "all has a name" page_is "$LABELS"
must "it is in light" page_is "$CONTRAST"
must "a picture of it" shot overview-light
must "nothing was wrong with it" complaints_are_none
must "markup in a string is refused by the browser" page_is \
	'(() => { try { document.body.innerHTML = 1; } catch { return true; } return false; })()'
browse complaints >/dev/null
must "it asked for little" asks_little

HOSTILE='(() => { const name = "<img src=x onerror=alert(1)>";
	const table = new Table(serviceColumns(), name), item = {name, pool: "</td><b>",
	vips: [name], listen: [name], usable: 1, backends: 2, forward: "<script>1</script>"};
	table.update([item], (one) => one.name);
	const {node} = table, to = decodeURIComponent(node.querySelector("a").hash);
	return node.textContent.includes(name) && !node.querySelector("img, b, script") &&
	to === "#/services/" + name; })()'
HOSTILE=${HOSTILE//$'\n'/ }
must "names that are markup are text" page_is "$HOSTILE"
must "and that was all" complaints_are_none

# --- drops ---

# denied_is_seen: packets that are dropped are asked for until the page says so.
denied_is_seen() {
	in_ns client curl -s --max-time 0.3 -o /dev/null http://198.51.101.1/
	page_shows denied
}
must "a drop is told by its reason" wait_for 20 denied_is_seen
must "a picture of it" shot overview-drops

go services/shop4
# carries: asks for pages until the service's chart says that it carries some.
carries() {
	ask_some 5 && page_is "parseFloat(document.querySelector('.key .num').textContent) > 0"
}
must "a service has a chart of its own" wait_for 10 carries
must "a picture of it" shot service-light

# --- lists, by keys ---

must "a number leads to a view" press 2
must "of services" wait_for 10 rows_are 25
must "by its name" view_is Services
must "an arrow leads to the next page" press ArrowRight
must "which is another" wait_for 10 page_shows '26–50 of 62'
must "a slash leads to the search" press /
must "where the focus is" focus_is '#q'
must "what is typed" press s h o p 6
must "is searched for" wait_for 10 rows_are 1
must "an arrow leads into the list" press ArrowDown
must "to its row" focus_says shop6
must "Enter opens it" press Enter
must "and there it is" wait_for 10 at_hash services/shop6
must "with its pool" wait_for 10 page_shows web6
must "and a chart by backend" wait_for 10 page_is \
	'/of web6.*b1.*b2/.test(document.querySelectorAll("canvas.chart")[1].ariaLabel)'
must "all in it has a name" page_is "$LABELS"
must "Escape leads up" press Escape
must "to the list" wait_for 10 at_hash services
must "which is as it was left" wait_for 10 rows_are 1
must "a service that is not is told of" go services/nothing
must "below its name" wait_for 10 page_shows 'has no such service'
go services
page 'var q = document.getElementById("q"); q.value = ""; q.dispatchEvent(new Event("input")); 0' \
	>/dev/null
must "all are there again" wait_for 10 rows_are 25
page 'document.activeElement.blur(); scrollTo(0, 0)' >/dev/null
go drops
must "every reason is explained" wait_for 10 page_is \
	'document.querySelector("main").textContent.includes("weir capture --verdict fragment")'
go routing
must "sessions are told of" wait_for 10 page_shows Established
must "with BFD" wait_for 20 page_shows 'finds a loss in'
must "a picture of it" shot routing-light
go events
must "events" wait_for 10 page_is \
	'/the BGP session is up/.test(document.querySelector("main").innerText)'
must "it still asked for little" asks_little

# --- what it asks for ---

api() { in_ns lb1 curl -sfg --max-time 20 "$URL/api/v1/$1" | json_is "$2"; }
is_refused() { grep -q " $2 " < <(head_of "$URL/api/v1/$1"); }
must "counters of all services" api counts '.total == 62 and .at == null and
	(.packets | length) == 62 and (.bytes | length) == 62'
must "of some" api 'counts?q=shop' '.total == 2 and (.packets | length) == 2'
places=$(in_ns lb1 curl -sfg "$URL/api/v1/counts?q=shop" | jq -r '.at | join(",")')
must "which have places" api "services?at=$places" '[.items[].name] == ["shop4", "shop6"] and
	.generation == 1 and .items[0].usable == 2'
must "a place where none is" api 'services?at=0,4000' '(.items | length) == 2 and .items[1] == null'
must "what is no place" is_refused 'services?at=1,x' 400
must "nor below none" is_refused 'services?at=-1' 400
must "nor so many" is_refused "services?at=$(seq -s , 101)" 400
must "who takes no flows" api 'backends?usable=no' '.total == 0'
must "verdicts with what to do" api verdicts '.verdicts | length > 20 and
	all(.[]; .help != "" and (.to_do | length) > 0)'

# --- slots ---

go pools/web4
must "slots have a picture" wait_for 10 label_has map '2,039 slots of web4'
must "of a bounded size" json_is '(.owner | length) == 1024 and ([.slots[]] | add) == 2039' \
	< <(in_ns lb1 curl -sf $URL/api/v1/slots/web4)
version=$(in_ns lb1 curl -sf $URL/api/v1/slots/web4 | jq -r .version)
must "which is sent once" json_is 'has("owner") | not' \
	< <(in_ns lb1 curl -sf "$URL/api/v1/slots/web4?have=$version")
must "pools that are not have none" grep -q ' 404 ' < <(head_of $URL/api/v1/slots/nothing)
end b1-nginx
must "a backend that fails is seen" wait_for 15 page_shows unhealthy
must "as one that takes no flows" wait_for 10 api 'backends?usable=no' \
	'.total == 2 and .items[0].name == "b1"'
must "and whose its slots are now" wait_for 10 page_shows 'b1 → b2'
must "exactly" page_shows '1,019 slots moved'
must "and in words" label_has map 'moved'
must "so it is for who comes later" api slots/web4 '.changed == 1019 and .stand_ins == 1019 and
	([.owner, .before] | transpose | all(.[0] == 1)) and (.before | unique == [0, 1])'
must "a picture of it" shot slots-light
must "in the dark" test "$(browse scheme dark)" = ok
must "it can be read" page_is "$CONTRAST"
must "on a ground that is dark" page_is \
	'parseInt(getComputedStyle(document.documentElement).backgroundColor.match(/\d+/)[0]) < 60'
must "a picture of it" shot slots-dark
backend_start b1
must "it comes back" wait_for 20 page_is \
	'!document.querySelector("main").innerText.includes("unhealthy")'
must "and has its slots again" wait_for 15 page_shows 'b2 → b1'

# --- on a phone ---

browse size 360 740 >/dev/null
for view in '' services services/{shop4,$LONG} pools pools/web4 backends routing drops events; do
	must "on a phone nothing is cut: ${view:-overview}" fits "$view"
	shot "phone-$(tr / - <<<"${view:-overview}" | cut -c 1-20)" || fail "a picture of it"
done
browse size 1280 900 >/dev/null
must "nothing was wrong by then" complaints_are_none

# --- drained ---

go ''
drains() { page_is "document.getElementById('notice').innerText.includes('This node ')"; }
must "a node is drained" "$WEIR" node drain --no-wait --node "$TAG-lb1" 2>"$DIR/drain.log"
must "which the page tells" wait_for 10 drains
must "and is back" "$WEIR" node undrain --node "$TAG-lb1" 2>"$DIR/drain.log"
must "which it tells, too" wait_for 10 page_is "document.getElementById('notice').hidden"
wait_for 20 router_uses 1 || fail "the router uses the balancer"

# --- without the daemon ---

must "it is live" wait_for 10 is_live
end lb1
must "a daemon that has gone is told of" wait_for 20 lost
must "a picture of it" shot lost-dark
node_spawn 1
must "and not called ready" page_is \
	"document.getElementById('state').innerText.includes('not known')"
must "and that it is back" wait_for 60 is_live
must "with what it does" wait_for 20 rate_is_seen shop4
must "a picture of it" shot overview-dark
must "nothing was wrong with it" complaints_are_none
end browser
say "1..$TAP_COUNT"
