/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log lines on standard error: `level=info msg="..." key=value ...`, or the same as JSON. Where
 * that is the journal, each begins with its priority, which is not shown. Four levels. What a peer
 * or a packet can cause goes through a struct log_limit, which lets a burst pass, then a line a
 * second, and says how many it kept back. Any thread may log; a line is one write. A change of
 * state is noted by base/event.h, which logs it.
 */
#pragma once

#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

enum log_format { LOG_TEXT, LOG_JSON };

enum { LOG_LINE_MAX = 1024, LOG_BURST = 10 };

/* One a call site or a peer; zero-initialised. One thread at a time. */
struct log_limit {
	uint64_t second;
	uint32_t passed; /* in the current second */
	uint32_t held;   /* kept back since the last line that passed */
};

/* Lines above this level are dropped; LOG_INFO by default. */
void log_set_level(enum log_level level);
enum log_level log_level(void);
/* LOG_TEXT by default. */
void log_set_format(enum log_format format);
/* "<3>" or the like where standard error is the journal, for what is written there by hand; "". */
const char *log_priority(enum log_level level);

/* `fields` is a printf format of `key=value` pairs, or "" for none; use log_quote for a value
 * that may hold blanks or come from outside. A line longer than LOG_LINE_MAX is cut. */
void log_write(enum log_level level, struct log_limit *limit, const char *message,
	       const char *fields, ...) __attribute__((format(printf, 4, 5)));

#define log_error(message, ...) log_write(LOG_ERROR, 0, message, __VA_ARGS__)
#define log_warn(message, ...)  log_write(LOG_WARN, 0, message, __VA_ARGS__)
#define log_info(message, ...)  log_write(LOG_INFO, 0, message, __VA_ARGS__)
#define log_debug(message, ...) log_write(LOG_DEBUG, 0, message, __VA_ARGS__)

enum { LOG_QUOTED_MAX = 320 };
struct log_quoted {
	char text[LOG_QUOTED_MAX];
};
/* The text in double quotes, with quotes, backslashes and control characters escaped. Used as
 * log_quote(text).text in the arguments of a log line. */
struct log_quoted log_quote(const char *text);
