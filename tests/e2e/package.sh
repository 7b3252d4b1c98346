#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# The Debian package: made, looked at by lintian, installed on this machine's own root under an
# overlay, which boots systemd; there its services start, reload, restart, are killed, hang, stop,
# while pings are answered; and removed. The program in it is the one that is built already.

set -u
# shellcheck source=tests/lib/netns.sh
. "$(dirname "$0")/../lib/netns.sh"
# shellcheck source=tests/lib/boot.sh
. "$(dirname "$0")/../lib/boot.sh"

# security UNIT: how much of what it could do systemd says that it can; in tenths, less is better.
security() {
	systemd-analyze security --offline=yes --no-pager "$DIR/units/$1" 2>/dev/null |
		sed -nE 's/.*exposure level for [^ ]+: ([0-9]+)\.([0-9]).*/\1\2/p'
}
makes() { DEB_DIR=$DIR/deb WEIR_BINARY=$WEIR "$ROOT/tools/deb" >"$DIR/deb.log" 2>&1; }
lintian_quiet() {
	lintian --allow-root --fail-on error,warning "$DIR"/deb/*.changes >"$DIR/lintian" 2>&1 ||
		{ sed 's/^/# /' "$DIR/lintian"; return 1; }
}
verified() {
	systemd-analyze verify --man=no "$@" >"$DIR/verify" 2>&1 && [ ! -s "$DIR/verify" ] ||
		{ sed 's/^/# /' "$DIR/verify"; return 1; }
}

needs_all() {
	! "$ROOT/tools/deps" --list | grep -e '-dev$' | grep -vE 'cmocka|libc6|libclang' |
		sed 's/.*/ &,/' | grep -vxFf "$ROOT/debian/control"
}

# What a package that was not finished leaves: a directory in the build that is called as files are
# which make includes.
unhindered() { mkdir -p "$DIR/build/09-conf.d" && make -sC "$ROOT" BUILD="$DIR/build" help; }
listed() { "$ROOT/tools/deps" --list | grep -qx build-essential; }

netns_begin
must "make is not hindered by a directory of the build" unhindered
must "dpkg-buildpackage's own needs are in tools/deps" listed
must "debian/control has the libraries of tools/deps" needs_all
must "the package is made" makes
cp "$DIR"/deb/weir_*.deb "$DIR/weir.deb"
must "lintian has nothing to say" lintian_quiet
mkdir "$DIR/units"
dpkg-deb --fsys-tarfile "$DIR/weir.deb" | tar -xf - -C "$DIR/units" --strip-components=4 \
	--wildcards './lib/systemd/system/*.service'
for unit in weir.service weir-agent.service; do
	sed "s|/usr/sbin/weir|/bin/true|; s|/usr/libexec/weir/end|/bin/true|" "$DIR/units/$unit" \
		>"$DIR/$unit"
	must "systemd takes $unit" verified "$DIR/$unit"
	exposed=$(security $unit)
	say "# $unit: exposure $exposed"
	must "it is exposed to 4.0 of 10 at most" test "$exposed" -le 40
done
mkdir "$DIR/out"
cp "$DIR/weir.deb" "$PASS" "$DIR/out/"
must "it lives in a root that boots" \
	boot_root "$DIR/root" bash /tree/tests/lib/package_inside.sh
