/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file says what the fleet agreed on; an operator takes a backend out of one node's use by
 * hand. The two are kept apart, so that status can show both and clearing one gives the other
 * back. The text is read as one from outside: a disk can damage it, and half of a set is worse than
 * none, since nobody would miss the other half.
 */
#include "weir/operate/overrides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balancer/assemble.h"
#include "weir/operate/kept.h"
#include "weir/show.h"

void overrides_fini(struct overrides *overrides)
{
	free(overrides->list);
	*overrides = (struct overrides){0};
}

static int compare(const struct override *override, const char *pool, const char *backend)
{
	int order = strcmp(override->pool, pool);

	return order ? order : strcmp(override->backend, backend);
}

/* Where it is, or belongs. */
static size_t place_of(const struct overrides *overrides, const char *pool, const char *backend)
{
	size_t low = 0, high = overrides->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&overrides->list[middle], pool, backend) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct override *overrides_find(const struct overrides *overrides, const char *pool,
				const char *backend)
{
	size_t at = place_of(overrides, pool, backend);

	if (at == overrides->count || compare(&overrides->list[at], pool, backend) != 0)
		return NULL;
	return &overrides->list[at];
}

static int make_room(struct overrides *overrides)
{
	size_t room = overrides->room ? overrides->room * 2 : 16;
	struct override *grown;

	if (overrides->count < overrides->room)
		return 0;
	grown = realloc(overrides->list, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	overrides->list = grown;
	overrides->room = room;
	return 0;
}

struct override *overrides_add(struct overrides *overrides, const char *pool, const char *backend)
{
	struct override *found = overrides_find(overrides, pool, backend);
	size_t at;

	if (found)
		return found;
	if (strlen(pool) > CONF_NAME_MAX || strlen(backend) > CONF_NAME_MAX || make_room(overrides))
		return NULL;
	at = place_of(overrides, pool, backend);
	found = &overrides->list[at];
	memmove(found + 1, found, (overrides->count++ - at) * sizeof(*found));
	*found = (struct override){0};
	strcpy(found->pool, pool);
	strcpy(found->backend, backend);
	return found;
}

void overrides_remove(struct overrides *overrides, struct override *override)
{
	size_t after = overrides->count - (size_t)(override - overrides->list) - 1;

	memmove(override, override + 1, after * sizeof(*override));
	overrides->count--;
}

bool override_is_set(const struct override *override)
{
	return override && (override->has_state || override->has_percent);
}

bool override_is_empty(const struct override *override)
{
	return !override_is_set(override) && !override->drain_since_ms;
}

/* --- another configuration --- */

/* What the pool of that name is called there. */
static const char *name_after(const char *pool, const struct lineage *lineage,
			      const struct conf *conf)
{
	uint64_t name = assemble_name_identity("pool", pool);

	for (size_t i = 0; i < lineage->before.pool_count; i++) {
		size_t heir = lineage->heirs[i];

		if (lineage->before.pools[i].name == name)
			return heir == LINEAGE_NONE ? pool : conf->pools[heir].name;
	}
	return pool;
}

/* Of two that come to the same name the one whose pool goes on counts, whichever is first. */
int overrides_follow(const struct overrides *overrides, const struct lineage *lineage,
		     const struct conf *conf, struct overrides *ret)
{
	for (size_t i = 0; i < overrides->count; i++) {
		const struct override *from = &overrides->list[i];
		const char *pool = name_after(from->pool, lineage, conf);
		bool moves = strcmp(pool, from->pool) != 0;
		struct override *to = overrides_find(ret, pool, from->backend), one;

		if (to && !moves)
			continue;
		to = overrides_add(ret, pool, from->backend);
		if (!to) {
			overrides_fini(ret);
			return -ENOMEM;
		}
		one = *from;
		memcpy(one.pool, to->pool, sizeof(one.pool));
		*to = one;
	}
	return 0;
}

/* --- as text --- */

static json_t *to_json(const struct override *override)
{
	json_t *object =
		json_pack("{s:s, s:s}", "pool", override->pool, "backend", override->backend);

	if (override->has_state) {
		json_object_set_new(object, "state", json_string(show_admin(override->state)));
		json_object_set_new(object, "state_since_ms",
				    json_integer((json_int_t) override->state_since_ms));
	}
	if (override->has_percent) {
		json_object_set_new(object, "percent", json_integer(override->percent));
		json_object_set_new(object, "percent_since_ms",
				    json_integer((json_int_t) override->percent_since_ms));
	}
	if (override->drain_since_ms)
		json_object_set_new(object, "drain_since_ms",
				    json_integer((json_int_t) override->drain_since_ms));
	return object;
}

json_t *overrides_to_json(const struct overrides *overrides)
{
	json_t *list = json_array();

	for (size_t i = 0; i < overrides->count; i++)
		json_array_append_new(list, to_json(&overrides->list[i]));
	return kept_to_json("overrides", list);
}

/* As read: what is absent is -1 or NULL. */
struct parsed {
	const char *pool, *backend, *state;
	json_int_t state_since, percent, percent_since, drain_since;
};

static bool is_name(const char *name)
{
	return *name && strlen(name) <= CONF_NAME_MAX;
}

static bool parse_state(const struct parsed *parsed, struct override *ret)
{
	if (!parsed->state)
		return parsed->state_since < 0;
	for (int i = POOL_ACTIVE; i <= POOL_MAINT; i++) {
		if (strcmp(parsed->state, show_admin((enum pool_admin)i)) != 0)
			continue;
		ret->has_state = true;
		ret->state = (enum pool_admin)i;
		ret->state_since_ms = (uint64_t)parsed->state_since;
		return parsed->state_since >= 0;
	}
	return false;
}

static bool parse_percent(const struct parsed *parsed, struct override *ret)
{
	if (parsed->percent < 0)
		return parsed->percent_since < 0;
	ret->has_percent = true;
	ret->percent = (uint8_t)parsed->percent;
	ret->percent_since_ms = (uint64_t)parsed->percent_since;
	return parsed->percent < OVERRIDE_WHOLE && parsed->percent_since >= 0;
}

/* NULL, or what is wrong with it. */
static const char *parse_one(json_t *object, struct overrides *overrides)
{
	struct parsed parsed = {
		.state_since = -1, .percent = -1, .percent_since = -1, .drain_since = 0};
	struct override *added;

	if (json_unpack(object, "{s:s, s:s, s?s, s?I, s?I, s?I, s?I !}", "pool", &parsed.pool,
			"backend", &parsed.backend, "state", &parsed.state, "state_since_ms",
			&parsed.state_since, "percent", &parsed.percent, "percent_since_ms",
			&parsed.percent_since, "drain_since_ms", &parsed.drain_since))
		return "has other keys or values than an override";
	if (!is_name(parsed.pool) || !is_name(parsed.backend))
		return "has no right name";
	if (overrides_find(overrides, parsed.pool, parsed.backend))
		return "is there twice";
	added = overrides_add(overrides, parsed.pool, parsed.backend);
	if (!added)
		return "is too much: out of memory";
	if (!parse_state(&parsed, added) || !parse_percent(&parsed, added) ||
	    parsed.drain_since < 0)
		return "has a wrong value";
	added->drain_since_ms = (uint64_t)parsed.drain_since;
	return NULL;
}

static int parse_list(const json_t *list, struct overrides *ret, struct err *err)
{
	json_t *object;
	size_t i;

	if (json_array_size(list) > CONF_BACKENDS_MAX)
		return err_set(err, -EINVAL, "it has more than %d overrides", CONF_BACKENDS_MAX);
	json_array_foreach(list, i, object)
	{
		const char *wrong = parse_one(object, ret);

		if (wrong)
			return err_set(err, -EINVAL, "override %zu %s", i + 1, wrong);
	}
	return 0;
}

int overrides_parse(const char *text, size_t length, struct overrides *ret, struct err *err)
{
	json_t *root, *list;
	int code = kept_parse(text, length, "overrides", &root, &list, err);

	if (code)
		return code;
	code = parse_list(list, ret, err);
	json_decref(root);
	if (code)
		overrides_fini(ret);
	return code;
}
