/* SPDX-License-Identifier: BSD-2-Clause */
/* A checker while it is read: what probe.c and probe_http.c share. */
#pragma once

#include "weir/import/keepalived.h"

/* What is known of a checker while it is read. */
struct probe {
	struct import *import;
	const struct keep_node *node;
	const struct import_backend *backend;
	struct keep_scope scope;
	struct import_check check;
	char *rest; /* beside type and times: ", path: /" */
	const char *type;
	uint64_t delay_ms, retry; /* where it is not said */
};

/* One more part of its text: "path: /". */
void keep_check_add(struct probe *probe, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* In double quotes, as YAML has it. */
const char *keep_quoted(struct import *import, const char *text);
/* Letters, digits and signs of ASCII, and blanks between them: what a file may say as it is. */
bool keep_is_plain(const char *text);
/* The first such statement of a block; NULL: there is none. */
const struct keep_node *keep_find(const struct keep_node *block, const char *name);

/* HTTP_GET and SSL_GET. */
void keep_http(struct probe *probe);
