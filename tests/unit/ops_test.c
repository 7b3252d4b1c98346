/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may ask a daemon for what: whatever is new has its place in this list too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "weir/daemon.h"
#include "weir/node/app.h"

enum { OPS_MAX = 64 };

/* What changes nothing, and tells no secret, is for whoever may use the socket. */
static const char *const reading[] = {"status",         "backend",       "events", "reload_result",
				      "restart_result", "configuration", "top",    "records"};
static const char *const changing[] = {
	"stop",        "leave",    "restart",    "reload",       "capture", "capture_begin",
	"capture_end", "drain",    "maint",      "ready",        "weight",  "clear",
	"withdraw",    "announce", "node-drain", "node-undrain",
};

static bool is_in(const char *const *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i], name) == 0)
			return true;
	}
	return false;
}

static size_t collect(const struct daemon_op **ret)
{
	size_t count = 0;

	for (const struct daemon_op *op = daemon_ops; op->name; op++)
		ret[count++] = op;
	for (const struct daemon_op *const *table = app_ops; *table; table++) {
		for (const struct daemon_op *op = *table; op->name; op++) {
			assert_in_range(count, 0, OPS_MAX - 1);
			ret[count++] = op;
		}
	}
	return count;
}

static void test_access(void **state)
{
	const struct daemon_op *ops[OPS_MAX];
	size_t count = collect(ops), reads = 0, changes = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		bool is_reading = is_in(reading, sizeof(reading) / sizeof(*reading), ops[i]->name);

		if (!is_reading &&
		    !is_in(changing, sizeof(changing) / sizeof(*changing), ops[i]->name))
			fail_msg("%s is in neither list here: may a stranger ask for it?",
				 ops[i]->name);
		if (is_reading != (ops[i]->access == DAEMON_READS))
			fail_msg("%s: the daemon says otherwise", ops[i]->name);
		assert_non_null(ops[i]->answer);
		reads += is_reading;
		changes += !is_reading;
	}
	assert_int_equal(reads, sizeof(reading) / sizeof(*reading));
	assert_int_equal(changes, sizeof(changing) / sizeof(*changing));
}

static void test_names(void **state)
{
	const struct daemon_op *ops[OPS_MAX];
	size_t count = collect(ops);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(ops[i]->name, ops[j]->name);
	}
	assert_string_equal(daemon_op_find(app_ops, "weight")->name, "weight");
	assert_null(daemon_op_find(app_ops, "reboot"));
	assert_null(daemon_op_find(app_ops, ""));
	assert_null(daemon_op_find(NULL, "weight"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
