/* SPDX-License-Identifier: BSD-2-Clause */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/time.h"
#include "weir/answer.h"
#include "weir/cli/ask.h"
#include "weir/command.h"

enum { PAUSE_MS = 10, WAIT_MS = 30 * 1000 };

static const char help[] =
	"usage: weir reload [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Lets a running node read its file again, which it does by itself when the file changes,\n"
	"and says what came of it. A file with a mistake changes nothing.\n"
	"\n" ASK_HELP "  -j, --json         the answer, as JSON\n"
	"      --help         this text\n"
	"\n"
	"Exit status: 0, packets meet what the file says; 1 when none answers, or it is refused.\n";

static void print_refusal(const json_t *answer)
{
	const json_t *errors = json_object_get(json_object_get(answer, "refusal"), "errors"), *item;
	size_t i;

	json_array_foreach(errors, i, item)
	{
		if (answer_number(item, "line"))
			fprintf(stderr, "%s:%d:%d: %s\n",
				answer_text(json_is_string(json_object_get(item, "file")) ? item
											  : answer,
					    "file"),
				(int)answer_number(item, "line"),
				(int)answer_number(item, "column"), answer_text(item, "text"));
		else
			command_fail("reload", "%s", answer_text(item, "text"));
	}
}

static int print_outcome(const json_t *answer)
{
	const char *outcome = answer_text(answer, "outcome");

	if (strcmp(outcome, "refused") == 0) {
		print_refusal(answer);
		return command_fail("reload",
				    "%s is refused, nothing has changed: generation %d, digest %s, "
				    "goes on",
				    answer_text(answer, "file"),
				    (int)answer_number(answer, "generation"),
				    answer_text(answer, "digest"));
	}
	printf("%s: generation %d, digest %s", outcome, (int)answer_number(answer, "generation"),
	       answer_text(answer, "digest"));
	if (strcmp(outcome, "applied") == 0)
		printf(", in %.1f ms", json_real_value(json_object_get(answer, "applied_ms")));
	putchar('\n');
	return EXIT_OK;
}

/* It is read beside what the node does; waits for that. */
static int wait_for(const struct ask *ask, json_int_t ticket, json_t **ret)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * TIME_MILLI_NS};
	uint64_t until_ms = time_now_ms() + WAIT_MS;

	while (time_now_ms() < until_ms) {
		json_t *question = json_pack("{s:s, s:I}", "op", "reload_result", "ticket", ticket);
		int status = ask_daemon(ask, "reload", question, ret);

		if (status != EXIT_OK || json_is_true(json_object_get(*ret, "done")))
			return status;
		json_decref(*ret);
		nanosleep(&pause, NULL);
	}
	return command_fail("reload", "the node has not read its file within %d s", WAIT_MS / 1000);
}

static int reload(const struct ask *ask)
{
	json_t *answer;
	json_int_t ticket;
	int status = ask_daemon(ask, "reload", json_pack("{s:s}", "op", "reload"), &answer);

	if (status != EXIT_OK)
		return status;
	ticket = answer_number(answer, "ticket");
	json_decref(answer);
	status = wait_for(ask, ticket, &answer);
	if (status != EXIT_OK)
		return status;
	if (ask->json) {
		ask_print_json(answer);
		status = strcmp(answer_text(answer, "outcome"), "refused") ? EXIT_OK : EXIT_NO;
	} else {
		status = print_outcome(answer);
	}
	json_decref(answer);
	return status;
}

int command_reload(int argc, char **argv)
{
	struct ask ask = {0};
	bool done;
	int status = ask_options(&ask, argc, argv, help, &done);

	if (status || done)
		return status;
	if (optind != argc)
		return command_usage_error("reload", "%s: nothing is expected here", argv[optind]);
	return reload(&ask);
}
