/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/draining/answer.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"

enum {
	ESTABLISHED_MAX = 100 * 1000 * 1000, /* connections of a VIP that are believed */
	REASON_MAX = 80,                     /* letters of an agent's own words */
};

struct reading {
	const struct prefix *vips;
	size_t count, host_count; /* those of full length are before the others */
	bool *known;              /* of each: the agent counts it */
	uint64_t sum;
};

static int compare(const void *a, const void *b)
{
	const struct prefix *one = a, *two = b;
	bool one_is_host = prefix_is_host(one), two_is_host = prefix_is_host(two);

	if (one_is_host != two_is_host)
		return one_is_host ? -1 : 1;
	return memcmp(&one->addr, &two->addr, sizeof(one->addr));
}

void answer_sort(struct prefix *vips, size_t count)
{
	qsort(vips, count, sizeof(*vips), compare);
}

static bool overlap(const struct prefix *a, const struct prefix *b)
{
	return prefix_has(a, &b->addr) || prefix_has(b, &a->addr);
}

/* Whether the agent's VIP is one of ours, or shares addresses with some: most are one address. */
static bool note(struct reading *reading, const struct prefix *vip)
{
	bool is_host = prefix_is_host(vip), found = false;
	const struct prefix *same = NULL;

	if (is_host && reading->host_count)
		same = bsearch(vip, reading->vips, reading->host_count, sizeof(*vip), compare);
	if (same) {
		reading->known[same - reading->vips] = true;
		return true;
	}
	for (size_t i = is_host ? reading->host_count : 0; i < reading->count; i++) {
		if (!overlap(&reading->vips[i], vip))
			continue;
		found = true;
		/* A part of a prefix is not all of it; that the rest has none is not known. */
		if (prefix_has(vip, &reading->vips[i].addr) &&
		    vip->length <= reading->vips[i].length)
			reading->known[i] = true;
	}
	return found;
}

static int read_vip(struct reading *reading, const json_t *item, struct err *err)
{
	const char *text = json_string_value(json_object_get(item, "vip"));
	const json_t *number = json_object_get(item, "established");
	json_int_t established = json_integer_value(number);
	struct prefix vip;

	if (!text || prefix_parse(text, &vip) || !json_is_integer(number))
		return err_set(err, -EINVAL, "its answer is not as agents answer");
	if (established < 0 || established > ESTABLISHED_MAX)
		return err_set(err, -EINVAL,
			       "it tells of %" JSON_INTEGER_FORMAT " connections, which cannot be",
			       established);
	if (note(reading, &vip))
		reading->sum += (uint64_t)established;
	return 0;
}

static int read_vips(struct reading *reading, const json_t *vips, struct err *err)
{
	char text[ADDR_TEXT_MAX];
	const json_t *item;
	size_t i;

	json_array_foreach(vips, i, item)
	{
		int error = read_vip(reading, item, err);

		if (error)
			return error;
	}
	for (i = 0; i < reading->count; i++) {
		if (!reading->known[i])
			return err_set(err, -EINVAL, "it does not have VIP %s",
				       prefix_format_short(&reading->vips[i], text));
	}
	return 0;
}

/* An agent that could not count says so. */
static int read_error(const json_t *answer, struct err *err)
{
	const char *error = json_string_value(json_object_get(answer, "error"));

	if (!error || !json_is_boolean(json_object_get(answer, "at_least")) ||
	    !json_is_array(json_object_get(answer, "vips")))
		return err_set(err, -EINVAL, "its answer is not as agents answer");
	if (!*error)
		return 0;
	err_set(err, -EINVAL, "it cannot count: %.*s", REASON_MAX, error);
	escape_controls(err->text);
	return -EINVAL;
}

static int read_answer(const json_t *answer, struct reading *reading, struct err *err)
{
	int error = read_error(answer, err);

	if (!error)
		error = read_vips(reading, json_object_get(answer, "vips"), err);
	if (!error && reading->sum == 0 && json_is_true(json_object_get(answer, "at_least")))
		error = err_set(err, -EINVAL, "it did not look at all sockets");
	return error;
}

int answer_read(const char *body, size_t length, const struct prefix *vips, size_t count,
		uint64_t *ret, struct err *err)
{
	struct reading reading = {.vips = vips, .count = count};
	json_error_t where;
	json_t *answer;
	int error;

	if (length > ANSWER_MAX)
		return err_set(err, -EINVAL, "its answer is too long");
	while (reading.host_count < count && prefix_is_host(&vips[reading.host_count]))
		reading.host_count++;
	reading.known = calloc(count + 1, sizeof(bool));
	if (!reading.known)
		return err_set(err, -ENOMEM, "out of memory");
	answer = json_loadb(body, length, 0, &where);
	error = answer ? read_answer(answer, &reading, err)
		       : err_set(err, -EINVAL, "its answer is not as agents answer");
	json_decref(answer);
	free(reading.known);
	if (!error)
		*ret = reading.sum;
	return error;
}
