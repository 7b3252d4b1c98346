/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir explain: what a verdict means, why packets come to it, what to do. `drop` is all those that
 * end a packet, and with a running node only those that did, the most frequent first.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "weir/cli/ask.h"
#include "weir/command.h"
#include "weir/explain/texts.h"
#include "weir/show.h"

static const char name[] = "explain";

static const char help[] =
	"usage: weir explain [VERDICT ... | drop] [OPTION ...]\n"
	"\n"
	"What becomes of packets has a name, which counters, `weir trace` and `weir capture` "
	"show.\n"
	"Says what a verdict means, what it likely comes from, and what to do about it. Without a\n"
	"name: one line for each. `drop`: those that end a packet; where a node runs here, those\n"
	"alone that did since its start, the most frequent first.\n"
	"\n" ASK_HELP "  -j, --json         the same as JSON\n"
	"  -h, --help         this text\n";

struct asked {
	bool wanted[VERDICT_COUNT];
	bool drops, lines;
	struct ask ask;
};

struct row {
	enum verdict verdict;
	json_int_t packets, bytes; /* -1: not known */
};

struct list {
	struct row rows[VERDICT_COUNT];
	size_t count;
	bool live;
	char node[80];
};

static void print_lines(const char *what, const char *const lines[EXPLAIN_LINES_MAX])
{
	for (size_t i = 0; i < EXPLAIN_LINES_MAX && lines[i]; i++)
		printf("  %-9s %s\n", i ? "" : what, lines[i]);
}

static void print_row(const struct row *row)
{
	const struct explain_text *text = explain_text(row->verdict);

	printf("%s (%s): %s\n", show_verdict(row->verdict).text, show_verdict_action(row->verdict),
	       show_verdict_help(row->verdict));
	if (row->packets >= 0)
		printf("  %-9s %lld %s, %lld bytes\n", "counted", (long long)row->packets,
		       plural((uint64_t)row->packets, "packet", "packets"), (long long)row->bytes);
	printf("  %-9s %s\n", "meaning", text->meaning);
	print_lines("causes", text->causes);
	print_lines("to do", text->steps);
}

static json_t *json_lines(const char *const lines[EXPLAIN_LINES_MAX])
{
	json_t *list = json_array();

	for (size_t i = 0; i < EXPLAIN_LINES_MAX && lines[i]; i++)
		json_array_append_new(list, json_string(lines[i]));
	return list;
}

json_t *explain_json(enum verdict verdict)
{
	const struct explain_text *text = explain_text(verdict);

	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "verdict", show_verdict(verdict).text,
			 "action", show_verdict_action(verdict), "help", show_verdict_help(verdict),
			 "meaning", text->meaning, "causes", json_lines(text->causes), "to_do",
			 json_lines(text->steps));
}

static json_t *json_row(const struct row *row)
{
	json_t *object = explain_json(row->verdict);

	if (row->packets >= 0) {
		json_object_set_new(object, "packets", json_integer(row->packets));
		json_object_set_new(object, "bytes", json_integer(row->bytes));
	}
	return object;
}

static void print_json(const struct list *list)
{
	json_t *rows = json_array();
	json_t *object = json_pack("{s:o?, s:o}", "node",
				   list->live ? json_string(list->node) : NULL, "verdicts", rows);

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(rows, json_row(&list->rows[i]));
	ask_print_json(object);
	json_decref(object);
}

/* --- what is asked for --- */

static bool ends_packet(enum verdict verdict)
{
	const char *action = show_verdict_action(verdict);

	return strcmp(action, "drop") == 0 || strcmp(action, "aborted") == 0;
}

static int add_name(struct asked *asked, const char *text)
{
	enum verdict verdict;

	if (strcmp(text, "drop") == 0 || strcmp(text, "drops") == 0) {
		asked->drops = true;
		return EXIT_OK;
	}
	if (!show_find_verdict(text, &verdict))
		return command_usage_error(
			name, "\"%s\": no verdict; `weir explain` without a name lists them", text);
	asked->wanted[verdict] = true;
	return EXIT_OK;
}

static int parse(int argc, char **argv, struct asked *asked)
{
	static const struct option options[] = {ASK_OPTIONS, {0}};
	int wrong = EXIT_OK, option;

	while (!wrong && (option = command_option(argc, argv, ASK_LETTERS, options)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			exit(EXIT_OK);
		}
		wrong = ask_option(&asked->ask, name, option, optarg);
	}
	asked->lines = optind == argc;
	for (; !wrong && optind < argc; optind++)
		wrong = add_name(asked, argv[optind]);
	return wrong;
}

/* --- counts --- */

static void set_counts(struct list *list, const json_t *status)
{
	const json_t *verdicts = json_object_get(status, "verdicts");

	for (size_t i = 0; i < list->count; i++) {
		struct row *row = &list->rows[i];
		const json_t *count = json_object_get(verdicts, show_verdict(row->verdict).text);

		row->packets = json_integer_value(json_object_get(count, "packets"));
		row->bytes = json_integer_value(json_object_get(count, "bytes"));
	}
	list->live = true;
	snprintf(list->node, sizeof(list->node), "%s",
		 json_string_value(json_object_get(status, "node")));
}

/* Where none is named the words alone are an answer: none runs, or whoever asks may not. */
static int ask_counts(const struct ask *ask, struct list *list)
{
	json_t *status, *request = json_pack("{s:s}", "op", "status");
	struct err err;
	int error;

	if (ask_is_named(ask)) {
		error = ask_daemon(ask, name, request, &status);
		if (error)
			return error;
	} else {
		error = ask_try(ask, request, &status, &err);
		if (error && error != -ENOENT)
			fprintf(stderr, "weir explain: without counts: %s\n", err.text);
		if (error)
			return EXIT_OK;
	}
	if (json_is_string(json_object_get(status, "node")))
		set_counts(list, status);
	json_decref(status);
	return EXIT_OK;
}

static int by_packets(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	if (left->packets != right->packets)
		return left->packets < right->packets ? 1 : -1;
	return (left->verdict > right->verdict) - (left->verdict < right->verdict);
}

/* Of drops those that were; of verdicts that were named all. */
static void sort_out(const struct asked *asked, struct list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (list->rows[i].packets || asked->wanted[list->rows[i].verdict])
			list->rows[kept++] = list->rows[i];
	}
	list->count = kept;
	qsort(list->rows, list->count, sizeof(list->rows[0]), by_packets);
}

static void print_list(const struct asked *asked, const struct list *list)
{
	if (asked->drops && list->live)
		printf("node %s: %s\n\n", list->node,
		       list->count ? "dropped since the tables were new"
				   : "no packet was dropped since the tables were new");
	for (size_t i = 0; i < list->count; i++) {
		if (asked->lines)
			printf("%-17s %-9s %s\n", show_verdict(list->rows[i].verdict).text,
			       show_verdict_action(list->rows[i].verdict),
			       show_verdict_help(list->rows[i].verdict));
		else
			print_row(&list->rows[i]);
		if (!asked->lines && i + 1 < list->count)
			putchar('\n');
	}
}

int command_explain(int argc, char **argv)
{
	struct asked asked = {0};
	struct list list = {0};
	int wrong = parse(argc, argv, &asked);

	if (wrong)
		return wrong;
	for (uint32_t v = 0; v < VERDICT_COUNT; v++) {
		if (asked.lines || asked.wanted[v] || (asked.drops && ends_packet(v)))
			list.rows[list.count++] = (struct row){v, -1, -1};
	}
	if (!asked.lines)
		wrong = ask_counts(&asked.ask, &list);
	if (wrong)
		return wrong;
	if (list.live && asked.drops)
		sort_out(&asked, &list);
	if (asked.ask.json)
		print_json(&list);
	else
		print_list(&asked, &list);
	return EXIT_OK;
}
