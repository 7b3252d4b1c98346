/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dp/verdict.h"

static json_t *rows;

/* jansson's answers are checked in one place: without memory there is no report. */
static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "a benchmark's report: %s\n", strerror(errno ? errno : ENOMEM));
	exit(1);
}

static json_t *row_find(const char *name)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0)
			return row;
	}
	return NULL;
}

/* Of a row without a value nothing is told. */
static void row_set(const char *name, const char *key, json_t *value)
{
	json_t *row = row_find(name);

	if (row)
		check(json_object_set(row, key, value));
	json_decref(value);
}

void report_value(const char *name, const char *unit, double value)
{
	json_t *row;

	if (!rows)
		rows = json_array();
	row = row_find(name);
	if (!row) {
		row = json_pack("{s:s, s:s, s:[]}", "name", name, "unit", unit, "values");
		check(json_array_append_new(rows, row));
	}
	check(json_array_append_new(json_object_get(row, "values"), json_real(value)));
}

void report_compare(const char *name, const char *base)
{
	row_set(name, "base", json_string(base));
}

void report_at_most(const char *name, double limit)
{
	row_set(name, "at_most", json_real(limit));
}

void report_at_least(const char *name, double limit)
{
	row_set(name, "at_least", json_real(limit));
}

void report_limit(const char *name, double limit)
{
	row_set(name, "limit", json_real(limit));
}

void report_note(const char *name, const char *note)
{
	row_set(name, "note", json_string(note));
}

void report_print(void)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		check(json_dumpf(row, stdout, JSON_COMPACT | JSON_REAL_PRECISION(8)));
		putchar('\n');
	}
	check(fflush(stdout));
	json_decref(rows);
	rows = NULL;
}

const char *report_verdict(uint32_t verdict)
{
	static const char *const names[VERDICT_COUNT] = {
#define NAME(name, action, help) #name,
		VERDICTS(NAME)
#undef NAME
	};

	return names[verdict];
}
