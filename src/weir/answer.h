/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands in a daemon's answer, for those that print it: an answer may be another version's. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

/* "?": it is not there, or no text. */
static inline const char *answer_text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "?";
}

/* 0: it is not there, or no whole number. */
static inline json_int_t answer_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static inline bool answer_is(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}
