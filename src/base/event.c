/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/event.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static event_keeper *keeper_now;
static void *keeper_arg;

void event_keep(event_keeper *keeper, void *arg)
{
	keeper_now = keeper;
	keeper_arg = arg;
}

/* The value of the pair at `at`, without its quotes; returns what follows the pair. */
static const char *value(const char *at, const char **ret, size_t *ret_length)
{
	const char *end;

	at += strcspn(at, "= ");
	at += *at == '=';
	if (*at == '"') {
		*ret = ++at;
		for (end = at; *end && *end != '"'; end++)
			end += *end == '\\' && end[1];
		*ret_length = (size_t)(end - at);
		end += *end == '"';
	} else {
		*ret = at;
		*ret_length = strcspn(at, " ");
		end = at + *ret_length;
	}
	return end + (*end == ' ');
}

static void set_subject(struct event *event, int fields)
{
	const char *at = event->fields, *text;
	size_t used = 0, length;

	event->subject[0] = '\0';
	for (int i = 0; i < fields && *at; i++) {
		at = value(at, &text, &length);
		used += (size_t)snprintf(event->subject + used, sizeof(event->subject) - used,
					 "%s%.*s", i ? "/" : "", (int)length, text);
		if (used >= sizeof(event->subject))
			return;
	}
}

void event_note(const struct event_about *about, const char *message, const char *fields, ...)
{
	struct event event = {.kind = about->kind, .message = message, .level = about->level};
	char line[LOG_LINE_MAX];
	va_list args;

	va_start(args, fields);
	vsnprintf(line, sizeof(line), fields, args);
	va_end(args);
	log_write(about->level, about->limit, message, "%s", line);
	if (!keeper_now || !about->kind)
		return;
	clock_gettime(CLOCK_REALTIME, &event.time);
	snprintf(event.fields, sizeof(event.fields), "%.*s", EVENT_FIELDS_MAX - 1, line);
	set_subject(&event, about->subject_fields);
	keeper_now(keeper_arg, &event);
}
