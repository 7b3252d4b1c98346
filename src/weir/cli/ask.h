/* SPDX-License-Identifier: BSD-2-Clause */
/* Asking a running daemon: which one (--node, --socket, --pid), and what it says. `name` is the
 * command's. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "weir/instance.h"

struct ask {
	const char *node, *socket, *pid; /* NULL: the only one that runs here */
	bool json;
	bool agent; /* an agent is asked, and `node` is its name */
};

/* Options that every such command has, to be put among its own; letters of short options. */
#define ASK_OPTIONS                                                                       \
	{"node", required_argument, NULL, 'n'}, {"socket", required_argument, NULL, 's'}, \
		{"pid", required_argument, NULL, 'p'}, {"json", no_argument, NULL, 'j'},  \
	{                                                                                 \
		"help", no_argument, NULL, 'h'                                            \
	}
#define ASK_LETTERS ":n:jh"
#define ASK_HELP                                                                                \
	"  -n, --node NAME    which node; needed only where several run on this machine; the\n" \
	"                     agent NAME is agent-NAME\n"                                       \
	"      --socket PATH  its control socket, instead\n"                                    \
	"      --pid NUMBER   its process, instead\n"

/* Takes such an option: EXIT_OK, or EXIT_USAGE and a word about it. */
int ask_option(struct ask *ask, const char *name, int option, const char *value);
/* Whether one is named, or else the only one is meant. */
bool ask_is_named(const struct ask *ask);
/* The options of a command that has no others: EXIT_OK, and optind is behind them; an EXIT_ that is
 * to be returned, with a word about it; or *done, after its help. */
int ask_options(struct ask *ask, int argc, char **argv, const char *help, bool *done);
/* The path of its socket. 0, or -errno and err, -EINVAL where the options themselves are wrong. */
int ask_find(const struct ask *ask, char path[INSTANCE_PATH_MAX], struct err *err);
/* The same: EXIT_OK, or a failure that is said. */
int ask_socket(const struct ask *ask, const char *name, char path[INSTANCE_PATH_MAX]);
/* Sends the request, whose reference it takes. EXIT_OK and a new reference, or a failure that is
 * said. */
int ask_daemon(const struct ask *ask, const char *name, json_t *request, json_t **ret);
/* The same without a word, and with less time: 0, or -errno and err; -ENOENT: there is none. */
int ask_try(const struct ask *ask, json_t *request, json_t **ret, struct err *err);
/* On standard output. */
void ask_print_json(const json_t *answer);
