// SPDX-License-Identifier: BSD-2-Clause
/*
 * The memory of the tables: known before it is taken, as much as the kernel then says, no more
 * than is promised, and refused in words where a cgroup has less.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dp/abi.h"
#include "engine/dp.h"

enum { MIB = 1024 * 1024, PROMISED = 64 * MIB, FLOW = 16, ALLOWED = 128 * MIB };

static struct dp *open_with(uint32_t flow_entries, struct err *err)
{
	const struct dp_options options = {.flow_entries = flow_entries, .features = ABI_HAS_ALL};
	struct dp *dp = NULL;

	return dp_open(&options, &dp, err) ? NULL : dp;
}

/* What the kernel says of all maps that this process holds. */
static size_t memory_of_maps(void)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	const struct dirent *entry;
	size_t all = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char path[300], line[128];
		size_t bytes = 0;
		bool is_map = false;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", entry->d_name);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file)) {
			sscanf(line, "memlock: %zu", &bytes);
			is_map |= strncmp(line, "map_type:", 9) == 0;
		}
		if (file)
			fclose(file);
		all += is_map ? bytes : 0;
	}
	closedir(dir);
	return all;
}

/* Before Linux 6.4 what it says is an estimate, in which keys have room that arrays have not. */
static bool is_estimate(void)
{
	enum { ENTRIES = 65536, VALUE = 8 };
	size_t before = memory_of_maps(), taken;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "estimate", 4, VALUE, ENTRIES, NULL);

	assert_true(fd >= 0);
	taken = memory_of_maps() - before;
	close(fd);
	return taken > ENTRIES * VALUE * 3 / 2;
}

static void test_known(void **state)
{
	struct err err;
	struct dp *dp = open_with(ABI_FLOWS_DEFAULT, &err);
	size_t said, taken = memory_of_maps();

	(void)state;
	assert_non_null(dp);
	said = dp_memory(dp);
	print_message("# %zu bytes are known, %zu taken\n", said, taken);
	assert_true(said <= PROMISED);
	assert_true(taken >= said);
	/* Maps have heads, and end with a page. */
	assert_true(is_estimate() || taken - said < MIB);
	dp_close(dp);
}

static void test_a_flow(void **state)
{
	struct err err;
	struct dp *less = open_with(ABI_FLOWS_DEFAULT, &err);
	struct dp *more = open_with(2 * ABI_FLOWS_DEFAULT, &err);

	(void)state;
	assert_non_null(less);
	assert_non_null(more);
	assert_int_equal(dp_memory(more) - dp_memory(less), FLOW * ABI_FLOWS_DEFAULT);
	dp_close(less);
	dp_close(more);
}

/* --- a cgroup that has not got it --- */

static bool write_to(const char *dir, const char *name, const char *text)
{
	char path[256];
	bool good;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;
	good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return good;
}

/* Of either version. NULL: this machine lets nobody make one. */
static const char *make_cgroup(char dir[128])
{
	static const struct {
		const char *root, *limit;
	} kinds[] = {{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
		     {"/sys/fs/cgroup", "memory.max"}};
	char text[32];

	snprintf(text, sizeof(text), "%d", ALLOWED);
	for (size_t i = 0; i < 2; i++) {
		snprintf(dir, 128, "%s/weir-memory-%d", kinds[i].root, (int)getpid());
		if (mkdir(dir, 0755))
			continue;
		if (write_to(dir, kinds[i].limit, text))
			return dir;
		rmdir(dir);
	}
	return NULL;
}

/* In the cgroup: 0 if it is as it is to be. */
static int try_inside(const char *dir)
{
	struct err err = {0};
	struct dp *dp;

	if (!write_to(dir, "cgroup.procs", "0"))
		return 2;
	dp = open_with(ABI_FLOWS_MAX, &err);
	printf("# %s\n", err.text);
	fflush(stdout);
	if (dp || !strstr(err.text, "MiB of the kernel's memory, which cannot be had") ||
	    !strstr(err.text, "1024 MiB are for 67108864 flows (node.flows.entries)"))
		return 1;
	/* What fits is to be had all the same. */
	dp = open_with(ABI_FLOWS_DEFAULT, &err);
	if (!dp)
		printf("# %s\n", err.text);
	return dp ? 0 : 3;
}

static void test_refused(void **state)
{
	char dir[128];
	int status;
	pid_t child;

	(void)state;
	if (!make_cgroup(dir)) {
		print_message("no cgroup with a limit can be made here\n");
		skip();
	}
	child = fork();
	if (child == 0)
		_exit(try_inside(dir));
	waitpid(child, &status, 0);
	/* It stays busy until the last page of the maps is given back. */
	for (int i = 0; i < 500 && rmdir(dir) && errno == EBUSY; i++)
		usleep(10000);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_a_flow),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
