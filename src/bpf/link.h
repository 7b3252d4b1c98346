/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaching programs to interfaces so that they outlive the daemon: XDP by bpf_link_create, the
 * link pinned on bpffs. A pinned link that is found is adopted: its program is replaced in place,
 * so no packet meets an interface without a program. Any thread; the pin's directory must be on
 * bpffs (link_prepare_bpffs).
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum link_xdp { LINK_XDP_NATIVE, LINK_XDP_GENERIC, LINK_XDP_AUTO };

struct link_attached {
	char interface[16];
	int ifindex;
	enum link_xdp wanted;
	enum link_xdp mode; /* native or generic: what it came to */
	bool adopted;       /* the link was there already */
	char why[160];      /* auto came to generic: the reason native was refused */
	int link_fd;
	int former_fd; /* of the program that was attached by an adopted link; -1: none */
};

/* "native", "generic" or "auto". */
const char *link_xdp_name(enum link_xdp mode);
/* Did auto come to generic? */
bool link_fell_back(const struct link_attached *attached);

/* Mounts bpffs at /sys/fs/bpf where nothing is; it takes CAP_SYS_ADMIN. */
int link_mount_bpffs(struct err *err);
/* Makes sure that `dir` exists on bpffs, mounting bpffs at /sys/fs/bpf where nothing is. */
int link_prepare_bpffs(const char *dir, struct err *err);

/*
 * Attaches `program_fd` to the interface and pins the link at `pin`, or adopts the link pinned
 * there. Only LINK_XDP_AUTO falls back from native to generic. A pin whose link is for another
 * interface or another mode than asked for is replaced. `pin` NULL: nothing is pinned, and the
 * program goes when the descriptor is closed.
 */
int link_attach(int program_fd, const char *interface, enum link_xdp wanted, const char *pin,
		struct link_attached *ret, struct err *err);
/* The program from before is attached again by an adopted link. 0 or -errno. */
int link_put_back(struct link_attached *attached);
/* It is not needed any more. */
void link_forget_former(struct link_attached *attached);
/* Has the interface gone away, and the program with it? */
bool link_is_lost(const struct link_attached *attached);
/* Detaches at once and unpins. */
void link_detach(struct link_attached *attached, const char *pin);
/* Lets go of the descriptor; the pinned link stays attached. */
void link_close(struct link_attached *attached);
