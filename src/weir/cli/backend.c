/* SPDX-License-Identifier: BSD-2-Clause */
/* weir drain, maint, ready, weight: a backend's state and share on a running node. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/time.h"
#include "weir/answer.h"
#include "weir/cli/ask.h"
#include "weir/command.h"

enum { TIMEOUT_S_MAX = 7 * 86400, PAUSE_MS = 500, SAID_MAX = 320 };

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
	"usage: weir drain BACKEND [--wait] [--timeout SECONDS] [--node NAME | --socket PATH]\n"
	"                  [--json]\n"
	"\n"
	"Takes a backend out gently: it gets no new flows, and those that it has go on until\n"
	"they end, or until the pool's drain_limit.\n" OPTIONS_HELP
	"      --wait         until that has ended: by the connections that its agent counts,\n"
	"                     where the pool has an agent.port, else by the packets that come\n"
	"      --timeout SECONDS  wait so long at most; without it, as long as it takes\n" ASK_HELP
	"  -j, --json         the answer, as JSON; after waiting, what status has of the backend\n"
	"      --help         this text\n"
	"\n"
	"Exit status: 0, packets meet it by now, and with --wait its drain has ended; 1 when none\n"
	"answers or it is refused, and nothing has changed; or when it does not drain any more,\n"
	"or still has not ended after the timeout.\n";

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
	bool clear, all, help, waits;
	unsigned timeout_s; /* 0: none */
	const char *backend, *percent;
};

/* --- the answer --- */

static void print_state(const json_t *answer)
{
	const char *state = answer_text(answer, "state"),
		   *of_file = answer_text(answer, "file_state");
	const json_t *drain = json_object_get(answer, "drain_left_s");

	printf("%s/%s: %s", answer_text(answer, "pool"), answer_text(answer, "backend"), state);
	if (json_is_real(drain))
		printf(", its flows go on for %.0f s at most", json_real_value(drain));
	printf("; takes new flows of %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " slots",
	       answer_number(answer, "slots"), answer_number(answer, "table_size"));
	if (strcmp(state, of_file) != 0)
		printf("; the file says %s", of_file);
	if (!json_is_true(json_object_get(answer, "changed")))
		printf("; nothing to change");
	putchar('\n');
}

/* What was done, and yet should be known. */
static void warn(const char *name, const json_t *answer)
{
	const char *not_kept = answer_text(answer, "not_kept");

	if (*not_kept)
		command_fail(name,
			     "warning: it ends with the daemon, since it could not be kept: %s",
			     not_kept);
	if (json_object_get(answer, "usable") && !answer_number(answer, "usable"))
		command_fail(name, "warning: no backend of pool %s takes new flows",
			     answer_text(answer, "pool"));
}

static int ask(const struct request *request, json_t *question)
{
	json_t *answer;
	int status = ask_daemon(&request->ask, request->name, question, &answer);

	if (status != EXIT_OK)
		return status;
	if (json_object_get(answer, "cleared") && !request->ask.json)
		printf("cleared: %" JSON_INTEGER_FORMAT "\n", answer_number(answer, "cleared"));
	else if (!request->ask.json)
		print_state(answer);
	else if (!request->waits)
		ask_print_json(answer);
	fflush(stdout);
	warn(request->name, answer);
	json_decref(answer);
	return EXIT_OK;
}

/* --- waiting --- */

/* Says how far it is, when that is another word than the last. Whether it has ended. */
static bool look_at_drain(const struct request *request, const json_t *backend, char *said)
{
	const json_t *drain = json_object_get(backend, "drain");
	const json_t *agent = json_object_get(drain, "agent");
	bool waits = json_is_object(agent) && json_is_false(json_object_get(agent, "counts")) &&
		     !*answer_text(agent, "error"); /* for its first answer */
	const char *words = waits ? NULL : json_string_value(json_object_get(drain, "words"));
	size_t shown = words ? strcspn(words, "0123456789") : 0;

	/* Seconds that pass are no news. */
	if (words && !request->ask.json &&
	    (shown == 0 ? strcmp(words, said) != 0 : strncmp(words, said, shown) != 0)) {
		printf("%s/%s: %s\n", answer_text(backend, "pool"), answer_text(backend, "name"),
		       words);
		fflush(stdout);
	}
	if (words)
		snprintf(said, SAID_MAX, "%s", words);
	return json_is_true(json_object_get(drain, "ended"));
}

static int wait_for_end(const struct request *request)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
	uint64_t deadline = request->timeout_s ? time_now_ms() + request->timeout_s * 1000ULL
					       : UINT64_MAX;
	char said[SAID_MAX] = "";

	for (;;) {
		json_t *backend;
		bool ended, drains;
		int status = ask_daemon(
			&request->ask, request->name,
			json_pack("{s:s, s:s}", "op", "backend", "backend", request->backend),
			&backend);

		if (status != EXIT_OK)
			return status;
		ended = look_at_drain(request, backend, said);
		drains = strcmp(answer_text(backend, "state"), "drain") == 0;
		if (ended && drains && request->ask.json)
			ask_print_json(backend);
		json_decref(backend);
		if (!drains)
			return command_fail(request->name, "%s does not drain any more",
					    request->backend);
		if (ended)
			return EXIT_OK;
		if (time_now_ms() >= deadline)
			return command_fail(request->name,
					    "its drain has not ended after %u s: %s; it goes on",
					    request->timeout_s, said);
		nanosleep(&pause, NULL);
	}
}

/* --- the command line --- */

static int parse_timeout(struct request *request, const char *value)
{
	char *end;
	long seconds = strtol(value, &end, 10);

	if (end == value || *end || seconds < 1 || seconds > TIMEOUT_S_MAX)
		return command_usage_error(request->name, "--timeout: %s, expected 1 to %d seconds",
					   value, TIMEOUT_S_MAX);
	request->timeout_s = (unsigned)seconds;
	return EXIT_OK;
}

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
		case 'w': ret->waits = true; break;
		case 't': status = parse_timeout(ret, optarg); break;
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

static int set_state(int argc, char **argv, const struct option *options, const char *help)
{
	struct request request = {0};
	int status = parse(argc, argv, options, 1, &request);

	if (status || request.help)
		return status ? status : show_help(help);
	if (!request.backend)
		return command_usage_error(argv[0], "which BACKEND?");
	if (request.timeout_s && !request.waits)
		return command_usage_error(argv[0], "--timeout goes with --wait");
	status = ask(&request, json_pack("{s:s, s:s}", "op", argv[0], "backend", request.backend));
	return status || !request.waits ? status : wait_for_end(&request);
}

int command_drain(int argc, char **argv)
{
	static const struct option options[] = {{"wait", no_argument, NULL, 'w'},
						{"timeout", required_argument, NULL, 't'},
						ASK_OPTIONS,
						{0}};

	return set_state(argc, argv, options, drain_help);
}

int command_maint(int argc, char **argv)
{
	static const struct option options[] = {ASK_OPTIONS, {0}};

	return set_state(argc, argv, options, maint_help);
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
