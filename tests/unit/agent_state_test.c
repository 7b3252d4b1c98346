/* SPDX-License-Identifier: BSD-2-Clause */
/* weir/agent/state.h: what is written comes back, and what nobody wrote is not believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/agent/state.h"

static char directory[] = "/tmp/weir-agent-state-XXXXXX";
static char path[64];

static struct prefix parse(const char *text)
{
	struct prefix prefix;

	assert_int_equal(prefix_parse(text, &prefix), 0);
	return prefix;
}

static void write_text(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* A written file as text, and the text with one part replaced. */
static void replace_in_file(const char *old, const char *new)
{
	char text[8192] = "", changed[8192];
	FILE *file = fopen(path, "r");
	char *at;

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	at = strstr(text, old);
	if (!at)
		fail_msg("\"%s\" is not in the file", old);
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, new,
		 at + strlen(old));
	write_text(changed);
}

static void fill(struct agent_state *state)
{
	const struct agent_setting setting = {"net/ipv4/conf/eth0.7/rp_filter", 1, 2};
	const struct agent_interface interfaces[] = {{"eth0", true}, {"eth0.7", false}};
	struct prefix vips[] = {parse("198.51.100.10"), parse("2001:db8:10::10"),
				parse("198.51.100.64/26")};

	for (size_t i = 0; i < 3; i++)
		assert_int_equal(agent_state_add_vip(state, &vips[i]), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(agent_state_add_interface(state, &interfaces[i]), 0);
	}
	assert_int_equal(agent_state_add_setting(state, &setting), 0);
}

static void write_filled(void)
{
	struct agent_state state = {0};
	struct err err;

	fill(&state);
	assert_int_equal(agent_state_write(path, &state, &err), 0);
	agent_state_fini(&state);
}

static void test_round_trip(void **state)
{
	struct prefix vip = parse("2001:db8:10::10"), other = parse("2001:db8:10::11");
	struct prefix range = parse("198.51.100.64/26"), longer = parse("198.51.100.64/27");
	struct agent_state read = {0};
	struct err err;

	(void)state;
	write_filled();
	assert_int_equal(agent_state_read(path, &read, &err), 0);
	assert_int_equal(read.vip_count, 3);
	assert_non_null(agent_state_vip(&read, &vip));
	assert_null(agent_state_vip(&read, &other));
	assert_non_null(agent_state_vip(&read, &range));
	assert_null(agent_state_vip(&read, &longer));
	assert_int_equal(read.setting_count, 1);
	assert_string_equal(read.settings[0].name, "net/ipv4/conf/eth0.7/rp_filter");
	assert_int_equal(read.settings[0].before, 1);
	assert_int_equal(read.settings[0].ours, 2);
	assert_int_equal(read.interface_count, 2);
	assert_true(agent_state_interface(&read, "eth0")->made_clsact);
	assert_false(agent_state_interface(&read, "eth0.7")->made_clsact);
	agent_state_fini(&read);
}

/* The first word on what was before is the one to go back to. */
static void test_first_word_holds(void **state)
{
	const struct agent_setting later = {"net/ipv4/conf/eth0.7/rp_filter", 2, 2};
	const struct agent_interface found = {"eth0", false};
	struct agent_state list = {0};
	struct prefix vip = parse("198.51.100.10");

	(void)state;
	fill(&list);
	assert_int_equal(agent_state_add_setting(&list, &later), 0);
	assert_int_equal(agent_state_add_interface(&list, &found), 0);
	assert_int_equal(agent_state_add_vip(&list, &vip), 0);
	assert_int_equal(list.setting_count, 1);
	assert_int_equal(list.settings[0].before, 1);
	assert_int_equal(list.interface_count, 2);
	assert_true(agent_state_interface(&list, "eth0")->made_clsact);
	assert_int_equal(list.vip_count, 3);
	agent_state_drop_vip(&list, 0);
	assert_int_equal(list.vip_count, 2);
	assert_null(agent_state_vip(&list, &vip));
	agent_state_drop_interface(&list, 1);
	assert_null(agent_state_interface(&list, "eth0.7"));
	assert_non_null(agent_state_interface(&list, "eth0"));
	agent_state_fini(&list);
}

static void assert_reads_empty(void)
{
	struct agent_state read = {0};
	struct err err;

	assert_int_equal(agent_state_read(path, &read, &err), 0);
	assert_int_equal(read.vip_count + read.setting_count + read.interface_count, 0);
	agent_state_fini(&read);
}

static void test_no_file(void **state)
{
	(void)state;
	unlink(path);
	assert_reads_empty();
}

/* After a reboot nothing of it is there any more, and in another namespace never was. */
static void test_counts_only_where_it_was_written(void **state)
{
	(void)state;
	write_filled();
	replace_in_file("\"boot\": \"", "\"boot\": \"0");
	assert_reads_empty();
	write_filled();
	replace_in_file("\"version\": 1", "\"version\": 2");
	assert_reads_empty();
	write_filled();
	if (geteuid() != 0)
		return;
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_reads_empty();
}

static void test_refusals(void **state)
{
	static const struct {
		const char *old, *new;
	} cases[] = {
		{"198.51.100.10", "198.51.100.256"},
		{"\"198.51.100.10\"", "7"},
		{"198.51.100.64/26", "198.51.100.64/25"},
		{"net/ipv4/conf/", "kernel/"},
		{"net/ipv4/conf/eth0.7/", "net/ipv4/conf/../../../"},
		{"\"before\": 1", "\"before\": \"1\""},
		{"\"ours\": 2", "\"mine\": 2"},
		{"\"eth0\"", "\"an-interface-too-long\""},
		{"\"name\": \"eth0\",", ""},
		{"\"addresses\": [", "\"addresses\": 1, \"others\": ["},
		{"{", ""},
		{"\"settings\"", "settings"},
	};
	struct agent_state read = {0};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_filled();
		replace_in_file(cases[i].old, cases[i].new);
		err.text[0] = '\0';
		if (agent_state_read(path, &read, &err) != -EINVAL)
			fail_msg("%s in place of %s is believed", cases[i].new, cases[i].old);
		assert_non_null(strstr(err.text, path));
		assert_int_equal(read.vip_count, 0);
	}
	write_text("");
	assert_int_equal(agent_state_read(path, &read, &err), -EINVAL);
}

static void test_write_fails_whole(void **state)
{
	struct agent_state empty = {0};
	struct err err;

	(void)state;
	assert_int_not_equal(agent_state_write("/nonexistent/state.json", &empty, &err), 0);
	assert_non_null(strstr(err.text, "/nonexistent/state.json"));
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/state.json", directory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_first_word_holds),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_write_fails_whole),
		cmocka_unit_test(test_counts_only_where_it_was_written),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
