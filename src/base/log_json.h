/* SPDX-License-Identifier: BSD-2-Clause */
/* A log line's parts as a JSON object on one line. Pure; for log.c and its test. */
#pragma once

#include <stddef.h>
#include <time.h>

enum { LOG_JSON_MAX = 2048 };

struct log_parts {
	struct timespec time;
	const char *level, *message;
	const char *fields; /* key=value pairs; a value with blanks is as log_quote has it */
};

/* Into `ret` of LOG_JSON_MAX, with a newline at the end: its length. What has no room is left out,
 * a pair or the end of a value; the object is whole. */
size_t log_json(const struct log_parts *parts, char *ret);
