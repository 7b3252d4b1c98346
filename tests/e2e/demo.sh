#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 90
#
# The demo, as one runs it: its own checks decide.

set -u
cd "$(dirname "$0")/../.." || exit 2
[ "$(id -u)" = 0 ] || { echo "skip: needs root"; exit 77; }
DEMO_SECONDS=24 tools/demo
