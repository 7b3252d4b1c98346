// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel's verifier must accept every program with room to spare, on every kernel that Weir
 * runs on: what loads here with 900,000 verified instructions is refused elsewhere. So each
 * program is loaded with every combination of its object's switches, and the number of
 * instructions that the verifier went through is printed and held against a limit far below the
 * kernel's million. `make test-kernel` runs the same on the oldest kernel that is supported.
 *
 * The objects are found beside this program, in the build directory: a new one needs no line
 * here. A switch is what is `const volatile` in read-only data: the verifier knows its value and
 * leaves out the code that it turns off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VERIFIED_MAX = 100000, SWITCHES_MAX = 6, PATH_LIMIT = 512, LOG_SHOWN = 8000 };

/* A switch is on as 1 where it is a byte, else with this in every byte: 1285 as an MSS. */
enum { ON_BYTE = 5 };

struct switches {
	struct bpf_map *data; /* the object's read-only data */
	size_t count;
	struct {
		const char *name;
		uint32_t offset;
		uint32_t size;
	} of[SWITCHES_MAX];
};

static glob_t objects;

/* What libbpf complains of holds the verifier's log, of which the end says why. */
static int print_complaint(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text;
	int length;

	if (level != LIBBPF_WARN)
		return 0;
	length = vasprintf(&text, format, args);
	if (length < 0)
		return 0;
	/* cmocka's print_error would cut it off. */
	fputs(length > LOG_SHOWN ? text + length - LOG_SHOWN : text, stderr);
	free(text);
	return 0;
}

static bool is_volatile(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	while (btf_is_mod(type)) {
		if (btf_is_volatile(type))
			return true;
		type = btf__type_by_id(btf, type->type);
	}
	return false;
}

static struct bpf_map *read_only_data(const struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const char *suffix = strstr(bpf_map__name(map), ".rodata");

		if (suffix && strcmp(suffix, ".rodata") == 0)
			return map;
	}
	return NULL;
}

static void find_switches(const struct bpf_object *object, struct switches *ret)
{
	const struct btf *btf = bpf_object__btf(object);
	int section = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	const struct btf_var_secinfo *places;
	const struct btf_type *type;

	memset(ret, 0, sizeof(*ret));
	ret->data = read_only_data(object);
	if (section < 0 || !ret->data)
		return;
	type = btf__type_by_id(btf, (uint32_t)section);
	places = btf_var_secinfos(type);
	for (uint32_t i = 0; i < btf_vlen(type); i++) {
		const struct btf_type *variable = btf__type_by_id(btf, places[i].type);

		if (!is_volatile(btf, variable->type))
			continue;
		assert_true(ret->count < SWITCHES_MAX);
		ret->of[ret->count].name = btf__name_by_offset(btf, variable->name_off);
		ret->of[ret->count].offset = places[i].offset;
		ret->of[ret->count].size = places[i].size;
		ret->count++;
	}
}

/* Bit i of `combination` is switch i. */
static void set_switches(const struct switches *switches, uint32_t combination)
{
	size_t size;
	const void *before = switches->count ? bpf_map__initial_value(switches->data, &size) : NULL;
	uint8_t *data;

	if (!before)
		return;
	data = malloc(size);
	assert_non_null(data);
	memcpy(data, before, size);
	for (size_t i = 0; i < switches->count; i++) {
		uint8_t on = switches->of[i].size == 1 ? 1 : ON_BYTE;

		memset(data + switches->of[i].offset, combination >> i & 1 ? on : 0,
		       switches->of[i].size);
	}
	assert_int_equal(bpf_map__set_initial_value(switches->data, data, size), 0);
	free(data);
}

static void print_load(const char *name, const struct bpf_prog_info *info,
		       const struct switches *switches, uint32_t combination)
{
	print_message("# %s: %u verified, %u bytes", name, info->verified_insns,
		      info->jited_prog_len);
	for (size_t i = 0; i < switches->count; i++)
		print_message(" %s=%u", switches->of[i].name, combination >> i & 1);
	print_message("\n");
}

/* Loads once. Returns how many combinations of switches there are. */
static uint32_t load(const char *path, uint32_t combination, uint32_t *worst)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;
	struct switches switches;
	uint32_t combinations;

	assert_non_null(object);
	find_switches(object, &switches);
	set_switches(&switches, combination);
	combinations = 1U << switches.count;
	if (bpf_object__load(object))
		fail_msg("%s, switches %#x: the kernel refuses it", path, combination);
	bpf_object__for_each_program(program, object)
	{
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), 0);
		print_load(bpf_program__name(program), &info, &switches, combination);
		assert_true(info.verified_insns > 0);
		if (info.verified_insns > *worst)
			*worst = info.verified_insns;
	}
	bpf_object__close(object);
	return combinations;
}

static void test_verified_instructions(void **state)
{
	uint32_t worst = 0;

	(void)state;
	if (geteuid() != 0) {
		print_message("skip: loading programs needs root\n");
		skip();
	}
	for (size_t i = 0; i < objects.gl_pathc; i++) {
		uint32_t combinations = 1;

		for (uint32_t c = 0; c < combinations; c++)
			combinations = load(objects.gl_pathv[i], c, &worst);
	}
	if (worst > VERIFIED_MAX)
		fail_msg("%u verified instructions, at most %u", worst, VERIFIED_MAX);
}

/* What the balancer cannot do without must not be missed by a wrong pattern or name. */
static void test_finds_switches(void **state)
{
	bool balancer = false;

	(void)state;
	for (size_t i = 0; i < objects.gl_pathc; i++) {
		struct bpf_object *object = bpf_object__open_file(objects.gl_pathv[i], NULL);
		struct switches switches;

		assert_non_null(object);
		find_switches(object, &switches);
		for (size_t s = 0; s < switches.count; s++)
			balancer |= strcmp(switches.of[s].name, "has_track") == 0;
		bpf_object__close(object);
	}
	assert_true(balancer);
}

static int find_objects(void **state)
{
	char self[PATH_LIMIT], path[PATH_LIMIT + 32];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	libbpf_set_print(print_complaint);
	if (length <= 0)
		return -1;
	self[length] = '\0';
	/* BUILD/tests/packet/verifier_test */
	for (int up = 0; up < 3; up++)
		*strrchr(self, '/') = '\0';
	snprintf(path, sizeof(path), "%s/src/*/*.bpf.o", self);
	return glob(path, 0, NULL, &objects);
}

static int forget_objects(void **state)
{
	(void)state;
	globfree(&objects);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_switches),
		cmocka_unit_test(test_verified_instructions),
	};

	return cmocka_run_group_tests(tests, find_objects, forget_objects);
}
