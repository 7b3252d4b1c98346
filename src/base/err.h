/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What went wrong, in words, for whoever called. Rooms fill it and never print; main and the log
 * speak. The struct belongs to the caller and needs no release. A function that takes one writes
 * it only when it fails. Not shared between threads.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

enum {
	ERR_TEXT_MAX = 256, /* bytes, with the final zero; longer text is cut */
	ERR_LIST_MAX = 200, /* errors kept of one file; the rest is counted */
};

/* line and column count from 1; 0 where there is no place in a file to name. */
struct err {
	int line;
	int column;
	const char *file; /* of several, when it is another than the one that was asked for; the
			   * list's. NULL: that one */
	char text[ERR_TEXT_MAX];
};

/* Every error of one input, in the order found. Zero-initialise; err_list_fini frees. */
struct err_list {
	struct err *errors;
	char *file;     /* that errors name */
	size_t count;   /* kept in `errors` */
	size_t dropped; /* found after ERR_LIST_MAX */
};

/* Sets the text (and no place). Returns `code`, a -errno, so that it can end a function. */
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void err_list_add(struct err_list *list, int line, int column, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Orders by line, then column, then order of arrival. */
void err_list_sort(struct err_list *list);
void err_list_fini(struct err_list *list);
