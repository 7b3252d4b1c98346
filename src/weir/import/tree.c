/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines as statements: words, and blocks in braces. A brace stands alone, or ends a word; an
 * opening one may stand on the next line. In quotes of either kind there may be anything, with the
 * shell's escapes.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/import/keepalived.h"

void keep_tree_init(struct keep_tree *tree, struct import *import, struct err *err)
{
	*tree = (struct keep_tree){.import = import, .err = err};
	tree->root.tail = &tree->root.children;
	tree->root.place = (struct import_place){"", 1, 1};
	tree->block = &tree->root;
}

static int refuse(const struct keep_tree *tree, struct import_place place, const char *text)
{
	err_set(tree->err, -EINVAL, "%s", text);
	tree->err->line = place.line;
	tree->err->column = place.column;
	tree->err->file = place.file;
	return -EINVAL;
}

/* --- words --- */

struct scanner {
	struct keep_tree *tree;
	const char *start, *at;
	struct import_place place;
	bool moves;
	char *text; /* where words are built: as long as the line */
	struct keep_word words[KEEP_WORDS_MAX];
	size_t count;
};

static int column_of(const struct scanner *scanner)
{
	return scanner->place.column + (scanner->moves ? (int)(scanner->at - scanner->start) : 0);
}

static const char *take_number(const char *at, int base, int digits, char *ret)
{
	unsigned value = 0;

	for (; digits; digits--, at++) {
		int digit = isdigit((unsigned char)*at)    ? *at - '0'
			    : isxdigit((unsigned char)*at) ? (*at | 0x20) - 'a' + 10
							   : base;

		if (digit >= base)
			break;
		value = value * (unsigned)base + (unsigned)digit;
	}
	*ret = (char)value;
	return at;
}

/* Behind a backslash: what it means; returns where it ends. */
static const char *take_escape(const char *at, char *ret)
{
	static const char letters[] = "abEfnrtv", values[] = "\a\b\033\f\n\r\t\v";
	const char *found = *at ? strchr(letters, *at) : NULL;

	if (*at >= '0' && *at <= '7')
		return take_number(at, 8, 3, ret);
	if (*at == 'x' && isxdigit((unsigned char)at[1]))
		return take_number(at + 1, 16, 2, ret);
	*ret = found ? values[found - letters] : *at;
	return *at ? at + 1 : at;
}

/* A word up to a blank or a brace that ends it; 1: a quote does not end. */
static int take_word(struct scanner *scanner)
{
	struct keep_word word = {scanner->text, column_of(scanner)};
	char quote = '\0';
	bool is_quoted = false;

	for (; *scanner->at; scanner->at++) {
		char c = *scanner->at;

		if (!quote && isspace((unsigned char)c))
			break;
		if (!quote && c == '{' && !is_quoted && !strchr(word.text, '$') &&
		    (!scanner->at[1] || isspace((unsigned char)scanner->at[1]))) {
			break;
		}
		if (quote ? c == quote : c == '"' || c == '\'') {
			quote = quote ? '\0' : c;
			is_quoted = true;
		} else if (quote && c == '\\') {
			scanner->at = take_escape(scanner->at + 1, scanner->text++) - 1;
		} else {
			*scanner->text++ = c;
		}
		*scanner->text = '\0';
	}
	*scanner->text++ = '\0';
	if (scanner->count == KEEP_WORDS_MAX)
		return refuse(scanner->tree, scanner->place, "a statement has too many words");
	scanner->words[scanner->count++] = word;
	return quote ? refuse(scanner->tree, scanner->place, "a quote does not end on its line")
		     : 0;
}

/* --- statements --- */

/* What the words so far are. */
static void end_statement(struct scanner *scanner)
{
	struct keep_tree *tree = scanner->tree;
	struct keep_word *words;
	struct keep_node *node;

	if (scanner->count == 0)
		return;
	words = arena_array(tree->import->arena, scanner->count, sizeof(*words));
	memcpy(words, scanner->words, scanner->count * sizeof(*words));
	node = arena_alloc(tree->import->arena, sizeof(*node));
	node->place = scanner->place;
	node->place.column = words[0].column;
	node->words = words;
	node->count = scanner->count;
	node->parent = tree->block;
	node->tail = &node->children;
	*tree->block->tail = node;
	tree->block->tail = &node->next;
	tree->last = node;
	scanner->count = 0;
}

static int open_block(struct scanner *scanner)
{
	struct keep_tree *tree = scanner->tree;
	struct import_place place = scanner->place;

	end_statement(scanner);
	place.column = column_of(scanner);
	if (!tree->last)
		return refuse(tree, place, "a brace opens nothing, expected a name before it");
	if (++tree->depth > KEEP_DEPTH_MAX)
		return refuse(tree, place, "blocks are nested too deeply");
	tree->last->has_block = true;
	tree->block = tree->last;
	tree->last = NULL;
	return 0;
}

static int close_block(struct scanner *scanner)
{
	struct keep_tree *tree = scanner->tree;
	struct import_place place = scanner->place;

	end_statement(scanner);
	place.column = column_of(scanner);
	tree->last = NULL;
	if (!tree->block->parent)
		return refuse(tree, place, "a brace closes no block");
	tree->block = tree->block->parent;
	tree->depth--;
	return 0;
}

static int scan(struct scanner *scanner)
{
	int error = 0;

	while (!error) {
		while (isspace((unsigned char)*scanner->at))
			scanner->at++;
		if (!*scanner->at)
			break;
		if (*scanner->at == '{')
			error = open_block(scanner);
		else if (*scanner->at == '}')
			error = close_block(scanner);
		else if ((error = take_word(scanner)) == 0)
			continue;
		scanner->at++;
	}
	if (!error)
		end_statement(scanner);
	return error;
}

int keep_tree_feed(struct keep_tree *tree, const char *line, struct import_place place, bool moves)
{
	size_t length = strlen(line);
	struct scanner scanner = {.tree = tree,
				  .start = line,
				  .at = line,
				  .place = place,
				  .moves = moves,
				  /* Words end with a zero each, in the place of a blank or a quote;
				   * one letter before a brace has none. */
				  .text = arena_alloc(tree->import->arena, 2 * length + 2)};

	return scan(&scanner);
}

int keep_tree_end(struct keep_tree *tree)
{
	if (!tree->block->parent)
		return 0;
	return refuse(tree, tree->block->place, "the block that begins here does not end");
}
