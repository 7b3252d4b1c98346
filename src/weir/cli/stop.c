/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir stop, weir restart: a daemon is asked for its end, or for its successor, and waited for.
 * What is asked for goes on when nobody waits any more.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "admin/control.h"
#include "base/time.h"
#include "weir/cli/ask.h"
#include "weir/command.h"

enum {
	WAIT_S = 60, /* for the end, or the successor, by default */
	WAIT_S_MAX = 86400,
	ASK_MS = 30000,   /* for an answer */
	STATUS_MS = 2000, /* the same, for the state */
	PAUSE_MS = 50,
};

struct stop {
	const char *name; /* of the command, and of the request */
	bool leave;
	struct ask ask;
	unsigned wait_s;
	char socket[INSTANCE_PATH_MAX];
	pid_t pid;
	bool sees_pid; /* it is of this process namespace, so its number says whether it is there */
};

static const char stop_help[] =
	"usage: weir stop [--leave] [--timeout SECONDS] [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Ends the node, as SIGTERM does, and waits until it has gone: nothing is attached or\n"
	"pinned any more. Where no node runs, the agent, which undoes what it did to its host.\n"
	"\n"
	"      --leave        the process alone ends; the kernel forwards on, and who is\n"
	"                     started next takes over, as after weir restart\n"
	"      --timeout SECONDS  wait so long for its end (60)\n" ASK_HELP
	"  -j, --json         the answer, as JSON\n"
	"      --help         this text\n"
	"\n"
	"Exit status: 0, it has gone; 1 when none answers, or it has not gone in time.\n";

static const char restart_help[] =
	"usage: weir restart [--timeout SECONDS] [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Puts the program that stands at the running one's path by now, the same or a newer\n"
	"one, in its place, with the same options; it keeps its process number. The kernel\n"
	"forwards on meanwhile. If that program does not take the file, nothing is changed.\n"
	"Where no node runs, the agent.\n"
	"\n"
	"      --timeout SECONDS  wait so long until it answers (60)\n" ASK_HELP
	"  -j, --json         its state afterwards, as JSON\n"
	"      --help         this text\n"
	"\n"
	"Exit status: 0, the successor answers; 1 when nothing was changed, or it does not\n"
	"answer in time: then the kernel forwards on, and its log says why.\n";

static int parse_seconds(struct stop *stop, const char *text)
{
	char *end;
	long seconds;

	errno = 0;
	seconds = strtol(text, &end, 10);
	if (errno || end == text || *end || seconds < 1 || seconds > WAIT_S_MAX)
		return command_usage_error(stop->name, "--timeout: %s, expected 1 to %d seconds",
					   text, WAIT_S_MAX);
	stop->wait_s = (unsigned)seconds;
	return EXIT_OK;
}

/* EXIT_OK and whether help was asked for, or EXIT_USAGE. */
static int parse_options(int argc, char **argv, struct stop *stop, bool *ret_help)
{
	static const struct option options[] = {
		{"timeout", required_argument, NULL, 't'},
		ASK_OPTIONS,
		{"leave", no_argument, NULL, 'l'},
		{0},
	};
	int option;

	*ret_help = false;
	while ((option = command_option(argc, argv, ASK_LETTERS, options)) != -1) {
		int status = EXIT_OK;

		if (option == 'h')
			*ret_help = true;
		else if (option == 't')
			status = parse_seconds(stop, optarg);
		else if (option == 'l' && strcmp(stop->name, "stop") == 0)
			stop->leave = true;
		else if (option == 'l')
			status = command_usage_error(stop->name, "there is no option --leave");
		else
			status = ask_option(&stop->ask, stop->name, option, optarg);
		if (status != EXIT_OK)
			return status;
	}
	if (optind != argc)
		return command_usage_error(stop->name, "%s is one word too many", argv[optind]);
	return EXIT_OK;
}

static void rest(void)
{
	nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * TIME_MILLI_NS}, NULL);
}

static json_t *status_of(const struct stop *stop, struct err *err)
{
	json_t *request = json_pack("{s:s}", "op", "status"), *answer = NULL;

	if (control_call(stop->socket, request, STATUS_MS, &answer, err))
		answer = NULL;
	json_decref(request);
	return answer;
}

static bool has_gone(const struct stop *stop)
{
	return stop->sees_pid && kill(stop->pid, 0) && errno == ESRCH;
}

static bool has_ended(const struct stop *stop)
{
	struct err err;
	json_t *status;

	if (stop->sees_pid)
		return has_gone(stop);
	status = status_of(stop, &err);
	json_decref(status);
	return !status;
}

static int wait_stopped(const struct stop *stop, uint64_t asked_ms)
{
	while (time_now_ms() - asked_ms < stop->wait_s * 1000ULL) {
		if (has_ended(stop))
			return EXIT_OK;
		rest();
	}
	return command_fail(stop->name, "process %d has not gone within %u s; it goes on ending",
			    (int)stop->pid, stop->wait_s);
}

/* Its state, of one that began after it was asked for; NULL: a failure that was said. */
static json_t *wait_restarted(const struct stop *stop, uint64_t asked_ms)
{
	uint64_t waited_ms = 0;

	while (waited_ms < stop->wait_s * 1000ULL) {
		struct err err;
		json_t *status = status_of(stop, &err);
		double uptime_s = json_number_value(json_object_get(status, "uptime_s"));

		waited_ms = time_now_ms() - asked_ms;
		if (status && uptime_s * 1000 < (double)waited_ms)
			return status;
		json_decref(status);
		if (has_gone(stop)) {
			command_fail(stop->name, "the successor has ended: its log says why");
			return NULL;
		}
		rest();
	}
	command_fail(stop->name, "no successor answers within %u s", stop->wait_s);
	return NULL;
}

/*
 * A daemon asks its successor before it ends. No answer is one, too: it has gone on to its end by
 * then, or has gone.
 */
static int wait_asking(const struct stop *stop, const json_t *answer)
{
	json_t *question = json_pack("{s:s}", "op", "restart_result"), *result = NULL;
	bool asks = json_is_true(json_object_get(answer, "asks"));
	int status = EXIT_OK;
	struct err err;

	while (asks && status == EXIT_OK) {
		const char *refused;

		rest();
		if (control_call(stop->socket, question, ASK_MS, &result, &err))
			break;
		asks = json_is_true(json_object_get(result, "asks"));
		refused = json_string_value(json_object_get(result, "refused"));
		if (refused)
			status = command_fail(stop->name, "%s", refused);
		json_decref(result);
	}
	json_decref(question);
	return status;
}

/* EXIT_OK and the daemon's process number. */
static int request(struct stop *stop, json_t **ret_answer)
{
	json_t *question = json_pack("{s:s}", "op", stop->leave ? "leave" : stop->name);
	int status = ask_socket(&stop->ask, stop->name, stop->socket);
	struct err err;

	if (status == EXIT_OK && control_call(stop->socket, question, ASK_MS, ret_answer, &err))
		status = command_fail(stop->name, "%s", err.text);
	json_decref(question);
	if (status == EXIT_OK)
		stop->pid = (pid_t)json_integer_value(json_object_get(*ret_answer, "pid"));
	stop->sees_pid = stop->pid > 0 && (kill(stop->pid, 0) == 0 || errno == EPERM);
	return status == EXIT_OK ? wait_asking(stop, *ret_answer) : status;
}

int command_stop(int argc, char **argv)
{
	struct stop stop = {.name = "stop", .wait_s = WAIT_S};
	uint64_t asked_ms = time_now_ms();
	json_t *answer = NULL;
	bool help;
	int status = parse_options(argc, argv, &stop, &help);

	if (help || status != EXIT_OK) {
		fputs(help ? stop_help : "", stdout);
		return status;
	}
	status = request(&stop, &answer);
	if (status == EXIT_OK)
		status = wait_stopped(&stop, asked_ms);
	if (status == EXIT_OK && stop.ask.json)
		ask_print_json(answer);
	else if (status == EXIT_OK)
		printf("process %d has gone\n", (int)stop.pid);
	json_decref(answer);
	return status;
}

static const char *says_of_tables(const char *tables)
{
	if (!tables || strcmp(tables, "adopted") == 0)
		return "the tables are those that were there";
	if (strcmp(tables, "carried") == 0)
		return "its tables are of another layout, and got what was in those before";
	return "all tables are new, flows are forgotten";
}

static void print_restarted(const json_t *status)
{
	printf("process %d, weir %s, has taken over: %s\n",
	       (int)json_integer_value(json_object_get(status, "pid")),
	       json_string_value(json_object_get(status, "version")),
	       says_of_tables(json_string_value(json_object_get(status, "tables"))));
}

int command_restart(int argc, char **argv)
{
	struct stop stop = {.name = "restart", .wait_s = WAIT_S};
	json_t *answer = NULL, *state;
	uint64_t asked_ms;
	bool help;
	int status = parse_options(argc, argv, &stop, &help);

	if (help || status != EXIT_OK) {
		fputs(help ? restart_help : "", stdout);
		return status;
	}
	asked_ms = time_now_ms();
	status = request(&stop, &answer);
	json_decref(answer);
	if (status != EXIT_OK)
		return status;
	state = wait_restarted(&stop, asked_ms);
	if (!state)
		return EXIT_NO;
	if (stop.ask.json)
		ask_print_json(state);
	else
		print_restarted(state);
	json_decref(state);
	return EXIT_OK;
}
