/* SPDX-License-Identifier: BSD-2-Clause */
/* A file's pools and services in a file of their own, which is the same on every node. */
#include "conf/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/room.h"

/* --- where it is --- */

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
static int check_keys(const struct tree_node *other, struct err_list *errors)
{
	size_t before = errors->count + errors->dropped;

	if (other->kind != TREE_MAP) {
		err_list_add(errors, other->place.line, other->place.column,
			     "the file is not a mapping, expected seed, pools and services");
		return -EINVAL;
	}
	for (const struct tree_item *item = other->first; item; item = item->next) {
		const struct tree_node *key = item->key;

		if (key->kind == TREE_SCALAR && is_shared(key->text))
			continue;
		err_list_add(errors, key->place.line, key->place.column,
			     "a key that is not for all nodes, expected seed, pools or services");
	}
	return errors->count + errors->dropped > before ? -EINVAL : 0;
}

static void append(struct tree_node *root, const struct tree_node *other)
{
	if (!other->first)
		return;
	root->last->next = other->first; /* not empty: it names the other file */
	root->last = other->last;
	root->count += other->count;
}

static int graft(struct tree_node *root, const char *text, size_t length,
		 const struct reader *reader)
{
	const struct tree_text input = {text, length, SOURCE_LINES};
	struct err_list *errors = reader->errors;
	size_t before = errors->count;
	struct tree_node *other;
	int ret = conf_check_end(text, length, errors);

	if (!ret)
		ret = tree_load(&input, reader->scratch, &other, errors);
	if (ret) {
		for (size_t i = before; i < errors->count; i++)
			errors->errors[i].line += SOURCE_LINES;
		return -EINVAL;
	}
	ret = check_keys(other, errors);
	if (!ret)
		append(root, other);
	return ret;
}

/* The path is what somebody wrote: as elsewhere, an error shows printable ASCII only. */
static void refuse_file(struct err_list *errors, const struct tree_node *file, struct err *err)
{
	for (char *at = err->text; *at; at++)
		*at = *at >= ' ' && *at < 0x7f ? *at : '?';
	err_list_add(errors, file->place.line, file->place.column, "%s", err->text);
}

int source_graft(struct tree_node *root, const char *path, struct source *ret,
		 const struct reader *reader)
{
	const struct tree_node *file = tree_find(tree_find(root, "source"), "file");
	struct err_list *errors = reader->errors;
	struct err err;
	size_t length;
	char *text;
	int error;

	*ret = (struct source){0};
	/* What is wrong with the key itself the reader says. */
	if (!file || file->kind != TREE_SCALAR || !file->count)
		return 0;
	ret->path = resolve(path, file->text);
	if (!ret->path) {
		err_list_add(errors, 0, 0, "out of memory");
		return -EINVAL;
	}
	if (conf_read(ret->path, &text, &length, &err)) {
		refuse_file(errors, file, &err);
		return -EINVAL;
	}
	ret->ended = conf_ended_of(text, length);
	error = graft(root, text, length, reader);
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
