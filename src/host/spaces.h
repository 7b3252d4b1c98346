/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Other network namespaces whose sockets are listed, by a netlink socket made in each: making one
 * there takes CAP_SYS_ADMIN, asking it takes nothing. So they are opened before privileges are
 * given up, and handed over exec(): the same process called again finds those that it has.
 * A namespace lives as long as such a socket; so one whose name means another namespace by now, or
 * none, is let go. One thread, which is in its first namespace again after each call.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct host_space {
	const char *name; /* in /run/netns; the caller's */
	int fd;           /* of sock_diag(7) there; -1: none, for the reason in `err` */
	uint64_t inode;
	struct err err; /* its text is "" while all is well */
};

/*
 * Of each name one, found or made, and closes such sockets of an earlier call that none of them
 * wants. To be called while no other socket of sock_diag(7) is open. A space that cannot be opened
 * says so; -errno and err: this thread is in another namespace now, and must end.
 */
int host_spaces_open(const char *const *names, size_t count, struct host_space *ret,
		     struct err *err);
/* Lets go of it if its name is no longer that namespace's. */
void host_space_look(struct host_space *space);
/* Right before exec(): they outlive it. */
void host_spaces_hand_over(struct host_space *spaces, size_t count);
void host_spaces_close(struct host_space *spaces, size_t count);
