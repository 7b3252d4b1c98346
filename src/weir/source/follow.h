/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file followed by its path: told of when it is another than before and has been so for a
 * moment, whether it was written over, replaced by rename, or is reached through symbolic links of
 * which one was swapped. inotify says when to look; without it, and for what it cannot see, there
 * is a look now and then. Whoever writes without end is not waited for for ever. The loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct follow;

/* The file, which may be gone, can be read. */
typedef void follow_changed(void *arg);

/* Tells for the first time at once, as what was read before is not known. `path` is copied. 0 or
 * -ENOMEM; without inotify it is slower to notice. */
int follow_open(uv_loop_t *loop, const char *path, follow_changed *changed, void *arg,
		struct follow **ret);
/* How long it must have stayed as it is; FOLLOW_SETTLE_MS to begin with. */
enum { FOLLOW_SETTLE_MS = 50 };
void follow_set_settle(struct follow *follow, uint64_t settle_ms);
/* Is the file still what it was when it was told of? */
bool follow_is_current(const struct follow *follow);
/* Frees when the loop has closed its handles. NULL is nothing. */
void follow_close(struct follow *follow);
