/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/time.h"

enum { ROWS_MAX = 40 };

struct row {
	const char *name;
	const struct row *base;
	double ms[TIMING_ROUNDS];
	size_t count;
};

static struct row rows[ROWS_MAX];
static size_t row_count;

uint64_t timing_spent_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * TIME_SECOND_NS + (uint64_t)now.tv_nsec;
}

static struct row *row_of(const char *name)
{
	size_t at = 0;

	while (at < row_count && strcmp(rows[at].name, name) != 0)
		at++;
	if (at == ROWS_MAX) {
		fprintf(stderr, "too many rows\n");
		exit(1);
	}
	if (at == row_count)
		rows[row_count++].name = name;
	return &rows[at];
}

void timing_add(const char *name, double value)
{
	struct row *row = row_of(name);

	if (row->count < TIMING_ROUNDS)
		row->ms[row->count++] = value;
}

void timing_note(const char *name, uint64_t since_ns)
{
	timing_add(name, (double)(timing_spent_ns() - since_ns) / TIME_MILLI_NS);
}

void timing_compare(const char *name, const char *base)
{
	row_of(name)->base = row_of(base);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* 0: there is nothing to compare with. */
static double ratio_of(const struct row *row)
{
	double ratios[TIMING_ROUNDS];

	if (!row->base || row->base->count < row->count)
		return 0;
	for (size_t i = 0; i < row->count; i++)
		ratios[i] = row->base->ms[i] / row->ms[i];
	qsort(ratios, row->count, sizeof(*ratios), compare);
	return ratios[row->count / 2];
}

static json_t *report_row(const struct row *row)
{
	double ratio = ratio_of(row), sorted[TIMING_ROUNDS];
	json_t *json;

	memcpy(sorted, row->ms, sizeof(sorted));
	qsort(sorted, row->count, sizeof(*sorted), compare);
	printf("%-48s %10.3f %10.3f %10.3f", row->name, sorted[0], sorted[row->count / 2],
	       sorted[row->count - 1]);
	printf(row->base ? " %9.1f\n" : "\n", ratio);
	json = json_pack("{s:s, s:f, s:f, s:f}", "name", row->name, "min_ms", sorted[0],
			 "median_ms", sorted[row->count / 2], "max_ms", sorted[row->count - 1]);
	if (row->base)
		json_object_set_new(json, "times_faster", json_real(ratio));
	return json;
}

json_t *timing_report(void)
{
	json_t *list = json_array();

	printf("%-48s %10s %10s %10s %9s\n", "MILLISECONDS", "LEAST", "MIDDLE", "MOST", "x FASTER");
	for (size_t i = 0; i < row_count; i++)
		json_array_append_new(list, report_row(&rows[i]));
	return list;
}
