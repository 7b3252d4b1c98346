/* SPDX-License-Identifier: BSD-2-Clause */
/* What each verdict means to who operates a node: `weir explain`. A verdict without does not
 * compile. */
#pragma once

#include <jansson.h>

#include "dp/verdict.h"

enum { EXPLAIN_LINES_MAX = 5 };

struct explain_text {
	const char *meaning;                   /* beside the list's own help */
	const char *causes[EXPLAIN_LINES_MAX]; /* likely ones, the likeliest first; NULL ends */
	const char *steps[EXPLAIN_LINES_MAX];  /* what to do: command lines, or a sentence */
};

/* `verdict` is below VERDICT_COUNT. */
const struct explain_text *explain_text(enum verdict verdict);

/* explain.c: all of it with the verdict's name, action and help; a new reference. */
json_t *explain_json(enum verdict verdict);
