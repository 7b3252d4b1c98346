/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir table: a pool's table as every node of the fleet computes it from this file, with all
 * backends healthy but those named. Offline; needs no running daemon and no root.
 */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "hash/maglev.h"
#include "pool/pool.h"
#include "weir/balancer/assemble.h"
#include "weir/command.h"
#include "weir/show.h"

struct options {
	const char *config;
	const char *pool;
	const char *down, *drain, *maint; /* lists of names, or NULL */
	bool json;
};

static const char help[] =
	"usage: weir table --config FILE [--pool NAME] [OPTION ...]\n"
	"\n"
	"Prints which backend of a pool gets which share of new flows, or each slot's backend.\n"
	"\n"
	"  --config FILE    the services file\n"
	"  --pool NAME      the pool; may be left out when the file has only one\n"
	"  --down NAME,...  take these backends as failed; all others are taken as healthy\n"
	"  --drain NAME,... as if the file said `state: drain`\n"
	"  --maint NAME,... as if the file said `state: maint`\n"
	"  --json           {\"size\": slots, \"slots\": [\"backend\" or null, ...]}\n"
	"  --help           this text\n";

static int set_once(const char **field, const char *option)
{
	return command_set_once(field, "table", option, optarg);
}

/* 0, or the exit status to end with, and *done says so. */
static int parse_options(int argc, char **argv, struct options *options, bool *done)
{
	enum { CONFIG = 256, POOL, DOWN, DRAIN, MAINT, JSON };
	static const struct option longs[] = {
		{"config", required_argument, NULL, CONFIG},
		{"pool", required_argument, NULL, POOL},
		{"down", required_argument, NULL, DOWN},
		{"drain", required_argument, NULL, DRAIN},
		{"maint", required_argument, NULL, MAINT},
		{"json", no_argument, NULL, JSON},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option, wrong = 0;

	*done = true;
	while (!wrong && (option = command_option(argc, argv, ":h", longs)) != -1) {
		switch (option) {
		case CONFIG: wrong = set_once(&options->config, "config"); break;
		case POOL: wrong = set_once(&options->pool, "pool"); break;
		case DOWN: wrong = set_once(&options->down, "down"); break;
		case DRAIN: wrong = set_once(&options->drain, "drain"); break;
		case MAINT: wrong = set_once(&options->maint, "maint"); break;
		case JSON: options->json = true; break;
		case 'h': fputs(help, stdout); return EXIT_OK;
		default: return EXIT_USAGE;
		}
	}
	if (wrong)
		return wrong;
	if (optind < argc)
		return command_usage_error("table", "unexpected \"%s\"", argv[optind]);
	if (!options->config)
		return command_usage_error("table", "--config is missing");
	*done = false;
	return EXIT_OK;
}

static const struct conf_pool *find_pool(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->pool_count; i++) {
		if (name ? strcmp(conf->pools[i].name, name) == 0 : conf->pool_count == 1)
			return &conf->pools[i];
	}
	if (name)
		fprintf(stderr, "weir table: no pool \"%s\"; the file has", name);
	else
		fputs("weir table: which --pool? The file has", stderr);
	for (size_t i = 0; i < conf->pool_count; i++)
		fprintf(stderr, "%s%s", i ? ", " : " ", conf->pools[i].name);
	fputs(conf->pool_count ? "\n" : " none\n", stderr);
	return NULL;
}

static int find_member(const struct pool *pool, const char *name, size_t length, size_t *ret)
{
	for (size_t i = 0; i < pool_member_count(pool); i++) {
		const char *known = pool_member_name(pool, i);

		if (strlen(known) == length && memcmp(known, name, length) == 0) {
			*ret = i;
			return 0;
		}
	}
	fprintf(stderr, "weir table: pool %s has no backend \"%.*s\"; it has", pool_name(pool),
		(int)length, name);
	for (size_t i = 0; i < pool_member_count(pool); i++)
		fprintf(stderr, "%s%s", i ? ", " : " ", pool_member_name(pool, i));
	fputc('\n', stderr);
	return -1;
}

static void set_down(struct pool *pool, size_t member)
{
	pool_set_health(pool, member, POOL_UNHEALTHY, 0);
}

static void set_drain(struct pool *pool, size_t member)
{
	pool_set_admin(pool, member, POOL_DRAIN, 0);
}

static void set_maint(struct pool *pool, size_t member)
{
	pool_set_admin(pool, member, POOL_MAINT, 0);
}

/* Does it to each member of a list of names with commas between; NULL is an empty list. */
static int set_each(struct pool *pool, const char *names, void (*set)(struct pool *, size_t))
{
	while (names) {
		size_t length = strcspn(names, ","), member;

		if (find_member(pool, names, length, &member))
			return -1;
		set(pool, member);
		names = names[length] ? names + length + 1 : NULL;
	}
	return 0;
}

static int print_json(const struct pool *pool)
{
	json_t *slots = json_array(), *table = json_object();
	int error = 0;

	for (uint32_t slot = 0; slot < pool_table_size(pool); slot++) {
		uint32_t owner = pool_slot_owner(pool, slot);

		error |= json_array_append_new(
			slots, owner == HASH_NOBODY ? json_null()
						    : json_string(pool_member_name(pool, owner)));
	}
	error |= json_object_set_new(table, "size", json_integer(pool_table_size(pool)));
	error |= json_object_set_new(table, "slots", slots);
	if (!error)
		error = json_dumpf(table, stdout, JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(table);
	return error ? command_fail("table", "cannot write the table") : EXIT_OK;
}

static const char *state_text(const struct pool *pool, size_t member)
{
	enum pool_admin admin = pool_member_admin(pool, member);

	if (admin != POOL_ACTIVE)
		return show_admin(admin);
	return pool_member_health(pool, member) == POOL_HEALTHY ? "up" : "down";
}

static void print_table(const struct pool *pool, const struct conf_pool *conf)
{
	uint32_t size = pool_table_size(pool);
	uint64_t total = 0;

	for (size_t i = 0; i < conf->backend_count; i++)
		total += pool_member_usable(pool, i) ? conf->backends[i].weight : 0;
	printf("pool %s, %u slots%s\n\n", pool_name(pool), size, total ? "" : ", nobody can serve");
	printf("%-24s %-5s %8s %8s %8s %8s\n", "BACKEND", "STATE", "WEIGHT", "SLOTS", "SHARE",
	       "IDEAL");
	for (size_t i = 0; i < conf->backend_count; i++) {
		uint32_t weight = conf->backends[i].weight;
		uint32_t slots = pool_member_slots(pool, i);
		double ideal = total && pool_member_usable(pool, i) ? 100.0 * weight / total : 0;

		printf("%-24s %-5s %8u %8u %7.3f%% %7.3f%%\n", pool_member_name(pool, i),
		       state_text(pool, i), weight, slots, 100.0 * slots / size, ideal);
	}
}

static int show(const struct options *options, const struct conf *conf,
		const struct conf_pool *wanted)
{
	struct pool *pool;
	uint64_t *slots;
	int status = EXIT_NO, error;

	error = assemble_pool(conf, wanted, NULL, POOL_HEALTHY, &pool);
	if (error)
		return command_fail("table", "pool %s: %s", wanted->name, strerror(-error));
	slots = calloc(pool_table_size(pool), sizeof(*slots));
	if (!slots) {
		status = command_fail("table", "out of memory");
	} else if (!set_each(pool, options->down, set_down) &&
		   !set_each(pool, options->drain, set_drain) &&
		   !set_each(pool, options->maint, set_maint)) {
		pool_write_slots(pool, slots, 0);
		status = EXIT_OK;
		if (options->json)
			status = print_json(pool);
		else
			print_table(pool, wanted);
	}
	free(slots);
	pool_free(pool);
	return status;
}

int command_table(int argc, char **argv)
{
	struct options options = {0};
	const struct conf_pool *pool;
	struct conf *conf;
	bool done;
	int status = parse_options(argc, argv, &options, &done);

	if (done)
		return status;
	conf = command_load_conf("table", options.config);
	if (!conf)
		return EXIT_NO;
	pool = find_pool(conf, options.pool);
	status = pool ? show(&options, conf, pool) : EXIT_NO;
	conf_free(conf);
	return status;
}
