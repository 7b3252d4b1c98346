/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A change of state: a line of the log, and an event for who keeps them (weir/events). One call
 * makes both, so that neither says what the other does not. Any thread, but for event_keep.
 */
#pragma once

#include <time.h>

#include "base/log.h"

enum { EVENT_FIELDS_MAX = 352, EVENT_SUBJECT_MAX = 128 };

/* What the caller knows of an event beforehand. */
struct event_about {
	const char *kind; /* constant text: "backend"; NULL: no news, for the log alone */
	/* How many of the first fields say by their values whom it is about, "pool/backend"; 0: it
	 * is about the daemon itself. */
	int subject_fields;
	enum log_level level;
	struct log_limit *limit; /* of the log's line alone; NULL: none */
};

struct event {
	struct timespec time;       /* the wall's */
	const char *kind, *message; /* constant text */
	enum log_level level;
	char subject[EVENT_SUBJECT_MAX];
	char fields[EVENT_FIELDS_MAX]; /* key=value pairs, as log_write has them */
};

/* Called on the thread that the event happens on. */
typedef void event_keeper(void *arg, const struct event *event);

/* From now on; NULL: nobody keeps them. While no other thread notes events. */
void event_keep(event_keeper *keeper, void *arg);

/* `message` is constant text; `fields` as of log_write, one at least. What is too long is cut. */
void event_note(const struct event_about *about, const char *message, const char *fields, ...)
	__attribute__((format(printf, 3, 4)));
