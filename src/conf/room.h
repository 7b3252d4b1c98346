/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of this room share, and nobody else includes: the document as a bounded tree, the
 * reader that fills structs from it by the table's rows, the values' forms, the checks over all.
 */
#pragma once

#include <stdio.h>

#include "base/arena.h"
#include "conf/conf.h"
#include "conf/keys/schema.h"
#include "conf/tree.h"

enum {
	QUOTED_MAX = 72,               /* a text of the file, as quoted in an error */
	EXPECTED_MAX = 160,            /* what conf_key_expected writes */
	VALUE_TEXT_MAX = 6 * 1024 + 8, /* any value, printed */
};

/* --- file.c --- */

/* Whoever writes a file line by line ends the last one, too: without that it may be cut off. */
int conf_check_end(const char *text, size_t length, struct err_list *errors);

/* --- read.c --- */

/* Where in the file a stored value was written: for checks made when all is read. */
struct mark {
	const void *at;
	const struct tree_node *node;
};

struct reader {
	const struct tree_node *root;
	enum conf_file file;
	struct arena *arena;   /* the configuration's */
	struct arena *scratch; /* ends with the reading */
	struct err_list *errors;
	struct mark *marks; /* by address once all is read */
	size_t mark_count, mark_room;
	size_t visits; /* of nodes, those behind aliases each time */
	bool cut;      /* too many visits: the rest was not read */
};

/* Fills `root`, a struct conf or conf_agent, from the document. */
void reader_read(struct reader *reader, void *root);
/* The node that the value stored at `at` came from; NULL: it was not written. */
const struct tree_node *reader_node(const struct reader *reader, const void *at);
/* The same as a place; `otherwise` where it was not written. */
struct conf_place reader_place(const struct reader *reader, const void *at,
			       struct conf_place otherwise);
void reader_error(struct reader *reader, struct conf_place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

struct quoted {
	char text[QUOTED_MAX];
};
/* In double quotes, cut when long; only printable ASCII, so that look-alikes and control
 * characters show. */
struct quoted quote(const char *text, size_t length);

/* --- value.c and value_text.c --- */

struct unit {
	const char *suffix;
	uint64_t factor;
};

struct units {
	const struct unit *list;
	size_t count;
	bool needed; /* a number without one is wrong */
};

/* What a number may end with. */
const struct units *value_units(const struct conf_key *key);

/* Reads a value and stores it at `at` (NULL: nowhere). NULL, or what is wrong with it. */
const char *value_parse(const struct conf_key *key, const char *text, struct arena *arena,
			void *at);
/* Writes the value that is stored at `at` as one would write it in YAML, of VALUE_TEXT_MAX bytes.
 * False: there is none to write. */
bool value_format(const struct conf_key *key, const void *at, char *text);
/* What may be written, of a list for each element; see conf_key_expected. */
const char *value_expected(const struct conf_key *key, char *text, size_t size);
/* The place of `text` in a list such as "a|b|c", or -1. */
int choice_find(const char *choices, const char *text);

/* --- verify/verify.c --- */

/* Resolves what depends on other values (pools, ports, table sizes) and checks values against
 * each other. */
void verify_conf(struct reader *reader, struct conf *conf);
void verify_agent(struct reader *reader, struct conf_agent *agent);
