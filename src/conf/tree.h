/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file's text as a tree of values, bounded, and refused where YAML allows more than has a meaning
 * here. It is built from libyaml's events; libyaml's own document tree would take eight times the
 * memory, most of it for places that nobody asks for, and as much time again. Nodes and their texts
 * are the arena's, of the thread that has it. Within this room.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "conf/conf.h"

enum {
	TREE_DEPTH_MAX = 16,          /* nesting of lists and mappings; ours needs 5 */
	TREE_NODES_MAX = 1024 * 1024, /* values of a file, and again with its aliases unfolded */
	TREE_ANCHORS_MAX = 128,       /* searched one by one at every alias */
};

enum tree_kind { TREE_SCALAR, TREE_LIST, TREE_MAP };

/*
 * What a list or a mapping holds, in the file's order. An alias is the node that it names, so a
 * node may be found in several places, and within itself: whoever walks the tree has a bound.
 */
struct tree_item {
	struct tree_item *next;
	const struct tree_node *key; /* of a mapping; else NULL */
	const struct tree_node *value;
};

struct tree_node {
	enum tree_kind kind;
	bool plain; /* a scalar in YAML's plain style: no quotes, no "|" or ">" */
	struct conf_place place;
	size_t count; /* of its items, pairs in a mapping; a scalar's bytes */
	union {
		char *text; /* a scalar's, UTF-8, with a zero behind it; may hold zeros too */
		struct {
			struct tree_item *first, *last; /* NULL: it is empty */
		};
	};
};

/* What is to be read. */
struct tree_text {
	const char *text;
	size_t length;
	int lines; /* to be added to the nodes', not to those of errors */
};

/* 0 and the root in *ret; or -EINVAL and one error, of memory that libyaml lacked too. */
int tree_load(const struct tree_text *input, struct arena *arena, struct tree_node **ret,
	      struct err_list *errors);
/* What a mapping has by that name; NULL: nothing, or the node is NULL or no mapping. */
const struct tree_node *tree_find(const struct tree_node *map, const char *name);
