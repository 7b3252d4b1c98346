/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a daemon says to the supervisor that started it (systemd's Type=notify and WatchdogSec=).
 * Without one all of it does nothing. The loop's thread.
 */
#pragma once

#include <uv.h>

struct notify {
	uv_timer_t watchdog;
};

/* From now on the watchdog hears that the loop turns, if it wants to. */
void notify_open(struct notify *notify, uv_loop_t *loop);
void notify_close(struct notify *notify);
/* It serves, by what that file says. */
void notify_ready(const char *file);
/* This process is called again, and will be ready again. */
void notify_again(void);
void notify_stopping(void);
