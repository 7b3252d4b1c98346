/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/service/notify.h"

#include <stdint.h>
#include <systemd/sd-daemon.h>

enum { PINGS = 4 }; /* within the time that the watchdog waits */

static void on_watchdog(uv_timer_t *timer)
{
	(void)timer;
	sd_notify(0, "WATCHDOG=1");
}

void notify_open(struct notify *notify, uv_loop_t *loop)
{
	uint64_t wait_us = 0, pause_ms;

	uv_timer_init(loop, &notify->watchdog);
	if (sd_watchdog_enabled(0, &wait_us) <= 0)
		return;
	pause_ms = wait_us / 1000 / PINGS;
	/* At once, too: after a restart the time runs since before. */
	uv_timer_start(&notify->watchdog, on_watchdog, 0, pause_ms ? pause_ms : 1);
	sd_notify(0, "WATCHDOG=1");
}

void notify_close(struct notify *notify)
{
	uv_close((uv_handle_t *)&notify->watchdog, NULL);
}

void notify_ready(const char *file)
{
	sd_notifyf(0, "READY=1\nSTATUS=serves by %s", file);
}

void notify_again(void)
{
	sd_notify(0, "RELOADING=1\nWATCHDOG=1\nSTATUS=is called again");
}

void notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}
