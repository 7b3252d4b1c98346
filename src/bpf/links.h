/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The XDP links of one daemon, one an interface, pinned side by side in its directory on bpffs as
 * link-INTERFACE, where its successor finds them. The struct is the caller's. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bpf/link.h"
#include "bpf/pins.h"

enum { LINKS_MAX = 16 };

struct links {
	char dir[PINS_PATH_MAX]; /* "": nothing is pinned */
	struct link_attached attached[LINKS_MAX];
	size_t count;
};

/* `dir` NULL: nothing is pinned. Else makes the directory where it is missing. */
int links_init(struct links *links, const char *dir, struct err *err);
/* One interface more; see link_attach. */
int links_attach(struct links *links, int program_fd, const char *interface, enum link_xdp wanted,
		 struct err *err);
/* Attaches one that is lost to the interface that has its name now. */
int links_reattach(struct links *links, size_t at, int program_fd, struct err *err);
/* Another program in place of `old_fd` at all of them. 0, or -errno and nothing has changed. */
int links_exchange(struct links *links, int old_fd, int new_fd, struct err *err);
/* Takes the last one back; if it was adopted it served before, and goes on. */
void links_take_back(struct links *links);
/* NULL: it is not attached. */
const struct link_attached *links_find(const struct links *links, const char *interface);
/*
 * In which order to attach, so that a start that is refused somewhere leaves an earlier daemon's
 * programs in place: its interfaces come last. `ret` has room for `count` names.
 */
int links_order(const struct links *links, const char *const *interfaces, size_t count,
		const char **ret, struct err *err);
/* Detaches what was not adopted. */
void links_detach_new(struct links *links);
/* The programs from before are attached again by the adopted links. */
void links_put_back(struct links *links);
/* They are not needed any more. */
void links_forget_former(struct links *links);
/* Is a link for the interface pinned in `dir`? */
int links_is_pinned(const char *dir, const char *interface, bool *ret, struct err *err);
/* The number of the program that a link pinned there has; 0: no link, or who asks may not. */
uint32_t links_pinned_program(const char *dir, const char *interface);
/* Detaches what is pinned for other interfaces: an earlier daemon's. */
void links_detach_others(struct links *links);
/* Detaches all, and removes the directory with everything in it. */
void links_teardown(struct links *links);
/* Lets go; what is pinned goes on. */
void links_close(struct links *links);
