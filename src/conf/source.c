/* SPDX-License-Identifier: BSD-2-Clause */
/* A file's pools and services in a file of their own, which is the same on every node. */
#include "conf/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/room.h"

/* --- where it is --- */

static const yaml_node_t *find(yaml_document_t *document, const yaml_node_t *map, const char *name)
{
	const yaml_node_pair_t *pair;

	if (!map || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(document, pair->key);

		if (key->type == YAML_SCALAR_NODE &&
		    strcmp((const char *)key->data.scalar.value, name) == 0)
			return yaml_document_get_node(document, pair->value);
	}
	return NULL;
}

/* For free(); NULL: out of memory. */
static char *resolve(const char *path, const char *file)
{
	const char *slash = path && *file != '/' ? strrchr(path, '/') : NULL;
	size_t before = slash ? (size_t)(slash - path) + 1 : 0;
	char *ret = malloc(before + strlen(file) + 1);

	if (!ret)
		return NULL;
	if (before)
		memcpy(ret, path, before);
	strcpy(ret + before, file);
	return ret;
}

/* --- its keys --- */

static struct conf_place place_of(const yaml_node_t *node)
{
	return (struct conf_place){(int)node->start_mark.line + 1,
				   (int)node->start_mark.column + 1};
}

static bool is_shared(const char *key)
{
	static const char *const keys[] = {"seed", "pools", "services"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(key, keys[i]) == 0)
			return true;
	}
	return false;
}

/* What is a node's own is not for all of them. */
static int check_keys(yaml_document_t *other, struct err_list *errors)
{
	const yaml_node_t *root = yaml_document_get_root_node(other);
	const yaml_node_pair_t *pair;
	size_t before = errors->count + errors->dropped;

	if (root->type != YAML_MAPPING_NODE) {
		err_list_add(errors, place_of(root).line, place_of(root).column,
			     "the file is not a mapping, expected seed, pools and services");
		return -EINVAL;
	}
	for (pair = root->data.mapping.pairs.start; pair < root->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(other, pair->key);

		if (key->type == YAML_SCALAR_NODE &&
		    is_shared((const char *)key->data.scalar.value))
			continue;
		err_list_add(errors, place_of(key).line, place_of(key).column,
			     "a key that is not for all nodes, expected seed, pools or services");
	}
	return errors->count + errors->dropped > before ? -EINVAL : 0;
}

static bool copy_node(yaml_document_t *document, const yaml_node_t *node)
{
	yaml_node_t *copy;
	int at = 0;

	switch (node->type) {
	case YAML_SCALAR_NODE:
		at = yaml_document_add_scalar(document, node->tag, node->data.scalar.value,
					      (int)node->data.scalar.length,
					      node->data.scalar.style);
		break;
	case YAML_SEQUENCE_NODE:
		at = yaml_document_add_sequence(document, node->tag, node->data.sequence.style);
		break;
	case YAML_MAPPING_NODE:
		at = yaml_document_add_mapping(document, node->tag, node->data.mapping.style);
		break;
	case YAML_NO_NODE: break;
	}
	if (!at)
		return false;
	copy = yaml_document_get_node(document, at);
	copy->start_mark = node->start_mark;
	copy->end_mark = node->end_mark;
	return true;
}

/* Nodes are known by their numbers: those of `node` are `base` more in the document. */
static bool copy_links(yaml_document_t *document, const yaml_node_t *node, int at, int base)
{
	bool ret = true;

	if (node->type == YAML_SEQUENCE_NODE) {
		const yaml_node_item_t *item = node->data.sequence.items.start;

		for (; ret && item < node->data.sequence.items.top; item++)
			ret = yaml_document_append_sequence_item(document, at, base + *item);
	} else if (node->type == YAML_MAPPING_NODE) {
		const yaml_node_pair_t *pair = node->data.mapping.pairs.start;

		for (; ret && pair < node->data.mapping.pairs.top; pair++)
			ret = yaml_document_append_mapping_pair(document, at, base + pair->key,
								base + pair->value);
	}
	return ret;
}

/* All nodes of the other, and its root's pairs among those of the first root. */
static bool copy_all(yaml_document_t *document, yaml_document_t *other)
{
	int base = (int)(document->nodes.top - document->nodes.start);
	int count = (int)(other->nodes.top - other->nodes.start);
	bool ret = true;

	for (int i = 1; ret && i <= count; i++)
		ret = copy_node(document, yaml_document_get_node(other, i));
	for (int i = 1; ret && i <= count; i++)
		ret = copy_links(document, yaml_document_get_node(other, i), i == 1 ? 1 : base + i,
				 base);
	return ret;
}

static void shift_lines(yaml_document_t *other)
{
	for (yaml_node_t *node = other->nodes.start; node < other->nodes.top; node++)
		node->start_mark.line += SOURCE_LINES;
}

static int graft(yaml_document_t *document, const char *text, size_t length,
		 struct err_list *errors)
{
	size_t before = errors->count;
	yaml_document_t other;
	int ret = conf_check_end(text, length, errors);

	if (!ret)
		ret = tree_load(text, length, &other, errors);
	if (ret) {
		for (size_t i = before; i < errors->count; i++)
			errors->errors[i].line += SOURCE_LINES;
		return -EINVAL;
	}
	shift_lines(&other);
	ret = check_keys(&other, errors);
	if (!ret && !copy_all(document, &other)) {
		err_list_add(errors, 0, 0, "out of memory");
		ret = -EINVAL;
	}
	yaml_document_delete(&other);
	return ret;
}

/* The path is what somebody wrote: as elsewhere, an error shows printable ASCII only. */
static void refuse_file(struct err_list *errors, const yaml_node_t *file, struct err *err)
{
	for (char *at = err->text; *at; at++)
		*at = *at >= ' ' && *at < 0x7f ? *at : '?';
	err_list_add(errors, place_of(file).line, place_of(file).column, "%s", err->text);
}

int source_graft(yaml_document_t *document, const char *path, struct source *ret,
		 struct err_list *errors)
{
	const yaml_node_t *root = yaml_document_get_root_node(document);
	const yaml_node_t *file = find(document, find(document, root, "source"), "file");
	struct err err;
	size_t length;
	char *text;
	int error;

	*ret = (struct source){0};
	/* What is wrong with the key itself the reader says. */
	if (!file || file->type != YAML_SCALAR_NODE || !file->data.scalar.length)
		return 0;
	ret->path = resolve(path, (const char *)file->data.scalar.value);
	if (!ret->path) {
		err_list_add(errors, 0, 0, "out of memory");
		return -EINVAL;
	}
	if (conf_read(ret->path, &text, &length, &err)) {
		refuse_file(errors, file, &err);
		return -EINVAL;
	}
	ret->ended = conf_ended_of(text, length);
	error = graft(document, text, length, errors);
	free(text);
	return error;
}

void source_name_lines(struct err_list *errors, const char *file)
{
	if (!errors->file && file)
		errors->file = strdup(file);
	for (size_t i = 0; i < errors->count; i++) {
		if (errors->errors[i].line <= SOURCE_LINES)
			continue;
		errors->errors[i].line = source_line(errors->errors[i].line);
		errors->errors[i].file = errors->file;
	}
}
