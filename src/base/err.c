/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

int err_set(struct err *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	err->line = 0;
	err->column = 0;
	err->file = NULL;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}

void err_list_add(struct err_list *list, int line, int column, const char *format, ...)
{
	struct err *grown;
	va_list args;

	if (list->count >= ERR_LIST_MAX) {
		list->dropped++;
		return;
	}
	grown = realloc(list->errors, (list->count + 1) * sizeof(*grown));
	if (!grown) {
		list->dropped++;
		return;
	}
	list->errors = grown;
	grown += list->count++;
	grown->line = line;
	grown->column = column;
	grown->file = NULL;
	va_start(args, format);
	vsnprintf(grown->text, sizeof(grown->text), format, args);
	va_end(args);
}

static int before(const struct err *a, const struct err *b)
{
	return a->line != b->line ? a->line < b->line : a->column < b->column;
}

/* Insertion sort: stable, and a list holds ERR_LIST_MAX at most. */
void err_list_sort(struct err_list *list)
{
	for (size_t i = 1; i < list->count; i++) {
		struct err moved = list->errors[i];
		size_t to = i;

		while (to > 0 && before(&moved, &list->errors[to - 1])) {
			list->errors[to] = list->errors[to - 1];
			to--;
		}
		list->errors[to] = moved;
	}
}

void err_list_fini(struct err_list *list)
{
	free(list->errors);
	free(list->file);
	*list = (struct err_list){0};
}
