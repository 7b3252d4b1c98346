/* SPDX-License-Identifier: BSD-2-Clause */
/* weir names: what a running node's things are called, for shells that complete, and scripts. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "weir/cli/ask.h"
#include "weir/command.h"

static const char help[] =
	"usage: weir names services|pools|backends|vips [--node NAME | --socket PATH] [--json]\n"
	"\n"
	"Prints the names of what a running node has, one a line, as commands take them: a\n"
	"backend is POOL/NAME where several pools have one of that name.\n"
	"\n" ASK_HELP "  -j, --json         an array of them\n"
	"      --help         this text\n"
	"\n"
	"Exit status: 0; 1 when none answers.\n";

static void add_vips(json_t *names, const json_t *service)
{
	size_t i;
	json_t *vip;

	json_array_foreach(json_object_get(service, "vips"), i, vip) json_array_append(names, vip);
}

static bool is_in_another(const json_t *pools, const json_t *own, const char *name)
{
	size_t i, k;
	json_t *pool, *backend;

	json_array_foreach(pools, i, pool)
	{
		json_array_foreach(json_object_get(pool, "backends"), k, backend)
		{
			const char *other = json_string_value(json_object_get(backend, "name"));

			if (pool != own && other && strcmp(other, name) == 0)
				return true;
		}
	}
	return false;
}

static void add_backends(json_t *names, const json_t *pools, const json_t *pool)
{
	size_t i;
	json_t *backend;

	json_array_foreach(json_object_get(pool, "backends"), i, backend)
	{
		const char *name = json_string_value(json_object_get(backend, "name"));

		if (name && is_in_another(pools, pool, name))
			json_array_append_new(
				names,
				json_sprintf("%s/%s",
					     json_string_value(json_object_get(pool, "name")),
					     name));
		else
			json_array_append(names, json_object_get(backend, "name"));
	}
}

/* NULL: there is no such kind. */
static json_t *list(const json_t *status, const char *kind)
{
	bool vips = strcmp(kind, "vips") == 0, backends = strcmp(kind, "backends") == 0;
	bool pools = strcmp(kind, "pools") == 0;
	const json_t *all = json_object_get(
		status, vips || strcmp(kind, "services") == 0 ? "services" : "pools");
	json_t *names = json_array(), *one;
	size_t i;

	if (!vips && !backends && !pools && strcmp(kind, "services") != 0) {
		json_decref(names);
		return NULL;
	}
	json_array_foreach(all, i, one)
	{
		if (vips)
			add_vips(names, one);
		else if (backends)
			add_backends(names, all, one);
		else
			json_array_append(names, json_object_get(one, "name"));
	}
	return names;
}

static int print(const struct ask *ask, const char *kind)
{
	json_t *none = list(NULL, kind), *status = NULL, *names, *name;
	size_t i;
	int ret;

	if (!none)
		return command_usage_error("names",
					   "%s: expected services, pools, backends or vips", kind);
	json_decref(none);
	ret = ask_daemon(ask, "names", json_pack("{s:s}", "op", "status"), &status);
	if (ret != EXIT_OK)
		return ret;
	names = list(status, kind);
	if (ask->json)
		ask_print_json(names);
	json_array_foreach(names, i, name)
	{
		if (!ask->json)
			puts(json_string_value(name));
	}
	json_decref(names);
	json_decref(status);
	return EXIT_OK;
}

int command_names(int argc, char **argv)
{
	struct ask ask = {0};
	bool done;
	int status = ask_options(&ask, argc, argv, help, &done);

	if (status || done)
		return status;
	if (argc - optind != 1)
		return command_usage_error("names", "of what? services, pools, backends or vips");
	return print(&ask, argv[optind]);
}
