/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks the document along the table's rows and fills the structs: the table says where each value
 * belongs, so nothing here knows a key by its name. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "base/plural.h"
#include "conf/room.h"
#include "conf/source.h"

struct quoted quote(const char *text, size_t length)
{
	struct quoted quoted;
	size_t used = 0;

	quoted.text[used++] = '"';
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		/* One byte more, the dots, the quote and the zero. */
		if (used + 4 + 3 + 2 > sizeof(quoted.text)) {
			used += (size_t)sprintf(quoted.text + used, "...");
			break;
		}
		if (byte < 0x20 || byte >= 0x7f)
			used += (size_t)sprintf(quoted.text + used, "\\x%02x", byte);
		else
			quoted.text[used++] = (char)byte;
	}
	quoted.text[used++] = '"';
	quoted.text[used] = '\0';
	return quoted;
}

void reader_error(struct reader *reader, struct conf_place place, const char *format, ...)
{
	char text[ERR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	err_list_add(reader->errors, place.line, place.column, "%s", text);
}

/* --- marks --- */

static void mark(struct reader *reader, const void *at, const struct tree_node *node)
{
	if (reader->mark_count == reader->mark_room) {
		size_t room = reader->mark_room ? reader->mark_room * 2 : 256;
		struct mark *marks = arena_array(reader->scratch, room, sizeof(*marks));

		if (reader->mark_count)
			memcpy(marks, reader->marks, reader->mark_count * sizeof(*marks));
		reader->marks = marks;
		reader->mark_room = room;
	}
	reader->marks[reader->mark_count++] = (struct mark){at, node};
}

static int compare_marks(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct mark *)a)->at;
	uintptr_t y = (uintptr_t)((const struct mark *)b)->at;

	return (x > y) - (x < y);
}

const struct tree_node *reader_node(const struct reader *reader, const void *at)
{
	const struct mark key = {.at = at};
	const struct mark *found;

	if (reader->mark_count == 0)
		return NULL;
	found = bsearch(&key, reader->marks, reader->mark_count, sizeof(key), compare_marks);
	return found ? found->node : NULL;
}

struct conf_place reader_place(const struct reader *reader, const void *at,
			       struct conf_place otherwise)
{
	const struct tree_node *node = reader_node(reader, at);

	return node ? node->place : otherwise;
}

/* --- nodes --- */

/* False when the document, its aliases unfolded, has more than we are willing to read. */
static bool visit(struct reader *reader, const struct tree_node *node, size_t count)
{
	if (reader->cut)
		return false;
	reader->visits += count;
	if (reader->visits <= TREE_NODES_MAX)
		return true;
	reader->cut = true;
	reader_error(reader, node->place, "aliases unfold to more than %d values, expected fewer",
		     TREE_NODES_MAX);
	return false;
}

/* A plain scalar that says "nothing": YAML's null. */
static bool is_null(const struct tree_node *node)
{
	if (node->kind != TREE_SCALAR || !node->plain)
		return false;
	return !*node->text ||
	       (strchr("~nN", *node->text) && choice_find("~|null|Null|NULL", node->text) >= 0);
}

static const char *kind_of(const struct tree_node *node)
{
	switch (node->kind) {
	case TREE_LIST: return "a list";
	case TREE_MAP: return "a mapping";
	default: return is_null(node) ? "empty" : "a single value";
	}
}

static void refuse_kind(struct reader *reader, const struct conf_key *key,
			const struct tree_node *node, bool element)
{
	char expected[EXPECTED_MAX];

	if (element)
		value_expected(key, expected, sizeof(expected));
	else
		conf_key_expected(key, expected, sizeof(expected));
	reader_error(reader, node->place, "%s%s is %s, expected %s",
		     element ? "an element of " : "", conf_key_name(key), kind_of(node), expected);
}

/* --- values --- */

/* Reads what is in the node, and stores the default where it is wrong, so that checks of one value
 * against another do not report the same mistake once more. */
static void read_scalar(struct reader *reader, const struct conf_key *key,
			const struct tree_node *node, void *at)
{
	const char *text = node->text;
	size_t length = node->count;
	char expected[EXPECTED_MAX];
	const char *wrong;

	if (node->kind != TREE_SCALAR || is_null(node)) {
		refuse_kind(reader, key, node, key->list);
		return;
	}
	if (strlen(text) != length)
		wrong = "holds a zero byte";
	else
		wrong = value_parse(key, text, reader->arena, at);
	if (!wrong) {
		if (at)
			mark(reader, at, node);
		return;
	}
	reader_error(reader, node->place, "%s %s %s, expected %s", conf_key_name(key),
		     quote(text, length).text, wrong,
		     value_expected(key, expected, sizeof(expected)));
	if (key->fallback && !key->list)
		value_parse(key, key->fallback, reader->arena, at);
}

static void read_map(struct reader *reader, const struct conf_key *parent,
		     const struct tree_node *node, char *target);

/* Where only one list works, it is that of the values in `works`, in any order. */
static void read_fixed_list(struct reader *reader, const struct conf_key *key,
			    const struct tree_node *node)
{
	uint32_t wanted = 0, got = 0;
	char expected[EXPECTED_MAX];
	bool strange = false;

	for (const char *at = key->works; at && strcmp(key->works, "[]") != 0;
	     at = strchr(at + 1, '|'))
		wanted = wanted << 1 | 1;
	for (const struct tree_item *item = node->first; item; item = item->next) {
		const struct tree_node *one = item->value;
		int place = -1;

		if (one->kind == TREE_SCALAR)
			place = choice_find(key->works, one->text);
		if (place < 0)
			strange = true;
		else
			got |= 1U << place;
	}
	if (strange || got != wanted)
		reader_error(reader, node->place, "this %s list does not work yet, expected %s",
			     conf_key_name(key),
			     conf_key_expected(key, expected, sizeof(expected)));
}

static void read_items(struct reader *reader, const struct conf_key *key,
		       const struct tree_node *node, char *target)
{
	char *array = arena_array(reader->arena, node->count, key->width);
	char *element = array;

	for (const struct tree_item *item = node->first; item && !reader->cut; item = item->next) {
		const struct tree_node *one = item->value;

		if (key->type != CONF_TYPE_MAP) {
			read_scalar(reader, key, one, element);
		} else {
			memcpy(element + key->place_offset, &one->place, sizeof(one->place));
			read_map(reader, key, one, element);
		}
		element += key->width;
	}
	memcpy(target + key->offset, &array, sizeof(array));
	memcpy(target + key->count_offset, &node->count, sizeof(node->count));
	mark(reader, target + key->offset, node);
}

static void read_list(struct reader *reader, const struct conf_key *key,
		      const struct tree_node *node, char *target)
{
	char expected[EXPECTED_MAX];
	size_t count = node->count;

	if (node->kind != TREE_LIST) {
		refuse_kind(reader, key, node, false);
		return;
	}
	if (!visit(reader, node, count))
		return;
	if (!key->width) {
		read_fixed_list(reader, key, node);
	} else if (count < key->min || count > key->max) {
		reader_error(reader, node->place, "%s has %zu %s, expected %s", conf_key_name(key),
			     count, plural(count, "element", "elements"),
			     conf_key_expected(key, expected, sizeof(expected)));
	} else {
		read_items(reader, key, node, target);
	}
}

/* `node` is NULL where the key is absent. */
static void read_value(struct reader *reader, const struct conf_key *key,
		       const struct tree_node *node, char *target)
{
	void *at = key->width ? target + key->offset : NULL;

	if (node && !visit(reader, node, 1))
		return;
	if (!node && key->type == CONF_TYPE_MAP && !key->list)
		read_map(reader, key, NULL, target);
	else if (!node && at && key->fallback && !key->list)
		value_parse(key, key->fallback, reader->arena, at);
	else if (!node)
		return;
	else if (key->list)
		read_list(reader, key, node, target);
	else if (key->type == CONF_TYPE_MAP)
		read_map(reader, key, node, target);
	else
		read_scalar(reader, key, node, at);
}

/* --- keys --- */

/* The known key that `text` may have been meant to be, or NULL. */
static const char *nearest(const struct reader *reader, const struct conf_key *parent,
			   const char *text)
{
	const char *found = NULL;
	size_t best = 3;

	for (size_t i = conf_key_first(parent, reader->file); i != CONF_KEY_END;
	     i = conf_key_next(i)) {
		const char *name = conf_key_name(conf_key(i));
		size_t letters = strlen(name), far;

		far = near_distance(text, name);
		/* In a short word two changes make any other word. */
		if (far < best && far * 2 < letters) {
			best = far;
			found = name;
		}
	}
	return found;
}

static void list_keys(const struct reader *reader, const struct conf_key *parent, char *text,
		      size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = conf_key_first(parent, reader->file); i != CONF_KEY_END && used < size;
	     i = conf_key_next(i)) {
		const struct conf_key *key = conf_key(i);

		if (conf_key_works(key))
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 conf_key_name(key));
	}
}

static void refuse_key(struct reader *reader, const struct conf_key *parent,
		       const struct tree_node *node)
{
	const char *text, *near;
	char known[ERR_TEXT_MAX];
	struct quoted quoted;

	if (node->kind != TREE_SCALAR) {
		reader_error(reader, node->place, "a key is %s, expected a name", kind_of(node));
		return;
	}
	text = node->text;
	if (strcmp(text, "<<") == 0) {
		reader_error(reader, node->place,
			     "merge keys are not taken, expected each key written out");
		return;
	}
	quoted = quote(text, node->count);
	near = nearest(reader, parent, text);
	list_keys(reader, parent, known, sizeof(known));
	if (near)
		reader_error(reader, node->place,
			     "unknown key %s (did you mean %s?), expected one of %s", quoted.text,
			     near, known);
	else
		reader_error(reader, node->place, "unknown key %s, expected one of %s", quoted.text,
			     known);
}

/* The number of the row that a key names, or -1. */
static int find_row(const struct reader *reader, const struct conf_key *parent,
		    const struct tree_node *node)
{
	const char *text = node->text;

	if (node->kind != TREE_SCALAR || strlen(text) != node->count)
		return -1;
	for (size_t i = conf_key_first(parent, reader->file); i != CONF_KEY_END;
	     i = conf_key_next(i)) {
		if (strcmp(conf_row_name(i), text) == 0)
			return (int)i;
	}
	return -1;
}

struct found {
	const struct tree_node *key;
	const struct tree_node *value;
};

/* Sorts a mapping's pairs by row, and refuses what has none or comes twice. */
static void find_keys(struct reader *reader, const struct conf_key *parent,
		      const struct tree_node *node, struct found *found)
{
	for (const struct tree_item *item = node->first; item && visit(reader, node, 1);
	     item = item->next) {
		const struct tree_node *key = item->key;
		int row = find_row(reader, parent, key);

		if (row < 0) {
			refuse_key(reader, parent, key);
		} else if (found[row].key) {
			struct conf_place first = found[row].key->place;

			reader_error(reader, key->place,
				     "%s is given twice, first in line %d, expected once",
				     key->text, source_line(first.line));
		} else {
			found[row].key = key;
			found[row].value = item->value;
		}
	}
}

static void refuse_missing(struct reader *reader, const struct conf_key *parent,
			   const struct conf_key *key, const struct tree_node *node)
{
	char expected[EXPECTED_MAX];

	conf_key_expected(key, expected, sizeof(expected));
	if (parent)
		reader_error(reader, node->place, "%s is missing in %s%s, expected %s",
			     conf_key_name(key), parent->list ? "an element of " : "",
			     conf_key_name(parent), expected);
	else
		reader_error(reader, node->place, "%s is missing, expected %s", conf_key_name(key),
			     expected);
}

/* `parent` NULL: the outermost mapping. `node` NULL: it is absent, all keys get their defaults. */
static void read_map(struct reader *reader, const struct conf_key *parent,
		     const struct tree_node *node, char *target)
{
	struct found found[CONF_KEYS_MAX] = {0};

	if (node && node->kind != TREE_MAP) {
		if (parent)
			refuse_kind(reader, parent, node, parent->list);
		else
			reader_error(reader, node->place, "the file is %s, expected a mapping",
				     kind_of(node));
		return;
	}
	if (node)
		find_keys(reader, parent, node, found);
	for (size_t i = conf_key_first(parent, reader->file); i != CONF_KEY_END;
	     i = conf_key_next(i)) {
		const struct conf_key *key = conf_key(i);

		if (reader->cut)
			continue;
		if (found[i].key && !conf_key_works(key))
			reader_error(reader, found[i].key->place,
				     "%s does not work yet, expected it to be left out",
				     conf_key_name(key));
		else if (found[i].key && key->means && !key->means(target))
			reader_error(reader, found[i].key->place,
				     "%s means nothing here, expected %s beside it",
				     conf_key_name(key), key->with);
		else if (node && !found[i].key && key->required)
			refuse_missing(reader, parent, key, node);
		else if (conf_key_works(key))
			read_value(reader, key, found[i].value, target);
	}
}

void reader_read(struct reader *reader, void *root)
{
	read_map(reader, NULL, reader->root, root);
	if (reader->mark_count)
		qsort(reader->marks, reader->mark_count, sizeof(*reader->marks), compare_marks);
}
