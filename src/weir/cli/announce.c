/* SPDX-License-Identifier: BSD-2-Clause */
/* weir withdraw, weir announce: whether routers are told of VIPs, by hand. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "weir/answer.h"
#include "weir/cli/ask.h"
#include "weir/command.h"

#define LAST_HELP                                                                             \
	"It holds for this node alone, over a restart too; `weir status` shows it.\n"         \
	"\n" ASK_HELP "  -j, --json         the answer, as JSON\n"                            \
	"      --help         this text\n"                                                    \
	"\n"                                                                                  \
	"Exit status: 0, routers are being told; 1 when none answers or it is refused, and\n" \
	"nothing has changed.\n"

static const char withdraw_help[] =
	"usage: weir withdraw [VIP] [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Withdraws the route of a VIP, written as in the file, whatever its backends do; without\n"
	"VIP all routes, also of VIPs that are not in the file yet. What still comes is forwarded\n"
	"on.\n"
	"\n" LAST_HELP;

static const char announce_help[] =
	"usage: weir announce [VIP] [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Ends what weir withdraw did: a VIP's route is announced while its backends allow it;\n"
	"without VIP that of every VIP. Nothing is announced that could not be served.\n"
	"\n" LAST_HELP;

static void print_answer(const json_t *answer)
{
	bool changed = json_is_true(json_object_get(answer, "changed"));

	if (json_object_get(answer, "vip"))
		printf("%s: %s (%s)", answer_text(answer, "vip"),
		       json_is_true(json_object_get(answer, "is_announced")) ? "announced"
									     : "not announced",
		       answer_text(answer, "why"));
	else
		printf("%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " VIPs are announced",
		       answer_number(answer, "announced"), answer_number(answer, "vips"));
	puts(changed ? "" : "; nothing to change");
}

static int ask(const struct ask *options, const char *name, const char *vip)
{
	json_t *request = json_pack("{s:s}", "op", name), *answer;
	int status;

	if (vip)
		json_object_set_new(request, "vip", json_string(vip));
	status = ask_daemon(options, name, request, &answer);
	if (status != EXIT_OK)
		return status;
	if (options->json)
		ask_print_json(answer);
	else
		print_answer(answer);
	if (*answer_text(answer, "not_kept"))
		command_fail(name,
			     "warning: it ends with the daemon, since it could not be kept: %s",
			     answer_text(answer, "not_kept"));
	json_decref(answer);
	return EXIT_OK;
}

static int run(int argc, char **argv, const char *help)
{
	static const struct option longs[] = {ASK_OPTIONS, {0}};
	struct ask options = {0};
	int option, status = EXIT_OK;

	while (!status && (option = command_option(argc, argv, ASK_LETTERS, longs)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		status = ask_option(&options, argv[0], option, optarg);
	}
	if (status)
		return status;
	if (argc - optind > 1)
		return command_usage_error(argv[0], "\"%s\" is too much", argv[optind + 1]);
	return ask(&options, argv[0], optind < argc ? argv[optind] : NULL);
}

int command_withdraw(int argc, char **argv)
{
	return run(argc, argv, withdraw_help);
}

int command_announce(int argc, char **argv)
{
	return run(argc, argv, announce_help);
}
