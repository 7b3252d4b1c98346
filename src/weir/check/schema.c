/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/check/schema.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "hash/maglev.h"

static json_t *choices_json(const char *choices)
{
	json_t *array = json_array();

	for (const char *at = choices; *at;) {
		size_t length = strcspn(at, "|");

		json_array_append_new(array, json_stringn(at, length));
		/* What older YAML takes for a boolean. */
		if (length == strlen("off") && memcmp(at, "off", length) == 0)
			json_array_append_new(array, json_false());
		at += length + (at[length] == '|');
	}
	return array;
}

static json_t *table_sizes_json(void)
{
	return json_pack("{s:[{s:s}, {s:s, s:i, s:i}]}", "anyOf", "const", "auto", "type",
			 "integer", "minimum", 1, "maximum", MAGLEV_SIZE_MAX);
}

static json_t *integer_json(uint64_t min, uint64_t max)
{
	return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)min,
			 "maximum", (json_int_t)max);
}

static json_t *choice_schema(const struct conf_key *key)
{
	json_t *words =
		json_pack("{s:o}", "enum", choices_json(key->works ? key->works : key->choices));

	if (!key->max)
		return words;
	return json_pack("{s:[o, o]}", "anyOf", words, integer_json(key->min, key->max));
}

/* A value, or an element of a list. Names may look like numbers to a reader of YAML. */
static json_t *value_schema(const struct conf_key *key)
{
	switch (key->type) {
	case CONF_TYPE_CHOICE: return choice_schema(key);
	case CONF_TYPE_BOOL:
		return key->works ? json_pack("{s:b}", "const", 0)
				  : json_pack("{s:s}", "type", "boolean");
	case CONF_TYPE_NUMBER: return integer_json(key->min, key->max);
	case CONF_TYPE_STATUS: return integer_json(CONF_STATUS_MIN, CONF_STATUS_MAX);
	case CONF_TYPE_MTU:
		return json_pack("{s:[{s:i}, o]}", "anyOf", "const", 0,
				 integer_json(key->min, key->max));
	case CONF_TYPE_COUNT:
		return json_pack("{s:[o, {s:s, s:s}]}", "anyOf", integer_json(key->min, key->max),
				 "type", "string", "pattern", "^[0-9]+(k|M|G|Ki|Mi|Gi)?$");
	case CONF_TYPE_DURATION:
		return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[0-9]+(ms|s|m|h)$");
	case CONF_TYPE_LISTEN:
		return json_pack("{s:s, s:s}", "type", "string", "pattern",
				 "^(any|(tcp|udp)/(any|[1-9][0-9]{0,4}(-[1-9][0-9]{0,4})?))$");
	case CONF_TYPE_LISTEN_ONE:
		return json_pack("{s:s, s:s}", "type", "string", "pattern",
				 "^(tcp|udp)/[1-9][0-9]{0,4}(-[1-9][0-9]{0,4})?$");
	case CONF_TYPE_ENDPOINT:
		return json_pack(
			"{s:s, s:s}", "type", "string", "pattern",
			"^(off|[0-9.]+:[1-9][0-9]{0,4}|\\[[0-9A-Fa-f:]+\\]:[1-9][0-9]{0,4})$");
	case CONF_TYPE_COMMUNITY:
		return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[0-9]+:[0-9]+$");
	case CONF_TYPE_LARGE_COMMUNITY:
		return json_pack("{s:s, s:s}", "type", "string", "pattern",
				 "^[0-9]+:[0-9]+:[0-9]+$");
	case CONF_TYPE_TABLE_SIZE: return table_sizes_json();
	case CONF_TYPE_NAME:
	case CONF_TYPE_POOL:
		return json_pack("{s:[s, s], s:s}", "type", "string", "number", "pattern",
				 "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$");
	case CONF_TYPE_TEXT: return json_pack("{s:[s, s]}", "type", "string", "number");
	default: return json_pack("{s:s}", "type", "string");
	}
}

static json_t *map_schema(const struct conf_key *parent, enum conf_file file);

static json_t *list_schema(const struct conf_key *key)
{
	json_t *items, *list;

	if (key->works && strcmp(key->works, "[]") == 0)
		return json_pack("{s:s, s:i}", "type", "array", "maxItems", 0);
	if (key->works)
		items = json_pack("{s:o}", "enum", choices_json(key->works));
	else if (key->type == CONF_TYPE_MAP)
		items = map_schema(key, key->file);
	else
		items = value_schema(key);
	list = json_pack("{s:s, s:o, s:I}", "type", "array", "items", items, "minItems",
			 (json_int_t)key->min);
	if (key->max)
		json_object_set_new(list, "maxItems", json_integer((json_int_t)key->max));
	return list;
}

static json_t *default_json(const struct conf_key *key)
{
	switch (key->type) {
	case CONF_TYPE_BOOL: return json_boolean(strcmp(key->fallback, "true") == 0);
	case CONF_TYPE_NUMBER:
	case CONF_TYPE_MTU: return json_integer(atoll(key->fallback));
	default: return json_string(key->fallback);
	}
}

static json_t *key_schema(const struct conf_key *key)
{
	json_t *schema = key->list                    ? list_schema(key)
			 : key->type == CONF_TYPE_MAP ? map_schema(key, key->file)
						      : value_schema(key);

	json_object_set_new(schema, "description", json_string(key->help));
	if (key->fallback && !key->list)
		json_object_set_new(schema, "default", default_json(key));
	return schema;
}

static json_t *map_schema(const struct conf_key *parent, enum conf_file file)
{
	json_t *properties = json_object(), *required = json_array();

	for (size_t i = 0; i < conf_key_count(); i++) {
		const struct conf_key *key = conf_key(i);
		const char *name = conf_key_name(key);

		if (!conf_key_is_in(key, parent, file) || !conf_key_works(key))
			continue;
		json_object_set_new(properties, name, key_schema(key));
		if (key->required)
			json_array_append_new(required, json_string(name));
	}
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties,
			 "required", required, "additionalProperties", 0);
}

json_t *schema_json(enum conf_file file)
{
	json_t *schema = map_schema(NULL, file);

	json_object_set_new(schema, "title",
			    json_string(file == CONF_FILE_AGENT ? "weir agent" : "weir.yaml"));
	json_object_set_new(schema, "$schema",
			    json_string("https://json-schema.org/draft/2020-12/schema"));
	return schema;
}
