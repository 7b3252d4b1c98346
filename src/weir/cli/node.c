/* SPDX-License-Identifier: BSD-2-Clause */
/* weir node drain, weir node undrain: a whole node out of use, and back. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/plural.h"
#include "base/time.h"
#include "weir/answer.h"
#include "weir/cli/ask.h"
#include "weir/command.h"

enum { TIMEOUT_S_MAX = 7 * 86400, PAUSE_MS = 500 };

static const char help[] =
	"usage: weir node drain [--no-wait | --timeout SECONDS] [--node NAME | --socket PATH]\n"
	"                       [--json]\n"
	"       weir node undrain [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"drain: takes the node out of use. Its routes are announced as ones to avoid for the time\n"
	"of bgp.graceful_shutdown, then withdrawn; it forwards what still comes, and drain waits\n"
	"until no packet has for 3 seconds. It holds over a restart too. undrain: ends that.\n"
	"Flows that go on by other nodes find their backends there by the same tables; those of\n"
	"slots in transition may not, so drain warns of these.\n"
	"\n"
	"      --no-wait      do not wait for the traffic's end\n"
	"      --timeout SECONDS  wait so long at most; without it, as long as it takes\n" ASK_HELP
	"  -j, --json         the answer as JSON; after waiting, what status has of the drain\n"
	"      --help         this text\n"
	"\n"
	"Exit status: 0, no traffic comes any more, or --no-wait; 1 when none answers, it is\n"
	"refused, ended meanwhile, or still has traffic after the timeout.\n";

struct request {
	struct ask ask;
	bool help, stays;   /* --no-wait */
	unsigned timeout_s; /* 0: none */
	const char *verb;
};

/* --- what is said --- */

static void warn(const json_t *answer)
{
	const char *not_kept = answer_text(answer, "not_kept");
	const json_t *pool;
	size_t i;

	if (*not_kept)
		command_fail("node",
			     "warning: it ends with the daemon, since it could not be kept: %s",
			     not_kept);
	json_array_foreach(json_object_get(answer, "moving"), i, pool)
	{
		command_fail(
			"node",
			"warning: pool %s has %" JSON_INTEGER_FORMAT " %s in transition: "
			"flows there that go on by another node may be cut",
			answer_text(pool, "pool"),
			json_integer_value(json_object_get(pool, "in_transition")),
			plural((uint64_t)json_integer_value(json_object_get(pool, "in_transition")),
			       "slot", "slots"));
	}
}

static void print_answer(const char *verb, const json_t *answer)
{
	bool changed = json_is_true(json_object_get(answer, "changed"));

	printf("%s%s\n",
	       strcmp(verb, "undrain") == 0 ? "the node is in use"
	       : strcmp(answer_text(answer, "phase"), "shunned") == 0
		       ? "the node drains: routers are "
			 "told to avoid it"
		       : "the node drains: its routes "
			 "are withdrawn",
	       changed ? "" : "; nothing to change");
}

/* A line when the phase is another, on standard error where the answer is JSON. */
static void print_progress(const struct request *request, const json_t *drain, char *phase,
			   size_t size)
{
	static const struct {
		const char *phase, *words;
	} words[] = {
		{"shunned", "routers are told to avoid it"},
		{"withdrawn", "its routes are withdrawn"},
		{"ended", "no traffic comes any more"},
	};
	const char *now = answer_text(drain, "phase");

	if (strcmp(phase, now) == 0)
		return;
	snprintf(phase, size, "%s", now);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].phase, now) == 0 && !request->ask.json)
			printf("%s (%.0f packets a second)\n", words[i].words,
			       json_real_value(json_object_get(drain, "packets_per_s")));
	}
	fflush(stdout);
}

/* --- waiting --- */

/* EXIT_OK and what status has of the drain, a new reference. */
static int look(const struct request *request, json_t **ret)
{
	json_t *status;
	int code = ask_daemon(&request->ask, "node", json_pack("{s:s}", "op", "status"), &status);

	if (code != EXIT_OK)
		return code;
	*ret = json_incref(json_object_get(json_object_get(status, "announce"), "drain"));
	json_decref(status);
	return EXIT_OK;
}

static int wait_for_end(const struct request *request, uint64_t deadline_ms)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
	char phase[16] = "";

	for (;;) {
		json_t *drain = NULL;
		int code = look(request, &drain);
		bool ended;

		if (code != EXIT_OK)
			return code;
		if (!json_is_object(drain)) {
			json_decref(drain);
			return command_fail("node", "it does not drain any more");
		}
		print_progress(request, drain, phase, sizeof(phase));
		ended = strcmp(phase, "ended") == 0;
		if (ended && request->ask.json)
			ask_print_json(drain);
		json_decref(drain);
		if (ended)
			return EXIT_OK;
		if (time_now_ms() >= deadline_ms)
			return command_fail("node",
					    "traffic still comes after %u s; it goes on "
					    "to drain",
					    request->timeout_s);
		nanosleep(&pause, NULL);
	}
}

static int drain(const struct request *request)
{
	uint64_t deadline = request->timeout_s ? time_now_ms() + request->timeout_s * 1000ULL
					       : UINT64_MAX;
	bool drains = strcmp(request->verb, "drain") == 0;
	bool waits = drains && !request->stays;
	json_t *answer;
	int status = ask_daemon(&request->ask, "node",
				json_pack("{s:s}", "op", drains ? "node-drain" : "node-undrain"),
				&answer);

	if (status != EXIT_OK)
		return status;
	warn(answer);
	if (!request->ask.json)
		print_answer(request->verb, answer);
	else if (!waits)
		ask_print_json(answer);
	fflush(stdout);
	json_decref(answer);
	return waits ? wait_for_end(request, deadline) : EXIT_OK;
}

/* --- the command line --- */

static int parse_timeout(struct request *request, const char *value)
{
	char *end;
	long seconds;

	errno = 0;
	seconds = strtol(value, &end, 10);
	if (errno || end == value || *end || seconds < 1 || seconds > TIMEOUT_S_MAX)
		return command_usage_error("node", "--timeout: %s, expected 1 to %d seconds", value,
					   TIMEOUT_S_MAX);
	request->timeout_s = (unsigned)seconds;
	return EXIT_OK;
}

static int parse(int argc, char **argv, struct request *ret)
{
	static const struct option longs[] = {{"no-wait", no_argument, NULL, 'w'},
					      {"timeout", required_argument, NULL, 't'},
					      ASK_OPTIONS,
					      {0}};
	int option, status = EXIT_OK;

	while (!status && (option = command_option(argc, argv, ASK_LETTERS, longs)) != -1) {
		switch (option) {
		case 'h': ret->help = true; return EXIT_OK;
		case 'w': ret->stays = true; break;
		case 't': status = parse_timeout(ret, optarg); break;
		default: status = ask_option(&ret->ask, "node", option, optarg);
		}
	}
	if (status)
		return status;
	ret->verb = optind < argc ? argv[optind] : "";
	if (strcmp(ret->verb, "drain") != 0 && strcmp(ret->verb, "undrain") != 0)
		return command_usage_error("node", "drain or undrain?");
	if (argc - optind > 1)
		return command_usage_error("node", "\"%s\" is too much", argv[optind + 1]);
	if ((ret->stays || ret->timeout_s) && strcmp(ret->verb, "drain") != 0)
		return command_usage_error("node", "--no-wait and --timeout go with drain");
	if (ret->stays && ret->timeout_s)
		return command_usage_error("node", "--no-wait and --timeout exclude each other");
	return EXIT_OK;
}

int command_node(int argc, char **argv)
{
	struct request request = {0};
	int status = parse(argc, argv, &request);

	if (status)
		return status;
	if (request.help) {
		fputs(help, stdout);
		return EXIT_OK;
	}
	return drain(&request);
}
