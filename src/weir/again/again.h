/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This process called again, as it was called, by what stands at its program's path by then: the
 * same program, or a newer one that was put there. One thread.
 */
#pragma once

#include <signal.h>

#include "base/err.h"

/* Notes how this process was called, and by which path: at its start, for files are moved. */
void again_remember(void);
/* By which path that is. -ENOENT: it is not known, and why. */
int again_program(const char **ret, struct err *err);
/*
 * What ends a daemon, or has it read its file, would end a process that is between two programs,
 * and leave all at work that was to go. So these signals wait from before the one has let go of
 * them until the other takes them.
 */
#define AGAIN_SIGNALS                   \
	{                               \
		SIGTERM, SIGINT, SIGHUP \
	}
void again_hold_signals(void);
void again_take_signals(void);
/* Does not return but for a failure: -errno. Descriptors that are not for it must be closed. */
int again_call(struct err *err);
