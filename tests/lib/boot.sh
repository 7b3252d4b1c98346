# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A Debian that boots: this machine's own root under an overlay whose changes are forgotten, with
# systemd as its first process, in namespaces of its own. To be sourced after netns.sh.

# boot_root ROOT COMMAND...: runs the command there as a service, and powers off; the command's
# output. What it writes to /out stays, in $DIR/out; /run/changed is all that is not as it was on
# the machine. ROOT is made and mounted over.
boot_root() {
	local root=$1 status=0
	shift
	mkdir -p "$root" "$DIR/out" "$DIR/cgroup" "$DIR/upper"
	: >"$DIR/console"
	printf '%q ' "$@" >"$DIR/out/command"
	unshare --mount --propagation private \
		bash -c "$(declare -f boot_mounts boot_units boot_enter); boot_enter \"\$@\"" \
		boot "$root" "$DIR" "$TAG" "$ROOT" </dev/null >"$DIR/boot.log" 2>&1 || status=$?
	boot_sweep_cgroup
	cat "$DIR/out/said" 2>/dev/null
	# The kernel ends the first process of a namespace by SIGINT when it powers off.
	[ $status = 130 ] && [ "$(cat "$DIR/out/status" 2>/dev/null)" = 0 ] && return 0
	echo "# boot: status $status"
	sed 's/^/# /' "$DIR/boot.log" "$DIR/console" | tail -n 40
	return 1
}

boot_enter() {
	set -e
	root=$1 dir=$2 tag=$3 tree=$4
	mount -t cgroup2 cgroup2 "$dir/cgroup"
	mkdir "$dir/cgroup/$tag"
	echo $$ >"$dir/cgroup/$tag/cgroup.procs"
	export -f boot_mounts boot_units
	exec unshare --cgroup --mount --pid --net --ipc --uts --fork --kill-child \
		--propagation private bash -ec '
		boot_mounts "$@"
		boot_units "$@"
		exec chroot "$1" /usr/bin/env -i container=weir-test \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
			/lib/systemd/systemd --system --unit=weir-test.target \
			--show-status=no --log-target=console --log-level=warning
	' boot "$root" "$dir" "$tag" "$tree"
}

boot_mounts() {
	local root=$1 dir=$2 tree=$4 node
	mount -t tmpfs tmpfs "$root"
	mkdir "$root/upper" "$root/work" "$root/root"
	mount --bind "$root/upper" "$dir/upper"
	mount -t overlay overlay \
		-o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" "$root/root"
	# What the caller knows as ROOT is from here on the overlay itself.
	mount --bind "$root/root" "$root"
	# Only what is of the namespaces can be changed: systemd sets the machine up else.
	mount -t proc proc "$root/proc"
	mount --bind "$root/proc/sys" "$root/proc/sys"
	mount --bind "$root/proc/sys/net" "$root/proc/sys/net"
	mount -o remount,bind,ro "$root/proc/sys"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
	mount -t bpf -o mode=0700 bpf "$root/sys/fs/bpf"
	mount -t tmpfs tmpfs "$root/run"
	mount -t tmpfs tmpfs "$root/tmp"
	mount -t tmpfs tmpfs "$root/dev"
	for node in null zero full random urandom tty; do
		: >"$root/dev/$node"
		mount --bind "/dev/$node" "$root/dev/$node"
	done
	mkdir "$root/dev/net" "$root/dev/shm" "$root/dev/pts"
	ln -s /proc/self/fd "$root/dev/fd"
	: >"$root/dev/console"
	mount --bind "$dir/console" "$root/dev/console"
	if [ -e /dev/net/tun ]; then
		: >"$root/dev/net/tun"
		mount --bind /dev/net/tun "$root/dev/net/tun"
	fi
	mkdir -p "$root/out" "$root/tree" "$root/run/changed"
	mount --bind "$dir/upper" "$root/run/changed"
	mount --bind "$dir/out" "$root/out"
	mount --bind -o ro "$tree" "$root/tree"
}

# Of what the machine would start nothing is; the test is a service of its own.
boot_units() {
	local root=$1 tag=$3 units=$1/run/systemd/system
	rm -rf "$root"/etc/systemd/system/*.wants "$root"/etc/rc?.d
	# An index of all manual pages takes long.
	rm -f "$root/usr/sbin/policy-rc.d" "$root/var/lib/man-db/auto-update"
	mkdir -p "$units"
	cat >"$units/weir-test.target" <<-END
		[Unit]
		Requires=weir-test.service
		Wants=systemd-journald.service
	END
	cat >"$units/weir-test.service" <<-END
		[Unit]
		DefaultDependencies=no
		Wants=systemd-journald.service
		After=systemd-journald.service
		[Service]
		Type=oneshot
		# By a number of a process in there it would be swept as what is left of a dead run.
		Environment=HOME=/root LANG=C.UTF-8 WEIR_TAG=$tag
		ExecStart=/bin/bash -c 'bash /out/command; echo \$\$? >/out/status'
		ExecStopPost=/bin/kill -s RTMIN+4 1
		StandardOutput=file:/out/said
		StandardError=inherit
		TimeoutStartSec=200
	END
}

# systemd made groups below ours, which are empty by now, or soon are.
boot_sweep_cgroup() {
	wait_for 10 unshare --mount --propagation private sh -c '
		mount -t cgroup2 cgroup2 "$1" || exit 0
		[ -d "$1/$2" ] || exit 0
		find "$1/$2" -depth -type d -exec rmdir {} + 2>/dev/null
		[ ! -d "$1/$2" ]' sh "$DIR/cgroup" "$TAG"
}
