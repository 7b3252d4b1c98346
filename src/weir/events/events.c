/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/events/events.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log_json.h"
#include "base/time.h"

enum {
	SUBJECTS = 1024, /* whose rates are known at a time */
	PROBES = 8,      /* places that one may have */
	HELD = 64,       /* subjects that change too often, whose last event waits */
};

struct entry {
	uint64_t seq;
	struct event event;
	uint32_t held; /* that were not kept, before it */
};

/* A bucket of tokens: what is left of the burst, filled up by time. */
struct rate {
	uint32_t hash;
	uint32_t left;
	uint64_t filled_ms; /* 0: nobody's */
	uint32_t held;      /* not kept since the last that was */
};

/* The last one of a subject that was not kept. */
struct waiting {
	struct rate *rate; /* NULL: free */
	struct event event;
};

struct events {
	pthread_mutex_t mutex;
	uint64_t last; /* number of the newest; they begin with 1 */
	uint64_t started_ms;
	uint64_t suppressed;
	struct rate rates[SUBJECTS];
	struct waiting waiting[HELD];
	struct entry ring[EVENTS_MAX]; /* number N is at N % EVENTS_MAX */
};

struct events *events_new(void)
{
	struct events *events = calloc(1, sizeof(*events));

	if (!events)
		return NULL;
	pthread_mutex_init(&events->mutex, NULL);
	events->started_ms = time_wall_ms();
	return events;
}

void events_free(struct events *events)
{
	if (events)
		pthread_mutex_destroy(&events->mutex);
	free(events);
}

/* --- how often --- */

static uint32_t hash_of(const struct event *event)
{
	uint32_t hash = 2166136261U;

	for (const char *c = event->kind; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619U;
	for (const char *c = event->subject; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619U;
	return hash;
}

static void fill(struct rate *rate, uint64_t now_ms)
{
	uint64_t more;

	/* Another thread may have looked at the clock before. */
	if (now_ms <= rate->filled_ms)
		return;
	more = (now_ms - rate->filled_ms) / EVENTS_REST_MS;
	rate->filled_ms += more * EVENTS_REST_MS;
	rate->left = rate->left + more > EVENTS_BURST ? EVENTS_BURST : rate->left + (uint32_t)more;
}

/* Its own, or one whose subject has been quiet; with too many subjects that all are busy, one that
 * is another's too. */
static struct rate *find_rate(struct events *events, uint32_t hash, uint64_t now_ms)
{
	struct rate *free_one = NULL;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct rate *rate = &events->rates[(hash + i) % SUBJECTS];

		if (rate->filled_ms)
			fill(rate, now_ms);
		if (rate->filled_ms && rate->hash == hash)
			return rate;
		if (!free_one && (!rate->filled_ms || rate->left == EVENTS_BURST))
			free_one = rate;
	}
	if (!free_one)
		return &events->rates[hash % SUBJECTS];
	*free_one = (struct rate){.hash = hash, .left = EVENTS_BURST, .filled_ms = now_ms};
	return free_one;
}

/* --- what is kept --- */

static void append(struct events *events, struct rate *rate, const struct event *event)
{
	struct entry *entry = &events->ring[++events->last % EVENTS_MAX];

	rate->left--;
	*entry = (struct entry){.seq = events->last, .event = *event, .held = rate->held};
	rate->held = 0;
}

static struct waiting *find_waiting(struct events *events, const struct rate *rate)
{
	struct waiting *free_one = NULL;

	for (size_t i = 0; i < HELD; i++) {
		if (events->waiting[i].rate == rate)
			return &events->waiting[i];
		if (!events->waiting[i].rate && !free_one)
			free_one = &events->waiting[i];
	}
	return free_one;
}

/* Those whose time has come, for then the last of each says how things are. */
static void flush(struct events *events, uint64_t now_ms)
{
	for (size_t i = 0; i < HELD; i++) {
		struct waiting *waiting = &events->waiting[i];

		if (!waiting->rate)
			continue;
		fill(waiting->rate, now_ms);
		if (!waiting->rate->left)
			continue;
		waiting->rate->held--;
		events->suppressed--;
		append(events, waiting->rate, &waiting->event);
		waiting->rate = NULL;
	}
}

static void hold(struct events *events, struct rate *rate, const struct event *event)
{
	struct waiting *waiting = find_waiting(events, rate);

	rate->held++;
	events->suppressed++;
	if (waiting)
		*waiting = (struct waiting){.rate = rate, .event = *event};
}

void events_note(struct events *events, const struct event *event, uint64_t now_ms)
{
	struct rate *rate;

	pthread_mutex_lock(&events->mutex);
	flush(events, now_ms);
	rate = find_rate(events, hash_of(event), now_ms);
	if (rate->left)
		append(events, rate, event);
	else
		hold(events, rate, event);
	pthread_mutex_unlock(&events->mutex);
}

/* --- what is shown --- */

/* The fields by themselves are what the log's JSON has beside time, level and message. */
static json_t *show(const struct entry *entry)
{
	static const char *const levels[] = {"error", "warn", "info", "debug"};
	const struct event *event = &entry->event;
	struct log_parts parts = {.time = event->time, .level = "", .message = "subject"};
	char line[LOG_JSON_MAX + 1], pair[EVENT_SUBJECT_MAX + 4];
	json_t *object = json_object(), *fields, *subject;

	parts.fields = event->fields;
	line[log_json(&parts, line)] = '\0';
	fields = json_loads(line, 0, NULL);
	/* The subject came from the same text, so from its escapes. */
	snprintf(pair, sizeof(pair), "s=\"%s\"", event->subject);
	parts.fields = pair;
	line[log_json(&parts, line)] = '\0';
	subject = json_loads(line, 0, NULL);
	json_object_set_new(object, "seq", json_integer((json_int_t)entry->seq));
	json_object_set(object, "time", json_object_get(fields, "time"));
	json_object_set_new(object, "kind", json_string(event->kind));
	json_object_set(object, "subject", json_object_get(subject, "s"));
	json_object_set_new(object, "level", json_string(levels[event->level]));
	json_object_set_new(object, "text", json_string(event->message));
	json_object_del(fields, "time");
	json_object_del(fields, "level");
	json_object_del(fields, "msg");
	if (entry->held)
		json_object_set_new(object, "suppressed", json_integer(entry->held));
	json_object_set_new(object, "fields", fields ? fields : json_object());
	json_decref(subject);
	return object;
}

static bool is_wanted(const struct entry *entry, const char *kind)
{
	return !kind || strcmp(entry->event.kind, kind) == 0;
}

static uint64_t first_kept(const struct events *events)
{
	return events->last > EVENTS_MAX ? events->last - EVENTS_MAX + 1 : 1;
}

/* Where to begin so that the rest has `limit` of them at most. */
static uint64_t newest(const struct events *events, const struct events_wanted *wanted)
{
	uint64_t seq = events->last, found = 0;

	for (; seq >= first_kept(events) && found < wanted->limit; seq--)
		found += is_wanted(&events->ring[seq % EVENTS_MAX], wanted->kind);
	return seq + 1;
}

json_t *events_list(struct events *events, const struct events_wanted *wanted, uint64_t now_ms)
{
	json_t *list = json_array(), *answer;
	uint64_t first, seq, lost = 0;

	pthread_mutex_lock(&events->mutex);
	flush(events, now_ms);
	first = first_kept(events);
	seq = wanted->newest ? newest(events, wanted) : wanted->since + 1;
	if (seq < first && !wanted->newest) {
		lost = first - seq;
		seq = first;
	}
	for (; seq <= events->last && json_array_size(list) < wanted->limit; seq++) {
		const struct entry *entry = &events->ring[seq % EVENTS_MAX];

		if (is_wanted(entry, wanted->kind))
			json_array_append_new(list, show(entry));
	}
	/* Numbers of an earlier daemon are greater. */
	answer = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "started_ms",
			   (json_int_t)events->started_ms, "last", (json_int_t)events->last, "next",
			   (json_int_t)(seq > events->last ? events->last : seq - 1), "lost",
			   (json_int_t)lost, "suppressed", (json_int_t)events->suppressed, "kept",
			   (json_int_t)(events->last + 1 - first), "events", list);
	pthread_mutex_unlock(&events->mutex);
	return answer;
}

json_t *events_answer(struct events *events, const json_t *request)
{
	struct events_wanted wanted = {.newest = true};
	json_int_t since = -1, limit = EVENTS_LIST_MAX;
	const char *op;

	if (json_unpack((json_t *)request, "{s:s, s?I, s?I, s?s !}", "op", &op, "since", &since,
			"limit", &limit, "kind", &wanted.kind))
		return json_pack("{s:s}", "error", "expected since, limit, kind, or less");
	if (since < -1 || limit < 0 || limit > EVENTS_LIST_MAX)
		return json_pack("{s:s}", "error", "since is a number, limit one up to 500");
	if (since >= 0) {
		wanted.newest = false;
		wanted.since = (uint64_t)since;
	}
	wanted.limit = (uint64_t)limit;
	return events_list(events, &wanted, time_now_ms());
}
