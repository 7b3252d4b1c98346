/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A second file, of which the first one's document gets all keys. Lines of it are known by being
 * beyond SOURCE_LINES, until source_name_lines. Within this room.
 */
#pragma once

#include <yaml.h>

#include "base/err.h"
#include "conf/file.h"

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
 * Where the document, which is from `path`, has source.file: reads that one and adds its keys. 0
 * or -EINVAL and errors; *ret in any case.
 */
int source_graft(yaml_document_t *document, const char *path, struct source *ret,
		 struct err_list *errors);
/* Gives errors in the second file its name and their lines in it. */
void source_name_lines(struct err_list *errors, const char *file);
