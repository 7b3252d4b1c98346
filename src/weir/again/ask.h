/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that would be called is asked whether it takes the file that this process runs on
 * (`check FILE`), before anything ends. It is another process, which may be slow, stuck or broken:
 * it gets 20 s, and is killed then; the loop goes on meanwhile. The loop's thread.
 */
#pragma once

#include <uv.h>

#include "base/err.h"

struct again_ask;

/* `err` is NULL if it takes the file, else what it said. The question is gone by then. */
typedef void again_answered(void *arg, const struct err *err);

/* 0, or -errno: it cannot be asked. */
int again_ask_start(uv_loop_t *loop, const char *file, again_answered *answered, void *arg,
		    struct again_ask **ret, struct err *err);
/* No answer is wanted any more. Its handles close as the loop runs. */
void again_ask_abandon(struct again_ask *ask);
