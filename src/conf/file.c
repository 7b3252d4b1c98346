/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/file.h"

#include <errno.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/room.h"
#include "conf/source.h"

int conf_check_end(const char *text, size_t length, struct err_list *errors)
{
	int line = 1, column = 1;

	if (!length || text[length - 1] == '\n')
		return 0;
	for (size_t i = 0; i < length; i++) {
		column = text[i] == '\n' ? 1 : column + 1;
		line += text[i] == '\n';
	}
	err_list_add(errors, line, column,
		     "the file ends amid a line and may be cut off, expected a newline at its end");
	return -EINVAL;
}

struct conf_ended conf_ended_of(const char *text, size_t length)
{
	static const char mark[] = "...\n";
	const size_t letters = sizeof(mark) - 1;
	struct conf_ended ended = {0};

	for (size_t i = 0; i < length; i++)
		ended.lines += text[i] == '\n';
	ended.marked = length >= letters && memcmp(text + length - letters, mark, letters) == 0 &&
		       (length == letters || text[length - letters - 1] == '\n');
	return ended;
}

static bool lacks_mark(const struct conf_ended *before, const struct conf_ended *now,
		       struct err_list *errors, int first)
{
	if (!before->marked || now->marked)
		return false;
	err_list_add(
		errors, first + now->lines, 1,
		"the file may be cut off: the one that runs ends with \"...\", expected it as the "
		"last line (to leave it out takes a restart)");
	return true;
}

int conf_check_marks(const struct conf *running, const struct conf *next, struct err_list *errors)
{
	bool lacks = lacks_mark(&running->ended, &next->ended, errors, 0);

	if (running->source_file && next->source_file &&
	    strcmp(running->source_file, next->source_file) == 0)
		lacks |= lacks_mark(&running->source_ended, &next->source_ended, errors,
				    SOURCE_LINES);
	if (!lacks)
		return 0;
	source_name_lines(errors, next->source_file);
	return -EINVAL;
}
