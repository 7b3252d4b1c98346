/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A second file, of which the first one's document gets all keys. Lines of it are known by being
 * beyond SOURCE_LINES, until source_name_lines. Within this room.
 */
#pragma once

#include "base/err.h"
#include "conf/file.h"
#include "conf/room.h"

enum { SOURCE_LINES = 1 << 25 }; /* more than a file of CONF_FILE_MAX has */

/* As it stands in its file. */
static inline int source_line(int line)
{
	return line > SOURCE_LINES ? line - SOURCE_LINES : line;
}

struct source {
	char *path; /* for free(); NULL: there is none */
	struct conf_ended ended;
};

/*
 * Where the tree, which is from `path`, has source.file: reads that one, into the reader's scratch,
 * and adds its keys. 0 or -EINVAL and errors; *ret in any case.
 */
int source_graft(struct tree_node *root, const char *path, struct source *ret,
		 const struct reader *reader);
/* Gives errors in the second file its name and their lines in it. */
void source_name_lines(struct err_list *errors, const char *file);
