/* SPDX-License-Identifier: BSD-2-Clause */
/* The table as a whole; its rows are in rows_*.c. */
#include "conf/keys/schema.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "conf/keys/rows.h"

static const struct rows *const parts[] = {&rows_node, &rows_pools, &rows_bgp, &rows_services,
					   &rows_agent};

/* What follows from the rows' paths, found out once: a file's values are many, and each asks. */
static struct {
	const struct conf_key *key;
	const struct conf_key *parent; /* NULL: it is in the outermost mapping */
	const char *name;              /* the end of its path */
	size_t first, next;            /* the first row in it, the next one beside it */
} rows_index[CONF_KEYS_MAX];
static size_t index_count, outermost[CONF_FILE_AGENT + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* By their paths: directly in `parent` (NULL: in the outermost mapping). */
static bool is_below(const struct conf_key *key, const struct conf_key *parent)
{
	const char *rest = key->path;

	if (parent) {
		size_t length = strlen(parent->path);

		if (key->file != parent->file || strncmp(rest, parent->path, length) != 0)
			return false;
		rest += length;
		if (parent->list) {
			if (strncmp(rest, "[]", 2) != 0)
				return false;
			rest += 2;
		}
		if (*rest++ != '.')
			return false;
	}
	return strpbrk(rest, ".[") == NULL;
}

static const struct conf_key *find_parent(const struct conf_key *key)
{
	for (size_t i = 0; i < index_count; i++) {
		if (is_below(key, rows_index[i].key))
			return rows_index[i].key;
	}
	return NULL;
}

static size_t row_of(const struct conf_key *key);

/* Rows of one mapping in their order. */
static void link_rows(void)
{
	for (size_t file = 0; file <= CONF_FILE_AGENT; file++)
		outermost[file] = CONF_KEY_END;
	for (size_t row = index_count; row-- > 0;) {
		const struct conf_key *parent = rows_index[row].parent;
		size_t *first = parent ? &rows_index[row_of(parent)].first
				       : &outermost[rows_index[row].key->file];

		rows_index[row].next = *first;
		*first = row;
	}
}

static void make_index(void)
{
	for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
		for (size_t i = 0; i < parts[p]->count; i++) {
			const struct conf_key *key = &parts[p]->keys[i];

			assert(index_count < CONF_KEYS_MAX);
			rows_index[index_count].first = rows_index[index_count].next = CONF_KEY_END;
			/* A mapping's row comes before those of its keys. */
			rows_index[index_count].parent = find_parent(key);
			rows_index[index_count].name = conf_key_name(key);
			rows_index[index_count++].key = key;
		}
	}
	link_rows();
}

size_t conf_key_count(void)
{
	pthread_once(&once, make_index);
	return index_count;
}

const struct conf_key *conf_key(size_t row)
{
	pthread_once(&once, make_index);
	return rows_index[row].key;
}

/* SIZE_MAX: it is a copy of one. */
static size_t row_of(const struct conf_key *key)
{
	size_t before = 0;

	for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
		if (key >= parts[p]->keys && key < parts[p]->keys + parts[p]->count)
			return before + (size_t)(key - parts[p]->keys);
		before += parts[p]->count;
	}
	return SIZE_MAX;
}

size_t conf_key_first(const struct conf_key *parent, enum conf_file file)
{
	pthread_once(&once, make_index);
	return parent ? rows_index[row_of(parent)].first : outermost[file];
}

size_t conf_key_next(size_t row)
{
	return rows_index[row].next;
}

const char *conf_row_name(size_t row)
{
	return rows_index[row].name;
}

const char *conf_key_name(const struct conf_key *key)
{
	const char *dot = strrchr(key->path, '.');

	return dot ? dot + 1 : key->path;
}

bool conf_key_is_in(const struct conf_key *key, const struct conf_key *parent, enum conf_file file)
{
	size_t row = row_of(key);

	pthread_once(&once, make_index);
	return key->file == file && row != SIZE_MAX && rows_index[row].parent == parent;
}

bool conf_key_works(const struct conf_key *key)
{
	return !key->works || *key->works;
}
