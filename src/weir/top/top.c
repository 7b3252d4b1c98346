/* SPDX-License-Identifier: BSD-2-Clause */
/* weir top: a running node's services and backends, live, at a terminal. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "admin/control.h"
#include "base/time.h"
#include "weir/cli/ask.h"
#include "weir/command.h"
#include "weir/top/model.h"
#include "weir/top/screen.h"

enum {
	TIMEOUT_MS = 1000,
	FIRST_MS = 200, /* until the second answer, for the first rates */
	TRIES = 3,      /* of a question whose names changed meanwhile */
	ONCE_WIDTH = 100,
	ONCE_LINES = 24,
	LINES_MAX = 10000,
	INTERVAL_MAX = 3600,
};

static const char help[] =
	"usage: weir top [--interval SECONDS] [--sort COLUMN] [--service NAME] [--filter TEXT]\n"
	"                [--once] [--lines NUMBER] [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Shows a running node's services, live, and of one service the backends: packets and bits\n"
	"a second; above them the whole node's, drops by reason, routers and VIPs.\n"
	"\n"
	"  -i, --interval SECONDS  between two looks (1)\n"
	"      --sort COLUMN       packets, bits, total, usable or name\n"
	"      --service NAME      that one's backends\n"
	"      --filter TEXT       those alone whose name, pool or address has it\n"
	"  -1, --once              two looks, and what they come to as text\n"
	"      --lines NUMBER      of that text, or rows of JSON (24)\n" ASK_HELP
	"  -j, --json              as --once, as JSON\n"
	"      --help              this text\n"
	"\n"
	"Keys: arrows or j k, Page Up and Down, Home, End; Enter shows a service's backends, Esc\n"
	"goes back; / and a part of a name, Enter keeps it, Esc ends it; p b t u n sort by\n"
	"packets, bits, total, usable, name, s by the next column, r the other way; q ends.\n"
	"\n"
	"Exit status: 0; 1 when none answers, or the terminal is none.\n";

struct options {
	struct ask ask;
	const char *interval, *sort, *service, *filter, *lines;
	bool once;
};

/* --- asking --- */

/* 0, or -errno and why; once more where names are missing. */
static int look(struct top *top, const char *path, struct err *err)
{
	int error = -EAGAIN;

	for (int i = 0; i < TRIES && error == -EAGAIN; i++) {
		json_t *question = top_question(top), *answer;

		error = control_call(path, question, TIMEOUT_MS, &answer, err);
		json_decref(question);
		if (error)
			return error;
		error = top_take(top, answer);
		json_decref(answer);
		if (error)
			err_set(err, error, "the node's answer is not understood: %s",
				strerror(-error));
	}
	return error;
}

static void sleep_ms(uint64_t ms)
{
	struct timespec pause = {.tv_sec = (time_t)(ms / 1000),
				 .tv_nsec = (long)(ms % 1000 * TIME_MILLI_NS)};

	nanosleep(&pause, NULL);
}

/* --- once --- */

static void print_text(struct top *top, size_t height)
{
	static struct top_line lines[TOP_HEIGHT_MAX];

	if (height > TOP_HEIGHT_MAX)
		height = TOP_HEIGHT_MAX;
	top_render(top, lines, ONCE_WIDTH, height);
	/* Without the keys and what is empty. */
	for (height--; height && !lines[height - 1].text[0];)
		height--;
	for (size_t i = 0; i < height; i++)
		puts(lines[i].text);
}

static int show_once(struct top *top, const struct options *options, const char *path, size_t lines)
{
	struct err err;
	int error = look(top, path, &err);

	if (!error) {
		sleep_ms((uint64_t)(top->interval_s * 1000));
		error = look(top, path, &err);
	}
	if (error)
		return command_fail("top", "%s", err.text);
	if (top->gone)
		return command_fail("top", "%s: there is no such service", top->service);
	if (options->ask.json) {
		json_t *answer = top_to_json(top, lines);

		ask_print_json(answer);
		json_decref(answer);
	} else {
		print_text(top, lines);
	}
	return EXIT_OK;
}

/* --- live --- */

static void draw(struct top *top)
{
	static struct top_line lines[TOP_HEIGHT_MAX];
	size_t width, height;

	screen_size(&width, &height);
	if (height > TOP_HEIGHT_MAX)
		height = TOP_HEIGHT_MAX;
	top_render(top, lines, width, height);
	screen_draw(lines, height);
}

/* Keys until it is time for another look. */
static enum top_action wait_for_keys(struct top *top, uint64_t until_ms)
{
	uint64_t now_ms;

	while ((now_ms = time_now_ms()) < until_ms) {
		enum top_action action = TOP_STAYS;
		int key = screen_key((int)(until_ms - now_ms));

		if (key == SCREEN_SIGNAL)
			return TOP_QUIT;
		if (key == SCREEN_RESIZED)
			action = TOP_DRAW;
		else if (key != SCREEN_NONE)
			action = top_press(top, key);
		if (action >= TOP_ASK)
			return action;
		if (action == TOP_DRAW)
			draw(top);
	}
	return TOP_ASK;
}

/* A node that is away is asked on: it, or the next one, will be there again. */
static void run(struct top *top, const char *path)
{
	struct err err;

	do {
		uint64_t wait_ms = (uint64_t)(top->interval_s * 1000);
		const struct top_list *list = top->inside ? &top->backends : &top->services;
		bool is_first = !list->clock_ns;

		top->notice[0] = '\0';
		if (look(top, path, &err)) {
			char clean[ERR_TEXT_MAX];

			top_clean(err.text, clean, sizeof(clean));
			snprintf(top->notice, sizeof(top->notice), "no answer, asking on: %.120s",
				 clean);
		} else if (is_first && wait_ms > FIRST_MS) {
			wait_ms = FIRST_MS;
		}
		draw(top);
		if (wait_for_keys(top, time_now_ms() + wait_ms) == TOP_QUIT)
			return;
	} while (!screen_signal());
}

static int show_live(struct top *top, const char *path)
{
	struct err err;
	int number;

	/* Who is not there at all is said before the screen is taken. */
	if (look(top, path, &err) || screen_open(&err))
		return command_fail("top", "%s", err.text);
	run(top, path);
	number = screen_signal();
	screen_close();
	if (number)
		raise(number);
	return EXIT_OK;
}

/* --- the command line --- */

static int set_up(struct top *top, const struct options *options, size_t *ret_lines)
{
	const char *lines = options->lines ? options->lines : "24";
	char *end;
	long count = strtol(lines, &end, 10);

	if (*end || end == lines || count < TOP_HEIGHT_MIN || count > LINES_MAX)
		return command_usage_error("top", "--lines: expected a number from %d to %d",
					   TOP_HEIGHT_MIN, LINES_MAX);
	*ret_lines = (size_t)count;
	if (options->interval) {
		top->interval_s = strtod(options->interval, &end);
		if (*end || end == options->interval || !(top->interval_s >= 0.1) ||
		    top->interval_s > INTERVAL_MAX)
			return command_usage_error(
				"top", "--interval: expected seconds from 0.1 to %d", INTERVAL_MAX);
	}
	if (options->sort && !top_sort_find(options->sort, &top->sort))
		return command_usage_error("top",
					   "--sort: expected packets, bits, total, usable or name");
	if (options->filter)
		top_clean(options->filter, top->filter, sizeof(top->filter));
	if (options->service) {
		if (strlen(options->service) >= sizeof(top->service))
			return command_usage_error("top", "--service: the name is too long");
		strcpy(top->service, options->service);
		top->inside = true;
	}
	return EXIT_OK;
}

static int show(const struct options *options)
{
	char path[INSTANCE_PATH_MAX];
	struct top top;
	size_t lines = 0;
	int status;

	top_init(&top);
	status = set_up(&top, options, &lines);
	if (status == EXIT_OK)
		status = ask_socket(&options->ask, "top", path);
	if (status == EXIT_OK)
		status = options->once || options->ask.json ? show_once(&top, options, path, lines)
							    : show_live(&top, path);
	top_fini(&top);
	return status;
}

int command_top(int argc, char **argv)
{
	static const struct option longs[] = {{"interval", required_argument, NULL, 'i'},
					      {"sort", required_argument, NULL, 'S'},
					      {"service", required_argument, NULL, 'V'},
					      {"filter", required_argument, NULL, 'F'},
					      {"once", no_argument, NULL, '1'},
					      {"lines", required_argument, NULL, 'L'},
					      ASK_OPTIONS,
					      {0}};
	struct options options = {0};
	int option;

	while ((option = command_option(argc, argv, ASK_LETTERS "i:1", longs)) != -1) {
		int status = EXIT_OK;

		switch (option) {
		case 'h': fputs(help, stdout); return EXIT_OK;
		case 'i':
			status = command_set_once(&options.interval, "top", "interval", optarg);
			break;
		case 'S': status = command_set_once(&options.sort, "top", "sort", optarg); break;
		case 'V':
			status = command_set_once(&options.service, "top", "service", optarg);
			break;
		case 'F':
			status = command_set_once(&options.filter, "top", "filter", optarg);
			break;
		case '1': options.once = true; break;
		case 'L': status = command_set_once(&options.lines, "top", "lines", optarg); break;
		default: status = ask_option(&options.ask, "top", option, optarg);
		}
		if (status != EXIT_OK)
			return EXIT_USAGE;
	}
	if (optind != argc)
		return command_usage_error("top", "%s: nothing is expected here", argv[optind]);
	return show(&options);
}
