/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that is freed as a whole: one configuration generation lives in one arena. What it hands
 * out is zeroed and aligned for any type, and stays valid until arena_free. Out of memory ends the
 * process: a control plane that cannot allocate a few kilobytes has nothing better to do, and the
 * data plane goes on without it. One thread at a time.
 */
#pragma once

#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena);
void *arena_alloc(struct arena *arena, size_t size);
/* count * size with the overflow checked. */
void *arena_array(struct arena *arena, size_t count, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2)));
