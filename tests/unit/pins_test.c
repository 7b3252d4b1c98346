/* SPDX-License-Identifier: BSD-2-Clause */
/* Where things are pinned: paths, and the directory that is made for them on bpffs, or nowhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/links.h"

static void test_path(void **state)
{
	char path[PINS_PATH_MAX], dir[PINS_PATH_MAX];

	(void)state;
	assert_int_equal(pins_path(path, "/sys/fs/bpf/a.b", "link-eth0.1", NULL), 0);
	assert_string_equal(path, "/sys/fs/bpf/a.b/link-eth0:1");
	memset(dir, 'd', sizeof(dir) - 1);
	dir[sizeof(dir) - 1] = '\0';
	assert_int_equal(pins_path(path, dir, "x", NULL), -ENAMETOOLONG);
}

static void test_only_on_bpffs(void **state)
{
	char root[] = "/tmp/weir-pins-XXXXXX", dir[64], long_dir[PINS_PATH_MAX + 1];
	struct links links;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(dir, sizeof(dir), "%s/node", root);
	assert_int_equal(links_init(&links, dir, &err), -EINVAL);
	assert_non_null(strstr(err.text, "is not on a bpf file system"));
	assert_int_equal(rmdir(root), 0); /* empty: nothing was made in it */
	memset(long_dir, 'd', sizeof(long_dir) - 1);
	long_dir[sizeof(long_dir) - 1] = '\0';
	assert_int_equal(links_init(&links, long_dir, &err), -ENAMETOOLONG);
}

static void test_made_and_removed(void **state)
{
	char dir[64];
	struct links links;
	struct err err;

	(void)state;
	if (geteuid() != 0) {
		print_message("bpffs needs root\n");
		skip();
	}
	snprintf(dir, sizeof(dir), "/sys/fs/bpf/weir-pins-%d/node", (int)getpid());
	if (links_init(&links, dir, &err))
		fail_msg("%s", err.text);
	assert_int_equal(access(dir, F_OK), 0);
	links_teardown(&links);
	assert_int_equal(access(dir, F_OK), -1);
	*strrchr(dir, '/') = '\0';
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_only_on_bpffs),
		cmocka_unit_test(test_made_and_removed),
	};

	return cmocka_run_group_tests_name("pins", tests, NULL, NULL);
}
