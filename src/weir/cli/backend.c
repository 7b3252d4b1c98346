/* SPDX-License-Identifier: BSD-2-Clause */
/* weir drain, maint, ready, weight: a backend's state and share on a running node. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/cli/ask.h"
#include "weir/command.h"

#define OPTIONS_HELP                                                                           \
	"\n"                                                                                   \
	"BACKEND is its name in the file, or POOL/NAME where several pools have one of that\n" \
	"name. It holds for this node alone, over a restart too, until it is changed or\n"     \
	"cleared; `weir status` shows it beside what the file says.\n"                         \
	"\n"

#define LAST_HELP                                                                             \
	ASK_HELP                                                                              \
	"  -j, --json         the answer, as JSON\n"                                          \
	"      --help         this text\n"                                                    \
	"\n"                                                                                  \
	"Exit status: 0, packets meet it by now; 1 when none answers or it is refused, and\n" \
	"nothing has changed.\n"

static const char drain_help[] =
	"usage: weir drain BACKEND [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Takes a backend out gently: it gets no new flows, and those that it has go on until\n"
	"they end, or until the pool's drain_limit.\n" OPTIONS_HELP LAST_HELP;

static const char maint_help[] =
	"usage: weir maint BACKEND [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Takes a backend out at once: it gets nothing any more, and its flows are "
	"cut.\n" OPTIONS_HELP LAST_HELP;

static const char ready_help[] =
	"usage: weir ready BACKEND [--clear] [--node NAME | --socket PATH] [--json]\n"
	"       weir ready --clear --all [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Ends what weir drain or weir maint, or the file, did: the backend takes new flows as\n"
	"its checks allow.\n" OPTIONS_HELP
	"      --clear        forget its state and its share: what the file says holds\n"
	"      --all          that for every backend\n" LAST_HELP;

static const char weight_help[] =
	"usage: weir weight BACKEND PERCENT [--node NAME | --socket PATH] [--json]\n"
	"       weir weight BACKEND --clear [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Gives new flows to a part of a backend's slots alone, 0 to 100 percent of what its\n"
	"weight in the file gives it; the rest goes to the pool's others. Flows that it has\n"
	"stay.\n" OPTIONS_HELP "      --clear        the same as 100 percent\n" LAST_HELP;

struct request {
	const char *name; /* the command's */
	struct ask ask;
	bool clear, all, help;
	const char *backend, *percent;
};

/* --- the answer --- */

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "?";
}

static int number(const json_t *object, const char *key)
{
	return (int)json_integer_value(json_object_get(object, key));
}

static void print_state(const json_t *answer)
{
	const char *state = text(answer, "state"), *of_file = text(answer, "file_state");
	const json_t *drain = json_object_get(answer, "drain_left_s");

	printf("%s/%s: %s", text(answer, "pool"), text(answer, "backend"), state);
	if (json_is_real(drain))
		printf(", its flows go on for %.0f s at most", json_real_value(drain));
	printf("; takes new flows of %d of %d slots", number(answer, "slots"),
	       number(answer, "table_size"));
	if (strcmp(state, of_file) != 0)
		printf("; the file says %s", of_file);
	if (!json_is_true(json_object_get(answer, "changed")))
		printf("; nothing to change");
	putchar('\n');
}

/* What was done, and yet should be known. */
static void warn(const char *name, const json_t *answer)
{
	const char *not_kept = text(answer, "not_kept");

	if (*not_kept)
		command_fail(name,
			     "warning: it ends with the daemon, since it could not be kept: %s",
			     not_kept);
	if (json_object_get(answer, "usable") && !number(answer, "usable"))
		command_fail(name, "warning: no backend of pool %s takes new flows",
			     text(answer, "pool"));
}

static int ask(const struct request *request, json_t *question)
{
	json_t *answer;
	int status = ask_daemon(&request->ask, request->name, question, &answer);

	if (status != EXIT_OK)
		return status;
	if (request->ask.json)
		ask_print_json(answer);
	else if (json_object_get(answer, "cleared"))
		printf("cleared: %d\n", number(answer, "cleared"));
	else
		print_state(answer);
	warn(request->name, answer);
	json_decref(answer);
	return EXIT_OK;
}

/* --- the command line --- */

/* Options and the words that follow, of which there may be `most`. EXIT_OK or EXIT_USAGE. */
static int parse(int argc, char **argv, const struct option *options, int most, struct request *ret)
{
	int option, status = EXIT_OK;

	ret->name = argv[0];
	while (!status && (option = command_option(argc, argv, ASK_LETTERS, options)) != -1) {
		switch (option) {
		case 'h': ret->help = true; return EXIT_OK;
		case 'c': ret->clear = true; break;
		case 'a': ret->all = true; break;
		default: status = ask_option(&ret->ask, ret->name, option, optarg);
		}
	}
	if (status)
		return status;
	if (argc - optind > most)
		return command_usage_error(ret->name, "\"%s\" is too much", argv[optind + most]);
	if (optind < argc)
		ret->backend = argv[optind];
	if (optind + 1 < argc)
		ret->percent = argv[optind + 1];
	return EXIT_OK;
}

static int show_help(const char *help)
{
	fputs(help, stdout);
	return EXIT_OK;
}

static int set_state(int argc, char **argv, const char *help)
{
	static const struct option options[] = {ASK_OPTIONS, {0}};
	struct request request = {0};
	int status = parse(argc, argv, options, 1, &request);

	if (status || request.help)
		return status ? status : show_help(help);
	if (!request.backend)
		return command_usage_error(argv[0], "which BACKEND?");
	return ask(&request, json_pack("{s:s, s:s}", "op", argv[0], "backend", request.backend));
}

int command_drain(int argc, char **argv)
{
	return set_state(argc, argv, drain_help);
}

int command_maint(int argc, char **argv)
{
	return set_state(argc, argv, maint_help);
}

int command_ready(int argc, char **argv)
{
	static const struct option options[] = {{"clear", no_argument, NULL, 'c'},
						{"all", no_argument, NULL, 'a'},
						ASK_OPTIONS,
						{0}};
	struct request request = {0};
	int status = parse(argc, argv, options, 1, &request);

	if (status || request.help)
		return status ? status : show_help(ready_help);
	if (request.all && !request.clear)
		return command_usage_error("ready", "--all goes with --clear");
	if (request.all && request.backend)
		return command_usage_error("ready", "--all or BACKEND, not both");
	if (request.all)
		return ask(&request, json_pack("{s:s, s:b}", "op", "clear", "all", 1));
	if (!request.backend)
		return command_usage_error("ready", "which BACKEND?");
	return ask(&request, json_pack("{s:s, s:s}", "op", request.clear ? "clear" : "ready",
				       "backend", request.backend));
}

/* "10" or "10%"; -1: neither. */
static int parse_percent(const char *text)
{
	char *end;
	long value;

	if (*text < '0' || *text > '9')
		return -1;
	value = strtol(text, &end, 10);
	if (*end == '%')
		end++;
	return *end || value > 100 ? -1 : (int)value;
}

int command_weight(int argc, char **argv)
{
	static const struct option options[] = {
		{"clear", no_argument, NULL, 'c'}, ASK_OPTIONS, {0}};
	struct request request = {0};
	int percent = 100, status = parse(argc, argv, options, 2, &request);

	if (status || request.help)
		return status ? status : show_help(weight_help);
	if (!request.backend)
		return command_usage_error("weight", "which BACKEND?");
	if (request.clear == (request.percent != NULL))
		return command_usage_error("weight", "a PERCENT or --clear is wanted");
	if (request.percent)
		percent = parse_percent(request.percent);
	if (percent < 0)
		return command_usage_error("weight", "\"%s\" is no percentage from 0 to 100",
					   request.percent);
	return ask(&request, json_pack("{s:s, s:s, s:i}", "op", "weight", "backend",
				       request.backend, "percent", percent));
}
