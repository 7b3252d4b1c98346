/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/diff.h"
#include "pool/pool.h"
#include "weir/balancer/assemble.h"
#include "weir/cli/ask.h"
#include "weir/command.h"
#include "weir/lineage/lineage.h"

enum { SAMPLES = 1 << 17, SHOWN_MAX = 200 };

static const char help[] =
	"usage: weir diff FILE [--against FILE | --node NAME | --socket PATH] [--json]\n"
	"\n"
	"Says what a file would change on a running node, or against another file: each value,\n"
	"and of each pool the share of its keys that would go to another backend.\n"
	"\n"
	"      --against FILE what it is compared with, in place of what runs\n" ASK_HELP
	"  -j, --json         the same as JSON\n"
	"      --help         this text\n"
	"\n"
	"Exit status: 0, nothing would change; 1, something would; 2, it cannot be said.\n";

/* --- what runs --- */

static struct conf *parse_running(const char *text)
{
	struct err_list errors = {0};
	struct conf *conf = NULL;

	if (conf_parse(text, strlen(text), &conf, &errors))
		command_print_errors("diff", "the node's configuration", &errors);
	err_list_fini(&errors);
	return conf;
}

static struct conf *ask_running(const struct ask *ask)
{
	json_t *answer;
	struct conf *conf;

	if (ask_daemon(ask, "diff", json_pack("{s:s}", "op", "configuration"), &answer))
		return NULL;
	conf = parse_running(json_string_value(json_object_get(answer, "text")));
	json_decref(answer);
	return conf;
}

/* --- keys that move --- */

static uint64_t base_identity(const struct pool *table, const struct conf_pool *conf,
			      uint64_t sample)
{
	uint32_t slot = (uint32_t)(sample * pool_table_size(table) / SAMPLES);
	uint32_t member = pool_slot_base(table, slot);

	return member == HASH_NOBODY ? 0 : assemble_backend_identity(&conf->backends[member]);
}

/* Other seeds give each key another slot, so that the two say nothing of each other. */
static uint64_t shuffled(uint64_t sample)
{
	return (sample * 0x9e3779b97f4a7c15ULL >> 32) % SAMPLES;
}

/* Of 100; below 0: out of memory. */
static double moved_percent(const struct conf *before, const struct conf_pool *old,
			    const struct conf *after, const struct conf_pool *new)
{
	bool same_seed = strcmp(before->seed, after->seed) == 0;
	struct pool *one = NULL, *two = NULL;
	double percent = -1;
	uint32_t moved = 0;

	if (assemble_pool(before, old, NULL, POOL_UNKNOWN, &one) == 0 &&
	    assemble_pool(after, new, NULL, POOL_UNKNOWN, &two) == 0) {
		for (uint64_t i = 0; i < SAMPLES; i++)
			moved += base_identity(one, old, i) !=
				 base_identity(two, new, same_seed ? i : shuffled(i));
		percent = 100.0 * moved / SAMPLES;
	}
	pool_free(one);
	pool_free(two);
	return percent;
}

/* Pools whose keys move, in the order of the new file, beside what they are now. */
static json_t *find_moved(const struct conf *before, const struct conf *after,
			  const struct lineage *lineage)
{
	json_t *list = json_array();

	for (size_t i = 0; i < after->pool_count; i++) {
		const struct conf_pool *new = &after->pools[i], *old;
		double percent = 0;

		if (lineage->pools[i] == LINEAGE_NONE)
			continue;
		old = &before->pools[lineage->pools[i]];
		if (!assemble_pool_same(before, old, after, new))
			percent = moved_percent(before, old, after, new);
		if (percent > 0)
			json_array_append_new(list, json_pack("{s:s, s:f}", "pool", new->name,
							      "moved_percent", percent));
	}
	return list;
}

static void note_name(json_t *list, const char *kind, const char *was, const char *is)
{
	if (strcmp(was, is) != 0)
		json_array_append_new(list, json_pack("{s:s, s:s}", kind, is, "was", was));
}

/* What goes on under another name. */
static json_t *find_names(const struct conf *before, const struct conf *after,
			  const struct lineage *lineage)
{
	json_t *list = json_array();

	for (size_t i = 0; i < after->pool_count; i++) {
		if (lineage->pools[i] != LINEAGE_NONE)
			note_name(list, "pool", before->pools[lineage->pools[i]].name,
				  after->pools[i].name);
	}
	for (size_t i = 0; i < after->service_count; i++) {
		if (lineage->services[i] != LINEAGE_NONE)
			note_name(list, "service", before->services[lineage->services[i]].name,
				  after->services[i].name);
	}
	return list;
}

/* --- what is shown --- */

static void note_change(void *arg, const struct conf_change *change)
{
	json_array_append_new(arg, json_pack("{s:s, s:s?, s:s?}", "path", change->path, "before",
					     change->before, "after", change->after));
}

static void print_change(const json_t *change)
{
	const char *path = json_string_value(json_object_get(change, "path"));
	const char *before = json_string_value(json_object_get(change, "before"));
	const char *after = json_string_value(json_object_get(change, "after"));

	if (before && after)
		printf("  %s: %s -> %s\n", path, before, after);
	else if (before)
		printf("- %s%s%s\n", path, *before ? ": " : "", before);
	else
		printf("+ %s%s%s\n", path, *after ? ": " : "", after);
}

static void print_name(const json_t *name)
{
	const char *pool = json_string_value(json_object_get(name, "pool"));
	const char *service = json_string_value(json_object_get(name, "service"));

	printf("%s %s was %s until now, and goes on\n", pool ? "pool" : "service",
	       pool ? pool : service, json_string_value(json_object_get(name, "was")));
}

static void print_all(const json_t *changes, const json_t *names, const json_t *moved)
{
	size_t i, count = json_array_size(changes);
	const json_t *item;

	json_array_foreach(changes, i, item)
	{
		if (i < SHOWN_MAX)
			print_change(item);
	}
	if (count > SHOWN_MAX)
		printf("... and %zu more\n", count - SHOWN_MAX);
	json_array_foreach(names, i, item) print_name(item);
	json_array_foreach(moved, i, item)
		printf("pool %s: %.1f %% of its keys go to another backend\n",
		       json_string_value(json_object_get(item, "pool")),
		       json_real_value(json_object_get(item, "moved_percent")));
	if (!count)
		puts("nothing would change");
}

static int compare(const struct conf *before, const struct conf *after, bool json)
{
	json_t *changes = json_array(), *moved, *names;
	size_t count = conf_diff(before, after, note_change, changes);
	struct lineage lineage;

	if (lineage_of_conf(before, after, &lineage)) {
		json_decref(changes);
		command_fail("diff", "out of memory");
		return EXIT_USAGE;
	}
	moved = find_moved(before, after, &lineage);
	names = find_names(before, after, &lineage);
	lineage_fini(&lineage);
	if (json) {
		json_t *whole = json_pack("{s:O, s:O, s:O}", "changes", changes, "names", names,
					  "pools", moved);

		ask_print_json(whole);
		json_decref(whole);
	} else {
		print_all(changes, names, moved);
	}
	json_decref(changes);
	json_decref(names);
	json_decref(moved);
	return count ? EXIT_NO : EXIT_OK;
}

static int diff(const struct ask *ask, const char *against, const char *file)
{
	struct conf *after = command_load_conf("diff", file), *before;
	int status = EXIT_USAGE;

	if (!after)
		return EXIT_USAGE;
	before = against ? command_load_conf("diff", against) : ask_running(ask);
	if (before)
		status = compare(before, after, ask->json);
	conf_free(before);
	conf_free(after);
	return status;
}

int command_diff(int argc, char **argv)
{
	static const struct option options[] = {
		{"against", required_argument, NULL, 'a'}, ASK_OPTIONS, {0}};
	const char *against = NULL;
	struct ask ask = {0};
	int option;

	while ((option = command_option(argc, argv, ASK_LETTERS, options)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (option == 'a' ? command_set_once(&against, "diff", "against", optarg)
				  : ask_option(&ask, "diff", option, optarg))
			return EXIT_USAGE;
	}
	if (optind + 1 != argc)
		return command_usage_error("diff", "one file is needed");
	if (against && ask_is_named(&ask))
		return command_usage_error("diff", "--against excludes --node, --socket and --pid");
	return diff(&ask, against, argv[optind]);
}
