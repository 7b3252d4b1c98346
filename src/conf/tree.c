/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything in a text that could be unbounded or that has no meaning here is refused. */
#include "conf/tree.h"

#include <errno.h>
#include <string.h>

#include <yaml.h>

#include "conf/conf.h"

struct cursor {
	const unsigned char *at;
	const unsigned char *end;
	int line, column; /* from 1 */
};

/* Decodes a character (RFC 3629: no overlong forms, no surrogates); returns its bytes or 0. */
static int decode(const struct cursor *cursor, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *at = cursor->at;
	int length = at[0] < 0x80             ? 1
		     : (at[0] & 0xe0) == 0xc0 ? 2
		     : (at[0] & 0xf0) == 0xe0 ? 3
		     : (at[0] & 0xf8) == 0xf0 ? 4
					      : 0;
	uint32_t code = length > 1 ? at[0] & (0x7fU >> length) : at[0];

	if (length == 0 || length > cursor->end - at)
		return 0;
	for (int i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret = code;
	return length;
}

/* YAML 1.1 section 5.1. */
static bool printable(uint32_t code)
{
	return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code <= 0x7e) ||
	       code == 0x85 || (code >= 0xa0 && code != 0xfffe && code != 0xffff);
}

/* libyaml's line breaks, so that lines are counted as it counts them. */
static bool ends_line(const struct cursor *next, uint32_t code)
{
	if (code == '\r')
		return next->at == next->end || *next->at != '\n';
	return code == '\n' || code == 0x85 || code == 0x2028 || code == 0x2029;
}

static bool is_tag_directive(const struct cursor *cursor)
{
	return cursor->column == 1 && cursor->end - cursor->at >= 4 &&
	       memcmp(cursor->at, "%TAG", 4) == 0;
}

/* What is no text libyaml would refuse too, but not say where. %TAG it would take, and compare
 * each with all before it: a file full of them would keep it for hours. */
static int check_text(const char *text, size_t length, struct err_list *errors)
{
	struct cursor cursor = {.at = (const unsigned char *)text, .line = 1, .column = 1};

	cursor.end = cursor.at + length;
	while (cursor.at < cursor.end) {
		uint32_t code = 0;
		int bytes = decode(&cursor, &code);

		if (bytes == 0 || !printable(code)) {
			err_list_add(errors, cursor.line, cursor.column,
				     "byte 0x%02x here is %s, expected printable UTF-8 text",
				     *cursor.at, bytes ? "a control character" : "not UTF-8");
			return -EINVAL;
		}
		if (is_tag_directive(&cursor)) {
			err_list_add(errors, cursor.line, cursor.column,
				     "a %%TAG directive has no meaning here, expected none");
			return -EINVAL;
		}
		cursor.at += bytes;
		cursor.column++;
		if (ends_line(&cursor, code)) {
			cursor.line++;
			cursor.column = 1;
		}
	}
	return 0;
}

static int refuse(struct err_list *errors, yaml_mark_t mark, const char *text)
{
	err_list_add(errors, (int)mark.line + 1, (int)mark.column + 1, "%s", text);
	return -EINVAL;
}

static int refuse_syntax(struct err_list *errors, const yaml_parser_t *parser)
{
	const char *problem = parser->problem ? parser->problem : "it cannot be read";
	yaml_mark_t mark = parser->problem_mark;

	if (parser->error == YAML_MEMORY_ERROR)
		problem = "out of memory";
	if (parser->context)
		err_list_add(errors, (int)mark.line + 1, (int)mark.column + 1,
			     "%s %s, expected valid YAML", problem, parser->context);
	else
		err_list_add(errors, (int)mark.line + 1, (int)mark.column + 1,
			     "%s, expected valid YAML", problem);
	return -EINVAL;
}

/* --- the tree, from events as they come, so that nothing is read twice --- */

struct anchor {
	const char *name;
	struct tree_node *node;
};

/* A list or mapping whose end has not come. */
struct open {
	struct tree_node *node;
	struct tree_node *key; /* of a mapping, while it waits for its value */
};

struct builder {
	struct arena *arena;
	struct err_list *errors;
	int lines;
	struct tree_node *root;
	size_t documents, nodes, anchor_count;
	struct anchor anchors[TREE_ANCHORS_MAX];
	struct open open[TREE_DEPTH_MAX];
	int depth;
};

/* Into the list or mapping that is open; where none is, it is the root. */
static void put(struct builder *builder, struct tree_node *node)
{
	struct tree_item *item;
	struct open *open;

	if (builder->depth == 0) {
		builder->root = node;
		return;
	}
	open = &builder->open[builder->depth - 1];
	if (open->node->kind == TREE_MAP && !open->key) {
		open->key = node;
		return;
	}
	item = arena_alloc(builder->arena, sizeof(*item));
	item->key = open->key;
	item->value = node;
	open->key = NULL;
	if (open->node->last)
		open->node->last->next = item;
	else
		open->node->first = item;
	open->node->last = item;
	open->node->count++;
}

/* Before a value becomes a node, and before an alias stands for one. */
static int check_value(struct builder *builder, yaml_mark_t mark, const yaml_char_t *tag)
{
	if (++builder->nodes > TREE_NODES_MAX)
		return refuse(builder->errors, mark,
			      "too many values in this file, expected 1048576 at most");
	if (tag)
		return refuse(builder->errors, mark,
			      "a tag has no meaning here, expected a bare value");
	return 0;
}

static const struct anchor *find_anchor(const struct builder *builder, const yaml_char_t *name)
{
	for (size_t i = 0; i < builder->anchor_count; i++) {
		if (strcmp(builder->anchors[i].name, (const char *)name) == 0)
			return &builder->anchors[i];
	}
	return NULL;
}

static int add_anchor(struct builder *builder, const yaml_event_t *event, const yaml_char_t *name,
		      struct tree_node *node)
{
	if (builder->anchor_count == TREE_ANCHORS_MAX)
		return refuse(builder->errors, event->start_mark,
			      "too many anchors, expected 128 at most");
	if (find_anchor(builder, name))
		return refuse(builder->errors, event->start_mark,
			      "found duplicate anchor, expected valid YAML");
	builder->anchors[builder->anchor_count++] =
		(struct anchor){arena_strdup(builder->arena, (const char *)name), node};
	return 0;
}

/* A new node, into what is open. */
static struct tree_node *add(struct builder *builder, const yaml_event_t *event,
			     enum tree_kind kind)
{
	struct tree_node *node = arena_alloc(builder->arena, sizeof(*node));

	node->kind = kind;
	node->place.line = (int)event->start_mark.line + 1 + builder->lines;
	node->place.column = (int)event->start_mark.column + 1;
	put(builder, node);
	return node;
}

static int add_alias(struct builder *builder, const yaml_event_t *event)
{
	const struct anchor *anchor = find_anchor(builder, event->data.alias.anchor);
	int code = check_value(builder, event->start_mark, NULL);

	if (code)
		return code;
	if (!anchor)
		return refuse(builder->errors, event->start_mark,
			      "found undefined alias, expected valid YAML");
	put(builder, anchor->node);
	return 0;
}

static int add_scalar(struct builder *builder, const yaml_event_t *event)
{
	const yaml_char_t *anchor = event->data.scalar.anchor;
	size_t length = event->data.scalar.length;
	int code = check_value(builder, event->start_mark, event->data.scalar.tag);
	struct tree_node *node;

	if (code)
		return code;
	node = add(builder, event, TREE_SCALAR);
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	node->count = length;
	node->text = arena_alloc(builder->arena, length + 1);
	memcpy(node->text, event->data.scalar.value, length);
	return anchor ? add_anchor(builder, event, anchor, node) : 0;
}

/* A list or mapping begins. */
static int add_open(struct builder *builder, const yaml_event_t *event, enum tree_kind kind)
{
	bool map = kind == TREE_MAP;
	const yaml_char_t *anchor = map ? event->data.mapping_start.anchor
					: event->data.sequence_start.anchor;
	int code =
		check_value(builder, event->start_mark,
			    map ? event->data.mapping_start.tag : event->data.sequence_start.tag);
	struct tree_node *node;

	if (code)
		return code;
	node = add(builder, event, kind);
	if (anchor)
		code = add_anchor(builder, event, anchor, node);
	if (code)
		return code;
	if (builder->depth == TREE_DEPTH_MAX)
		return refuse(builder->errors, event->start_mark,
			      "nested too deep, expected 16 levels of lists and mappings at most");
	builder->open[builder->depth++] = (struct open){.node = node};
	return 0;
}

static int add_event(struct builder *builder, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		return ++builder->documents == 1
			       ? 0
			       : refuse(builder->errors, event->start_mark,
					"a second document begins here, expected one in the file");
	case YAML_ALIAS_EVENT: return add_alias(builder, event);
	case YAML_SCALAR_EVENT: return add_scalar(builder, event);
	case YAML_SEQUENCE_START_EVENT: return add_open(builder, event, TREE_LIST);
	case YAML_MAPPING_START_EVENT: return add_open(builder, event, TREE_MAP);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT: builder->depth--; return 0;
	default: return 0;
	}
}

/* A byte order mark says nothing in UTF-8; libyaml skips it only where it guesses the encoding. */
static size_t mark_length(const char *text, size_t length)
{
	return length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static int build(struct builder *builder, const char *text, size_t length)
{
	yaml_parser_t parser;
	bool ended = false;
	int code = 0;

	if (!yaml_parser_initialize(&parser))
		return refuse(builder->errors, (yaml_mark_t){0}, "out of memory");
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	while (!code && !ended) {
		yaml_event_t event;

		if (!yaml_parser_parse(&parser, &event)) {
			code = refuse_syntax(builder->errors, &parser);
			break;
		}
		ended = event.type == YAML_STREAM_END_EVENT;
		code = add_event(builder, &event);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	if (!code && !builder->root)
		code = refuse(builder->errors, (yaml_mark_t){0},
			      "the file is empty, expected a mapping");
	return code;
}

int tree_load(const struct tree_text *input, struct arena *arena, struct tree_node **ret,
	      struct err_list *errors)
{
	struct builder builder = {.arena = arena, .errors = errors, .lines = input->lines};
	size_t mark = mark_length(input->text, input->length);
	const char *text = input->text + mark;
	size_t length = input->length - mark;
	int code;

	if (input->length > CONF_FILE_MAX)
		return refuse(errors, (yaml_mark_t){0},
			      "the file is too large, expected 16 MiB at most");
	if (check_text(text, length, errors))
		return -EINVAL;
	code = build(&builder, text, length);
	if (!code)
		*ret = builder.root;
	return code;
}

const struct tree_node *tree_find(const struct tree_node *map, const char *name)
{
	if (!map || map->kind != TREE_MAP)
		return NULL;
	for (const struct tree_item *item = map->first; item; item = item->next) {
		if (item->key->kind == TREE_SCALAR && strcmp(item->key->text, name) == 0)
			return item->value;
	}
	return NULL;
}
