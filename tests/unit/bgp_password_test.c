/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a session's password is in memory: nowhere that a core file has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "bgp_sides.h"

enum { LENGTH = 40, CHUNK = 1 << 16 };

/* Never as a whole but where it is made: else the search would find its own words. */
static char letter(int i)
{
	return (char)('A' + (i * 11 + 5) % 26);
}

static void make_password(char text[LENGTH + 1])
{
	for (int i = 0; i < LENGTH; i++)
		text[i] = letter(i);
	text[LENGTH] = '\0';
}

static bool has_it(const char *bytes, size_t length)
{
	for (size_t at = 0; at + LENGTH <= length; at++) {
		int same = 0;

		while (same < LENGTH && bytes[at + (size_t)same] == letter(same))
			same++;
		if (same == LENGTH)
			return true;
	}
	return false;
}

struct region {
	unsigned long begin, end;
	unsigned long resident_kib;
	bool readable, dumped;
};

/* Chunks overlap, so that it is found across two. What is not there cannot be read. */
static bool region_has_it(int mem, const struct region *region)
{
	static char chunk[CHUNK];
	bool found = false;

	for (unsigned long at = region->begin; at < region->end && !found; at += CHUNK - LENGTH) {
		ssize_t got = pread(mem, chunk, CHUNK, (off_t)at);

		found = got > 0 && has_it(chunk, (size_t)got);
		explicit_bzero(chunk, sizeof(chunk));
	}
	return found;
}

/* How many regions that a core file would have hold it. */
static unsigned count_dumped(void)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	struct region region = {0};
	unsigned long begin, end;
	unsigned found = 0;
	char line[512], mode[5];

	assert_non_null(maps);
	assert_true(mem >= 0);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %4s", &begin, &end, mode) == 3)
			region = (struct region){begin, end, .readable = mode[0] == 'r'};
		sscanf(line, "Rss: %lu", &region.resident_kib);
		/* The last line of each. */
		if (strncmp(line, "VmFlags:", 8) != 0)
			continue;
		region.dumped = !strstr(line, " dd");
		if (region.readable && region.dumped && region.resident_kib)
			found += region_has_it(mem, &region);
	}
	fclose(maps);
	close(mem);
	return found;
}

static void test_password_is_not_dumped(void **state)
{
	struct bgp_spec spec = spec_of(1);
	struct bgp_peer_spec peer = peer_of(1, 2);
	char text[LENGTH + 1];

	(void)state;
	make_password(text);
	assert_int_equal(count_dumped(), 1); /* here */
	peer.password = text;
	open_side(&a, &spec);
	add_peer(&a, &peer);
	/* It has tried to connect by then, with the key. */
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_true(bgp_peer_has_password(a.peer, text));
	explicit_bzero(text, sizeof(text));
	assert_int_equal(count_dumped(), 0);
	close_side(&a);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(count_dumped(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_password_is_not_dumped, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, open_world, NULL);
}
