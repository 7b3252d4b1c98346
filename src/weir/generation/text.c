/* SPDX-License-Identifier: BSD-2-Clause */
/* As text, in the form of weir/operate/kept.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash/maglev.h"
#include "weir/generation/generation.h"
#include "weir/operate/kept.h"

enum { SEED_DIGITS = 16 };

/* --- writing --- */

static json_t *members_to_json(const struct generation *generation)
{
	json_t *list = json_array();

	for (size_t i = 0; i < generation->count; i++) {
		const struct generation_member *member = &generation->members[i];
		char address[ADDR_TEXT_MAX];

		json_array_append_new(list,
				      json_pack("{s:s, s:i, s:i}", "address",
						addr_format(&member->address, address), "port",
						(int)member->port, "weight", (int)member->weight));
	}
	return list;
}

static json_t *generation_to_json(const struct generation *generation)
{
	char seed[SEED_DIGITS + 1];

	snprintf(seed, sizeof(seed), "%0*" PRIx64, SEED_DIGITS, generation->seed);
	return json_pack("{s:s, s:s, s:i, s:i, s:o}", "seed", seed, "hash",
			 generation->tokens ? "ring" : "maglev", "tokens", (int)generation->tokens,
			 "table_size", (int)generation->table_size, "backends",
			 members_to_json(generation));
}

static json_t *pool_to_json(const struct generation_pool *pool)
{
	json_t *object =
		json_pack("{s:s, s:o}", "pool", pool->name, "now", generation_to_json(&pool->now));

	if (pool->before.count) {
		json_object_set_new(object, "before", generation_to_json(&pool->before));
		json_object_set_new(object, "switched_ms",
				    json_integer((json_int_t)pool->switched_ms));
	}
	return object;
}

json_t *generations_to_json(const struct generations *generations)
{
	json_t *list = json_array();

	for (size_t i = 0; i < generations->count; i++)
		json_array_append_new(list, pool_to_json(&generations->pools[i]));
	return kept_to_json("pools", list);
}

/* --- reading --- */

static bool parse_seed(const char *text, uint64_t *ret)
{
	if (strlen(text) != SEED_DIGITS || strspn(text, "0123456789abcdef") != SEED_DIGITS)
		return false;
	*ret = strtoull(text, NULL, 16);
	return true;
}

static bool parse_member(json_t *object, struct generation_member *ret)
{
	const char *address;
	int port, weight;

	if (json_unpack(object, "{s:s, s:i, s:i !}", "address", &address, "port", &port, "weight",
			&weight) ||
	    addr_parse(address, &ret->address) || port < 0 || port > UINT16_MAX || weight < 0 ||
	    weight > CONF_WEIGHT_MAX)
		return false;
	ret->port = (uint16_t)port;
	ret->weight = (uint32_t)weight;
	return true;
}

static bool parse_members(const json_t *list, struct generation *ret)
{
	size_t count = json_array_size(list), i;
	json_t *object;

	if (!json_is_array(list) || count > CONF_BACKENDS_MAX)
		return false;
	ret->members = calloc(count + 1, sizeof(*ret->members));
	if (!ret->members)
		return false;
	ret->count = count;
	json_array_foreach(list, i, object)
	{
		if (!parse_member(object, &ret->members[i]))
			return false;
	}
	return generation_sort(ret);
}

static bool parse_generation(json_t *object, struct generation *ret)
{
	const char *seed, *hash;
	json_t *members;
	int tokens, size;

	if (json_unpack(object, "{s:s, s:s, s:i, s:i, s:o !}", "seed", &seed, "hash", &hash,
			"tokens", &tokens, "table_size", &size, "backends", &members) ||
	    !parse_seed(seed, &ret->seed) || tokens < 0 || size < 1 || size > MAGLEV_SIZE_MAX)
		return false;
	ret->tokens = (uint32_t)tokens;
	ret->table_size = (uint32_t)size;
	return strcmp(hash, tokens ? "ring" : "maglev") == 0 && parse_members(members, ret);
}

static bool parse_pool(json_t *object, struct generation_pool *ret)
{
	json_int_t switched_ms = 0;
	json_t *now, *before = NULL;
	const char *name;

	if (json_unpack(object, "{s:s, s:o, s?o, s?I !}", "pool", &name, "now", &now, "before",
			&before, "switched_ms", &switched_ms) ||
	    !*name || strlen(name) > CONF_NAME_MAX || switched_ms < 0)
		return false;
	strcpy(ret->name, name);
	ret->switched_ms = (uint64_t)switched_ms;
	return parse_generation(now, &ret->now) &&
	       (!before || (parse_generation(before, &ret->before) && ret->before.count));
}

static int parse_pools(const json_t *list, struct generations *ret, struct err *err)
{
	size_t i;
	json_t *object;

	if (json_array_size(list) > CONF_BACKENDS_MAX)
		return err_set(err, -EINVAL, "it has more than %d pools", CONF_BACKENDS_MAX);
	ret->pools = calloc(json_array_size(list) + 1, sizeof(*ret->pools));
	if (!ret->pools)
		return err_set(err, -ENOMEM, "out of memory");
	json_array_foreach(list, i, object)
	{
		struct generation_pool *pool = &ret->pools[ret->count++];

		if (!parse_pool(object, pool))
			return err_set(err, -EINVAL, "pool %zu has a wrong key or value", i + 1);
	}
	return 0;
}

int generations_parse(const char *text, size_t length, struct generations *ret, struct err *err)
{
	json_t *root, *list;
	int code = kept_parse(text, length, "pools", &root, &list, err);

	if (code)
		return code;
	code = parse_pools(list, ret, err);
	json_decref(root);
	if (code)
		generations_fini(ret);
	return code;
}
