/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that is followed: every way in which it becomes another one is told of, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "weir/source/follow.h"

enum { WAIT_MS = 10000, QUIET_MS = 200 };

static uv_loop_t loop;
static uv_timer_t timer;
static struct follow *follow;
static char dir[64], path[128];
static unsigned told, wanted;

static void on_changed(void *arg)
{
	(void)arg;
	if (++told == wanted)
		uv_stop(&loop);
}

static void on_timer(uv_timer_t *unused)
{
	(void)unused;
	uv_stop(&loop);
}

static void run(unsigned ms)
{
	uv_timer_start(&timer, on_timer, ms, 0);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_timer_stop(&timer);
}

/* Told once more, and then no more. */
static void expect_change(const char *what)
{
	wanted = told + 1;
	run(WAIT_MS);
	if (told != wanted)
		fail_msg("not told of: %s", what);
	run(QUIET_MS);
	if (told != wanted)
		fail_msg("told twice of: %s", what);
	assert_true(follow_is_current(follow));
}

static void expect_nothing(void)
{
	wanted = told + 1;
	run(QUIET_MS);
	assert_int_equal(told, wanted - 1);
}

static const char *in_dir(const char *name)
{
	static char texts[4][128];
	static unsigned next;
	char *text = texts[next++ % 4];

	snprintf(text, sizeof(texts[0]), "%s/%s", dir, name);
	return text;
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(in_dir(name), "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void must(int ret)
{
	assert_int_equal(ret, 0);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/weir-follow-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/file", dir);
	uv_loop_init(&loop);
	uv_timer_init(&loop, &timer);
	told = 0;
	return 0;
}

static void begin(void)
{
	must(follow_open(&loop, path, on_changed, NULL, &follow));
	expect_change("the beginning");
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	follow_close(follow);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	must(uv_loop_close(&loop));
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static void test_written(void **state)
{
	(void)state;
	write_file("file", "one\n");
	begin();
	write_file("file", "two\n");
	expect_change("written over");
	write_file("other", "nothing\n");
	expect_nothing();
	write_file("next", "three\n");
	must(rename(in_dir("next"), in_dir("file")));
	expect_change("renamed");
	must(unlink(in_dir("file")));
	expect_change("gone");
	write_file("file", "four\n");
	expect_change("back");
}

/* Who writes slowly is waited for. */
static void test_slowly(void **state)
{
	int fd;

	(void)state;
	write_file("file", "one\n");
	begin();
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_true(fd >= 0);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(write(fd, "a\n", 2), 2);
		expect_nothing();
	}
	must(close(fd));
	expect_change("closed");
}

/* As a mounted set of files is changed: the path leads through a link that is swapped. */
static void test_links(void **state)
{
	(void)state;
	must(mkdir(in_dir("v1"), 0755));
	must(mkdir(in_dir("v2"), 0755));
	write_file("v1/file", "one\n");
	write_file("v2/file", "two\n");
	must(symlink("v1", in_dir("data")));
	must(symlink("data/file", in_dir("file")));
	begin();
	must(symlink("v2", in_dir("data_next")));
	must(rename(in_dir("data_next"), in_dir("data")));
	expect_change("a link on the way");
	write_file("v2/file", "three\n");
	expect_change("behind the new link");
	write_file("v1/file", "four\n");
	expect_nothing();
	must(unlink(in_dir("file")));
	must(symlink("v1/file", in_dir("file")));
	expect_change("the last link");
}

/* A path of which nothing is there yet. */
static void test_missing(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s/a/b/file", dir);
	begin();
	must(mkdir(in_dir("a"), 0755));
	must(mkdir(in_dir("a/b"), 0755));
	write_file("a/b/file", "one\n");
	wanted = told + 1;
	run(WAIT_MS);
	assert_true(told >= wanted);
	assert_true(follow_is_current(follow));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_slowly, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_links, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_missing, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("follow", tests, NULL, NULL);
}
