/* SPDX-License-Identifier: BSD-2-Clause */
/* The table as a whole; its rows are in rows_*.c. */
#include "conf/keys/schema.h"

#include <string.h>

#include "conf/keys/rows.h"

static const struct rows *const parts[] = {&rows_node, &rows_pools, &rows_bgp, &rows_services,
					   &rows_agent};

size_t conf_key_count(void)
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		count += parts[i]->count;
	return count;
}

const struct conf_key *conf_key(size_t row)
{
	size_t part = 0;

	for (; row >= parts[part]->count; part++)
		row -= parts[part]->count;
	return &parts[part]->keys[row];
}

const char *conf_key_name(const struct conf_key *key)
{
	const char *dot = strrchr(key->path, '.');

	return dot ? dot + 1 : key->path;
}

bool conf_key_is_in(const struct conf_key *key, const struct conf_key *parent, enum conf_file file)
{
	const char *rest = key->path;

	if (key->file != file)
		return false;
	if (parent) {
		size_t length = strlen(parent->path);

		if (strncmp(rest, parent->path, length) != 0)
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

bool conf_key_works(const struct conf_key *key)
{
	return !key->works || *key->works;
}
