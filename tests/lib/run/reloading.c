/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/run/reloading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#include <errno.h>
#include <string.h>

struct reloading reloading;

static int (*set_prefix)(void *, const struct abi_prefix *, uint32_t);

static void count_record(void *arg, uint32_t record)
{
	(void)arg;
	assert_int_not_equal(record, 0);
	reloading.fresh++;
}

static int set_or_fail(void *prefixes, const struct abi_prefix *prefix, uint32_t value)
{
	if (value && reloading.inserts_left == 0)
		return -ENOMEM;
	if (value && reloading.inserts_left > 0)
		reloading.inserts_left--;
	return set_prefix(prefixes, prefix, value);
}

static struct balancer_start start_now(void)
{
	reloading.fresh = 0;
	return (struct balancer_start){
		.health = POOL_UNKNOWN,
		.unchecked = POOL_UNKNOWN,
		.now_ms = reloading.now_ms,
		.new_backend = count_record,
		.new_service = count_record,
	};
}

static struct conf *parse(const char *text)
{
	struct err_list errors = {0};
	struct conf *ret;

	if (conf_parse(text, strlen(text), &ret, &errors))
		fail_msg("line %d: %s", errors.errors[0].line, errors.errors[0].text);
	return ret;
}

void reloading_all_well(void)
{
	for (size_t p = 0; p < reloading.conf->pool_count; p++) {
		for (size_t m = 0; m < reloading.conf->pools[p].backend_count; m++) {
			if (pool_member_health(balancer_pool(reloading.balancer, p), m) ==
			    POOL_UNKNOWN)
				balancer_set_health(reloading.balancer, p, m, POOL_HEALTHY,
						    reloading.now_ms);
		}
	}
	balancer_settle(reloading.balancer, reloading.now_ms);
}

static void start(const char *text)
{
	struct balancer_start now = start_now();
	struct err err;

	reloading.conf = parse(text);
	if (balancer_new(reloading.conf, reloading.tables, &now, &reloading.balancer, &err))
		fail_msg("%s", err.text);
}

void reloading_begin(const char *text)
{
	start(text);
	reloading_all_well();
}

void reloading_restart(const char *text)
{
	balancer_free(reloading.balancer);
	conf_free(reloading.conf);
	start(text);
}

int reloading_try(const char *text, struct err *err)
{
	struct balancer_start now = start_now();
	struct conf *other = parse(text);
	struct balancer *next;
	struct built built = {0};
	int ret;

	if (!reloading.builds_late)
		built_make(other, reloading.conf, now.now_ms, &built);
	now.built = &built;
	ret = balancer_prepare(other, reloading.balancer, &now, &next, err);
	built_free(&built);
	if (ret) {
		conf_free(other);
		return ret;
	}
	balancer_commit(next);
	conf_free(reloading.conf);
	reloading.conf = other;
	reloading.balancer = next;
	return 0;
}

void reloading_reload(const char *text)
{
	struct err err;

	if (reloading_try(text, &err))
		fail_msg("%s", err.text);
}

int reloading_set_up(void **state)
{
	(void)state;
	if (native_new(16 * 1024, &reloading.native))
		return -1;
	reloading.tables = native_tables(reloading.native);
	reloading.tables->node->vip_secret = 7;
	set_prefix = reloading.tables->set_prefix;
	reloading.tables->set_prefix = set_or_fail;
	reloading.inserts_left = -1;
	reloading.builds_late = false;
	reloading.now_ms = 100 * 1000;
	return 0;
}

int reloading_tear_down(void **state)
{
	(void)state;
	balancer_free(reloading.balancer);
	conf_free(reloading.conf);
	reloading.balancer = NULL;
	reloading.conf = NULL;
	native_free(reloading.native);
	return 0;
}
