/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all files that a daemon keeps (store.h) look like: an object of a version and one list.
 * They are read as texts from outside: a disk can damage them. Pure.
 */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/err.h"

/* The object, a new reference, of a list whose reference it takes. NULL: out of memory. */
json_t *kept_to_json(const char *key, json_t *list);
/* The object of a text, a new reference, and the list in it. -EINVAL: it is no such text. */
int kept_parse(const char *text, size_t length, const char *key, json_t **ret, json_t **ret_list,
	       struct err *err);
