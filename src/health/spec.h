/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a check does, kept: a copy of its own in one piece, which can be compared. Two specs are the
 * same when a probe of the one says all that a probe of the other would; how many results in a row
 * count, and what is believed before the first, is not of the probe. Heap; no thread of its own.
 */
#pragma once

#include "health/health.h"

struct spec {
	struct health_spec spec; /* its texts, each with a zero byte after it, are in `bytes` */
	uint64_t hash;
	char bytes[];
};

/* NULL: out of memory. For free(). */
struct spec *spec_new(const struct health_spec *spec);
bool spec_equal(const struct spec *a, const struct spec *b);

/* A text of a kept spec, ended by a zero; NULL: not given. */
static inline const char *spec_text(const struct health_spec *spec, enum health_text text)
{
	return spec->texts[text].length ? spec->texts[text].data : NULL;
}

static inline bool spec_has_status(const struct health_spec *spec, unsigned status)
{
	unsigned bit = status - HEALTH_STATUS_MIN;

	return status >= HEALTH_STATUS_MIN && status <= HEALTH_STATUS_MAX &&
	       spec->statuses[bit / 64] >> bit % 64 & 1;
}
