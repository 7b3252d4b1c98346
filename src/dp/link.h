/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaching programs to interfaces so that they outlive the daemon: XDP by bpf_link_create, the
 * link pinned on bpffs. A pinned link that is found is adopted: its program is replaced in place,
 * so no packet meets an interface without a program. Any thread; the pin's directory must be on
 * bpffs (dp_bpffs_prepare).
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum dp_xdp { DP_XDP_NATIVE, DP_XDP_GENERIC, DP_XDP_AUTO };

struct dp_attached {
	char interface[16];
	int ifindex;
	enum dp_xdp wanted;
	enum dp_xdp mode; /* native or generic: what it came to */
	bool adopted;     /* the link was there already */
	char why[160];    /* auto came to generic: the reason native was refused */
	int link_fd;
};

/* Makes sure that `dir` exists on bpffs, mounting bpffs at /sys/fs/bpf where nothing is. */
int dp_bpffs_prepare(const char *dir, struct err *err);

/*
 * Attaches `program_fd` to the interface and pins the link at `pin`, or adopts the link pinned
 * there. Only DP_XDP_AUTO falls back from native to generic. A pin whose link is for another
 * interface or another mode than asked for is replaced. `pin` NULL: nothing is pinned, and the
 * program goes when the descriptor is closed.
 */
int dp_link_attach(int program_fd, const char *interface, enum dp_xdp wanted, const char *pin,
		   struct dp_attached *ret, struct err *err);
/* Detaches at once and unpins. */
void dp_link_detach(struct dp_attached *attached, const char *pin);
/* Lets go of the descriptor; the pinned link stays attached. */
void dp_link_close(struct dp_attached *attached);
