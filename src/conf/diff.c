/* SPDX-License-Identifier: BSD-2-Clause */
/* What differs between two configurations, along the table's rows: each value as it is written. */
#include <stdlib.h>
#include <string.h>

#include "conf/diff.h"
#include "conf/room.h"

enum { PATH_MAX_LETTERS = 512 };

struct differ {
	conf_told *told; /* NULL: only counted */
	void *arg;
	size_t count;
	char path[PATH_MAX_LETTERS];
	size_t length; /* of the path */
};

static void tell(struct differ *differ, const char *before, const char *after)
{
	const struct conf_change change = {differ->path, before, after};

	differ->count++;
	if (differ->told)
		differ->told(differ->arg, &change);
}

/* Makes the path longer; the old length, to go back to, is returned. */
static size_t enter(struct differ *differ, const char *before, const char *name, const char *after)
{
	size_t length = differ->length;
	int more = snprintf(differ->path + length, sizeof(differ->path) - length, "%s%s%s", before,
			    name, after);

	differ->length += (size_t)more;
	if (differ->length >= sizeof(differ->path))
		differ->length = sizeof(differ->path) - 1;
	return length;
}

static void leave(struct differ *differ, size_t length)
{
	differ->length = length;
	differ->path[length] = '\0';
}

static const char *list_of(const struct conf_key *key, const char *source, size_t *ret_count)
{
	const char *list;

	memcpy(&list, source + key->offset, sizeof(list));
	memcpy(ret_count, source + key->count_offset, sizeof(*ret_count));
	return list;
}

/* --- lists of values --- */

/* As one would write it; for free(), NULL: out of memory. */
static char *list_text(const struct conf_key *key, const char *list, size_t count)
{
	char value[VALUE_TEXT_MAX], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputc('[', out);
	for (size_t i = 0; i < count; i++) {
		value_format(key, list + i * key->width, value);
		fprintf(out, "%s%s", i ? ", " : "", value);
	}
	fputc(']', out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static bool same_value(const struct conf_key *key, const char *before, const char *after)
{
	char one[VALUE_TEXT_MAX], two[VALUE_TEXT_MAX];
	bool has_one = value_format(key, before, one), has_two = value_format(key, after, two);

	return has_one == has_two && (!has_one || strcmp(one, two) == 0);
}

static void diff_values(struct differ *differ, const struct conf_key *key, const char *before,
			const char *after)
{
	size_t old_count, new_count, same = 0;
	const char *old = list_of(key, before, &old_count), *new = list_of(key, after, &new_count);
	char *old_text, *new_text;

	while (same < old_count && same < new_count &&
	       same_value(key, old + same * key->width, new + same * key->width))
		same++;
	if (same == old_count && same == new_count)
		return;
	old_text = differ->told ? list_text(key, old, old_count) : NULL;
	new_text = differ->told ? list_text(key, new, new_count) : NULL;
	tell(differ, old_text, new_text);
	free(old_text);
	free(new_text);
}

/* --- mappings --- */

static void diff_map(struct differ *differ, const struct conf_key *parent, enum conf_file file,
		     const char *before, const char *after);

/* The row by which elements of a list of mappings are known; NULL: by their place. */
static const struct conf_key *name_row(const struct conf_key *list)
{
	static const char *const names[] = {"name", "address"};

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		for (size_t i = conf_key_first(list, list->file); i != CONF_KEY_END;
		     i = conf_key_next(i)) {
			const struct conf_key *key = conf_key(i);

			if (strcmp(conf_key_name(key), names[n]) == 0)
				return key;
		}
	}
	return NULL;
}

/* Mostly it stands where the other stood. SIZE_MAX: there is none. */
static size_t find(const struct conf_key *key, const struct conf_key *name, const char *element,
		   size_t at, const char *list, size_t count)
{
	char wanted[VALUE_TEXT_MAX], text[VALUE_TEXT_MAX];

	if (!name)
		return at < count ? at : SIZE_MAX;
	value_format(name, element + name->offset, wanted);
	for (size_t i = 0; i <= count; i++) {
		size_t place = i == 0 ? at : i - 1;

		if (place >= count)
			continue;
		value_format(name, list + place * key->width + name->offset, text);
		if (strcmp(text, wanted) == 0)
			return place;
	}
	return SIZE_MAX;
}

static size_t enter_element(struct differ *differ, const struct conf_key *name, const char *element,
			    size_t at)
{
	char text[VALUE_TEXT_MAX];
	size_t length;

	if (name)
		value_format(name, element + name->offset, text);
	else
		snprintf(text, sizeof(text), "%zu", at + 1);
	length = strlen(text);
	if (*text != '"' || length < 2)
		return enter(differ, "[", text, "]");
	/* A name needs no quotes here. */
	text[length - 1] = '\0';
	return enter(differ, "[", text + 1, "]");
}

static void diff_elements(struct differ *differ, const struct conf_key *key, const char *before,
			  const char *after)
{
	const struct conf_key *name = name_row(key);
	size_t old_count, new_count;
	const char *old = list_of(key, before, &old_count), *new = list_of(key, after, &new_count);

	for (size_t i = 0; i < old_count; i++) {
		const char *element = old + i * key->width;
		size_t place = find(key, name, element, i, new, new_count);
		size_t length = enter_element(differ, name, element, i);

		if (place == SIZE_MAX)
			tell(differ, "", NULL);
		else
			diff_map(differ, key, key->file, element, new + place * key->width);
		leave(differ, length);
	}
	for (size_t i = 0; i < new_count; i++) {
		const char *element = new + i * key->width;
		size_t length;

		if (find(key, name, element, i, old, old_count) != SIZE_MAX)
			continue;
		length = enter_element(differ, name, element, i);
		tell(differ, NULL, "");
		leave(differ, length);
	}
}

static void diff_scalar(struct differ *differ, const struct conf_key *key, const char *before,
			const char *after)
{
	char old[VALUE_TEXT_MAX], new[VALUE_TEXT_MAX];
	bool had = (!key->means || key->means(before)) &&
		   value_format(key, before + key->offset, old);
	bool has = (!key->means || key->means(after)) &&
		   value_format(key, after + key->offset, new);

	if (had != has || (had && strcmp(old, new) != 0))
		tell(differ, had ? old : NULL, has ? new : NULL);
}

static void diff_key(struct differ *differ, const struct conf_key *key, const char *before,
		     const char *after)
{
	if (key->type == CONF_TYPE_MAP && !key->list)
		diff_map(differ, key, key->file, before, after);
	else if (!key->width)
		return;
	else if (key->type == CONF_TYPE_MAP)
		diff_elements(differ, key, before, after);
	else if (key->list)
		diff_values(differ, key, before, after);
	else
		diff_scalar(differ, key, before, after);
}

static void diff_map(struct differ *differ, const struct conf_key *parent, enum conf_file file,
		     const char *before, const char *after)
{
	for (size_t i = conf_key_first(parent, file); i != CONF_KEY_END; i = conf_key_next(i)) {
		const struct conf_key *key = conf_key(i);
		size_t length;

		/* Which file it is from makes no difference. */
		if (!conf_key_works(key) || strcmp(key->path, "source") == 0)
			continue;
		length = enter(differ, differ->length ? "." : "", conf_key_name(key), "");
		diff_key(differ, key, before, after);
		leave(differ, length);
	}
}

size_t conf_diff(const struct conf *before, const struct conf *after, conf_told *told, void *arg)
{
	struct differ differ = {.told = told, .arg = arg};

	diff_map(&differ, NULL, CONF_FILE_NODE, (const char *)before, (const char *)after);
	return differ.count;
}

static bool same_map(const char *path, const void *before, const void *after)
{
	struct differ differ = {0};

	for (size_t i = 0; i < conf_key_count(); i++) {
		if (strcmp(conf_key(i)->path, path) != 0)
			continue;
		diff_map(&differ, conf_key(i), CONF_FILE_NODE, before, after);
		break;
	}
	return differ.count == 0;
}

bool conf_check_same(const struct conf_pool *before, const struct conf_pool *after)
{
	return same_map("pools[].check", before, after);
}

bool conf_service_same(const struct conf_service *before, const struct conf_service *after)
{
	return same_map("services", before, after);
}
