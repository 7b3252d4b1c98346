/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/command.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "conf/conf.h"

static void print_prefixed(const char *name, const char *format, va_list args)
{
	fprintf(stderr, "%sweir %s: ", log_priority(LOG_ERROR), name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int command_usage_error(const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_prefixed(name, format, args);
	va_end(args);
	fprintf(stderr, "`weir %s --help` tells the options.\n", name);
	return EXIT_USAGE;
}

int command_fail(const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_prefixed(name, format, args);
	va_end(args);
	return EXIT_NO;
}

int command_option(int argc, char **argv, const char *shorts, const struct option *longs)
{
	const char *given;
	int option;

	opterr = 0;
	option = getopt_long(argc, argv, shorts, longs, NULL);
	if (option != '?' && option != ':')
		return option;
	given = argv[optind - 1];
	if (option == ':')
		command_usage_error(argv[0], "%s needs a value", given);
	else if (optopt && strncmp(given, "--", 2) != 0)
		command_usage_error(argv[0], "there is no option -%c", optopt);
	else
		command_usage_error(argv[0], "there is no option %s", given);
	return '?';
}

int command_set_log(const char *name, const char *format)
{
	if (strcmp(format, "json") != 0 && strcmp(format, "text") != 0)
		return command_usage_error(name, "--log: %s, expected text or json", format);
	log_set_format(strcmp(format, "json") == 0 ? LOG_JSON : LOG_TEXT);
	return EXIT_OK;
}

int command_set_once(const char **field, const char *name, const char *option, const char *value)
{
	if (*field)
		return command_usage_error(name, "--%s is given twice", option);
	*field = value;
	return EXIT_OK;
}

int command_come_once(uint32_t *seen, const char *name, const struct option *longs, int option)
{
	uint32_t bit = 1U << (option - 'a');

	while (longs->name && longs->val != option)
		longs++;
	if (longs->has_arg == no_argument)
		return EXIT_OK;
	if (*seen & bit)
		return command_usage_error(name, "--%s is given twice", longs->name);
	*seen |= bit;
	return EXIT_OK;
}

void command_print_errors(const char *name, const char *file, const struct err_list *errors)
{
	for (size_t i = 0; i < errors->count; i++) {
		const struct err *err = &errors->errors[i];

		if (err->line)
			fprintf(stderr, "%s:%d:%d: %s\n", err->file ? err->file : file, err->line,
				err->column, err->text);
		else
			command_fail(name, "%s", err->text);
	}
	if (errors->dropped)
		fprintf(stderr, "%s: %zu or more further errors are not shown\n", file,
			errors->dropped);
}

struct conf *command_load_conf(const char *name, const char *file)
{
	struct err_list errors = {0};
	struct conf *conf = NULL;

	if (conf_load(file, &conf, &errors))
		command_print_errors(name, file, &errors);
	err_list_fini(&errors);
	return conf;
}

struct conf_agent *command_load_agent(const char *name, const char *file)
{
	struct err_list errors = {0};
	struct conf_agent *agent = NULL;

	if (conf_agent_load(file, &agent, &errors))
		command_print_errors(name, file, &errors);
	err_list_fini(&errors);
	return agent;
}
