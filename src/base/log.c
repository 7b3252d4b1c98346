/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log_json.h"
#include "base/time.h"

static enum log_level level_now = LOG_INFO;
static enum log_format format_now = LOG_TEXT;
static const char *const level_names[] = {"error", "warn", "info", "debug"};

void log_set_level(enum log_level level)
{
	level_now = level;
}

enum log_level log_level(void)
{
	return level_now;
}

void log_set_format(enum log_format format)
{
	format_now = format;
}

/* The journal names its end of the stream by device and inode (systemd.exec(5), JOURNAL_STREAM). */
static bool find_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat here;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &here) == 0 && here.st_dev == device && here.st_ino == inode;
}

const char *log_priority(enum log_level level)
{
	static const char *const priorities[] = {"<3>", "<4>", "<6>", "<7>"};
	static atomic_int journal; /* 0: not looked yet, 1: no, 2: yes */

	if (!journal)
		journal = find_journal() ? 2 : 1;
	return journal == 2 ? priorities[level] : "";
}

/* Returns whether the line may pass, and through ret_held how many were kept back before it. */
static int limit_pass(struct log_limit *limit, uint32_t *ret_held)
{
	uint64_t second = time_now_ns() / TIME_SECOND_NS;

	if (second != limit->second) {
		/* After a burst a single line a second, until a second goes by with none. A few
		 * lines are no burst: the last of those that follow them says how things are. */
		limit->passed = limit->passed >= LOG_BURST && second == limit->second + 1
					? LOG_BURST - 1
					: 0;
		limit->second = second;
	}
	if (limit->passed >= LOG_BURST) {
		limit->held++;
		return 0;
	}
	limit->passed++;
	*ret_held = limit->held;
	limit->held = 0;
	return 1;
}

static size_t add(char *line, size_t used, const char *format, va_list args)
{
	int length = vsnprintf(line + used, LOG_LINE_MAX - used, format, args);

	if (length < 0)
		return used;
	used += (size_t)length;
	return used < LOG_LINE_MAX - 1 ? used : LOG_LINE_MAX - 2;
}

__attribute__((format(printf, 3, 4))) static size_t addf(char *line, size_t used,
							 const char *format, ...)
{
	va_list args;

	va_start(args, format);
	used = add(line, used, format, args);
	va_end(args);
	return used;
}

/* A log that cannot be written must not stop what it reports on. */
static void write_line(const char *line, size_t length)
{
	if (write(STDERR_FILENO, line, length) < 0)
		return;
}

static void write_json(enum log_level level, const char *message, const char *fields)
{
	struct log_parts parts = {
		.level = level_names[level], .message = message, .fields = fields};
	const char *priority = log_priority(level);
	char line[LOG_JSON_MAX + 4];
	size_t used = strlen(priority);

	clock_gettime(CLOCK_REALTIME, &parts.time);
	memcpy(line, priority, used);
	used += log_json(&parts, line + used);
	write_line(line, used);
}

void log_write(enum log_level level, struct log_limit *limit, const char *message,
	       const char *fields, ...)
{
	char line[LOG_LINE_MAX];
	uint32_t held = 0;
	size_t used = 0, begin;
	va_list args;

	if (level > level_now || (limit && !limit_pass(limit, &held)))
		return;
	if (format_now == LOG_TEXT)
		used = addf(line, 0, "%slevel=%s msg=\"%s\"", log_priority(level),
			    level_names[level], message);
	begin = used;
	line[used] = '\0';
	if (*fields) {
		if (format_now == LOG_TEXT)
			used = addf(line, used, " ");
		va_start(args, fields);
		used = add(line, used, fields, args);
		va_end(args);
	}
	if (held)
		used = addf(line, used, " held=%u", held);
	if (format_now == LOG_JSON) {
		line[used] = '\0';
		write_json(level, message, line + begin);
		return;
	}
	line[used++] = '\n';
	write_line(line, used);
}

struct log_quoted log_quote(const char *text)
{
	struct log_quoted quoted;
	size_t used = 0;

	quoted.text[used++] = '"';
	for (const char *c = text; *c && used + 6 < sizeof(quoted.text); c++) {
		unsigned char byte = (unsigned char)*c;

		if (byte == '"' || byte == '\\') {
			quoted.text[used++] = '\\';
			quoted.text[used++] = (char)byte;
		} else if (byte < 0x20 || byte == 0x7f) {
			used += (size_t)snprintf(quoted.text + used, 5, "\\x%02x", byte);
		} else {
			quoted.text[used++] = (char)byte;
		}
	}
	quoted.text[used++] = '"';
	quoted.text[used] = '\0';
	return quoted;
}
