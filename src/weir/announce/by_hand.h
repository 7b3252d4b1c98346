/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What operators have withdrawn on this node (weir withdraw, weir node drain), as a set that a file
 * keeps over any end of the daemon (operate/store.h). Only values: nothing is done with them here.
 * Times are of the wall clock, in milliseconds; 0: it is not. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/addr.h"
#include "base/err.h"

struct withdrawal {
	struct prefix prefix;
	uint64_t since_ms;
};

/* Zero-initialise. */
struct by_hand {
	struct withdrawal *list; /* by prefix */
	size_t count, room;
	uint64_t all_since_ms;   /* every VIP, also ones that are not there yet */
	uint64_t drain_since_ms; /* the node drains */
};

void by_hand_fini(struct by_hand *by_hand);
/* NULL: it is not withdrawn by itself. Valid until the set changes. */
const struct withdrawal *by_hand_find(const struct by_hand *by_hand, const struct prefix *prefix);
/* The same again changes nothing. 0 or -ENOMEM. */
int by_hand_add(struct by_hand *by_hand, const struct prefix *prefix, uint64_t since_ms);
/* Whether it was there. */
bool by_hand_remove(struct by_hand *by_hand, const struct prefix *prefix);
bool by_hand_is_empty(const struct by_hand *by_hand);

/* As a file's text: a new reference, NULL when out of memory; and back, into an empty set. */
json_t *by_hand_to_json(const struct by_hand *by_hand);
int by_hand_parse(const char *text, size_t length, void *ret, struct err *err);
