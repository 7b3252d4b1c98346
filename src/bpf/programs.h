/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs pinned beside the links that attach them, as DIR/program-ID. A link says only the id of
 * its program, and the kernel opens one by its id for CAP_SYS_ADMIN alone, which daemons do
 * without: so whatever is to be attached by a pinned link is pinned first, and stays while one
 * attaches it. Any thread, one at a time.
 */
#pragma once

#include <stdint.h>

/* 0, also where it is pinned already; or -errno. */
int programs_pin(const char *dir, int program_fd);
/* A descriptor, or -errno. */
int programs_open(const char *dir, uint32_t id);
/* Unpins what no link that is pinned in `dir` as PREFIX... attaches. */
void programs_forget(const char *dir, const char *prefix);
