/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files that read keepalived.conf share: the file as a tree of statements (tree.c, which
 * gets its lines from lines.c: comments, definitions, sequences, conditions and included files are
 * gone there), and what the parts of that tree become (keepalived.c, virtual.c, probe.c).
 */
#pragma once

#include "weir/import/import.h"

enum {
	KEEP_DEPTH_MAX = 16, /* blocks in blocks; the same of included files and of definitions */
	KEEP_WORDS_MAX = 512,
	KEEP_LINE_MAX = 64 * 1024,
};

struct keep_word {
	const char *text; /* without its quotes */
	int column;
};

/* A statement, with its block if it has one. */
struct keep_node {
	struct keep_node *next, *parent;
	struct import_place place;
	const struct keep_word *words;
	size_t count; /* 1 or more, but in the root */
	bool has_block;
	struct keep_node *children, **tail;
};

/* --- tree.c --- */

struct keep_tree {
	struct import *import;
	struct err *err;
	struct keep_node root, *block; /* the block that is open */
	struct keep_node *last;        /* a statement that a block may follow; NULL: none */
	unsigned depth;
};

void keep_tree_init(struct keep_tree *tree, struct import *import, struct err *err);
/* A line without comments. 0, or -EINVAL. `moves`: columns are those of its text. */
int keep_tree_feed(struct keep_tree *tree, const char *line, struct import_place place, bool moves);
/* After the last line. */
int keep_tree_end(struct keep_tree *tree);

/* --- lines.c --- */

int keep_lines(struct keep_tree *tree, const char *text, size_t length, const char *file,
	       const struct import_files *files);

/* --- keepalived.c --- */

/* The statement's words, as they stand; of a block with its first word's braces. */
const char *keep_text(struct import *import, const struct keep_node *node);
/* The word at `at`; "": there is none. */
const char *keep_word(const struct keep_node *node, size_t at);
bool keep_is(const struct keep_node *node, const char *name);
void keep_note(struct import *import, const struct keep_node *node, enum import_kind kind,
	       const char *text);

/* What becomes of statements that are only noted. */
struct keep_row {
	const char *name;
	enum import_kind kind;
	const char *text;
};
/* Notes it by its row; by none that it is not known. */
void keep_note_row(struct import *import, const struct keep_node *node, const struct keep_row *rows,
		   size_t count);

/* --- probe.c --- */

/* Settings that a virtual server's real servers have from it, and their checks from them. */
struct keep_scope {
	uint64_t interval_ms;
	uint64_t timeout_ms, retry, delay_ms; /* UINT64_MAX: not given */
	bool alpha;
	const char *virtualhost; /* NULL: none */
};

struct keep_scope keep_scope_default(void);
/* Takes such a statement; false: it is another. */
bool keep_scope_take(struct import *import, struct keep_scope *scope, const struct keep_node *node);
/* Is it a checker's block? */
bool keep_is_check(const struct keep_node *node);
/* The most telling of a real server's checkers. */
struct import_check keep_check(struct import *import, const struct keep_node *server,
			       const struct import_backend *backend, struct keep_scope scope);

/* --- virtual.c --- */

/* A virtual_server; `root` has the groups. 0, or -EINVAL. */
int keep_virtual(struct keep_tree *tree, const struct keep_node *node);
