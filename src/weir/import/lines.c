/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of keepalived.conf as its own reader sees them: without comments, conditions decided,
 * definitions replaced, sequences unfolded, included files in their places. A definition is
 * replaced where it is used, with what others are then; so a line may become many, which are
 * handled each as one of the file. All of it is bounded.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/import/keepalived.h"

enum {
	FILES_MAX = 1000,
	STEPS_MAX = 65536,   /* of a sequence */
	VARS_MAX = 8,        /* of a list */
	MADE_DEPTH_MAX = 64, /* definitions of a line, one after the other or in each other */
};

struct definition {
	struct definition *next;
	const char *name, *value;
};

struct lines {
	struct keep_tree *tree;
	struct import *import;
	const struct import_files *files;
	struct definition *definitions;
	char *growing; /* a definition of several lines, so far; NULL: none */
	const char *growing_name;
	size_t line_count, file_count;
	unsigned file_depth;
	size_t made_bytes; /* of what definitions made */
};

/* A line as it is handled. */
struct line {
	struct import_place place;
	unsigned depth; /* of definitions */
	bool moves;     /* columns are those of the file */
};

static int refuse(const struct lines *lines, struct import_place place, const char *text)
{
	err_set(lines->tree->err, -EINVAL, "%s", text);
	lines->tree->err->line = place.line;
	lines->tree->err->column = place.column;
	lines->tree->err->file = place.file;
	return -EINVAL;
}

static int take_line(struct lines *lines, char *text, struct line line);

/* --- definitions --- */

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void define(struct lines *lines, const char *name, const char *value)
{
	struct definition *at = lines->definitions;

	while (at && strcmp(at->name, name) != 0)
		at = at->next;
	if (!at) {
		at = arena_alloc(lines->import->arena, sizeof(*at));
		at->name = arena_strdup(lines->import->arena, name);
		at->next = lines->definitions;
		lines->definitions = at;
	}
	at->value = arena_strdup(lines->import->arena, value);
}

/* NULL: it stays as it is. */
static const char *find_value(const struct lines *lines, const char *name, size_t length)
{
	static const struct {
		const char *name, *value;
	} fixed[] = {{"_HASH", "#"}, {"_BANG", "!"}};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
		if (strlen(fixed[i].name) == length && memcmp(fixed[i].name, name, length) == 0)
			return fixed[i].value;
	}
	for (const struct definition *at = lines->definitions; at; at = at->next) {
		if (strlen(at->name) == length && memcmp(at->name, name, length) == 0)
			return at->value;
	}
	return NULL;
}

/* The definition that is used at `at`, a dollar, and where that ends. */
static const char *used_at(const struct lines *lines, const char *at, const char **ret_end)
{
	bool braced = at[1] == '{';
	const char *name = at + 1 + braced, *end = name;

	while (is_name(*end))
		end++;
	if (end == name || isdigit((unsigned char)*name))
		return NULL;
	if (braced ? *end != '}' : *end && !isspace((unsigned char)*end))
		return NULL;
	*ret_end = end + braced;
	return find_value(lines, name, (size_t)(end - name));
}

/* With the first definition that it uses replaced; NULL: it uses none. */
static char *replace_first(const struct lines *lines, const char *text)
{
	for (const char *at = strchr(text, '$'); at; at = strchr(at + 1, '$')) {
		const char *end, *value = used_at(lines, at, &end);

		if (value)
			return arena_printf(lines->import->arena, "%.*s%s%s", (int)(at - text),
					    text, value, end);
	}
	return NULL;
}

/* "$NAME=": the value's start, or NULL. */
static char *defines(char *text)
{
	char *at = text;

	if (*at++ != '$' || isdigit((unsigned char)*at))
		return NULL;
	while (is_name(*at))
		at++;
	return *at == '=' && at > text + 1 ? at + 1 : NULL;
}

static int begin_definition(struct lines *lines, char *text, char *value)
{
	char *end = value + strlen(value);

	value[-1] = '\0';
	if (end > value && end[-1] == '\\') {
		end[-1] = '\0';
		lines->growing_name = arena_strdup(lines->import->arena, text + 1);
		lines->growing = arena_strdup(lines->import->arena, value + strspn(value, " \t"));
		return 0;
	}
	define(lines, text + 1, value);
	return 0;
}

/* One more line of it; those that end with a backslash are not the last. */
static int grow(struct lines *lines, char *text, struct import_place place)
{
	char *end = text + strlen(text);
	bool more = end > text && end[-1] == '\\';

	if (more)
		end[-1] = '\0';
	if (strlen(lines->growing) + strlen(text) > KEEP_LINE_MAX)
		return refuse(lines, place, "a definition is too long");
	lines->growing = arena_printf(lines->import->arena, "%s%s%s", lines->growing,
				      *lines->growing ? "\n" : "", text);
	lines->made_bytes += strlen(lines->growing);
	if (lines->made_bytes > (size_t)CONF_FILE_MAX)
		return refuse(lines, place, "definitions are too long together");
	if (!more) {
		define(lines, lines->growing_name, lines->growing);
		lines->growing = NULL;
	}
	return 0;
}

/* --- sequences --- */

struct sequence {
	char *rest; /* the line behind it */
	struct line line;
	const char *names[VARS_MAX];
	size_t name_count;
};

static char *skip(char *at, const char *letters)
{
	return at + strspn(at, letters);
}

static int run_rest(struct lines *lines, const struct sequence *sequence)
{
	struct line line = sequence->line;

	line.depth++;
	line.moves = false;
	return take_line(lines, arena_strdup(lines->import->arena, sequence->rest), line);
}

/* start, step and end, of which the last is there. */
static int run_numbers(struct lines *lines, struct sequence *sequence, const long *numbers,
		       size_t count, bool hex)
{
	long end = numbers[count - 1];
	long start = count > 1 ? numbers[0] : end > 0 ? 1 : -1;
	long step = count > 2 ? numbers[1] : end >= start ? 1 : -1;
	int error = 0;

	if (step == 0 || (end - start) / step > STEPS_MAX)
		return refuse(lines, sequence->line.place, "a sequence has too many steps");
	for (long at = start; !error && (step > 0 ? at <= end : at >= end); at += step) {
		define(lines, sequence->names[0],
		       arena_printf(lines->import->arena, hex ? "%lx" : "%ld", at));
		error = run_rest(lines, sequence);
	}
	return error;
}

/* ~SEQ(var, start, step, end) LINE */
static int take_sequence(struct lines *lines, char *at, struct sequence *sequence, bool hex)
{
	char *word, *rest;
	long numbers[3];
	size_t count = 0;

	word = strtok_r(at, ", \t", &rest);
	if (!word)
		return refuse(lines, sequence->line.place, "~SEQ has no variable");
	sequence->names[0] = word;
	while ((word = strtok_r(NULL, ", \t", &rest))) {
		char *end;

		if (count == 3)
			return refuse(lines, sequence->line.place, "~SEQ has too many values");
		numbers[count] = strtol(word, &end, 0);
		if (*end || labs(numbers[count]) > INT32_MAX)
			return refuse(lines, sequence->line.place,
				      "~SEQ has a value that is no number");
		count++;
	}
	if (!count)
		return refuse(lines, sequence->line.place, "~SEQ has no end");
	return run_numbers(lines, sequence, numbers, count, hex);
}

/* The names or values of one turn, "{a, b}" or "a"; returns where the next begins. */
static char *take_turn(char *at, const char **ret, size_t *ret_count)
{
	bool braced;
	char *end, *word, *rest;

	at = skip(at, ", \t");
	braced = *at == '{';
	at += braced;
	end = at + strcspn(at, braced ? "}" : ",");
	rest = *end ? end + 1 : end;
	*end = '\0';
	end = rest;
	*ret_count = 0;
	for (word = strtok_r(at, ", \t", &rest); word && *ret_count < VARS_MAX;
	     word = strtok_r(NULL, ", \t", &rest))
		ret[(*ret_count)++] = word;
	return end;
}

/* ~LST({a, b}, {1, 2}, {3, 4}) LINE */
static int take_list(struct lines *lines, char *at, struct sequence *sequence)
{
	const char *values[VARS_MAX];
	size_t count;
	int error = 0;

	at = take_turn(at, sequence->names, &sequence->name_count);
	while (!error && *skip(at, ", \t")) {
		at = take_turn(at, values, &count);
		if (count != sequence->name_count || !count)
			return refuse(lines, sequence->line.place,
				      "~LST has another number of values than of variables");
		for (size_t i = 0; i < count; i++)
			define(lines, sequence->names[i], values[i]);
		error = run_rest(lines, sequence);
	}
	return error;
}

static int take_repeated(struct lines *lines, char *text, struct line line)
{
	char *open = strchr(text, '('), *close = open ? strchr(open, ')') : NULL;
	struct sequence sequence = {.line = line};

	if (!close)
		return refuse(lines, line.place, "~SEQ or ~LST has no end");
	*open = *close = '\0';
	sequence.rest = close + 1;
	if (strcmp(text, "~SEQ") == 0 || strcmp(text, "~SEQx") == 0)
		return take_sequence(lines, open + 1, &sequence, text[4] == 'x');
	if (strcmp(text, "~LST") == 0)
		return take_list(lines, open + 1, &sequence);
	return refuse(lines, line.place, "neither ~SEQ nor ~LST");
}

/* --- conditions, included files --- */

/* "@name rest", "@^name rest": the rest, if the line is to be taken; else NULL. */
static char *decide(struct lines *lines, char *text, const struct line *line)
{
	bool not = text[1] == '^';
	char *name = text + 1 + not, *end = name + strcspn(name, " \t");
	const char *id = lines->files->config_id;
	bool is = id && strlen(id) == (size_t)(end - name) &&
		  memcmp(id, name, (size_t)(end - name)) == 0;

	if (is != not &&!id)
		import_note(lines->import, line->place, IMPORT_DIFFERS, text,
			    "a line for some hosts alone: taken; say whose with --id NAME");
	if (is != not )
		return skip(end, " \t");
	import_note(lines->import, line->place, IMPORT_LOST, text,
		    id ? "a line for other hosts: not taken"
		       : "a line for some hosts alone: not taken; say whose with --id NAME");
	return NULL;
}

static int take_text(struct lines *lines, const char *text, size_t length, const char *file);

static int take_included(void *taker, const char *file, const char *text, size_t length)
{
	struct lines *lines = taker;

	return take_text(lines, text, length, arena_strdup(lines->import->arena, file));
}

static bool is_include(const char *text)
{
	static const char *const names[] = {"include",  "includer", "includem",
					    "includew", "includeb", "includea"};
	size_t length = strcspn(text, " \t");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0)
			return text[length] != '\0';
	}
	return false;
}

static const char *directory_of(struct lines *lines, const char *file)
{
	char *directory = arena_strdup(lines->import->arena, file);
	char *slash = strrchr(directory, '/');

	if (!slash)
		return ".";
	slash[slash == directory] = '\0';
	return directory;
}

static int include(struct lines *lines, const char *text, const struct line *line)
{
	const char *directory = directory_of(lines, line->place.file);
	char *pattern;
	int error;

	pattern = arena_strdup(lines->import->arena, text + strcspn(text, " \t"));
	pattern = skip(pattern, " \t\"");
	pattern[strcspn(pattern, "\"\n")] = '\0';
	if (!lines->files->include)
		error = -ENOENT;
	else
		error = lines->files->include(lines->files->context, directory, pattern,
					      take_included, lines);
	define(lines, "_PWD", directory);
	if (!error || lines->tree->err->line)
		return error;
	import_note(lines->import, line->place, IMPORT_LOST, text, "not read: %s",
		    strerror(-error));
	return 0;
}

/* --- lines --- */

/* A comment begins outside of quotes. */
static void cut_comment(char *text)
{
	char quote = '\0';

	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		else if (quote ? *text == quote : *text == '"' || *text == '\'')
			quote = quote ? '\0' : *text;
		else if (!quote && (*text == '#' || *text == '!'))
			*text = '\0';
		if (!*text)
			break;
	}
}

static void cut_blanks(char *text)
{
	size_t length = strlen(text);

	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
}

/* What a definition made of a line: may be several. */
static int take_made(struct lines *lines, char *text, struct line line)
{
	int error = 0;
	char *end;

	lines->made_bytes += strlen(text);
	if (++line.depth > MADE_DEPTH_MAX || strlen(text) > KEEP_LINE_MAX ||
	    lines->made_bytes > (size_t)CONF_FILE_MAX)
		return refuse(lines, line.place, "definitions make too much of this line");
	line.moves = false;
	for (; text && !error; text = end) {
		end = strchr(text, '\n');
		if (end)
			*end++ = '\0';
		error = take_line(lines, text, line);
	}
	return error;
}

static int take_line(struct lines *lines, char *text, struct line line)
{
	char *start = skip(text, " \t\r"), *value;

	cut_blanks(start);
	if (!*start)
		return 0;
	if (++lines->line_count > IMPORT_LINES_MAX)
		return refuse(lines, line.place, "the files have too many lines together");
	if (line.moves)
		line.place.column += (int)(start - text);
	if (*start == '@') {
		start = decide(lines, start, &line);
		return start ? take_line(lines, start, (struct line){line.place, line.depth, false})
			     : 0;
	}
	value = defines(start);
	if (value)
		return begin_definition(lines, start, value);
	if (line.depth > MADE_DEPTH_MAX)
		return refuse(lines, line.place, "definitions are nested too deeply");
	if (*start == '~')
		return take_repeated(lines, start, line);
	value = replace_first(lines, start);
	if (value)
		return take_made(lines, value, line);
	if (is_include(start))
		return include(lines, start, &line);
	return keep_tree_feed(lines->tree, start, line.place, line.moves);
}

/* A line of a file, whose definition may be of several. */
static int take_physical(struct lines *lines, char *text, struct import_place place)
{
	cut_comment(text);
	cut_blanks(text);
	if (lines->growing)
		return grow(lines, text, place);
	return take_line(lines, text, (struct line){place, 0, true});
}

static int take_text(struct lines *lines, const char *text, size_t length, const char *file)
{
	const char *end = text + length;
	struct import_place place = {file, 1, 1};
	int error = 0;

	if (++lines->file_count > FILES_MAX || lines->file_depth == KEEP_DEPTH_MAX)
		return refuse(lines, place, "files include too many files");
	lines->file_depth++;
	define(lines, "_PWD", directory_of(lines, file));
	for (; text < end && !error; place.line++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t of = (size_t)((stop ? stop : end) - text);
		char *line;

		if (of > KEEP_LINE_MAX || memchr(text, '\0', of) ||
		    ++lines->line_count > IMPORT_LINES_MAX)
			return refuse(lines, place, "too much, or no text");
		line = malloc(of + 1);
		if (!line)
			return -ENOMEM;
		memcpy(line, text, of);
		line[of] = '\0';
		error = take_physical(lines, line, place);
		free(line);
		text += of + 1;
	}
	lines->file_depth--;
	return error;
}

int keep_lines(struct keep_tree *tree, const char *text, size_t length, const char *file,
	       const struct import_files *files)
{
	struct lines lines = {.tree = tree, .import = tree->import, .files = files};
	int error;

	if (files->config_id)
		define(&lines, "_INSTANCE", files->config_id);
	error = take_text(&lines, text, length, file);
	if (!error && lines.growing)
		define(&lines, lines.growing_name, lines.growing);
	return error;
}
