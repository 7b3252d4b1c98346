/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prometheus' text format 0.0.4, and OpenMetrics 1.0.0: a growing text, a family at a time. Names
 * are without `_total`, which counters get. No timestamps. When memory ends the text is `failed`,
 * and what is written afterwards goes nowhere. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metrics_text {
	char *text;
	size_t length, room;
	bool open; /* OpenMetrics */
	bool failed;
	const char *name; /* of the family */
	enum metric_type type;
};

struct metrics_label {
	const char *name, *value;
};

#define METRICS_OPEN_TYPE  "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define METRICS_PLAIN_TYPE "text/plain; version=0.0.4; charset=utf-8"

void metrics_begin(struct metrics_text *text, bool open);
void metrics_family(struct metrics_text *text, const char *name, enum metric_type type,
		    const char *help);
/* Of the family that was begun last. Values are escaped. */
void metrics_sample(struct metrics_text *text, const struct metrics_label *labels, size_t count,
		    uint64_t value);
void metrics_sample_real(struct metrics_text *text, const struct metrics_label *labels,
			 size_t count, double value);
/* metrics_put(text, value, {"pool", name}, ...) */
#define METRICS_LABELS(...)                          \
	(const struct metrics_label[]){__VA_ARGS__}, \
		sizeof((const struct metrics_label[]){__VA_ARGS__}) / sizeof(struct metrics_label)
#define metrics_put(text, number, ...) metrics_sample(text, METRICS_LABELS(__VA_ARGS__), (number))
#define metrics_put_real(text, number, ...) \
	metrics_sample_real(text, METRICS_LABELS(__VA_ARGS__), (number))

/* How often each length of time was seen: powers of two of a quarter of a millisecond. */
enum { METRICS_BUCKETS = 14 }; /* the last is 2.048 s; beyond is infinity's */
struct metrics_histogram {
	uint64_t counts[METRICS_BUCKETS + 1];
	uint64_t sum_ns;
};
void metrics_observe(struct metrics_histogram *histogram, uint64_t ns);
/* The family is a histogram in seconds. */
void metrics_put_histogram(struct metrics_text *text, const struct metrics_histogram *histogram);

/* Takes the text; NULL: it failed. */
char *metrics_end(struct metrics_text *text, size_t *ret_length);
