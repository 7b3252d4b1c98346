/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `weir table --json` against tables by the tests' own hand (tests/lib/twin), seed and identities
 * included: whose each slot is with backends down, draining, of smaller shares and as backups, in
 * any order of the file; and that no slot moves but those of whom the options name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../lib/twin/slots.h"
#include "weir/command.h"

enum { BACKENDS_MAX = 40, SIZE_MAX_HERE = 16381, TEXT_MAX = 8192 };

struct backend {
	uint8_t address[4];
	uint32_t weight;
	bool backup;
	enum { FULL, DOWN, DRAIN, MAINT, PART } state;
	unsigned percent; /* of a PART */
};

static struct backend backends[BACKENDS_MAX];
static size_t order[BACKENDS_MAX]; /* in the file */
static size_t count;
static unsigned backup_below;
static char path[] = "/tmp/weir-table-XXXXXX";

static uint64_t draw(void)
{
	static uint64_t state = 11;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return ((state ^ state >> 29) * 0xff51afd7ed558ccdULL) >> 16;
}

static void add(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *text, const char *format, ...)
{
	size_t length = strlen(text);
	va_list args;

	va_start(args, format);
	length += (size_t)vsnprintf(text + length, TEXT_MAX - length, format, args);
	va_end(args);
	assert_true(length < TEXT_MAX);
}

static void write_file(uint32_t size)
{
	static char text[TEXT_MAX];
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	text[0] = '\0';
	add(text, "node: {name: n, interfaces: [eth0]}\nseed: table-test\npools:\n");
	add(text, "  - {name: web, table_size: %u, check: {port: 80}, backup_below: %u, ", size,
	    backup_below);
	add(text, "backends: [\n");
	for (size_t i = 0; i < count; i++) {
		const struct backend *it = &backends[order[i]];

		add(text, "    {name: b%zu, address: %u.%u.%u.%u, weight: %u, backup: %s},\n",
		    order[i], it->address[0], it->address[1], it->address[2], it->address[3],
		    it->weight, it->backup ? "true" : "false");
	}
	add(text,
	    "    ]}\nservices: [{name: s, vips: [192.0.2.1], listen: [tcp/80], pool: web}]\n");
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* What the command prints, as JSON. */
static json_t *run_table(char **argv, int argc)
{
	int out = dup(STDOUT_FILENO), to = memfd_create("table", 0), status;
	json_t *json;
	FILE *file;

	assert_true(out >= 0 && to >= 0);
	fflush(stdout);
	assert_true(dup2(to, STDOUT_FILENO) >= 0);
	optind = 0;
	status = command_table(argc, argv);
	fflush(stdout);
	assert_true(dup2(out, STDOUT_FILENO) >= 0);
	close(out);
	assert_int_equal(status, 0);
	file = fdopen(to, "r");
	assert_non_null(file);
	rewind(file);
	json = json_loadf(file, 0, NULL);
	fclose(file);
	assert_non_null(json);
	return json;
}

/* Appends an option with the names of those in this state, if there are any. */
static int name_them(char **argv, char *text, const char *option, unsigned state)
{
	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		if (backends[i].state != state)
			continue;
		add(text, "%sb%zu", text[0] ? "," : "", i);
		if (state == PART)
			add(text, "=%u", backends[i].percent);
	}
	if (!text[0])
		return 0;
	argv[0] = (char *)option;
	argv[1] = text;
	return 2;
}

static void ask(uint32_t size, uint32_t *owners)
{
	static char down[TEXT_MAX], drain[TEXT_MAX], maint[TEXT_MAX], share[TEXT_MAX];
	char *argv[16] = {"table", "--json", "--config", path};
	json_t *table, *slots;
	int argc = 4;

	argc += name_them(argv + argc, down, "--down", DOWN);
	argc += name_them(argv + argc, drain, "--drain", DRAIN);
	argc += name_them(argv + argc, maint, "--maint", MAINT);
	argc += name_them(argv + argc, share, "--share", PART);
	table = run_table(argv, argc);
	slots = json_object_get(table, "slots");
	assert_int_equal(json_integer_value(json_object_get(table, "size")), size);
	assert_int_equal(json_array_size(slots), size);
	for (uint32_t slot = 0; slot < size; slot++) {
		const char *name = json_string_value(json_array_get(slots, slot));

		owners[slot] = name ? (uint32_t)strtoul(name + 1, NULL, 10) : TWIN_NOBODY;
		assert_true(!name || (name[0] == 'b' && owners[slot] < count));
	}
	json_decref(table);
}

/* Of a backend by itself, and how many there are for backups to wait for. */
static uint8_t own_share(const struct backend *it)
{
	return it->state == FULL ? 100 : it->state == PART ? (uint8_t)it->percent : 0;
}

static unsigned count_others(void)
{
	unsigned others = 0;

	for (size_t i = 0; i < count; i++)
		others += !backends[i].backup && backends[i].weight > 0 &&
			  own_share(&backends[i]) > 0;
	return others;
}

/* Shares by the rules: who is put aside has none, backups wait for others that serve. */
static void expect(uint32_t size, uint32_t *owners, struct twin_member *twins)
{
	static uint32_t base[SIZE_MAX_HERE], others[SIZE_MAX_HERE];
	bool waits = count_others() >= backup_below;

	for (size_t i = 0; i < count; i++) {
		const struct backend *it = &backends[i];
		/* IPv4 as IPv6 has it, and no port of its own. */
		uint8_t bytes[18] = {[10] = 0xff, [11] = 0xff};

		memcpy(bytes + 12, it->address, 4);
		twins[i].identity = XXH64(bytes, sizeof(bytes), 0);
		twins[i].weight = it->weight;
		twins[i].share = it->backup && waits ? 0 : own_share(it);
	}
	twin_base(twins, count, XXH64("table-test", 10, 0), size, base);
	twin_serve(twins, base, size, owners, others);
}

static void draw_file(size_t how_many, uint32_t size)
{
	count = how_many;
	backup_below = 1;
	for (size_t i = 0; i < count; i++) {
		backends[i] = (struct backend){
			.address = {10, 1, (uint8_t)(draw() % 256), (uint8_t)i},
			.weight = draw() % 8 ? (uint32_t)(1 + draw() % 100) : 0,
			.backup = draw() % 3 == 0,
		};
		order[i] = i;
	}
	backends[0].weight = 10;
	write_file(size);
}

static void shuffle(uint32_t size)
{
	for (size_t i = count; i > 1; i--) {
		size_t other = draw() % i, kept = order[i - 1];

		order[i - 1] = order[other];
		order[other] = kept;
	}
	write_file(size);
}

static void draw_states(void)
{
	for (size_t i = 0; i < count; i++) {
		backends[i].state = draw() % 2 ? FULL : draw() % 5;
		backends[i].percent = draw() % 4 ? (unsigned)(draw() % 101) : 100;
	}
}

static void test_equals_the_twin(void **state)
{
	static const struct {
		size_t count;
		uint32_t size;
	} files[] = {{1, 251}, {2, 251}, {5, 509}, {12, 2039}, {30, 2039}, {40, 4093}};
	static uint32_t owners[SIZE_MAX_HERE], expected[SIZE_MAX_HERE];
	struct twin_member twins[BACKENDS_MAX];

	(void)state;
	for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
		uint32_t size = files[f].size;

		draw_file(files[f].count, size);
		for (int times = 0; times < 12; times++) {
			ask(size, owners);
			expect(size, expected, twins);
			assert_memory_equal(owners, expected, size * sizeof(*owners));
			draw_states();
			backup_below = count_others() + (times % 2 ? 0 : 1);
			backup_below += backup_below == 0;
			shuffle(size);
		}
	}
}

/* --down of some: every slot of anybody else stays whose it was. */
static void test_collateral_is_0(void **state)
{
	enum { SIZE = 16381 };
	static uint32_t whole[SIZE_MAX_HERE], owners[SIZE_MAX_HERE], expected[SIZE_MAX_HERE];
	struct twin_member twins[BACKENDS_MAX];

	(void)state;
	draw_file(40, SIZE);
	for (size_t i = 0; i < count; i++)
		backends[i].backup = false;
	write_file(SIZE);
	ask(SIZE, whole);
	for (size_t down = 1; down <= 39; down += 19) {
		uint32_t moved = 0;

		for (size_t i = 0; i < count; i++)
			backends[i].state = i % 40 < down ? DOWN : FULL;
		ask(SIZE, owners);
		expect(SIZE, expected, twins);
		assert_memory_equal(owners, expected, sizeof(owners));
		for (uint32_t slot = 0; slot < SIZE; slot++) {
			assert_true(owners[slot] == TWIN_NOBODY ||
				    backends[owners[slot]].state == FULL);
			if (backends[whole[slot]].state == FULL)
				assert_int_equal(owners[slot], whole[slot]);
			moved += owners[slot] != whole[slot];
		}
		print_message("# %zu of 40 down: %u slots moved, none of the others'\n", down,
			      moved);
	}
}

static int set_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equals_the_twin),
		cmocka_unit_test(test_collateral_is_0),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
