/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/cli/ask.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "admin/control.h"
#include "weir/command.h"

enum { ANSWER_TIMEOUT_MS = 5000, TRY_TIMEOUT_MS = 2000 };

int ask_option(struct ask *ask, const char *name, int option, const char *value)
{
	switch (option) {
	case 'n': return command_set_once(&ask->node, name, "node", value);
	case 's': return command_set_once(&ask->socket, name, "socket", value);
	case 'p': return command_set_once(&ask->pid, name, "pid", value);
	case 'j': ask->json = true; return EXIT_OK;
	default: return EXIT_USAGE;
	}
}

bool ask_is_named(const struct ask *ask)
{
	return ask->node || ask->socket || ask->pid;
}

int ask_options(struct ask *ask, int argc, char **argv, const char *help, bool *done)
{
	static const struct option options[] = {ASK_OPTIONS, {0}};
	int option, status = EXIT_OK;

	*done = false;
	while (!*done && !status &&
	       (option = command_option(argc, argv, ASK_LETTERS, options)) != -1) {
		*done = option == 'h';
		status = *done ? EXIT_OK : ask_option(ask, argv[0], option, optarg);
	}
	if (*done)
		fputs(help, stdout);
	return status;
}

static int find_process(const char *text, char path[INSTANCE_PATH_MAX], struct err *err)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (end == text || *end || pid <= 0)
		return err_set(err, -EINVAL, "--pid: %s is no process number", text);
	return instance_find_process(pid, path, err);
}

int ask_find(const struct ask *ask, char path[INSTANCE_PATH_MAX], struct err *err)
{
	struct instance instance;

	if (!!ask->node + !!ask->socket + !!ask->pid > 1)
		return err_set(err, -EINVAL, "--node, --socket and --pid exclude each other");
	if (ask->socket) {
		if (snprintf(path, INSTANCE_PATH_MAX, "%s", ask->socket) >= INSTANCE_PATH_MAX)
			return err_set(err, -ENAMETOOLONG, "%s: the path is too long", ask->socket);
		return 0;
	}
	if (ask->pid)
		return find_process(ask->pid, path, err);
	if (ask->node) {
		instance_init(&instance, ask->agent ? "agent-" : "", ask->node);
		snprintf(path, INSTANCE_PATH_MAX, "%s", instance.socket);
		return 0;
	}
	return ask->agent ? instance_find_agent(path, err) : instance_find_socket(path, err);
}

int ask_socket(const struct ask *ask, const char *name, char path[INSTANCE_PATH_MAX])
{
	struct err err;
	int error = ask_find(ask, path, &err);

	if (!error)
		return EXIT_OK;
	return error == -EINVAL ? command_usage_error(name, "%s", err.text)
				: command_fail(name, "%s", err.text);
}

int ask_daemon(const struct ask *ask, const char *name, json_t *request, json_t **ret)
{
	char path[INSTANCE_PATH_MAX];
	struct err err;
	int status = ask_socket(ask, name, path);

	if (status == EXIT_OK && control_call(path, request, ANSWER_TIMEOUT_MS, ret, &err))
		status = command_fail(name, "%s", err.text);
	json_decref(request);
	return status;
}

int ask_try(const struct ask *ask, json_t *request, json_t **ret, struct err *err)
{
	char path[INSTANCE_PATH_MAX];
	int error = ask_find(ask, path, err);

	if (!error)
		error = control_call(path, request, TRY_TIMEOUT_MS, ret, err);
	json_decref(request);
	return error;
}

void ask_print_json(const json_t *answer)
{
	json_dumpf(answer, stdout, JSON_INDENT(2));
	putchar('\n');
}
