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
	const char *share;                /* of names with percents */
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
	"  --share NAME=PERCENT,...  as `weir weight` would set them, 0 to 100\n"
	"  -j, --json       {\"size\": slots, \"slots\": [\"backend\" or null, ...]}\n"
	"  --help           this text\n";

static int set_once(const char **field, const char *option)
{
	return command_set_once(field, "table", option, optarg);
}

/* 0, or the exit status to end with, and *done says so. */
static int parse_options(int argc, char **argv, struct options *options, bool *done)
{
	enum { CONFIG = 256, POOL, DOWN, DRAIN, MAINT, SHARE };
	static const struct option longs[] = {
		{"config", required_argument, NULL, CONFIG},
		{"pool", required_argument, NULL, POOL},
		{"down", required_argument, NULL, DOWN},
		{"drain", required_argument, NULL, DRAIN},
		{"maint", required_argument, NULL, MAINT},
		{"share", required_argument, NULL, SHARE},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option, wrong = 0;

	*done = true;
	while (!wrong && (option = command_option(argc, argv, ":jh", longs)) != -1) {
		switch (option) {
		case CONFIG: wrong = set_once(&options->config, "config"); break;
		case POOL: wrong = set_once(&options->pool, "pool"); break;
		case DOWN: wrong = set_once(&options->down, "down"); break;
		case DRAIN: wrong = set_once(&options->drain, "drain"); break;
		case MAINT: wrong = set_once(&options->maint, "maint"); break;
		case SHARE: wrong = set_once(&options->share, "share"); break;
		case 'j': options->json = true; break;
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

/* The same with a list of NAME=PERCENT. */
static int set_shares(struct pool *pool, const char *list)
{
	while (list) {
		size_t length = strcspn(list, ","), name = strcspn(list, ",="), member;
		unsigned percent = 0, digits = 0;

		if (find_member(pool, list, name, &member))
			return -1;
		for (size_t i = name + 1; i < length && digits <= 3; i++, digits++)
			percent = list[i] >= '0' && list[i] <= '9'
					  ? percent * 10 + (unsigned)(list[i] - '0')
					  : UINT16_MAX;
		if (!digits || digits > 3 || percent > 100) {
			fprintf(stderr, "weir table: \"%.*s\": a share is NAME=PERCENT, 0 to 100\n",
				(int)length, list);
			return -1;
		}
		pool_set_share(pool, member, percent, 0);
		list = list[length] ? list + length + 1 : NULL;
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

static struct show_label state_text(const struct pool *pool, size_t member, bool backup)
{
	enum pool_admin admin = pool_member_admin(pool, member);
	unsigned share = pool_member_share(pool, member);
	struct show_label ret;

	if (admin != POOL_ACTIVE)
		snprintf(ret.text, sizeof(ret.text), "%s", show_admin(admin));
	else if (pool_member_health(pool, member) != POOL_HEALTHY)
		snprintf(ret.text, sizeof(ret.text), "down");
	else if (share == 0 && backup)
		snprintf(ret.text, sizeof(ret.text), "backup");
	else if (share < 100)
		snprintf(ret.text, sizeof(ret.text), "%u%%", share);
	else
		snprintf(ret.text, sizeof(ret.text), "up");
	return ret;
}

/*
 * What a member would serve of all slots, 0 to 1, if what each one lends went to the others exactly
 * in proportion to what they have; a ring is as one of smaller weights.
 */
static double ideal_share(const struct pool *pool, const struct conf_pool *conf, size_t member)
{
	double weights = 0, all = 0, more = 1, own;

	for (size_t i = 0; i < conf->backend_count; i++) {
		weights += conf->backends[i].weight;
		all += conf->backends[i].weight * pool_member_share(pool, i) / 100.0;
	}
	own = conf->backends[member].weight * pool_member_share(pool, member) / 100.0;
	if (own >= all || conf->hash == CONF_HASH_RING)
		return all > 0 ? own / all : 0;
	for (size_t i = 0; i < conf->backend_count; i++) {
		double weight = conf->backends[i].weight;
		double has = weight * pool_member_share(pool, i) / 100.0;

		if (i != member && has < all)
			more += (weight - has) / (all - has);
	}
	return own * more / weights;
}

static void print_table(const struct pool *pool, const struct conf_pool *conf)
{
	uint32_t size = pool_table_size(pool);
	uint32_t served = 0;

	for (size_t i = 0; i < conf->backend_count; i++)
		served += pool_member_slots(pool, i);
	printf("pool %s, %u slots%s\n\n", pool_name(pool), size,
	       served ? "" : ", nobody can serve");
	printf("%-24s %-6s %8s %8s %8s %8s\n", "BACKEND", "STATE", "WEIGHT", "SLOTS", "SHARE",
	       "IDEAL");
	for (size_t i = 0; i < conf->backend_count; i++) {
		const struct conf_backend *backend = &conf->backends[i];
		uint32_t slots = pool_member_slots(pool, i);

		printf("%-24s %-6s %8u %8u %7.3f%% %7.3f%%\n", pool_member_name(pool, i),
		       state_text(pool, i, backend->backup).text, backend->weight, slots,
		       100.0 * slots / size, 100 * ideal_share(pool, conf, i));
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
		   !set_each(pool, options->maint, set_maint) &&
		   !set_shares(pool, options->share)) {
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
