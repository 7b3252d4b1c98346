/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What operators ask of a node, as requests over its tables: what is refused whole, what holds
 * when it is answered, what is kept. The tables are the native engine's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "engine/native.h"
#include "tests/lib/conf_expect.h"
#include "weir/node/requests.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char file[] = NODE
	"pools:\n"
	"- name: web\n"
	"  table_size: 251\n"
	"  drain_limit: 9s\n"
	"  backends:\n"
	"  - {name: b1, address: 10.0.1.1}\n"
	"  - {name: b2, address: 10.0.1.2}\n"
	"  - {name: b3, address: 10.0.1.3, state: drain}\n"
	"- {name: dns, table_size: 251, check: {type: none}, backends: [{name: b1, address: "
	"10.0.2.1}]}\n"
	"services:\n"
	"- {name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web}\n"
	"- {name: dns, vips: [192.0.2.1], listen: [udp/53], pool: dns}\n";

static struct native *native;
static struct app app;
static char directory[] = "/tmp/weir-requests-XXXXXX";

static void ignore_record(void *arg, uint32_t record)
{
	(void)arg;
	(void)record;
}

/* As a start of the daemon, over what is kept. */
static void begin(void)
{
	const struct balancer_start start = {
		.health = POOL_HEALTHY,
		.unchecked = POOL_HEALTHY,
		.now_ms = time_now_ms(),
		.new_backend = ignore_record,
		.new_service = ignore_record,
		.prepare = requests_prepare,
		.arg = &app,
	};
	struct err err;

	assert_int_equal(store_load(app.store, &app.overrides, &err), 0);
	assert_int_equal(balancer_new(app.conf, native_tables(native), &start, &app.balancer, &err),
			 0);
}

static void end(void)
{
	balancer_free(app.balancer);
	overrides_fini(&app.overrides);
}

static int open_world(void **state)
{
	(void)state;
	if (!mkdtemp(directory) || native_new(ABI_FLOWS_MIN, &native) ||
	    uv_loop_init(&app.daemon.loop))
		return -1;
	native_tables(native)->node->vip_secret = 7;
	uv_timer_init(&app.daemon.loop, &app.settle);
	uv_timer_init(&app.daemon.loop, &app.deadline);
	uv_timer_init(&app.daemon.loop, &app.survey);
	app.settle.data = app.deadline.data = app.survey.data = &app;
	snprintf(app.store, sizeof(app.store), "%s/n.overrides.json", directory);
	app.conf = conf_expect_right(file);
	begin();
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	end();
	uv_close((uv_handle_t *)&app.settle, NULL);
	uv_close((uv_handle_t *)&app.deadline, NULL);
	uv_close((uv_handle_t *)&app.survey, NULL);
	uv_run(&app.daemon.loop, UV_RUN_DEFAULT);
	native_free(native);
	conf_free((struct conf *)app.conf);
	return uv_loop_close(&app.daemon.loop) || rmdir(directory);
}

/* The answer, which the caller releases. */
static json_t *ask(const char *text)
{
	static const struct daemon_op *const tables[] = {requests_ops, NULL};
	json_error_t error;
	json_t *json = json_loads(text, 0, &error), *answer;
	struct daemon_request request = {.json = json};
	const struct daemon_op *op;

	assert_non_null(json);
	request.op = json_string_value(json_object_get(json, "op"));
	op = daemon_op_find(tables, request.op);
	assert_non_null(op);
	answer = op->answer(&app, &request);
	json_decref(json);
	assert_non_null(answer);
	return answer;
}

static const char *string(const json_t *answer, const char *key)
{
	return json_string_value(json_object_get(answer, key));
}

static json_int_t number(const json_t *answer, const char *key)
{
	return json_integer_value(json_object_get(answer, key));
}

static uint32_t flags(size_t pool, size_t member)
{
	const struct dp_tables *tables = native_tables(native);

	return tables->backends[balancer_backend_record(app.balancer, pool, member)].flags;
}

/* In the words that packets read. */
static unsigned slots_of(size_t pool, size_t member)
{
	const uint64_t *slots =
		native_tables(native)->slots + balancer_first_slot(app.balancer, pool);
	unsigned count = 0;

	for (unsigned i = 0; i < pool_table_size(balancer_pool(app.balancer, pool)); i++)
		count += abi_slot_current(slots[i]) ==
			 balancer_backend_record(app.balancer, pool, member);
	return count;
}

static bool is_kept(void)
{
	return access(app.store, F_OK) == 0;
}

static void test_refused(void **state)
{
	static const struct {
		const char *request, *error;
	} cases[] = {
		{"{\"op\": \"drain\"}", "expected a backend's name and nothing else"},
		{"{\"op\": \"drain\", \"backend\": 1}", "expected a backend's name"},
		{"{\"op\": \"drain\", \"backend\": \"b2\", \"for\": 1}",
		 "expected a backend's name and nothing else"},
		{"{\"op\": \"maint\", \"backend\": \"b1\"}",
		 "in several pools; name one: web/b1, "},
		{"{\"op\": \"ready\", \"backend\": \"b9\"}", "there is no backend b9; near is: "},
		{"{\"op\": \"ready\", \"backend\": \"\"}", "a backend is written as"},
		{"{\"op\": \"weight\", \"backend\": \"b2\"}", "expected a backend's name and a "},
		{"{\"op\": \"weight\", \"backend\": \"b2\", \"percent\": \"10\"}", "a percentage"},
		{"{\"op\": \"weight\", \"backend\": \"b2\", \"percent\": 1.5}", "a percentage"},
		{"{\"op\": \"weight\", \"backend\": \"b2\", \"percent\": -1}", "from 0 to 100"},
		{"{\"op\": \"weight\", \"backend\": \"b2\", \"percent\": 101}", "from 0 to 100"},
		{"{\"op\": \"weight\", \"backend\": \"b2\", \"percent\": 4294967297}",
		 "from 0 to 100"},
		{"{\"op\": \"clear\"}", "expected a backend's name, or all"},
		{"{\"op\": \"clear\", \"all\": false}", "expected a backend's name, or all"},
		{"{\"op\": \"clear\", \"all\": true, \"backend\": \"b2\"}", "or all"},
	};
	unsigned slots = slots_of(0, 1);

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		json_t *answer = ask(cases[i].request);

		if (!string(answer, "error") || !strstr(string(answer, "error"), cases[i].error))
			fail_msg("%s", cases[i].request);
		json_decref(answer);
	}
	assert_int_equal(app.overrides.count, 0);
	assert_int_equal(slots_of(0, 1), slots);
	assert_false(is_kept());
}

/* Packets meet it when it is answered, and after a new start. */
static void test_states(void **state)
{
	unsigned slots = slots_of(0, 1);
	json_t *answer;

	(void)state;
	assert_true(slots > 100);
	assert_int_equal(slots_of(0, 2), 0);
	answer = ask("{\"op\": \"drain\", \"backend\": \"b2\"}");
	assert_string_equal(string(answer, "state"), "drain");
	assert_string_equal(string(answer, "file_state"), "active");
	assert_string_equal(string(answer, "not_kept"), "");
	assert_true(json_is_true(json_object_get(answer, "changed")));
	assert_int_equal(number(answer, "slots"), 0);
	assert_int_equal(number(answer, "usable"), 1);
	json_decref(answer);
	assert_int_equal(slots_of(0, 1), 0);
	assert_int_equal(flags(0, 1) & (ABI_BACKEND_UP | ABI_BACKEND_KEEP), ABI_BACKEND_KEEP);
	assert_true(is_kept());
	answer = ask("{\"op\": \"drain\", \"backend\": \"web/b2\"}");
	assert_false(json_is_true(json_object_get(answer, "changed")));
	json_decref(answer);
	end();
	begin();
	assert_int_equal(slots_of(0, 1), 0);
	assert_int_equal(pool_member_admin(balancer_pool(app.balancer, 0), 1), POOL_DRAIN);
	json_decref(ask("{\"op\": \"maint\", \"backend\": \"b2\"}"));
	assert_int_equal(flags(0, 1) & (ABI_BACKEND_UP | ABI_BACKEND_KEEP), 0);
	json_decref(ask("{\"op\": \"ready\", \"backend\": \"b2\"}"));
	assert_int_equal(slots_of(0, 1), slots);
	assert_false(is_kept());
}

/* What the file drains can be made ready too, which then is what is kept. */
static void test_against_file(void **state)
{
	json_t *answer;

	(void)state;
	answer = ask("{\"op\": \"ready\", \"backend\": \"b3\"}");
	assert_string_equal(string(answer, "state"), "active");
	assert_string_equal(string(answer, "file_state"), "drain");
	assert_true(json_is_null(json_object_get(answer, "drain_left_s")));
	json_decref(answer);
	assert_true(slots_of(0, 2) > 50);
	assert_true(is_kept());
	answer = ask("{\"op\": \"clear\", \"backend\": \"b3\"}");
	assert_string_equal(string(answer, "state"), "drain");
	assert_true(json_is_null(json_object_get(answer, "override")));
	assert_true(json_is_real(json_object_get(answer, "drain_left_s")));
	json_decref(answer);
	assert_int_equal(slots_of(0, 2), 0);
	/* When it began is kept; for that there is no override to be cleared. */
	assert_true(is_kept());
	answer = ask("{\"op\": \"clear\", \"all\": true}");
	assert_int_equal(number(answer, "cleared"), 0);
	json_decref(answer);
	overrides_remove(&app.overrides, &app.overrides.list[0]);
	assert_int_equal(unlink(app.store), 0);
}

static void test_weight(void **state)
{
	unsigned slots = slots_of(0, 1), tenth;
	json_t *answer;

	(void)state;
	answer = ask("{\"op\": \"weight\", \"backend\": \"b2\", \"percent\": 10}");
	assert_int_equal(number(answer, "percent"), 10);
	assert_int_equal(number(json_object_get(answer, "override"), "percent"), 10);
	json_decref(answer);
	tenth = slots_of(0, 1);
	assert_in_range(tenth, slots / 20, slots / 5);
	end();
	begin();
	assert_int_equal(slots_of(0, 1), tenth);
	json_decref(ask("{\"op\": \"drain\", \"backend\": \"b2\"}"));
	json_decref(ask("{\"op\": \"ready\", \"backend\": \"b2\"}"));
	assert_int_equal(slots_of(0, 1), tenth);
	json_decref(ask("{\"op\": \"weight\", \"backend\": \"dns/b1\", \"percent\": 0}"));
	assert_int_equal(slots_of(1, 0), 0);
	answer = ask("{\"op\": \"clear\", \"all\": true}");
	assert_int_equal(number(answer, "cleared"), 2);
	json_decref(answer);
	assert_int_equal(slots_of(0, 1), slots);
	assert_int_equal(slots_of(1, 0), 251);
	assert_false(is_kept());
}

/* A drain's limit counts from when it began, whatever became of the daemon since. */
static void test_drain_limit(void **state)
{
	struct override *override;
	json_t *answer;
	struct err err;

	(void)state;
	json_decref(ask("{\"op\": \"drain\", \"backend\": \"b2\"}"));
	override = overrides_find(&app.overrides, "web", "b2");
	assert_non_null(override);
	override->drain_since_ms -= 10 * 1000;
	assert_int_equal(store_save(app.store, &app.overrides, &err), 0);
	end();
	begin();
	assert_int_equal(flags(0, 1) & (ABI_BACKEND_UP | ABI_BACKEND_KEEP), 0);
	answer = ask("{\"op\": \"drain\", \"backend\": \"b2\"}");
	assert_true(json_real_value(json_object_get(answer, "drain_left_s")) == 0.0);
	json_decref(answer);
	json_decref(ask("{\"op\": \"ready\", \"backend\": \"b2\"}"));
	assert_true(flags(0, 1) & ABI_BACKEND_UP);
}

/* The disk may fail; the operator's wish holds all the same, and he is told. */
static void test_not_kept(void **state)
{
	char path[sizeof(app.store)];
	json_t *answer;

	(void)state;
	strcpy(path, app.store);
	snprintf(app.store, sizeof(app.store), "/proc/weir/n.overrides.json");
	answer = ask("{\"op\": \"drain\", \"backend\": \"b2\"}");
	assert_non_null(strstr(string(answer, "not_kept"), "cannot write /proc/weir/n."));
	json_decref(answer);
	assert_int_equal(slots_of(0, 1), 0);
	/* The next time tries again, also where nothing changes. */
	strcpy(app.store, path);
	answer = ask("{\"op\": \"drain\", \"backend\": \"b2\"}");
	assert_string_equal(string(answer, "not_kept"), "");
	json_decref(answer);
	assert_true(is_kept());
	json_decref(ask("{\"op\": \"ready\", \"backend\": \"b2\"}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),      cmocka_unit_test(test_states),
		cmocka_unit_test(test_against_file), cmocka_unit_test(test_weight),
		cmocka_unit_test(test_drain_limit),  cmocka_unit_test(test_not_kept),
	};

	return cmocka_run_group_tests_name("requests", tests, open_world, close_world);
}
