/* SPDX-License-Identifier: BSD-2-Clause */
#include "health/spec.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, const void *data, size_t length)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ULL; /* FNV-1a */
	return hash;
}

static uint64_t hash_of(const struct health_spec *spec)
{
	uint64_t hash = addr_hash(&spec->address, (uint64_t)spec->type << 16 | spec->port);

	for (int i = 0; i < HEALTH_TEXTS; i++)
		hash = mix(hash, spec->texts[i].data, spec->texts[i].length);
	hash = mix(hash, &spec->way, sizeof(spec->way));
	return mix(hash, spec->statuses, sizeof(spec->statuses));
}

struct spec *spec_new(const struct health_spec *from)
{
	size_t bytes = 0;
	struct spec *spec;
	char *at;

	for (int i = 0; i < HEALTH_TEXTS; i++)
		bytes += from->texts[i].length + 1;
	spec = calloc(1, sizeof(*spec) + bytes);
	if (!spec)
		return NULL;
	spec->spec = *from;
	at = spec->bytes;
	for (int i = 0; i < HEALTH_TEXTS; i++) {
		struct health_bytes *text = &spec->spec.texts[i];

		if (text->length)
			memcpy(at, text->data, text->length);
		text->data = at;
		at += text->length + 1;
	}
	spec->hash = hash_of(&spec->spec);
	return spec;
}

static bool same_texts(const struct health_spec *a, const struct health_spec *b)
{
	for (int i = 0; i < HEALTH_TEXTS; i++) {
		if (a->texts[i].length != b->texts[i].length ||
		    memcmp(a->texts[i].data, b->texts[i].data, a->texts[i].length) != 0)
			return false;
	}
	return true;
}

static bool same_times(const struct health_spec *a, const struct health_spec *b)
{
	return a->interval_ms == b->interval_ms && a->timeout_ms == b->timeout_ms &&
	       a->fast_interval_ms == b->fast_interval_ms && a->jitter == b->jitter;
}

static bool same_target(const struct health_spec *a, const struct health_spec *b)
{
	return a->type == b->type && addr_equal(&a->address, &b->address) && a->port == b->port;
}

static bool same_switches(const struct health_spec *a, const struct health_spec *b)
{
	return a->way == b->way && a->head == b->head && a->insecure == b->insecure &&
	       a->record == b->record && memcmp(a->statuses, b->statuses, sizeof(a->statuses)) == 0;
}

bool spec_equal(const struct spec *a, const struct spec *b)
{
	return a->hash == b->hash && same_target(&a->spec, &b->spec) &&
	       same_times(&a->spec, &b->spec) && same_switches(&a->spec, &b->spec) &&
	       same_texts(&a->spec, &b->spec);
}
