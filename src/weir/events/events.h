/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What changed of late: the last EVENTS_MAX events that base/event.h notes, each by a number that
 * counts from this daemon's start. Who changes all the time cannot push out the rest: of one
 * subject a burst is kept and then one in EVENTS_REST_MS; the others are counted, and the last of
 * them is kept once it is quiet, with how many there were. All of it is in memory and ends with
 * the daemon; the log has what was before.
 *
 * events_note and events_list may be called on any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/event.h"

enum {
	EVENTS_MAX = 4096,
	EVENTS_BURST = 16,      /* of a subject, at once */
	EVENTS_REST_MS = 30000, /* then one in so much time */
	EVENTS_LIST_MAX = 500,  /* of one answer */
};

struct events;

/* NULL: out of memory. */
struct events *events_new(void);
void events_free(struct events *events);

/* Keeps the event; an event_keeper. `now_ms` is the clock's. */
void events_note(struct events *events, const struct event *event, uint64_t now_ms);

struct events_wanted {
	bool newest;      /* the last `limit`; otherwise the first after `since` */
	uint64_t since;   /* a number */
	uint64_t limit;   /* EVENTS_LIST_MAX at most */
	const char *kind; /* NULL: all */
};

/*
 * {"started_ms": ..., "last": the newest one's number, "next": `since` to go on with, "lost": how
 * many after `since` are not kept any more, "suppressed": ..., "kept": ..., "events": [...]}; a
 * new reference. "started_ms", of the wall clock, tells one daemon's numbers from another's.
 */
json_t *events_list(struct events *events, const struct events_wanted *wanted, uint64_t now_ms);

/* The control socket's answer to {"op": "events", ...}: a new reference. */
json_t *events_answer(struct events *events, const json_t *request);

/* --- route.c: GET /api/v1/events of the admin port --- */

struct http_exchange;
void events_reply(struct events *events, struct http_exchange *exchange);
