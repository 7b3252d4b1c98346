/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subcommands: one file each in cli/, one row each in main.c's table. A command gets the
 * arguments after its own name (argv[0] is the name), parses them with command_option, prints to
 * standard output, and returns the process's exit status: 0, 1 for "no" or a failure said on
 * standard error, 2 for a wrong command line. `name` below is the command's.
 */
#pragma once

#include <stdint.h>

enum { EXIT_OK = 0, EXIT_NO = 1, EXIT_USAGE = 2 };

typedef int command_run(int argc, char **argv);

command_run command_agent;
command_run command_agent_status;
command_run command_announce;
command_run command_bench;
command_run command_capture;
command_run command_check;
command_run command_diff;
command_run command_drain;
command_run command_events;
command_run command_explain;
command_run command_import;
command_run command_ipvs;
command_run command_maint;
command_run command_names;
command_run command_node;
command_run command_plan;
command_run command_ready;
command_run command_reload;
command_run command_restart;
command_run command_run_node, command_scaffold;
command_run command_sim;
command_run command_status;
command_run command_stop;
command_run command_table;
command_run command_top;
command_run command_trace;
command_run command_weight;
command_run command_withdraw;

/* As getopt_long; says by itself what is wrong, and then returns '?'. `shorts` begins with ':'. */
struct option;
int command_option(int argc, char **argv, const char *shorts, const struct option *longs);

/* The value of an option that may be given once: EXIT_OK, or EXIT_USAGE and a word about it. */
int command_set_once(const char **field, const char *name, const char *option, const char *value);
/* The same of an option whose value is no text: one of `longs`, there a small letter. `seen` begins
 * with 0. One without a value may come again. */
int command_come_once(uint32_t *seen, const char *name, const struct option *longs, int option);

/* The option --log of daemons: EXIT_OK, or EXIT_USAGE and a word about it. */
int command_set_log(const char *name, const char *format);

/* "weir NAME: text" and the hint at --help on standard error; returns EXIT_USAGE. */
int command_usage_error(const char *name, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "weir NAME: text" on standard error; returns EXIT_NO. */
int command_fail(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Every error of a file as "file:line:column: text" on standard error, or, of the file as a whole,
 * as command_fail does. */
struct err_list;
void command_print_errors(const char *name, const char *file, const struct err_list *errors);
/* NULL: its errors are printed. */
struct conf *command_load_conf(const char *name, const char *file);
struct conf_agent *command_load_agent(const char *name, const char *file);
