/* SPDX-License-Identifier: BSD-2-Clause */
/* Things that must be the only ones of their kind: comparing all with all is a sort. */
#include <stdlib.h>
#include <string.h>

#include "conf/source.h"
#include "conf/verify/verify.h"

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	if (order)
		return order;
	if (x->place.line != y->place.line)
		return x->place.line - y->place.line;
	if (x->place.column != y->place.column)
		return x->place.column - y->place.column;
	return (x->index > y->index) - (x->index < y->index);
}

static int compare_key(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->key, ((const struct entry *)b)->key);
}

struct entries entries_new(struct reader *reader, size_t most)
{
	return (struct entries){.list = arena_array(reader->scratch, most, sizeof(struct entry))};
}

void entries_sort(struct entries *entries)
{
	qsort(entries->list, entries->count, sizeof(*entries->list), compare_entries);
}

const struct entry *entries_find(const struct entries *entries, const char *key)
{
	const struct entry wanted = {.key = key};

	if (entries->count == 0)
		return NULL;
	return bsearch(&wanted, entries->list, entries->count, sizeof(wanted), compare_key);
}

void entries_refuse_twins(struct reader *reader, struct entries *entries, const char *what)
{
	const struct entry *first = entries->list;

	entries_sort(entries);
	for (size_t i = 1; i < entries->count; i++) {
		const struct entry *entry = &entries->list[i];

		if (strcmp(first->key, entry->key) != 0)
			first = entry;
		else if (entry->owner)
			reader_error(reader, entry->place,
				     "%s %s of %s is that of %s in line %d, expected another", what,
				     entry->key, entry->owner, first->owner,
				     source_line(first->place.line));
		else
			reader_error(reader, entry->place,
				     "%s %s is there already in line %d, expected it once", what,
				     entry->key, source_line(first->place.line));
	}
}

struct entry *entries_add(const struct reader *reader, struct entries *entries, const char *key,
			  const void *at)
{
	struct entry *entry = &entries->list[entries->count];
	const struct conf_place nowhere = {0};
	struct conf_place place;

	if (!key)
		return NULL;
	place = reader_place(reader, at, nowhere);
	if (!place.line)
		return NULL;
	*entry = (struct entry){.key = key, .at = at, .place = place};
	entries->count++;
	return entry;
}

void entries_drop_repeated(struct entries *entries)
{
	size_t kept = 0;

	entries_sort(entries);
	for (size_t i = 0; i < entries->count; i++) {
		if (kept == 0 || compare_entries(&entries->list[kept - 1], &entries->list[i]) != 0)
			entries->list[kept++] = entries->list[i];
	}
	entries->count = kept;
}

const char *verify_address(struct reader *reader, const struct addr *addr)
{
	char text[ADDR_TEXT_MAX];

	return arena_strdup(reader->scratch, addr_format(addr, text));
}

const char *verify_prefix(struct reader *reader, const struct prefix *prefix)
{
	char text[ADDR_TEXT_MAX];

	return arena_strdup(reader->scratch, prefix_format_short(prefix, text));
}

const char *verify_label(struct reader *reader, const char *kind, const char *name)
{
	return arena_printf(reader->scratch, "%s \"%s\"", kind, verify_name(name));
}

const char *verify_name(const char *name)
{
	return name ? name : "?";
}

void verify_prefixes_once(struct reader *reader, const struct prefix *list, size_t count,
			  const char *what)
{
	struct entries entries = entries_new(reader, count);

	for (size_t i = 0; i < count; i++)
		entries_add(reader, &entries, verify_prefix(reader, &list[i]), &list[i]);
	entries_refuse_twins(reader, &entries, what);
}
