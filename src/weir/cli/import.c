/* SPDX-License-Identifier: BSD-2-Clause */
/* weir import: another balancer's configuration as a services file, and a list of what it lacks. */
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "weir/command.h"
#include "weir/import/import.h"
#include "weir/show.h"

enum { MARKS_MAX = 256, PATH_TEXT_MAX = 4096 };

static const char help[] =
	"usage: weir import keepalived FILE [OPTION ...]\n"
	"       weir import ipvs FILE|- [OPTION ...]\n"
	"\n"
	"Writes a services file that does what keepalived.conf, or the output of ipvsadm -Sn, "
	"says.\n"
	"On standard error, a line each as FILE:LINE:COLUMN: what has no counterpart (lost), what\n"
	"works in another way (differs), and what is not needed. They stand in the file too.\n"
	"\n"
	"  -o, --output FILE     write it there, by rename; else to standard output\n"
	"      --interface NAME  where packets for the VIPs arrive; else VRRP's, or eth0\n"
	"      --mark MARK=VIP,LISTEN[,LISTEN ...]\n"
	"                        what packets have a firewall mark, as 1=198.51.100.10,tcp/80;\n"
	"                        may be given several times, also for one mark\n"
	"      --id NAME         of keepalived's lines that begin with @: whose are taken\n"
	"      --strict          exit with 1 if something has no counterpart\n"
	"  -j, --json            the list, and without --output the file, as JSON\n"
	"      --help            this text\n"
	"\n"
	"Exit status: 0; 1 when FILE cannot be read or what is written is not right.\n";

struct options {
	const char *from, *path, *output, *interface, *id;
	const char *marks[MARKS_MAX];
	size_t mark_count;
	bool json, strict;
};

/* --- included files --- */

static int take_file(const char *path,
		     int (*take)(void *taker, const char *file, const char *text, size_t length),
		     void *taker)
{
	struct stat at;
	struct err err;
	size_t length;
	char *text;
	int error;

	if (stat(path, &at) == 0 && !S_ISREG(at.st_mode))
		return -EINVAL;
	error = conf_read(path, &text, &length, &err);
	if (error)
		return error;
	error = take(taker, path, text, length);
	free(text);
	return error;
}

static int include(void *context, const char *directory, const char *pattern,
		   int (*take)(void *taker, const char *file, const char *text, size_t length),
		   void *taker)
{
	char path[PATH_TEXT_MAX];
	int error = 0;
	glob_t found;

	(void)context;
	if (snprintf(path, sizeof(path), "%s%s%s", *pattern == '/' ? "" : directory,
		     *pattern == '/' ? "" : "/", pattern) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (glob(path, GLOB_BRACE, NULL, &found))
		return -ENOENT;
	for (size_t i = 0; i < found.gl_pathc && !error; i++)
		error = take_file(found.gl_pathv[i], take, taker);
	globfree(&found);
	return error;
}

/* --- the list --- */

static void print_notes(const struct import *import)
{
	for (const struct import_note *at = import->notes; at; at = at->next)
		fprintf(stderr, "%s:%d:%d: %s: %s: %s\n", at->place.file, at->place.line,
			at->place.column, import_kind_name(at->kind), at->what, at->text);
	if (import->notes_dropped)
		fprintf(stderr, "%zu more are not listed\n", import->notes_dropped);
}

static json_t *notes_json(const struct import *import)
{
	json_t *list = json_array();

	for (const struct import_note *at = import->notes; at; at = at->next)
		json_array_append_new(list, json_pack("{s:o, s:i, s:i, s:s, s:s, s:s}", "file",
						      show_bytes(at->place.file), "line",
						      at->place.line, "column", at->place.column,
						      "kind", import_kind_name(at->kind), "what",
						      at->what, "text", at->text));
	return list;
}

static size_t count_services(const struct import *import, bool left_out)
{
	size_t count = 0;

	for (const struct import_service *at = import->services; at; at = at->next)
		count += at->left_out == left_out;
	return count;
}

static void print_json(const struct options *options, const struct import *import, const char *text)
{
	json_t *whole = json_pack("{s:s, s:I, s:I, s:o, s:I}", "from", import->from, "services",
				  (json_int_t)count_services(import, false), "left_out",
				  (json_int_t)count_services(import, true), "notes",
				  notes_json(import), "notes_dropped",
				  (json_int_t)import->notes_dropped);

	if (!options->output)
		json_object_set_new(whole, "text", show_bytes(text));
	json_dumpf(whole, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(whole);
}

/* --- the file --- */

/* As a service that reads it should find it: whole or not at all. A device or a pipe is not
 * replaced but written to. */
static int write_file(const char *path, const char *text)
{
	struct stat stat_buf;
	bool replaces = stat(path, &stat_buf) || S_ISREG(stat_buf.st_mode);
	char *beside;
	FILE *out;
	int status = EXIT_OK;

	if (asprintf(&beside, "%s%s", path, replaces ? ".new" : "") < 0)
		return command_fail("import", "out of memory");
	out = fopen(beside, "w");
	if (!out) {
		status = command_fail("import", "cannot write %s: %s", beside, strerror(errno));
	} else {
		bool failed = fputs(text, out) < 0;

		if ((fclose(out) || failed) || (replaces && rename(beside, path))) {
			status = command_fail("import", "cannot write %s: %s", path,
					      strerror(errno));
			if (replaces)
				remove(beside);
		}
	}
	free(beside);
	return status;
}

/* What is written must be a right file; if it is not, its errors say what to change there. */
static int verify(const struct options *options, const char *text)
{
	struct err_list errors = {0};
	struct conf *conf;
	int status = EXIT_OK;

	if (conf_parse(text, strlen(text), &conf, &errors) == 0) {
		conf_free(conf);
	} else {
		command_print_errors("import", options->output ? options->output : "(the output)",
				     &errors);
		status = command_fail("import", "what is written is not right yet: see above");
	}
	err_list_fini(&errors);
	return status;
}

static bool has_lost(const struct import *import)
{
	for (const struct import_note *at = import->notes; at; at = at->next) {
		if (at->kind == IMPORT_LOST)
			return true;
	}
	return import->notes_dropped > 0;
}

static int give(const struct options *options, struct import *import)
{
	char *text;
	int status = EXIT_OK;

	import_settle(import);
	text = import_write(import, options->interface);
	if (!text)
		return command_fail("import", "out of memory");
	if (options->output)
		status = write_file(options->output, text);
	else if (!options->json)
		fputs(text, stdout);
	if (options->json)
		print_json(options, import, text);
	else
		print_notes(import);
	if (!status)
		status = verify(options, text);
	if (!status && options->strict && has_lost(import))
		status = EXIT_NO;
	free(text);
	return status;
}

static int read_into(const struct options *options, struct import *import, struct err *err)
{
	const struct import_files files = {.include = include, .config_id = options->id};
	const char *name = strcmp(options->path, "-") == 0 ? "(standard input)" : options->path;
	size_t length;
	char *text;
	int error = conf_read(options->path, &text, &length, err);

	err->line = 0;
	if (error)
		return error;
	if (strcmp(options->from, "ipvs") == 0)
		error = import_ipvs(import, text, length, name, err);
	else
		error = import_keepalived(import, text, length, name, &files, err);
	if (error && !err->file)
		err->file = arena_strdup(import->arena, name);
	free(text);
	return error;
}

static int run(const struct options *options)
{
	struct import *import = import_new(options->from);
	struct err err = {0};
	int status;

	for (size_t i = 0; i < options->mark_count; i++) {
		if (import_add_mark(import, options->marks[i], &err)) {
			status = command_usage_error("import", "%s", err.text);
			import_free(import);
			return status;
		}
	}
	if (!read_into(options, import, &err))
		status = give(options, import);
	else if (err.line)
		status = (fprintf(stderr, "%s:%d:%d: %s\n", err.file, err.line, err.column,
				  err.text),
			  EXIT_NO);
	else
		status = command_fail("import", "%s", err.text);
	import_free(import);
	return status;
}

static int take_option(struct options *options, int option)
{
	switch (option) {
	case 'o': return command_set_once(&options->output, "import", "output", optarg);
	case 'i': return command_set_once(&options->interface, "import", "interface", optarg);
	case 'd': return command_set_once(&options->id, "import", "id", optarg);
	case 's': options->strict = true; return EXIT_OK;
	case 'j': options->json = true; return EXIT_OK;
	case 'm':
		if (options->mark_count == MARKS_MAX)
			return command_usage_error("import", "--mark is given too often");
		options->marks[options->mark_count++] = optarg;
		return EXIT_OK;
	default: return EXIT_USAGE;
	}
}

int command_import(int argc, char **argv)
{
	static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
					      {"interface", required_argument, NULL, 'i'},
					      {"mark", required_argument, NULL, 'm'},
					      {"id", required_argument, NULL, 'd'},
					      {"strict", no_argument, NULL, 's'},
					      {"json", no_argument, NULL, 'j'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	struct options options = {0};
	int option;

	while ((option = command_option(argc, argv, ":o:jh", longs)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (take_option(&options, option))
			return EXIT_USAGE;
	}
	if (optind + 2 != argc)
		return command_usage_error("import", "keepalived or ipvs, and a FILE, are needed");
	options.from = argv[optind];
	options.path = argv[optind + 1];
	if (strcmp(options.from, "ipvs") != 0 && strcmp(options.from, "keepalived") != 0)
		return command_usage_error("import", "\"%s\" is neither keepalived nor ipvs",
					   options.from);
	return run(&options);
}
