/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A terminal that shows lines and gives keys, by ncurses, which nobody else names. After
 * screen_close it is as it was before; SIGTERM, SIGINT, SIGHUP and SIGQUIT are caught meanwhile:
 * screen_key says so. One at a time.
 */
#pragma once

#include "base/err.h"
#include "weir/top/model.h"

enum { SCREEN_NONE = -1, SCREEN_RESIZED = -2, SCREEN_SIGNAL = -3 };

/* 0, or -errno and what to do: no terminal, or one that cannot do what is needed. */
int screen_open(struct err *err);
void screen_close(void);
void screen_size(size_t *ret_width, size_t *ret_height);
/* Draws what differs from what stands there. */
void screen_draw(const struct top_line *lines, size_t height);
/* A key as top_press has it, or one of the above; waits so long at most. */
int screen_key(int wait_ms);
/* The signal that ended it; 0: none did. */
int screen_signal(void);
