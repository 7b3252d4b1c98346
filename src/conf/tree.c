/* SPDX-License-Identifier: BSD-2-Clause */
/* The text as libyaml's document tree, after everything in it that could be unbounded or that has
 * no meaning here was refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/room.h"

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

/* --- the tree, of events as they come, so that nothing is read twice --- */

struct anchor {
	char *name;
	int node;
};

/* A list or mapping whose end has not come. */
struct open {
	int node;
	int key; /* of a mapping, while it waits for its value; else 0 */
};

struct builder {
	struct err_list *errors;
	yaml_document_t *tree;
	size_t documents, nodes, anchor_count;
	struct anchor anchors[TREE_ANCHORS_MAX];
	struct open open[TREE_DEPTH_MAX];
	int depth;
};

static int refuse_memory(struct err_list *errors)
{
	return refuse(errors, (yaml_mark_t){0}, "out of memory");
}

/* Into the list or mapping that is open; the first of all is the root as it is. */
static int put(struct builder *builder, int node)
{
	struct open *open;
	int done;

	if (!node)
		return refuse_memory(builder->errors);
	if (builder->depth == 0)
		return 0;
	open = &builder->open[builder->depth - 1];
	if (yaml_document_get_node(builder->tree, open->node)->type == YAML_SEQUENCE_NODE) {
		done = yaml_document_append_sequence_item(builder->tree, open->node, node);
	} else if (!open->key) {
		open->key = node;
		return 0;
	} else {
		done = yaml_document_append_mapping_pair(builder->tree, open->node, open->key,
							 node);
		open->key = 0;
	}
	return done ? 0 : refuse_memory(builder->errors);
}

/* Before a value becomes a node. */
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

static struct anchor *find_anchor(struct builder *builder, const yaml_char_t *name)
{
	for (size_t i = 0; i < builder->anchor_count; i++) {
		if (strcmp(builder->anchors[i].name, (const char *)name) == 0)
			return &builder->anchors[i];
	}
	return NULL;
}

/* A new node: where it stands, its name if it has one, and into what is open. */
static int add(struct builder *builder, const yaml_event_t *event, int node,
	       const yaml_char_t *anchor)
{
	yaml_node_t *made = yaml_document_get_node(builder->tree, node);
	struct anchor *last = &builder->anchors[builder->anchor_count];

	if (!made)
		return refuse_memory(builder->errors);
	made->start_mark = event->start_mark;
	made->end_mark = event->end_mark;
	if (anchor && builder->anchor_count == TREE_ANCHORS_MAX)
		return refuse(builder->errors, event->start_mark,
			      "too many anchors, expected 128 at most");
	if (anchor && find_anchor(builder, anchor))
		return refuse(builder->errors, event->start_mark,
			      "found duplicate anchor, expected valid YAML");
	if (anchor) {
		last->name = strdup((const char *)anchor);
		last->node = node;
		if (!last->name)
			return refuse_memory(builder->errors);
		builder->anchor_count++;
	}
	return put(builder, node);
}

static int add_alias(struct builder *builder, const yaml_event_t *event)
{
	const struct anchor *anchor = find_anchor(builder, event->data.alias.anchor);
	int code = check_value(builder, event->start_mark, NULL);

	if (!code && !anchor)
		code = refuse(builder->errors, event->start_mark,
			      "found undefined alias, expected valid YAML");
	return code ? code : put(builder, anchor->node);
}

static int add_scalar(struct builder *builder, const yaml_event_t *event)
{
	int code = check_value(builder, event->start_mark, event->data.scalar.tag);

	return code ? code
		    : add(builder, event,
			  yaml_document_add_scalar(builder->tree, NULL, event->data.scalar.value,
						   (int)event->data.scalar.length,
						   event->data.scalar.style),
			  event->data.scalar.anchor);
}

/* A list or mapping begins. */
static int add_open(struct builder *builder, const yaml_event_t *event, int node,
		    const yaml_char_t *anchor)
{
	int code = add(builder, event, node, anchor);

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
	yaml_mark_t mark = event->start_mark;
	int code;

	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (++builder->documents > 1)
			return refuse(builder->errors, mark,
				      "a second document begins here, expected one in the file");
		return 0;
	case YAML_ALIAS_EVENT: return add_alias(builder, event);
	case YAML_SCALAR_EVENT: return add_scalar(builder, event);
	case YAML_SEQUENCE_START_EVENT:
		code = check_value(builder, mark, event->data.sequence_start.tag);
		return code ? code
			    : add_open(builder, event,
				       yaml_document_add_sequence(builder->tree, NULL,
								  YAML_ANY_SEQUENCE_STYLE),
				       event->data.sequence_start.anchor);
	case YAML_MAPPING_START_EVENT:
		code = check_value(builder, mark, event->data.mapping_start.tag);
		return code ? code
			    : add_open(builder, event,
				       yaml_document_add_mapping(builder->tree, NULL,
								 YAML_ANY_MAPPING_STYLE),
				       event->data.mapping_start.anchor);
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
		return refuse_memory(builder->errors);
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
	if (!code && !yaml_document_get_root_node(builder->tree))
		code = refuse(builder->errors, (yaml_mark_t){0},
			      "the file is empty, expected a mapping");
	return code;
}

int tree_load(const char *text, size_t length, yaml_document_t *ret, struct err_list *errors)
{
	struct builder builder = {.errors = errors, .tree = ret};
	size_t mark = mark_length(text, length);
	int code;

	if (length > CONF_FILE_MAX)
		return refuse(errors, (yaml_mark_t){0},
			      "the file is too large, expected 16 MiB at most");
	text += mark;
	length -= mark;
	if (check_text(text, length, errors))
		return -EINVAL;
	if (!yaml_document_initialize(ret, NULL, NULL, NULL, 1, 1))
		return refuse_memory(errors);
	code = build(&builder, text, length);
	for (size_t i = 0; i < builder.anchor_count; i++)
		free(builder.anchors[i].name);
	if (code)
		yaml_document_delete(ret);
	return code;
}
