/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything that decided about a packet on a live node: as JSON, and as lines of words from it. */
#pragma once

#include <jansson.h>

#include "engine/live/live.h"
#include "weir/live/names.h"

struct steps {
	struct live *live;
	const struct names *names;
	const struct dp_result *result;
	const uint8_t *out; /* the frame afterwards */
	size_t length;      /* of the frame as it came */
	uint64_t now_ns;
	const char *packet; /* what it is */
};

/* Of the live engine's last run; a new reference. */
json_t *steps_json(const struct steps *why);
/* On standard output. */
void steps_print(uint64_t number, const json_t *json);
