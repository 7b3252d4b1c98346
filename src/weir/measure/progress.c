/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/measure/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/time.h"

enum { QUIET_MS = 2000 };

void progress_show(void *arg, uint32_t done, uint32_t all)
{
	struct progress *progress = arg;
	uint64_t now_ms = time_now_ms();
	bool terminal = isatty(STDERR_FILENO);

	if (!progress->began_ms)
		progress->began_ms = now_ms;
	if (now_ms - progress->began_ms >= QUIET_MS && (terminal || !progress->shown)) {
		fprintf(stderr, "%smeasuring: %u of %u%s", terminal ? "\r" : "", done, all,
			terminal ? "" : "\n");
		progress->shown = true;
	}
	if (done == all && progress->shown && terminal)
		fputc('\n', stderr);
}
