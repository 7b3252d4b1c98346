/* SPDX-License-Identifier: BSD-2-Clause */
/* The table's other direction: a configuration in its normal form, and the manual's keys. */
#include <ctype.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "conf/diff.h"
#include "conf/room.h"

struct printer {
	FILE *out;
	enum conf_file file;
	enum part { ALL, SHARED, OWN } part; /* of the outermost keys */
};

/* Is it a node's own? */
static bool is_own(const struct conf_key *key)
{
	static const char *const names[] = {"node", "bgp", "announce", "source"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(key->path, names[i]) == 0)
			return true;
	}
	return false;
}

/* A large file has a hundred thousand words, of a stream that is one thread's. */
static void put(const struct printer *printer, const char *text)
{
	fputs_unlocked(text, printer->out);
}

static void indent(const struct printer *printer, int depth)
{
	for (int i = 0; i < depth; i++)
		put(printer, "  ");
}

static const char *array_of(const struct conf_key *key, const char *source, size_t *ret_count)
{
	const char *array;

	memcpy(&array, source + key->offset, sizeof(array));
	memcpy(ret_count, source + key->count_offset, sizeof(*ret_count));
	return array;
}

static void print_map(const struct printer *printer, const struct conf_key *parent,
		      const char *source, int depth);

static void print_list(const struct printer *printer, const struct conf_key *key,
		       const char *source, int depth)
{
	size_t count;
	const char *array = array_of(key, source, &count);
	char text[VALUE_TEXT_MAX];

	if (count == 0 && key->fallback) {
		put(printer, " ");
		put(printer, key->fallback);
		put(printer, "\n");
		return;
	}
	if (key->type != CONF_TYPE_MAP || count == 0) {
		put(printer, " [");
		for (size_t i = 0; i < count; i++) {
			value_format(key, array + i * key->width, text);
			put(printer, i ? ", " : "");
			put(printer, text);
		}
		put(printer, "]\n");
		return;
	}
	put(printer, "\n");
	for (size_t i = 0; i < count; i++) {
		indent(printer, depth + 1);
		put(printer, "-\n");
		print_map(printer, key, array + i * key->width, depth + 2);
	}
}

static bool prints(const struct printer *printer, const struct conf_key *key, const char *source,
		   char *text);

/* A mapping that lacks what it must have was not given: the rest of it are defaults. */
static bool prints_some(const struct printer *printer, const struct conf_key *map,
			const char *source, char *text)
{
	bool some = false;

	for (size_t i = conf_key_first(map, printer->file); i != CONF_KEY_END;
	     i = conf_key_next(i)) {
		const struct conf_key *key = conf_key(i);

		if (prints(printer, key, source, text))
			some = true;
		else if (key->required)
			return false;
	}
	return some;
}

/* Whether there is something to print; a value's text is left in `text`. */
static bool prints(const struct printer *printer, const struct conf_key *key, const char *source,
		   char *text)
{
	if (key->means && !key->means(source))
		return false;
	if (key->list)
		return key->width;
	if (key->type != CONF_TYPE_MAP)
		return key->width && value_format(key, source + key->offset, text);
	return prints_some(printer, key, source, text);
}

static bool is_in_part(const struct printer *printer, const struct conf_key *key,
		       const struct conf_key *parent)
{
	return parent || printer->part == ALL || is_own(key) == (printer->part == OWN);
}

static void print_map(const struct printer *printer, const struct conf_key *parent,
		      const char *source, int depth)
{
	char text[VALUE_TEXT_MAX];

	for (size_t i = conf_key_first(parent, printer->file); i != CONF_KEY_END;
	     i = conf_key_next(i)) {
		const struct conf_key *key = conf_key(i);

		if (!is_in_part(printer, key, parent) || strcmp(key->path, "source") == 0 ||
		    !prints(printer, key, source, text))
			continue;
		indent(printer, depth);
		put(printer, conf_row_name(i));
		put(printer, ":");
		if (key->list) {
			print_list(printer, key, source, depth);
		} else if (key->type == CONF_TYPE_MAP) {
			put(printer, "\n");
			print_map(printer, key, source, depth + 1);
		} else {
			put(printer, " ");
			put(printer, text);
			put(printer, "\n");
		}
	}
}

static char *format_root(enum conf_file file, enum part part, const void *root)
{
	struct printer printer = {.file = file, .part = part};
	char *text = NULL;
	size_t size;

	printer.out = open_memstream(&text, &size);
	if (!printer.out)
		return NULL;
	/* Nobody else has it: a lock for each word took a third of the time. */
	__fsetlocking(printer.out, FSETLOCKING_BYCALLER);
	print_map(&printer, NULL, root, 0);
	if (fclose(printer.out) == 0)
		return text;
	free(text);
	return NULL;
}

char *conf_format(const struct conf *conf)
{
	return format_root(CONF_FILE_NODE, ALL, conf);
}

char *conf_format_shared(const struct conf *conf)
{
	return format_root(CONF_FILE_NODE, SHARED, conf);
}

char *conf_format_own(const struct conf *conf)
{
	return format_root(CONF_FILE_NODE, OWN, conf);
}

char *conf_agent_format(const struct conf_agent *agent)
{
	return format_root(CONF_FILE_AGENT, ALL, agent);
}

/* --- the manual --- */

/* Does the text begin with a value, as it is to be written? "always: ...", "auto, or ..." */
static bool begins_with_value(const char *text)
{
	size_t word = strcspn(text, " ");

	return word && (strchr(":,", text[word - 1]) || memchr(text, '/', word));
}

/* The first letter a capital, unless it is a value's, a full stop at the end; in mdoc nothing that
 * roff would take for a request or an escape. */
static void put_sentence(FILE *out, const char *text, bool mdoc)
{
	int first = (unsigned char)*text;

	fputc(begins_with_value(text) ? first : toupper(first), out);
	for (const char *at = text + 1; *at; at++) {
		fputc(*at, out);
		if (mdoc && *at == '\\')
			fputc('e', out);
	}
	fputs(".\n", out);
}

static void put_works(FILE *out, const struct conf_key *key)
{
	char expected[EXPECTED_MAX];

	if (!conf_key_works(key)) {
		fputs("Does not work yet.\n", out);
	} else if (key->works) {
		conf_key_expected(key, expected, sizeof(expected));
		fprintf(out, "Works so far: %s.\n",
			strncmp(expected, "one of ", 7) == 0 ? expected + 7 : expected);
	}
}

/* Words for what may be written; where not all of it works, the whole list. */
static void put_values(FILE *out, const struct conf_key *key, bool mdoc)
{
	struct conf_key all = *key;
	char expected[EXPECTED_MAX];

	all.works = NULL;
	conf_key_expected(&all, expected, sizeof(expected));
	put_sentence(out, expected, mdoc);
}

static void put_key(FILE *out, const struct conf_key *key, bool mdoc)
{
	if (mdoc)
		fprintf(out, ".It Cm %s\n", key->path);
	else
		fprintf(out, "%s\n", key->path);
	put_sentence(out, key->help, mdoc);
	put_values(out, key, mdoc);
	if (key->required)
		fputs("Required.\n", out);
	if (key->with)
		fprintf(out, "Only with %s.\n", key->with);
	if (key->absent)
		fprintf(out, "Default: %s.\n", key->absent);
	else if (key->fallback)
		fprintf(out, "Default: %s.\n", *key->fallback ? key->fallback : "the empty text");
	put_works(out, key);
	if (!mdoc)
		fputc('\n', out);
}

char *conf_keys_manual(bool mdoc)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (mdoc)
		fputs(".Bl -tag -width Ds\n", out);
	for (size_t i = 0; i < conf_key_count(); i++)
		put_key(out, conf_key(i), mdoc);
	if (mdoc)
		fputs(".El\n", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
