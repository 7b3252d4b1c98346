/* SPDX-License-Identifier: BSD-2-Clause */
/* weir events: what changed of late on a running node, and what does as it happens. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "admin/control.h"
#include "base/escape.h"
#include "base/time.h"
#include "weir/answer.h"
#include "weir/cli/ask.h"
#include "weir/command.h"
#include "weir/events/events.h"

enum { PAUSE_MS = 300, TIMEOUT_MS = 5000, COLUMN_KIND = 8 };

static const char help[] =
	"usage: weir events [--follow] [--since SEQ] [--kind KIND] [--node NAME | --socket PATH]\n"
	"                   [--json]\n"
	"\n"
	"What changed on a running node of late: backends' health, what operators set, slots that\n"
	"changed hands, files taken or refused, routers, VIPs, interfaces. A node keeps the last\n"
	"4096 in memory, from its start; its log has the same. A line each: number, time, kind,\n"
	"whom it is about, what, why.\n"
	"\n"
	"  -f, --follow       then wait for more, over a restart too, until interrupted\n"
	"      --since SEQ    those after that number alone\n"
	"      --kind KIND    those alone: backend operator pool config bgp bfd vip node xdp\n"
	"                     link capture daemon\n" ASK_HELP
	"  -j, --json         a JSON object a line\n"
	"      --help         this text\n"
	"\n"
	"Exit status: 0; 1 when none answers.\n";

static const char *const kinds[] = {
	"backend", "operator", "pool", "config", "bgp",     "bfd",
	"vip",     "node",     "xdp",  "link",   "capture", "daemon",
};

struct options {
	struct ask ask;
	const char *since, *kind;
	bool follow;
};

/* --- printing --- */

static const char *text(const json_t *event, const char *key)
{
	const char *value = json_string_value(json_object_get(event, key));

	return value ? value : "";
}

/* Nothing that a terminal could take for its own. */
static void print_text(const char *words)
{
	char *plain = strdup(words);

	if (plain)
		escape_controls(plain);
	fputs(plain ? plain : "?", stdout);
	free(plain);
}

static void print_value(const json_t *value)
{
	char *number;

	if (json_is_string(value) && strpbrk(json_string_value(value), " \"=")) {
		putchar('"');
		print_text(json_string_value(value));
		putchar('"');
		return;
	}
	if (json_is_string(value)) {
		print_text(*json_string_value(value) ? json_string_value(value) : "\"\"");
		return;
	}
	number = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
	fputs(number ? number : "?", stdout);
	free(number);
}

static void print_event(const json_t *event)
{
	json_t *fields = json_object_get(event, "fields"), *value;
	json_int_t held = json_integer_value(json_object_get(event, "suppressed"));
	const char *key;

	printf("%5lld %s %-*s ", (long long)json_integer_value(json_object_get(event, "seq")),
	       text(event, "time"), COLUMN_KIND, text(event, "kind"));
	print_text(*text(event, "subject") ? text(event, "subject") : "-");
	fputs(": ", stdout);
	print_text(text(event, "text"));
	json_object_foreach(fields, key, value)
	{
		printf(" %s=", key);
		print_value(value);
	}
	if (held)
		printf(" (%lld more before it)", (long long)held);
	putchar('\n');
}

static void print_line(const json_t *event)
{
	json_dumpf(event, stdout, JSON_COMPACT);
	putchar('\n');
}

/* Returns the number to go on with. */
static json_int_t print(const struct options *options, const json_t *answer)
{
	json_int_t lost = json_integer_value(json_object_get(answer, "lost"));
	json_t *event;
	size_t i;

	if (lost)
		fprintf(stderr, "weir events: %lld before these are not kept any more\n",
			(long long)lost);
	json_array_foreach(json_object_get(answer, "events"), i, event)
	{
		if (options->ask.json)
			print_line(event);
		else
			print_event(event);
	}
	return json_integer_value(json_object_get(answer, "next"));
}

/* --- asking --- */

static json_t *question(const struct options *options, json_int_t since)
{
	json_t *ret = json_pack("{s:s, s:I, s:i}", "op", "events", "since", since, "limit",
				EVENTS_LIST_MAX);

	if (options->kind)
		json_object_set_new(ret, "kind", json_string(options->kind));
	return ret;
}

static bool is_all(const json_t *answer)
{
	return answer_number(answer, "next") >= answer_number(answer, "last");
}

/* A node that is restarted is away for a moment, and counts anew. The end of one that is not is no
 * end of this: the next one has the same socket. */
static int follow(const struct options *options, json_int_t since, json_int_t started)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * TIME_MILLI_NS};
	char path[INSTANCE_PATH_MAX];
	int status = ask_socket(&options->ask, "events", path);

	while (status == EXIT_OK && !fflush(stdout) && !ferror(stdout)) {
		json_t *ask = question(options, since), *answer;
		struct err err;
		bool more = false;
		int error = control_call(path, ask, TIMEOUT_MS, &answer, &err);

		json_decref(ask);
		if (error == -EACCES)
			return command_fail("events", "%s", err.text);
		if (!error && answer_number(answer, "started_ms") != started) {
			started = answer_number(answer, "started_ms");
			since = 0;
			more = true;
		} else if (!error) {
			since = print(options, answer);
			more = !is_all(answer);
		}
		if (!error)
			json_decref(answer);
		if (!more)
			nanosleep(&pause, NULL);
	}
	return status;
}

static int show(const struct options *options, json_int_t since)
{
	json_int_t started = 0;
	json_t *answer;
	bool more;

	do {
		int status = ask_daemon(&options->ask, "events", question(options, since), &answer);

		if (status != EXIT_OK)
			return status;
		started = answer_number(answer, "started_ms");
		since = print(options, answer);
		more = !is_all(answer);
		json_decref(answer);
	} while (more);
	return options->follow ? follow(options, since, started) : EXIT_OK;
}

/* --- the command line --- */

static int check_kind(const char *kind)
{
	for (size_t i = 0; kind && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i], kind) == 0)
			return EXIT_OK;
	}
	return kind ? command_usage_error("events", "--kind: there is no \"%s\"", kind) : EXIT_OK;
}

static int run(const struct options *options)
{
	json_int_t since = 0;
	char *end;

	if (check_kind(options->kind) != EXIT_OK)
		return EXIT_USAGE;
	if (options->since) {
		errno = 0;
		since = strtoll(options->since, &end, 10);
		if (!isdigit((unsigned char)*options->since) || *end || errno)
			return command_usage_error("events", "--since: %s is no event's number",
						   options->since);
	}
	return show(options, since);
}

int command_events(int argc, char **argv)
{
	static const struct option longs[] = {{"follow", no_argument, NULL, 'f'},
					      {"since", required_argument, NULL, 'S'},
					      {"kind", required_argument, NULL, 'k'},
					      ASK_OPTIONS,
					      {0}};
	struct options options = {0};
	int option;

	while ((option = command_option(argc, argv, ASK_LETTERS "f", longs)) != -1) {
		int status = EXIT_OK;

		switch (option) {
		case 'h': fputs(help, stdout); return EXIT_OK;
		case 'f': options.follow = true; break;
		case 'S':
			status = command_set_once(&options.since, "events", "since", optarg);
			break;
		case 'k': status = command_set_once(&options.kind, "events", "kind", optarg); break;
		default: status = ask_option(&options.ask, "events", option, optarg);
		}
		if (status != EXIT_OK)
			return EXIT_USAGE;
	}
	if (optind != argc)
		return command_usage_error("events", "%s: nothing is expected here", argv[optind]);
	return run(&options);
}
