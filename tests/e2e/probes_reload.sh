#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 90
#
# A reload changes how backends are checked: by TCP, by HTTP through the tunnel, by ICMP; each
# counts at once, and the states are right.
#
#   client -- router -- lb1
#                  \--- b1, b2 (agent, nginx)

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"

has_rules() { [ "$(in_ns lb1 ip -4 rule | grep -c 'fwmark 0x5745')" = "$1" ]; }
checks() { node_status 1 | jq -r '[.pools[].backends[].check | .via + " " + .type] | unique[]'; }
checks_are() { [ "$(checks)" = "$1" ]; }
b1_is() { [ "$(node_health 1 | grep -c "/b1 $1")" = 2 ]; }

# becomes FROM TO: the file's checks.
becomes() {
	sed -i "s/check: {$1,/check: {$2,/" "$DIR/lb1.yaml"
	"$WEIR" reload --node "$TAG-lb1" >>"$DIR/reload.log" 2>&1
}

netns_begin
stack 1 2
must "without a tunnel there is no rule" has_rules 0
must "checks become HTTP through the tunnel" becomes "type: tcp, port: 80" "type: http, via: tunnel"
must "as status shows" wait_for 5 checks_are "tunnel http"
must "now there is a rule" wait_for 5 has_rules 1
must "all are healthy" wait_for 5 node_is_up 1
end b1-agent
must "without its agent b1 is not" wait_for 8 b1_is unhealthy
must "checks become ICMP" becomes "type: http, via: tunnel" "type: icmp"
must "as status shows now" wait_for 5 checks_are "node icmp"
must "to which b1 answers" wait_for 5 node_is_up 1
