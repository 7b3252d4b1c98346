/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/metrics/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROOM_MIN = 64 * 1024,
	TEXT_MAX = 64 * 1024 * 1024,
	BUCKET_NS = 250 * 1000, /* the first */
};

/* --- bytes --- */

static bool make_room(struct metrics_text *text, size_t length)
{
	size_t room = text->room;
	char *grown;

	while (room - text->length < length)
		room = room ? room * 2 : ROOM_MIN;
	if (room == text->room)
		return true;
	grown = room <= TEXT_MAX ? realloc(text->text, room) : NULL;
	if (!grown) {
		text->failed = true;
		return false;
	}
	text->text = grown;
	text->room = room;
	return true;
}

static void put(struct metrics_text *text, const char *bytes, size_t length)
{
	if (text->failed || !make_room(text, length))
		return;
	memcpy(text->text + text->length, bytes, length);
	text->length += length;
}

static void put_text(struct metrics_text *text, const char *string)
{
	put(text, string, strlen(string));
}

static void put_number(struct metrics_text *text, uint64_t value)
{
	char digits[24], *at = digits + sizeof(digits);

	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	put(text, at, (size_t)(digits + sizeof(digits) - at));
}

static void put_real(struct metrics_text *text, double value)
{
	char digits[40];

	if (isnan(value))
		put_text(text, "NaN");
	else if (isinf(value))
		put_text(text, value < 0 ? "-Inf" : "+Inf");
	else
		put(text, digits, (size_t)snprintf(digits, sizeof(digits), "%.10g", value));
}

static void put_escaped(struct metrics_text *text, const char *value)
{
	for (;;) {
		size_t plain = strcspn(value, "\\\"\n");

		put(text, value, plain);
		value += plain;
		if (!*value)
			return;
		put(text, *value == '\n' ? "\\n" : *value == '"' ? "\\\"" : "\\\\", 2);
		value++;
	}
}

/* --- lines --- */

void metrics_begin(struct metrics_text *text, bool open)
{
	*text = (struct metrics_text){.open = open};
}

static void put_comment(struct metrics_text *text, const char *word, const char *what)
{
	put_text(text, word);
	put_text(text, text->name);
	if (text->type == METRIC_COUNTER && !text->open)
		put_text(text, "_total");
	put_text(text, " ");
	put_text(text, what);
	put_text(text, "\n");
}

void metrics_family(struct metrics_text *text, const char *name, enum metric_type type,
		    const char *help)
{
	static const char *const names[] = {"counter", "gauge", "histogram"};

	text->name = name;
	text->type = type;
	put_comment(text, "# HELP ", help);
	put_comment(text, "# TYPE ", names[type]);
}

static void put_labels(struct metrics_text *text, const struct metrics_label *labels, size_t count)
{
	if (!count)
		return;
	for (size_t i = 0; i < count; i++) {
		put(text, i ? "," : "{", 1);
		put_text(text, labels[i].name);
		put(text, "=\"", 2);
		put_escaped(text, labels[i].value);
		put(text, "\"", 1);
	}
	put(text, "}", 1);
}

static void begin_sample(struct metrics_text *text, const struct metrics_label *labels,
			 size_t count)
{
	put_text(text, text->name);
	if (text->type == METRIC_COUNTER)
		put(text, "_total", 6);
	put_labels(text, labels, count);
	put(text, " ", 1);
}

void metrics_sample(struct metrics_text *text, const struct metrics_label *labels, size_t count,
		    uint64_t value)
{
	begin_sample(text, labels, count);
	put_number(text, value);
	put(text, "\n", 1);
}

void metrics_sample_real(struct metrics_text *text, const struct metrics_label *labels,
			 size_t count, double value)
{
	begin_sample(text, labels, count);
	put_real(text, value);
	put(text, "\n", 1);
}

/* --- histograms --- */

void metrics_observe(struct metrics_histogram *histogram, uint64_t ns)
{
	size_t bucket = 0;

	while (bucket < METRICS_BUCKETS && ns > (uint64_t)BUCKET_NS << bucket)
		bucket++;
	histogram->counts[bucket]++;
	histogram->sum_ns += ns;
}

static void put_part(struct metrics_text *text, const char *suffix)
{
	put_text(text, text->name);
	put_text(text, suffix);
}

void metrics_put_histogram(struct metrics_text *text, const struct metrics_histogram *histogram)
{
	uint64_t sum = 0;

	for (size_t i = 0; i <= METRICS_BUCKETS; i++) {
		sum += histogram->counts[i];
		put_part(text, "_bucket{le=\"");
		put_real(text,
			 i < METRICS_BUCKETS ? (double)((uint64_t)BUCKET_NS << i) / 1e9 : INFINITY);
		put_text(text, "\"} ");
		put_number(text, sum);
		put_text(text, "\n");
	}
	put_part(text, "_sum ");
	put_real(text, (double)histogram->sum_ns / 1e9);
	put_text(text, "\n");
	put_part(text, "_count ");
	put_number(text, sum);
	put_text(text, "\n");
}

char *metrics_end(struct metrics_text *text, size_t *ret_length)
{
	char *ret;

	if (text->open)
		put_text(text, "# EOF\n");
	ret = text->text;
	if (text->failed) {
		free(ret);
		ret = NULL;
	}
	*ret_length = text->length;
	*text = (struct metrics_text){0};
	return ret;
}
